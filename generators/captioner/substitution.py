"""The replacement of one atom of a caption by another word, inflected for its position.

Source: CREPE (arXiv:2212.07796), appendix A.1: an atomic foil changes one atom and nothing else. The new word takes the
number, degree, verb form and capitals of the old word, and the article before it is adapted ("an orange cup" for "a red
cup").
"""

from __future__ import annotations

import re
from dataclasses import replace

from compeval.base.schemas.scene_graph import Mention
from compeval.generators.language import inflection
from compeval.generators.language.lexicon import nouns, relations

FINITE = frozenset({"VB", "VBD", "VBP", "VBZ"})
"""Penn tags of finite verbs, which a clause requires."""
AGENT = re.compile(r"\s+(?:by|with)\b", re.IGNORECASE)
PARTLY = re.compile(r"\bpart(?:ly|ially)\s+$", re.IGNORECASE)
PRONOUN = re.compile(r"\b(?:it|its|they|them|their|he|him|his|she|her)\b", re.IGNORECASE)


def keeps_pronouns(caption: str, old: str, new: str) -> bool:
    """Return False if a pronoun of the caption may refer to a person that the replacement adds or removes.

    In "a man with a hat on his head", the pronoun does not fit "woman" or "statue".
    """
    return not (nouns.is_person(old) or nouns.is_person(new)) or PRONOUN.search(caption) is None


def replace_atom_text(caption: str, mention: Mention, replacement: str) -> str | None:
    """Return the caption with one atom replaced, or None if the word does not fit its position.

    ``replacement`` is a lemma, a preposition, or a verb with its preposition, as a lemma or participle ("sit under",
    "sitting under").
    """
    if mention.kind == "relation":
        replacement = _lemmatise_phrase(replacement)
    surface = caption[mention.start : mention.end]
    inflected = _inflect_atom(caption, mention, surface, replacement)
    if inflected is None:
        return None
    before = inflection.fit_article(caption[: mention.start], inflected)
    after = caption[mention.end :]
    if caption.isupper():
        return (before + inflected).upper() + after
    is_initial = not before.strip() or caption.istitle()
    return (
        before
        + (inflection.capitalise(inflected) if is_initial and surface[0].isupper() else inflected)
        + after
    )


def read_as_written(caption: str, mention: Mention) -> Mention:
    """Return a relation in the direction and with the words of the caption, if the lexicon lists these words.

    Other mentions are returned unchanged. For "a hat partly hidden by a cat", the parse states that the cat hides the
    hat. The result states that the hat is "partly hidden by" the cat.
    """
    if mention.kind != "relation" or mention.target is None:
        return mention
    agent = AGENT.match(caption, mention.end)
    end = agent.end() if agent else mention.end
    text = caption[mention.start : end].lower()
    parsed = relations.find_sense(mention.text)
    written = relations.find_sense(text)
    if mention.tag == "VBN" and parsed and written and parsed.group != written.group:
        mention = replace(mention, end=end, text=text, object=mention.target, target=mention.object)
    partly = PARTLY.search(caption[: mention.start])
    if partly and relations.find_sense(caption[partly.start() : mention.end]):
        mention = replace(
            mention, start=partly.start(), text=caption[partly.start() : mention.end].lower()
        )
    return mention


def choose_synonym(surface: str, mention: Mention, group: str) -> str | None:
    """Return the lemma of the synonym in a relation group that best fits the position, or None if none fits.

    ``surface`` is the text to replace: "to the right of" replaces "to the left of", and "right of" replaces "left of".
    """
    sense = relations.find_sense(surface)
    decisive = " ".join(surface.split()[sense.num_leading_words :]) if sense else surface
    phrases = (_lemmatise_phrase(phrase) for phrase in relations.sort_synonyms(group, decisive))
    return next(
        (phrase for phrase in phrases if _inflect_relation(mention, surface, phrase) is not None),
        None,
    )


def _lemmatise_phrase(phrase: str) -> str:
    """Return a lexicon phrase with its verb as a lemma. Passives and prepositions are unchanged."""
    first, *rest = phrase.split()
    if relations.is_participle(first) and first not in relations.PASSIVES:
        return " ".join([relations.verb_lemma(first), *rest])
    return phrase


def _inflect_atom(caption: str, mention: Mention, surface: str, replacement: str) -> str | None:
    if mention.kind == "object":
        return inflection.inflect_noun(
            replacement, mention.tag, counted=inflection.is_counted(caption[: mention.start])
        )
    if mention.kind == "attribute":
        return inflection.inflect_adjective(replacement, mention.tag)
    is_passive = mention.tag == "VBN" and AGENT.match(caption, mention.end) is not None
    return _inflect_relation(mention, surface, replacement, is_passive=is_passive)


def _inflect_relation(
    mention: Mention, surface: str, replacement: str, *, is_passive: bool = False
) -> str | None:
    """Return a relation in the form of the replaced relation, or None if the clause would lose its finite verb."""
    words = surface.split()
    copulas = [word for word in words[:1] if word.lower() in relations.COPULAS]
    old = relations.find_sense(surface)
    decisive = words[old.num_leading_words :] if old else words[len(copulas) :]
    verbs = words[len(copulas) : len(words) - len(decisive)]
    is_finite = mention.tag in FINITE and not copulas
    if relations.is_preposition(replacement):
        return None if is_finite and not verbs else " ".join([*copulas, *verbs, replacement])
    if replacement.split()[0] in relations.PASSIVES:
        return None if is_finite else " ".join([*copulas, replacement])
    return " ".join(
        [
            *copulas,
            inflection.inflect_verb(replacement, mention.tag if is_finite or is_passive else "VBG"),
        ]
    )
