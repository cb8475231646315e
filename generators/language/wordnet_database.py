"""The WordNet 3.0 database, wherever this machine has it.

NLTK's reader reads all three forms: NLTK's own corpus, the files of Debian's ``wordnet-base`` (which lack the table of
lexicographer files, so it is supplied here), and NLTK's download. Nothing is written into a system folder.
"""

from __future__ import annotations

import io
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader

VERSION = "3.0"
LEXICOGRAPHER_FILES = (
    *("adj.all", "adj.pert", "adv.all", "noun.Tops", "noun.act", "noun.animal", "noun.artifact", "noun.attribute"),
    *("noun.body", "noun.cognition", "noun.communication", "noun.event", "noun.feeling", "noun.food", "noun.group"),
    *("noun.location", "noun.motive", "noun.object", "noun.person", "noun.phenomenon", "noun.plant"),
    *("noun.possession", "noun.process", "noun.quantity", "noun.relation", "noun.shape", "noun.state"),
    *("noun.substance", "noun.time", "verb.body", "verb.change", "verb.cognition", "verb.communication"),
    *("verb.competition", "verb.consumption", "verb.contact", "verb.creation", "verb.emotion", "verb.motion"),
    *("verb.perception", "verb.possession", "verb.social", "verb.stative", "verb.weather", "adj.ppl"),
)
"""The lexicographer files by number (lexnames(5WN)); Debian's package leaves that table out."""

REMEDIES = (
    f"WordNet {VERSION} was not found. Any one of these provides it:\n"
    "  python -m nltk.downloader wordnet\n"
    "  apt-get install wordnet-base\n"
    "  apt-get download wordnet-base && dpkg -x wordnet-base_*.deb wn && cp -r wn/usr/share/wordnet"
    f" {Path(sys.prefix, 'share', 'wordnet')}"
)


class _Reader(WordNetCorpusReader):
    """NLTK's reader, able to read the system database, and without the multilingual tables that nothing here uses."""

    def open(self, file: str) -> Any:
        if file == "lexnames":
            rows = (f"{number:02d}\t{name}\t0\n" for number, name in enumerate(LEXICOGRAPHER_FILES))
            return io.StringIO("".join(rows))
        return super().open(file)

    def map_wn(self, version: str = "wordnet") -> None:
        """The database is WordNet 3.0 itself: nothing to map (NLTK would look for its own copy to find that out)."""


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
            # NLTK reads only below the folders that it is told of.
            nltk.data.path.append(str(folder))
            return str(folder)
    return None


def _downloaded() -> Any | None:
    return _nltk_corpus() if nltk.download("wordnet", quiet=True) else None


@cache
def wordnet() -> Any:
    """The WordNet 3.0 database: NLTK's corpus, else the system's, else downloaded, opened once.

    Raises FileNotFoundError, naming the remedies, where there is none, ValueError where it is another version.
    """
    root = _nltk_corpus() or _system_database() or _downloaded()
    if root is None:
        raise FileNotFoundError(REMEDIES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no multilingual tables: on purpose
        reader = _Reader(root, None)
    if reader.get_version() != VERSION:
        raise ValueError(f"{root}: WordNet {reader.get_version()}, expected {VERSION}. Remove it.\n{REMEDIES}")
    return reader
