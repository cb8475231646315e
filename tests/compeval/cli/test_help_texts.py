"""The help of each command describes its parameters and has an example that the command accepts."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from compeval.cli import app
from tests.compeval.test_docstring_commands import parse

EXAMPLE = re.compile(r"Example: `(compeval [^`]+)`")


def list_commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield the words and the command of each command of a group."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


ROOT_COMMAND = typer.main.get_command(app)
COMMANDS = dict(list_commands(ROOT_COMMAND))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_the_command_accepts(name: str):
    examples = EXAMPLE.findall(COMMANDS[name].help)
    assert examples, f"{name}: the help has no example"
    for example in examples:
        assert example.startswith(f"compeval {name}")
        parse(ROOT_COMMAND, shlex.split(example)[1:])


@pytest.mark.parametrize("name", COMMANDS)
def test_each_parameter_is_described(name: str):
    undescribed = [parameter.name for parameter in COMMANDS[name].params if not parameter.help]
    assert not undescribed, f"{name}: add help=... to {', '.join(undescribed)}"
