"""Corrections of words that spaCy's model, trained on news and talk, takes for another part of speech in captions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.parser import lemmas
from generators.parser.lexicon import CLOTHES, COLORS, GERUND_NAMES, ING_NOUNS, NAMES, PERSONAL, PLURAL_ALIKE
from generators.parser.tree import attach, is_noun, kids, move, replace

if TYPE_CHECKING:
    from generators.parser.sentence import Sentence

NOUN_MODIFIERS = frozenset({"compound", "nmod", "npadvmod", "amod"})
_LEFT = frozenset({"det", "amod", "compound", "nummod", "poss"})
_MANY = frozenset({"several", "many", "few", "some", "both", "these", "those"})


def verbs_that_are_nouns(s: Sentence) -> None:
    """ "the leaves on the tree", "a glass railing", "on a building", "rocks and gravel", tagged as verbs."""
    for index, tag in enumerate(s.tags):
        if not tag.startswith("VB") or s.deps[index] in {"aux", "auxpass"}:
            continue
        children = kids(s, index)
        deps = {s.deps[kid] for kid in children}
        left = {s.deps[kid] for kid in children if kid < index}
        plain = not deps & {"nsubj", "nsubjpass", "dobj", "aux", "auxpass", "prt"}
        if plain and left & _LEFT and s.deps[index] not in NOUN_MODIFIERS:
            s.tags[index] = "NNS" if tag == "VBZ" else "NN"
        elif s.words[index] in ING_NOUNS and "dobj" not in deps and s.deps[index] not in NOUN_MODIFIERS:
            s.tags[index] = "NN"
            for kid in children:
                if s.deps[kid] in {"nsubj", "npadvmod"} and kid < index:
                    s.deps[kid] = "compound"
            if s.deps[index] == "pcomp":
                s.deps[index] = "pobj"
        elif tag in {"VB", "VBP"} and s.deps[index] == "conj" and not children and index >= 2 and is_noun(s, index - 2):
            s.tags[index] = "NN"
            attach(s, index, index - 2, "conj")


def gerunds_that_are_names(s: Sentence) -> None:
    """ "on cutting board", read as cutting a board."""
    for index in range(len(s.words) - 1):
        following = index + 1
        if s.words[index] in GERUND_NAMES and s.deps[index] == "pcomp" and s.heads[following] == index:
            attach(s, following, s.heads[index], "pobj")
            attach(s, index, following, "compound")


def participles_that_are_prepositions(s: Sentence) -> None:
    """ "a boy following a cow", with following as a preposition."""
    for index, dep in enumerate(s.deps):
        if s.tags[index] == "VBG" and dep == "prep" and s.words[index] != "including":
            s.deps[index] = "acl"
            for kid in kids(s, index):
                if s.deps[kid] == "pobj":
                    s.deps[kid] = "dobj"


def clauses_that_are_names(s: Sentence) -> None:
    """ "tennis player holding racket", read as one thing with two modifiers, or "zebra grazing" as one name."""
    for index in range(1, len(s.words)):
        before, head = index - 1, s.heads[index]
        if s.words[index] in GERUND_NAMES or not is_noun(s, before) or head <= index or not _acts(s, index):
            continue
        if s.deps[head] == "appos" and s.heads[head] == before:  # "fence surrounding pier"
            attach(s, index, before, "acl")
            attach(s, head, index, "dobj")
        elif s.heads[before] in {index, head} and s.deps[before] in NOUN_MODIFIERS:
            replace(s, head, before)
            for kid in kids(s, head):
                if kid < before:
                    move(s, kid, before)
            attach(s, index, before, "acl")
            attach(s, head, index, "dobj")


def _acts(s: Sentence, index: int) -> bool:
    """Whether a modifier on -ing says what the noun before it does: as a verb, or after someone or clothes."""
    if s.tags[index] == "VBG":
        return s.deps[index] == "amod"
    acting = s.words[index].endswith("ing") and s.words[index] not in ING_NOUNS and lemmas.is_verb(s.words[index])
    if s.deps[index] != "compound" or not acting or lemmas.noun(s.words[index - 1]) not in PERSONAL | CLOTHES:
        return False
    s.tags[index] = "VBG"
    return True


def nouns_that_are_adverbs(s: Sentence) -> None:
    """ "riding skateboard", with skateboard as an adverb."""
    for index, tag in enumerate(s.tags):
        verb = s.heads[index]
        if tag != "RB" or s.deps[index] != "advmod" or verb >= index or not s.tags[verb].startswith("VB"):
            continue
        if lemmas.is_noun(s.words[index]) and not any(s.deps[kid] == "dobj" for kid in kids(s, verb)):
            s.tags[index] = "NN"
            s.deps[index] = "dobj"


def nouns_that_are_verbs(s: Sentence) -> None:
    """ "zebra walking in a field", with walking as the name's last noun."""
    for index in range(1, len(s.words)):
        before = index - 1
        if not (is_noun(s, index) and is_noun(s, before) and s.words[index].endswith("ing")):
            continue
        if s.words[index] in ING_NOUNS or s.heads[before] != index or s.deps[before] != "compound":
            continue
        if any(s.deps[kid] in {"prep", "dobj"} and kid > index for kid in kids(s, index)):
            left = [kid for kid in kids(s, index) if kid < before]
            replace(s, index, before)
            for kid in left:
                move(s, kid, before)
            s.tags[index] = "VBG"
            attach(s, index, before, "acl")


def colors_that_are_subjects(s: Sentence) -> None:
    """ "white spotted umbrella", read as something white that spotted an umbrella."""
    for index in range(1, len(s.words)):
        color = index - 1
        if s.tags[index] != "VBD" or s.words[color] not in COLORS or s.heads[color] != index:
            continue
        things = [kid for kid in kids(s, index) if kid > index and s.deps[kid] in {"dobj", "npadvmod"}]
        if things and is_noun(s, things[0]) and all(s.heads[i] == things[0] for i in range(index + 1, things[0])):
            others = [kid for kid in kids(s, index) if kid != things[0]]
            replace(s, index, things[0])
            for kid in others:
                move(s, kid, things[0])
            attach(s, color, things[0], "amod")
            attach(s, index, things[0], "amod")
            s.tags[index] = "VBN"


def verbs_that_are_names(s: Sentence) -> None:
    """ "teddy bears on a bed", read as someone who bears: animals, people and clothes after a bare noun."""
    for index in range(1, len(s.words)):
        before, noun = index - 1, lemmas.noun(s.words[index])
        if s.tags[index] != "VBZ" or s.heads[before] != index or not is_noun(s, before):
            continue
        named = f"{s.words[before]} {noun}" in NAMES or (noun in PERSONAL | CLOTHES and s.tags[before] not in {"NNS"})
        if named and not any(s.deps[kid] in {"dobj", "aux", "auxpass", "acomp", "xcomp"} for kid in kids(s, index)):
            s.tags[index] = "NNS"
            for kid in kids(s, before):
                move(s, kid, index)
            attach(s, before, index, "compound")


def plurals_that_look_singular(s: Sentence) -> None:
    """ "two fish", "the sheep are grazing"."""
    for index, word in enumerate(s.words):
        if s.tags[index] != "NN" or word not in PLURAL_ALIKE:
            continue
        verb = s.heads[index] if s.deps[index] in {"nsubj", "nsubjpass"} else index
        finite = {s.words[kid] for kid in (verb, *kids(s, verb))} if verb != index else set()
        left = [kid for kid in kids(s, index) if kid < index]
        counted = any(s.tags[kid] == "CD" and s.words[kid] not in {"one", "1"} for kid in left)
        if counted or finite & {"are", "were"} or any(s.words[kid] in _MANY for kid in left):
            s.tags[index] = "NNS"


TAG_REPAIRS = (
    participles_that_are_prepositions,
    gerunds_that_are_names,
    verbs_that_are_nouns,
    clauses_that_are_names,
    nouns_that_are_verbs,
    nouns_that_are_adverbs,
    colors_that_are_subjects,
    verbs_that_are_names,
    plurals_that_look_singular,
)
