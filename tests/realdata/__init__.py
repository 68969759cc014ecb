"""Real recorded inputs, replayed; skipped where the data is absent."""
