"""The command line: its commands called in process, and a few times as real processes."""
