"""Tests of the core: every decision by itself, and whole runs through them."""
