"""Captioned walks: the subgraphs of four to twelve atoms that CREPE productivity is made from, each with its captions.

    python -m compeval.generators.captioned_walks                     # stage `captioned_walks`; writes walks/paper/
    python -m compeval.generators.captioned_walks --balanced  # those of the balanced sets only; writes walks/balanced/
    python -m compeval.generators.captioned_walks --ask NAME  # requests the language model's captions (sample/llm/)
    # writes the requests that have no answer to a file
    python -m compeval.generators.captioned_walks --export FILE NAME

Source: CREPE (arXiv:2212.07796), section 3.3 and appendix A.3. NAME is a variant, an entry of the block
``productivity_variants`` of params.yaml; "default" is the captioner of ``crepe_productivity``. A walk is sampled once
and captioned by the default captioner and by those of all variants, so that their sets differ in the captions only.

Images are visited in a random order until there are ``walks`` walks of each complexity and condition
(hard_negatives/crepe/walk_conditions.py), first with one walk per image, then with a second one. The work therefore
depends on the number of walks. The files are sorted by this order.

The sets of the paper use an image at all complexities. The balanced sets use it at one of them: rows of one image share
facts, so that one row may state what is true in another.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import typer

from compeval.base.files.atomic import atomic_folder, write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import (
    OURS,
    PAPER,
    make_settings,
    read_params,
    read_rules,
    read_settings,
)
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.rows import WALK_SCHEMA
from compeval.base.schemas.scene_graph import SceneGraph
from compeval.base.storage import parquet
from compeval.generators.captioner import template
from compeval.generators.captioner.captioned_walks import (
    ANY_WALK,
    KeyedWalk,
    WalkCondition,
    WalkSettings,
    order_images,
    sample_keyed_walk,
)
from compeval.generators.captioner.captioner import Captioner, EditableCaption, NoCaption, Request
from compeval.generators.captioner.prompted import ask_captions, export_requests, make_captioner
from compeval.generators.graphs.walks import COMPLEXITIES
from compeval.generators.hard_negatives.crepe.walk_conditions import FALSE_ORDERS, FALSE_SWAPS
from compeval.generators.seen_analysis.regions import collect_image_facts

FOLDER = Path("walks")
SETS = {"paper": (ANY_WALK, FALSE_SWAPS), "balanced": (ANY_WALK, FALSE_ORDERS)}
"""The conditions of the walks in each subfolder."""
DEFAULT = "default"
"""Name of the default captioner."""
SCHEMA = WALK_SCHEMA.append(pa.field("condition", pa.string()))
ASKED_PER_WALK = 3
"""Captions requested from a language model per walk, because some captions are rejected."""
CAPTION = "caption: "
"""Prefix of the reasons for missing captions."""
MIN_IMAGES = 400
MIN_IMAGES_PER_WALK = 2
MAX_IMAGES_PER_WALK = 20
VISITS_PER_GROUP = 64
"""Visits whose walks are written at once."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Captions:
    """The writer of a set of captions, and its complexities."""

    template: bool = False
    """If True, captions of four atoms use the paper's template, otherwise the grammar."""
    captioner: Mapping[str, Any] = field(default_factory=dict)
    """``{}``: the grammar writes the other captions. Otherwise the fields of llm.client.Endpoint, a language model."""
    complexities: Sequence[int] = COMPLEXITIES
    rows: int | None = None
    """Maximum number of rows per config and split; None: as many as by default."""


@dataclass(frozen=True)
class CaptionedWalkSettings(WalkSettings):
    """The block ``captioned_walks`` of params.yaml, with the captions of ``productivity_variants``."""

    workers: int
    walks: int
    """Maximum number of random walks of each complexity, which determines the number of those with a condition."""
    walks_per_image: int
    """Maximum number of walks of an image for each complexity and condition."""
    template: bool
    captioner: Mapping[str, Any]
    variants: Mapping[str, Captions] = field(default_factory=dict)

    def of_set(self, name: str) -> CaptionedWalkSettings:
        """Return the settings of a set of ``SETS``.

        The balanced sets are not the paper's, and their walks follow our rules: the paper's walks have few attributes,
        which HN-Atom and HN-Neg of these sets need.
        """
        return replace(self, rules=OURS) if name == "balanced" else self

    def select_conditions(self, conditions: Sequence[WalkCondition]) -> Sequence[WalkCondition]:
        """Return the conditions of the walks. The paper has no second search for walks with false swaps."""
        return [item for item in conditions if self.rules != PAPER or item != FALSE_SWAPS]

    @property
    def captions(self) -> dict[str, Captions]:
        """The captions by name, the default first."""
        return {DEFAULT: Captions(self.template, self.captioner), **self.variants}

    @classmethod
    def read(cls) -> CaptionedWalkSettings:
        """Read params.yaml. Raises ValueError if a key is unknown or missing."""
        variants = {
            name: _read_variant(name, block)
            for name, block in read_params("productivity_variants").items()
        }
        return read_settings(cls, "captioned_walks", rules=read_rules(), variants=variants)


def _read_variant(name: str, block: Mapping[str, Any]) -> Captions:
    return make_settings(Captions, block, f"params.yaml, productivity_variants, {name}")


class WalkRequest(NamedTuple):
    """A request to an image: draw its walk with this condition and number, for each of the complexities."""

    image_id: str
    condition: WalkCondition
    number: int
    complexities: tuple[int, ...]
    is_single: bool = False
    """True if only the first of the complexities that has a walk is used."""


class VisitedImage(NamedTuple):
    visit: WalkRequest
    walks: Mapping[int, Row]
    """The walks by complexity, as rows of SCHEMA."""
    dropped: Mapping[tuple[str, int], Counter[str]]
    """The number of failed attempts by reason, by the name of the captions and the complexity."""


class Sampler:
    """Samples and captions the walks of an image in a worker process."""

    def __init__(
        self, images: Annotations, settings: CaptionedWalkSettings, captions: Mapping[str, Captions]
    ) -> None:
        self.images = images
        self.settings = settings
        self.captions = captions
        self.captioners: dict[str, Captioner] = {
            name: make_captioner(item.captioner, item.template, settings.rules)
            for name, item in captions.items()
        }

    def visit(self, visit: WalkRequest) -> VisitedImage:
        dropped = defaultdict[tuple[str, int], Counter[str]](Counter)
        walks = sample_image(self.images[visit.image_id], visit, self.settings, dropped)
        captions: dict[int, dict[str, EditableCaption]] = {n: {} for n in walks}
        for name, captioner in self.captioners.items():
            chosen = [n for n in walks if n in self.captions[name].complexities]
            requests = (Request(walks[n].walk.graph, walks[n].key) for n in chosen)
            for n, caption in zip(chosen, captioner.captions(requests), strict=True):
                if isinstance(caption, NoCaption):
                    dropped[name, n][f"{CAPTION}{caption.reason}"] += 1
                else:
                    captions[n][name] = caption
        rows = {
            n: walk.to_row(captions[n]) | {"condition": visit.condition.name}
            for n, walk in walks.items()
        }
        return VisitedImage(visit, rows, dropped)


def sample_image(
    image: AnnotatedImage,
    visit: WalkRequest,
    settings: WalkSettings,
    dropped: Mapping[tuple[str, int], Counter[str]],
) -> dict[int, KeyedWalk]:
    """Return the walks of a visit by complexity."""
    facts = collect_image_facts(image) if visit.condition.accepts else None
    walks = (
        (
            n,
            sample_keyed_walk(
                image, n, settings, visit.condition, facts, visit.number, dropped[DEFAULT, n]
            ),
        )
        for n in visit.complexities
    )
    accepted = ((n, walk) for n, walk in walks if walk is not None)
    return dict(islice(accepted, 1 if visit.is_single else None))


class VisitPlan:
    """The visits that are still needed, in order. It ends when every complexity has its walks.

    A complexity is given up when it has fewer than one walk per ``MAX_IMAGES_PER_WALK`` images, after the first images,
    so that the work depends on the number of walks and not on the number of images.
    """

    def __init__(
        self,
        image_ids: Iterable[str],
        settings: CaptionedWalkSettings,
        walks: int,
        conditions: Sequence[WalkCondition],
        is_single: bool = False,
    ) -> None:
        self.image_ids = order_images(image_ids, settings.seed)
        self.settings = settings
        self.walks = walks
        self.conditions = conditions
        self.is_single = is_single
        self.walk_counts = Counter[tuple[WalkCondition, int]]()
        self.visits = Counter[tuple[WalkCondition, int]]()
        self.exhausted: set[tuple[str, WalkCondition, int]] = set()
        """Image, condition and complexity of which there is no further walk."""

    def __iter__(self) -> Iterator[WalkRequest]:
        visits_per_image = 1 if self.is_single else self.settings.walks_per_image
        for number, condition in product(range(visits_per_image), self.conditions):
            for index, image_id in enumerate(self.image_ids):
                needed = [n for n in COMPLEXITIES if self.needs_walks(condition, n)]
                if not needed:
                    break
                if self.is_single:
                    needed = rotate_complexities(index)
                complexities = tuple(
                    n for n in needed if (image_id, condition, n) not in self.exhausted
                )
                if complexities:
                    yield WalkRequest(image_id, condition, number, complexities, self.is_single)

    def needs_walks(self, condition: WalkCondition, complexity: int) -> bool:
        num_drawn = self.walk_counts[condition, complexity]
        visits = self.visits[condition, complexity]
        walks = self.walks * (condition.surplus if complexity > template.COMPLEXITY else 1)
        min_images = max(MIN_IMAGES, MIN_IMAGES_PER_WALK * walks)
        return num_drawn < walks and visits < min_images + MAX_IMAGES_PER_WALK * num_drawn

    def count(self, visit: WalkRequest, walks: Mapping[int, bool]) -> list[int]:
        """Count the walks of a visit, of which some are usable; return the complexities that still needed a walk."""
        tried = visit.complexities
        if visit.is_single and walks:
            tried = tried[: max(map(tried.index, walks)) + 1]
        needed = [n for n in tried if self.needs_walks(visit.condition, n)]
        for n in needed:
            self.visits[visit.condition, n] += 1
            self.walk_counts[visit.condition, n] += walks.get(n, False)
        self.exhausted |= {(visit.image_id, visit.condition, n) for n in tried if n not in walks}
        return needed


def rotate_complexities(index: int) -> list[int]:
    """Return the order in which the complexities of an image are tried until one has a walk.

    An image without a walk of many atoms may have one of fewer. The order does not depend on which are still needed:
    that depends on the results that are known when an image is visited.
    """
    start = index % len(COMPLEXITIES)
    return [*reversed(COMPLEXITIES[: start + 1]), *reversed(COMPLEXITIES[start + 1 :])]


def build(
    images: Annotations, settings: CaptionedWalkSettings, folder: Path, sets: Iterable[str] = SETS
) -> None:
    """Write the walks of ``sets`` to subfolders, and the number of failed attempts by captioner, complexity and reason.

    A walk without a caption of the default captioner is written, but is not one of the ``walks``. The bytes do not
    depend on the number of workers.
    """
    for name in sets:
        of_set = settings.of_set(name)
        captions = of_set.captions if name == "paper" else {DEFAULT: of_set.captions[DEFAULT]}
        conditions = of_set.select_conditions(SETS[name])
        plan = VisitPlan(
            images.list_ids(), of_set, of_set.walks, conditions, is_single=name == "balanced"
        )
        make_sampler = partial(Sampler, images, of_set, captions)
        with atomic_folder(folder / name) as scratch:
            _write(
                plan, map_in_processes(make_sampler, Sampler.visit, plan, of_set.workers), scratch
            )


def _write(plan: VisitPlan, visited_images: Iterator[VisitedImage], folder: Path) -> None:
    dropped = defaultdict[str, Counter[str]](Counter)
    with parquet.open_writer(folder / "walks.parquet", SCHEMA) as writer:
        while batch := list(islice(visited_images, VISITS_PER_GROUP)):
            rows: list[Row] = []
            for visit, walks, reasons in batch:
                names = {
                    n: {caption["name"] for caption in walk["captions"]}
                    for n, walk in walks.items()
                }
                needed = plan.count(visit, {n: DEFAULT in names[n] for n in walks})
                rows += [walks[n] for n in needed if n in walks]
                for (name, n), counts in reasons.items():
                    if n in needed:
                        dropped[f"{name} n{n}"].update(counts)
            writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
    write_json(
        folder / "dropped.json",
        {key: dict(sorted(dropped[key].items())) for key in sorted(dropped)},
    )


def read_walks(folder: Path, *, balanced: bool = False) -> Iterator[Row]:
    """Yield the rows of SCHEMA, of the sets of the paper or of the balanced sets, in constant memory."""
    batches = parquet.read_batches(name_folder(folder, balanced) / "walks.parquet", 1024)
    yield from chain.from_iterable(batch.to_pylist() for batch in batches)


def name_folder(folder: Path, balanced: bool) -> Path:
    return folder / ("balanced" if balanced else "paper")


def read_dropped(
    folder: Path, name: str, complexity: int, *, balanced: bool = False
) -> Counter[str]:
    """Return the number of failed attempts at walks and their captions, by reason.

    ``name`` is the name of the captions. Attempts at walks are those of all captions.
    """
    dropped = json.loads(
        (name_folder(folder, balanced) / "dropped.json").read_text(encoding="utf-8")
    )
    counts, own = (Counter[str](dropped.get(f"{key} n{complexity}", {})) for key in (DEFAULT, name))
    if name == DEFAULT:
        return counts
    return (
        Counter(
            {reason: count for reason, count in counts.items() if not reason.startswith(CAPTION)}
        )
        + own
    )


def sample_asked_graphs(
    images: Annotations, settings: CaptionedWalkSettings, name: str, limit: int | None = None
) -> Iterator[SceneGraph]:
    """Yield the subgraphs that are likely to be used and that a language model captions.

    ``limit`` is the maximum number per complexity and condition; by default, ``ASKED_PER_WALK`` for each walk.
    """
    captions = settings.captions[name]
    walks_asked = limit or ASKED_PER_WALK * (captions.rows or settings.walks)
    # No language model captions four atoms.
    complexities = set(captions.complexities) - {template.COMPLEXITY}
    for part in SETS if name == DEFAULT else ["paper"]:
        of_set = settings.of_set(part)
        conditions = of_set.select_conditions(SETS[part])
        plan = VisitPlan(
            images.list_ids(), of_set, walks_asked, conditions, is_single=part == "balanced"
        )
        for visit in plan:
            # An image with a walk of four atoms is not used at another complexity.
            if not visit.is_single:
                visit = visit._replace(
                    complexities=tuple(n for n in visit.complexities if n in complexities)
                )
            walks = sample_image(images[visit.image_id], visit, of_set, defaultdict(Counter))
            plan.count(visit, dict.fromkeys(walks, True))
            yield from (walk.walk.graph for n, walk in walks.items() if n in complexities)


def ask(
    images: Annotations, settings: CaptionedWalkSettings, name: str, max_cost: float
) -> Counter[str]:
    """Request captions for the subgraphs that are likely to be used; return the number of answers by outcome.

    Raises ValueError if the captioner is no language model, and before the first request if the estimated cost is above
    ``max_cost``.
    """
    endpoint = settings.captions[name].captioner
    return ask_captions(sample_asked_graphs(images, settings, name), endpoint, max_cost)


def main(
    name: Annotated[str, typer.Argument()] = DEFAULT,
    ask_model: Annotated[bool, typer.Option("--ask")] = False,
    max_cost: float = 0.0,
    export: Path | None = None,
    limit: Annotated[int | None, typer.Option(min=1)] = None,
    balanced: bool = False,
) -> None:
    """Write the walks with their captions to walks/paper/; with --balanced, those of the balanced sets.

    With --ask, request the language model's captions of NAME into sample/llm/ instead. With --export FILE, write the
    requests that have no answer to a file instead, at most --limit of each complexity and condition.
    """
    images = Annotations(Path("annotations/parsed.parquet"))
    settings = CaptionedWalkSettings.read()
    if name not in settings.captions:
        raise ValueError(
            f"params.yaml, productivity_variants: no {name!r}; it has {', '.join(settings.variants)}."
        )
    if ask_model:
        for outcome, count in sorted(ask(images, settings, name, max_cost).items()):
            print(f"{count:,} {outcome}")
    elif export:
        graphs = sample_asked_graphs(images, settings, name, limit)
        print(
            f"{export}: {export_requests(graphs, settings.captions[name].captioner, export):,} requests"
        )
    else:
        build(images, settings, FOLDER, ["balanced" if balanced else "paper"])


if __name__ == "__main__":
    stage.run(main)
