"""The relations of a caption: verbs with objects, prepositions, and owners."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from compeval.generators.parser import lemmas
from compeval.generators.parser.clauses import Attachment, Clauses
from compeval.generators.parser.lexicon import LEXICON, WORDS
from compeval.generators.parser.sentence import COVERING, MERGED, Span
from compeval.generators.parser.word_forms import RECIPROCAL_WORDS


class Edge(NamedTuple):
    """A relation between two objects, given by their head tokens."""

    subject: int
    predicate: Span
    object: int


class Relations:
    """The relations of a sentence.

    ``related`` are the verbs and adverbs that state a relation, and ``negated`` the objects that the caption denies.
    """

    def __init__(self, clauses: Clauses) -> None:
        self.clauses = clauses
        self.sentence = clauses.sentence
        self.nouns = clauses.nouns
        self.related: set[int] = set()
        self.negated = set(self.nouns.negated)
        self._edges: dict[tuple[int, str, int], Edge] = {}
        self._restated_pairs: set[tuple[int, int]] = set()
        for index, dep in enumerate(self.sentence.deps):
            if dep == COVERING:
                self._add_covering(index)
            elif dep != MERGED and clauses.is_preposition(index):
                self._add_preposition(index)
            elif dep != MERGED and self.sentence.is_verb(index):
                self._add_direct_object(index)
        for index, word in enumerate(self.sentence.words):
            if word in WORDS["stranded"]:
                self._add_stranded(index)
        for head in self.nouns.by_head:
            self._add_owner(head)
        self._spread_negation()
        self._name_eyewear()

    def list_asserted(self) -> list[Edge]:
        """Return the relations that the caption asserts, in the order of their tokens."""
        edges = [
            edge
            for edge in self._edges.values()
            if not {edge.subject, edge.object} & self.negated
            and not (
                edge.predicate.text in WORDS["possession"]
                and (edge.subject, edge.object) in self._restated_pairs
            )
        ]
        return sorted(edges, key=lambda edge: (edge.predicate.start, edge.subject, edge.object))

    # Assertion and negation

    def _add(
        self, verb: int | None, subjects: list[int], predicate: Span, objects: list[int]
    ) -> None:
        """Add a relation between all subjects and all objects, or deny the objects if the relation is negated."""
        if verb is not None:
            self.related.add(verb)
        if self.sentence.is_negated(predicate.start) or (
            verb is not None and self.sentence.is_negated(verb)
        ):
            self.negated.update(head for head in objects if not self._is_definite(head))
            return
        for subject, target in product(subjects, objects):
            if subject != target:
                self._edges.setdefault(
                    (subject, predicate.text, target), Edge(subject, predicate, target)
                )

    def _is_definite(self, head: int) -> bool:
        return self.sentence.any_in(self.sentence.children_by(head, "det", "poss"), "definite")

    def _spread_negation(self) -> None:
        """Mark objects as negated if the caption mentions them only for a negated object ("no ball next to a box")."""
        for edge in sorted(self._edges.values(), key=lambda edge: edge.predicate.start):
            if edge.subject in self.negated and not self._is_definite(edge.object):
                self.negated.add(edge.object)

    def _name_eyewear(self) -> None:
        """Rename "glass" to "glasses" if a person wears them."""
        for edge in self._edges.values():
            noun = self.nouns.by_head[edge.object]
            is_worn = (
                edge.predicate.text == "wear" and self.sentence.words[edge.object] == "glasses"
            )
            if is_worn and noun.lemma == "glass":
                noun.name = noun.name.removesuffix("glass") + "glasses"
                noun.lemma = "glasses"

    # Verbs

    def _add_covering(self, verb: int) -> None:
        """Add the relation of a phrase like "a snow covered sign"."""
        predicate = self.sentence.make_span(lemmas.infinitive(self.sentence.words[verb]), verb)
        covered = self.nouns.resolve(self.sentence.heads[verb])[:1]
        self._add(verb, self.nouns.resolve(verb - 1)[:1], predicate, covered)

    def _add_direct_object(self, verb: int) -> None:
        s = self.sentence
        lemma = lemmas.infinitive(s.words[verb])
        direct = s.children_by(verb, "dobj")
        if lemma == "be" or (s.deps[verb] in {"aux", "auxpass", "amod"} and not direct):
            return
        objects = self.clauses.find_objects(direct)
        if not direct and not s.children_by(verb, "prep", "agent"):
            objects = self.clauses.find_gap_objects(verb)
        if not objects:
            return
        particles = s.children_by(verb, "prt") if lemma != "have" else []
        last = particles[0] if particles[:1] == [verb + 1] else verb
        text = " ".join([lemma, *(s.words[index] for index in particles)])
        self._add(verb, self.clauses.find_subjects(verb), s.make_span(text, verb, last), objects)

    # Prepositions

    def _add_preposition(self, index: int) -> None:
        s = self.sentence
        if s.is_in(index, "no_relation"):
            return
        attachment = self.clauses.find_attachment(index)
        complements = s.children_by(index, "pobj", "pcomp")
        if not complements:  # "behind and above a box"
            complements = [
                child
                for other in s.children_by(index, "conj")
                for child in s.children_by(other, "pobj")
            ]
        objects = self.clauses.find_objects(complements)
        if not objects and any(s.words[child] in RECIPROCAL_WORDS for child in complements):
            self._add_reciprocal(index, attachment)
            return
        if (
            s.words[index] == "in"
            and objects
            and all(s.is_in(head, "arrangements") for head in objects)
        ):
            self.negated.update(objects)
            return
        if not objects:
            attachment = self._attach_to_preceding_noun(index, attachment, complements)
            objects = self._find_antecedent(index, attachment, complements)
        if not objects or not attachment.subjects:
            return
        if attachment.verb is None or attachment.prefix:
            self._add_to_noun(index, attachment, objects)
        else:
            self._add_to_verb(index, attachment.verb, attachment.subjects, objects)

    def _add_reciprocal(self, index: int, attachment: Attachment) -> None:
        """Add the relation of "next to each other": between two subjects, or from a plural subject to itself."""
        predicate = self._join_verb(index, attachment.verb)
        if attachment.verb is not None:
            self.related.add(attachment.verb)
        if attachment.subjects:
            first, target = (attachment.subjects * 2)[:2]
            self._edges[first, predicate.text, target] = Edge(first, predicate, target)

    def _attach_to_preceding_noun(
        self, index: int, attachment: Attachment, complements: list[int]
    ) -> Attachment:
        """Attach "in it" to the noun directly before it, even if the tree differs ("a glass has liquid in it")."""
        s = self.sentence
        has_pronoun = s.any_in(complements, "third_person")
        is_possession = (
            attachment.verb is None or lemmas.infinitive(s.words[attachment.verb]) == "have"
        )
        if (
            (has_pronoun or (not complements and s.lasts[index] > index))
            and is_possession
            and index - 1 in self.nouns
        ):
            return Attachment(self.nouns.resolve_before(index - 1, index))
        return attachment

    def _find_antecedent(
        self, index: int, attachment: Attachment, complements: list[int]
    ) -> list[int]:
        """Return the object of a stranded preposition ("the bench they sit on") or of a pronoun ("on it")."""
        s = self.sentence
        if (
            not complements
            and attachment.verb is not None
            and (gap := self.clauses.find_gap_objects(attachment.verb))
        ):
            return gap
        if complements and not s.any_in(complements, "third_person"):
            return []
        if not complements and s.lasts[index] == index:
            return []
        earlier = [
            head for head in self.nouns.by_head if head < index and head not in attachment.subjects
        ]
        owners = [
            edge.subject
            for edge in self._edges.values()
            if edge.predicate.text in WORDS["possession"]
            and edge.object in attachment.subjects
            and edge.subject in earlier
        ]
        antecedent = owners[:1] or (earlier if len(earlier) == 1 else [])
        self._restated_pairs.update(
            (head, subject) for head in antecedent for subject in attachment.subjects
        )
        return antecedent

    def _add_to_noun(self, index: int, attachment: Attachment, objects: list[int]) -> None:
        """Add the relation of a preposition that is attached to a noun or to "be"."""
        s = self.sentence
        subjects = attachment.subjects
        word = s.words[index]
        text = " ".join([*(s.words[part] for part in attachment.prefix), word])
        if text == "of":
            subjects, text, objects = self._resolve_of(subjects[-1], objects)
        elif text == "in" and self._is_worn(subjects, objects):
            text = "wear"
        elif text == "with" and s.any_in(s.children_by(objects[0], "poss"), "possessives"):
            text = "have"
        predicate = Span(text, min((index, *attachment.prefix)), s.lasts[index], s.tags[index])
        self._add(attachment.verb, subjects, predicate, objects)

    def _is_worn(self, subjects: list[int], objects: list[int]) -> bool:
        return self.nouns.is_animate(subjects[0]) and self.nouns.are_clothes(objects)

    def _resolve_of(self, subject: int, objects: list[int]) -> tuple[list[int], str, list[int]]:
        """Return the relation of "of" as (subjects, predicate, objects).

        A content is in its container, an area has its content ("a field of flowers"), and a whole has its part.
        """
        name = self.nouns.by_head[subject].lemma
        if name in WORDS["containers"]:
            return objects, "on" if name in WORDS["surfaces"] else "in", [subject]
        return (
            ([subject], "have", objects)
            if name in WORDS["area_nouns"]
            else (objects, "have", [subject])
        )

    def _add_to_verb(self, index: int, verb: int, subjects: list[int], objects: list[int]) -> None:
        """Add the relation of a preposition that is attached to a verb. A passive with an agent becomes active."""
        s = self.sentence
        lemma = lemmas.infinitive(s.words[verb])
        word = s.words[index]
        direct = s.children_by(verb, "dobj")
        if s.tags[verb] in {"VBN", "VBD"} and not direct and self._is_agent(lemma, word, objects):
            self._add(verb, objects, s.make_span(lemma, verb), subjects)
        elif lemma == "be" or (lemma == "have" and not direct):
            self._add_to_noun(index, Attachment(subjects, verb), objects)
        elif word == "in" and self._is_worn(subjects, objects):
            self._add(None, subjects, s.make_span("wear", index), objects)
        elif direct:
            held = word in WORDS["held_prepositions"] and all(map(self.nouns.is_body_part, objects))
            owners = self.clauses.find_objects(direct) if held else subjects
            self._add(None, owners, s.make_span(word, index, s.lasts[index]), objects)
        else:
            self._add(verb, subjects, self._join_verb(index, verb), objects)

    def _is_agent(self, lemma: str, word: str, objects: list[int]) -> bool:
        """Return True if the preposition after a passive verb names the agent, not the position."""
        if word in LEXICON["reversed_verbs"].get(lemma, "").split():
            return True
        return (
            word == "by"
            and lemma not in WORDS["locative_verbs"]
            and not all(map(self.nouns.is_body_part, objects))
        )

    def _join_verb(self, index: int, verb: int | None) -> Span:
        """Return the preposition with the verb directly before it ("sit on"), or else the preposition alone."""
        s = self.sentence
        lemma = lemmas.infinitive(s.words[verb]) if verb is not None else ""
        if verb is None or lemma in WORDS["meaningless_verbs"] or self._is_apart(verb, index):
            return s.make_span(s.words[index], index, s.lasts[index])
        particles = [s.words[child] for child in s.children_by(verb, "prt") if child != index]
        text = " ".join([lemma, *particles, s.words[index]])
        return s.make_span(text, verb, s.lasts[index] if verb < index else verb)

    def _is_apart(self, verb: int, index: int) -> bool:
        s = self.sentence
        between = range(verb + 1, index)
        return any(
            s.tags[other] not in {"RB", "RP"} or s.is_in(other, "spatial_adverbs")
            for other in between
        )

    def _add_stranded(self, index: int) -> None:
        """Add the relation of "inside" in "a box with a ball inside" and of "on" in "a man with a hat on"."""
        s = self.sentence
        content = index - 1
        if (
            content not in self.nouns
            or s.deps[index] == MERGED
            or s.lasts[index] > index
            or s.children[index]
        ):
            return
        for edge in [
            edge for edge in self._edges.values() if edge.predicate.text in WORDS["possession"]
        ]:
            if edge.object != content:
                continue
            if s.words[index] != "on":
                edge = edge._replace(subject=content, object=edge.subject)
                text = s.words[index]
            elif self._is_worn([edge.subject], [content]):
                text = "wear"
            else:
                continue
            self.related.add(index)
            self._restated_pairs.update({(edge.subject, edge.object), (edge.object, edge.subject)})
            self._add(None, [edge.subject], Span(text, index, index, "RB"), [edge.object])

    # Owners

    def _add_owner(self, head: int) -> None:
        """Add the relation of "the cat's tail", or the owner of a body part ("in his hand").

        The owner of a body part is added only if no other relation joins the two.
        """
        s = self.sentence
        for child in s.children_by(head, "poss"):
            if child in self.nouns:
                marks = [mark for mark in s.children[child] if s.tags[mark] == "POS"]
                self._add(None, [child], s.make_span("have", (*marks, child)[0]), [head])
            elif s.is_in(child, "possessives") and self.nouns.is_body_part(head):
                earlier = [other for other in self.nouns.by_head if other < head]
                owner = [other for other in earlier if self.nouns.is_animate(other)][
                    -1:
                ] or earlier[:1]
                if not any(
                    (edge.subject, edge.object) == (*owner, head) for edge in self._edges.values()
                ):
                    self._add(None, owner, s.make_span("have", child), [head])
