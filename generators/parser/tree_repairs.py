"""Corrections of the dependency tree where spaCy's model, trained on news and speech, misreads captions.

:func:`repair` applies the rules of tag_repairs.py and then those of this file, in order, each in place.
"""

from __future__ import annotations

from generators.parser import lemmas
from generators.parser.lexicon import COVERING_VERBS, PERSONAL, RELATIVE_PRONOUNS
from generators.parser.sentence import FOLDED, Sentence
from generators.parser.tag_repairs import NOUN_MODIFIERS, TAG_REPAIRS

_FINAL = frozenset({".", ",", ":", "''", "``"})


def repair(s: Sentence) -> Sentence:
    """The same sentence, repaired and with its children listed."""
    for rule in (*TAG_REPAIRS, *TREE_REPAIRS):
        rule(s)
    s.index_children()
    return s


def possession(s: Sentence) -> None:
    """ "the bird has beak", with has as an auxiliary of a noun."""
    for index, word in enumerate(s.words):
        head = s.heads[s.heads[index]] if s.deps[s.heads[index]] == "amod" else s.heads[index]
        auxiliary = word in {"has", "have", "had"} and s.deps[index] == "aux" and head > index
        if auxiliary and s.tags[head][:2] in {"NN", "JJ"}:
            s.tags[head] = s.tags[head].replace("JJ", "NN")
            s.replace(head, index)
            for child in s.near_children(head):
                if s.deps[child] in {"nsubj", "neg"} or child < index:
                    s.move(child, index)
            s.attach(head, index, "dobj")


def bare_subjects(s: Sentence) -> None:
    """ "man holding a bag", with man as an adverbial."""
    for index, dep in enumerate(s.deps):
        head = s.heads[index]
        if dep == "npadvmod" and head > index and s.is_noun(index) and s.tags[head] in {"VBG", "VBZ", "VBP"}:
            has_subject = any(s.deps[child] in {"nsubj", "nsubjpass"} for child in s.near_children(head))
            if not has_subject and s.deps[head] != "amod":
                s.deps[index] = "nsubj"


def appositions(s: Sentence) -> None:
    """ "a suit and white shirt", with the shirt attached elsewhere; "a cup, a plate and a fork"."""
    for index, dep in enumerate(s.deps):
        edge = s.left_edge(index)
        if dep != "appos" or not s.is_noun(index) or not edge:
            continue
        joint, head = s.words[edge - 1], s.heads[edge - 1]
        if joint == "," and any(s.deps[child] == "cc" for child in s.near_children(index)):
            s.deps[index] = "conj"
        elif joint == "and" and head < edge and s.is_noun(head):
            s.attach(index, head, "conj")


def coordination(s: Sentence) -> None:
    """ "X with Y and Z", where Z may belong with X or with Y: spaCy guesses, these rules decide."""
    for index, dep in enumerate(s.deps):
        if dep != "conj" or not s.is_noun(index):
            continue
        near, other = s.left_edge(index) - 2, s.heads[index]
        if near > other and s.words[near + 1] == "and":
            is_object = s.deps[near] == "dobj" and lemmas.noun(s.words[index]) not in PERSONAL
            if is_object or (s.deps[near] == "pobj" and _are_alike(s, near, index)):
                s.attach(index, near, "conj")
            continue
        link = s.heads[other]
        repeated = s.deps[other] == "pobj" and _repeats_phrase(s, link, index)
        clothed = lemmas.verb(s.words[link]) == "wear" and lemmas.noun(s.words[index]) in PERSONAL
        if repeated or clothed:
            s.attach(index, s.heads[link], "conj")


def _are_alike(s: Sentence, first: int, second: int) -> bool:
    """Whether two nouns have the same modifiers, none of them behind ("a cat next to a dog and a bird")."""
    first_deps, second_deps = (
        [
            s.deps[child]
            for child in s.near_children(noun)
            if s.tags[child] not in _FINAL and s.deps[child] not in {"cc", "conj"}
        ]
        for noun in (first, second)
    )
    return first_deps == second_deps and not {"prep", "acl", "relcl"} & set(second_deps)


def _repeats_phrase(s: Sentence, preposition: int, noun: int) -> bool:
    """Whether a noun has a phrase like the one it seems to be in ("a man with a bag and a woman with a dog")."""
    after, governor = noun + 1, s.heads[preposition]
    if not s.is_noun(governor) or after >= len(s) or s.words[after] != s.words[preposition]:
        return False
    if s.heads[after] == governor:
        s.move(after, noun)
    return s.heads[after] == noun


def reduced_relatives(s: Sentence) -> None:
    """ "the table the vases are on", "ground giraffes are standing on": a clause about the first noun.

    Annotators of Visual Genome like this form. spaCy reads the first noun as a second subject of the verb or as a part
    of its subject's name; the preposition without an object at the end of the caption shows which it is.
    """
    stranded = _stranded_preposition(s)
    roots = [index for index, head in enumerate(s.heads) if head == index and s.is_verb(index)]
    verbs = [s.heads[stranded]] if stranded is not None else roots
    for verb in verbs[:1]:
        topic = _topic(s, verb, stranded is not None)
        if topic is not None and s.is_verb(verb):
            if stranded is not None:
                s.deps[stranded] = "prep"
            s.replace(verb, topic)
            s.attach(verb, topic, "relcl")


def _stranded_preposition(s: Sentence) -> int | None:
    """The preposition that ends the caption, if one does."""
    words = [i for i, tag in enumerate(s.tags) if tag not in _FINAL and s.deps[i] not in {"punct", FOLDED}]
    last = words[-1] if words else 0
    hanging = last > 0 and s.tags[last] in {"IN", "TO", "RB"} and s.deps[last] in {"prep", "prt"}
    return last if hanging and not s.near_children(last) else None


def _topic(s: Sentence, verb: int, stranded: bool) -> int | None:
    """The noun that the verb is a relative clause of: one of two subjects, or one hidden in the subject's name."""
    children = s.near_children(verb)
    subjects = [child for child in children if s.deps[child] in {"nsubj", "npadvmod"} and s.is_noun(child)]
    if not subjects or any(s.words[child] in RELATIVE_PRONOUNS for child in children):
        return None
    if len(subjects) > 1 and subjects[1] < verb:
        second_is_determined = any(s.deps[child] == "det" for child in s.near_children(subjects[1]))
        return subjects[0] if stranded or second_is_determined else None
    names = [child for child in s.near_children(subjects[-1]) if child < subjects[-1] and s.is_noun(child)]
    if not stranded or not names or s.deps[names[-1]] not in NOUN_MODIFIERS or s.deps[verb] not in {"ROOT", "relcl"}:
        return None
    topic = names[-1]
    for child in s.near_children(subjects[-1]):
        if child < topic and s.deps[child] != "relcl":
            s.move(child, topic)
    return topic


def covered(s: Sentence) -> None:
    """ "a snow covered sign": snow covers it."""
    for index in range(1, len(s)):
        before, head = index - 1, s.heads[index]
        participle = s.tags[index] in {"VBN", "VBD", "JJ"} and s.deps[index] == "amod" and head > index
        compound = s.is_noun(before) and s.heads[before] in {index, head}
        if participle and compound and lemmas.verb(s.words[index]) in COVERING_VERBS:
            s.attach(before, index, "nsubj")
            s.tags[index], s.deps[index] = "VBN", "covering"


TREE_REPAIRS = (possession, bare_subjects, appositions, coordination, reduced_relatives, covered)
