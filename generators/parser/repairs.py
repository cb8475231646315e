"""Corrections of the dependency tree where spaCy's model, trained on news and talk, misreads captions.

Each rule changes the parallel lists of a :class:`~generators.parser.sentence.Sentence` in place, before its children
are listed. They run in the order of :data:`REPAIRS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.parser import lemmas
from generators.parser.lexicon import COVERING_VERBS, PERSONAL, RELATIVE_PRONOUNS
from generators.parser.tags import NOUN_MODIFIERS, TAG_REPAIRS
from generators.parser.tree import attach, is_noun, kids, left_edge, move, replace

if TYPE_CHECKING:
    from generators.parser.sentence import Sentence

_FINAL = frozenset({".", ",", ":", "''", "``"})


def possession(s: Sentence) -> None:
    """ "the bird has beak", with has as an auxiliary of a noun."""
    for index, word in enumerate(s.words):
        head = s.heads[s.heads[index]] if s.deps[s.heads[index]] == "amod" else s.heads[index]
        if (
            word in {"has", "have", "had"}
            and s.deps[index] == "aux"
            and head > index
            and s.tags[head][:2] in {"NN", "JJ"}
        ):
            s.tags[head] = s.tags[head].replace("JJ", "NN")
            replace(s, head, index)
            for kid in kids(s, head):
                if s.deps[kid] in {"nsubj", "neg"} or kid < index:
                    move(s, kid, index)
            attach(s, head, index, "dobj")


def bare_subjects(s: Sentence) -> None:
    """ "man holding a bag", with man as an adverbial."""
    for index, dep in enumerate(s.deps):
        head = s.heads[index]
        if dep == "npadvmod" and head > index and is_noun(s, index) and s.tags[head] in {"VBG", "VBZ", "VBP"}:
            alone = not any(s.deps[kid] in {"nsubj", "nsubjpass"} for kid in kids(s, head))
            s.deps[index] = "nsubj" if alone and s.deps[head] != "amod" else dep


def appositions(s: Sentence) -> None:
    """ "a suit and white shirt", with the shirt attached elsewhere; "a cup, a plate and a fork"."""
    for index, dep in enumerate(s.deps):
        edge = left_edge(s, index)
        if dep != "appos" or not is_noun(s, index) or not edge:
            continue
        joint, head = s.words[edge - 1], s.heads[edge - 1]
        if joint == "," and any(s.deps[kid] == "cc" for kid in kids(s, index)):
            s.deps[index] = "conj"
        elif joint == "and" and head < edge and is_noun(s, head):
            attach(s, index, head, "conj")


def coordination(s: Sentence) -> None:
    """Whether "X with Y and Z" has Z beside X or beside Y; spaCy knows no more than we do, but has no rule."""
    for index, dep in enumerate(s.deps):
        if dep != "conj" or not is_noun(s, index):
            continue
        near, other = left_edge(s, index) - 2, s.heads[index]
        if near > other and s.words[near + 1] == "and":
            thing = s.deps[near] == "dobj" and lemmas.noun(s.words[index]) not in PERSONAL
            if thing or (s.deps[near] == "pobj" and _alike(s, near, index)):
                attach(s, index, near, "conj")
            continue
        link = s.heads[other]
        repeated = s.deps[other] == "pobj" and _repeats(s, link, index)
        clothed = lemmas.verb(s.words[link]) == "wear" and lemmas.noun(s.words[index]) in PERSONAL
        if repeated or clothed:
            attach(s, index, s.heads[link], "conj")


def _alike(s: Sentence, first: int, second: int) -> bool:
    """ "a cat next to a dog and a bird": whether two nouns have the same modifiers, none of them behind."""
    first_deps, second_deps = (
        [s.deps[kid] for kid in kids(s, noun) if s.tags[kid] not in _FINAL and s.deps[kid] not in {"cc", "conj"}]
        for noun in (first, second)
    )
    return first_deps == second_deps and not {"prep", "acl", "relcl"} & set(second_deps)


def _repeats(s: Sentence, preposition: int, noun: int) -> bool:
    """ "a man with a bag and a woman with a dog": whether a noun has a phrase like the one it seems to stand in."""
    after, governor = noun + 1, s.heads[preposition]
    if not is_noun(s, governor) or after >= len(s.words) or s.words[after] != s.words[preposition]:
        return False
    if s.heads[after] == governor:
        move(s, after, noun)
    return s.heads[after] == noun


def reduced_relatives(s: Sentence) -> None:
    """ "the table the vases are on", "ground giraffes are standing on": a clause about the first noun.

    Visual Genome's annotators like this form. spaCy takes the first noun for a second subject of the verb or for a
    part of its subject's name; the preposition that ends the caption without an object gives it away.
    """
    stranded = _stranded(s)
    roots = [index for index, head in enumerate(s.heads) if head == index and s.tags[index].startswith("VB")]
    verbs = [s.heads[stranded]] if stranded is not None else roots
    for verb in verbs[:1]:
        topic = _topic(s, verb, stranded is not None)
        if topic is not None and s.tags[verb].startswith("VB"):
            if stranded is not None:
                s.deps[stranded] = "prep"
            replace(s, verb, topic)
            attach(s, verb, topic, "relcl")


def _stranded(s: Sentence) -> int | None:
    """The preposition that ends a caption, None where there is none."""
    words = [i for i, tag in enumerate(s.tags) if tag not in _FINAL and s.deps[i] not in {"punct", "folded"}]
    last = words[-1] if words else 0
    hanging = last > 0 and s.tags[last] in {"IN", "TO", "RB"} and s.deps[last] in {"prep", "prt"}
    return last if hanging and not kids(s, last) else None


def _topic(s: Sentence, verb: int, stranded: bool) -> int | None:
    """What a verb with two subjects, or one that hides another, is a relative clause of; None where it is none."""
    children = kids(s, verb)
    subjects = [kid for kid in children if s.deps[kid] in {"nsubj", "npadvmod"} and is_noun(s, kid)]
    if not subjects or any(s.words[kid] in RELATIVE_PRONOUNS for kid in children):
        return None
    if len(subjects) > 1 and subjects[1] < verb:
        second_is_named = any(s.deps[kid] == "det" for kid in kids(s, subjects[1]))
        return subjects[0] if stranded or second_is_named else None
    names = [kid for kid in kids(s, subjects[-1]) if kid < subjects[-1] and is_noun(s, kid)]
    if not stranded or not names or s.deps[names[-1]] not in NOUN_MODIFIERS or s.deps[verb] not in {"ROOT", "relcl"}:
        return None
    topic = names[-1]
    for kid in kids(s, subjects[-1]):
        if kid < topic and s.deps[kid] != "relcl":
            move(s, kid, topic)
    return topic


def covered(s: Sentence) -> None:
    """ "a snow covered sign": snow covers it."""
    for index in range(1, len(s.words)):
        before, head = index - 1, s.heads[index]
        if (
            s.tags[index] in {"VBN", "VBD", "JJ"}
            and s.deps[index] == "amod"
            and head > index
            and is_noun(s, before)
            and s.heads[before] in {index, head}
            and lemmas.verb(s.words[index]) in COVERING_VERBS
        ):
            attach(s, before, index, "nsubj")
            s.tags[index] = "VBN"
            s.deps[index] = "covering"


REPAIRS = (
    *TAG_REPAIRS,
    possession,
    bare_subjects,
    appositions,
    coordination,
    reduced_relatives,
    covered,
)
