"""Hostile input: text that forges, parsers that are fed anything, values without end."""
