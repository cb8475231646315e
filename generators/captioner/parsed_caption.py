"""Captions of a language model, which are edited and negated in place, at the positions that the parser found.

Source: CREPE (arXiv:2212.07796), appendix A.4. The published negatives deny an object in a last sentence and replace
its mention by "something", as here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from compeval.base.schemas.scene_graph import AtomKey, Mention, SceneGraph, SceneObject
from compeval.generators.captioner.captioner import EditableCaption
from compeval.generators.captioner.substitution import PRONOUN, keeps_pronouns, replace_atom_text
from compeval.generators.graphs.entailment import Negated
from compeval.generators.language.grammar import is_plural as is_plural_noun
from compeval.generators.language.grammar import sort_adjectives
from compeval.generators.language.inflection import fit_article
from compeval.generators.language.lexicon.nouns import is_person
from compeval.generators.language.lexicon.relations import verb_lemma

LANGUAGE_MODEL = "llm:"
"""Prefix of the names of captioners that are language models."""
ARTICLE = re.compile(r"\b(?:an?|the|one|some)\s+$")
BE = re.compile(r"\b(?:is|are) $")
CLAUSE = re.compile(r"(?<!\bthat )\b(?:is|are|has|have)\b")
COORDINATED = re.compile(r",|\band\b")
RELATIVE_PRONOUN = re.compile(r"\bwhich\b")
NO_PLACE_FOR_NOT = re.compile(r"(?:^|\. |\b(?:also|part(?:ly|ially)|which(?: is| are)?) )$")
"""The text before a relation that is not negated."""
DETERMINER = re.compile(
    r"(?:\b(?:another|other|its|his|her|their|two|three|four|several|many)|'s)\s+$"
)
JOINT = re.compile(r"^(?:\s*,\s*(?:and\b)?|\s+and\b)")
JOINT_BEFORE = re.compile(r"(?:\s*,|\s+and|\s*,\s*and)\s+$")
PLURAL = ("NNS", "NNPS")
POSSESSIVE = ("PRP$", "POS")
FINITE = {"VBZ": "does", "VBP": "do"}
"""The auxiliary of a negated verb, by Penn tag."""


class ParsedCaption(EditableCaption):
    """A caption by a language model, and the positions of the graph's atoms in it."""

    def negate(self, *negated: Negated, edited: SceneGraph | None = None) -> str | None:
        """Return the caption with words replaced, attributes moved to other objects, and some atoms negated.

        A negated relation gets "not" or "does not". A negated object or attribute is removed and negated in a last
        sentence. Returns None if a word does not fit its position, if an attribute to be moved is not directly before
        its noun ("the cup is red"), or if a pronoun may refer to a person that the edit replaces ("beside her").
        """
        edited = edited or self.graph
        denied = {atom.atom_key for atom in negated}
        counts = Counter(mention.atom_key for mention in self.mentions)
        if any(counts[key] != 1 for key in denied):
            return None
        pairs = zip(self.graph.objects, edited.objects, strict=True)
        if not all(
            old.name == new.name or keeps_pronouns(self.text, old.name, new.name)
            for old, new in pairs
        ):
            return None
        if (changes := self._find_changes(edited)) is None:
            return None
        words, moved = changes
        rewritten = {mention.object for mention in moved}
        caption: str | None = self.text
        for mention in sorted(self.mentions, key=lambda mention: -mention.start):
            if mention.kind == "attribute" and mention.object in rewritten:
                continue
            word = words.get(mention.atom_key, mention.text)
            if mention.atom_key in denied:
                caption = self._negate_mention(
                    caption, mention, word, edited.by_id[mention.object].name
                )
            else:
                if mention in moved:
                    start, texts = moved[mention]
                    rest = len(caption) - mention.start
                    caption = self._rewrite_attributes(caption, start, mention.start, texts)
                    shift = len(caption) - rest - mention.start
                    mention = replace(mention, start=mention.start + shift, end=mention.end + shift)
                if word != mention.text:
                    caption = replace_atom_text(caption, mention, word)
            if caption is None:
                return None
        return caption

    def _find_changes(
        self, edited: SceneGraph
    ) -> tuple[dict[AtomKey, str], dict[Mention, tuple[int, Sequence[str]]]] | None:
        """Return the new word of each atom, and the new attributes of objects that get more or fewer.

        The attributes come with their start, by the object's mention. Returns None if they are not before their noun.
        """
        words: dict[AtomKey, str] = {}
        moved: dict[Mention, tuple[int, Sequence[str]]] = {}
        for old, new in zip(self.graph.objects, edited.objects, strict=True):
            words["object", old.name, old.id, None] = new.name
            removed = [text for text in old.attributes if text not in new.attributes]
            added = [text for text in new.attributes if text not in old.attributes]
            if len(removed) == len(added):
                words |= {
                    ("attribute", text, old.id, None): word
                    for text, word in zip(removed, added, strict=True)
                }
            elif (start := self._find_phrase_start(old)) is not None:
                moved[self._list_mentions("object", old.id)[0]] = start, new.attributes
            else:
                return None
        for edge, new_edge in zip(self.graph.relations, edited.relations, strict=True):
            words["relation", edge.predicate, edge.subject, edge.object] = new_edge.predicate
        return words, moved

    def _list_mentions(self, kind: str, key: str) -> list[Mention]:
        mentions = (
            mention for mention in self.mentions if (mention.kind, mention.object) == (kind, key)
        )
        return sorted(mentions, key=lambda mention: mention.start)

    def _find_phrase_start(self, item: SceneObject) -> int | None:
        """Return the start of the attributes before an object's first mention, or None if some are elsewhere."""
        attributes = self._list_mentions("attribute", item.id)
        noun = next(iter(self._list_mentions("object", item.id)), None)
        if noun is None or Counter(mention.text for mention in attributes) != Counter(
            item.attributes
        ):
            return None
        phrase = (*attributes, noun)
        if phrase[-2:][0].start > noun.start:
            return None
        between = "".join(self.text[first.end : second.start] for first, second in pairwise(phrase))
        return phrase[0].start if re.fullmatch(r"(?:,|and|\s)*", between) else None

    def _rewrite_attributes(
        self, caption: str, start: int, end: int, attributes: Sequence[str]
    ) -> str:
        """Return the caption with the attributes between two positions replaced, in the words of this caption."""
        surfaces = {
            item.text: self.text[item.start : item.end]
            for item in self.mentions
            if item.kind == "attribute"
        }
        words = [surfaces.get(text, text) for text in sort_adjectives(attributes)]
        phrase = "".join(f"{word} " for word in words) + caption[end:]
        return fit_article(caption[:start], phrase.split(maxsplit=1)[0]) + phrase

    def _negate_mention(self, caption: str, mention: Mention, word: str, name: str) -> str | None:
        if mention.kind == "object":
            return self._deny_object(caption, mention, word)
        if mention.kind == "relation":
            return _negate_relation(caption, mention, word)
        nouns = self._list_mentions("object", mention.object)
        copula = "are" if nouns and nouns[0].tag in PLURAL else "is"
        return _negate_attribute(caption, mention, word, name, copula)

    def _deny_object(self, caption: str, mention: Mention, word: str) -> str | None:
        """Return "something is on a table. there is no red cup".

        Returns None for objects that the caption only lists ("there is also something and a box"), for several objects,
        and after words that "something" does not follow ("another cup", "its paw", "two cups").
        """
        start = self._find_phrase_start(self.graph.by_id[mention.object])
        is_related = any(
            mention.object in (edge.subject, edge.object) for edge in self.graph.relations
        )
        is_plural = mention.tag not in ("NN", "NNP") or is_plural_noun(mention.text)
        if start is None or not is_related or is_plural or DETERMINER.search(caption[:start]):
            return None
        shifted = replace(mention, start=mention.start - start, end=mention.end - start)
        phrase = caption[start : mention.end]
        denied = phrase if word == mention.text else replace_atom_text(phrase, shifted, word)
        article = ARTICLE.search(caption[:start])
        before = caption[: article.start() if article else start]
        pronoun = "someone" if is_person(mention.text) else "something"
        if denied is None:
            return None
        return _add_sentence(f"{before}{pronoun}{caption[mention.end :]}", f"there is no {denied}")

    def negate_all(self) -> list[str]:
        """Return "it is not true that ... and that ...", and "there is no red cup on a table" for one such phrase.

        Returns [] for a caption with a pronoun, which may refer to several objects. "A cup is beside a hat, to the left
        of it" is false if "it" is the cup, and then its negation is true.
        """
        if PRONOUN.search(self.text) or RELATIVE_PRONOUN.search(self.text):
            return []
        sentences = self.text.split(". ")
        have_verbs = [self._has_verb(index, sentence) for index, sentence in enumerate(sentences)]
        clauses = [
            f"that {sentence}" if has_verb else f"that there is {sentence}"
            for sentence, has_verb in zip(sentences, have_verbs, strict=True)
        ]
        negations = [
            f"it is not true {' and '.join(filter(None, (', '.join(clauses[:-1]), clauses[-1])))}"
        ]
        phrase = re.fullmatch(r"an? (.*)", self.text)
        if (
            phrase
            and self.graph.relations
            and have_verbs == [False]
            and not COORDINATED.search(self.text)
        ):
            negations.append(f"there is no {phrase[1]}")
        return negations

    def _has_verb(self, index: int, sentence: str) -> bool:
        """Return True if a sentence of this caption or of an edited caption, which has a number, is a clause."""
        start = sum(len(earlier) + 2 for earlier in self.text.split(". ")[:index])
        end = start + len(self.text.split(". ")[index])
        tags = {mention.tag for mention in self.mentions if start <= mention.start < end}
        return bool(CLAUSE.search(sentence)) or not tags.isdisjoint(FINITE)


def _negate_relation(caption: str, mention: Mention, word: str) -> str | None:
    """Return "a cup not on a table" or "a man does not wear a hat".

    Returns None where English has no "not" ("partly not hiding a hat", "not on a table there is a cup"), and for a
    relation of "which", which may be another object than the parser found.
    """
    edited = caption if word == mention.text else replace_atom_text(caption, mention, word)
    if edited is None:
        return None
    before = edited[: mention.start]
    after = edited[mention.start :]
    if NO_PLACE_FOR_NOT.search(before) or mention.tag in POSSESSIVE:
        return None
    if mention.tag not in FINITE:
        return f"{before}not {after}"
    verb, *rest = after.split(" ")
    return " ".join([f"{before}{FINITE[mention.tag]} not {verb_lemma(verb)}", *rest])


def _negate_attribute(
    caption: str, mention: Mention, word: str, name: str, copula: str
) -> str | None:
    """Return "a cup is on a table. the cup is not red" or "the cup is not red". Numbers are not negated."""
    before = caption[: mention.start]
    after = caption[mention.end :]
    if word.isdigit() or mention.tag == "CD":
        return None
    if BE.search(before) and not re.match(r",| and\b", after):
        return f"{before}not {word}{after}"
    # The text that joins the attribute to the next one is removed with it, or else the text that joins it to the
    # previous one.
    rest = JOINT.sub("", after)
    if rest == after:
        before = JOINT_BEFORE.sub(" ", before)
    if not re.match(rf" (?:[\w-]+ )*{re.escape(name)}\b", rest):
        return None
    rest = rest.lstrip()
    before = fit_article(before, rest.split(maxsplit=1)[0])
    return _add_sentence(f"{before}{rest}", f"the {name} {copula} not {word}")


def _add_sentence(caption: str, sentence: str) -> str:
    """Return the caption with a last sentence; the final period of the caption stays the last character."""
    end = "." if caption.endswith(".") else ""
    return f"{caption.removesuffix('.')}. {sentence}{end}"
