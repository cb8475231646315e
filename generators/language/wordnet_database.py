"""The WordNet 3.0 database of this machine.

NLTK's reader reads three installations: NLTK's own corpus, Debian's package ``wordnet-base``, and the corpus that NLTK
downloads. Debian's package has no table of lexicographer files; lexicon/lexicographer_files.yaml replaces it. Nothing
is written to system folders.
"""

from __future__ import annotations

import io
import sys
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.optional_imports import without

VERSION = "3.0"
SYSTEM_FOLDERS = (Path("/usr/share/wordnet"), Path(sys.prefix, "share", "wordnet"))
"""Folders of Debian's package: installed, or unpacked into this environment."""
LEXICOGRAPHER_FILES: list[str] = load_lexicon("lexicographer_files")
NOT_FOUND_MESSAGE = (
    f"WordNet {VERSION} was not found. Install it with one of these commands:\n"
    "  python -m nltk.downloader wordnet\n"
    "  apt-get install wordnet-base\n"
    "  apt-get download wordnet-base && dpkg -x wordnet-base_*.deb wn && cp -r wn/usr/share/wordnet"
    f" {Path(sys.prefix, 'share', 'wordnet')}"
)


@cache
def _nltk() -> Any:
    """Return the module, which is imported at the first look-up: the extra ``generate`` installs it."""
    with without("scipy", "sklearn", "pandas", "matplotlib"):
        import nltk
    return nltk


def _make_reader(root: Any) -> Any:
    """Return NLTK's reader of a database, extended to Debian's and without multilingual tables."""
    with without("scipy", "sklearn", "pandas", "matplotlib"):
        from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        def open(self, file: str) -> Any:
            if file == "lexnames":
                names = enumerate(LEXICOGRAPHER_FILES)
                return io.StringIO("".join(f"{n:02d}\t{name}\t0\n" for n, name in names))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """Do nothing. NLTK would map other versions to WordNet 3.0; this is version 3.0."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the missing multilingual tables
        return Reader(root, None)


def _find_nltk_corpus() -> Any | None:
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        with suppress(LookupError):
            return _nltk().data.find(name)
    return None


def _find_system_database() -> str | None:
    for folder in SYSTEM_FOLDERS:
        if (folder / "data.noun").exists():
            # NLTK reads only from the folders of its path.
            _nltk().data.path.append(str(folder))
            return str(folder)
    return None


@cache
def wordnet() -> Any:
    """Return the reader of the WordNet 3.0 database, opened once.

    The installations are tried in this order: NLTK's corpus, the system's database, a download by NLTK. Raises
    FileNotFoundError if there is none, and ValueError if the database has another version.
    """
    root = _find_nltk_corpus() or _find_system_database()
    if not root and _nltk().download("wordnet", quiet=True):
        root = _find_nltk_corpus()
    if not root:
        raise FileNotFoundError(NOT_FOUND_MESSAGE)
    reader = _make_reader(root)
    if reader.get_version() != VERSION:
        raise ValueError(
            f"{root}: WordNet {reader.get_version()}, expected {VERSION}. Remove that database.\n{NOT_FOUND_MESSAGE}"
        )
    return reader
