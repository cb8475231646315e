"""Corrections of dependency trees where spaCy's model, trained on news and speech, misreads captions.

:func:`repair` applies the rules of noun_phrase_repairs.py, tag_repairs.py and this file, in order. Each rule edits the
sentence in place.
"""

from __future__ import annotations

from compeval.generators.parser import lemmas
from compeval.generators.parser.lexicon import WORDS
from compeval.generators.parser.noun_phrase_repairs import NOUN_PHRASE_REPAIRS
from compeval.generators.parser.sentence import COVERING, MERGED, Sentence
from compeval.generators.parser.tag_repairs import NOUN_MODIFIERS, TAG_REPAIRS

_FINAL = frozenset({".", ",", ":", "''", "``"})


def repair(s: Sentence) -> Sentence:
    """Repair the sentence in place, index its children, and return it."""
    for rule in (*NOUN_PHRASE_REPAIRS, *TAG_REPAIRS, *TREE_REPAIRS):
        rule(s)
    s.index_children()
    return s


def repair_possessions(s: Sentence) -> None:
    """Repair "the bird has beak", where "has" is read as an auxiliary of "beak"."""
    for index, word in enumerate(s.words):
        head = s.heads[s.heads[index]] if s.deps[s.heads[index]] == "amod" else s.heads[index]
        auxiliary = word in {"has", "have", "had"} and s.deps[index] == "aux" and head > index
        if auxiliary and s.tags[head][:2] in {"NN", "JJ"}:
            s.tags[head] = s.tags[head].replace("JJ", "NN")
            s.replace(head, index)
            children = s.near_children(head)
            s.move(
                index,
                (child for child in children if s.deps[child] in {"nsubj", "neg"} or child < index),
            )
            s.attach(head, index, "dobj")


def repair_auxiliary_subjects(s: Sentence) -> None:
    """Repair "the suitcase is closed", where "suitcase" is the subject of "is" and not of "closed"."""
    for index, dep in enumerate(s.deps):
        if dep in {"nsubj", "nsubjpass"} and s.deps[s.heads[index]] in {"aux", "auxpass"}:
            s.move(s.heads[s.heads[index]], [index])


def repair_bare_subjects(s: Sentence) -> None:
    """Repair "man holding a bag", where "man" is read as an adverbial."""
    for index, dep in enumerate(s.deps):
        head = s.heads[index]
        is_adverbial = (
            dep == "npadvmod" and head > index and s.is_noun(index) and s.deps[head] != "amod"
        )
        if (
            is_adverbial
            and s.tags[head] in {"VBG", "VBZ", "VBP"}
            and not s.near_deps(head) & {"nsubj", "nsubjpass"}
        ):
            s.deps[index] = "nsubj"


def repair_appositions(s: Sentence) -> None:
    """Repair "a suit and white shirt" and "a cup, a plate and a fork", where the last noun is read as an apposition."""
    for index, dep in enumerate(s.deps):
        edge = s.left_edge(index)
        if dep != "appos" or not s.is_noun(index) or not edge:
            continue
        separator = s.words[edge - 1]
        head = s.heads[edge - 1]
        if separator == "," and "cc" in s.near_deps(index):
            s.deps[index] = "conj"
        elif separator == "and" and head < edge and s.is_noun(head):
            s.attach(index, head, "conj")


def repair_coordinations(s: Sentence) -> None:
    """Decide in "X with Y and Z" whether Z is coordinated with X or with Y. spaCy often guesses wrong."""
    for index, dep in enumerate(s.deps):
        if dep != "conj" or not s.is_noun(index):
            continue
        nearest = s.left_edge(index) - 2
        first_conjunct = s.heads[index]
        is_animate = lemmas.singular(s.words[index]) in WORDS["animate_nouns"]
        if nearest > first_conjunct and s.words[nearest + 1] == "and":
            is_like_complement = s.deps[nearest] == "pobj" and _have_same_modifiers(
                s, nearest, index
            )
            if is_like_complement or (s.deps[nearest] == "dobj" and not is_animate):
                s.attach(index, nearest, "conj")
            continue
        link = s.heads[first_conjunct]
        is_repeated = s.deps[first_conjunct] == "pobj" and _repeats_phrase(s, link, index)
        if is_repeated or (is_animate and lemmas.infinitive(s.words[link]) == "wear"):
            s.attach(index, s.heads[link], "conj")


def _have_same_modifiers(s: Sentence, first: int, second: int) -> bool:
    """Return True if two nouns have the same modifiers and none follow them ("a cat next to a dog and a bird")."""

    def list_deps(noun: int) -> list[str]:
        labels = [s.deps[child] for child in s.near_children(noun) if s.tags[child] not in _FINAL]
        return [label for label in labels if label not in {"cc", "conj"}]

    return list_deps(first) == list_deps(second) and not s.near_deps(second) & {
        "prep",
        "acl",
        "relcl",
    }


def _repeats_phrase(s: Sentence, preposition: int, noun: int) -> bool:
    """Return True if the same preposition follows a noun ("a man with a bag and a woman with a dog").

    In that case, attach the second phrase to the noun.
    """
    after = noun + 1
    governor = s.heads[preposition]
    if not s.is_noun(governor) or after >= len(s) or s.words[after] != s.words[preposition]:
        return False
    if s.heads[after] == governor:
        s.move(noun, [after])
    return s.heads[after] == noun


def repair_reduced_relatives(s: Sentence) -> None:
    """Repair relative clauses about the first noun: "the table the vases are on", "ground giraffes are standing on".

    This form is frequent in Visual Genome. spaCy reads the first noun as a second subject of the verb, or as part of
    the name of the subject. A preposition without an object at the end of the caption identifies the form.
    """
    stranded = _find_stranded_preposition(s)
    roots = [index for index, head in enumerate(s.heads) if head == index and s.is_verb(index)]
    verbs = [s.heads[stranded]] if stranded is not None else roots
    for verb in verbs[:1]:
        topic = _find_topic(s, verb, stranded is not None)
        if topic is not None and s.is_verb(verb):
            if stranded is not None:
                s.deps[stranded] = "prep"
            s.replace(verb, topic)
            s.attach(verb, topic, "relcl")


def _find_stranded_preposition(s: Sentence) -> int | None:
    """Return the preposition without an object that ends the caption, or None."""
    words = [
        i
        for i, tag in enumerate(s.tags)
        if tag not in _FINAL and s.deps[i] not in {"punct", MERGED}
    ]
    last = words[-1] if words else 0
    hanging = last > 0 and s.tags[last] in {"IN", "TO", "RB"} and s.deps[last] in {"prep", "prt"}
    return last if hanging and not s.near_children(last) else None


def _find_topic(s: Sentence, verb: int, stranded: bool) -> int | None:
    """Return the noun that the relative clause describes, or None.

    It is the first of two subjects, or it is inside the name of the subject and is then separated from it.
    """
    children = s.near_children(verb)
    subjects = [
        child for child in children if s.deps[child] in {"nsubj", "npadvmod"} and s.is_noun(child)
    ]
    if not subjects or s.any_in(children, "relative_pronouns"):
        return None
    if len(subjects) > 1 and subjects[1] < verb:
        return subjects[0] if stranded or "det" in s.near_deps(subjects[1]) else None
    names = [
        child
        for child in s.near_children(subjects[-1])
        if child < subjects[-1] and s.is_noun(child)
    ]
    if (
        not stranded
        or not names
        or s.deps[names[-1]] not in NOUN_MODIFIERS
        or s.deps[verb] not in {"ROOT", "relcl"}
    ):
        return None
    topic = names[-1]
    s.move(
        topic,
        (
            child
            for child in s.near_children(subjects[-1])
            if child < topic and s.deps[child] != "relcl"
        ),
    )
    return topic


def repair_covering_participles(s: Sentence) -> None:
    """Repair "a snow covered sign": "snow" becomes the subject of "covered"."""
    for index in range(1, len(s)):
        before = index - 1
        head = s.heads[index]
        participle = (
            s.tags[index] in {"VBN", "VBD", "JJ"} and s.deps[index] == "amod" and head > index
        )
        compound = s.is_noun(before) and s.heads[before] in {index, head}
        if participle and compound and lemmas.infinitive(s.words[index]) in WORDS["covering_verbs"]:
            s.attach(before, index, "nsubj")
            s.tags[index] = "VBN"
            s.deps[index] = COVERING


def repair_coordinated_participles(s: Sentence) -> None:
    """Repair "the cactus is black and spotted", where "spotted" is coordinated with "is" and read as a past tense."""
    for index, dep in enumerate(s.deps):
        verb = s.heads[index]
        if (
            dep != "conj"
            or s.tags[index] not in {"VBD", "VBN"}
            or not s.is_verb(verb)
            or verb >= index
        ):
            continue
        adjectives = [
            child
            for child in s.near_children(verb)
            if s.deps[child] == "acomp" and verb < child < index
        ]
        if (
            s.tags[verb] == "VBN"
            and "auxpass" in s.near_deps(verb)
            and not s.near_deps(index) & {"dobj", "nsubj"}
        ):
            s.tags[index] = "VBN"
        if adjectives and s.near_deps(index) <= {"punct", "advmod"}:
            s.tags[index] = "VBN"
            s.attach(index, adjectives[-1], "conj")


TREE_REPAIRS = (
    repair_possessions,
    repair_auxiliary_subjects,
    repair_bare_subjects,
    repair_appositions,
    repair_coordinations,
    repair_reduced_relatives,
    repair_covering_participles,
    repair_coordinated_participles,
)
