import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lemminflect import getLemma

from compeval.generators.compprompts import (
    GRID,
    Cell,
    CompPromptsSettings,
    Filler,
    draw_prompt,
    draw_prompts,
    make_fillers,
    write,
)
from compeval.generators.language import inflection
from compeval.generators.language.wordnet_database import wordnet
from compeval.loaders.papers.prompt_types import PROMPT_TYPES

WORDS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "sample/words/compprompts.yaml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def fillers() -> dict[str, list[Filler]]:
    return make_fillers(WORDS)


def animate_senses(noun: str) -> list[Any]:
    animate = {wordnet().synset("person.n.01"), wordnet().synset("animal.n.01")}
    name = noun.replace(" ", "_")
    return [
        sense
        for sense in wordnet().synsets(name, "n")
        if name in sense.lemma_names()
        and any(animate & set(path) for path in sense.hypernym_paths())
    ]


def test_nouns_are_animate_and_none_is_a_synonym_or_a_kind_of_another():
    senses = {noun: animate_senses(noun) for noun in WORDS["nouns"]}
    assert len(senses) >= 300
    assert all(senses.values())
    shared = Counter(sense for noun_senses in senses.values() for sense in noun_senses)
    assert [sense for sense, count in shared.items() if count > 1] == []
    first_senses = {noun_senses[0]: noun for noun, noun_senses in senses.items()}
    kinds = [
        (noun, first_senses[hypernym])
        for sense, noun in first_senses.items()
        for hypernym in {hypernym for path in sense.hypernym_paths() for hypernym in path} - {sense}
        if hypernym in first_senses
    ]
    assert kinds == []


@pytest.mark.parametrize(
    ("key", "pos"), [("intransitive", "v"), ("transitive", "v"), ("adjectives", "a")]
)
def test_verbs_and_adjectives_are_in_wordnet_and_listed_once(key: str, pos: str):
    listed = WORDS[key]
    words = (
        listed
        if isinstance(listed, list)
        else [word for group in listed.values() for word in group]
    )
    assert len(words) == len(set(words))
    assert all(wordnet().synsets(word, pos) for word in words)


def singulars(plural: str) -> set[str]:
    """Return the singulars of a plural, according to two dictionaries."""
    if plural == "oxen":  # neither dictionary has it
        return {"ox"}
    *modifiers, noun = plural.split()
    lemmas = (noun, *getLemma(noun, "NOUN"), wordnet().morphy(noun, "n") or noun)
    return {" ".join([*modifiers, lemma]) for lemma in lemmas}


def test_inflected_forms_lead_back_to_their_lemmas(fillers: dict[str, list[Filler]]):
    for filler in (*fillers["INTRANSITIVE"], *fillers["TRANSITIVE"]):
        assert filler.form.endswith("ing")
        assert filler.text in getLemma(filler.form, "VERB")
    for filler in fillers["NOUNS"]:
        assert filler.form != filler.text, "the plural differs from the singular"
        assert filler.text in singulars(filler.form)


@pytest.mark.parametrize(
    ("noun", "plural"),
    [("mouse", "mice"), ("goose", "geese"), ("ox", "oxen"), ("wolf", "wolves"), ("mongoose", "mongooses"),
     ("fisherman", "fishermen"), ("guinea pig", "guinea pigs"), ("octopus", "octopuses"), ("canary", "canaries")],
)  # fmt: skip
def test_irregular_plurals(noun: str, plural: str):
    assert noun in WORDS["nouns"]
    assert inflection.pluralise(noun) == plural


def parse_atoms(text: str) -> list[tuple[str, str]]:
    """Return the atoms of a prompt from left to right, parsed with the word lists."""
    phrases = {form: ("spatial", name) for name, form in (WORDS["sides"] | WORDS["places"]).items()}
    single = {word: ("temporal", word) for word in WORDS["times"]} | {
        n: ("number", n) for n in WORDS["numbers"]
    }
    single |= {
        word: ("adjective", word) for group in WORDS["adjectives"].values() for word in group
    }
    single |= {"not": ("negation", "not")}
    nouns, verbs = set(WORDS["nouns"]), {*WORDS["intransitive"], *WORDS["transitive"]}
    atoms, rest = [], text
    while rest:
        if phrase := next((form for form in phrases if re.match(rf"{form}\b", rest)), None):
            atoms.append(phrases[phrase])
            rest = rest[len(phrase) :].lstrip()
            continue
        word, _, rest = rest.partition(" ")
        if word == "guinea":
            second, _, rest = rest.partition(" ")
            word = f"guinea {second}"
        if word in single:
            atoms.append(single[word])
        elif word not in ("a", "an", "and", "that", "is"):
            if found := singulars(word) & nouns:
                atoms.append(("noun", found.pop()))
            else:
                (lemma,) = set(getLemma(word, "VERB")) & verbs
                atoms.append(("verb", lemma))
    return atoms


@given(config=st.sampled_from(sorted(GRID)), seed=st.integers())
def test_a_prompt_has_exactly_the_atoms_of_its_cell(
    fillers: dict[str, list[Filler]], config: str, seed: int
):
    prompt = draw_prompt(GRID[config].pattern, fillers, Random(seed))
    assert sorted(kind for kind, _ in prompt.atoms) == PROMPT_TYPES[config].atom_types
    assert parse_atoms(prompt.text) == list(prompt.atoms)
    distinct_atoms = [atom for atom in prompt.atoms if atom[0] != "number"]
    assert len(distinct_atoms) == len(set(distinct_atoms))
    groups = [
        group
        for kind, word in prompt.atoms
        for group, members in WORDS["adjectives"].items()
        if kind == "adjective" and word in members
    ]
    assert len(groups) == len(set(groups))


@given(config=st.sampled_from(sorted(GRID)), seed=st.integers())
def test_articles_numbers_and_plurals_agree(
    fillers: dict[str, list[Filler]], config: str, seed: int
):
    text = draw_prompt(GRID[config].pattern, fillers, Random(seed)).text
    for article, word in re.findall(r"\b(an?) (\w+)", text):
        assert article == ("an" if word[0] in "aeiou" or word == "heir" else "a")
    numbers = sum(kind == "number" for kind, _ in parse_atoms(text))
    plurals = {filler.form.replace(" ", "-") for filler in fillers["NOUNS"]}
    assert sum(word in plurals for word in text.replace("guinea ", "guinea-").split()) == numbers
    assert not re.search(r"  |^ | $|[A-Z]", text)


def test_the_grid_matches_the_declared_prompt_types():
    assert list(GRID) == list(PROMPT_TYPES)
    assert [cell.size for cell in GRID.values()] == [
        kind.num_prompts for kind in PROMPT_TYPES.values()
    ]


def test_nouns_are_equally_likely(fillers: dict[str, list[Filler]]):
    prompts = draw_prompts(Cell("a NOUN TRANSITIVE a NOUN", 5000), fillers, Random(1))
    first = [prompt.atoms[0][1] for prompt in prompts]
    # 5,000 prompts over 326 nouns: 15.3 each on average; 5 standard deviations (of 3.9) on either side.
    assert all(0 <= first.count(noun) <= 35 for noun in WORDS["nouns"])
    assert len(set(first)) == len(WORDS["nouns"])


def test_additional_cells_extend_the_grid(fillers: dict[str, list[Filler]]):
    settings = CompPromptsSettings(
        0,
        {
            "obj3_adj3": {
                "pattern": "a ADJECTIVE ADJECTIVE ADJECTIVE NOUN PLACE a NOUN and a NOUN",
                "size": 7,
            }
        },
    )
    cell = settings.grid["obj3_adj3"]
    assert len(settings.grid) == len(GRID) + 1
    prompts = draw_prompts(cell, fillers, Random(0))
    assert len({prompt.text for prompt in prompts}) == 7
    assert {tuple(sorted(kind for kind, _ in prompt.atoms)) for prompt in prompts} == {
        ("adjective", "adjective", "adjective", "noun", "noun", "noun", "spatial")
    }


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            Cell("a COLOR NOUN", 1),
            "Pattern 'a COLOR NOUN': unknown slot 'COLOR'. Slots are NOUN, NOUNS",
        ),
        (Cell("NUMBER of TIME", 9), "8 distinct prompts found, 9 expected"),  # 4 numbers x 2 times
        (Cell("TIME TIME TIME", 1), "more TIME slots than TIME words"),
    ],
)
def test_a_pattern_that_cannot_be_filled_is_an_error(
    fillers: dict[str, list[Filler]], cell: Cell, message: str
):
    with pytest.raises(ValueError, match=re.escape(message)):
        draw_prompts(cell, fillers, Random(0))


def test_an_additional_cell_cannot_have_the_name_of_a_benchmark_config():
    with pytest.raises(ValueError, match="obj1 are configs of the benchmark"):
        _ = CompPromptsSettings(0, {"obj1": {"pattern": "a NOUN", "size": 1}}).grid


def test_same_seed_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("compeval.generators.compprompts.GRID", {"obj1": Cell("a NOUN", 5)})
    contents = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write(tmp_path / name, CompPromptsSettings(seed, {}), WORDS)
        contents.append((tmp_path / name / "obj1" / "test-00000-of-00001.parquet").read_bytes())
    assert contents[0] == contents[1] != contents[2]
