"""Find dataset folders by name in a given folder, or in the current folder, the data folder and the checkout."""

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from compeval.base.files.cache_folder import cache_folder

CHECKOUT = Path(__file__).resolve().parents[2]
BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def search_path(data_dir: str | Path | None = None) -> list[Path]:
    """Return the folders that are searched for datasets: ``data_dir`` if it is given, otherwise the defaults."""
    if data_dir is not None:
        return [Path(data_dir)]
    checkout = [CHECKOUT] if (CHECKOUT / "dvc.yaml").exists() else []
    return list(dict.fromkeys([Path.cwd(), data_folder(), *checkout]))


def data_folder() -> Path:
    """Return the folder of downloaded datasets: ``$COMPEVAL_DATA``, by default ``datasets`` in the cache folder."""
    folder = os.environ.get("COMPEVAL_DATA")
    return Path(folder) if folder else cache_folder() / "datasets"


def is_published(name: str) -> bool:
    """Return True for the name of a published benchmark.

    The module is only searched by its file name, because datasets do not depend on the code of the benchmarks.
    """
    return name.isidentifier() and (BENCHMARKS / f"{name}.py").is_file()


def missing_benchmark(name: str) -> ValueError:
    """Return the error for a published benchmark that is not in the searched folders."""
    return ValueError(
        f"{name} is a published benchmark that is not here. Download it with `compeval get {name}`."
    )


def list_datasets(data_dir: str | Path | None = None) -> dict[str, Path]:
    """Return the folder of every built dataset by name. A dataset folder is a folder with a ``stats.json``.

    ``data_dir`` may be a dataset folder itself.
    """
    if data_dir is not None and (Path(data_dir) / "stats.json").is_file():
        return {Path(data_dir).resolve().name: Path(data_dir)}
    folders: dict[str, Path] = {}
    for parent in search_path(data_dir):
        for stats in sorted(parent.glob("*/stats.json")):
            folders.setdefault(stats.parent.name, stats.parent)
    return folders


def dataset_folder(name: str, data_dir: str | Path | None = None) -> Path:
    """Return the folder of a built dataset. Raises ValueError, with the known names, if no dataset has this name."""
    folders = list_datasets(data_dir)
    if name not in folders and is_published(name):
        raise missing_benchmark(name)
    if not folders:
        searched = ", ".join(map(str, search_path(data_dir)))
        raise ValueError(
            f"No dataset found in {searched}. Download a published one with `compeval get NAME`, make one of "
            "your own captions with `compeval make`, build one with `dvc repro` in a checkout, or pass the folder that "
            "contains the datasets (data_dir, --data or COMPEVAL_DATA)."
        )
    if name not in folders:
        raise unknown_name("dataset", name, folders)
    return folders[name]


def resolve_folder(target: str, data_dir: str | Path | None = None) -> Path:
    """Return the dataset in ``data_dir`` of this name, or the folder of this path, or the dataset of this name.

    Raises FileNotFoundError or ValueError if there is neither.
    """
    if os.sep in target and not Path(target).exists():
        raise FileNotFoundError(f"{target}: no such file or folder.")
    if data_dir is not None and (Path(data_dir) / target / "stats.json").is_file():
        return Path(data_dir) / target
    if data_dir is not None and Path(target).name == target and target in list_datasets(data_dir):
        return list_datasets(data_dir)[target]
    return (
        Path(target)
        if (Path(target) / "stats.json").is_file()
        else dataset_folder(target, data_dir)
    )


def unknown_name(
    kind: str,
    name: str,
    names: Iterable[str],
    list_command: str | None = None,
    similar: Sequence[str] = (),
) -> ValueError:
    """Return the error for an unknown name, with similar names, and all known names or the command that lists them.

    ``similar``: names that are closer than those that difflib finds.
    """
    names = sorted(names)
    close = similar or difflib.get_close_matches(name, names, n=3)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    rest = (
        f"`{list_command}` lists all {len(names)}."
        if list_command
        else f"Known: {', '.join(names) or 'none'}."
    )
    return ValueError(f"Unknown {kind} {name!r}.{hint} {rest}")
