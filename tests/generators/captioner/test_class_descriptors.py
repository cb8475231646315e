import json
from pathlib import Path

from compeval.generators.captioner.class_descriptors import DESCRIPTORS, make_prompts, select_items
from compeval.generators.compun import make_descriptor_prompting, read_nouns
from compeval.generators.llm.client import Cache, Endpoint, Message, request_hash
from compeval.generators.llm.questions import read_cached_items

WORDS = Path(__file__).parents[3] / "sample/words"
HOUSEBOAT = next(noun for noun in read_nouns(WORDS / "compun.csv") if noun.compound == "houseboat")
FIVE = ["a hull", "a small house", "a flat deck", "windows", "water around it"]
ENDPOINT = Endpoint("m")


def make_cache(folder: Path, *answers: list[str]) -> Cache:
    """Return a cache with the answers of one conversation about houseboats."""
    cache, messages = (
        Cache([folder], folder / "m.jsonl"),
        [Message(role="user", content=DESCRIPTORS.make_text(0, "houseboat", 5))],
    )
    for answer in map(json.dumps, answers):
        cache.add(request_hash(ENDPOINT, messages), {"answer": answer})
        second_request = Message(role="user", content=DESCRIPTORS.make_text(1, "houseboat", 5))
        messages = [*messages, Message(role="assistant", content=answer), second_request]
    return cache


def test_items_are_cleaned_and_checked():
    assert select_items(
        ["It has a hull.", "which has A hull", "a houseboat's deck", "water", ""], "houseboat"
    ) == [
        "a hull",
        "water",
    ]
    assert select_items(["a b c d e f g h i j", "a b c d e f g h i j k"], "cat") == [
        "a b c d e f g h i j"
    ]


def test_descriptors_of_a_model_become_prompts(tmp_path: Path):
    prompting = make_descriptor_prompting(
        HOUSEBOAT, {"houseboat": ["ours"]}, ENDPOINT, make_cache(tmp_path, FIVE)
    )
    assert prompting == (make_prompts("houseboat", FIVE), "llm:m")
    assert prompting.prompts[0] == "a photo of a houseboat, which has a hull"


def test_second_answer_completes_the_first(tmp_path: Path):
    cache = make_cache(tmp_path, FIVE[:3], FIVE[2:])
    assert read_cached_items(DESCRIPTORS, "houseboat", 5, ENDPOINT, cache) == (FIVE, None)


def test_own_descriptors_are_used_if_the_model_has_too_few(tmp_path: Path):
    cache = make_cache(tmp_path, FIVE[:2], FIVE[:3])
    assert (
        make_descriptor_prompting(HOUSEBOAT, {"houseboat": ["ours"]}, ENDPOINT, cache).captioner
        == "descriptors"
    )
    assert make_descriptor_prompting(HOUSEBOAT, {}, ENDPOINT, cache).captioner == "template"
