"""The parts of tasks' names in words, for the tables and pages that show them.

The names are those of CREPE's configs (``crepe/laion_uc_hnatom``) and of one's own data (``mine/uc_atom``,
``mine/foils_2``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from compeval.base.schemas.corpus_names import CREPE_DATASETS
from compeval.evaluators.results.documents import Result

BALANCED = "balanced"
SPLITS = {
    "sc": "seen compounds, all in training captions",
    "uc": "unseen compounds, whose atoms are in training captions",
    "ua": "unseen atoms",
}
OWN_SPLITS = {"sc": "seen compounds", "uc": "unseen compounds"}
CREPE_KINDS = {
    "hnatom": "one object, attribute or relation is replaced",
    "hncomp": "a compound is wrong",
    "hnswap": "words are swapped",
    "hnneg": "a part is negated",
    "hnall": "all kinds together",
    BALANCED: "text-only baselines are near chance",
}
OWN_KINDS = {
    "atom": CREPE_KINDS["hnatom"],
    "comp": CREPE_KINDS["hncomp"],
    "swap": CREPE_KINDS["hnswap"],
    "negation": "one of both captions is negated",
    "order": "the words are in another order",
    "captions": "retrieval among all images and captions",
    BALANCED: CREPE_KINDS[BALANCED],
}
PAPER_KINDS = {
    "HN-Atom": "HN-Atom: one atom replaced",
    "HN-Comp": "HN-Comp: a wrong compound",
    "HN-Swap": "HN-Swap: words swapped",
    "HN-Neg": "HN-Neg: a part negated",
}
"""The paper's name of a kind of hard negatives -> the name with its meaning."""
OWN_SET = re.compile(r"(?:(sc|uc)_)?(.+)")
FOILS = re.compile(r"foils_(\d+)")


def is_own(result: Result) -> bool:
    """Return True if ``compeval make`` made the dataset: its rows name it as their source."""
    return result["source"] == result["dataset"]


def describe_set(config: str) -> str:
    """Return a config of an own dataset in words: "atom, unseen compounds" for ``uc_atom``."""
    foils = FOILS.fullmatch(config)
    if foils:
        return f"your table, {foils[1]} negative{'' if foils[1] == '1' else 's'} a row"
    split, kind = split_config(config)
    words = kind.replace("_", " ")
    return f"{words}, {OWN_SPLITS[split]}" if split else words


def split_config(config: str) -> tuple[str, str]:
    """Return the split ("sc", "uc" or "") and the kind of a config of an own dataset."""
    split, kind = OWN_SET.fullmatch(config).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return split or "", kind


def explain_names(results: Iterable[Result]) -> list[str]:
    """Explain the parts of the names of the results' tasks: a line on splits, "sc: ...; uc: ...", and one on kinds."""
    meanings: dict[str, str] = {}
    for result in results:
        if is_own(result):
            meanings |= _explain(result["config"], OWN_KINDS)
        elif result["dataset"] in CREPE_DATASETS:
            meanings |= _explain(result["config"], CREPE_KINDS)
    splits = [name for name in SPLITS if name in meanings]
    kinds = [name for name in meanings if name not in SPLITS]
    return [
        "; ".join(f"{name}: {meanings[name]}" for name in names)
        for names in (splits, kinds)
        if names
    ]


def _explain(config: str, kinds: Mapping[str, str]) -> Mapping[str, str]:
    foils = FOILS.fullmatch(config)
    if foils and kinds is OWN_KINDS:
        number = int(foils[1])
        return {config: f"{number} wrong caption{'s' if number > 1 else ''} per row, of your table"}
    meanings = {**SPLITS, **kinds}
    return {name: meanings[name] for name in config.split("_") if name in meanings}
