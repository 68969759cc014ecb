"""Tests of the integrations, each skipped by name where its extra is not installed."""
