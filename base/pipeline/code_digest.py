"""A digest of the code that produces a file or a score: a module and all project modules that it imports.

    python -m compeval.base.pipeline.code_digest        # stage `code`: code_digests/<module>.txt

Comments, docstrings and blank lines are ignored, so correcting a docstring does not change a digest. DVC follows no
imports; a stage depends on the file of the module that it runs, and so on exactly the code that it executes.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from compeval.base.files.atomic import atomic_folder
from compeval.base.pipeline import stage

PROJECT_FOLDERS = (
    "base",
    "generators",
    "loaders",
    "evaluators",
    "trainers",
    "experiments",
    "compeval",
)
PROJECT_PACKAGES = ("compeval", "experiments")
FOLDER = Path("code_digests")


def code_digest(module: str) -> str:
    """Return 16 hex digits of a hash over a module and the project code that it imports; ``module`` is its
    ``__file__``."""
    digest = hashlib.sha256()
    for path in list_code_files(Path(module)):
        digest.update(_read_code(path))
    return digest.hexdigest()[:16]


@cache
def _read_code(path: Path) -> bytes:
    """Return the content of a file, of Python code without comments."""
    return (
        strip_comments(path.read_text(encoding="utf-8")).encode()
        if path.suffix == ".py"
        else path.read_bytes()
    )


def strip_comments(source: str) -> str:
    """Return Python source without comments, docstrings, blank lines and trailing spaces."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline) if "#" in source else ():
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in _walk_statements(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (
                (node.end_lineno or node.lineno) - node.lineno + 1
            )
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _walk_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements below a node, which are a tenth of its nodes."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, block, ()):
            yield child
            yield from _walk_statements(child)


def list_code_files(module: Path) -> list[Path]:
    """Return the module, the project modules that it imports directly or indirectly, and the YAML files next to
    them.

    Links are resolved: ``compeval/loaders`` is a link to ``loaders`` in a checkout.
    """
    files = set[Path]()
    queue = {module.resolve()}
    while queue:
        path = queue.pop()
        files.add(path)
        queue |= _list_imported(path) - files
    return sorted(files | {yaml for path in files for yaml in path.parent.glob("*.yaml")})


@cache
def _list_imported(path: Path) -> frozenset[Path]:
    """Return the project files that a file imports, at module level or inside functions.

    A package that calls ``import_module`` imports the modules of its folder by name.
    """
    root = path.parent
    while (root / "__init__.py").exists():
        root = root.parent
    names: set[str] = set()
    files: set[Path] = set()
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in _walk_statements(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    is_package = path.name == "__init__.py"
    calls = ast.walk(tree) if is_package and "import_module" in source else ()
    if any(
        isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module")
        for node in calls
    ):
        files |= set(path.parent.glob("*.py"))
    return frozenset(files | {file for name in names if (file := _module_file(root, name))})


def _module_file(root: Path, name: str) -> Path | None:
    """Return the file of a project module, or None for any other name."""
    if name.split(".")[0] not in PROJECT_PACKAGES:
        return None
    # A clone without symbolic links has compeval.base at base/ only.
    for path in (
        root / name.replace(".", "/"),
        root / name.removeprefix("compeval.").replace(".", "/"),
    ):
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file.resolve()
    return None


def list_data_files(modules: Iterable[Path]) -> set[Path]:
    """Return the other files in the folders of modules, and in their subfolders without modules."""
    experiments = Path("experiments").resolve()  # its folders contain results
    folders = {module.parent for module in modules if not module.is_relative_to(experiments)}
    subfolders = {child for folder in folders for child in folder.iterdir() if child.is_dir()}
    without_modules = {folder for folder in subfolders if not any(folder.rglob("*.py"))}
    files = {file for folder in folders for file in folder.iterdir()}
    files |= {file for folder in without_modules for file in folder.rglob("*")}
    return {file for file in files if file.is_file() and file.suffix not in (".py", ".pyc")}


def list_stage_modules() -> dict[str, Path]:
    """Return the modules that stages run: modules with a ``__main__`` block and commands of ``compeval``.

    The name of a module is its path in the checkout: ``generators.aro``, which is imported as
    ``compeval.generators.aro``.
    """
    files = {path for folder in PROJECT_FOLDERS for path in Path(folder).rglob("*.py")}
    stages = {path for path in files if b'if __name__ == "__main__":' in path.read_bytes()}
    stages |= set(Path("compeval/cli").glob("*.py"))
    return {".".join(path.with_suffix("").parts): path for path in sorted(stages)}


def main() -> None:
    """Write the digests of the files that each stage's module consists of, one per line."""
    checkout = Path.cwd()
    with atomic_folder(FOLDER) as scratch:
        for name, module in list_stage_modules().items():
            files = set(list_code_files(module))
            lines = (
                f"{hashlib.sha256(_read_code(path)).hexdigest()[:16]} {path.relative_to(checkout).as_posix()}\n"
                for path in sorted(files | list_data_files(files))
            )
            (scratch / f"{name}.txt").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    stage.run(main)
