"""Corrections of the dependency tree where spaCy's model, trained on news and talk, misreads captions.

Each rule changes the parallel lists of a :class:`~generators.parsing.sentence.Sentence` in place, before its children
are listed. They run in the order of :data:`REPAIRS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.parsing import lemmas
from generators.parsing.lexicon import COVERING_VERBS, GERUND_NAMES, ING_NOUNS, PERSONAL, RELATIVE_PRONOUNS

if TYPE_CHECKING:
    from generators.parsing.sentence import Sentence

_NOUN_MODIFIERS = frozenset({"compound", "nmod", "npadvmod", "amod"})
_LEFT = frozenset({"det", "amod", "compound", "nummod", "poss"})
_REACH = 40
_FINAL = frozenset({".", ",", ":", "''", "``"})


def _is_noun(s: Sentence, index: int) -> bool:
    return s.tags[index].startswith("NN")


def _kids(s: Sentence, index: int) -> list[int]:
    """The children within :data:`_REACH` tokens, so that a long text costs no more a word than a caption."""
    near = range(max(0, index - _REACH), min(len(s.words), index + _REACH + 1))
    return [kid for kid in near if s.heads[kid] == index and kid != index]


def _attach(s: Sentence, index: int, head: int, dep: str) -> None:
    """Hang a token on another, unless that hangs on it: no repair makes a cycle."""
    if index == head or not s.hangs_on(head, index):
        s.heads[index], s.deps[index] = head, dep


def _move(s: Sentence, index: int, head: int) -> None:
    """Hang a token on another with the label that it has."""
    _attach(s, index, head, s.deps[index])


def _replace(s: Sentence, old: int, new: int) -> None:
    """Put ``new`` where ``old`` hangs."""
    if s.heads[old] == old:
        _attach(s, new, new, s.deps[old])
    else:
        _attach(s, new, s.heads[old], s.deps[old])


def verbs_that_are_nouns(s: Sentence) -> None:
    """ "the leaves on the tree", "a glass railing", "on a building", "rocks and gravel", tagged as verbs."""
    for index, tag in enumerate(s.tags):
        if not tag.startswith("VB") or s.deps[index] in {"aux", "auxpass"}:
            continue
        kids = _kids(s, index)
        deps = {s.deps[kid] for kid in kids}
        left = {s.deps[kid] for kid in kids if kid < index}
        plain = not deps & {"nsubj", "nsubjpass", "dobj", "aux", "auxpass", "prt"}
        if plain and left & _LEFT and s.deps[index] not in _NOUN_MODIFIERS:
            s.tags[index] = "NNS" if tag == "VBZ" else "NN"
        elif s.words[index] in ING_NOUNS and "dobj" not in deps and s.deps[index] not in _NOUN_MODIFIERS:
            s.tags[index] = "NN"
            for kid in kids:
                if s.deps[kid] in {"nsubj", "npadvmod"} and kid < index:
                    s.deps[kid] = "compound"
            if s.deps[index] == "pcomp":
                s.deps[index] = "pobj"
        elif tag in {"VB", "VBP"} and s.deps[index] == "conj" and not kids and index >= 2 and _is_noun(s, index - 2):
            s.tags[index] = "NN"
            _attach(s, index, index - 2, "conj")


def gerunds_that_are_names(s: Sentence) -> None:
    """ "on cutting board", read as cutting a board."""
    for index in range(len(s.words) - 1):
        following = index + 1
        if s.words[index] in GERUND_NAMES and s.deps[index] == "pcomp" and s.heads[following] == index:
            _attach(s, following, s.heads[index], "pobj")
            _attach(s, index, following, "compound")


def participles_that_are_prepositions(s: Sentence) -> None:
    """ "a boy following a cow", with following as a preposition."""
    for index, dep in enumerate(s.deps):
        if s.tags[index] == "VBG" and dep == "prep" and s.words[index] != "including":
            s.deps[index] = "acl"
            for kid in _kids(s, index):
                if s.deps[kid] == "pobj":
                    s.deps[kid] = "dobj"


def clauses_that_are_names(s: Sentence) -> None:
    """ "tennis player holding racket", read as one thing with two modifiers, or "zebra grazing" as one name."""
    for index in range(1, len(s.words)):
        before, head = index - 1, s.heads[index]
        if s.tags[index] != "VBG" or s.words[index] in GERUND_NAMES or not _is_noun(s, before):
            continue
        if s.deps[index] == "amod" and head > index and s.heads[before] in {index, head}:
            if s.deps[before] not in _NOUN_MODIFIERS:
                continue
            _replace(s, head, before)
            for kid in _kids(s, head):
                if kid < before:
                    _move(s, kid, before)
            _attach(s, index, before, "acl")
            _attach(s, head, index, "dobj")


def nouns_that_are_verbs(s: Sentence) -> None:
    """ "zebra walking in a field", with walking as the name's last noun."""
    for index in range(1, len(s.words)):
        before = index - 1
        if not (_is_noun(s, index) and _is_noun(s, before) and s.words[index].endswith("ing")):
            continue
        if s.words[index] in ING_NOUNS or s.heads[before] != index or s.deps[before] != "compound":
            continue
        if any(s.deps[kid] in {"prep", "dobj"} and kid > index for kid in _kids(s, index)):
            kids = [kid for kid in _kids(s, index) if kid < before]
            _replace(s, index, before)
            for kid in kids:
                _move(s, kid, before)
            s.tags[index] = "VBG"
            _attach(s, index, before, "acl")


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
            _replace(s, head, index)
            for kid in _kids(s, head):
                if s.deps[kid] in {"nsubj", "neg"} or kid < index:
                    _move(s, kid, index)
            _attach(s, head, index, "dobj")


def bare_subjects(s: Sentence) -> None:
    """ "man holding a bag", with man as an adverbial."""
    for index, dep in enumerate(s.deps):
        head = s.heads[index]
        if dep == "npadvmod" and head > index and _is_noun(s, index) and s.tags[head] in {"VBG", "VBZ", "VBP"}:
            alone = not any(s.deps[kid] in {"nsubj", "nsubjpass"} for kid in _kids(s, head))
            s.deps[index] = "nsubj" if alone and s.deps[head] != "amod" else dep


def appositions(s: Sentence) -> None:
    """ "a suit and white shirt", with the shirt attached elsewhere; "a cup, a plate and a fork"."""
    for index, dep in enumerate(s.deps):
        edge = _left_edge(s, index)
        if dep != "appos" or not _is_noun(s, index) or not edge:
            continue
        joint, head = s.words[edge - 1], s.heads[edge - 1]
        if joint == "," and any(s.deps[kid] == "cc" for kid in _kids(s, index)):
            s.deps[index] = "conj"
        elif joint == "and" and head < edge and _is_noun(s, head):
            _attach(s, index, head, "conj")


def coordination(s: Sentence) -> None:
    """Whether "X with Y and Z" has Z beside X or beside Y; spaCy knows no more than we do, but has no rule."""
    for index, dep in enumerate(s.deps):
        if dep != "conj" or not _is_noun(s, index):
            continue
        near, other = _left_edge(s, index) - 2, s.heads[index]
        if near > other and s.words[near + 1] == "and":
            thing = s.deps[near] == "dobj" and lemmas.noun(s.words[index]) not in PERSONAL
            if thing or (s.deps[near] == "pobj" and _alike(s, near, index)):
                _attach(s, index, near, "conj")
            continue
        link = s.heads[other]
        repeated = s.deps[other] == "pobj" and _repeats(s, link, index)
        clothed = lemmas.verb(s.words[link]) == "wear" and lemmas.noun(s.words[index]) in PERSONAL
        if repeated or clothed:
            _attach(s, index, s.heads[link], "conj")


def _left_edge(s: Sentence, noun: int) -> int:
    """The first of the tokens in front of a noun that hang on it."""
    edge = noun
    while edge and s.heads[edge - 1] == noun:
        edge -= 1
    return edge


def _alike(s: Sentence, first: int, second: int) -> bool:
    """ "a cat next to a dog and a bird": whether two nouns have the same modifiers, none of them behind."""
    first_deps, second_deps = (
        [s.deps[kid] for kid in _kids(s, noun) if s.tags[kid] not in _FINAL and s.deps[kid] not in {"cc", "conj"}]
        for noun in (first, second)
    )
    return first_deps == second_deps and not {"prep", "acl", "relcl"} & set(second_deps)


def _repeats(s: Sentence, preposition: int, noun: int) -> bool:
    """ "a man with a bag and a woman with a dog": whether a noun has a phrase like the one it seems to stand in."""
    after, governor = noun + 1, s.heads[preposition]
    if not _is_noun(s, governor) or after >= len(s.words) or s.words[after] != s.words[preposition]:
        return False
    if s.heads[after] == governor:
        _move(s, after, noun)
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
            _replace(s, verb, topic)
            _attach(s, verb, topic, "relcl")


def _stranded(s: Sentence) -> int | None:
    """The preposition that ends a caption, None where there is none."""
    words = [i for i, tag in enumerate(s.tags) if tag not in _FINAL and s.deps[i] not in {"punct", "folded"}]
    last = words[-1] if words else 0
    hanging = last > 0 and s.tags[last] in {"IN", "TO", "RB"} and s.deps[last] in {"prep", "prt"}
    return last if hanging and not _kids(s, last) else None


def _topic(s: Sentence, verb: int, stranded: bool) -> int | None:
    """What a verb with two subjects, or one that hides another, is a relative clause of; None where it is none."""
    kids = _kids(s, verb)
    subjects = [kid for kid in kids if s.deps[kid] in {"nsubj", "npadvmod"} and _is_noun(s, kid)]
    if not subjects or any(s.words[kid] in RELATIVE_PRONOUNS for kid in kids):
        return None
    if len(subjects) > 1 and subjects[1] < verb:
        second_is_named = any(s.deps[kid] == "det" for kid in _kids(s, subjects[1]))
        return subjects[0] if stranded or second_is_named else None
    names = [kid for kid in _kids(s, subjects[-1]) if kid < subjects[-1] and _is_noun(s, kid)]
    if not stranded or not names or s.deps[names[-1]] not in _NOUN_MODIFIERS or s.deps[verb] not in {"ROOT", "relcl"}:
        return None
    topic = names[-1]
    for kid in _kids(s, subjects[-1]):
        if kid < topic and s.deps[kid] != "relcl":
            _move(s, kid, topic)
    return topic


def covered(s: Sentence) -> None:
    """ "a snow covered sign": snow covers it."""
    for index in range(1, len(s.words)):
        before, head = index - 1, s.heads[index]
        if (
            s.tags[index] in {"VBN", "VBD", "JJ"}
            and s.deps[index] == "amod"
            and head > index
            and _is_noun(s, before)
            and s.heads[before] in {index, head}
            and lemmas.verb(s.words[index]) in COVERING_VERBS
        ):
            _attach(s, before, index, "nsubj")
            s.tags[index] = "VBN"
            s.deps[index] = "covering"


REPAIRS = (
    participles_that_are_prepositions,
    gerunds_that_are_names,
    verbs_that_are_nouns,
    clauses_that_are_names,
    nouns_that_are_verbs,
    possession,
    bare_subjects,
    appositions,
    coordination,
    reduced_relatives,
    covered,
)
