"""Captions to scene graphs by rules over spaCy's dependency parse.

Source: the rule-based textual scene graph parser of CREPE (arXiv:2212.07796, section 3.2 and appendix A.1). The rules
are ours; their conventions are those of FACTUAL's human graphs (Li et al. 2023):

- names are singular ("boxes" is ``box``), numbers are attributes in digits, participles keep their form;
- a predicate is the infinitive with particle and preposition (``sit on``); a preposition that is not directly behind
  its verb is a predicate of its own; phrasal prepositions have one form (phrasal_prepositions.py);
- a passive with its agent is the active relation: "hat worn by a cat" is (cat, wear, hat), with the mention "worn";
  "covered with" and "surrounded by" likewise;
- an owner or a whole has its part: "the cat's tail", "tail of a cat" are (cat, have, tail); a content is in its
  container: "a bowl of soup" is (soup, in, bowl); a person "in a shirt" is (person, wear, shirt). The mention is then
  the word of the caption ("'s", "of", "in") with its tag, and the text is not a form of it;
- "two balls next to each other" relates one object node to itself;
- objects that the caption denies, and those mentioned only for them, are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from generators.parser import lemmas, lexicon, word_forms
from generators.parser.clauses import Clauses
from generators.parser.nouns import Nouns
from generators.parser.predicative_attributes import add_predicative_attributes
from generators.parser.relation_extraction import Relations
from generators.parser.sentence import Sentence
from generators.parser.spacy_model import MAX_CHARACTERS, installed_model
from generators.parser.tree_repairs import repair
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject

if TYPE_CHECKING:
    from spacy.language import Language

UNUSED_COMPONENTS = ("ner", "senter", "lemmatizer", "attribute_ruler")
BATCH_SIZE = 256
_OPENERS = lexicon.words("openers")


class RuleParser:
    """The project's own :class:`~generators.parser.caption_parser.CaptionParser`."""

    added_words = word_forms.ADDED_WORDS

    def __init__(self) -> None:
        self._nlp = _load()
        lemmas.load_tables()

    def forms(self, token: str) -> frozenset[str]:
        """All words that a token can become in an atom."""
        return word_forms.word_forms(token)

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]:
        """One parse per caption, in order; a caption without words has an empty graph."""
        texts = ((_prepare(caption), caption) for caption in captions)
        for doc, caption in self._nlp.pipe(texts, as_tuples=True, batch_size=BATCH_SIZE):
            yield _read(repair(Sentence(doc, skip=_opens_bare(caption))), caption)


def _read(sentence: Sentence, caption: str) -> Parse:
    clauses = Clauses(sentence, Nouns(sentence))
    relations = Relations(clauses)
    add_predicative_attributes(clauses, relations.used)
    nouns = [noun for noun in clauses.nouns.by_head.values() if noun.head not in relations.denied]
    ids = {noun.head: f"o{number}" for number, noun in enumerate(nouns)}
    starts, ends = sentence.starts, sentence.ends
    objects: list[SceneObject] = []
    edges: list[Relation] = []
    mentions: list[Mention] = []
    for noun in nouns:
        key, tag = ids[noun.head], sentence.tags[noun.head]
        objects.append(SceneObject(key, noun.name, tuple(item.text for item in noun.attributes)))
        mentions.append(Mention("object", noun.name, starts[noun.start], ends[noun.head], tag, key))
        for text, start, last, tag in noun.attributes:
            mentions.append(Mention("attribute", text, starts[start], ends[last], tag, key))
    for subject, (text, start, last, tag), target in relations.asserted():
        edges.append(Relation(ids[subject], text, ids[target]))
        mentions.append(Mention("relation", text, starts[start], ends[last], tag, ids[subject], ids[target]))
    return Parse(caption, SceneGraph(tuple(objects), tuple(edges)), tuple(mentions))


def _prepare(caption: str) -> str:
    """The text for spaCy: lower case, with an article before a bare noun so that it is tagged as a noun."""
    return ("the " if _opens_bare(caption) else "") + _lower(caption[:MAX_CHARACTERS])


def _opens_bare(caption: str) -> bool:
    return caption[:1].isalpha() and caption.split(maxsplit=1)[0].lower() not in _OPENERS


def _lower(caption: str) -> str:
    """Lower case that spaCy can encode, of the same length, so that offsets stay valid."""
    text = caption.encode("utf-8", "replace").decode("utf-8")
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _load() -> Language:
    import spacy.util

    nlp = spacy.load(installed_model(), exclude=list(UNUSED_COMPONENTS))
    infixes = [pattern for pattern in nlp.Defaults.infixes or [] if not re.search(pattern, "a-a")]
    tokenizer: Any = nlp.tokenizer  # typed as a function, though it has attributes
    tokenizer.infix_finditer = spacy.util.compile_infix_regex(infixes).finditer  # a hyphenated word is one token
    return nlp
