"""What importing the package costs and starts."""

import os
import subprocess
import sys

import pytest

_SCRIPT = """
import sys, threading
import harness
print("\\n".join(sorted(sys.modules)))
print(f"threads={threading.active_count()}")
"""


@pytest.fixture(scope="module")
def after_import() -> list[str]:
    """What a fresh interpreter holds once it imported the package, and nothing else."""
    # -S and an explicit path: neither start-up files of site-packages nor a coverage measurement
    # import anything on the package's behalf.
    done = subprocess.run(
        [sys.executable, "-S", "-c", _SCRIPT],
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["cattrs", "asyncio", "logging", "sqlite3"])
def test_import_does_not_load(after_import: list[str], name: str) -> None:
    """Importing the package loads no codec, event loop, logging or database."""
    assert "harness" in after_import
    assert name not in after_import


def test_import_starts_nothing(after_import: list[str]) -> None:
    """Importing the package starts no thread."""
    assert after_import[-1] == "threads=1"
