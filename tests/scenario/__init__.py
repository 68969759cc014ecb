"""Scenario files: the format, the command, the agreement with an independent model."""
