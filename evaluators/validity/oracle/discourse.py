"""Which words of a caption speak of the same thing: from syntax trees to claims (logic.Box).

Rules, one for each way to name a thing:
- "a ball", "two balls", "another ball": new things. Numbers mean "at least", a plural "at least two"
  (under negation "any").
- "the ball": the thing that an earlier mention of the noun introduced. Of several, those that were called all that
  the new mention calls it, else those it may be (no other colour was named); every one of these is a reading. With
  none, a new thing. "The animal" may be an earlier cat.
- "ball" with no article: as "the ball" where an earlier sentence spoke of one; where an earlier clause of the same
  sentence did, it may also be new; else it is new.
- "the other ball": one of at least two earlier balls, else a new one.
- "it", "they": what the clause before spoke of first, or what was mentioned last; inside "with a lamp on it", what the
  phrase is attached to.
- "no ball", "it is not the case", "does not show": a negated box around the whole statement.
- "not on a table", "without a hat": a negated box around the predicate of each subject, "a table" inside it, "the
  table" outside. When a later mention takes up a thing inside, it moves out: then the thing must exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from evaluators.validity.oracle.drafts import Draft, Mention, Refs
from evaluators.validity.oracle.lexicon import Look, Noun
from evaluators.validity.oracle.logic import Apart, Box, Has, Kind, Lies, No, Related
from evaluators.validity.oracle.syntax import (
    Denied,
    Determiner,
    Exists,
    Group,
    IsA,
    Looks,
    Not,
    NounPhrase,
    Predicate,
    Side,
    Stands,
    Statement,
)

Option = TypeVar("Option")

_Spoken = tuple[int, int, Refs]
"""Sentence, clause, and the things that were named there."""

ONE = "one"
"""The noun of "a blue one": that of the mention before it."""


class _NoAntecedentError(Exception):
    """A pronoun has nothing before it that it could mean."""


def claims(sentences: Sequence[Sequence[Statement]]) -> Iterator[Box]:
    """Every way to settle what the mentions of a text refer to.

    Each run takes the first option wherever there is a choice and notes the others as plans for later runs. None is
    left if a pronoun has nothing before it that it could mean.
    """
    plans: list[tuple[int, ...]] = [()]
    while plans:
        with suppress(_NoAntecedentError):
            yield Discourse(_Chooser(plans.pop(), plans)).read(sentences)


class _Chooser:
    """Takes the planned options, then first ones."""

    def __init__(self, plan: tuple[int, ...], plans: list[tuple[int, ...]]) -> None:
        self.plan, self.plans = plan, plans
        self.taken = 0

    def __call__(self, options: Sequence[Option]) -> Option:
        if self.taken == len(self.plan):
            self.plans.extend((*self.plan, other) for other in range(1, len(options)))
            self.plan = (*self.plan, 0)
        self.taken += 1
        return options[self.plan[self.taken - 1]]


class Discourse:
    """One pass through a text."""

    def __init__(self, choose: _Chooser) -> None:
        self.choose = choose
        self.root = Draft()
        self.mentions: list[Mention] = []
        self.spoken: list[_Spoken] = []
        self.anchors: list[Refs] = []  # what "it" is inside "with a lamp on it"
        self.anchored = False  # whether the innermost anchor was used
        self.count = self.sentence = self.clause = 0

    def read(self, sentences: Sequence[Sequence[Statement]]) -> Box:
        for self.sentence, statements in enumerate(sentences):
            for statement in statements:
                self.clause += 1
                self.statement(statement, self.root)
        return self.root.finished()

    def statement(self, statement: Statement, draft: Draft) -> None:
        if isinstance(statement, Denied):
            inside = Draft(draft)
            for denied in statement.statements:
                self.statement(denied, inside)
            draft.conditions.append(inside)
            return
        for group, positive in _split(statement.group):
            if positive:
                self.group(group, draft, None)
            else:
                self.statement(Denied((Exists(group),)), draft)

    def group(self, group: Group, draft: Draft, head: Refs | None) -> Refs:
        """The things that a group speaks of; ``head`` is what it is put in relation to."""
        refs = tuple(dict.fromkeys(ref for phrase in group.members for ref in self.phrase(phrase, draft, head)))
        if len(group.members) > 1:
            self.spoken.append((self.sentence, self.clause, refs))
        for predicate in group.predicates:
            self.predicate(predicate, refs, draft)
        return refs

    def phrase(self, phrase: NounPhrase, draft: Draft, head: Refs | None) -> Refs:
        noun = self._noun(phrase)
        looks = frozenset(item.look for item in phrase.predicates if isinstance(item, Looks))
        known = self._antecedent(phrase, noun, looks, draft, head) if noun else self._pronoun(phrase, draft, head)
        if known is None:
            assert noun
            return self._introduce(phrase, noun, looks, draft)
        self.spoken.append((self.sentence, self.clause, known))
        for predicate in phrase.predicates:
            self.predicate(predicate, known, draft.past_predicates())
        return known

    def _noun(self, phrase: NounPhrase) -> Noun | None:
        if phrase.noun and phrase.noun.lemma == ONE:
            if not self.mentions:
                raise _NoAntecedentError
            return self.mentions[-1].noun._replace(plural=phrase.noun.plural)
        return phrase.noun

    def _introduce(self, phrase: NounPhrase, noun: Noun, looks: frozenset[Look], draft: Draft) -> Refs:
        if phrase.determiner is Determiner.DEFINITE:
            draft = draft.past_predicates()
        count = phrase.count or (2 if noun.plural and draft is self.root else 1)
        refs = tuple(range(self.count, self.count + count))
        self.count += count
        ref_start, condition_start = len(draft.refs), len(draft.conditions)
        draft.refs.extend(refs)
        draft.conditions.extend(Kind(ref, noun) for ref in refs)
        if phrase.determiner is Determiner.OTHER:
            visible = list(draft.chain())
            others = [mention for mention in self.mentions if mention.draft in visible and _same(noun, mention.noun)]
            apart_from = tuple(ref for mention in others for ref in mention.refs)
            draft.conditions.extend(Apart(ref, apart_from) for ref in refs if apart_from)
        mention = Mention(noun, looks, refs, draft, self.sentence, self.clause)
        self.mentions.append(mention)
        self.spoken.append((self.sentence, self.clause, refs))
        for predicate in phrase.predicates:
            self.predicate(predicate, refs, draft)
        mention.own_refs = draft.refs[ref_start:]
        mention.own_conditions = draft.conditions[condition_start:]
        return refs

    def _antecedent(
        self, phrase: NounPhrase, noun: Noun, looks: frozenset[Look], draft: Draft, head: Refs | None
    ) -> Refs | None:
        """The things of the earlier mention that is taken up, None for a new one."""
        bare, other = phrase.determiner is Determiner.BARE, phrase.determiner is Determiner.THE_OTHER
        if not bare and not other and phrase.determiner is not Determiner.DEFINITE:
            return None
        earlier = [
            mention
            for mention in self.mentions
            if _same(noun, mention.noun)
            and not (bare and (mention.clause == self.clause or mention.noun.kinds != noun.kinds))
            and not any(_clash(look, said) for look in looks for said in mention.looks)
        ]
        if phrase.ordinal is not None:
            earlier = earlier[phrase.ordinal : phrase.ordinal + 1]
        elif other and len(earlier) < 2:
            return None
        earlier = [mention for mention in earlier if mention.refs != head]
        if said := [mention for mention in earlier if looks <= mention.looks]:
            earlier = said
        if not earlier:
            return None
        if noun.plural and len(earlier) > 1 and all(len(mention.refs) == 1 for mention in earlier):
            return tuple(ref for mention in earlier for ref in self._reach(mention, draft))
        options: list[Mention | None] = [*reversed(earlier)]
        if bare and all(mention.sentence == self.sentence for mention in earlier):
            options.append(None)
        chosen = self.choose(options)
        return self._reach(chosen, draft) if chosen else None

    def _reach(self, mention: Mention, draft: Draft) -> Refs:
        """The mention's things, moved out of a negated box that ``draft`` cannot see into."""
        inside = mention.draft
        if inside not in draft.chain():
            refs = [ref for ref in mention.own_refs if ref in inside.refs]
            conditions = [condition for condition in mention.own_conditions if condition in inside.conditions]
            inside.refs = [ref for ref in inside.refs if ref not in refs]
            inside.conditions = [condition for condition in inside.conditions if condition not in conditions]
            self.root.refs += refs
            self.root.conditions += conditions
            for condition in conditions:
                if isinstance(condition, Draft):
                    condition.outer = self.root
            for other in self.mentions:
                if other.draft is inside and set(other.refs) <= set(refs):
                    other.draft = self.root
        return mention.refs

    def _pronoun(self, phrase: NounPhrase, draft: Draft, head: Refs | None) -> Refs:
        if phrase.determiner is Determiner.EACH_OTHER:
            if head is None:
                raise _NoAntecedentError
            return head
        if self.anchors and self.anchors[-1] != head:
            self.anchored = True
            return self.anchors[-1]
        visible = {ref for box in draft.chain() for ref in box.refs}
        last = max((at for at, (*_, refs) in enumerate(self.spoken) if refs == head), default=len(self.spoken))
        before = [item for item in self.spoken[:last] if item[-1] != head and visible.issuperset(item[-1])]
        if phrase.count == 2:
            before = [*_subjects(before, self.sentence), *(item for item in before if len(item[-1]) > 1)]
        else:
            before = [item for item in before if len(item[-1]) == 1]
        if not before:
            raise _NoAntecedentError
        earlier = [clause for _, clause, _ in before if clause < self.clause] or [before[0][1]]
        topic = next(refs for _, clause, refs in before if clause == earlier[-1])
        return self.choose(list(dict.fromkeys((topic, before[-1][-1]))))

    def predicate(self, predicate: Predicate, refs: Refs, draft: Draft) -> None:
        match predicate:
            case Looks(look):
                draft.conditions.extend(Has(ref, look) for ref in refs)
            case Side(side):
                draft.conditions.extend(Lies(ref, side) for ref in refs)
            case IsA(phrase):
                noun = self._noun(phrase)
                assert noun
                draft.conditions.extend(Kind(ref, noun) for ref in refs)
                for inner in phrase.predicates:
                    self.predicate(inner, refs, draft)
            case Not(predicates):
                for ref in refs:
                    inside = Draft(draft, predicate=True)
                    draft.conditions.append(inside)
                    for inner in predicates:
                        self.predicate(inner, (ref,), inside)
            case Stands():
                for group, positive in _split(predicate.objects):
                    if positive:
                        self._stand(replace(predicate, objects=group), refs, draft)
                    else:
                        self.predicate(Not((replace(predicate, objects=group),)), refs, draft)

    def _stand(self, stands: Stands, refs: Refs, draft: Draft) -> None:
        outer, self.anchored = self.anchored, False
        if stands.vague:
            self.anchors.append(refs)
        objects = self.group(stands.objects, draft, refs)
        if stands.vague:
            self.anchors.pop()
            said, self.anchored = self.anchored, outer
            if said:
                return
        self.anchored |= outer
        for link in stands.links:
            related = Related(refs, link.phrase, link.relations, objects)
            draft.conditions.append(No(Box((), (related,))) if link.negated else related)


def _subjects(spoken: Sequence[_Spoken], sentence: int) -> Iterator[_Spoken]:
    """What the clauses of the last sentence before this one spoke of first, taken together, if there are several."""
    clauses = {clause: (said, clause, refs) for said, clause, refs in reversed(spoken) if said < sentence}
    latest = [item for item in clauses.values() if item[0] == max(said for said, _, _ in clauses.values())]
    refs = tuple(dict.fromkeys(ref for *_, refs in reversed(latest) for ref in refs))
    if len(refs) > 1:
        yield (*latest[0][:2], refs)


_DENIED = {Determiner.NO: Determiner.INDEFINITE, Determiner.NO_OTHER: Determiner.OTHER}


def _split(group: Group) -> Iterator[tuple[Group, bool]]:
    """The members that are claimed, together, then each that is denied ("no ball"), as one that is claimed."""
    claimed = tuple(phrase for phrase in group.members if phrase.determiner not in _DENIED)
    if claimed:
        yield Group(claimed, group.predicates), True
    for phrase in group.members:
        if phrase.determiner in _DENIED:
            yield Group((replace(phrase, determiner=_DENIED[phrase.determiner]),), group.predicates), False


def _same(noun: Noun, said: Noun) -> bool:
    """Whether ``noun`` may take up what was called ``said``: the same kind, or a wider one."""
    if noun.kinds and said.kinds:
        return said.kinds <= noun.kinds
    return noun.lemma.removesuffix("s") == said.lemma.removesuffix("s")


def _clash(look: Look, said: Look) -> bool:
    return look.slot == said.slot and look != said and not look.values & said.values
