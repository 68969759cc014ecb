"""Tests of the lexical guard."""
