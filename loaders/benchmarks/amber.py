"""AMBER's discriminative task: questions about the existence, attributes and contact of objects, answered by yes or no.

    query_discriminative.json with annotations.json -> config main; chance of the accuracy 0.553

Source: Wang et al. 2023 (arXiv:2311.07397), https://github.com/junyangwang0410/AMBER. Questions that begin with "Is
there" are made statements, and "Yes" follows the others; a row is true if the answer is yes. All questions about
existence name an object that is not there, so results are broken down by type, but each type has no threshold of its
own. The authors ask generative models and report accuracy and F1 of "no".
"""

from collections.abc import Iterator
from pathlib import Path

from compeval.loaders.published import (
    LABELS,
    TRUTH_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import make_statement, read_each, read_json

ANSWERS = "annotations.json"
TYPES = {"hallucination": "existence"}
"""Types of questions whose name is another one in the paper."""
NUM_TRUE = 4789
NUM_ROWS = 14216


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the questions in order. Raises ValueError if the file with their answers is missing."""
    answers = next(
        (file for folder in path.absolute().parents[:2] if (file := folder / ANSWERS).is_file()),
        None,
    )
    if answers is None:
        raise ValueError(
            f"{path}: the answers are missing. Expected them in {path.absolute().parents[1] / ANSWERS}."
        )
    annotations = {
        item["id"]: item for item in read_json(answers) if isinstance(item, dict) and "id" in item
    }

    def make_row(item: dict[str, str]) -> Row:
        annotation = annotations[item["id"]]
        kind = str(annotation["type"]).removeprefix("discriminative-")
        return Row(
            "main",
            (item["image"],),
            (make_statement(item["query"]),),
            categories=(("type", TYPES.get(kind) or kind),),
            label=LABELS[annotation["truth"]],
            changed=True,
        )

    return read_each(read_json(path), make_row)


BENCHMARK = Benchmark(
    description="Is the answer to a question about existence, attributes or contact of objects yes?",
    year=2023,
    licence_id="apache-2.0",
    source=DataSource(
        title="AMBER, discriminative",
        homepage="https://github.com/junyangwang0410/AMBER",
        licence="Apache-2.0; licence of the images not stated",
        citation="Wang et al. 2023, AMBER, arXiv:2311.07397",
        root="https://raw.githubusercontent.com/junyangwang0410/AMBER/534babf6bbfcce2e735c26289dedfb21cef3c939/data",
        files=(
            RemoteFile(
                name="query/query_discriminative.json",
                size=1738529,
                sha256="1502887ac020f4bb7ea564af4e37bddcb030d61b78490d00f9da492a2307abb8",
            ),
            RemoteFile(
                name="annotations.json",
                size=1813301,
                sha256="db22a436c4836fbb295e60b4e80d519573077579fb7032f01b193c1bd022b797",
            ),
        ),
    ),
    images={
        "query_discriminative.json": ImageSet(
            "amber",
            ("image", "images"),
            download_instructions="Download AMBER's images, whose address is in the README of its repository.",
        )
    },
    companions=(ANSWERS,),
    read_file=read,
    fields=("id", "image", "query"),
    schema=TRUTH_SCHEMA,
    chance={"*": (NUM_TRUE**2 + (NUM_ROWS - NUM_TRUE) ** 2) / NUM_ROWS**2},
    changes={
        "*": 'the question "Is there ...?" is the statement "There is ...", and "Yes" follows other questions'
    },
    tested=True,
    rows={"main": 14216},
    image_count=1004,
    flaws=(
        Flaw(
            rows="4,924 rows of type existence",
            what="the answer to all of them is no",
            source="counted",
        ),
        Flaw(rows="9,427 of 14,216", what="the answer is no", source="counted"),
    ),
)
