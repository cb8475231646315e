"""A parsed caption of the user, and which of its atoms can be replaced or negated in place."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from compeval.base.schemas.scene_graph import Mention, Parse, SceneGraph
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.graphs.entailment import Negated
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.graphs.walks import load_abstract_modifiers
from compeval.generators.hard_negatives.own.form import Form, split_form
from compeval.generators.hard_negatives.own.lists import load_words
from compeval.generators.language.grammar import is_descriptive, is_visible_object
from compeval.generators.language.inflection import lemmatise_noun

COUNTED = re.compile(r"\b(?:an?|another|one|each|every)\s+(?:\w+\s+)?$")
DETERMINED = re.compile(
    r"(?:\b(?:an?|the|his|her|its|their|my|your|our|this|that|another|each|every|one|some|no)|['’]s)\s+(?:[\w'-]+\s+){0,3}$"
)
JOINED_BEFORE = re.compile(r"(?:(?:\band|\bor|,)\s+(?:an?\s+|the\s+)?|[/-]\s*)$")
JOINED_AFTER = re.compile(r"\s*(?:,|and\b|or\b|[/-])")
OF = re.compile(r"\s+of\b|['’]s")
POSSESSIVE = re.compile(r"(?:['’]s?|\b(?:his|her|its|their|my|your|our))\s+(?:\w+\s+)?$")
HYPHENS = ("/", "-", "–")
ARTICLES = ("a", "an", "the", "one", "some")
NEGATABLE_PREPOSITIONS = frozenset(
    {"on", "in", "at", "under", "above", "below", "behind", "near", "beside", "over"}
)
PRONOUN_AFTER = re.compile(
    r"\s*(?:it|them|him|itself|themselves|each other|one another)\b|\s*her\s*(?:[.,]|$)",
    re.IGNORECASE,
)
"""A relation to a pronoun ("a table with a cup on it"): no word says what is usual."""
NO_DESCRIPTION = re.compile(
    r"[?#@:;|<>*]|\d{3}|https?|\b(?:i|you|we|your|this is|how|why|what|when|because)\b", re.I
)
"""A text with this is rarely a description of an image."""


@dataclass(frozen=True)
class OwnCaption:
    """A caption of an image, in lower case and without its final mark, and the facts of the image and the caption."""

    parse: Parse
    form: Form
    facts: ImageFacts
    has_graph: bool
    """True if the image has a scene graph, so that a noun that it lacks is absent."""
    draw_key: str
    """Seeds random draws (base/draw_keys.py)."""
    captions: int = 1
    """The number of captions of the image."""

    @classmethod
    def of(
        cls,
        parse: Parse,
        facts: ImageFacts,
        *,
        has_graph: bool,
        draw_key: str,
        captions: int = 1,
    ) -> Self | None:
        """Return the caption, or None if its text is no description or lacks an atom without its final mark."""
        first = min(parse.mentions, key=lambda mention: mention.start, default=None)
        if first is None or NO_DESCRIPTION.search(parse.caption):
            return None
        is_name = first.start == 0 and first.tag.startswith("NNP")
        form, body = split_form(parse.caption, begins_with_name=is_name)
        if any(mention.end > len(body) for mention in parse.mentions):
            return None
        facts = facts.with_caption(parse.graph)
        return cls(replace(parse, caption=body), form, facts, has_graph, draw_key, captions)

    @property
    def text(self) -> str:
        """The caption as its owner wrote it, without outer spaces."""
        return self.form.write(self.parse.caption, self.parse.caption)

    @cached_property
    def editable(self) -> ParsedCaption:
        return ParsedCaption(self.parse.graph, self.parse.caption, self.parse.mentions, "own")

    @cached_property
    def nouns(self) -> frozenset[str]:
        return frozenset(lemmatise_noun(item.name) for item in self.parse.graph.objects)

    @cached_property
    def replaceable(self) -> Parse:
        """The parse with the mentions that a foil may replace only."""
        return replace(
            self.parse, mentions=tuple(filter(self._is_replaceable, self.parse.mentions))
        )

    def _is_replaceable(self, mention: Mention) -> bool:
        """Return True for visible nouns, adjectives, and relations to them with a word of their own.

        Mass nouns without an article ("in bed") are not replaced in captions that have articles.
        """
        before = self.parse.caption[: mention.start]
        after = self.parse.caption[mention.end :]
        if mention.kind == "attribute":
            is_whole = before.rstrip()[-1:] not in HYPHENS and after.lstrip()[:1] not in HYPHENS
            return mention.tag.startswith("JJ") and is_quality(mention.text) and is_whole
        if mention.kind == "relation":
            is_own_word = mention.text not in ("have", "with", "by") and mention.tag not in (
                "POS",
                "PRP$",
            )
            nouns = (m for m in self.parse.mentions if m.kind == "object")
            targets = [m for m in nouns if m.object in (mention.target, mention.object)]
            is_own_word = is_own_word and all(map(self.is_noun_phrase, targets))
            target = self.parse.graph.by_id[mention.target or mention.object]
            return (
                is_own_word
                and mention.object != mention.target
                and is_named(target.name)
                and not PRONOUN_AFTER.match(after)
            )
        if mention.tag == "NNS":
            is_regular = not COUNTED.search(before) and not after.startswith(("'", "’"))
        else:
            is_regular = mention.tag == "NN" and self.has_determiner(mention)
        return is_regular and is_named(mention.text)

    def is_noun_phrase(self, noun: Mention) -> bool:
        """Return False for the noun of "on stage" in captions that have articles."""
        return noun.tag != "NN" or self.has_determiner(noun)

    def has_determiner(self, noun: Mention) -> bool:
        """Return True if a singular noun has an article, or none has one, as in a headline."""
        before = self.parse.caption[: noun.start]
        return not self._has_articles or bool(DETERMINED.search(before))

    @cached_property
    def _has_articles(self) -> bool:
        return not set(ARTICLES[:3]).isdisjoint(self.parse.caption.split())

    def keeps_kinds(self, edited: SceneGraph) -> bool:
        """Return True if an edit exchanges only visible objects of the same number."""
        tags = {
            mention.object: mention.tag
            for mention in self.parse.mentions
            if mention.kind == "object"
        }
        pairs = zip(self.parse.graph.objects, edited.objects, strict=True)
        moved = {
            tags.get(old.id) if is_named(old.name) else None
            for old, new in pairs
            if old.name != new.name
        }
        return len(moved) <= 1 and None not in moved

    def is_negatable(self, atom: Negated) -> bool:
        """Return True if an atom can be negated at its place: not in "a cup and a hat", "a cup of tea" or "his hat"."""
        mention = next(
            (mention for mention in self.parse.mentions if mention.atom_key == atom.atom_key), None
        )
        if mention is None:
            return False
        text = self.parse.caption
        before = text[: mention.start]
        after = text[mention.end :]
        joined = is_joined(text, mention)
        if atom.kind == "relation":
            is_verb = (
                mention.tag.startswith("VB")
                and mention.tag != "VB"
                and not JOINED_BEFORE.search(before)
            )
            is_preposition = (
                text[mention.start : mention.end] in NEGATABLE_PREPOSITIONS and not joined
            )
            return is_verb or (is_preposition and bool(after.strip(" .")))
        if atom.kind == "attribute":
            # "the cup" of two cups may be the other one.
            names = [item.name for item in self.parse.graph.objects]
            is_unique = names.count(self.parse.graph.by_id[atom.object].name) == 1
            return mention.tag == "JJ" and not joined and is_unique and is_quality(atom.text)
        is_owned = OF.match(after) or POSSESSIVE.search(before)
        is_whole = not (joined or is_owned or is_part_of_name(text, mention))
        return is_whole and is_named(atom.text)

    def negate_all(self) -> list[str]:
        """Return the negations of the whole caption, or [] if it does not begin with an article."""
        return (
            self.editable.negate_all()
            if self.parse.caption.split(maxsplit=1)[0] in ARTICLES
            else []
        )


def is_joined(text: str, mention: Mention) -> bool:
    """Return True for both nouns of "a cup and a hat"."""
    is_second = JOINED_BEFORE.search(text[: mention.start])
    return bool(is_second or JOINED_AFTER.match(text, mention.end))


def is_part_of_name(text: str, mention: Mention) -> bool:
    """Return True for "microwave" in "microwave oven"."""
    next_word = re.match(r"[ -]([a-z]+)", text[mention.end :])
    return next_word is not None and is_visible_object(next_word[1])


def is_named(noun: str) -> bool:
    """Return True if a noun names a visible object of its own."""
    return is_visible_object(noun) and noun.split()[-1] not in load_words("unnamed")


def is_quality(attribute: str) -> bool:
    """Return True if an attribute says something visible of an object."""
    return attribute not in load_abstract_modifiers() and is_descriptive(attribute)
