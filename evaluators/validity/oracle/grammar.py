"""Grammar of clauses and noun phrases: parses a sentence into all its syntax trees.

The methods are rules (reader.py), each named after the phrase that it parses. "or", quantifiers such as "every" and
comparisons are deliberately unsupported. Garbled text ("ball the on red") has no parse, because all function words are
in the vocabulary.
"""

from __future__ import annotations

from compeval.evaluators.validity.oracle import lexicon
from compeval.evaluators.validity.oracle.lexicon import BE, JOINTS, NUMBERS, ORDINALS, Noun
from compeval.evaluators.validity.oracle.predicates import PredicateGrammar
from compeval.evaluators.validity.oracle.reader import Parses, rule
from compeval.evaluators.validity.oracle.syntax import (
    Assertion,
    Denial,
    Determiner,
    Group,
    NounPhrase,
    Predicates,
    Statement,
)

_ALSO = frozenset({"also"})

_Determined = tuple[Determiner, int | None, int | None]
"""A determiner; the number of objects, or None if only the noun's form tells it; the index of an ordinal, or None."""


class Grammar(PredicateGrammar):
    """Parses one sentence."""

    def parse(self) -> tuple[tuple[Statement, ...], ...]:
        return tuple(statements for statements, end in self._clauses(0) if end == self.length)

    # Clauses

    @rule
    def _clauses(self, start: int) -> Parses[tuple[Statement, ...]]:
        yield from self.parse_coordination(self._clause(start), JOINTS["clauses"], self._clauses)

    @rule
    def _clause(self, start: int) -> Parses[tuple[Statement, ...]]:
        if clause_start := self.skip_image_phrase(start, "in"):
            yield from self._clause(clause_start + self.starts_with(clause_start, ","))
        for statement, end in self._plain_clause(start):
            if next_start := self.skip_image_phrase(end, "in"):
                yield (statement,), next_start
            yield (statement,), end

    def _plain_clause(self, start: int) -> Parses[Statement]:
        for next_start in self.phrase_ends(start, lexicon.DENIALS):
            for statements, end in self._denied_clauses(next_start):
                yield Denial(statements), end
        for positive, group_start in self._existence_phrase(start):
            for group, end in self.group(group_start):
                yield _statement(group, positive), end
        yield from self._inverted_clause(start)
        for group, middle in self.group(start):
            for predicates, end in self.verb_phrase(middle):
                yield Assertion(Group(group.members, group.predicates + predicates)), end
        for positive in (True, False) if self.starts_with(start, "not") else (True,):
            for phrase, end in self.noun_phrase(start + (not positive)):
                yield _statement(Group((phrase,)), positive), end

    @rule
    def _denied_clauses(self, start: int) -> Parses[tuple[Statement, ...]]:
        """ "(it is not true that) a cup is red and that there is a ball". Without the second "that", two parses."""
        yield from self.parse_coordination(
            self._clauses(start), JOINTS["that_clauses"], self._denied_clauses
        )

    def _existence_phrase(self, start: int) -> Parses[bool]:
        """ "there is", "the picture shows", "photo of", "we see". Yields False if the phrase is negated."""
        words = self.words
        if words[start] == "there" and words[start + 1] in BE:
            yield True, self.skip(start + 2, _ALSO)
            if self.starts_with(start + 2, "not"):
                yield False, start + 3
        if words[start] in ("we", "you", "i", "one"):
            verb = start + 1 + self.starts_with(start + 1, "can")
            negated = self.starts_with(verb, "not")
            if self.starts_with(verb + negated, "see"):
                yield not negated, verb + negated + 1
        if self.starts_with(start, "this", "is"):
            start += 2
            yield True, start
        noun = start + (words[start] in lexicon.ARTICLES)
        if words[noun] in lexicon.IMAGE_WORDS:
            if words[noun + 1] in ("of", "shows", "depicts", "contains", "has", "showing"):
                yield True, noun + 2
            if self.starts_with(noun + 1, "does", "not") and words[noun + 3] in (
                "show",
                "depict",
                "contain",
                "have",
            ):
                yield False, noun + 4

    def _inverted_clause(self, start: int) -> Parses[Statement]:
        """ "on the table is a cup", "next to it, there is a tree", "sitting on a chair is a cat" """
        for predicates, middle in self.reduced_clause(start):
            verb = middle + self.starts_with(middle, ",")
            verb += self.starts_with(verb, "there")
            if self.words[verb] in BE | lexicon.POSTURES_FINITE:
                negated = self.starts_with(verb + 1, "not")
                for group, end in self.group(self.skip(verb + 1 + negated, _ALSO)):
                    yield (
                        _statement(
                            Group(group.members, group.predicates + predicates), not negated
                        ),
                        end,
                    )

    # Noun phrases

    @rule
    def group(self, start: int) -> Parses[Group]:
        """ "a cup", "a ball, a cup and a bell on a table". The last predicates may hold of all members."""
        for phrase, end in self.noun_phrase(start + self.starts_with(start, "both")):
            for further_phrases, middle in self._coordinated(end):
                for predicates, group_end in self.modifiers(middle):
                    yield Group((phrase, *further_phrases), predicates), group_end
            yield Group((phrase,)), end

    @rule
    def _coordinated(self, start: int) -> Parses[tuple[NounPhrase, ...]]:
        """ ", a cup and a ball" """
        for next_start in self.phrase_ends(start, JOINTS["noun_phrases"]):
            for phrase, end in self.noun_phrase(next_start):
                yield (phrase,), end
        if self.starts_with(start, ","):
            for phrase, end in self.noun_phrase(start + 1):
                yield from self.parse_sequence([((phrase,), end)], self._coordinated)

    @rule
    def noun_phrase(self, start: int) -> Parses[NounPhrase]:
        word = self.words[start]
        if word in lexicon.PRONOUNS:
            yield NounPhrase(Determiner.PRONOUN, number=lexicon.PRONOUNS[word]), start + 1
        elif self.starts_with(start, "each", "other") or self.starts_with(start, "one", "another"):
            yield NounPhrase(Determiner.EACH_OTHER), start + 2
        elif word in lexicon.INDEFINITE_PRONOUNS:
            determiner = Determiner.NO if word == "nothing" else Determiner.INDEFINITE
            adjectives = (*self.adjectives(start + 1), ((), start + 1))
            for predicates, end in self.parse_sequence(adjectives, self.modifiers):
                yield NounPhrase(determiner, lexicon.THING, predicates=predicates), end
        for (determiner, count, ordinal), noun_start in self._determiners(start):
            for (noun, adjectives), middle in self._nominals(noun_start):
                if _agrees(noun, count):
                    for predicates, end in self.modifiers(middle):
                        yield (
                            NounPhrase(determiner, noun, count, ordinal, adjectives + predicates),
                            end,
                        )

    def _determiners(self, start: int) -> Parses[_Determined]:
        word, second = self.words[start : start + 2]
        has_other = second == "other"
        for count, end in self.match_phrases(start, lexicon.AMOUNTS):
            yield (Determiner.INDEFINITE, count, None), end
        if word in lexicon.INDEFINITE_ARTICLES:
            if second in ORDINALS:
                yield (Determiner.OTHER, 1, None), start + 2
            yield (Determiner.INDEFINITE, 1, None), start + 1
        elif word in lexicon.DEFINITE:
            ordinal = ORDINALS.get(second)
            number = start + 1 + (has_other or ordinal is not None)
            count = NUMBERS.get(self.words[number])
            determiner = Determiner.THE_OTHER if has_other else Determiner.DEFINITE
            yield (determiner, count, ordinal), number + (count is not None)
        elif word in NUMBERS:
            determiner = Determiner.OTHER if has_other else Determiner.INDEFINITE
            yield (determiner, NUMBERS[word], None), start + 1 + has_other
        elif word in ("some", "any"):
            yield (Determiner.INDEFINITE, None, None), start + 1
        elif word in ("another", "other"):
            yield (Determiner.OTHER, 1 if word == "another" else None, None), start + 1
        elif word == "no":
            yield (
                (Determiner.NO_OTHER if has_other else Determiner.NO, None, None),
                start + 1 + has_other,
            )
        else:
            yield (Determiner.BARE, None, None), start

    @rule
    def _nominals(self, start: int) -> Parses[tuple[Noun, Predicates]]:
        """A noun with its adjectives: "large, red and striped ball"."""
        if self.words[start] in ("piece", "pieces") and self.starts_with(start + 1, "of"):
            start += 2
        for adjectives, middle in (((), start), *self.adjectives(start)):
            for noun, end in self._noun(middle):
                yield (noun, adjectives), end

    def _noun(self, start: int) -> Parses[Noun]:
        """A noun, or two nouns of which the second is undrawable: "tree stump"."""
        word, second = self.words[start : start + 2]
        is_noun = word in lexicon.NOUNS or word in lexicon.SECOND_ROLE_NOUNS
        if is_noun or self.is_undrawable(start):
            yield lexicon.NOUNS.get(word) or Noun(word, frozenset(), word.endswith("s")), start + 1
        if is_noun and (self.is_undrawable(start + 1) or second in lexicon.SECOND_ROLE_NOUNS):
            if not second.endswith(("ing", "ed")):
                yield Noun(f"{word} {second}", frozenset(), second.endswith("s")), start + 2
        elif word in lexicon.ANAPHORIC_NOUNS:
            yield Noun("one", frozenset(), word == "ones"), start + 1


def _statement(group: Group, positive: bool) -> Statement:
    return Assertion(group) if positive else Denial((Assertion(group),))


def _agrees(noun: Noun, count: int | None) -> bool:
    """Return True if the number and the noun agree. Undrawable nouns, "fish" and "fruit" agree with every number."""
    return (
        count is None
        or not noun.kinds
        or noun.lemma in ("fish", "fruit")
        or (count > 1) == noun.plural
    )
