"""Records as earlier releases stored them: they stay readable for ever."""
