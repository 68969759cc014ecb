"""The tests of the demo."""
