"""Every command in a docstring exists and its parser accepts the arguments. The commands do no work here."""

import argparse
import ast
import re
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from compeval.base.pipeline import stage
from compeval.cli import app

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "base",
    "compeval",
    "evaluators",
    "generators",
    "loaders",
    "trainers",
    "experiments",
    "bench",
)
COMMAND = re.compile(
    r"^\s*(?:[A-Z_]+=\S+ )?((?:compeval|python -m) .*)$|``((?:compeval|python -m) [^`]+)``",
    re.MULTILINE,
)


class ParsedError(Exception):
    """The arguments were accepted."""


def find_commands() -> Iterator[tuple[str, str]]:
    """Yield the file and the text of each command in the docstrings of modules, without optional brackets."""
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for match in COMMAND.finditer(text):
            line = " ".join((match[1] or match[2]).partition(" #")[0].split())
            line = (
                re.sub(r" \| [^\]]*(?=\])", "", line)
                .replace("[", "")
                .replace("]", "")
                .replace("...", "")
            )
            for command in line.split(" && "):
                yield str(path.relative_to(ROOT)), command.strip()


def parse(command: Any, arguments: list[str]) -> None:
    """Parse the arguments of a command. A command that is only named, without its arguments, is not parsed."""
    names = []
    while arguments and hasattr(command, "commands"):
        assert arguments[0] in command.commands, arguments
        command, arguments, names = (
            command.commands[arguments[0]],
            arguments[1:],
            [*names, arguments[0]],
        )
    if arguments:
        command.make_context(" ".join(names), arguments)


def run_parser_only(main: Callable[..., Any]) -> None:
    program = typer.Typer(add_completion=False)
    program.command()(main)
    typer.main.get_command(program).make_context("stage", sys.argv[1:])
    raise ParsedError


COMMANDS = list(dict.fromkeys(find_commands()))


def test_all_commands_are_found():
    assert len(COMMANDS) > 80
    assert (
        "loaders/benchmarks/photograph_pairs.py",
        "python -m compeval.loaders.benchmarks.photograph_pairs pairs.csv sources/coco/val2017",
    ) in COMMANDS


@pytest.mark.parametrize(
    ("file", "command"), [item for item in COMMANDS if item[1].startswith("compeval")]
)
def test_arguments_of_compeval(file: str, command: str):
    parse(typer.main.get_command(app), shlex.split(command)[1:])


@pytest.mark.parametrize(
    ("file", "command"), [item for item in COMMANDS if item[1].startswith("python")]
)
def test_arguments_of_modules(file: str, command: str, monkeypatch: pytest.MonkeyPatch):
    _, _, module, *arguments = shlex.split(command)
    if module == "compeval":
        parse(typer.main.get_command(app), arguments)
        return
    path = ROOT / Path(*module.split("."))
    source = (path / "__main__.py" if path.is_dir() else path.with_suffix(".py")).read_text(
        encoding="utf-8"
    )
    assert "__name__" in source or path.is_dir()
    if "stage.run(" not in source and "argparse" not in source:
        return  # the module reads no arguments, or reads them itself
    parse_args = argparse.ArgumentParser.parse_args

    def parse_only(self: argparse.ArgumentParser, *args: Any) -> None:
        parse_args(self, *args)
        raise ParsedError

    monkeypatch.setattr(sys, "argv", [module, *arguments])
    monkeypatch.setattr(stage, "run", run_parser_only)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    if arguments[:1] == ["COMMAND"]:
        return  # the usage line of several commands, which follow it
    with pytest.raises(ParsedError):
        runpy.run_module(module, run_name="__main__")
