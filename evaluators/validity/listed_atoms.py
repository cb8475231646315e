"""Compare the atoms that rows list with the atoms that their captions assert, as the oracle reads them.

A row lists atoms in the column ``atoms``. The oracle reads the caption independently of the parser that listed them. In
a reading, each object is an ``object`` atom, each adjective an ``attribute`` atom and each relation between two objects
a ``relation`` atom. What the caption denies is not asserted. Of an ambiguous caption ("ball in boat and a bucket"), one
reading must have the listed atoms.

Two relations are equal if they mean the same in the oracle's vocabulary: "resting on", "on top of" and "on" are one
relation, and "worn by" is "wear" in the passive voice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.schemas.corpus_names import get_kind
from compeval.base.storage import parquet
from compeval.evaluators.validity.oracle import UnreadableError, lexicon, parse_caption
from compeval.evaluators.validity.oracle.drs import DRS, Property, Relation
from compeval.generators.parser.lemmas import infinitive

AtomKey = tuple[str, str]
"""The kind of an atom, and its text or the meaning of its relation."""


class ListedAtoms(NamedTuple):
    """The share of rows that list exactly the asserted atoms, None without rows, and the failures of all other rows."""

    rows: int
    share: float | None
    failures: tuple[tuple[str, str], ...]
    """Captions with the reason why their atoms differ from those that they assert."""


def compare_listed_atoms(rows: Iterable[Mapping[str, Any]]) -> ListedAtoms:
    """Compare the columns ``caption`` and ``atoms`` of N rows.

    A caption that the oracle cannot read is a failure.
    """
    count = 0
    failures = []
    for row in rows:
        count += 1
        if why := find_difference(
            row["caption"], [(atom["kind"], atom["text"]) for atom in row["atoms"]]
        ):
            failures.append((row["caption"], why))
    return ListedAtoms(count, (count - len(failures)) / count if count else None, tuple(failures))


def measure_listed_atoms(dataset: Path) -> dict[str, ListedAtoms]:
    """Return kind -> comparison of the rows of all configs of that kind: ``raw``, ``hnatom``, ``prod_hnswap`` ..."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for path in sorted(dataset.glob("*/*.parquet")):
        rows.setdefault(get_kind(path.parent.name), []).extend(
            parquet.read_table(path, ["caption", "atoms"]).to_pylist()
        )
    return {kind: compare_listed_atoms(group) for kind, group in rows.items()}


def find_difference(caption: str, listed: Sequence[tuple[str, str]]) -> str:
    """Return why a list of (kind, text) differs from the atoms that the caption asserts, or "" if it does not.

    The difference is that from the most likely reading.
    """
    try:
        asserted, *others = (
            Counter(list_asserted_atoms(reading)) for reading in parse_caption(caption).readings
        )
    except UnreadableError as error:
        return str(error)
    listed_atoms = Counter(
        (kind, read_relation(text) or text if kind == "relation" else text) for kind, text in listed
    )
    if listed_atoms in others:
        return ""
    parts = [("not listed", asserted - listed_atoms), ("not asserted", listed_atoms - asserted)]
    return "; ".join(
        f"{title}: {', '.join(f'{kind} {text}' for kind, text in sorted(atoms.elements()))}"
        for title, atoms in parts
        if atoms
    )


def list_asserted_atoms(drs: DRS) -> Iterator[AtomKey]:
    """Yield the atoms of the conditions of a DRS that are not negated.

    Objects of which the same conditions hold ("two red balls") are one object with their number as an attribute.
    """
    groups = _group_referents(drs)
    for members in dict.fromkeys(groups.values()):
        if len(members) > 1:
            yield "attribute", str(len(members))
    first = {referent: members[0] for referent, members in groups.items()}
    for condition in drs.conditions:
        match condition:
            case Property(referent, word, slot) if first[referent] == referent:
                yield "object" if slot == "noun" else "attribute", word
            case Relation(subjects, _, _, objects):
                pairs = {
                    (first[subject], first[target])
                    for subject, target in product(subjects, objects)
                }
                yield from [("relation", _read_condition(condition))] * len(pairs)
            case _:
                pass


def _group_referents(drs: DRS) -> dict[int, tuple[int, ...]]:
    """Return for each referent the referents of which the same conditions hold, itself included."""
    facts: dict[int, list[object]] = {referent: [] for referent in drs.referents}
    for condition in drs.conditions:
        match condition:
            case Property(referent, word, slot):
                facts[referent].append((word, slot))
            case Relation(subjects, _, _, objects):
                for referent in dict.fromkeys(subjects + objects):
                    facts[referent].append(condition)
            case _:
                pass
    groups: dict[tuple[object, ...], list[int]] = {}
    for referent, conditions in facts.items():
        groups.setdefault(tuple(conditions), []).append(referent)
    return {referent: tuple(members) for members in groups.values() for referent in members}


def read_relation(text: str) -> str | None:
    """Return the meaning of a relation in words, in the active voice; None if the oracle's vocabulary lacks it.

    Verbs may have any form ("hide", "partly hidden by"). Verbs of position do not change the meaning of a preposition.
    """
    verb, *following = words = text.split()
    if following and verb in lexicon.DEGREES and following[0] != "of":
        verb, *following = words = following
    if verb in lexicon.PAST_VERBS and following == ["by"]:
        return _name(lexicon.PAST_VERBS[verb].active)
    if following and verb in _list_postures():
        words = following
    for table in (lexicon.BASE_VERBS, lexicon.PRESENT_VERBS, lexicon.THIRD_VERBS):
        if not following and verb in table:
            return _name(table[verb].active)
    for table in (lexicon.PREPOSITIONS, lexicon.PARTICIPLES, lexicon.FINITE_PHRASES):
        for phrase, relations in table.get(words[0], ()):
            if phrase == tuple(words):
                return _name(relations)
    return {"have": _name(lexicon.HAS), "with": _name(lexicon.WITH)}.get(text)


@cache
def _list_postures() -> frozenset[str]:
    """Return all forms of the verbs of position."""
    forms = lexicon.POSTURES_PARTICIPLE | lexicon.POSTURES_FINITE
    return forms | {infinitive(form) for form in forms}


def _read_condition(relation: Relation) -> str:
    """Return the meaning of a relation of a DRS. Only there, "on" may mean that something is worn ("a hat on")."""
    meaning = None if relation.relations == lexicon.WORN else read_relation(relation.phrase)
    return meaning or _name(relation.relations) or relation.phrase


def _name(relations: Iterable[str]) -> str:
    return " | ".join(sorted(relations))
