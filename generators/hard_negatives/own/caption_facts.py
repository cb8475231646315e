"""The facts that the captions of an image state, for images without a scene graph.

The captions are merged: the k-th object with a name in one caption is the k-th object with such a name in another,
and it has the attributes and relations of all of them. A statement that any caption makes is therefore never false.
What the facts exclude is false unless the image shows a second object of that kind that no caption mentions. A noun
that no caption mentions is only probably absent; ``unmentioned.yaml`` lists nouns that captions often leave out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Parse, SceneObject
from compeval.generators.graphs.facts import Entity, ImageFacts, collect_facts
from compeval.generators.language.inflection import lemmatise_noun

PLURAL = ("NNS", "NNPS")
"""Penn tags of plural nouns."""


def collect_caption_facts(image: AnnotatedImage) -> ImageFacts:
    """Return the facts of the scene graph, if the image has one, and of all captions.

    The captions are the image's regions.
    """
    parses = [region.parse for region in image.regions if region.parse]
    if not image.graph.objects:
        return merge_captions(parses)
    facts = collect_facts(image.facts()).with_texts(parse.graph for parse in parses)
    for parse in parses:
        facts = facts.with_caption(parse.graph)
    return facts


@dataclass
class _Merged:
    """An object, while its names and attributes are collected from several captions."""

    id: str
    names: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    is_plural: set[bool] = field(default_factory=set)
    last_caption: int = -1

    def add(self, item: SceneObject, *, is_plural: bool, caption: int) -> None:
        self.names.append(lemmatise_noun(item.name))
        self.attributes += item.attributes
        self.is_plural.add(is_plural)
        self.last_caption = caption

    def build(self) -> list[Entity]:
        """Return the entity, and a second one of which nothing is known if captions disagree about their number."""
        names = tuple(dict.fromkeys(self.names))
        first = Entity(self.id, names, tuple(dict.fromkeys(self.attributes)))
        return [first] if len(self.is_plural) == 1 else [first, Entity(f"{self.id}+", names)]


def merge_captions(parses: Sequence[Parse]) -> ImageFacts:
    """Return the facts that the captions of one image state together."""
    merged: list[_Merged] = []
    predicates: dict[tuple[str, str], tuple[str, ...]] = {}
    for number, parse in enumerate(parses):
        plural = {
            mention.object
            for mention in parse.mentions
            if mention.tag in PLURAL and mention.kind == "object"
        }
        ids: dict[str, str] = {}
        for item in parse.graph.objects:
            entity = _find_same([entity for entity in merged if entity.last_caption < number], item)
            if entity is None:
                entity = _Merged(str(len(merged)))
                merged.append(entity)
            entity.add(item, is_plural=item.id in plural, caption=number)
            ids[item.id] = entity.id
        for edge in parse.graph.relations:
            pair = ids[edge.subject], ids[edge.object]
            predicates[pair] = tuple(dict.fromkeys((*predicates.get(pair, ()), edge.predicate)))
    return ImageFacts(tuple(entity for item in merged for entity in item.build()), predicates)


def _find_same(entities: Sequence[_Merged], item: SceneObject) -> _Merged | None:
    """Return the object of earlier captions that an object may be: one with its name, or with a name for the same."""
    name = lemmatise_noun(item.name)
    by_name = (entity for entity in entities if name in entity.names)
    may_be_same = (
        entity for entity in entities if Entity("", tuple(entity.names)).may_have_name(name)
    )
    return next(by_name, None) or next(may_be_same, None)
