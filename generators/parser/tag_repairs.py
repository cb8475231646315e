"""Corrections of words to which spaCy's model, trained on news and speech, gives a wrong part of speech in captions.

Each rule edits a sentence in place; its docstring shows captions and their wrong reading. The order of
:data:`TAG_REPAIRS` matters.
"""

from __future__ import annotations

from generators.parser import lemmas
from generators.parser.lexicon import CLOTHES, COLORS, GERUND_NAMES, ING_NOUNS, NAMES, PERSONAL, PLURAL_ALIKE
from generators.parser.sentence import Sentence

NOUN_MODIFIERS = frozenset({"compound", "nmod", "npadvmod", "amod"})
_VERB_DEPS = frozenset({"nsubj", "nsubjpass", "dobj", "aux", "auxpass", "prt"})
_DETERMINING_DEPS = frozenset({"det", "amod", "compound", "nummod", "poss"})
_MANY = frozenset({"several", "many", "few", "some", "both", "these", "those"})


def verbs_to_nouns(s: Sentence) -> None:
    """ "the leaves on the tree", "a glass railing", "on a building", "rocks and gravel", tagged as verbs."""
    for index, tag in enumerate(s.tags):
        if not tag.startswith("VB") or s.deps[index] in {"aux", "auxpass"}:
            continue
        children = s.near_children(index)
        deps = {s.deps[child] for child in children}
        left = {s.deps[child] for child in children if child < index}
        if not deps & _VERB_DEPS and left & _DETERMINING_DEPS and s.deps[index] not in NOUN_MODIFIERS:
            s.tags[index] = "NNS" if tag == "VBZ" else "NN"
        elif s.words[index] in ING_NOUNS and "dobj" not in deps and s.deps[index] not in NOUN_MODIFIERS:
            s.tags[index] = "NN"
            for child in children:
                if s.deps[child] in {"nsubj", "npadvmod"} and child < index:
                    s.deps[child] = "compound"
            if s.deps[index] == "pcomp":
                s.deps[index] = "pobj"
        elif tag in {"VB", "VBP"} and s.deps[index] == "conj" and not children and index >= 2 and s.is_noun(index - 2):
            s.tags[index] = "NN"
            s.attach(index, index - 2, "conj")


def gerunds_to_names(s: Sentence) -> None:
    """ "on cutting board", read as cutting a board."""
    for index in range(len(s) - 1):
        following = index + 1
        if s.words[index] in GERUND_NAMES and s.deps[index] == "pcomp" and s.heads[following] == index:
            s.attach(following, s.heads[index], "pobj")
            s.attach(index, following, "compound")


def prepositions_to_participles(s: Sentence) -> None:
    """ "a boy following a cow", with following as a preposition."""
    for index, dep in enumerate(s.deps):
        if s.tags[index] == "VBG" and dep == "prep" and s.words[index] != "including":
            s.deps[index] = "acl"
            for child in s.near_children(index):
                if s.deps[child] == "pobj":
                    s.deps[child] = "dobj"


def names_to_clauses(s: Sentence) -> None:
    """ "tennis player holding racket", read as one noun with two modifiers, or "zebra grazing" as one name."""
    for index in range(1, len(s)):
        before, head = index - 1, s.heads[index]
        if s.words[index] in GERUND_NAMES or not s.is_noun(before) or head <= index or not _is_action(s, index):
            continue
        if s.deps[head] == "appos" and s.heads[head] == before:  # "fence surrounding pier"
            s.attach(index, before, "acl")
            s.attach(head, index, "dobj")
        elif s.heads[before] in {index, head} and s.deps[before] in NOUN_MODIFIERS:
            s.replace(head, before)
            for child in s.near_children(head):
                if child < before:
                    s.move(child, before)
            s.attach(index, before, "acl")
            s.attach(head, index, "dobj")


def _is_action(s: Sentence, index: int) -> bool:
    """Whether a modifier in -ing is what the noun before it does: a verb, or a word after a person or clothes."""
    if s.tags[index] == "VBG":
        return s.deps[index] == "amod"
    verbal = s.words[index].endswith("ing") and s.words[index] not in ING_NOUNS and lemmas.is_verb(s.words[index])
    if s.deps[index] != "compound" or not verbal or lemmas.noun(s.words[index - 1]) not in PERSONAL | CLOTHES:
        return False
    s.tags[index] = "VBG"
    return True


def adverbs_to_objects(s: Sentence) -> None:
    """ "riding skateboard", with skateboard as an adverb."""
    for index, tag in enumerate(s.tags):
        verb = s.heads[index]
        if tag != "RB" or s.deps[index] != "advmod" or verb >= index or not s.is_verb(verb):
            continue
        if lemmas.is_noun(s.words[index]) and not any(s.deps[child] == "dobj" for child in s.near_children(verb)):
            s.tags[index], s.deps[index] = "NN", "dobj"


def names_to_verbs(s: Sentence) -> None:
    """ "zebra walking in a field", with walking as the last noun of the name."""
    for index in range(1, len(s)):
        before = index - 1
        if not (s.is_noun(index) and s.is_noun(before) and s.words[index].endswith("ing")):
            continue
        if s.words[index] in ING_NOUNS or s.heads[before] != index or s.deps[before] != "compound":
            continue
        if any(s.deps[child] in {"prep", "dobj"} and child > index for child in s.near_children(index)):
            left = [child for child in s.near_children(index) if child < before]
            s.replace(index, before)
            for child in left:
                s.move(child, before)
            s.tags[index] = "VBG"
            s.attach(index, before, "acl")


def color_subjects_to_attributes(s: Sentence) -> None:
    """ "white spotted umbrella", read as something white that spotted an umbrella."""
    for index in range(1, len(s)):
        color = index - 1
        if s.tags[index] != "VBD" or s.words[color] not in COLORS or s.heads[color] != index:
            continue
        objects = [child for child in s.near_children(index) if child > index and s.deps[child] in {"dobj", "npadvmod"}]
        if objects and s.is_noun(objects[0]) and all(s.heads[i] == objects[0] for i in range(index + 1, objects[0])):
            others = [child for child in s.near_children(index) if child != objects[0]]
            s.replace(index, objects[0])
            for child in others:
                s.move(child, objects[0])
            s.attach(color, objects[0], "amod")
            s.attach(index, objects[0], "amod")
            s.tags[index] = "VBN"


def verbs_to_names(s: Sentence) -> None:
    """ "teddy bears on a bed", read as someone who bears: animals, people and clothes after a bare noun."""
    for index in range(1, len(s)):
        before, noun = index - 1, lemmas.noun(s.words[index])
        if s.tags[index] != "VBZ" or s.heads[before] != index or not s.is_noun(before):
            continue
        named = f"{s.words[before]} {noun}" in NAMES or (noun in PERSONAL | CLOTHES and s.tags[before] != "NNS")
        deps = {s.deps[child] for child in s.near_children(index)}
        if named and not deps & {"dobj", "aux", "auxpass", "acomp", "xcomp"}:
            s.tags[index] = "NNS"
            for child in s.near_children(before):
                s.move(child, index)
            s.attach(before, index, "compound")


def plurals_alike(s: Sentence) -> None:
    """ "two fish", "the sheep are grazing", tagged as singular."""
    for index, word in enumerate(s.words):
        if s.tags[index] != "NN" or word not in PLURAL_ALIKE:
            continue
        verb = s.heads[index] if s.deps[index] in {"nsubj", "nsubjpass"} else index
        finite = {s.words[child] for child in (verb, *s.near_children(verb))} if verb != index else set()
        left = [child for child in s.near_children(index) if child < index]
        counted = any(s.tags[child] == "CD" and s.words[child] not in {"one", "1"} for child in left)
        if counted or finite & {"are", "were"} or any(s.words[child] in _MANY for child in left):
            s.tags[index] = "NNS"


TAG_REPAIRS = (
    prepositions_to_participles,
    gerunds_to_names,
    verbs_to_nouns,
    names_to_clauses,
    names_to_verbs,
    adverbs_to_objects,
    color_subjects_to_attributes,
    verbs_to_names,
    plurals_alike,
)
