"""EmbSpatial-Bench: where are objects in a view of an embodied agent, in six relations, with four options?

    embspatial_bench.json (with images, base64) -> config main; chance 1/4

Source: Du et al. 2024 (arXiv:2406.05756), https://github.com/mengfeidu/EmbSpatial-Bench; 3,640 questions about views of
Matterport3D, AI2-THOR and ScanNet. A caption is the question and an option. The authors ask generative models for a
letter, or compare the likelihoods of the options; results are broken down by relation and by source.

The keys are those of the two items in the README at 75792fc, and of lmms_eval/tasks/embspatial in
https://github.com/EvolvingLMMs-Lab/lmms-eval at 75571cf, which reads a Parquet copy. The file itself was not read.
"""

from typing import Any

from compeval.loaders.published import CHOICE_SCHEMA, Benchmark, DataSource, ImageSet, Row

OPTIONS = 4


def make_row(item: dict[str, Any], file: str) -> Row:
    options = list(item["answer_options"])
    answer = int(item["answer"])
    if len(options) != OPTIONS or answer not in range(OPTIONS):
        raise ValueError(f"not {OPTIONS} options and the position of one of them")
    question = item["question"].strip().strip("'")
    texts = [f"{question} {option}" for option in options]
    truth = texts.pop(answer)
    categories = (("relation", item["relation"]), ("source", item["data_source"]))
    return Row(
        "main", (item["image"],), (truth,), tuple(texts), categories=categories, changed=True
    )


IMAGES = ImageSet("embspatial", (), bytes_per_image=55_000, columns=("image",))
BENCHMARK = Benchmark(
    description="Which of four answers to a question about where objects are, as an agent sees them, "
    "is right?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="EmbSpatial-Bench",
        homepage="https://github.com/mengfeidu/EmbSpatial-Bench",
        licence="not stated; images: Matterport3D, AI2-THOR and ScanNet, under their own terms",
        citation="Du et al. 2024, EmbSpatial-Bench, ACL, arXiv:2406.05756",
        download_instructions="Download embspatial_bench.json (about 270 MB) of "
        "https://huggingface.co/datasets/Phineas476/EmbSpatial-Bench and pass its folder with "
        "--from.",
    ),
    images=dict.fromkeys(("embspatial_bench.json", "test-*.parquet"), IMAGES),
    make_row=make_row,
    fields=("image", "question", "answer_options", "answer", "relation", "data_source"),
    schema=CHOICE_SCHEMA,
    split_files=True,
    chance={"*": 1 / OPTIONS},
    changes={"*": "a caption is the question and an option"},
    rows={"main": 3640},
)
