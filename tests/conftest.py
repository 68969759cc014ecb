"""The Hypothesis profiles: ``fast`` by default, ``thorough`` through ``HYPOTHESIS_PROFILE``."""

import os

from hypothesis import HealthCheck, settings

# The same commit gives the same result, on a laptop and in CI: examples are derived from the test
# itself, none is remembered, and a busy machine is no failure.
settings.register_profile(
    "fast",
    max_examples=50,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# New examples on every run; a failure prints the line that reproduces it.
settings.register_profile(
    "thorough",
    max_examples=5_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
