"""Imports point one way: each folder imports only folders below it, and no rooms import each other in a circle."""

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parent.parent
FOLDERS = ("base", "generators", "loaders", "evaluators", "trainers", "compeval")
"""From the ground up. A room is a folder or file directly below one of them."""


def list_imports(path: Path) -> Iterator[str]:
    """Yield the project modules that a file imports, without the prefix ``compeval.``."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compeval."):
            for alias in node.names:
                yield f"{node.module}.{alias.name}".removeprefix("compeval.")


def get_room(parts: tuple[str, ...]) -> tuple[str, str]:
    """Return the folder and the room of a module; modules of compeval/ itself have no prefix."""
    folder, room = parts[:2] if parts[0] in FOLDERS else ("compeval", parts[0])
    is_module = (ROOT / folder / room).is_dir() or (ROOT / folder / f"{room}.py").is_file()
    return folder, room if is_module else "__init__"


def make_graph() -> nx.DiGraph:
    """Return the imports between rooms, with the files that contain them."""
    graph = nx.DiGraph()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            source = get_room(path.relative_to(ROOT).with_suffix("").parts)
            for name in list_imports(path):
                target = get_room(tuple(name.split(".")))
                if target != source:
                    graph.add_edge(source, target, file=path.relative_to(ROOT).as_posix())
    return graph


def test_no_folder_imports_one_above_it():
    edges = make_graph().edges(data="file")
    assert len(edges) > 150
    up = [
        f"{file} imports {target[0]}/{target[1]}"
        for source, target, file in edges
        if FOLDERS.index(target[0]) > FOLDERS.index(source[0])
    ]
    assert not up


def test_no_rooms_import_each_other_in_a_circle():
    circles = [
        circle for circle in nx.strongly_connected_components(make_graph()) if len(circle) > 1
    ]
    assert not circles


def test_bench_needs_no_tests():
    imports = [
        f"{path.name}: {line.strip()}"
        for path in (ROOT / "bench").rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if line.strip().startswith(("from tests", "import tests"))
    ]
    assert not imports
