"""The grammar of noun phrases and clauses: a sentence in, all its readings out, as syntax trees.

Memoised recursive descent; predicates.py says how ambiguity comes about. Left out on purpose: "or", quantifiers like
"every", comparison, and garbled text: function words are all known, so "ball the on red" has no reading.
"""

from __future__ import annotations

from evaluators.validity.oracle import lexicon, relation_words
from evaluators.validity.oracle.lexicon import Noun
from evaluators.validity.oracle.predicates import BE, PredicateGrammar, Predicates
from evaluators.validity.oracle.reader import Found, rule
from evaluators.validity.oracle.relation_words import phrases
from evaluators.validity.oracle.syntax import Denied, Determiner, Exists, Group, NounPhrase, Statement

_DEFINITE = frozenset({"the", "this", "that", "these", "those", "its", "their"})
_PRONOUNS = {"it": 1, "they": 2, "them": 2}
_ALSO = frozenset({"also"})
_NP_JOINTS = phrases({"and|, and|as well as": None})
_CLAUSE_JOINTS = phrases({"and|, and|but|, but|,|while|, while|plus|, plus|as well as|, as well as": None})
_THAT_JOINTS = phrases({"and that|, and that|, that": None})
_DENIALS = phrases({"it is not the case that|it is not true that|it is false that": None})

_Determined = tuple[Determiner, int | None, int | None]
"""Determiner, number (None: the noun's), and the index that an ordinal picks."""


class Grammar(PredicateGrammar):
    """Reads one sentence."""

    def readings(self) -> tuple[tuple[Statement, ...], ...]:
        return tuple(statements for statements, end in self._clauses(0) if end == self.length)

    # Clauses

    @rule
    def _clauses(self, start: int) -> Found[tuple[Statement, ...]]:
        for statement, end in self._clause(start):
            for after in self.after(end, _CLAUSE_JOINTS):
                for rest, last in self._clauses(after):
                    yield (statement, *rest), last
            yield (statement,), end

    @rule
    def _clause(self, start: int) -> Found[Statement]:
        for _, after in self.frame(start, "in"):
            yield from self._clause(after + self.at(after, ","))
        for statement, end in self._plain_clause(start):
            for _, after in self.frame(end, "in"):
                yield statement, after
            yield statement, end

    def _plain_clause(self, start: int) -> Found[Statement]:
        for after in self.after(start, _DENIALS):
            for statements, end in self._denied_clauses(after):
                yield Denied(statements), end
        for positive, after in self._presentations(start):
            for group, end in self.group(after):
                yield (Exists(group) if positive else Denied((Exists(group),))), end
        yield from self._inverted(start)
        for group, middle in self.group(start):
            for predicates, end in self.verb_phrase(middle):
                yield Exists(Group(group.members, group.predicates + predicates)), end
        for phrase, end in self.noun_phrase(start):
            yield Exists(Group((phrase,))), end
        if self.at(start, "not"):
            for phrase, end in self.noun_phrase(start + 1):
                yield Denied((Exists(Group((phrase,))),)), end

    @rule
    def _denied_clauses(self, start: int) -> Found[tuple[Statement, ...]]:
        """ "(it is not true that) a cup is red and that there is a ball": without the second "that", both ways."""
        for statements, end in self._clauses(start):
            for after in self.after(end, _THAT_JOINTS):
                for rest, last in self._denied_clauses(after):
                    yield statements + rest, last
            yield statements, end

    def _presentations(self, start: int) -> Found[bool]:
        """ "there is", "the picture shows", "photo of", "we see": words that only say that what follows is there."""
        words = self.words
        if words[start] == "there" and words[start + 1] in BE:
            yield True, self.past(start + 2, _ALSO)
            if self.at(start + 2, "not"):
                yield False, start + 3
        if words[start] in ("we", "you", "i", "one"):
            verb = start + 1 + self.at(start + 1, "can")
            negated = self.at(verb, "not")
            if self.at(verb + negated, "see"):
                yield not negated, verb + negated + 1
        if self.at(start, "this", "is"):
            start += 2
            yield True, start
        noun = start + (words[start] in ("the", "this", "a", "an"))
        if words[noun] in lexicon.FRAMES:
            if words[noun + 1] in ("of", "shows", "depicts", "contains", "has", "showing"):
                yield True, noun + 2
            if self.at(noun + 1, "does", "not") and words[noun + 3] in ("show", "depict", "contain", "have"):
                yield False, noun + 4

    def _inverted(self, start: int) -> Found[Statement]:
        """ "on the table is a cup", "next to it, there is a tree", "sitting on a chair is a cat" """
        for predicate, middle in self.reduced(start):
            verb = middle + self.at(middle, ",")
            verb += self.at(verb, "there")
            if self.words[verb] not in BE | relation_words.POSTURES_THIRD | relation_words.POSTURES:
                continue
            negated = self.at(verb + 1, "not")
            for group, end in self.group(self.past(verb + 1 + negated, _ALSO)):
                statement = Exists(Group(group.members, (*group.predicates, predicate)))
                yield (Denied((statement,)) if negated else statement), end

    # Noun phrases

    @rule
    def group(self, start: int) -> Found[Group]:
        """ "a cup", "a ball, a cup and a bell on a table" (what follows may be said of all of them)"""
        for phrase, end in self.noun_phrase(start + self.at(start, "both")):
            for rest, last in self._coordinated(end):
                for predicates, after in self.modifiers(last):
                    yield Group((phrase, *rest), predicates), after
            yield Group((phrase,)), end

    @rule
    def _coordinated(self, start: int) -> Found[tuple[NounPhrase, ...]]:
        """ ", a cup and a ball" """
        for after in self.after(start, _NP_JOINTS):
            for phrase, end in self.noun_phrase(after):
                yield (phrase,), end
        if self.at(start, ","):
            for phrase, end in self.noun_phrase(start + 1):
                for rest, last in self._coordinated(end):
                    yield (phrase, *rest), last

    @rule
    def noun_phrase(self, start: int) -> Found[NounPhrase]:
        word = self.words[start]
        if word in _PRONOUNS:
            yield NounPhrase(Determiner.PRONOUN, count=_PRONOUNS[word]), start + 1
        elif self.at(start, "each", "other") or self.at(start, "one", "another"):
            yield NounPhrase(Determiner.EACH_OTHER), start + 2
        elif word in ("something", "anything", "nothing"):
            determiner = Determiner.NO if word == "nothing" else Determiner.INDEFINITE
            for looks, middle in (*self.adjectives(start + 1), ((), start + 1)):
                for predicates, end in self.modifiers(middle):
                    yield NounPhrase(determiner, lexicon.THING, predicates=looks + predicates), end
        for (determiner, count, ordinal), noun_start in self._determiners(start):
            for (noun, looks), middle in self._nominal(noun_start):
                if _agrees(noun, count):
                    for predicates, end in self.modifiers(middle):
                        yield NounPhrase(determiner, noun, count, ordinal, looks + predicates), end

    def _determiners(self, start: int) -> Found[_Determined]:
        word, after = self.words[start], self.words[start + 1]
        for count, end in self.lookup(start, lexicon.AMOUNTS):
            yield (Determiner.INDEFINITE, count, None), end
        if word in ("a", "an"):
            if after in lexicon.ORDINALS:
                yield (Determiner.OTHER, 1, None), start + 2
            yield (Determiner.INDEFINITE, 1, None), start + 1
        elif word in _DEFINITE:
            other, ordinal = after == "other", lexicon.ORDINALS.get(after)
            number = start + 1 + (other or ordinal is not None)
            count = lexicon.NUMBERS.get(self.words[number])
            determiner = Determiner.THE_OTHER if other else Determiner.DEFINITE
            yield (determiner, count, ordinal), number + (count is not None)
        elif word in lexicon.NUMBERS:
            other = after == "other"
            determiner = Determiner.OTHER if other else Determiner.INDEFINITE
            yield (determiner, lexicon.NUMBERS[word], None), start + 1 + other
        elif word in ("some", "any"):
            yield (Determiner.INDEFINITE, None, None), start + 1
        elif word in ("another", "other"):
            yield (Determiner.OTHER, 1 if word == "another" else None, None), start + 1
        elif word == "no":
            yield (
                (Determiner.NO_OTHER if after == "other" else Determiner.NO, None, None),
                start + 1 + (after == "other"),
            )
        else:
            yield (Determiner.BARE, None, None), start

    @rule
    def _nominal(self, start: int) -> Found[tuple[Noun, Predicates]]:
        """Adjectives and a noun: "large, red and striped ball"."""
        if self.words[start] in ("piece", "pieces") and self.at(start + 1, "of"):
            start += 2
        for noun, end in self._noun(start):
            yield (noun, ()), end
        for looks, middle in self.adjectives(start):
            for noun, end in self._noun(middle):
                yield (noun, looks), end

    def _noun(self, start: int) -> Found[Noun]:
        """A noun, or two of which the second is undrawable: "tree stump"."""
        word, second = self.words[start : start + 2]
        known = word in lexicon.NOUNS or word in lexicon.ALSO_NOUNS
        if known or self.undrawable(start):
            yield lexicon.NOUNS.get(word) or Noun(word, frozenset(), word.endswith("s")), start + 1
        if known and (self.undrawable(start + 1) or second in lexicon.ALSO_NOUNS):
            if not second.endswith(("ing", "ed")):
                yield Noun(f"{word} {second}", frozenset(), second.endswith("s")), start + 2
        elif word in ("one", "ones"):
            yield Noun("one", frozenset(), word == "ones"), start + 1


def _agrees(noun: Noun, count: int | None) -> bool:
    """Whether number and noun go together; undrawable nouns and "fish" go with any."""
    return count is None or not noun.kinds or noun.lemma in ("fish", "fruit") or (count > 1) == noun.plural
