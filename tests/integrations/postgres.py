"""
The kill table with PostgreSQL as the engine's database.

``python -m tests.integrations.postgres`` installs PostgreSQL from Debian's packages where it is not
there (as root), makes a cluster in a temporary folder, starts it on a free port of the loopback,
prints the table, and stops it again. It takes some minutes; the extra ``dbos`` must be installed.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integrations.kill_table import main as print_table

_VERSIONS = Path("/usr/lib/postgresql")
#: The server refuses to run as root.
_USER = "postgres"


def programs() -> Path:
    """The folder of the server's programs; installs them where they are not there."""
    found = sorted(_VERSIONS.glob("*/bin/pg_ctl"))
    if not found:
        apt = "/usr/bin/apt-get"
        install = [apt, "install", "--yes", "--no-install-recommends", "postgresql"]
        subprocess.run([apt, "update"], check=True, stdout=sys.stderr)
        subprocess.run(
            install,
            check=True,
            stdout=sys.stderr,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        found = sorted(_VERSIONS.glob("*/bin/pg_ctl"))
    return found[-1].parent


def as_server(command: list[str]) -> None:
    """Run a program of the server as a user that it accepts."""
    user = _USER if os.geteuid() == 0 else None
    subprocess.run(command, check=True, user=user, stdout=subprocess.DEVNULL, cwd="/")


@contextmanager
def cluster() -> Iterator[int]:
    """A cluster on a free port, for as long as the context lasts."""
    bin_folder = programs()
    folder = Path(tempfile.mkdtemp(prefix="harness-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, _USER)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    data = str(folder / "data")
    control = [str(bin_folder / "pg_ctl"), "--pgdata", data, "--wait", "--silent"]
    try:
        initdb = str(bin_folder / "initdb")
        as_server([initdb, "--pgdata", data, "--auth", "trust", "--username", _USER])
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
        as_server([*control, "--log", str(folder / "log"), "--options", options, "start"])
        try:
            yield port
        finally:
            as_server([*control, "--mode", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Print the table."""
    with cluster() as port:

        def database(folder: Path) -> str:
            # the engine makes a database that is not there
            name = folder.name.replace("+", "_after").replace("-", "_before")
            return f"postgresql://{_USER}@127.0.0.1:{port}/{name}"

        return print_table(database)


if __name__ == "__main__":
    sys.exit(main())
