"""Tests of the kits that users test with."""
