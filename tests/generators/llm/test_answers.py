import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.generators.llm.answers import read_list

TWO = ["A cat on a sofa.", "A cat in the rain."]


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ('["A cat on a sofa.", "A cat in the rain."]', TWO),
        ("['A cat on a sofa.', 'A cat in the rain.']", TWO),
        ('```json\n["A cat on a sofa.", "A cat in the rain."]\n```', TWO),
        (
            "Sure! Here you are:\n```python\n['A cat on a sofa.', 'A cat in the rain.',]\n```\nEnjoy!",
            TWO,
        ),
        ("[“A cat on a sofa.”, “A cat in the rain.”]", TWO),
        ("[’A cat on a sofa.’, ’A cat in the rain.’]", TWO),
        ("['A cat on a sofa.,' 'A cat in the rain.']", ["A cat on a sofa.", "A cat in the rain."]),
        ("1. A cat on a sofa.\n2. A cat in the rain.", TWO),
        (
            'Here are two captions:\n\n1) "A cat on a sofa."\n2) "A cat in the rain."\n\nLet me know!',
            TWO,
        ),
        ("- A cat on a sofa.\n- A cat in the rain.", TWO),
        ("* **A cat on a sofa.**\n* **A cat in the rain.**", TWO),
        ("A cat on a sofa.\nA cat in the rain.", TWO),
        ("Captions:\n\nA cat on a sofa.\n\nA cat in the rain.\n", TWO),
        ('The captions are "A cat on a sofa." and "A cat in the rain."', TWO),
        ('["A cat on a sofa.", "A cat in the rain.", "A c', [*TWO, "A c"]),
        ('["A cat on a sofa." "A cat in the rain."]', TWO),
        ("['The cat's bed is red.', 'A cat in the rain.']", ["The cat's bed is red.", TWO[1]]),
        ('{"captions": ["A cat on a sofa.", "A cat in the rain."]}', TWO),
        ('[{"caption": "A cat on a sofa."}, {"caption": "A cat in the rain."}]', TWO),
        ('["A cat on a sofa.", "A cat on a sofa.", "A cat in the rain."]', TWO),
        ('["A cat on a\\n sofa.", 7, null, "A cat in the rain."]', TWO),
        ("I'm sorry, but I cannot help with that request.", []),
        (
            "A cat may be on a sofa or in the rain, and there are many more places where one could take a photo of "
            "a cat, for instance a garden or a roof.\nWhich of them do you have in mind for your captions, and how "
            "many of them would you like me to write down for you today?",
            [],
        ),
        ("", []),
        ("[]", []),
    ],
)
def test_answers_in_many_formats(answer: str, items: list[str]):
    assert read_list(answer) == items


@given(st.text() | st.text(alphabet="[]{}\"'`,:\\\n -1.a“’"))
def test_never_fails_and_returns_clean_lines(answer: str):
    for item in read_list(answer):
        assert item == " ".join(item.split())
        assert item[0] not in "\"',"


ITEMS = st.from_regex(r"[A-Za-z][a-z ]{0,30}[a-z]\.", fullmatch=True)


@given(st.lists(ITEMS, min_size=1, unique_by=lambda item: tuple(item.split())))
def test_a_list_in_json_or_python_is_read_back(items: list[str]):
    expected = list(dict.fromkeys(" ".join(item.split()) for item in items))
    assert read_list(json.dumps(items)) == expected
    assert read_list(f"Here it is: {items!r}. Bye.") == expected


@pytest.mark.parametrize("depth", [50, 1_000, 19_000])
def test_deep_nesting_is_no_error(depth: int):
    assert read_list("[" * depth + '"a"' + "]" * depth) in ([], ["a"])


def test_nothing_is_evaluated(tmp_path: Path):
    created_file = tmp_path / "created"
    attack = f"__import__('pathlib').Path({str(created_file)!r}).touch()"
    for form in ("[{}]", "['a', {}]", "```python\n[{}]\n```", "1. {}", "[f'{{{}}}']"):
        read_list(form.format(attack))
    assert not created_file.exists()


CODE = ["__import__('os').system('true')", "open('/dev/null')", "eval('1')", "exec('import this')"]
CODE += ["[x for x in (1, 2)]", "f'{1 + 1}'", "(lambda: 1)()", "print"]
watched_events: list[str] = []


@pytest.fixture(scope="module")
def watch() -> Iterator[list[str]]:
    """Record executions, file accesses and imports while ``watched_events`` is not empty.

    Python cannot remove an audit hook, so the hook does nothing while the list is empty.
    """
    read_list('["a" "b", c')  # the first call imports modules

    def hook(event: str, arguments: tuple) -> None:
        if watched_events and event in ("exec", "open", "import", "os.system", "subprocess.Popen"):
            watched_events.append(event)

    sys.addaudithook(hook)
    yield watched_events
    watched_events.clear()


@given(
    st.lists(
        st.sampled_from(CODE)
        | st.sampled_from(["[", "]", "'a'", ", ", "```python\n", "1. ", "{", "}", "\n"])
    )
)
def test_no_answer_runs_code(watch: list[str], parts: list[str]):
    watch[:] = ["on"]
    read_list("".join(parts))
    events, watch[:] = watch[1:], []
    assert events == []
