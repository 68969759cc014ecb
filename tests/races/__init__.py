"""Races: every interleaving of the critical sections, and many threads at once."""
