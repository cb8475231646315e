"""The grammar of what is said about things: "red", "on a table", "that wears a hat", "is not next to it".

A rule takes a position and gives every (tree, end) that it can read from there, longest first, so what is ambiguous in
English is ambiguous here: in "a ball on a table next to a cup", what is next to the cup is the table (the nearest noun
comes first) or the ball. A relative clause belongs to the noun before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from itertools import islice

from evaluators.validity.oracle import lexicon, relation_words
from evaluators.validity.oracle.lexicon import Look
from evaluators.validity.oracle.reader import AllFound, Found, Reader, rule
from evaluators.validity.oracle.relation_words import Relations, phrases
from evaluators.validity.oracle.syntax import (
    Determiner,
    Group,
    IsA,
    Link,
    Looks,
    Not,
    NounPhrase,
    Predicate,
    Side,
    Stands,
)

BE = frozenset({"is", "are", "was", "were"})
JOINTS = phrases({"and|, and|but|, but|,": None})
_LINK_JOINTS = phrases({"and|but": None})
_LONGEST_UNDRAWABLE = 3
"""Words: "armored personnel carrier". A longer run of them is no noun phrase."""
_IT = Group((NounPhrase(Determiner.PRONOUN, count=1),))
_FRAME_ARTICLES = frozenset({"the", "this", "a", "an"})
_INDEFINITE = frozenset({"a", "an"})
_RELATIVES = frozenset({"that", "which", "who"})
_ANYTHING = frozenset({"something", "anything", "nothing", "one", "ones"})
_WHILE_BEING = frozenset({"also", "both", "all"})

Predicates = tuple[Predicate, ...]


class PredicateGrammar(Reader, ABC):
    @abstractmethod
    def group(self, start: int, /) -> AllFound[Group]:
        """Noun phrases, coordinated."""

    @abstractmethod
    def noun_phrase(self, start: int, /) -> AllFound[NounPhrase]: ...

    def frame(self, start: int, preposition: str) -> Found[None]:
        """ "in the picture" """
        if self.at(start, preposition) and self.words[start + 1] in _FRAME_ARTICLES:
            noun = start + 2
            if self.words[noun] in lexicon.FRAMES:
                yield None, noun + 1

    # Looks

    @rule
    def adjectives(self, start: int) -> Found[Predicates]:
        """ "red", "large and not red", "small, red, striped" """
        for look, end in self.adjective(start):
            for after in (end, *self.after(end, JOINTS)):
                for rest, last in self.adjectives(after):
                    yield (look, *rest), last
            yield (look,), end

    def adjective(self, start: int) -> Found[Predicate]:
        if self.at(start, "not"):
            for look, end in self.adjective(start + 1):
                yield Not((look,)), end
        word = self.words[start]
        if look := lexicon.LOOKS.get(word):
            yield Looks(look), start + 1
        elif self.undrawable(start) and not all(
            map(self.undrawable, range(start + 1, start + 1 + _LONGEST_UNDRAWABLE))
        ):
            yield Looks(Look(word, "", frozenset())), start + 1

    # After a noun

    @rule
    def modifiers(self, start: int) -> Found[Predicates]:
        """None or more predicates after a noun: "on a table, next to a cup and not in a box"."""
        for after in (start, start + 1) if self.at(start, ",") else (start,):
            for predicates, end in self._modifier(after):
                for rest, last in self._more_modifiers(end):
                    yield predicates + rest, last
        yield (), start

    @rule
    def _more_modifiers(self, start: int) -> Found[Predicates]:
        """As modifiers; but a relative clause right behind a noun is that noun's alone."""
        relative = self.words[start] in _RELATIVES and self._ends_noun_phrase(start)
        for after in (*([] if relative else [start]), *self.after(start, JOINTS)):
            for predicates, end in self._modifier(after):
                for rest, last in self._more_modifiers(end):
                    yield predicates + rest, last
        yield (), start

    def _ends_noun_phrase(self, end: int) -> bool:
        word = self.words[end - 1]
        return word in lexicon.NOUNS or word in _ANYTHING or self.undrawable(end - 1)

    def _modifier(self, start: int) -> Found[Predicates]:
        for predicate, end in self.reduced(start):
            yield (predicate,), end
        if self.at(start, "not"):
            for predicate, end in self.reduced(start + 1):
                yield (Not((predicate,)),), end
                if isinstance(predicate, Stands) and len(predicate.links) > 1:
                    first, *others = predicate.links
                    yield (replace(predicate, links=(replace(first, negated=True), *others)),), end
        if self.words[start] in _RELATIVES:
            yield from self.verb_phrase(start + 1)
            yield from self._object_relative(start + 1)
        for relations, after in self.lookup(start, relation_words.PREPOSITIONS):
            if self.at(after, "which"):
                place = Stands((Link(self.text(start, after), relations),), _IT)
                yield from self._which_clause(after + 1, place)

    def _object_relative(self, start: int) -> Found[Predicates]:
        """ "(a table that) a lamp stands on", "(a hat that) a cat is wearing": a claim about "it"."""
        for group, verb in self.group(start):
            place = self.past(verb, BE)
            forms = relation_words.THIRD_VERBS if verb == place else relation_words.PRESENT_VERBS
            if known := forms.get(self.words[place]):
                yield _said_of(group, Stands((Link(self.words[place], known.active),), _IT)), place + 1
            if verb != place or self.words[verb] in relation_words.POSTURES_THIRD:
                place = self.past(place, relation_words.POSTURES_THIRD | relation_words.POSTURES_PARTICIPLE)
                for relations, end in self.lookup(place, relation_words.PREPOSITIONS):
                    yield _said_of(group, Stands((Link(self.text(place, end), relations),), _IT)), end

    def _which_clause(self, start: int, place: Stands) -> Found[Predicates]:
        """ "(a table on which) there is a lamp", "(a table on which) a lamp stands" """
        if self.at(start, "there") and self.words[start + 1] in BE:
            for group, end in self.group(start + 2):
                yield _said_of(group, place), end
        for group, verb in self.group(start):
            if self.words[verb] in BE:
                yield _said_of(group, place), verb + 1 + (self.words[verb + 1] in relation_words.POSTURES_PARTICIPLE)
            elif self.words[verb] in relation_words.POSTURES_THIRD | relation_words.POSTURES:
                yield _said_of(group, place), verb + 1

    # With a verb

    @rule
    def verb_phrase(self, start: int) -> Found[Predicates]:
        """ "is red and stands on a table", "does not wear a hat" """
        for predicates, end in self._finite(start):
            for after in self.after(end, JOINTS):
                for rest, last in self.verb_phrase(after + (self.words[after] in ("that", "which"))):
                    yield predicates + rest, last
            yield predicates, end

    def _finite(self, start: int) -> Found[Predicates]:
        start = self._past_degrees(start)
        word = self.words[start]
        if word in BE:
            yield from self._copula(self.past(start + 1, _WHILE_BEING))
        elif word in ("has", "have"):
            for predicate, end in self._having(start, relation_words.HAS):
                yield (predicate,), end
        elif word in ("does", "do") and self.at(start + 1, "not"):
            for predicate, end in self._base(start + 2):
                yield (Not((predicate,)),), end
        elif self.at(start, "can", "be", "seen"):
            yield from self._somewhere(start + 3)
        elif word in ("exists", "exist"):
            yield (), start + 1
        elif word in relation_words.POSTURES_THIRD | relation_words.POSTURES:
            for predicate, end in self.reduced(start + 1):
                for rest, last in self._more_modifiers(end):
                    yield (predicate, *rest), last
        elif verb := relation_words.THIRD_VERBS.get(word) or relation_words.BASE_VERBS.get(word):
            for predicate, end in self._relation(start, start + 1, verb.active, vague=verb.vague):
                yield (predicate,), end
        elif self.undrawable(start) and word.endswith("s"):
            for predicate, end in self._relation(start, self._after_preposition(start + 1), relation_words.NEVER):
                yield (predicate,), end

    def _base(self, start: int) -> Found[Predicate]:
        """After "does not"."""
        word = self.words[start]
        if word in relation_words.POSTURES:
            yield from self.reduced(start + 1)
        elif word == "have":
            yield from self._having(start, relation_words.HAS)
        elif verb := relation_words.BASE_VERBS.get(word):
            yield from self._relation(start, start + 1, verb.active, vague=verb.vague)
        elif self.undrawable(start):
            yield from self._relation(start, self._after_preposition(start + 1), relation_words.NEVER)

    def _copula(self, start: int) -> Found[Predicates]:
        """After "is": what is negated may be the first complement or all of them."""
        yield from self._complements(start)
        if self.at(start, "not"):
            for predicates, end in self._complements(start + 1):
                if len(predicates) > 1:
                    yield (Not(predicates),), end
        if self.words[start] in ("visible", "present", "there", "shown", "seen"):
            yield from self._somewhere(start + 1)

    def _somewhere(self, start: int) -> Found[Predicates]:
        for predicate, end in self.reduced(start):
            yield (predicate,), end
        yield (), start

    @rule
    def _complements(self, start: int) -> Found[Predicates]:
        """ "red and on a table", "not in a box but on it"; not "red and a tent", where the tent is another claim."""
        negated = self.at(start, "not")
        for predicate, end in self._complement(start + negated):
            first = Not((predicate,)) if negated else predicate
            for after in self.after(end, JOINTS):
                if isinstance(predicate, IsA) or self.words[after + self.at(after, "not")] not in _INDEFINITE:
                    for rest, last in self._complements(after):
                        yield (first, *rest), last
            yield (first,), end

    def _complement(self, start: int) -> Found[Predicate]:
        for look, end in self.adjective(start):
            yield look, end
        yield from self.reduced(start)
        if self.words[start] in _INDEFINITE:
            for phrase, end in self.noun_phrase(start):
                yield IsA(phrase), end

    # Without one

    @rule
    def reduced(self, start: int) -> Found[Predicate]:
        """A predicate that needs no "is": "on a table", "wearing a hat", "worn by a cat", "with a lamp on it"."""
        yield from self._possession(start)
        verb = self._past_degrees(start)
        yield from self._participle(verb)
        yield from self._place(self._past_degrees(verb + (self.words[verb] in relation_words.POSTURES_PARTICIPLE)))

    def _past_degrees(self, start: int) -> int:
        return start if self.at(start, "right", "of") else self.past(start, relation_words.DEGREES)

    def _place(self, start: int) -> Found[Predicate]:
        """ "on a table", "on top", "on the left"; not "on a table and no chair", where the chair is another claim."""
        for links, after in self._links(start):
            for group, end in self.group(after):
                if all(member.determiner is not Determiner.NO for member in group.members[1:]):
                    yield Stands(links, group), end
        for relations, end in self.lookup(start, relation_words.ADVERBS):
            if not self.at(end, "of"):
                yield Stands((Link(self.text(start, end), relations),), _IT), end
        for side, end in self.lookup(start, relation_words.SIDES):
            after = next((after for _, after in self.frame(end, "of")), end)
            if not self.at(after, "of"):
                yield Side(side), after
        if self.words[start] in relation_words.UNDRAWN_PREPOSITIONS:
            yield from self._relation(start, start + 1, relation_words.NEVER)

    def _links(self, start: int) -> Found[tuple[Link, ...]]:
        """ "above", "on top of" (not "on" a top), "above and to the left of", "above but not to the left of" """
        for relations, end in islice(self.lookup(start, relation_words.PREPOSITIONS), 1):
            link = Link(self.text(start, end), relations)
            for after in self.after(end, _LINK_JOINTS):
                for rest, last in self._links(after):
                    yield (link, *rest), last
                if self.at(after, "not"):
                    for rest, last in self._links(after + 1):
                        yield (link, replace(rest[0], negated=True), *rest[1:]), last
            yield (link,), end

    def _participle(self, start: int) -> Found[Predicate]:
        start += self.at(start, "being")
        word = self.words[start]
        for relations, after in self.lookup(start, relation_words.PARTICIPLES):
            yield from self._relation(start, after, relations)
        if verb := relation_words.PRESENT_VERBS.get(word):
            yield from self._relation(start, start + 1, verb.active, vague=verb.vague)
        if (verb := relation_words.PAST_VERBS.get(word)) and self.at(start + 1, "by"):
            yield from self._relation(start, start + 2, verb.passive)
        if self.undrawable(start) and word.endswith(("ing", "ed", "en")):
            yield from self._relation(start, self._after_preposition(start + 1), relation_words.NEVER)
            if word.endswith("ing"):
                yield Looks(Look(word, "", frozenset())), start + 1

    def _possession(self, start: int) -> Found[Predicate]:
        word = self.words[start]
        if word == "with":
            yield from self._having(start, relation_words.WITH)
        elif word == "having":
            yield from self._having(start, relation_words.HAS)
        elif word in ("without", "lacking"):
            for predicate, end in self._having(start, relation_words.WITH):
                yield Not((predicate,)), end

    def _having(self, start: int, relations: Relations) -> Found[Predicate]:
        """After "with" or "has": things, worn things ("a hat on") or a pattern ("white stripes")."""
        for group, end in self.group(start + 1):
            yield Stands((Link(self.words[start], relations),), group, vague=True), end
            if self.at(end, "on"):
                yield Stands((Link("on", relation_words.WORN),), group), end + 1
        for _, middle in (*self.adjectives(start + 1), ((), start + 1)):
            if look := lexicon.PATTERN_NOUNS.get(self.words[middle]):
                yield Looks(look), middle + 1

    def _relation(self, start: int, after: int, relations: Relations, *, vague: bool = False) -> Found[Predicate]:
        for group, end in self.group(after):
            yield Stands((Link(self.text(start, after), relations),), group, vague), end

    def _after_preposition(self, start: int) -> int:
        """The position after a preposition, if one stands here."""
        for _, end in self.lookup(start, relation_words.PREPOSITIONS):
            return end
        return start + (self.words[start] in relation_words.UNDRAWN_PREPOSITIONS or self.at(start, "with"))


def _said_of(group: Group, place: Stands) -> Predicates:
    """The claim that ``group`` stands so to what is spoken of, as a predicate of the latter."""
    there = Group(group.members, (*group.predicates, place))
    return (Stands(place.links, there, vague=True),)
