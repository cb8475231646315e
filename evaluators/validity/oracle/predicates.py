"""Grammar of predicates: "red", "on a table", "that wears a hat", "is not next to it".

An ambiguous phrase has several parses: in "a ball on a table next to a cup", the table or the ball is next to the cup.
The parse that attaches the phrase to the nearest noun comes first. A relative clause always belongs to the noun right
before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice

from compeval.evaluators.validity.oracle import lexicon, syntax
from compeval.evaluators.validity.oracle.lexicon import BE, JOINTS, NEVER, Attribute, Values
from compeval.evaluators.validity.oracle.reader import Parses, Reader, rule
from compeval.evaluators.validity.oracle.syntax import (
    Determiner,
    Group,
    IsA,
    Link,
    Not,
    NounPhrase,
    Predicates,
    RelatedTo,
)

MAX_UNDRAWABLE = 3
"""Maximum number of undrawable words in a row, as in "armored personnel carrier"; more are not a noun phrase."""
_IT = Group((NounPhrase(Determiner.PRONOUN, number=1),))
_ADVERBS_AFTER_BE = frozenset({"also", "both", "all"})


class PredicateGrammar(Reader, ABC):
    """Rules for predicates. Each yields tuples of predicates that hold together."""

    @abstractmethod
    def group(self, start: int, /) -> Iterable[tuple[Group, int]]:
        """Coordinated noun phrases: "a cup and a ball"."""

    @abstractmethod
    def noun_phrase(self, start: int, /) -> Iterable[tuple[NounPhrase, int]]: ...

    def skip_image_phrase(self, start: int, preposition: str) -> int | None:
        """Return the position after "in the picture". Returns None if there is no such phrase at ``start``."""
        words = self.words[start : start + 3]
        if (
            words[0] == preposition
            and words[1] in lexicon.ARTICLES
            and words[2] in lexicon.IMAGE_WORDS
        ):
            return start + 3
        return None

    # Attributes

    @rule
    def adjectives(self, start: int) -> Parses[Predicates]:
        """ "red", "large and not red", "small, red, striped" """
        for adjective, end in self.adjective(start):
            for next_start in (end, *self.phrase_ends(end, JOINTS["predicates"])):
                yield from self.parse_sequence([(adjective, next_start)], self.adjectives)
            yield adjective, end

    def adjective(self, start: int) -> Parses[Predicates]:
        if self.starts_with(start, "not"):
            yield from _negate(self.adjective(start + 1))
        word = self.words[start]
        if attribute := lexicon.ATTRIBUTES.get(word):
            yield (syntax.HasAttribute(attribute),), start + 1
        elif self.is_undrawable(start) and not all(
            map(self.is_undrawable, range(start + 1, start + 1 + MAX_UNDRAWABLE))
        ):
            yield _undrawable_attribute(word), start + 1

    # After a noun

    @rule
    def modifiers(self, start: int) -> Parses[Predicates]:
        """Zero or more predicates after a noun: "on a table, next to a cup and not in a box"."""
        for next_start in (start, start + 1) if self.starts_with(start, ",") else (start,):
            yield from self.parse_sequence(self._modifier(next_start), self._more_modifiers)
        yield (), start

    @rule
    def _more_modifiers(self, start: int) -> Parses[Predicates]:
        """Like ``modifiers``, but without a relative clause directly after a noun, which belongs to that noun only."""
        relative = self.words[start] in lexicon.RELATIVES and self._ends_noun_phrase(start)
        for next_start in (
            *([] if relative else [start]),
            *self.phrase_ends(start, JOINTS["predicates"]),
        ):
            yield from self.parse_sequence(self._modifier(next_start), self._more_modifiers)
        yield (), start

    def _ends_noun_phrase(self, end: int) -> bool:
        nouns = (lexicon.NOUNS, lexicon.INDEFINITE_PRONOUNS, lexicon.ANAPHORIC_NOUNS)
        return any(self.words[end - 1] in words for words in nouns) or self.is_undrawable(end - 1)

    def _modifier(self, start: int) -> Parses[Predicates]:
        yield from self.reduced_clause(start)
        if self.starts_with(start, "not"):
            for predicates, end in self.reduced_clause(start + 1):
                yield (Not(predicates),), end
                match predicates:
                    case (RelatedTo(links=(first, second, *further)) as related,):
                        yield (
                            (
                                related._replace(
                                    links=(first._replace(negated=True), second, *further)
                                ),
                            ),
                            end,
                        )
        if self.words[start] in lexicon.RELATIVES:
            yield from self.verb_phrase(start + 1)
            yield from self._object_relative(start + 1)
        for relations, next_start in self.match_phrases(start, lexicon.PREPOSITIONS):
            if self.starts_with(next_start, "which"):
                yield from self._which_clause(
                    next_start + 1, Link(self.join_words(start, next_start), relations)
                )

    def _object_relative(self, start: int) -> Parses[Predicates]:
        """ "(a table that) a lamp stands on", "(a hat that) a cat is wearing" """
        for group, verb in self.group(start):
            main_verb = self.skip(verb, BE)
            forms = lexicon.THIRD_VERBS if verb == main_verb else lexicon.PRESENT_VERBS
            if verb_meaning := forms.get(self.words[main_verb]):
                yield (
                    _as_object(group, Link(self.words[main_verb], verb_meaning.active)),
                    main_verb + 1,
                )
            if verb != main_verb or self.words[verb] in lexicon.POSTURES_THIRD:
                preposition = self.skip(
                    main_verb, lexicon.POSTURES_THIRD | lexicon.POSTURES_PARTICIPLE
                )
                for relations, end in self.match_phrases(preposition, lexicon.PREPOSITIONS):
                    yield _as_object(group, Link(self.join_words(preposition, end), relations)), end

    def _which_clause(self, start: int, link: Link) -> Parses[Predicates]:
        """ "(a table on which) there is a lamp", "(a table on which) a lamp stands" """
        if self.starts_with(start, "there") and self.words[start + 1] in BE:
            for group, end in self.group(start + 2):
                yield _as_object(group, link), end
        for group, verb in self.group(start):
            if self.words[verb] in BE:
                yield (
                    _as_object(group, link),
                    verb + 1 + (self.words[verb + 1] in lexicon.POSTURES_PARTICIPLE),
                )
            elif self.words[verb] in lexicon.POSTURES_FINITE:
                yield _as_object(group, link), verb + 1

    # With a finite verb

    @rule
    def verb_phrase(self, start: int) -> Parses[Predicates]:
        """ "is red and stands on a table", "does not wear a hat" """
        yield from self.parse_coordination(
            self._finite_verb(start),
            JOINTS["predicates"],
            lambda next_start: self.verb_phrase(
                next_start + (self.words[next_start] in ("that", "which"))
            ),
        )

    def _finite_verb(self, start: int) -> Parses[Predicates]:
        start = self._skip_degrees(start)
        yield from self._finite_phrase(start)
        word = self.words[start]
        if word in BE:
            yield from self._copula(self.skip(start + 1, _ADVERBS_AFTER_BE))
        elif word in ("has", "have"):
            yield from self._possessed(start, lexicon.HAS)
        elif word in ("does", "do") and self.starts_with(start + 1, "not"):
            yield from _negate(self._infinitive(start + 2))
        elif self.starts_with(start, "can", "be", "seen"):
            yield from self._optional_reduced_clause(start + 3)
        elif word in ("exists", "exist"):
            yield (), start + 1
        elif word in lexicon.POSTURES_FINITE:
            yield from self.parse_sequence(self.reduced_clause(start + 1), self._more_modifiers)
        elif verb := lexicon.THIRD_VERBS.get(word) or lexicon.BASE_VERBS.get(word):
            yield from self._related_objects(start, start + 1, verb.active, implicit=verb.implicit)
        elif self.is_undrawable(start) and word.endswith("s"):
            yield from self._related_objects(start, self._skip_preposition(start + 1), NEVER)

    def _finite_phrase(self, start: int) -> Parses[Predicates]:
        """ "pours into a cup" """
        for relations, next_start in self.match_phrases(start, lexicon.FINITE_PHRASES):
            yield from self._related_objects(start, next_start, relations)

    def _infinitive(self, start: int) -> Parses[Predicates]:
        """The words after "does not"."""
        yield from self._finite_phrase(start)
        word = self.words[start]
        if word in lexicon.POSTURES:
            yield from self.reduced_clause(start + 1)
        elif word == "have":
            yield from self._possessed(start, lexicon.HAS)
        elif verb := lexicon.BASE_VERBS.get(word):
            yield from self._related_objects(start, start + 1, verb.active, implicit=verb.implicit)
        elif self.is_undrawable(start):
            yield from self._related_objects(start, self._skip_preposition(start + 1), NEVER)

    def _copula(self, start: int) -> Parses[Predicates]:
        """The words after "is". "not" negates the first complement or all complements."""
        yield from self._complements(start)
        if self.starts_with(start, "not"):
            yield from _negate(parse for parse in self._complements(start + 1) if len(parse[0]) > 1)
        if self.words[start] in ("visible", "present", "there", "shown", "seen"):
            yield from self._optional_reduced_clause(start + 1)

    def _optional_reduced_clause(self, start: int) -> Parses[Predicates]:
        yield from self.reduced_clause(start)
        yield (), start

    @rule
    def _complements(self, start: int) -> Parses[Predicates]:
        """ "red and on a table", "not in a box but on it". In "red and a tent", the tent starts another clause."""
        negated = self.starts_with(start, "not")
        for predicates, end in self._complement(start + negated):
            first = (Not(predicates),) if negated else predicates
            for next_start in self.phrase_ends(end, JOINTS["predicates"]):
                article = (
                    self.words[next_start + self.starts_with(next_start, "not")]
                    in lexicon.INDEFINITE_ARTICLES
                )
                if isinstance(predicates[0], IsA) or not article:
                    yield from self.parse_sequence([(first, next_start)], self._complements)
            yield first, end

    def _complement(self, start: int) -> Parses[Predicates]:
        yield from self.adjective(start)
        yield from self.reduced_clause(start)
        if self.words[start] in lexicon.INDEFINITE_ARTICLES:
            for phrase, end in self.noun_phrase(start):
                yield (IsA(phrase),), end

    # Without a finite verb

    @rule
    def reduced_clause(self, start: int) -> Parses[Predicates]:
        """A predicate without a finite verb: "on a table", "wearing a hat", "worn by a cat", "with a lamp on it"."""
        yield from self._possession(start)
        verb = self._skip_degrees(start)
        yield from self._participle(verb)
        yield from self._location(
            self._skip_degrees(verb + (self.words[verb] in lexicon.POSTURES_PARTICIPLE))
        )

    def _skip_degrees(self, start: int) -> int:
        return (
            start if self.starts_with(start, "right", "of") else self.skip(start, lexicon.DEGREES)
        )

    def _location(self, start: int) -> Parses[Predicates]:
        """ "on a table", "on top", "on the left". In "on a table and no chair", the chair starts another clause."""
        for links, next_start in self._links(start):
            for group, end in self.group(next_start):
                if all(member.determiner is not Determiner.NO for member in group.members[1:]):
                    yield (RelatedTo(links, group),), end
        for relations, end in self.match_phrases(start, lexicon.ADVERBS):
            if not self.starts_with(end, "of"):
                yield (RelatedTo((Link(self.join_words(start, end), relations),), _IT),), end
        for side, end in self.match_phrases(start, lexicon.SIDES):
            next_start = self.skip_image_phrase(end, "of") or end
            if not self.starts_with(next_start, "of"):
                yield (syntax.OnSide(side),), next_start
        if self.words[start] in lexicon.UNDRAWABLE_PREPOSITIONS:
            yield from self._related_objects(start, start + 1, NEVER)

    def _links(self, start: int) -> Parses[tuple[Link, ...]]:
        """ "above", "above and to the left of", "above but not left of". The longest preposition wins: "on top of"."""
        for relations, end in islice(self.match_phrases(start, lexicon.PREPOSITIONS), 1):
            link = Link(self.join_words(start, end), relations)
            for next_start in self.phrase_ends(end, JOINTS["prepositions"]):
                yield from self.parse_sequence([((link,), next_start)], self._links)
                if self.starts_with(next_start, "not"):
                    for (first, *following), last in self._links(next_start + 1):
                        yield (link, first._replace(negated=True), *following), last
            yield (link,), end

    def _participle(self, start: int) -> Parses[Predicates]:
        start += self.starts_with(start, "being")
        word = self.words[start]
        for relations, next_start in self.match_phrases(start, lexicon.PARTICIPLES):
            yield from self._related_objects(start, next_start, relations)
        if verb := lexicon.PRESENT_VERBS.get(word):
            yield from self._related_objects(start, start + 1, verb.active, implicit=verb.implicit)
        if (verb := lexicon.PAST_VERBS.get(word)) and self.starts_with(start + 1, "by"):
            yield from self._related_objects(start, start + 2, verb.passive)
        if self.is_undrawable(start) and word.endswith(("ing", "ed", "en")):
            yield from self._related_objects(start, self._skip_preposition(start + 1), NEVER)
            if word.endswith("ing"):
                yield _undrawable_attribute(word), start + 1

    def _possession(self, start: int) -> Parses[Predicates]:
        word = self.words[start]
        if word == "with":
            yield from self._possessed(start, lexicon.WITH)
        elif word == "having":
            yield from self._possessed(start, lexicon.HAS)
        elif word in ("without", "lacking"):
            yield from _negate(self._possessed(start, lexicon.WITH))

    def _possessed(self, start: int, relations: Values) -> Parses[Predicates]:
        """The words after "with" or "has": objects, worn objects ("a hat on") or a pattern ("white stripes")."""
        for group, end in self.group(start + 1):
            yield (RelatedTo((Link(self.words[start], relations),), group, implicit=True),), end
            if self.starts_with(end, "on"):
                yield (RelatedTo((Link("on", lexicon.WORN),), group),), end + 1
        for _, middle in (*self.adjectives(start + 1), ((), start + 1)):
            if pattern := lexicon.PATTERN_NOUNS.get(self.words[middle]):
                yield (syntax.HasAttribute(pattern),), middle + 1

    def _related_objects(
        self, start: int, next_start: int, relations: Values, *, implicit: bool = False
    ) -> Parses[Predicates]:
        for group, end in self.group(next_start):
            yield (
                (
                    RelatedTo(
                        (Link(self.join_words(start, next_start), relations),), group, implicit
                    ),
                ),
                end,
            )

    def _skip_preposition(self, start: int) -> int:
        """Return the position after the preposition at ``start``, or ``start`` if there is none."""
        for end in self.phrase_ends(start, lexicon.PREPOSITIONS):
            return end
        return start + (
            self.words[start] in lexicon.UNDRAWABLE_PREPOSITIONS or self.starts_with(start, "with")
        )


def _negate(parses: Iterable[tuple[Predicates, int]]) -> Parses[Predicates]:
    for predicates, end in parses:
        yield (Not(predicates),), end


def _undrawable_attribute(word: str) -> Predicates:
    return (syntax.HasAttribute(Attribute(word, "", frozenset())),)


def _as_object(group: Group, link: Link) -> Predicates:
    """Return a predicate of the modified noun: ``group`` has the relation of ``link`` to "it", the modified noun."""
    related = Group(group.members, (*group.predicates, RelatedTo((link,), _IT)))
    return (RelatedTo((link,), related, implicit=True),)
