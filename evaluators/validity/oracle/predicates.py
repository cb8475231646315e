"""The grammar of predicates: "red", "on a table", "that wears a hat", "is not next to it".

Ambiguity in English is ambiguity here: in "a ball on a table next to a cup", the table (the nearest noun comes first)
or the ball is next to the cup. A relative clause belongs to the noun before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice

from evaluators.validity.oracle import lexicon, syntax
from evaluators.validity.oracle.lexicon import BE, JOINTS, NEVER, Attribute, Values
from evaluators.validity.oracle.reader import Parses, Reader, rule
from evaluators.validity.oracle.syntax import Determiner, Group, IsA, Link, Not, NounPhrase, Predicates, RelatedTo

MAX_UNDRAWABLE = 3
"""Length of a run of undrawable words: "armored personnel carrier". A longer one is no noun phrase."""
_IT = Group((NounPhrase(Determiner.PRONOUN, number=1),))
_WHILE_BEING = frozenset({"also", "both", "all"})


class PredicateGrammar(Reader, ABC):
    """Rules for predicates; each yields tuples of predicates that hold together."""

    @abstractmethod
    def group(self, start: int, /) -> Iterable[tuple[Group, int]]:
        """Coordinated noun phrases."""

    @abstractmethod
    def noun_phrase(self, start: int, /) -> Iterable[tuple[NounPhrase, int]]: ...

    def frame_end(self, start: int, preposition: str) -> int | None:
        """The position after "in the picture"."""
        words = self.words[start : start + 3]
        if words[0] == preposition and words[1] in lexicon.ARTICLES and words[2] in lexicon.FRAMES:
            return start + 3
        return None

    # Attributes

    @rule
    def adjectives(self, start: int) -> Parses[Predicates]:
        """ "red", "large and not red", "small, red, striped" """
        for adjective, end in self.adjective(start):
            for after in (end, *self.after(end, JOINTS["predicates"])):
                yield from self.sequence([(adjective, after)], self.adjectives)
            yield adjective, end

    def adjective(self, start: int) -> Parses[Predicates]:
        if self.at(start, "not"):
            yield from _negated(self.adjective(start + 1))
        word = self.words[start]
        if attribute := lexicon.ATTRIBUTES.get(word):
            yield (syntax.HasAttribute(attribute),), start + 1
        elif self.undrawable(start) and not all(map(self.undrawable, range(start + 1, start + 1 + MAX_UNDRAWABLE))):
            yield _undrawable_attribute(word), start + 1

    # After a noun

    @rule
    def modifiers(self, start: int) -> Parses[Predicates]:
        """Zero or more predicates after a noun: "on a table, next to a cup and not in a box"."""
        for after in (start, start + 1) if self.at(start, ",") else (start,):
            yield from self.sequence(self._modifier(after), self._more_modifiers)
        yield (), start

    @rule
    def _more_modifiers(self, start: int) -> Parses[Predicates]:
        """As modifiers; but a relative clause directly after a noun belongs to that noun only."""
        relative = self.words[start] in lexicon.RELATIVES and self._ends_noun_phrase(start)
        for after in (*([] if relative else [start]), *self.after(start, JOINTS["predicates"])):
            yield from self.sequence(self._modifier(after), self._more_modifiers)
        yield (), start

    def _ends_noun_phrase(self, end: int) -> bool:
        nouns = (lexicon.NOUNS, lexicon.INDEFINITE_PRONOUNS, lexicon.ANAPHORIC_NOUNS)
        return any(self.words[end - 1] in words for words in nouns) or self.undrawable(end - 1)

    def _modifier(self, start: int) -> Parses[Predicates]:
        yield from self.reduced(start)
        if self.at(start, "not"):
            for predicates, end in self.reduced(start + 1):
                yield (Not(predicates),), end
                match predicates:
                    case (RelatedTo(links=(first, second, *others)) as related,):
                        yield (related._replace(links=(first._replace(negated=True), second, *others)),), end
        if self.words[start] in lexicon.RELATIVES:
            yield from self.verb_phrase(start + 1)
            yield from self._object_relative(start + 1)
        for relations, after in self.lookup(start, lexicon.PREPOSITIONS):
            if self.at(after, "which"):
                yield from self._which_clause(after + 1, Link(self.text(start, after), relations))

    def _object_relative(self, start: int) -> Parses[Predicates]:
        """ "(a table that) a lamp stands on", "(a hat that) a cat is wearing" """
        for group, verb in self.group(start):
            place = self.past(verb, BE)
            forms = lexicon.THIRD_VERBS if verb == place else lexicon.PRESENT_VERBS
            if known := forms.get(self.words[place]):
                yield _as_object(group, Link(self.words[place], known.active)), place + 1
            if verb != place or self.words[verb] in lexicon.POSTURES_THIRD:
                place = self.past(place, lexicon.POSTURES_THIRD | lexicon.POSTURES_PARTICIPLE)
                for relations, end in self.lookup(place, lexicon.PREPOSITIONS):
                    yield _as_object(group, Link(self.text(place, end), relations)), end

    def _which_clause(self, start: int, link: Link) -> Parses[Predicates]:
        """ "(a table on which) there is a lamp", "(a table on which) a lamp stands" """
        if self.at(start, "there") and self.words[start + 1] in BE:
            for group, end in self.group(start + 2):
                yield _as_object(group, link), end
        for group, verb in self.group(start):
            if self.words[verb] in BE:
                yield _as_object(group, link), verb + 1 + (self.words[verb + 1] in lexicon.POSTURES_PARTICIPLE)
            elif self.words[verb] in lexicon.POSTURES_FINITE:
                yield _as_object(group, link), verb + 1

    # With a finite verb

    @rule
    def verb_phrase(self, start: int) -> Parses[Predicates]:
        """ "is red and stands on a table", "does not wear a hat" """
        yield from self.joined(
            self._finite(start),
            JOINTS["predicates"],
            lambda after: self.verb_phrase(after + (self.words[after] in ("that", "which"))),
        )

    def _finite(self, start: int) -> Parses[Predicates]:
        start = self._past_degrees(start)
        word = self.words[start]
        if word in BE:
            yield from self._copula(self.past(start + 1, _WHILE_BEING))
        elif word in ("has", "have"):
            yield from self._having(start, lexicon.HAS)
        elif word in ("does", "do") and self.at(start + 1, "not"):
            yield from _negated(self._infinitive(start + 2))
        elif self.at(start, "can", "be", "seen"):
            yield from self._somewhere(start + 3)
        elif word in ("exists", "exist"):
            yield (), start + 1
        elif word in lexicon.POSTURES_FINITE:
            yield from self.sequence(self.reduced(start + 1), self._more_modifiers)
        elif verb := lexicon.THIRD_VERBS.get(word) or lexicon.BASE_VERBS.get(word):
            yield from self._relation(start, start + 1, verb.active, implicit=verb.implicit)
        elif self.undrawable(start) and word.endswith("s"):
            yield from self._relation(start, self._after_preposition(start + 1), NEVER)

    def _infinitive(self, start: int) -> Parses[Predicates]:
        """After "does not"."""
        word = self.words[start]
        if word in lexicon.POSTURES:
            yield from self.reduced(start + 1)
        elif word == "have":
            yield from self._having(start, lexicon.HAS)
        elif verb := lexicon.BASE_VERBS.get(word):
            yield from self._relation(start, start + 1, verb.active, implicit=verb.implicit)
        elif self.undrawable(start):
            yield from self._relation(start, self._after_preposition(start + 1), NEVER)

    def _copula(self, start: int) -> Parses[Predicates]:
        """After "is": "not" negates the first complement or all of them."""
        yield from self._complements(start)
        if self.at(start, "not"):
            yield from _negated(parse for parse in self._complements(start + 1) if len(parse[0]) > 1)
        if self.words[start] in ("visible", "present", "there", "shown", "seen"):
            yield from self._somewhere(start + 1)

    def _somewhere(self, start: int) -> Parses[Predicates]:
        yield from self.reduced(start)
        yield (), start

    @rule
    def _complements(self, start: int) -> Parses[Predicates]:
        """ "red and on a table", "not in a box but on it"; not "red and a tent", where the tent is another clause."""
        negated = self.at(start, "not")
        for predicates, end in self._complement(start + negated):
            first = (Not(predicates),) if negated else predicates
            for after in self.after(end, JOINTS["predicates"]):
                article = self.words[after + self.at(after, "not")] in lexicon.INDEFINITE_ARTICLES
                if isinstance(predicates[0], IsA) or not article:
                    yield from self.sequence([(first, after)], self._complements)
            yield first, end

    def _complement(self, start: int) -> Parses[Predicates]:
        yield from self.adjective(start)
        yield from self.reduced(start)
        if self.words[start] in lexicon.INDEFINITE_ARTICLES:
            for phrase, end in self.noun_phrase(start):
                yield (IsA(phrase),), end

    # Without a finite verb

    @rule
    def reduced(self, start: int) -> Parses[Predicates]:
        """A predicate without "is": "on a table", "wearing a hat", "worn by a cat", "with a lamp on it"."""
        yield from self._possession(start)
        verb = self._past_degrees(start)
        yield from self._participle(verb)
        yield from self._place(self._past_degrees(verb + (self.words[verb] in lexicon.POSTURES_PARTICIPLE)))

    def _past_degrees(self, start: int) -> int:
        return start if self.at(start, "right", "of") else self.past(start, lexicon.DEGREES)

    def _place(self, start: int) -> Parses[Predicates]:
        """ "on a table", "on top", "on the left"; not "on a table and no chair", where the chair is another clause."""
        for links, after in self._links(start):
            for group, end in self.group(after):
                if all(member.determiner is not Determiner.NO for member in group.members[1:]):
                    yield (RelatedTo(links, group),), end
        for relations, end in self.lookup(start, lexicon.ADVERBS):
            if not self.at(end, "of"):
                yield (RelatedTo((Link(self.text(start, end), relations),), _IT),), end
        for side, end in self.lookup(start, lexicon.SIDES):
            after = self.frame_end(end, "of") or end
            if not self.at(after, "of"):
                yield (syntax.OnSide(side),), after
        if self.words[start] in lexicon.UNDRAWABLE_PREPOSITIONS:
            yield from self._relation(start, start + 1, NEVER)

    def _links(self, start: int) -> Parses[tuple[Link, ...]]:
        """ "above", "on top of" (not "on" a top), "above and to the left of", "above but not to the left of" """
        for relations, end in islice(self.lookup(start, lexicon.PREPOSITIONS), 1):
            link = Link(self.text(start, end), relations)
            for after in self.after(end, JOINTS["prepositions"]):
                yield from self.sequence([((link,), after)], self._links)
                if self.at(after, "not"):
                    for (first, *others), last in self._links(after + 1):
                        yield (link, first._replace(negated=True), *others), last
            yield (link,), end

    def _participle(self, start: int) -> Parses[Predicates]:
        start += self.at(start, "being")
        word = self.words[start]
        for relations, after in self.lookup(start, lexicon.PARTICIPLES):
            yield from self._relation(start, after, relations)
        if verb := lexicon.PRESENT_VERBS.get(word):
            yield from self._relation(start, start + 1, verb.active, implicit=verb.implicit)
        if (verb := lexicon.PAST_VERBS.get(word)) and self.at(start + 1, "by"):
            yield from self._relation(start, start + 2, verb.passive)
        if self.undrawable(start) and word.endswith(("ing", "ed", "en")):
            yield from self._relation(start, self._after_preposition(start + 1), NEVER)
            if word.endswith("ing"):
                yield _undrawable_attribute(word), start + 1

    def _possession(self, start: int) -> Parses[Predicates]:
        word = self.words[start]
        if word == "with":
            yield from self._having(start, lexicon.WITH)
        elif word == "having":
            yield from self._having(start, lexicon.HAS)
        elif word in ("without", "lacking"):
            yield from _negated(self._having(start, lexicon.WITH))

    def _having(self, start: int, relations: Values) -> Parses[Predicates]:
        """After "with" or "has": objects, worn objects ("a hat on") or a pattern ("white stripes")."""
        for group, end in self.group(start + 1):
            yield (RelatedTo((Link(self.words[start], relations),), group, implicit=True),), end
            if self.at(end, "on"):
                yield (RelatedTo((Link("on", lexicon.WORN),), group),), end + 1
        for _, middle in (*self.adjectives(start + 1), ((), start + 1)):
            if pattern := lexicon.PATTERN_NOUNS.get(self.words[middle]):
                yield (syntax.HasAttribute(pattern),), middle + 1

    def _relation(self, start: int, after: int, relations: Values, *, implicit: bool = False) -> Parses[Predicates]:
        for group, end in self.group(after):
            yield (RelatedTo((Link(self.text(start, after), relations),), group, implicit),), end

    def _after_preposition(self, start: int) -> int:
        """The position after a preposition, if there is one here."""
        for end in self.after(start, lexicon.PREPOSITIONS):
            return end
        return start + (self.words[start] in lexicon.UNDRAWABLE_PREPOSITIONS or self.at(start, "with"))


def _negated(parses: Iterable[tuple[Predicates, int]]) -> Parses[Predicates]:
    for predicates, end in parses:
        yield (Not(predicates),), end


def _undrawable_attribute(word: str) -> Predicates:
    return (syntax.HasAttribute(Attribute(word, "", frozenset())),)


def _as_object(group: Group, link: Link) -> Predicates:
    """ "``group`` has this relation to it" as a predicate of what "it" refers to."""
    related = Group(group.members, (*group.predicates, RelatedTo((link,), _IT)))
    return (RelatedTo((link,), related, implicit=True),)
