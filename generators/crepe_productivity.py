"""CREPE productivity: captions of four to twelve atoms with five hard negatives of each type.

    python -m generators.crepe_productivity

Source: CREPE (arXiv:2212.07796), sections 3.3 and 4.2, appendix A.3 to A.5. Writes the configs ``prod_raw`` and
``prod_{hnatom,hnswap,hnneg,hnall}`` with the splits n4 to n12, and ``prod_hnneg_balanced``, ours, whose true captions
hold a denial as well (generators/hard_negatives/balanced_negation.py). An example is in a config when it has five
negatives of its
type, in ``prod_hnall`` when it has five of each of the paper's; ``prod_raw`` has them all, with the captions that deny
nothing. Chance of R@1: 1/6, for hnall 1/16.

Where more examples come out than ``rows`` asks for, those with the smallest hash stay, so that the choice depends on no
order and favours no image.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from generators.captioner import realiser
from generators.captioner.captioner import Captioner, GrammarCaptioner, Refusal, Request, Wording
from generators.captioner.prompted import TOKENS_OUT, PromptedCaptioner, messages, read_shots
from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary
from generators.graphs.walks import COMPLEXITIES, Walk, describable, walks
from generators.hard_negatives.atom import atom_negatives, one_atom_negatives
from generators.hard_negatives.balanced_negation import Balanced, balanced_negation
from generators.hard_negatives.blind_scorers import Sets
from generators.hard_negatives.even_ranks import POOL, Measure, characters, evenly_ranked, likelihoods
from generators.hard_negatives.foils import HardNegative
from generators.hard_negatives.negation import negation_negatives
from generators.hard_negatives.nli import EntailmentModel, not_entailed
from generators.hard_negatives.plausibility import replaced
from generators.hard_negatives.refinement import refined
from generators.hard_negatives.rejections import NONE_REJECTED, Rejections
from generators.hard_negatives.swap import swap_negatives
from generators.llm.client import Cache, Endpoint, ask_all, make_client
from generators.parser.caption_parser import RULES, make_parser
from generators.readers.annotations import Annotations
from generators.schemas.annotated_image import AnnotatedImage, id_order
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, Pixels
from generators.seen_analysis.regions import RegionReader
from generators.seen_analysis.splits import crop_fault
from generators.storage import dataset, stage
from generators.storage.atomic import write_json
from generators.storage.params import block, dataclass_of, reading
from generators.storage.workers import map_with

PER_TYPE = 5
ASKED_PER_ROW = 5
"""Walks that a language model is asked about for each row wanted: some captions fail, some have too few negatives."""
IMAGES_CACHED = 32
REMEMBERED = 2000
"""Images whose facts a process keeps, some 20 KB each; asked for by every complexity."""
TYPES, BALANCED, ALL, RAW = ("hnatom", "hnswap", "hnneg"), "hnneg_balanced", "hnall", "raw"
KINDS = (*TYPES, BALANCED, ALL)
SPLITS = tuple(f"n{complexity}" for complexity in COMPLEXITIES)
CONFIGS = tuple(f"prod_{kind}" for kind in (RAW, *KINDS))


@dataclass(frozen=True)
class Settings:
    """The block ``crepe_productivity`` of params.yaml."""

    seed: int
    workers: int
    rows: int
    """At most, of each config and complexity."""
    walks_per_image: int
    """At most, of each complexity."""
    attempts: int
    """Walks to try in an image, of each complexity."""
    visible: float
    """See generators/graphs/walks.py."""
    refine: bool
    """Whether the foils of an HN-Atom row are of one atom, so that guessers are at chance, and only those rows are kept
    on which text-only scorers are (generators/hard_negatives/refinement.py)."""
    captioner: Mapping[str, Any]
    """``{}`` for the grammar; else the fields of llm.Endpoint."""
    entailment: str | None = None
    """An NLI model that filters the swaps, see generators/hard_negatives/nli.py."""
    parser: str = RULES
    """What reads the regions' phrases, and checks the captions of a language model, see generators/parser."""
    spelling: bool = False
    """Whether the regions' phrases are corrected before."""


@dataclass(frozen=True)
class Example:
    """One caption and what it was made from; ``key`` is its own hash, from which its random streams come."""

    key: str
    image_id: str
    walk: Walk
    wording: Wording
    source: Source
    likelihood: Measure
    entailment: EntailmentModel | None = None
    refine: bool = False

    @property
    def image(self) -> AnnotatedImage:
        return self.source.image(self.image_id)

    @cached_property
    def hnatom(self) -> tuple[HardNegative, ...]:
        rng = Random(f"{self.key}:hnatom")
        made_of = self.walk.graph, self._facts, self.wording, self.source.vocabulary
        found = one_atom_negatives(*made_of, PER_TYPE, rng) if self.refine else atom_negatives(*made_of, rng)
        return self._evenly_ranked(self.wording.caption, found, rng)

    @cached_property
    def hnswap(self) -> tuple[HardNegative, ...]:
        rng = Random(f"{self.key}:hnswap")
        swaps = swap_negatives(self.walk.graph, self._facts, self.wording, rng)
        found = not_entailed(self.wording.caption, swaps, self.entailment)
        return self._evenly_ranked(self.wording.caption, found, rng)

    @cached_property
    def hnneg(self) -> tuple[HardNegative, ...]:
        rng = Random(f"{self.key}:hnneg")
        found = negation_negatives(self.walk.graph, self._facts, self.wording, rng)
        chosen = tuple(islice(found, PER_TYPE))
        return replaced(chosen, found, self._rejected) if len(chosen) == PER_TYPE else ()

    @cached_property
    def balanced(self) -> Balanced | None:
        rng = Random(f"{self.key}:{BALANCED}")
        return balanced_negation(self.walk.graph, self._facts, self.wording, self.source.vocabulary, rng)

    @cached_property
    def hnneg_balanced(self) -> tuple[HardNegative, ...]:
        rng = Random(f"{self.key}:{BALANCED}:ranks")
        return self._evenly_ranked(self.balanced.caption, self.balanced.negatives, rng) if self.balanced else ()

    @cached_property
    def hnall(self) -> tuple[HardNegative, ...]:
        """All fifteen, or none. Swaps first: they fail most."""
        return (*self.hnatom, *self.hnswap, *self.hnneg) if self.hnswap and self.hnneg and self.hnatom else ()

    def _evenly_ranked(self, truth: str, found: Iterable[HardNegative], rng: Random) -> tuple[HardNegative, ...]:
        """Five of them, or none where there are fewer."""
        pool, measures = tuple(islice(found, POOL)), (characters, self.likelihood)
        chosen = evenly_ranked(truth, pool, lambda negative: negative.caption, measures, PER_TYPE, rng)
        return replaced(chosen, pool, self._rejected)

    @cached_property
    def _rejected(self) -> frozenset[str]:
        return self.source.rejections.texts(self.image, self.walk.box)

    @cached_property
    def _facts(self) -> ImageFacts:
        return self.source.facts(self.image_id)

    def with_negatives(self, kind: str) -> Finished:
        negatives = () if kind == RAW else getattr(self, kind)
        caption = self.balanced.caption if kind == BALANCED and self.balanced else self.wording.caption
        return Finished(self.image.path, self.image_id, self.walk, caption, self.wording.captioner, negatives)


@dataclass(frozen=True)
class Finished:
    """What a row is written from, without pixels."""

    path: Path
    image_id: str
    walk: Walk
    caption: str
    captioner: str
    negatives: tuple[HardNegative, ...]

    def row(self, provenance: Mapping[str, Any]) -> dict[str, Any]:
        """A row of the raw schema, of the hard-negative schema where there are negatives."""
        origin = {**provenance, "captioner": self.captioner}
        row = dataset.raw_row(self.path, self.image_id, self.walk.box, self.caption, self.walk.graph, origin)
        if self.negatives:
            row["hard_negatives"] = [negative.caption for negative in self.negatives]
            row["foils"] = [
                [{"type": foil.type, "from": foil.original, "to": foil.replacement} for foil in negative.foils]
                for negative in self.negatives
            ]
        return row


def examples(
    source: Source,
    complexity: int,
    captioner: Captioner,
    settings: Settings,
    dropped: Counter[str],
) -> Iterator[Example]:
    """Captioned walks of one complexity, in an order that their hashes decide."""
    found = _captionable(source, complexity, settings, dropped)
    answers = captioner.word(Request(walk.graph, key) for key, _, walk in found)
    worded: list[tuple[str, str, Walk, Wording]] = []
    for place, answer in zip(found, answers, strict=True):
        if isinstance(answer, Refusal):
            dropped[f"caption: {answer.reason}"] += 1
        else:
            worded.append((*place, answer))
    images = [image_id for _, image_id, _, _ in worded]
    measures = likelihoods([wording.caption for *_, wording in worded], images)
    entailment = EntailmentModel(settings.entailment) if settings.entailment else None
    for key, image_id, walk, wording in worded:
        likelihood = measures[image_id]
        yield Example(key, image_id, walk, wording, source, likelihood, entailment, settings.refine)


def _captionable(
    source: Source, complexity: int, settings: Settings, dropped: Counter[str]
) -> list[tuple[str, str, Walk]]:
    """Hash, image id and walk of every walk of one complexity, in the order of the hashes."""
    found = (
        (_key(settings.seed, image, walk), image.image_id, walk)
        for image in source.images
        for walk in _walks(image, complexity, settings, dropped)
    )
    return sorted(found, key=lambda item: item[0])


def _walks(image: AnnotatedImage, complexity: int, settings: Settings, dropped: Counter[str]) -> Iterator[Walk]:
    return walks(
        describable(image.graph, realiser.sayable),
        complexity,
        key=f"{settings.seed}:{image.image_id}",
        visible=settings.visible,
        attempts=settings.attempts,
        limit=settings.walks_per_image,
        fault=lambda box: crop_fault(box, image.width, image.height),
        dropped=dropped,
    )


def _key(seed: int, image: AnnotatedImage, walk: Walk) -> str:
    content = f"{seed}:{image.image_id}:{json.dumps(walk.graph.to_row(), sort_keys=True)}"
    return hashlib.sha256(content.encode()).hexdigest()


def chosen(found: Iterable[Example], rows: int, dropped: Counter[str]) -> dict[str, list[Example]]:
    """The examples of each config, at most ``rows``; prod_raw has those of all others."""
    taken: dict[str, list[Example]] = {config: [] for config in CONFIGS}
    for example in found:
        used = False
        for kind in KINDS:
            config = taken[f"prod_{kind}"]
            if len(config) < rows and getattr(example, kind):
                config.append(example)
                used = True
            elif len(config) < rows:
                dropped[f"{kind}: fewer than {PER_TYPE} negatives"] += 1
        if used or len(taken["prod_raw"]) < rows:
            taken["prod_raw"].append(example)
        if all(len(config) >= rows for config in taken.values()):
            break
    return taken


@dataclass(frozen=True)
class Source:
    """What every split is made from: the images, their words, and how their regions' phrases are read."""

    images: Annotations
    vocabulary: Vocabulary
    rejections: Rejections = NONE_REJECTED
    parser: str = RULES
    spelling: bool = False

    @classmethod
    def read(cls, annotations: Path, parser: str = RULES, spelling: bool = False) -> Source:
        images = Annotations(annotations)
        return cls(images, Vocabulary.of(image.graph for image in images), Rejections.read(), parser, spelling)

    @cached_property
    def facts(self) -> Callable[[str], ImageFacts]:
        """What is known of an image, by its id. Its phrases are parsed when it is first asked about."""
        reader = RegionReader.make(self.spelling, self.parser)
        return lru_cache(REMEMBERED)(lambda image_id: reader.facts(self.image(image_id)))

    @cached_property
    def image(self) -> Callable[[str], AnnotatedImage]:
        return lru_cache(IMAGES_CACHED)(self.images.__getitem__)


def make_captioner(endpoint: Mapping[str, Any], parser: str = RULES) -> Captioner:
    """The grammar, or the cached answers of a language model, checked by a parser."""
    if not endpoint:
        return GrammarCaptioner()
    cache, shots = Cache([Path("data/llm")]), read_shots(Path("data/words/shots.yaml"))
    return PromptedCaptioner(Endpoint(**endpoint), shots, cache, make_parser(parser))


def generate(settings: Settings, source: Source, complexity: int) -> tuple[dict[str, list[Finished]], dict[str, int]]:
    """One split: its rows by config, in the order of the images, and how many each filter dropped."""
    dropped = Counter[str]()
    found = examples(source, complexity, make_captioner(settings.captioner, settings.parser), settings, dropped)
    rows = {
        config: [example.with_negatives(config.removeprefix("prod_")) for example in sorted(kept, key=_order)]
        for config, kept in chosen(found, settings.rows, dropped).items()
    }
    return rows, dict(sorted(dropped.items()))


def _order(example: Example) -> tuple[int, str, str]:
    return (*id_order(example.image_id), example.key)


def write(
    annotations: Path, name: str, settings: Settings, root: Path, pixels: Pixels = "embedded"
) -> dict[str, dict[str, int]]:
    """Write every config below ``root``; gives what was dropped, by split. The same bytes for any number of workers."""
    make_source = partial(Source.read, annotations, settings.parser, settings.spelling)
    make_split = partial(generate, settings)
    splits = dict(zip(SPLITS, map_with(make_source, make_split, COMPLEXITIES, settings.workers), strict=True))
    provenance = {"source": name, "seed": settings.seed}
    for config in CONFIGS:
        found = {split: by_config[config] for split, (by_config, _) in splits.items()}
        if settings.refine and config != f"prod_{RAW}":
            whole, found = found, _refined(found, settings.seed)
            for split, (_, dropped) in splits.items():
                dropped[f"{config.removeprefix('prod_')}: refined away"] = len(whole[split]) - len(found[split])
        rows = {split: (item.row(provenance) for item in kept) for split, kept in found.items()}
        schema = RAW_SCHEMA if config == f"prod_{RAW}" else HARD_NEGATIVE_SCHEMA
        dataset.write_config(root, config, rows, schema, pixels)
    return {split: dropped for split, (_, dropped) in splits.items()}


def _refined(found: Mapping[str, Sequence[Finished]], seed: int) -> dict[str, list[Finished]]:
    """What refinement leaves of a config's splits, all taken together."""
    items = [item for kept in found.values() for item in kept]
    if not items:
        return {split: [] for split in found}
    captions = [[item.caption, *(negative.caption for negative in item.negatives)] for item in items]
    keep = iter(refined(Sets(captions, [item.image_id for item in items]), seed))
    return {split: [item for item in kept if next(keep)] for split, kept in found.items()}


def ask(annotations: Path, settings: Settings, max_cost: float) -> Counter[str]:
    """Ask the language model for the captions that are likely to be used; gives what came of it, by reason.

    ValueError before the first request where the estimated cost is above ``max_cost``.
    """
    client = make_client(Endpoint(**settings.captioner), Path("sample/llm"))
    shots, source = read_shots(Path("sample/words/shots.yaml")), Source.read(annotations)
    prompts = [
        messages(walk.graph, shots)
        for complexity in shots
        for _, _, walk in _captionable(source, complexity, settings, Counter())[: ASKED_PER_ROW * settings.rows]
    ]
    return ask_all(client, prompts, TOKENS_OUT, max_cost)


def main(ask_model: Annotated[bool, typer.Option("--ask")] = False, max_cost: float = 0.0) -> None:
    """Build the productivity datasets; with --ask, fill the language model's cache in sample/llm/ instead."""
    annotations = Path("annotations/visual_genome.parquet")
    name, settings = block("source"), dataclass_of(Settings, "crepe_productivity", **reading())
    if ask_model:
        for reason, count in sorted(ask(annotations, settings, max_cost).items()):
            print(f"{count:,} {reason}")
        return
    dropped = write(annotations, name, settings, Path("crepe"), dataset.pixels_asked())
    funnels = {f"Productivity, {split}: dropped": counts for split, counts in dropped.items()}
    write_json(Path("stats/crepe/productivity.json"), {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
