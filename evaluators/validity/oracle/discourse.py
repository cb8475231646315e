"""Reference resolution: from syntax trees to discourse representation structures.

- "a ball", "two balls", "another ball": new referents. Numbers mean "at least", a plural "at least two" (under negation
  "any").
- "the ball": the referents of an earlier mention of the noun. Of several mentions, those with all its attributes, else
  those that do not contradict them; each is a reading. Without an earlier mention, a new referent. "The animal" may be
  an earlier cat.
- "ball" without an article: as "the ball" if an earlier sentence mentions one; if an earlier clause of the same
  sentence does, also a new one; else a new one.
- "the other ball": one of at least two earlier balls, else a new one.
- "it", "they": the topic of the clause before or the last mention; inside "with a lamp on it", the noun that the phrase
  belongs to.
- "no ball", "it is not the case", "does not show": a negated DRS around the whole statement.
- "not on a table", "without a hat": a negated DRS around the predicate of each subject, "a table" inside it, "the
  table" outside. A later mention of a referent inside accommodates it: it moves to the main DRS, so it must exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from evaluators.validity.oracle import syntax
from evaluators.validity.oracle.drs import DRS, Condition, Distinct, DRSBuilder, Negation, Relation
from evaluators.validity.oracle.lexicon import Attribute, Noun
from evaluators.validity.oracle.syntax import Denial, Determiner, Group, NounPhrase, RelatedTo, Statement

Option = TypeVar("Option")
Referents = tuple[int, ...]

ANAPHORIC = "one"
"""The noun of "a blue one": that of the last mention."""


class _NoAntecedentError(Exception):
    """A pronoun has no possible antecedent."""


class _Reference(NamedTuple):
    """Referents that a clause mentions, new or not."""

    sentence: int
    clause: int
    referents: Referents


@dataclass(eq=False)
class _Mention:
    """The referents that a noun phrase introduced, with the referents and conditions that it added (``own_...``)."""

    noun: Noun
    attributes: frozenset[Attribute]
    referents: Referents
    drs: DRSBuilder
    sentence: int
    clause: int
    own_referents: list[int] = field(default_factory=list)
    own_conditions: list[Condition | DRSBuilder] = field(default_factory=list)


def representations(sentences: Sequence[Sequence[Statement]]) -> Iterator[DRS]:
    """Every resolution of a text's references; none if a pronoun has no possible antecedent.

    Each pass takes the first option of every choice; the other options are the beginnings of later passes.
    """
    pending: list[list[int]] = [[]]
    while pending:
        resolver = _Resolver(pending.pop())
        with suppress(_NoAntecedentError):
            yield resolver.resolve(sentences)
        pending += resolver.alternatives


class _Resolver:
    """One pass through a text, with the first of its choices given as positions."""

    def __init__(self, choices: list[int]) -> None:
        self.choices = choices
        self.taken = 0
        self.alternatives: list[list[int]] = []
        self.root = DRSBuilder()
        self.mentions: list[_Mention] = []
        self.references: list[_Reference] = []
        self.anchors: list[Referents] = []  # the referents of "it" inside "with a lamp on it"
        self.anchored = False  # True if "it" referred to the innermost anchor
        self.count = self.sentence = self.clause = 0

    def choose(self, options: Sequence[Option]) -> Option:
        if self.taken == len(self.choices):
            self.alternatives += [[*self.choices, other] for other in range(1, len(options))]
            self.choices.append(0)
        self.taken += 1
        return options[self.choices[self.taken - 1]]

    def resolve(self, sentences: Sequence[Sequence[Statement]]) -> DRS:
        for self.sentence, statements in enumerate(sentences):
            for statement in statements:
                self.clause += 1
                self._statement(statement, self.root)
        return self.root.build()

    def _statement(self, statement: Statement, drs: DRSBuilder) -> None:
        if isinstance(statement, Denial):
            inner = DRSBuilder(drs)
            for denied in statement.statements:
                self._statement(denied, inner)
            drs.conditions.append(inner)
            return
        for group, positive in _split(statement.group):
            if positive:
                self._group(group, drs, None)
            else:
                self._statement(Denial((syntax.Assertion(group),)), drs)

    def _group(self, group: Group, drs: DRSBuilder, head: Referents | None) -> Referents:
        """The referents of a group; ``head`` are those that it is related to."""
        referents = tuple(dict.fromkeys(ref for phrase in group.members for ref in self._phrase(phrase, drs, head)))
        if len(group.members) > 1:
            self._refer(referents)
        for predicate in group.predicates:
            self._predicate(predicate, referents, drs)
        return referents

    def _refer(self, referents: Referents) -> None:
        self.references.append(_Reference(self.sentence, self.clause, referents))

    def _phrase(self, phrase: NounPhrase, drs: DRSBuilder, head: Referents | None) -> Referents:
        noun = self._noun(phrase)
        attributes = frozenset(item.attribute for item in phrase.predicates if isinstance(item, syntax.HasAttribute))
        known = self._antecedent(phrase, noun, attributes, drs, head) if noun else self._pronoun(phrase, drs, head)
        if known is None:
            assert noun
            return self._introduce(phrase, noun, attributes, drs)
        self._refer(known)
        for predicate in phrase.predicates:
            self._predicate(predicate, known, drs.outside_predicates())
        return known

    def _noun(self, phrase: NounPhrase) -> Noun | None:
        if phrase.noun and phrase.noun.lemma == ANAPHORIC:
            if not self.mentions:
                raise _NoAntecedentError
            return self.mentions[-1].noun._replace(plural=phrase.noun.plural)
        return phrase.noun

    def _introduce(
        self, phrase: NounPhrase, noun: Noun, attributes: frozenset[Attribute], drs: DRSBuilder
    ) -> Referents:
        if phrase.determiner is Determiner.DEFINITE:
            drs = drs.outside_predicates()
        count = phrase.number or (2 if noun.plural and drs is self.root else 1)
        referents = tuple(range(self.count, self.count + count))
        self.count += count
        referent_start, condition_start = len(drs.referents), len(drs.conditions)
        drs.referents.extend(referents)
        drs.describe(referents, noun.lemma, "noun", noun.kinds)
        if phrase.determiner is Determiner.OTHER:
            accessible = list(drs.accessible())
            others = [mention for mention in self.mentions if mention.drs in accessible and _same(noun, mention.noun)]
            if distinct_from := tuple(referent for mention in others for referent in mention.referents):
                drs.conditions.extend(Distinct(referent, distinct_from) for referent in referents)
        mention = _Mention(noun, attributes, referents, drs, self.sentence, self.clause)
        self.mentions.append(mention)
        self._refer(referents)
        for predicate in phrase.predicates:
            self._predicate(predicate, referents, drs)
        mention.own_referents = drs.referents[referent_start:]
        mention.own_conditions = drs.conditions[condition_start:]
        return referents

    def _antecedent(
        self,
        phrase: NounPhrase,
        noun: Noun,
        attributes: frozenset[Attribute],
        drs: DRSBuilder,
        head: Referents | None,
    ) -> Referents | None:
        """The referents of the earlier mention that the phrase refers to; None for a new one."""
        bare, other = phrase.determiner is Determiner.BARE, phrase.determiner is Determiner.THE_OTHER
        if not bare and not other and phrase.determiner is not Determiner.DEFINITE:
            return None
        earlier = [
            mention
            for mention in self.mentions
            if _same(noun, mention.noun)
            and not (bare and (mention.clause == self.clause or mention.noun.kinds != noun.kinds))
            and not any(_contradict(one, another) for one in attributes for another in mention.attributes)
        ]
        if phrase.ordinal is not None:
            earlier = earlier[phrase.ordinal : phrase.ordinal + 1]
        elif other and len(earlier) < 2:
            return None
        earlier = [mention for mention in earlier if mention.referents != head]
        earlier = [mention for mention in earlier if attributes <= mention.attributes] or earlier
        if not earlier:
            return None
        if noun.plural and len(earlier) > 1 and all(len(mention.referents) == 1 for mention in earlier):
            return tuple(referent for mention in earlier for referent in self._accommodate(mention, drs))
        options: list[_Mention | None] = [*reversed(earlier)]
        if bare and all(mention.sentence == self.sentence for mention in earlier):
            options.append(None)
        chosen = self.choose(options)
        return self._accommodate(chosen, drs) if chosen else None

    def _accommodate(self, mention: _Mention, drs: DRSBuilder) -> Referents:
        """The mention's referents, moved to the main DRS if they are not accessible from ``drs``."""
        inside = mention.drs
        if inside not in drs.accessible():
            referents = [referent for referent in mention.own_referents if referent in inside.referents]
            conditions = [condition for condition in mention.own_conditions if condition in inside.conditions]
            inside.referents = [referent for referent in inside.referents if referent not in referents]
            inside.conditions = [condition for condition in inside.conditions if condition not in conditions]
            self.root.referents += referents
            self.root.conditions += conditions
            for condition in conditions:
                if isinstance(condition, DRSBuilder):
                    condition.outer = self.root
            for other in self.mentions:
                if other.drs is inside and set(other.referents) <= set(referents):
                    other.drs = self.root
        return mention.referents

    def _pronoun(self, phrase: NounPhrase, drs: DRSBuilder, head: Referents | None) -> Referents:
        if phrase.determiner is Determiner.EACH_OTHER:
            if head is None:
                raise _NoAntecedentError
            return head
        if self.anchors and self.anchors[-1] != head:
            self.anchored = True
            return self.anchors[-1]
        accessible = {referent for builder in drs.accessible() for referent in builder.referents}
        last = max((at for at, item in enumerate(self.references) if item.referents == head), default=None)
        before = [
            item for item in self.references[:last] if item.referents != head and accessible.issuperset(item.referents)
        ]
        if phrase.number == 2:
            before = [*_topics(before, self.sentence), *(item for item in before if len(item.referents) > 1)]
        else:
            before = [item for item in before if len(item.referents) == 1]
        if not before:
            raise _NoAntecedentError
        earlier = [item.clause for item in before if item.clause < self.clause] or [before[0].clause]
        topic = next(item for item in before if item.clause == earlier[-1])
        return self.choose(list(dict.fromkeys((topic.referents, before[-1].referents))))

    def _predicate(self, predicate: syntax.Predicate, referents: Referents, drs: DRSBuilder) -> None:
        match predicate:
            case syntax.HasAttribute(attribute):
                drs.describe(referents, *attribute)
            case syntax.OnSide(side):
                drs.describe(referents, side, "side", frozenset({side}))
            case syntax.IsA(phrase):
                noun = self._noun(phrase)
                assert noun
                drs.describe(referents, noun.lemma, "noun", noun.kinds)
                for inner in phrase.predicates:
                    self._predicate(inner, referents, drs)
            case syntax.Not(predicates):
                for referent in referents:
                    negated = DRSBuilder(drs, negates_predicate=True)
                    drs.conditions.append(negated)
                    for inner in predicates:
                        self._predicate(inner, (referent,), negated)
            case RelatedTo():
                for group, positive in _split(predicate.objects):
                    related = predicate._replace(objects=group)
                    if positive:
                        self._relate(related, referents, drs)
                    else:
                        self._predicate(syntax.Not((related,)), referents, drs)

    def _relate(self, related: RelatedTo, referents: Referents, drs: DRSBuilder) -> None:
        outer, self.anchored = self.anchored, False
        if related.implicit:
            self.anchors.append(referents)
        objects = self._group(related.objects, drs, referents)
        if related.implicit:
            self.anchors.pop()
            explicit, self.anchored = self.anchored, outer
            if explicit:
                return
        self.anchored |= outer
        for link in related.links:
            relation = Relation(referents, link.phrase, link.relations, objects)
            drs.conditions.append(Negation(DRS((), (relation,))) if link.negated else relation)


def _topics(references: Sequence[_Reference], sentence: int) -> Iterator[_Reference]:
    """The first referents of each clause of the last sentence before this one, together, if there are several."""
    first = {item.clause: item for item in reversed(references) if item.sentence < sentence}
    latest = [item for item in first.values() if item.sentence == max(other.sentence for other in first.values())]
    referents = tuple(dict.fromkeys(referent for item in reversed(latest) for referent in item.referents))
    if len(referents) > 1:
        yield latest[0]._replace(referents=referents)


_POSITIVE = {Determiner.NO: Determiner.INDEFINITE, Determiner.NO_OTHER: Determiner.OTHER}


def _split(group: Group) -> Iterator[tuple[Group, bool]]:
    """The positive members together (True), then each negative one ("no ball"), made positive (False)."""
    positive = tuple(phrase for phrase in group.members if phrase.determiner not in _POSITIVE)
    if positive:
        yield Group(positive, group.predicates), True
    for phrase in group.members:
        if phrase.determiner in _POSITIVE:
            yield Group((phrase._replace(determiner=_POSITIVE[phrase.determiner]),), group.predicates), False


def _same(noun: Noun, earlier: Noun) -> bool:
    """True if ``noun`` may refer to an earlier ``earlier``: the same kind, or a wider one."""
    if noun.kinds and earlier.kinds:
        return earlier.kinds <= noun.kinds
    return noun.lemma.removesuffix("s") == earlier.lemma.removesuffix("s")


def _contradict(one: Attribute, other: Attribute) -> bool:
    return one.slot == other.slot and one != other and not one.values & other.values
