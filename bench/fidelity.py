"""Compare our hard negatives with those that CREPE's authors published: ``python -m bench.fidelity [FOLDER]``.

FOLDER has the folders ``atom``, ``swap`` and ``negate`` of https://github.com/RAIVNLab/CREPE. The generators get the
authors' captions. The scene graphs behind them were not released: the caption's own parse replaces them, as the image's
graph as well, so a foil that the image's graph would exclude is not excluded here.

For each of the rules (``rules: paper | ours``), printed as tables:

- the share of the authors' HN-Atom edits that are in the pool of candidates, by kind of atom, and the causes of the
  others. Edits that are not words ("persinside") are counted and left out;
- the share of their swaps that have the words of the caption and that ours can make, and of their negations of which
  ours can negate the atom;
- the kinds of atoms that are edited, theirs and ours.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from compeval.base.pipeline.params import OURS, PAPER
from compeval.base.schemas.scene_graph import Mention, Parse
from compeval.base.texts import have_same_words, words
from compeval.generators.captioner.faithfulness import resolve_references
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.captioner.substitution import read_as_written
from compeval.generators.graphs.assignments import SearchLimitError
from compeval.generators.graphs.entailment import Negated, proves_false
from compeval.generators.graphs.facts import ImageFacts, collect_facts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.crepe import paper_foils
from compeval.generators.hard_negatives.crepe.annotated import is_new, may_be_negated
from compeval.generators.hard_negatives.crepe.atom import AtomFoils, make_atom_negatives
from compeval.generators.hard_negatives.crepe.in_place import negate_in_place, swap_in_place
from compeval.generators.hard_negatives.crepe.negation import list_atoms
from compeval.generators.hard_negatives.crepe.replacements import ALL_WORDS, find_words, make_foil
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.crepe.walk_conditions import PER_TYPE
from compeval.generators.language.wordnet_database import wordnet
from compeval.generators.parser.caption_parser import make_parser
from compeval.loaders.benchmarks.crepe_published import PRODUCTIVITY, read
from compeval.loaders.published.rows import Row

FOLDER = Path(os.environ.get("COMPEVAL_REAL_DATA", ".")) / "crepe" / "prod_hard_negatives"
RULES = (PAPER, OURS)
KINDS = ("object", "attribute", "relation", "outside every atom")
MAX_CANDIDATES = 400
"""Candidates of an atom that our own rules are asked for."""
_TOKEN = re.compile(r"[\w'-]+|[^\w\s]")
_ARTICLE = re.compile(r"\ban\b")


class Edit(NamedTuple):
    """One published replacement: the characters ``start`` to ``end`` of the caption become ``new``."""

    start: int
    end: int
    new: str


class Item(NamedTuple):
    """A published caption with its negatives, our parse of it, and the facts of that parse."""

    parse: Parse
    negatives: Sequence[str]

    @property
    def facts(self) -> ImageFacts:
        return collect_facts(self.parse.graph)

    @property
    def caption(self) -> ParsedCaption:
        return ParsedCaption(self.parse.graph, self.parse.caption, self.parse.mentions, "")


def read_items(folder: Path, kind: str, count: int) -> list[Item]:
    """Return ``count`` random rows of each file of a kind (``atom``, ``swap`` or ``negate``), parsed."""
    rows: list[Row] = []
    for path in sorted((folder / kind).glob("*.csv")):
        if PRODUCTIVITY.match(path.name):
            usable = [row for row in read(path, path.name) if isinstance(row, Row)]
            rows += Random(path.name).sample(usable, min(count, len(usable)))
    parses = make_parser().parse([row.captions[0] for row in rows])
    return [
        Item(resolve_references(parse), row.hard_negatives)
        for parse, row in zip(parses, rows, strict=True)
    ]


def find_edit(caption: str, negative: str) -> Edit | None:
    """Return the published edit, or None if the texts are equal."""
    old, new = (list(_TOKEN.finditer(text)) for text in (caption, negative))
    texts = [[match[0] for match in tokens] for tokens in (old, new)]
    changed = [
        code
        for code in SequenceMatcher(None, *texts, autojunk=False).get_opcodes()
        if code[0] != "equal"
    ]
    if not changed or changed[0][1] == changed[-1][2] or changed[0][3] == changed[-1][4]:
        return None
    (start, end), (new_start, new_end) = (
        (changed[0][1], changed[-1][2]),
        (changed[0][3], changed[-1][4]),
    )
    return Edit(
        old[start].start(),
        old[end - 1].end(),
        negative[new[new_start].start() : new[new_end - 1].end()].lower(),
    )


@cache
def list_forms(text: str) -> frozenset[str]:
    """Return a word and its lemmas."""
    forms = {text, *(wordnet().morphy(text.replace(" ", "_"), pos) for pos in "nvar")} - {None}
    return frozenset(str(form).replace("_", " ") for form in forms)


@cache
def is_word(text: str) -> bool:
    """Return True if a text is a preposition of the authors, or WordNet has it in some form."""
    return text in paper_foils.PREPOSITIONS or any(
        wordnet().synsets(form.replace(" ", "_")) for form in list_forms(text)
    )


def find_mentions(item: Item, edit: Edit) -> list[Mention]:
    """Return the mentions that contain an edit."""
    return [
        mention
        for mention in item.parse.mentions
        if mention.start <= edit.start and edit.end <= mention.end
    ]


def find_cause_by_paper(item: Item, edit: Edit, mentions: Iterable[Mention]) -> str | None:
    """Return why the paper's pool does not contain an edit, or None if it does."""
    causes = set[str]()
    for mention in mentions:
        words_at = {
            word
            for part, word in paper_foils.list_edits(item.parse.caption, mention)
            if (part.start, part.end) == (edit.start, edit.end)
        }
        if words_at.isdisjoint(list_forms(edit.new)):
            causes.add("no antonym, cousin or preposition")
        elif paper_foils.is_annotated(item.parse, mention, edit.new, item.parse.graph):
            causes.add("in the caption's own graph")
        else:
            return None
    return min(causes)


def find_cause_by_ours(item: Item, edit: Edit, mentions: Iterable[Mention]) -> str | None:
    """Return why our pool does not contain an edit, or None if it does."""
    published = _fold(item.parse.caption[: edit.start] + edit.new + item.parse.caption[edit.end :])
    facts = item.facts.with_caption(item.parse.graph)
    causes = set[str]()
    for mention in mentions:
        written = read_as_written(item.parse.caption, mention)
        near, distant = find_words(item.parse, written, ALL_WORDS)
        candidates = (*near, *islice(distant, MAX_CANDIDATES))
        found = [
            word for word in candidates if not list_forms(word).isdisjoint(list_forms(edit.new))
        ]
        negatives = (make_foil(item.parse, written, word, facts) for word in found)
        by_text = [
            item.parse.caption[: written.start] + word + item.parse.caption[written.end :]
            for word in candidates
        ]
        if any(negative is not None for negative in negatives) and (
            published in map(_fold, by_text)
            or (written.start, written.end) == (edit.start, edit.end)
        ):
            return None
        causes.add(
            "may be true or does not fit" if found else "no candidate of the lexicon or WordNet"
        )
    return min(causes)


FIND_CAUSE: dict[str, Callable[[Item, Edit, Iterable[Mention]], str | None]] = {
    PAPER: find_cause_by_paper,
    OURS: find_cause_by_ours,
}


def measure_atoms(
    items: Iterable[Item], rules: str
) -> tuple[Counter[tuple[str, bool]], Counter[str]]:
    """Count the authors' edits by kind and whether our pool contains them, and the causes of the others."""
    found, causes = Counter[tuple[str, bool]](), Counter[str]()
    for item in items:
        for edit in filter(
            None, (find_edit(item.parse.caption, negative) for negative in item.negatives)
        ):
            if not is_word(edit.new):
                causes["not a word: left out"] += 1
                continue
            mentions = find_mentions(item, edit)
            cause = (
                FIND_CAUSE[rules](item, edit, mentions)
                if mentions
                else "outside the atoms of our parse"
            )
            found[mentions[0].kind if mentions else KINDS[-1], cause is None] += 1
            if cause:
                causes[cause] += 1
    return found, causes


def _fold(text: str) -> str:
    return " ".join(words(_ARTICLE.sub("a", text.lower())))


def list_swaps(item: Item, rules: str) -> set[str]:
    """Return the swaps of a caption, as folded texts."""
    graph = item.parse.graph
    if rules == PAPER:
        edits = [
            edited for edited, _ in make_swaps(graph, strict=False) if is_new(edited, graph, graph)
        ]
        texts = [swap_in_place(item.caption, edited) for edited in edits]
    else:
        edits = [
            edited for edited, _ in make_swaps(graph) if _is_false(item.facts.is_false, edited)
        ]
        texts = [item.caption.edit(edited) for edited in edits]
    return {_fold(text) for text in texts if text is not None}


def _is_false(prove: Callable[..., bool], *statement: object) -> bool:
    try:
        return prove(*statement)
    except SearchLimitError:
        return False


def measure_swaps(items: Iterable[Item], rules: str) -> Counter[str]:
    """Return the number of published swaps that ours can make, that it cannot, and that change words."""
    counts = Counter[str]()
    for item in items:
        ours = list_swaps(item, rules)
        for negative in item.negatives:
            if not have_same_words(negative, item.parse.caption):
                counts["change words: left out"] += 1
            else:
                counts["can be made" if _fold(negative) in ours else "cannot"] += 1
    return counts


def read_negation(item: Item, negative: str) -> Negated | str | None:
    """Return the atom that a published negation denies, ``whole``, or None if our parse does not have it."""
    caption, negative = _fold(item.parse.caption), _fold(negative)
    match = re.fullmatch(r"there (?:is|are) no (.+)", negative)
    if match and match[1].split()[-1] == caption.split()[-1]:
        return "whole"
    atoms = list(list_atoms(item.parse.graph))
    if match := re.search(r" there (?:is|are) no ([^.]+)$", negative):
        nouns = [
            atom
            for atom in atoms
            if atom.kind == "object" and not list_forms(match[1]).isdisjoint({atom.text})
        ]
        return nouns[0] if nouns else None
    if match := re.search(r"\b(?:not|n't) (.+)$", negative):
        return _find_denied(item, atoms, len(caption.split()) - len(match[1].split()))
    return None


def _find_denied(item: Item, atoms: Iterable[Negated], index: int) -> Negated | None:
    """Return the relation or attribute at the word with an index."""
    positions = [match.start() for match in re.finditer(r"\w+", item.parse.caption)]
    if not 0 <= index < len(positions):
        return None
    keys = {
        mention.atom_key
        for mention in item.parse.mentions
        if mention.kind != "object" and mention.start <= positions[index] < mention.end
    }
    return next((atom for atom in atoms if atom.atom_key in keys), None)


def measure_negations(items: Iterable[Item], rules: str) -> Counter[str]:
    """Return the number of published negations whose atom ours can negate, and of the others by cause."""
    counts = Counter[str]()
    for item in items:
        graph = item.parse.graph
        for negative in item.negatives:
            atom = read_negation(item, negative)
            if atom is None:
                counts["no such atom in our parse"] += 1
            elif isinstance(atom, str):
                counts["can be made" if item.caption.negate_all() else "cannot be written"] += 1
            elif rules == PAPER:
                text = (
                    negate_in_place(item.caption, atom)
                    if may_be_negated(atom, graph, graph)
                    else ""
                )
                counts[
                    "can be made"
                    if text
                    else "cannot be written"
                    if text is None
                    else "may be true"
                ] += 1
            elif not _is_false(proves_false, item.facts, graph, atom):
                counts["may be true"] += 1
            else:
                counts[
                    "cannot be written" if item.caption.negate(atom) is None else "can be made"
                ] += 1
    return counts


def count_own_kinds(items: Sequence[Item], rules: str) -> Counter[str]:
    """Return the kinds of the atoms that our generators edit in the same captions; foils are not ranked."""
    vocabulary = Vocabulary.of(item.parse.graph for item in items)
    kinds = Counter[str]()
    for item in items:
        rng = Random(item.parse.caption)
        if rules == PAPER:
            pools = paper_foils.draw_atom_pools(item.parse, item.parse.graph, rng)
            scores = {negative.caption: rng.random() for pool in pools for negative in pool}
            negatives = paper_foils.draw_atoms_at_random(pools, scores, rng)
        else:
            atoms = AtomFoils(item.parse.graph, item.facts, item.caption, vocabulary)
            negatives = make_atom_negatives(atoms, rng)
        try:
            kinds.update(negative.foils[0].type for negative in islice(negatives, PER_TYPE))
        except SearchLimitError:
            kinds["search given up"] += 1
    return kinds


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} % of {total:,}" if total else "-"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from (f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))
    yield ""


def report_atoms(items: Sequence[Item]) -> Iterator[str]:
    """Yield the tables of HN-Atom."""
    measured = {rules: measure_atoms(items, rules) for rules in RULES}
    rows: list[list[str]] = []
    for kind in (*KINDS, "all"):
        cells = [kind]
        for found, _ in measured.values():
            of_kind = {is_found: n for (name, is_found), n in found.items() if name == kind}
            if kind == "all":
                of_kind = {
                    state: sum(n for (_, s), n in found.items() if s is state)
                    for state in (True, False)
                }
            cells.append(_share(of_kind.get(True, 0), sum(of_kind.values())))
        rows.append(cells)
    yield from _table(("authors' HN-Atom edits in the pool", *RULES), rows)
    causes = sorted({cause for _, counts in measured.values() for cause in counts})
    yield from _table(
        ("the others, by cause", *RULES),
        [[cause, *(f"{counts[cause]:,}" for _, counts in measured.values())] for cause in causes],
    )
    theirs = Counter(
        {
            kind: sum(n for (name, _), n in measured[PAPER][0].items() if name == kind)
            for kind in KINDS
        }
    )
    ours = {rules: count_own_kinds(items, rules) for rules in RULES}
    columns = (theirs, *ours.values())
    kinds = dict.fromkeys((*KINDS, *(kind for counts in columns for kind in counts)))
    shares = [
        [kind, *(_share(counts[kind], sum(counts.values())) for counts in columns)]
        for kind in kinds
    ]
    yield from _table(("kind of edited atom", "authors", *RULES), shares)


def report_counts(title: str, measure: Callable[[str], Counter[str]]) -> Iterator[str]:
    """Yield a table of counts by outcome, under both rules."""
    counts = {rules: measure(rules) for rules in RULES}
    outcomes = sorted({name for item in counts.values() for name in item})
    totals = {
        rules: sum(n for name, n in item.items() if "left out" not in name)
        for rules, item in counts.items()
    }
    yield from _table(
        (title, *RULES),
        [
            [
                name,
                *(
                    f"{item[name]:,}" if "left out" in name else _share(item[name], totals[rules])
                    for rules, item in counts.items()
                ),
            ]
            for name in outcomes
        ],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--rows", type=int, default=100, help="random rows of each file")
    options = parser.parse_args(arguments)
    if not (options.folder / "atom").is_dir():
        print(f"{options.folder}: no folder atom; skipped.")
        return
    print(
        "The scene graphs of the captions were not released. The parse of each caption replaces them.\n"
    )
    print("\n".join(report_atoms(read_items(options.folder, "atom", options.rows))))
    swaps, negations = (
        read_items(options.folder, kind, options.rows) for kind in ("swap", "negate")
    )
    print("\n".join(report_counts("authors' swaps", partial(measure_swaps, swaps))))
    print("\n".join(report_counts("authors' negations", partial(measure_negations, negations))))


if __name__ == "__main__":
    main()
