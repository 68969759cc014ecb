"""
The command line: ``python -m harness COMMAND``.

Each command is a module with ``add_arguments(parser)`` and ``run(namespace) -> int``, imported only
when it is called, so that asking for help costs nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

from harness._cli._errors import CommandError
from harness._cli._status import BAD_INPUT, CLOSED_PIPE, FAILED, INTERRUPTED
from harness._cli._terminal import SafeStream, one_line, safe_streams, silence
from harness.errors import HarnessError

__all__ = ["COMMANDS", "main"]

#: Each command: the module that is imported when it is called, and what it does.
COMMANDS: Final = (
    ("diagnose", "harness._cli.diagnose", "diagnose log files"),
    ("explain", "harness._cli.explain", "say why a user saw what they saw"),
    ("demo", "harness.demo._command", "make a real incident, and diagnose it"),
    ("replay", "harness._cli.replay", "run a stored run again from its journal"),
    ("graph", "harness._cli.graph", "draw the failure graph, with a run's path marked"),
    ("scenario", "harness.testing._command_scenario", "run scenario files"),
    ("sweep", "harness.testing._command_sweep", "run scenarios with every fault at every place"),
)

_STATUSES: Final = (
    "exit status: 0 done (diagnose: a report), 2 wrong input, 3 a fallback, 4 a failure, "
    "130 interrupted"
)


class _Parser(argparse.ArgumentParser):
    """
    Says what is wrong in one line.
    """

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run a command.

    Args:
        argv: The arguments; default: those of the process.

    Returns:
        The exit status of the command; 2 for input that it cannot work with, told in one line.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    name = Path(sys.argv[0]).name
    program = "python -m harness" if name == "__main__.py" else name
    with safe_streams() as err:
        return _guarded(program, arguments, err)


def _guarded(program: str, arguments: list[str], err: SafeStream) -> int:
    """
    Run a command, and turn whatever ends it into an exit status.
    """
    try:
        status = _run(program, arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except HarnessError as error:
        return _complain(err, program, str(error), BAD_INPUT)
    except BrokenPipeError:
        silence(sys.stdout)
        silence(sys.stderr)
        return CLOSED_PIPE
    except OSError as error:
        silence(sys.stdout)
        return _complain(err, program, error.strerror or str(error), FAILED)
    return status


def _complain(err: SafeStream, program: str, message: str, status: int) -> int:
    try:
        err.write(one_line(f"{program}: error: {message}") + "\n")
        err.flush()
    except OSError:
        silence(sys.stderr)
    return status


def _run(program: str, arguments: list[str]) -> int:
    """
    Import the command that is named, and run it.
    """
    modules = {name: module for name, module, _ in COMMANDS}
    try:
        chosen = _commands(program).parse_args(arguments[:1]).command
        module = import_module(modules[chosen])
        parser = _Parser(prog=f"{program} {chosen}", description=_what(chosen), allow_abbrev=False)
        module.add_arguments(parser)
        namespace = parser.parse_intermixed_args(arguments[1:])
    except SystemExit:
        # the help was printed
        return 0
    status: int = module.run(namespace)
    return status


def _commands(program: str) -> _Parser:
    parser = _Parser(
        prog=program,
        usage="%(prog)s COMMAND ...",
        description="Diagnoses of incidents of which nothing is published that was not proven.",
        epilog="\n".join(
            ("commands:", *(f"  {name:<10}{what}" for name, _, what in COMMANDS), "", _STATUSES)
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [name for name, _, _ in COMMANDS]
    parser.add_argument(
        "command", choices=names, metavar="COMMAND", help="COMMAND --help says more"
    )
    return parser


def _what(chosen: str) -> str:
    return next(f"{what[0].upper()}{what[1:]}." for name, _, what in COMMANDS if name == chosen)


if __name__ == "__main__":
    sys.exit(main())
