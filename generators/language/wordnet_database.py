"""The WordNet 3.0 database, wherever this machine has it.

NLTK's reader reads all three forms: NLTK's own corpus, the files of Debian's ``wordnet-base`` (without the table of
lexicographer files, which lexicographer_files.yaml supplies), and NLTK's download. No system folder is written to.
"""

from __future__ import annotations

import io
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import nltk
import yaml
from nltk.corpus.reader.wordnet import WordNetCorpusReader

VERSION = "3.0"
LEXICOGRAPHER_FILES: list[str] = yaml.safe_load(Path(__file__).with_name("lexicographer_files.yaml").read_text())
REMEDIES = (
    f"WordNet {VERSION} was not found. Any one of these provides it:\n"
    "  python -m nltk.downloader wordnet\n"
    "  apt-get install wordnet-base\n"
    "  apt-get download wordnet-base && dpkg -x wordnet-base_*.deb wn && cp -r wn/usr/share/wordnet"
    f" {Path(sys.prefix, 'share', 'wordnet')}"
)


class _Reader(WordNetCorpusReader):
    """NLTK's reader, extended to the system database and without multilingual tables."""

    def open(self, file: str) -> Any:
        if file == "lexnames":
            return io.StringIO("".join(f"{n:02d}\t{name}\t0\n" for n, name in enumerate(LEXICOGRAPHER_FILES)))
        return super().open(file)

    def map_wn(self, version: str = "wordnet") -> None:
        """Map nothing: the database is WordNet 3.0 itself, and NLTK would look for its own copy to compare."""


def _nltk_corpus() -> Any | None:
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name)
        except LookupError:
            continue
    return None


def _system_database() -> str | None:
    for folder in (Path("/usr/share/wordnet"), Path(sys.prefix, "share", "wordnet")):
        if (folder / "data.noun").exists():
            nltk.data.path.append(str(folder))  # NLTK reads only below the folders of its path
            return str(folder)
    return None


@cache
def wordnet() -> Any:
    """The WordNet 3.0 database: NLTK's corpus, else the system's, else NLTK's download; opened once.

    Raises FileNotFoundError with the remedies if there is none, ValueError for another version.
    """
    root = _nltk_corpus() or _system_database() or (nltk.download("wordnet", quiet=True) and _nltk_corpus())
    if not root:
        raise FileNotFoundError(REMEDIES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the missing multilingual tables
        reader = _Reader(root, None)
    if reader.get_version() != VERSION:
        raise ValueError(f"{root}: WordNet {reader.get_version()}, expected {VERSION}. Remove it.\n{REMEDIES}")
    return reader
