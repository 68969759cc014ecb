"""The command line: one small module a command, each loaded only when it is called."""
