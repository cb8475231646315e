"""Captions to scene graphs by rules over spaCy's dependency parse.

Source: CREPE (arXiv:2212.07796, section 3.2 and appendix A.1) uses a rule-based textual scene graph parser. The rules
here are our own; their conventions follow FACTUAL's human graphs (Li et al. 2023):

- Names are singular ("boxes" is ``box``), numbers are attributes in digits, and participles keep their form.
- A predicate is the infinitive with its particle and preposition (``sit on``). A preposition that does not directly
  follow its verb is a separate predicate. Phrasal prepositions have one form (phrasal_prepositions.py).
- A passive with its agent becomes the active relation: "hat worn by a cat" is (cat, wear, hat), and the mention is
  "worn". The same rule applies to "covered with" and "surrounded by".
- Owners and wholes have their parts: "the cat's tail" and "tail of a cat" are (cat, have, tail). Contents are in their
  container: "a bowl of soup" is (soup, in, bowl). A person "in a shirt" is (person, wear, shirt). In these cases the
  mention is the word in the caption ("'s", "of", "in"), and the predicate is a different word.
- "two balls next to each other" relates one object node to itself.
- Objects that the caption denies are omitted. Objects that are mentioned only in relation to these are omitted too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from compeval.base.schemas.scene_graph import (
    AtomKind,
    Mention,
    Parse,
    Relation,
    SceneGraph,
    SceneObject,
)
from compeval.generators.language.optional_imports import without
from compeval.generators.parser import lemmas, word_forms
from compeval.generators.parser.clauses import Clauses
from compeval.generators.parser.lexicon import WORDS
from compeval.generators.parser.nouns import Nouns
from compeval.generators.parser.predicative_attributes import add_predicative_attributes
from compeval.generators.parser.relation_extraction import Relations
from compeval.generators.parser.sentence import Sentence
from compeval.generators.parser.spacy_model import MAX_CHARACTERS, clean_text, find_installed_model
from compeval.generators.parser.tree_repairs import repair

if TYPE_CHECKING:
    from spacy.language import Language

UNUSED_COMPONENTS = ("ner", "senter", "lemmatizer", "attribute_ruler")
BATCH_SIZE = 256
WORD = re.compile(r"\S+")
IRREGULAR_SPACE = re.compile(r"^\s|\s\s|[^\S ]")
"""White space other than single spaces between words."""
MAX_STRINGS = 500_000
"""spaCy keeps every word that it reads, and web text has millions of them. With more, the model is loaded again."""


class RuleParser:
    """The project's own parser. Its interface: :class:`~compeval.generators.parser.caption_parser.CaptionParser`."""

    added_words = word_forms.ADDED_WORDS
    reciprocal_words = word_forms.RECIPROCAL_WORDS

    def __init__(self) -> None:
        self._nlp = _load_model()
        lemmas.load_tables()

    def forms(self, token: str, kind: AtomKind) -> frozenset[str]:
        return word_forms.find_word_forms(token, kind)

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]:
        if len(self._nlp.vocab.strings) > MAX_STRINGS:
            self._nlp = _load_model()
        texts = ((_prepare_text(squeeze(caption)), caption) for caption in captions)
        for doc, caption in self._nlp.pipe(texts, as_tuples=True, batch_size=BATCH_SIZE):
            sentence = Sentence(doc, skip=_starts_without_article(squeeze(caption)))
            _restore_offsets(sentence, caption)
            yield _build_parse(repair(sentence), caption)


def squeeze(caption: str) -> str:
    """Return the start of a caption with single spaces, because spaCy takes other white space for words.

    The caption is cut before, as in :func:`clean_text`, so that the parse has no words of the rest.
    """
    start = caption[:MAX_CHARACTERS]
    return " ".join(WORD.findall(start)) if IRREGULAR_SPACE.search(start) else start


def _restore_offsets(sentence: Sentence, caption: str) -> None:
    """Replace offsets in the squeezed caption by those in the caption itself."""
    if IRREGULAR_SPACE.search(caption):
        words = (range(word.start() - 1, word.end()) for word in WORD.finditer(caption))
        positions = list(chain.from_iterable(words))[1:]
        sentence.starts = [positions[start] for start in sentence.starts]
        sentence.ends = [positions[end - 1] + 1 for end in sentence.ends]


def _build_parse(sentence: Sentence, caption: str) -> Parse:
    clauses = Clauses(sentence, Nouns(sentence))
    relations = Relations(clauses)
    add_predicative_attributes(clauses, relations.related)
    nouns = [noun for noun in clauses.nouns.by_head.values() if noun.head not in relations.negated]
    ids = {noun.head: f"o{number}" for number, noun in enumerate(nouns)}
    starts = sentence.starts
    ends = sentence.ends
    objects: list[SceneObject] = []
    edges: list[Relation] = []
    mentions: list[Mention] = []
    for noun in nouns:
        key = ids[noun.head]
        tag = sentence.tags[noun.head]
        objects.append(SceneObject(key, noun.name, tuple(item.text for item in noun.attributes)))
        mentions.append(Mention("object", noun.name, starts[noun.start], ends[noun.head], tag, key))
        for text, start, last, tag in noun.attributes:
            mentions.append(Mention("attribute", text, starts[start], ends[last], tag, key))
    for subject, (text, start, last, tag), target in relations.list_asserted():
        edges.append(Relation(ids[subject], text, ids[target]))
        mentions.append(
            Mention("relation", text, starts[start], ends[last], tag, ids[subject], ids[target])
        )
    return Parse(caption, SceneGraph(tuple(objects), tuple(edges)), tuple(mentions))


def _prepare_text(caption: str) -> str:
    """Return the lower-case text for spaCy, with "the" before an initial noun, so that spaCy tags it as a noun."""
    return ("the " if _starts_without_article(caption) else "") + clean_text(caption).lower()


def _starts_without_article(caption: str) -> bool:
    """Return True if the caption starts with a word that is not in the list of openers."""
    return caption[:1].isalpha() and caption.split(maxsplit=1)[0].lower() not in WORDS["openers"]


def _load_model() -> Language:
    with without("torch"):
        import spacy.util

    nlp = spacy.load(find_installed_model(), exclude=list(UNUSED_COMPONENTS))
    infixes = [pattern for pattern in nlp.Defaults.infixes or [] if not re.search(pattern, "a-a")]
    tokenizer: Any = nlp.tokenizer  # typed as a function, though it has attributes
    tokenizer.infix_finditer = spacy.util.compile_infix_regex(
        infixes
    ).finditer  # a hyphenated word is one token
    return nlp
