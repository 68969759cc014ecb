"""The asynchronous driver: aborts, cancels, batches, streams, many runs at once."""
