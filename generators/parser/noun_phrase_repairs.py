"""Corrections of noun phrases whose colours, participles or nouns spaCy's model reads as other parts of the sentence.

Each rule edits a sentence in place. The rules run before those of tag_repairs.py.
"""

from __future__ import annotations

from compeval.generators.parser import lemmas
from compeval.generators.parser.lexicon import ATTRIBUTE_NOUNS, WORDS
from compeval.generators.parser.sentence import MERGED, Sentence

_FINITE_TAGS = frozenset({"VB", "VBP", "VBZ", "VBD"})
_NAME_TAGS = frozenset({"JJ", "NN", "NNP", "HYPH"})
_ARGUMENT_DEPS = frozenset({"nsubj", "nsubjpass", "dobj", "pobj", "attr"})
_MODIFIER_DEPS = frozenset({"det", "amod", "compound", "nummod", "poss"})


def colors_to_attributes(s: Sentence) -> None:
    """Repair "a white spotted umbrella" and "a blue pear", where the colour or a participle is read as the head.

    In "a man in red kicked a ball", the colour has no determiner and stays a noun.
    """
    for color, word in enumerate(s.words):
        noun = color + 1
        while noun < len(s) and _is_adjectival_participle(s, noun):
            noun += 1
        has_participle = noun > color + 1
        while has_participle and noun < len(s) and s.tags[noun] in {"JJ", "VBN"}:
            noun += 1
        if (
            word not in WORDS["colors"]
            or noun == len(s)
            or not _may_be_noun(s, noun, has_participle)
        ):
            continue
        while noun + 1 < len(s) and s.heads[noun] == noun + 1 and s.deps[noun] == "compound":
            noun += 1
        children = s.near_children(color)
        is_bare = s.deps[color] == "pobj" and not any(child < color for child in children)
        is_argument = s.deps[color] in _ARGUMENT_DEPS and not s.near_deps(color) & {"cc", "conj"}
        is_split = has_participle and any(s.heads[index] != noun for index in range(color, noun))
        if not is_bare and (is_argument or is_split):
            _join_noun_phrase(s, color, noun)


def _is_adjectival_participle(s: Sentence, index: int) -> bool:
    is_participle = s.tags[index] in {"VBN", "VBD", "JJ"} and s.words[index].endswith("ed")
    return is_participle and lemmas.infinitive(s.words[index]) not in WORDS["covering_verbs"]


def _may_be_noun(s: Sentence, index: int, follows_participle: bool) -> bool:
    """Return True if a token is a noun, or may be one although it is tagged as a verb ("a blue saw beside a box")."""
    if s.is_noun(index) or s.tags[index] not in _FINITE_TAGS:
        return s.is_noun(index)
    if follows_participle:
        return lemmas.is_noun(s.words[index])
    return s.is_in(index, "homographs") and "dobj" not in s.near_deps(index)


def misread_words_to_nouns(s: Sentence) -> None:
    """Repair "a purple pear behind a box", read as a verb, and "a red brolly", read as an adverb.

    The dictionary lists such a word only as a noun, or does not list it at all.
    """
    for index in range(1, len(s)):
        word = s.words[index]
        tag = s.tags[index]
        first = index
        is_last = index + 1 == len(s) or s.tags[index + 1] not in _NAME_TAGS
        is_unknown = tag == "RB" and is_last and word.isalpha() and not lemmas.look_up(word)
        if not is_unknown and not (tag in _FINITE_TAGS and lemmas.look_up(word).keys() == {"NOUN"}):
            continue
        while first and (s.is_in(first - 1, "colors") or s.tags[first - 1] in {"JJ", "VBN"}):
            first -= 1
        if first < index or s.tags[index - 1] == "DT":
            _join_noun_phrase(s, first, index)


def _join_noun_phrase(s: Sentence, first: int, noun: int) -> None:
    """Make the tokens from ``first`` to ``noun`` one noun phrase, at the place of the first of them in the sentence."""
    inside = range(first, noun + 1)
    children = [
        child for index in inside for child in s.near_children(index) if child not in inside
    ]
    entry, *others = (
        index for index in inside if s.heads[index] not in inside or s.heads[index] == index
    )
    head = s.heads[entry]
    dep = s.deps[entry]
    subject = next(
        (child for child in children if child < first and s.deps[child] == "nsubj"), None
    )
    if not s.is_noun(noun):
        s.tags[noun] = "NNS" if s.tags[noun] == "VBZ" else "NN"
    for index in inside:
        s.heads[index] = noun
        s.deps[index] = "compound" if s.deps[index] == "compound" else "amod"
    # "banana in a purple spotted basket", with the verb "spotted".
    if subject is not None and others:
        s.heads[subject] = subject
    for child in children:
        if child != subject or not others:
            is_left = (
                child < first
                and s.deps[child] not in _MODIFIER_DEPS
                and subject is not None
                and others
            )
            s.heads[child] = subject if is_left and subject is not None else noun
    if head not in inside:
        _attach_noun_phrase(s, noun, head, dep)
    _join_followers(s, noun)


def _attach_noun_phrase(s: Sentence, noun: int, head: int, dep: str) -> None:
    before = s.left_edge(noun) - 1
    if dep == "attr" and before > head and s.tags[before] == "VBG":
        s.attach(noun, before, "dobj")  # "there is a pear hiding a red spotted cup"
    elif dep not in {"advmod", "csubj", "amod", "aux"}:
        s.attach(noun, head, dep)
    elif head < noun:
        s.attach(noun, head, "dobj")
    elif s.tags[head] in {"VBN", "VBG"} and not any(
        s.deps[child][:3] == "aux" for child in s.near_children(head)
    ):
        s.replace(head, noun)  # "a brolly held by a man"
        s.move(noun, (child for child in s.near_children(head) if child < noun))
        s.attach(head, noun, "acl")
    else:
        s.attach(noun, head, "nsubj")


def _join_followers(s: Sentence, noun: int) -> None:
    """Make the particle after a former verb, with its object, a preposition, and the clause after it a relative one."""
    preposition = noun + 1
    for child in s.near_children(noun):
        if (
            child == preposition
            and s.deps[child] in {"prt", "advmod"}
            and s.tags[child] in {"IN", "RP"}
        ):
            s.deps[child] = "prep"
            s.tags[child] = "IN"
        elif child > preposition and s.deps[child] == "dobj" and s.deps[preposition] == "prep":
            s.attach(child, preposition, "pobj")
        elif child > noun and s.deps[child] == "ccomp":
            s.deps[child] = "relcl"


def phrasal_prepositions_to_modifiers(s: Sentence) -> None:
    """Repair "a ball is left of a box" and "a ball right of a box", where "left" is a verb and "right" a noun.

    The tokens before the phrasal preposition then depend on it.
    """
    for index in range(1, len(s)):
        if s.lasts[index] == index or s.deps[index] == MERGED:
            continue
        left = [child for child in s.near_children(index) if child < index]
        nouns = [child for child in left if s.is_noun(child)]
        verb = next((child for child in left if s.deps[child] in {"aux", "auxpass"}), None)
        anchor = nouns[-1] if verb is None and nouns else verb
        if anchor is None:
            continue
        s.replace(index, anchor)
        if s.heads[anchor] != anchor:
            is_relative = s.is_noun(s.heads[anchor])
            s.deps[anchor] = ("relcl" if is_relative else "conj") if verb is not None else "attr"
        for child in left:
            if child != anchor:
                s.attach(child, anchor, s.deps[child] if s.deps[child] != "nsubjpass" else "nsubj")
        s.attach(index, anchor, "prep")


def names_to_predicates(s: Sentence) -> None:
    """Repair "a drum rests on a wagon", where "rests" is read as the last noun of a name.

    A plural has no "a", a word that the dictionary lists only as a verb is no noun, and only body parts have rests.
    """
    for index in range(1, len(s)):
        before = index - 1
        is_name = s.tags[index] == "NNS" or (
            s.tags[index] == "VBZ" and s.deps[before] == "compound"
        )
        if not is_name or s.tags[before] != "NN" or not lemmas.is_verb(s.words[index]):
            continue
        left = [child for child in s.near_children(index) if child < index]
        has_article = any(s.words[child] in {"a", "an"} for child in left)
        is_rest = s.words[index] == "rests" and not s.is_in(before, "body_parts")
        if before not in left or not (has_article or is_rest or not lemmas.is_noun(s.words[index])):
            continue
        s.tags[index] = "VBZ"
        s.move(before, left)
        s.attach(before, index, "nsubj")


def adverbs_to_attributes(s: Sentence) -> None:
    """Repair "an intact spotted bottle", where "intact" is read as an adverb. The dictionary lists no such adverb."""
    for index, tag in enumerate(s.tags):
        adjective = s.heads[index]
        noun = s.heads[adjective]
        is_modifier = (
            s.deps[index] == "advmod" and s.deps[adjective] == "amod" and index < adjective < noun
        )
        parts_of_speech = lemmas.look_up(s.words[index]).keys()
        may_be_adjective = s.words[index] in ATTRIBUTE_NOUNS or parts_of_speech & {
            "ADJ",
            "ADV",
        } == {"ADJ"}
        if tag == "RB" and is_modifier and may_be_adjective and not s.is_in(index, "shades"):
            s.tags[index] = "JJ"
            s.attach(index, noun, "amod")


NOUN_PHRASE_REPAIRS = (
    misread_words_to_nouns,
    names_to_predicates,
    colors_to_attributes,
    adverbs_to_attributes,
    phrasal_prepositions_to_modifiers,
)
