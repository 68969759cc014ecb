"""Faults that users of comparable systems reported, as tests of this library."""
