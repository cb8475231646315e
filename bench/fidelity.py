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
import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from compeval.base.pipeline.params import OURS, PAPER
from compeval.base.readers import visual_genome
from compeval.base.readers.records import Flaws
from compeval.base.schemas.scene_graph import AtomKind, Mention, Parse
from compeval.base.text_only.gaps import ScoreWords
from compeval.base.text_only.language_models import MaskedWordScorer
from compeval.base.texts import have_same_words, words
from compeval.generators.captioner import template
from compeval.generators.captioner.faithfulness import resolve_references
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.captioner.substitution import read_as_written
from compeval.generators.captioner.words import join_text
from compeval.generators.graphs.assignments import SearchLimitError
from compeval.generators.graphs.entailment import proves_false
from compeval.generators.graphs.facts import ImageFacts, collect_facts
from compeval.generators.graphs.uniform_walks import draw_uniform_walk, select_annotated
from compeval.generators.graphs.walks import find_components
from compeval.generators.hard_negatives.crepe.annotated import is_new
from compeval.generators.hard_negatives.crepe.in_place import (
    negate_all_in_place,
    negate_in_place,
    swap_in_place,
)
from compeval.generators.hard_negatives.crepe.negation import list_atoms
from compeval.generators.hard_negatives.crepe.paper_foils import (
    NUM_RANKED,
    PREPOSITIONS,
    Slot,
    draw_atoms,
    list_slots,
)
from compeval.generators.hard_negatives.crepe.replacements import ALL_WORDS, find_words, make_foil
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.crepe.walk_conditions import PER_TYPE
from compeval.generators.language.wordnet_database import wordnet
from compeval.generators.parser.caption_parser import make_parser
from compeval.loaders.benchmarks.crepe_published import PRODUCTIVITY, read
from compeval.loaders.published.rows import Row

FOLDER = Path(os.environ.get("COMPEVAL_REAL_DATA", ".")) / "crepe" / "prod_hard_negatives"
RULES = (PAPER, OURS)
KINDS: tuple[AtomKind, ...] = ("object", "attribute", "relation")
SIZES = (4, 8, 12)
MAX_EDITS = 2000
"""Published edits of each kind that are compared."""
OURS_STEP = 20
"""Every 20th edit is searched in the pool of ``rules: ours``, which proves each candidate."""
MAX_CANDIDATES = 400
"""Candidates of an atom that are requested from our own rules."""
NUM_WALKS = 200
"""Walks of each image and size."""
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_ARTICLE = re.compile(r"\ban\b")
WITHIN_A_WORD = "within a word: left out"


class Edit(NamedTuple):
    """One published replacement: the characters ``start`` to ``end`` of the caption become ``new``, in ``negative``."""

    start: int
    end: int
    new: str
    negative: str


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


def read_rows(folder: Path, kind: str, count: int | None = None) -> list[Row]:
    """Return ``count`` random rows of each file of a kind (``atom``, ``swap`` or ``negate``), or all."""
    rows: list[Row] = []
    for path in sorted((folder / kind).glob("*.csv")):
        if PRODUCTIVITY.match(path.name):
            usable = [row for row in read(path, path.name) if isinstance(row, Row)]
            rows += (
                usable
                if count is None
                else Random(path.name).sample(usable, min(count, len(usable)))
            )
    return rows


def parse_rows(rows: Sequence[Row]) -> list[Item]:
    parses = make_parser().parse([row.captions[0] for row in rows])
    return [
        Item(resolve_references(parse), row.hard_negatives)
        for parse, row in zip(parses, rows, strict=True)
    ]


def find_edit(caption: str, negative: str) -> Edit | None:
    """Return the published edit of one word, or None if the texts are equal or differ otherwise."""
    old, new = (list(_TOKEN.finditer(text)) for text in (caption, negative))
    if len(old) != len(new):
        return None
    changed = [
        (first, second) for first, second in zip(old, new, strict=True) if first[0] != second[0]
    ]
    if len(changed) != 1:
        return None
    ((first, second),) = changed
    return Edit(first.start(), first.end(), second[0], negative)


@cache
def list_forms(text: str) -> frozenset[str]:
    """Return a word and its lemmas."""
    forms = {text, *(wordnet().morphy(text.replace(" ", "_"), pos) for pos in "nvar")} - {None}
    return frozenset(str(form).replace("_", " ") for form in forms)


@cache
def is_word(text: str) -> bool:
    """Return True if a text is a preposition of the authors, or WordNet has it in some form."""
    return text in PREPOSITIONS or any(
        wordnet().synsets(form.replace(" ", "_")) for form in list_forms(text)
    )


def find_mentions(item: Item, edit: Edit) -> list[Mention]:
    """Return the mentions that contain an edit."""
    return [
        mention
        for mention in item.parse.mentions
        if mention.start <= edit.start and edit.end <= mention.end
    ]


class Match(NamedTuple):
    """A published edit that our rules make: the slot and the word."""

    slot: Slot
    word: str


def find_match(caption: str, edit: Edit, mentions: Sequence[Mention]) -> Match | None:
    """Return the slot and the word whose text is the published one, or None.

    The edited word is taken for the atom, since the graph was not released: of the kind of a mention of our parse, or
    of any kind, and named as in the caption or without its ending.
    """
    written = caption[edit.start : edit.end].lower()
    names = (written, *(written.removesuffix(end) for end in ("s", "es") if written.endswith(end)))
    kinds: dict[AtomKind, None] = dict.fromkeys((*(mention.kind for mention in mentions), *KINDS))
    for kind, name in product(kinds, names):
        atom = Mention(kind, name, edit.start, edit.end, "", "", "" if kind == "relation" else None)
        for slot in list_slots(caption, [atom]):
            word = edit.negative[slot.gap.start : len(edit.negative) - len(caption) + slot.gap.end]
            if word in slot.gap.words and slot.gap.fill(word) == edit.negative:
                return Match(slot, word)
    return None


def find_cause_by_paper(item: Item, edit: Edit, mentions: Sequence[Mention]) -> str | None:
    """Return why our texts do not contain a published one, or None if they do."""
    caption = item.parse.caption
    if find_match(caption, edit, mentions):
        return None
    return "another word" if is_word(edit.new) else WITHIN_A_WORD


def find_cause_by_ours(item: Item, edit: Edit, mentions: Iterable[Mention]) -> str | None:
    """Return why our pool does not contain an edit, or None if it does."""
    published = _fold(item.parse.caption[: edit.start] + edit.new + item.parse.caption[edit.end :])
    facts = item.facts.with_caption(item.parse.graph)
    causes = set[str]()
    for mention in mentions:
        written = read_as_written(item.parse.caption, mention)
        near, distant = find_words(item.parse, written, ALL_WORDS)
        candidates = (*near, *islice(distant, MAX_CANDIDATES))
        equal_words = [
            word for word in candidates if not list_forms(word).isdisjoint(list_forms(edit.new))
        ]
        negatives = (make_foil(item.parse, written, word, facts) for word in equal_words)
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
            "may be true or does not fit"
            if equal_words
            else "no candidate of the lexicon or WordNet"
        )
    return min(causes)


FIND_CAUSE: dict[str, Callable[[Item, Edit, Sequence[Mention]], str | None]] = {
    PAPER: find_cause_by_paper,
    OURS: find_cause_by_ours,
}


def sample_edits(items: Iterable[Item]) -> list[tuple[str, Item, Edit]]:
    """Return up to MAX_EDITS random published edits of each kind of atom."""
    by_kind: dict[str, list[tuple[str, Item, Edit]]] = {kind: [] for kind in KINDS}
    for item in items:
        for negative in item.negatives:
            if edit := find_edit(item.parse.caption, negative):
                mentions = find_mentions(item, edit)
                match = find_match(item.parse.caption, edit, mentions)
                kind = (
                    match.slot.mention.kind if match else mentions[0].kind if mentions else "object"
                )
                by_kind[kind].append((kind, item, edit))
    return [
        edit
        for edits in by_kind.values()
        for edit in Random(0).sample(edits, min(MAX_EDITS, len(edits)))
    ]


def measure_atoms(
    edits: Iterable[tuple[str, Item, Edit]], rules: str
) -> tuple[Counter[tuple[str, bool]], Counter[str]]:
    """Count the authors' edits by kind and whether ours contain them, and the causes of the others."""
    counts = Counter[tuple[str, bool]]()
    causes = Counter[str]()
    for kind, item, edit in edits:
        if find_cause_by_paper(item, edit, find_mentions(item, edit)) == WITHIN_A_WORD:
            causes[WITHIN_A_WORD] += 1
            continue
        mentions = find_mentions(item, edit)
        is_in_parse = rules == PAPER or mentions
        cause = (
            FIND_CAUSE[rules](item, edit, mentions)
            if is_in_parse
            else "outside the atoms of our parse"
        )
        counts[kind, cause is None] += 1
        if cause:
            causes[cause] += 1
    return counts, causes


def measure_ranks(
    edits: Iterable[tuple[str, Item, Edit]], score_words: ScoreWords
) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, the rank of the authors' word among those that the model scores (1: best), and their number.

    Words that are not in the model's vocabulary have the rank 0.
    """
    matches = [
        (kind, match)
        for kind, item, edit in edits
        if (match := find_match(item.parse.caption, edit, find_mentions(item, edit)))
    ]
    scores = score_words([match.slot.gap for _, match in matches])
    for (kind, match), of_words in zip(matches, scores, strict=True):
        own = of_words.get(match.word)
        rank = 0 if own is None else 1 + sum(score > own for score in of_words.values())
        yield kind, rank, len(of_words)


class Drawn(NamedTuple):
    """The edits of captions: kind, old and new word, and the number of different atoms per caption."""

    edits: list[tuple[str, str, str]]
    atoms: Counter[int]

    @property
    def kinds(self) -> Counter[str]:
        return Counter(kind for kind, _, _ in self.edits)


def list_published_draws(items: Iterable[Item]) -> Drawn:
    edits: list[tuple[str, str, str]] = []
    atoms = Counter[int]()
    for item in items:
        places = set[int]()
        for negative in item.negatives:
            if (edit := find_edit(item.parse.caption, negative)) is None:
                continue
            match = find_match(item.parse.caption, edit, find_mentions(item, edit))
            if match:
                old = item.parse.caption[match.slot.gap.start : match.slot.gap.end]
                edits.append((match.slot.mention.kind, old, match.word))
            places.add(edit.start)
        atoms[len(places)] += 1
    return Drawn(edits, atoms)


def list_own_draws(items: Iterable[Item], score_words: ScoreWords) -> Drawn:
    """Return what ``rules: paper`` draws for the same captions."""
    edits: list[tuple[str, str, str]] = []
    atoms = Counter[int]()
    for item in items:
        caption = item.parse.caption
        slots = list_slots(caption, item.parse.mentions)
        scores = score_words([slot.gap for slot in slots])
        negatives = list(islice(draw_atoms(slots, scores, PER_TYPE, Random(caption)), PER_TYPE))
        if len(negatives) < PER_TYPE:
            continue
        drawn_edits = [find_edit(caption, negative.caption) for negative in negatives]
        for negative, edit in zip(negatives, drawn_edits, strict=True):
            if edit:
                edits.append((negative.foils[0].type, caption[edit.start : edit.end], edit.new))
        atoms[len({edit.start for edit in drawn_edits if edit})] += 1
    return Drawn(edits, atoms)


def measure_distance(first: Mapping[Any, int], second: Mapping[Any, int]) -> float:
    """Return the total variation distance of two distributions, given as counts."""
    totals = [max(1, sum(counts.values())) for counts in (first, second)]
    shares = (
        abs(first.get(key, 0) / totals[0] - second.get(key, 0) / totals[1])
        for key in {*first, *second}
    )
    return sum(shares) / 2


def _fold(text: str) -> str:
    return " ".join(words(_ARTICLE.sub("a", text.lower())))


def name_as_written(item: Item) -> Item:
    """Return an item whose graph has the words of the caption as names: the plurals of its objects, for example."""
    text = item.parse.caption
    names = dict[str, str]()
    for mention in item.parse.mentions:
        if mention.kind == "object":
            names.setdefault(mention.object, text[mention.start : mention.end].lower())
    graph = item.parse.graph
    objects = (replace(entry, name=names.get(entry.id, entry.name)) for entry in graph.objects)
    mentions = (
        replace(mention, text=names[mention.object]) if mention.kind == "object" else mention
        for mention in item.parse.mentions
    )
    parse = replace(
        item.parse, graph=replace(graph, objects=tuple(objects)), mentions=tuple(mentions)
    )
    return item._replace(parse=parse)


def list_swaps(item: Item, rules: str) -> set[str]:
    """Return the swaps of a caption, as folded texts.

    Whether the graph had "duck" or "ducks" is not known, so both are tried.
    """
    graph = item.parse.graph
    if rules == PAPER:
        texts = [
            swap_in_place(named.caption, edited)
            for named in (item, name_as_written(item))
            for edited, _ in make_swaps(named.parse.graph, strict=False)
            if is_new(edited, named.parse.graph, named.parse.graph)
        ]
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


def list_negations(item: Item, rules: str) -> set[str]:
    """Return the negations of a caption, as folded texts."""
    graph = item.parse.graph
    caption = item.caption
    atoms = list(list_atoms(graph))
    if rules == PAPER:
        texts = [*negate_all_in_place(caption), *(negate_in_place(caption, atom) for atom in atoms)]
    else:
        false = [atom for atom in atoms if _is_false(proves_false, item.facts, graph, atom)]
        texts = [*caption.negate_all(), *(caption.negate(atom) for atom in false)]
    return {_fold(text) for text in texts if text is not None}


def measure_negations(items: Iterable[Item], rules: str) -> Counter[str]:
    """Return the number of published negations whose text ours can write, but for case and marks, and of the others."""
    counts = Counter[str]()
    for item in items:
        ours = list_negations(item, rules)
        for negative in item.negatives:
            if _fold(negative) == _fold(item.parse.caption):
                counts["are the caption: left out"] += 1
            else:
                counts["can be made" if _fold(negative) in ours else "cannot"] += 1
    return counts


def count_published_walks(rows: Iterable[Mapping[str, str]]) -> dict[int, list[tuple[int, ...]]]:
    """Return objects, relations, attributes and components of the distinct published captions, by size."""
    names = ("n_objects", "n_relations", "n_attributes", "n_connected_components")
    distinct = {
        (row["image_id"], row["caption"]): (int(row["n"]), tuple(int(row[name]) for name in names))
        for row in rows
    }
    return {size: [shape for n, shape in distinct.values() if n == size] for size in SIZES}


def count_own_walks(folder: Path) -> tuple[dict[int, list[tuple[int, ...]]], list[str]]:
    """Return the same of walks over Visual Genome's images in a folder, and the captions of those of four atoms."""
    graphs = [select_annotated(image.graph) for image in visual_genome.read(folder, Flaws())]
    shapes: dict[int, list[tuple[int, ...]]] = {size: [] for size in SIZES}
    captions: list[str] = []
    for graph, size, seed in product(graphs, SIZES, range(NUM_WALKS)):
        if (walk := draw_uniform_walk(graph, size, Random(seed))) is None:
            continue
        attributes = sum(len(item.attributes) for item in walk.objects)
        components = len(set(find_components(walk).values()))
        shapes[size].append((len(walk.objects), len(walk.relations), attributes, components))
        if size == template.COMPLEXITY:
            captions.append(join_text(template.write_published(walk)))
    return shapes, captions


def count_sentences(captions: Iterable[str]) -> Counter[int]:
    return Counter(sum(bool(part.strip()) for part in caption.split(".")) for caption in captions)


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} % of {total:,}" if total else "-"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from (f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))
    yield ""


def report_texts(edits: Sequence[tuple[str, Item, Edit]]) -> Iterator[str]:
    """Yield the tables of HN-Atom texts."""
    samples = {PAPER: edits, OURS: edits[::OURS_STEP]}
    measured = {rules: measure_atoms(sample, rules) for rules, sample in samples.items()}
    rows: list[list[str]] = []
    for kind in (*KINDS, "all"):
        cells = [kind]
        for edit_counts, _ in measured.values():
            states = {
                state: sum(
                    n
                    for (name, is_found), n in edit_counts.items()
                    if is_found is state and kind in (name, "all")
                )
                for state in (True, False)
            }
            cells.append(_share(states[True], sum(states.values())))
        rows.append(cells)
    header = (
        "authors' HN-Atom texts that ours make",
        "paper: the text",
        "ours: the edit is in the pool",
    )
    yield from _table(header, rows)
    causes = sorted({cause for _, counts in measured.values() for cause in counts})
    yield from _table(
        ("the others, by cause", *RULES),
        [[cause, *(f"{counts[cause]:,}" for _, counts in measured.values())] for cause in causes],
    )


def report_ranks(edits: Sequence[tuple[str, Item, Edit]], score_words: ScoreWords) -> Iterator[str]:
    """Yield the table of the ranks of the authors' words."""
    measured = list(measure_ranks(edits, score_words))
    rows: list[list[str]] = []
    for kind in KINDS:
        ranks = [(rank, count) for name, rank, count in measured if name == kind]
        in_vocabulary = sorted((rank, count) for rank, count in ranks if rank)
        best = sum(rank <= NUM_RANKED for rank, _ in in_vocabulary)
        chance = sum(min(1, NUM_RANKED / count) for _, count in in_vocabulary)
        middle = in_vocabulary[len(in_vocabulary) // 2][0] if in_vocabulary else 0
        rows.append(
            [
                kind,
                _share(len(in_vocabulary), len(ranks)),
                str(middle),
                _share(best, len(in_vocabulary)),
                _share(round(chance), len(in_vocabulary)),
            ]
        )
    header = (
        "authors' word, by the model",
        "in its vocabulary",
        "median rank",
        "in our five best",
        "by chance",
    )
    yield from _table(header, rows)


def report_draws(released: Drawn, ours: Drawn) -> Iterator[str]:
    """Yield the tables of drawn words: prepositions, kinds, atoms per row and vocabulary."""
    rows: list[list[str]] = []
    for preposition in PREPOSITIONS:
        counts = [
            Counter(
                new for kind, old, new in drawn.edits if kind == "relation" and old == preposition
            )
            for drawn in (released, ours)
        ]
        texts = (
            ", ".join(f"{word} {count}" for word, count in of_rules.most_common()) or "-"
            for of_rules in counts
        )
        rows.append([preposition, *texts, f"{measure_distance(*counts):.2f}"])
    yield from _table(("words drawn for", "released", PAPER, "distance"), rows)
    shares = [
        ["kind of edited atom", released.kinds, ours.kinds],
        ["different places among five", released.atoms, ours.atoms],
    ]
    is_entry = load_bert_vocabulary()
    if is_entry is not None:
        entries = (
            Counter(
                "one entry of BERT" if is_entry(new) else "several" for _, _, new in drawn.edits
            )
            for drawn in (released, ours)
        )
        shares.append(["new word", *entries])
    yield from _table(
        ("", "released", PAPER, "distance"),
        [
            [title, *map(_describe, (first, second)), f"{measure_distance(first, second):.2f}"]
            for title, first, second in shares
        ],
    )


def load_bert_vocabulary() -> Callable[[str], bool] | None:
    """Return a function that is True for words of BERT's uncased vocabulary, or None without the package blingfire."""
    try:
        import blingfire  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    folder = Path(str(blingfire.__file__)).parent
    model = blingfire.load_model(str(folder / "bert_base_tok.bin"))
    unknown = 100

    def is_entry(word: str) -> bool:
        ids = [number for number in blingfire.text_to_ids(model, word, 8, unknown) if number]
        return len(ids) == 1 and ids[0] != unknown

    return is_entry


def _describe(counts: Mapping[Any, int]) -> str:
    total = max(1, sum(counts.values()))
    return ", ".join(f"{key} {100 * n / total:.1f} %" for key, n in sorted(counts.items()))


def report_walks(released: Path, source: Path) -> Iterator[str]:
    """Yield the tables of the walks' shapes and of the sentences of captions of four atoms."""
    rows: list[dict[str, str]] = []
    for path in sorted(released.glob("*/*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file)
    published = count_published_walks(rows)
    own, captions = count_own_walks(source)
    lines: list[list[str]] = []
    for size in SIZES:
        means = [
            [sum(column) / len(shapes[size]) for column in zip(*shapes[size], strict=True)]
            for shapes in (published, own)
        ]
        distance = measure_distance(Counter(published[size]), Counter(own[size]))
        texts = (" / ".join(f"{mean:.2f}" for mean in of_rules) for of_rules in means)
        lines.append([f"n{size}", *texts, f"{distance:.2f}"])
    yield from _table(
        ("objects / relations / attributes / components", "released", PAPER, "distance"), lines
    )
    sentences = (
        count_sentences({row["caption"] for row in rows if row["n"] == "4"}),
        count_sentences(captions),
    )
    yield from _table(
        ("sentences of captions of four atoms", "released", PAPER, "distance"),
        [["", *map(_describe, sentences), f"{measure_distance(*sentences):.2f}"]],
    )


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
    parser.add_argument(
        "--rows", type=int, default=100, help="random rows of each file of swaps and negations"
    )
    parser.add_argument(
        "--model",
        help="masked language model, a name or a folder (python -m bench.masked_lm makes one)",
    )
    options = parser.parse_args(arguments)
    if not (options.folder / "atom").is_dir():
        print(f"{options.folder}: no folder atom; skipped.")
        return
    print("The scene graphs of the captions were not released. Their parses replace them.\n")
    rows = read_rows(options.folder, "atom")
    items = parse_rows(rows)
    edits = sample_edits(items)
    print("\n".join(report_texts(edits)))
    if options.model:
        scorer = MaskedWordScorer(options.model)
        print(f"Model: {options.model}\n")
        print("\n".join(report_ranks(edits, scorer.score_words)))
        print(
            "\n".join(
                report_draws(list_published_draws(items), list_own_draws(items, scorer.score_words))
            )
        )
    source = options.folder.parent.parent / "visual_genome" / "v1.2.0"
    if source.is_dir():
        print("\n".join(report_walks(options.folder, source)))
    swaps, negations = (
        parse_rows(read_rows(options.folder, kind, options.rows)) for kind in ("swap", "negate")
    )
    print("\n".join(report_counts("authors' swaps", partial(measure_swaps, swaps))))
    print("\n".join(report_counts("authors' negations", partial(measure_negations, negations))))


if __name__ == "__main__":
    main()
