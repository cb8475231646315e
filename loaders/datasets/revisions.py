"""Dataset folders at a revision: the dataset version, or a commit, branch or tag of the checkout.

The data of a commit is copied by DVC, from its cache or its remote, to ``revisions/<commit>/`` in the cache folder.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from compeval.base.files.cache_folder import cache_folder
from compeval.base.pipeline.workers import safe_path
from compeval.loaders.datasets.folders import list_datasets, search_path
from compeval.loaders.datasets.stats import read_version

MIN_DIGITS = 7
"""A dataset version may be abbreviated to this length, as a commit of Git."""


def split_revision(name: str, revision: str | None) -> tuple[str, str | None]:
    """Split ``NAME@REVISION``. Raises ValueError if ``revision`` is also given and different."""
    plain, _, suffix = name.partition("@")
    if suffix and revision not in (None, suffix):
        raise ValueError(
            f"{name}: the name and the argument ask for two revisions, {suffix!r} and {revision!r}."
        )
    return plain, suffix or revision


def find_revision(name: str, revision: str, data_dir: str | Path | None = None) -> Path:
    """Return the folder of a dataset at a revision. Raises ValueError if there is no such revision."""
    searched = []
    if folder := list_datasets(data_dir).get(name):
        version = read_version(folder)
        if len(revision) >= MIN_DIGITS and version.startswith(revision):
            return folder
        searched.append(f"the version of {folder} ({version})")
    for repository in search_path(data_dir):
        if (repository / ".dvc").is_dir():
            if commit := _find_commit(repository, revision):
                return _copy_from(repository, commit, name)
            searched.append(f"a commit, branch or tag of {repository}")
    places = " nor ".join(searched) or "there is no such dataset and no checkout here"
    raise ValueError(
        f"{name} has no revision {revision!r}: {'it is neither ' if searched else ''}{places}."
    )


def find_data_folder(names: Iterable[str], revision: str, data_dir: Path | None) -> Path:
    """Return the folder that contains the given datasets at a revision.

    Raises ValueError if a dataset does not have the revision, or if the datasets are in different folders.
    """
    folders = {name: find_revision(name, revision, data_dir).parent for name in names}
    if len(set(folders.values())) != 1:
        places = (
            ", ".join(f"{name} in {folder}" for name, folder in folders.items())
            or "there is no dataset"
        )
        raise ValueError(
            f"The datasets at revision {revision!r} are not in one folder: {places}. Evaluate the datasets of each "
            "folder in a separate run (--task)."
        )
    return folders.popitem()[1]


def get_commit(folder: Path) -> str | None:
    """Return the commit of a folder that :func:`find_revision` copied, and None for any other dataset folder."""
    return folder.parent.name if folder.parent.parent == _revisions() else None


def _revisions() -> Path:
    return (cache_folder() / "revisions").absolute()


def _find_commit(repository: Path, revision: str) -> str | None:
    command = ["git", "-C", str(repository), "rev-parse", "--verify", "--quiet", "--end-of-options"]
    return (
        subprocess.run(
            [*command, f"{revision}^{{commit}}"], capture_output=True, text=True
        ).stdout.strip()
        or None
    )


def _copy_from(repository: Path, commit: str, name: str) -> Path:
    """Copy a dataset of a commit from DVC's cache or remote, unless this was done before."""
    folder = _revisions() / commit / name
    if not (folder / "stats.json").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        options = ["--quiet", "--force", "--rev", commit, "--out", str(folder)]
        command = [sys.executable, "-m", "dvc", "get", *options, str(repository), name]
        with safe_path():
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or not (folder / "stats.json").is_file():
            reason = (
                (done.stderr.strip() or "it has no stats.json")
                .removeprefix("ERROR: ")
                .splitlines()[0]
            )
            raise ValueError(
                f"{name} at {commit[:12]} is neither in the DVC cache nor in the remote of {repository} ({reason}). "
                f"Build it: `git checkout {commit[:12]} && dvc repro`."
            )
    return folder
