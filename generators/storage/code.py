"""A digest of the code that produces a file or a score: a module and all project modules that it imports.

Comments, docstrings and blank lines are ignored, so correcting a docstring does not change a digest.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

PROJECT_PACKAGES = frozenset({"generators", "loaders", "evaluators", "trainers", "compeval"})


def code_digest(module: str) -> str:
    """Return 16 hex digits of a hash over a module and the project code that it imports; ``module`` is its
    ``__file__``."""
    digest = hashlib.sha256()
    for path in list_code_files(Path(module)):
        source = path.read_text(encoding="utf-8")
        digest.update((strip_comments(source) if path.suffix == ".py" else source).encode())
    return digest.hexdigest()[:16]


def strip_comments(source: str) -> str:
    """Return Python source without comments, docstrings, blank lines and trailing spaces."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def list_code_files(module: Path) -> list[Path]:
    """Return the module, the project modules that it imports directly or indirectly, and the YAML files next to
    them."""
    root = module.parent
    while (root / "__init__.py").exists():
        root = root.parent
    files, queue = set[Path](), {module}
    while queue:
        path = queue.pop()
        files.add(path)
        queue |= {file for name in _imports(path) if (file := _module_file(root, name))} - files
        if b"import_module(" in path.read_bytes():  # a module that imports the modules of its folder by name
            queue |= set(path.parent.glob("*.py")) - files
    return sorted(files | {yaml for path in files for yaml in path.parent.glob("*.yaml")})


def _imports(path: Path) -> Iterator[str]:
    """Yield the names that a file imports, at module level or inside functions."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module_file(root: Path, name: str) -> Path | None:
    """Return the file of a project module, or None for any other name."""
    path = root / name.replace(".", "/")
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if name.split(".")[0] in PROJECT_PACKAGES and file.is_file()), None)
