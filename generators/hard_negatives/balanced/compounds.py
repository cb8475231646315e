"""Balanced hard negatives of captions with one compound: sets in which no text-only baseline finds the true caption.

Our own construction. In the sets of the paper (systematicity.py), the true caption is the medoid of its HN-Atoms, and
it is shorter than its HN-Comps. Here all captions of a set differ from each other in the same way:

- ``hnatom_balanced``: four captions with another word in the same place of the compound ("a red ball": "a red cup",
  "a red hat" ...)
- ``hncomp_balanced``: six captions with another compound ("a blue hat", "a green cup" ...), which share no word of the
  compound with each other or with the true caption. Relations stay.

Symmetry is not enough: a model that has read other captions of the set knows which words and compounds are true more
often than others, above all in ``uc``, whose true captions state the few compounds that a corpus leaves out. Therefore:

- Foils are drawn from the true captions of the same split, and are stated by as many other captions as the true
  captions are (``SplitCompounds``). No foil makes a compound that belongs to the other split, and none joins two nouns
  that no image shows together (image_nouns.py).
- Words that are much more often true than false, or false than true, are neither replaced nor drawn
  (``find_usable_words``).
- Regions with equal scene graphs stay: if each compound were true once, a baseline that has read the other true
  captions would avoid their compounds.
- No word that differs between the captions of a row is in another row of its image, which may state what is true.
- Rows show the whole image. A crop follows the objects of its true caption, so that its box finds the truth in 27 % of
  the rows of HN-Atom (chance 20 %), without a pixel.
- Refinement removes rows that can still be solved (refinement.py).

A foil is false because the image shows no such object, or an object whose attribute excludes the new one
(crepe/replacements.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, compress
from random import Random
from typing import Any, Literal, NamedTuple

import numpy as np

from compeval.base.schemas.scene_graph import Compound, Mention, Parse
from compeval.base.text_only.baselines import RetrievalSets
from compeval.base.text_only.refinement import select_rows_at_chance
from compeval.generators.captioner.substitution import replace_atom_text
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.balanced.image_nouns import ImageNouns
from compeval.generators.hard_negatives.crepe.replacements import find_known_attributes, may_replace
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative

BALANCED_NEGATIVES = {"hnatom_balanced": 4, "hncomp_balanced": 6}
"""Hard negatives per caption for each kind."""
MAX_WORDS = 64
"""Maximum number of words that may replace a noun; they are drawn by frequency."""
MIN_RATIO = 0.6
"""Minimum ratio of how often a word is false and true, or true and false."""
MAX_DRAWS = 1000
"""Maximum number of compounds that are drawn until one fits a caption."""
MAX_COUNT = 3
"""Compounds that are stated by this number of captions or more are treated alike."""
SMOOTHING = 0.5
"""Number of true compounds added to each number of captions, so that no foil is impossible by chance."""

PLACES = ("subject", "object")
Row = Mapping[str, Any]
Frame = tuple[str | None, ...]


class Part(NamedTuple):
    """The noun or attribute in one place of a caption's compound, and the words that may replace it.

    ``place`` is ``subject`` or ``object``, a field of Compound. The other fields but ``words`` are those of Mention.
    """

    place: str
    kind: Literal["object", "attribute"]
    text: str
    start: int
    end: int
    tag: str
    words: tuple[str, ...]


def find_parts(parse: Parse, image: ImageFacts, vocabulary: Vocabulary, rng: Random) -> list[Part]:
    """Return the two parts of a caption's only compound, without a relation; [] if the caption is another one."""
    graph = parse.graph
    keys: list[tuple[Literal["object", "attribute"], str]]
    if len(graph.compounds) != 1:
        return []
    if graph.relations:
        (edge,) = graph.relations
        keys = [("object", edge.subject), ("object", edge.object)]
    else:
        owner = next(item.id for item in graph.objects if item.attributes)
        keys = [("object", owner), ("attribute", owner)]
    found = [
        [mention for mention in parse.mentions if (mention.kind, mention.object) == key]
        for key in keys
    ]
    if any(len(mentions) != 1 for mentions in found):
        return []
    facts = image.with_caption(graph)
    return [
        Part(place, kind, mention.text, mention.start, mention.end, mention.tag, words)
        for place, (kind, _), (mention,) in zip(PLACES, keys, found, strict=True)
        for words in [_find_words(parse, mention, facts, vocabulary, rng)]
    ]


def _find_words(
    parse: Parse, mention: Mention, facts: ImageFacts, vocabulary: Vocabulary, rng: Random
) -> tuple[str, ...]:
    """Return words that make the caption false in place of a noun or an attribute, in alphabetical order."""
    if mention.kind == "attribute":
        candidates: Iterable[str] = find_known_attributes(mention.text, vocabulary)
    else:
        candidates = draw_words(vocabulary.nouns, rng)
    words: list[str] = []
    for word in candidates:
        if (
            len(words) < MAX_WORDS
            and word != mention.text
            and may_replace(parse, mention, word, facts)
        ):
            words.append(word)
    return tuple(sorted(words))


def draw_words(weights: Mapping[str, float], rng: Random) -> list[str]:
    """Return the words with positive weights in a random order, drawn by weight without replacement."""
    # Exponential clocks (Efraimidis and Spirakis 2006).
    clocks = ((rng.expovariate(weight), word) for word, weight in weights.items() if weight > 0)
    return [word for _, word in sorted(clocks)]


class CountWeights:
    """Weights with which foils are drawn, such that as many other captions state them as state the true compounds.

    A compound that one caption states is stated by no other one where it is true, and by one where it is a foil. If
    foils were drawn by frequency, the true compound would be the rarest. Therefore a compound with r captions has the
    weight (r + 1) n(r + 1) / n(r), where n(r) compounds have r captions. Source: Good (1953).
    """

    def __init__(self, counts: Collection[int]) -> None:
        self._true = Counter[int]()
        self._stated = Counter[int]()
        for count in counts:
            self._true[min(count - 1, MAX_COUNT)] += count
            self._stated[min(count, MAX_COUNT)] += count
        self.new_share = self._true[0] / max(sum(counts), 1)
        """Share of the true compounds that no other caption states."""
        self.new_per_compound = self._true[0] / max(len(counts), 1)

    def weigh(self, count: int) -> float:
        """Return the weight of a compound that a positive number of captions states."""
        level = min(count, MAX_COUNT)
        return (
            count * (self._true[level] + SMOOTHING) / self._stated[level]
            if self._stated[level]
            else 0.0
        )


class SplitCompounds:
    """The compounds of the true captions of a split, one per caption, from which foils are drawn.

    ``in_split`` are all compounds that belong to the split, and ``out_of_split`` those of other splits. Foils of two
    related nouns may be new combinations of nouns that captions state with the same relation, as often as the true
    ones are new to a reader of the other captions. Some image must show both, and a true combination some image beside
    its own.
    Nouns and attributes are not combined ("a closed guitar"). Therefore a caption has no negatives if no other one
    states its noun with its attribute.
    """

    def __init__(
        self,
        compounds: Sequence[Compound],
        in_split: Collection[Compound],
        out_of_split: Collection[Compound],
        image_nouns: ImageNouns,
    ) -> None:
        self._in_split = in_split
        self._out_of_split = out_of_split
        self._image_nouns = image_nouns
        self._counts = Counter(compounds)
        self._weights = {
            kind: CountWeights(
                [count for compound, count in self._counts.items() if compound.kind == kind]
            )
            for kind in ("ao", "oro")
        }
        self._by_relation: dict[Frame, list[Compound]] = {}
        for compound in compounds:
            self._by_relation.setdefault((compound.kind, compound.relation), []).append(compound)
        self._distinct = {
            relation: list(dict.fromkeys(stated)) for relation, stated in self._by_relation.items()
        }
        self._cumulated = {
            relation: [*accumulate(map(self._weigh, of))] for relation, of in self._distinct.items()
        }
        self._num_words = Counter[tuple[Frame, str]]()
        self._words_by_frame = defaultdict[Frame, list[str]](list)
        for compound, count in self._counts.items():
            for place in PLACES:
                for frame in _list_frames(compound, place):
                    key = frame, getattr(compound, place)
                    if key not in self._num_words:
                        self._words_by_frame[frame].append(key[1])
                    self._num_words[key] += count

    def may_be_true(self, compound: Compound) -> bool:
        """Return True if a caption with the compound may have negatives."""
        if compound.kind == "ao":
            return self._counts[compound] > 1
        return self._image_nouns.count_companions(compound.subject)[compound.object] > 1

    def _weigh(self, compound: Compound) -> float:
        return self._weights[compound.kind].weigh(self._counts[compound])

    def _admits(self, compound: Compound) -> bool:
        """Return True if a foil may make the compound. Only few pairs of nouns with a relation are ever stated."""
        return (
            compound in self._in_split
            if compound.kind == "ao"
            else compound not in self._out_of_split
        )

    def weigh(self, compound: Compound, place: str, words: Iterable[str]) -> dict[str, float]:
        """Return how probable each word is in a place of a compound, up to a factor.

        The caption of the compound itself does not count.
        """
        same, _ = _list_frames(compound, place)
        own = getattr(compound, place)
        weights = self._weights[compound.kind]
        num_types = len(self._words_by_frame.get(same, ())) - (self._num_words[same, own] == 1)
        share_by_new_word = (
            self._compute_shares_of_new_words(compound, place) if compound.kind == "oro" else {}
        )

        def weigh(word: str) -> float:
            if count := self._num_words[same, word] - (word == own):
                return weights.weigh(count)
            return weights.new_per_compound * num_types * share_by_new_word.get(word, 0.0)

        return {
            word: weigh(word) for word in words if self._admits(compound._replace(**{place: word}))
        }

    def _compute_shares_of_new_words(self, compound: Compound, place: str) -> dict[str, float]:
        """Return how probable each word is in a place of a pair of related nouns that no other caption states.

        Of the images that show the word and the other noun, as many relate them as of all images with the word.
        """
        same, similar = _list_frames(compound, place)
        own = getattr(compound, place)
        other = compound.object if place == "subject" else compound.subject
        num_together = self._image_nouns.count_companions(other)
        weight_by_word: dict[str, float] = {}
        for word in self._words_by_frame.get(similar, ()):
            count, num_with_relation = (
                self._num_words[frame, word] - (word == own) for frame in (same, similar)
            )
            num_images = num_together[word] - (word == own)
            if not count and num_images > 0:
                weight_by_word[word] = (
                    num_images * num_with_relation / self._image_nouns.count(word)
                )
        total = sum(weight_by_word.values())
        return {word: weight / total for word, weight in weight_by_word.items()} if total else {}

    def draw(self, compound: Compound, rng: Random) -> Iterator[Compound]:
        """Yield candidates for one foil: at most ``MAX_DRAWS`` random compounds with the same relation, or without one.

        All of them are new combinations, or all are stated by captions.
        """
        relation = compound.kind, compound.relation
        is_new = compound.kind == "oro" and rng.random() < self._weights["oro"].new_share
        if not is_new and not self._cumulated[relation][-1]:
            return
        for _ in range(MAX_DRAWS):
            if is_new:
                first, second = (rng.choice(self._by_relation[relation]) for _ in range(2))
                drawn = first._replace(object=second.object)
                num_together = self._image_nouns.count_companions(drawn.subject)[drawn.object]
                if rng.random() * self._image_nouns.count(drawn.subject) >= num_together:
                    continue
            else:
                (drawn,) = rng.choices(
                    self._distinct[relation], cum_weights=self._cumulated[relation]
                )
            if self._admits(drawn) and not (is_new and drawn in self._counts):
                yield drawn


def _list_frames(compound: Compound, place: str) -> tuple[Frame, Frame]:
    """Return what surrounds one place of a compound: the rest of it, and only its relation."""
    other = compound.object if place == "subject" else compound.subject
    return (compound.kind, place, compound.relation, other), (
        compound.kind,
        place,
        compound.relation,
    )


def make_balanced_negatives(
    rows: Iterable[Row],
    kind: str,
    in_split: Collection[Compound],
    image_nouns: ImageNouns,
    out_of_split: Collection[Compound] = frozenset(),
    rejected: Mapping[str, frozenset[str]] = {},
    refine: bool = True,
) -> list[list[dict[str, Any]]]:
    """Return the negatives of each row of a split (``caption`` and ``foils``), or [].

    ``rows`` have the columns ``image_id``, ``crop_id``, ``caption``, ``compounds``, ``parts`` and ``draw_key``, which
    seeds their draws (base/draw_keys.py). ``kind`` is a key of
    ``BALANCED_NEGATIVES``, ``in_split`` and ``out_of_split`` are the compounds of this split and of the others, and
    ``rejected`` the rejected texts by crop id. ``image_nouns`` are the nouns of all images.

    With ``refine``, rows have no negatives that are removed so that each text-only baseline gives the truth every rank
    about equally often, or that share a differing word with another row of their image (refinement.py).
    """
    rows = list(rows)
    compounds = [Compound(**row["compounds"][0]) for row in rows if row["parts"]]
    stated = SplitCompounds(compounds, in_split, out_of_split, image_nouns)
    make = partial(_make_negatives, kind=kind, stated=stated, rejected=rejected)
    usable = find_usable_words(make(rows))
    negatives_by_row = make([keep_words(row, usable) for row in rows])
    used = [index for index, negatives in enumerate(negatives_by_row) if negatives]
    keep_N = np.ones(len(used), dtype=bool)
    if refine:
        captions = [
            (rows[index]["caption"], *(item.caption for item in negatives_by_row[index]))
            for index in used
        ]
        images = [rows[index]["image_id"] for index in used]
        keep_N = select_rows_at_chance(RetrievalSets(captions, images), 0, drop_related=True)
    kept = set(compress(used, keep_N))
    return [
        [{"caption": item.caption, "foils": item.foil_rows} for item in negatives]
        if index in kept
        else []
        for index, negatives in enumerate(negatives_by_row)
    ]


def _make_negatives(
    rows: Sequence[Row], kind: str, stated: SplitCompounds, rejected: Mapping[str, frozenset[str]]
) -> list[list[HardNegative]]:
    make = {"hnatom_balanced": replace_one_atom, "hncomp_balanced": replace_compound}[kind]
    negatives_by_row: list[list[HardNegative]] = []
    for row in rows:
        rng = Random(f"{row['draw_key']}:{kind}")
        may_be_true = row["parts"] and stated.may_be_true(Compound(**row["compounds"][0]))
        negatives = make(row, stated, rng) if may_be_true else []
        is_rejected = not rejected.get(row["crop_id"], frozenset()).isdisjoint(
            item.caption for item in negatives
        )
        negatives_by_row.append([] if is_rejected else negatives)
    return negatives_by_row


def find_usable_words(negatives_by_row: Iterable[Sequence[HardNegative]]) -> set[tuple[str, str]]:
    """Return the kinds and texts of the words that are about as often true as false.

    Other words are cues: whoever is in an image may be called a man, so that "man" is seldom a foil, and "timepiece" is
    said of a clock but is the name of no object.
    """
    num_true = Counter[tuple[str, str]]()
    num_false = defaultdict[tuple[str, str], float](float)
    for negatives in filter(None, negatives_by_row):
        num_true.update((foil.type, foil.original) for foil in negatives[0].foils)
        for foil in (foil for negative in negatives for foil in negative.foils):
            num_false[foil.type, foil.replacement] += 1 / len(negatives)
    return {
        word
        for word, count in num_true.items()
        if MIN_RATIO * count <= num_false[word] <= count / MIN_RATIO
    }


def keep_words(row: Row, usable: Collection[tuple[str, str]]) -> Row:
    """Return a row in which only usable words are replaced, and only by usable words."""

    def clean(part: Mapping[str, Any]) -> Mapping[str, Any]:
        is_usable = (part["kind"], part["text"]) in usable
        return {
            **part,
            "words": [
                word for word in part["words"] if is_usable and (part["kind"], word) in usable
            ],
        }

    return {**row, "parts": [clean(part) for part in row["parts"]]}


def replace_one_atom(row: Row, compounds: SplitCompounds, rng: Random) -> list[HardNegative]:
    """Return the ``hnatom_balanced`` of a row with the columns ``caption``, ``compounds`` and ``parts``, or [].

    A row whose word is more probable than its foils together has negatives only with the ratio as probability, so that
    the word is not more often true than false.
    """
    (compound,), count = (
        (Compound(**item) for item in row["compounds"]),
        BALANCED_NEGATIVES["hnatom_balanced"],
    )
    parts = _read_parts(row)
    for part in rng.sample(parts, len(parts)):
        own, *_ = compounds.weigh(compound, part.place, [part.text]).values()
        weights = compounds.weigh(compound, part.place, part.words)
        edits = (
            (_replace_words(row["caption"], {part: word}), word)
            for word in draw_words(weights, rng)
        )
        negatives = [
            HardNegative(text, (Foil(part.kind, part.text, word),))
            for text, word in edits
            if text is not None
        ]
        if len(negatives) >= count:
            return negatives[:count] if rng.random() * count * own < sum(weights.values()) else []
    return []


def replace_compound(row: Row, compounds: SplitCompounds, rng: Random) -> list[HardNegative]:
    """Return the ``hncomp_balanced`` of a row with the columns ``caption``, ``compounds`` and ``parts``, or []."""
    (compound,), count = (
        (Compound(**item) for item in row["compounds"]),
        BALANCED_NEGATIVES["hncomp_balanced"],
    )
    parts = _read_parts(row)
    used = {part.text for part in parts}
    negatives: list[HardNegative] = []
    for _ in range(count):
        for other in compounds.draw(compound, rng):
            words = {part: getattr(other, part.place) for part in parts}
            is_new = len({*words.values()} - used) == len(parts)
            is_false = is_new and all(word in part.words for part, word in words.items())
            text = _replace_words(row["caption"], words) if is_false else None
            if text is not None:
                used.update(words.values())
                foils = (Foil(part.kind, part.text, word) for part, word in words.items())
                negatives.append(HardNegative(text, tuple(foils)))
                break
        else:
            return []
    return negatives


def _read_parts(row: Row) -> list[Part]:
    return [Part(**{**part, "words": tuple(part["words"])}) for part in row["parts"]]


def _replace_words(caption: str, words: Mapping[Part, str]) -> str | None:
    """Return the caption with another word in some parts, or None if a word does not fit its position."""
    text: str | None = caption
    for part, word in sorted(words.items(), key=lambda item: -item[0].start):
        if text is not None:
            mention = Mention(part.kind, part.text, part.start, part.end, part.tag, object="")
            text = replace_atom_text(text, mention, word)
    return text
