"""Tests of journals: replayed, resumed, broken, and asked what today's rules would have done."""
