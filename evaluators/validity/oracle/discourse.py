"""Reference resolution: turn the syntax trees of a caption into discourse representation structures (DRS).

Rules, by kind of noun phrase:

- "a ball", "two balls", "another ball" introduce new referents. "Two balls" means at least two. A plural without a
  number means at least two as well, but at least one inside a negation.
- "the ball" refers to an earlier mention of a ball, or of something more specific: "the animal" may be an earlier cat.
  If several earlier mentions are possible, mentions that have all attributes of the phrase are preferred; if there is
  none, mentions whose attributes do not contradict the phrase are used. Each remaining mention is a separate reading.
  Without an earlier mention, the phrase introduces a new referent.
- "ball" without an article is read like "the ball" if an earlier sentence mentions a ball. If only an earlier clause of
  the same sentence mentions a ball, a new ball is a second reading. Otherwise the phrase introduces a new referent.
- "the other ball" refers to an earlier ball if there are at least two, and otherwise introduces a new referent.
- "it" and "they" refer to the topic of the previous clause or to the last mention (two readings), and "it" in "a cat is
  next to a table and to the left of it" also to the table. Inside "a table with a lamp on it", "it" is the table.

Rules for negation:

- "no ball", "it is not the case", "does not show" negate the whole statement: one negated DRS.
- "not on a table", "without a hat" negate a predicate: one negated DRS per subject. The referent of "a table" belongs
  to the negated DRS; the referent of "the table" belongs to the DRS around it. If a later phrase refers to a referent
  of a negated DRS, that referent moves to the main DRS, so the object must exist (accommodation).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple, TypeVar

from compeval.evaluators.validity.oracle import syntax
from compeval.evaluators.validity.oracle.drs import (
    DRS,
    Condition,
    Distinct,
    DRSBuilder,
    Negation,
    Relation,
)
from compeval.evaluators.validity.oracle.lexicon import Attribute, Noun
from compeval.evaluators.validity.oracle.syntax import (
    Denial,
    Determiner,
    Group,
    NounPhrase,
    RelatedTo,
    Statement,
)

Option = TypeVar("Option")
Referents = tuple[int, ...]

ANAPHORIC_LEMMA = "one"
"""Lemma of the noun in "a blue one". It is replaced by the noun of the last mention."""


class _NoAntecedentError(Exception):
    """Raised if a pronoun has no possible antecedent."""


class _Reference(NamedTuple):
    """One use of referents in a clause. The referents may be new or already known."""

    sentence: int
    clause: int
    referents: Referents


@dataclass(eq=False)
class _Mention:
    """A noun phrase that introduced new referents, and the referents and conditions added while it was resolved."""

    noun: Noun
    attributes: frozenset[Attribute]
    referents: Referents
    drs: DRSBuilder
    sentence: int
    clause: int
    added_referents: list[int] = field(default_factory=list)
    added_conditions: list[Condition | DRSBuilder] = field(default_factory=list)


def resolve_references(sentences: Sequence[Sequence[Statement]]) -> Iterator[DRS]:
    """Yield one DRS per way to resolve the references of a text. Yields nothing if a pronoun has no antecedent.

    Depth-first search: a pass through the text makes a choice wherever a reference is ambiguous. A list holds the index
    of the option to take at each choice; after its end, the first option is taken. Every option that was not taken
    starts a later pass.
    """
    pending: list[list[int]] = [[]]
    while pending:
        resolver = _Resolver(pending.pop())
        with suppress(_NoAntecedentError):
            yield resolver.resolve(sentences)
        pending += resolver.untried


class _Resolver:
    """One pass through a text. ``choices`` holds the index of the option to take at each of the first choices."""

    def __init__(self, choices: list[int]) -> None:
        self.choices = choices
        self.num_choices_made = 0
        self.untried: list[list[int]] = []  # lists of choices for later passes
        self.root = DRSBuilder()
        self.mentions: list[_Mention] = []
        self.references: list[_Reference] = []
        self.possessors: list[
            Referents
        ] = []  # stack: referents of "a table" while "with a lamp on it" is resolved
        self.possessor_used = False  # True if "it" referred to the innermost possessor
        self.in_main_predicate = (
            False  # True while the predicates of a clause are resolved, not those of a noun phrase
        )
        self.num_referents = self.sentence = self.clause = 0

    def choose(self, options: Sequence[Option]) -> Option:
        """Return one of the options and schedule passes that take the other options."""
        if self.num_choices_made == len(self.choices):
            self.untried += [[*self.choices, option] for option in range(1, len(options))]
            self.choices.append(0)
        self.num_choices_made += 1
        return options[self.choices[self.num_choices_made - 1]]

    def resolve(self, sentences: Sequence[Sequence[Statement]]) -> DRS:
        """Return the DRS of the text. Raises _NoAntecedentError if a pronoun has no antecedent."""
        for self.sentence, statements in enumerate(sentences):
            for statement in statements:
                self.clause += 1
                self._add_statement(statement, self.root)
        return self.root.build()

    def _add_statement(self, statement: Statement, drs: DRSBuilder) -> None:
        """Add the referents and conditions of a statement to ``drs``."""
        if isinstance(statement, Denial):
            inner = DRSBuilder(drs)
            for denied in statement.statements:
                self._add_statement(denied, inner)
            drs.conditions.append(inner)
            return
        for group, positive in _split_by_polarity(statement.group):
            if positive:
                self._add_group(group, drs, None)
            else:
                self._add_statement(Denial((syntax.Assertion(group),)), drs)

    def _add_group(self, group: Group, drs: DRSBuilder, subjects: Referents | None) -> Referents:
        """Add a group of noun phrases to ``drs`` and return its referents.

        ``subjects``: the subjects of the relation whose object is the group; None if the group is no object.
        """
        referents = tuple(
            dict.fromkeys(
                ref for phrase in group.members for ref in self._add_phrase(phrase, drs, subjects)
            )
        )
        if len(group.members) > 1:
            self._record_reference(referents)
        was_in_main_predicate = self.in_main_predicate
        self.in_main_predicate = subjects is None
        for predicate in group.predicates:
            self._add_predicate(predicate, referents, drs)
        self.in_main_predicate = was_in_main_predicate
        return referents

    def _record_reference(self, referents: Referents) -> None:
        self.references.append(_Reference(self.sentence, self.clause, referents))

    def _add_phrase(
        self, phrase: NounPhrase, drs: DRSBuilder, subjects: Referents | None
    ) -> Referents:
        """Add a noun phrase to ``drs`` and return its referents."""
        noun = self._resolve_noun(phrase)
        attributes = frozenset(
            item.attribute for item in phrase.predicates if isinstance(item, syntax.HasAttribute)
        )
        if noun:
            referents = self._find_antecedent(phrase, noun, attributes, drs, subjects)
            if referents is None:
                return self._introduce(phrase, noun, attributes, drs)
        else:
            referents = self._resolve_pronoun(phrase, drs, subjects)
        self._record_reference(referents)
        for predicate in phrase.predicates:
            self._add_predicate(predicate, referents, drs.outside_predicates())
        return referents

    def _resolve_noun(self, phrase: NounPhrase) -> Noun | None:
        """Return the noun of a phrase; for "a blue one", the noun of the last mention. Returns None for a pronoun."""
        if phrase.noun and phrase.noun.lemma == ANAPHORIC_LEMMA:
            if not self.mentions:
                raise _NoAntecedentError
            return self.mentions[-1].noun._replace(plural=phrase.noun.plural)
        return phrase.noun

    def _introduce(
        self, phrase: NounPhrase, noun: Noun, attributes: frozenset[Attribute], drs: DRSBuilder
    ) -> Referents:
        """Add new referents with their conditions to ``drs``, record the mention and return the referents."""
        if phrase.determiner is Determiner.DEFINITE:
            drs = drs.outside_predicates()
        count = phrase.number or (2 if noun.plural and drs is self.root else 1)
        referents = tuple(range(self.num_referents, self.num_referents + count))
        self.num_referents += count
        referent_start = len(drs.referents)
        condition_start = len(drs.conditions)
        drs.referents.extend(referents)
        drs.describe(referents, noun.lemma, "noun", noun.kinds)
        if phrase.determiner is Determiner.OTHER:
            accessible = list(drs.accessible())
            distinct_from = tuple(
                referent
                for mention in self.mentions
                if mention.drs in accessible and _may_refer_to(noun, mention.noun)
                for referent in mention.referents
            )
            if distinct_from:
                drs.conditions.extend(Distinct(referent, distinct_from) for referent in referents)
        mention = _Mention(noun, attributes, referents, drs, self.sentence, self.clause)
        self.mentions.append(mention)
        self._record_reference(referents)
        for predicate in phrase.predicates:
            self._add_predicate(predicate, referents, drs)
        mention.added_referents = drs.referents[referent_start:]
        mention.added_conditions = drs.conditions[condition_start:]
        return referents

    def _find_antecedent(
        self,
        phrase: NounPhrase,
        noun: Noun,
        attributes: frozenset[Attribute],
        drs: DRSBuilder,
        subjects: Referents | None,
    ) -> Referents | None:
        """Return the referents of the earlier mention that the phrase refers to.

        Returns None if the phrase introduces new referents.
        """
        if phrase.determiner not in (Determiner.BARE, Determiner.THE_OTHER, Determiner.DEFINITE):
            return None
        bare = phrase.determiner is Determiner.BARE
        earlier = [
            mention
            for mention in self.mentions
            if _may_refer_to(noun, mention.noun)
            and not (bare and (mention.clause == self.clause or mention.noun.kinds != noun.kinds))
            and not any(
                new.slot == old.slot and new != old and not new.values & old.values
                for new, old in product(attributes, mention.attributes)
            )
        ]
        if phrase.ordinal is not None:
            earlier = earlier[phrase.ordinal : phrase.ordinal + 1]
        elif phrase.determiner is Determiner.THE_OTHER and len(earlier) < 2:
            return None
        earlier = [mention for mention in earlier if mention.referents != subjects]
        earlier = [mention for mention in earlier if attributes <= mention.attributes] or earlier
        if not earlier:
            return None
        if (
            noun.plural
            and len(earlier) > 1
            and all(len(mention.referents) == 1 for mention in earlier)
        ):
            return tuple(
                referent for mention in earlier for referent in self._accommodate(mention, drs)
            )
        options: list[_Mention | None] = [*reversed(earlier)]
        if bare and all(mention.sentence == self.sentence for mention in earlier):
            options.append(None)
        chosen = self.choose(options)
        return self._accommodate(chosen, drs) if chosen else None

    def _accommodate(self, mention: _Mention, drs: DRSBuilder) -> Referents:
        """Return the mention's referents. Move them to the main DRS first if they are not accessible from ``drs``."""
        inner = mention.drs
        if inner not in drs.accessible():
            referents = [
                referent for referent in mention.added_referents if referent in inner.referents
            ]
            conditions = [
                condition for condition in mention.added_conditions if condition in inner.conditions
            ]
            inner.referents = [
                referent for referent in inner.referents if referent not in referents
            ]
            inner.conditions = [
                condition for condition in inner.conditions if condition not in conditions
            ]
            self.root.referents += referents
            self.root.conditions += conditions
            for condition in conditions:
                if isinstance(condition, DRSBuilder):
                    condition.outer = self.root
            for moved in self.mentions:
                if moved.drs is inner and set(moved.referents) <= set(referents):
                    moved.drs = self.root
        return mention.referents

    def _resolve_pronoun(
        self, phrase: NounPhrase, drs: DRSBuilder, subjects: Referents | None
    ) -> Referents:
        """Return the referents of a pronoun. Raises _NoAntecedentError if there are none."""
        if phrase.determiner is Determiner.EACH_OTHER:
            if subjects is None:
                raise _NoAntecedentError
            return subjects
        if self.possessors and self.possessors[-1] != subjects:
            self.possessor_used = True
            return self.possessors[-1]
        accessible = {referent for builder in drs.accessible() for referent in builder.referents}
        subject_use = max(
            (index for index, item in enumerate(self.references) if item.referents == subjects),
            default=None,
        )
        possible = [
            (index, item)
            for index, item in enumerate(self.references)
            if item.referents != subjects and accessible.issuperset(item.referents)
        ]
        candidates = [
            item for index, item in possible if subject_use is None or index < subject_use
        ]
        coordinated = [
            item.referents
            for index, item in possible
            if self.in_main_predicate and subject_use is not None and index > subject_use
        ]
        if phrase.number == 2:
            plural = (item for item in candidates if len(item.referents) > 1)
            candidates = [*_join_topics(candidates, self.sentence), *plural]
        else:
            candidates = [item for item in candidates if len(item.referents) == 1]
            coordinated = [referents for referents in coordinated if len(referents) == 1]
        options = coordinated[-1:]
        if candidates:
            earlier_clauses = [item.clause for item in candidates if item.clause < self.clause] or [
                candidates[0].clause
            ]
            topic = next(item for item in candidates if item.clause == earlier_clauses[-1])
            options += [topic.referents, candidates[-1].referents]
        if not options:
            raise _NoAntecedentError
        return self.choose(list(dict.fromkeys(options)))

    def _add_predicate(
        self, predicate: syntax.Predicate, referents: Referents, drs: DRSBuilder
    ) -> None:
        """Add the conditions of a predicate on ``referents`` to ``drs``."""
        match predicate:
            case syntax.HasAttribute(attribute):
                drs.describe(referents, *attribute)
            case syntax.OnSide(side):
                drs.describe(referents, side, "side", frozenset({side}))
            case syntax.IsA(phrase):
                noun = self._resolve_noun(phrase)
                assert noun
                drs.describe(referents, noun.lemma, "noun", noun.kinds)
                for inner in phrase.predicates:
                    self._add_predicate(inner, referents, drs)
            case syntax.Not(predicates):
                for referent in referents:
                    negated = DRSBuilder(drs, negates_predicate=True)
                    drs.conditions.append(negated)
                    for inner in predicates:
                        self._add_predicate(inner, (referent,), negated)
            case RelatedTo():
                for group, positive in _split_by_polarity(predicate.objects):
                    related = predicate._replace(objects=group)
                    if positive:
                        self._add_relation(related, referents, drs)
                    else:
                        self._add_predicate(syntax.Not((related,)), referents, drs)

    def _add_relation(self, related: RelatedTo, referents: Referents, drs: DRSBuilder) -> None:
        used_before = self.possessor_used
        self.possessor_used = False
        if related.implicit:
            self.possessors.append(referents)
        objects = self._add_group(related.objects, drs, referents)
        if related.implicit:
            self.possessors.pop()
            relation_is_stated = self.possessor_used
            self.possessor_used = used_before
            if relation_is_stated:
                return
        self.possessor_used |= used_before
        for link in related.links:
            relation = Relation(referents, link.phrase, link.relations, objects)
            drs.conditions.append(Negation(DRS((), (relation,))) if link.negated else relation)


def _join_topics(references: Sequence[_Reference], sentence: int) -> Iterator[_Reference]:
    """Join the topics of the previous sentence into one reference: "a cup is red. a ball is blue. THEY are ...".

    The topic of a clause is its first reference. Yields nothing if the topics are fewer than two referents.
    """
    topics = {item.clause: item for item in reversed(references) if item.sentence < sentence}
    previous_sentence = max((item.sentence for item in topics.values()), default=None)
    latest = [item for item in topics.values() if item.sentence == previous_sentence]
    referents = tuple(
        dict.fromkeys(referent for item in reversed(latest) for referent in item.referents)
    )
    if len(referents) > 1:
        yield latest[0]._replace(referents=referents)


_WITHOUT_NEGATION = {Determiner.NO: Determiner.INDEFINITE, Determiner.NO_OTHER: Determiner.OTHER}


def _split_by_polarity(group: Group) -> Iterator[tuple[Group, bool]]:
    """Split a group into parts that are asserted (True) and parts that are denied (False).

    The members without "no" form one asserted part. Each member with "no" forms a denied part, in which its determiner
    is replaced: "a cup and no ball" -> ("a cup", True), ("a ball", False).
    """
    positive = tuple(
        phrase for phrase in group.members if phrase.determiner not in _WITHOUT_NEGATION
    )
    if positive:
        yield Group(positive, group.predicates), True
    for phrase in group.members:
        if phrase.determiner in _WITHOUT_NEGATION:
            yield (
                Group(
                    (phrase._replace(determiner=_WITHOUT_NEGATION[phrase.determiner]),),
                    group.predicates,
                ),
                False,
            )


def _may_refer_to(noun: Noun, earlier: Noun) -> bool:
    """Return True if ``noun`` can refer to a mention of ``earlier``: it names the same kind or a wider one."""
    if noun.kinds and earlier.kinds:
        return earlier.kinds <= noun.kinds
    return noun.lemma.removesuffix("s") == earlier.lemma.removesuffix("s")
