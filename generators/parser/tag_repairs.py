"""Corrections of words to which spaCy's model, trained on news and speech, assigns a wrong part of speech in captions.

Each rule edits a sentence in place. Its docstring shows captions and how spaCy misreads them. The order of
:data:`TAG_REPAIRS` matters.
"""

from __future__ import annotations

from compeval.generators.parser import lemmas
from compeval.generators.parser.lexicon import ACTORS, WORDS
from compeval.generators.parser.sentence import Sentence

NOUN_MODIFIERS = frozenset({"compound", "nmod", "npadvmod", "amod"})
_VERB_DEPS = frozenset({"nsubj", "nsubjpass", "dobj", "aux", "auxpass", "prt"})
_DETERMINING_DEPS = frozenset({"det", "amod", "compound", "nummod", "poss"})


def verbs_to_nouns(s: Sentence) -> None:
    """Repair nouns that are tagged as verbs: "leaves on a tree", "a glass railing", "rocks and gravel"."""
    for index, tag in enumerate(s.tags):
        if not tag.startswith("VB") or s.deps[index] in {"aux", "auxpass"}:
            continue
        children = s.near_children(index)
        deps = {s.deps[child] for child in children}
        left = {s.deps[child] for child in children if child < index}
        if (
            not deps & _VERB_DEPS
            and left & _DETERMINING_DEPS
            and s.deps[index] not in NOUN_MODIFIERS
        ):
            s.tags[index] = "NNS" if tag == "VBZ" else "NN"
        elif (
            s.is_in(index, "ing_nouns")
            and "dobj" not in deps
            and s.deps[index] not in NOUN_MODIFIERS
        ):
            s.tags[index] = "NN"
            for child in children:
                if s.deps[child] in {"nsubj", "npadvmod"} and child < index:
                    s.deps[child] = "compound"
            if s.deps[index] == "pcomp":
                s.deps[index] = "pobj"
        elif (
            tag in {"VB", "VBP"}
            and s.deps[index] == "conj"
            and not children
            and index >= 2
            and s.is_noun(index - 2)
        ):
            s.tags[index] = "NN"
            s.attach(index, index - 2, "conj")


def gerunds_to_names(s: Sentence) -> None:
    """Repair "on cutting board", which is read as cutting a board."""
    for index in range(len(s) - 1):
        following = index + 1
        if (
            s.is_in(index, "gerund_names")
            and s.deps[index] == "pcomp"
            and s.heads[following] == index
        ):
            s.attach(following, s.heads[index], "pobj")
            s.attach(index, following, "compound")


def prepositions_to_participles(s: Sentence) -> None:
    """Repair "a boy following a cow", where "following" is read as a preposition."""
    for index, dep in enumerate(s.deps):
        if s.tags[index] == "VBG" and dep == "prep" and s.words[index] != "including":
            s.deps[index] = "acl"
            for child in s.near_children(index):
                if s.deps[child] == "pobj":
                    s.deps[child] = "dobj"


def names_to_clauses(s: Sentence) -> None:
    """Repair "tennis player holding racket" and "zebra grazing", which are read as one name."""
    for index in range(1, len(s)):
        before = index - 1
        head = s.heads[index]
        if (
            s.is_in(index, "gerund_names")
            or not s.is_noun(before)
            or head <= index
            or not _is_action(s, index)
        ):
            continue
        if s.deps[head] == "appos" and s.heads[head] == before:  # "fence surrounding pier"
            s.attach(index, before, "acl")
            s.attach(head, index, "dobj")
        elif s.heads[before] in {index, head} and s.deps[before] in NOUN_MODIFIERS:
            s.replace(head, before)
            s.move(before, (child for child in s.near_children(head) if child < before))
            s.attach(index, before, "acl")
            s.attach(head, index, "dobj")


def _is_action(s: Sentence, index: int) -> bool:
    """Return True if a word in -ing is the action of the noun before it, and not part of a name.

    A word that is not tagged as a verb counts only after a person, an animal or clothes; it is then tagged as a verb.
    """
    if s.tags[index] == "VBG":
        return s.deps[index] == "amod"
    word = s.words[index]
    actor = lemmas.singular(s.words[index - 1])
    is_verb_form = word.endswith("ing") and not s.is_in(index, "ing_nouns") and lemmas.is_verb(word)
    if s.deps[index] != "compound" or not is_verb_form or actor not in ACTORS:
        return False
    s.tags[index] = "VBG"
    return True


def adverbs_to_objects(s: Sentence) -> None:
    """Repair "riding skateboard", where "skateboard" is read as an adverb."""
    for index, tag in enumerate(s.tags):
        verb = s.heads[index]
        if tag != "RB" or s.deps[index] != "advmod" or verb >= index or not s.is_verb(verb):
            continue
        if lemmas.is_noun(s.words[index]) and "dobj" not in s.near_deps(verb):
            s.tags[index] = "NN"
            s.deps[index] = "dobj"


def names_to_verbs(s: Sentence) -> None:
    """Repair "zebra walking in a field", where "walking" is read as the last noun of the name."""
    for index in range(1, len(s)):
        before = index - 1
        if not (s.is_noun(index) and s.is_noun(before) and s.words[index].endswith("ing")):
            continue
        if s.is_in(index, "ing_nouns") or s.heads[before] != index or s.deps[before] != "compound":
            continue
        if any(
            s.deps[child] in {"prep", "dobj"} and child > index for child in s.near_children(index)
        ):
            left = [child for child in s.near_children(index) if child < before]
            s.replace(index, before)
            s.move(before, left)
            s.tags[index] = "VBG"
            s.attach(index, before, "acl")


def verbs_to_names(s: Sentence) -> None:
    """Repair "teddy bears on a bed", where "bears" is read as a verb.

    The rule applies to listed names, and to animals, people and clothes after a singular noun.
    """
    for index in range(1, len(s)):
        before = index - 1
        noun = lemmas.singular(s.words[index])
        if s.tags[index] != "VBZ" or s.heads[before] != index or not s.is_noun(before):
            continue
        is_name = f"{s.words[before]} {noun}" in WORDS["names"] or (
            noun in ACTORS and s.tags[before] != "NNS"
        )
        if is_name and not s.near_deps(index) & {"dobj", "aux", "auxpass", "acomp", "xcomp"}:
            s.tags[index] = "NNS"
            s.move(index, s.near_children(before))
            s.attach(before, index, "compound")


def repair_plurals(s: Sentence) -> None:
    """Repair "two fish" and "the sheep are grazing", where the noun is tagged as singular."""
    for index, word in enumerate(s.words):
        if s.tags[index] != "NN" or word not in WORDS["same_in_plural"]:
            continue
        verb = s.heads[index] if s.deps[index] in {"nsubj", "nsubjpass"} else index
        finite = (
            {s.words[child] for child in (verb, *s.near_children(verb))} if verb != index else set()
        )
        left = [child for child in s.near_children(index) if child < index]
        is_counted = any(
            s.tags[child] == "CD" and s.words[child] not in {"one", "1"} for child in left
        )
        if is_counted or finite & {"are", "were"} or s.any_in(left, "plural_determiners"):
            s.tags[index] = "NNS"


TAG_REPAIRS = (
    prepositions_to_participles,
    gerunds_to_names,
    verbs_to_nouns,
    names_to_clauses,
    names_to_verbs,
    adverbs_to_objects,
    verbs_to_names,
    repair_plurals,
)
