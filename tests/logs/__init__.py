"""The log-file tool."""
