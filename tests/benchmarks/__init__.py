"""Tests of the benchmarks: what they count, and what they decide."""
