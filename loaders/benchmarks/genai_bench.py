"""GenAI-Bench: how well the images of six models agree with 527 prompts, as rated by three people from 1 to 5.

    genai_image.json -> config main; chance of the accuracy about 1/2, of the correlations 0

Source: Li et al. 2024 (arXiv:2406.13743) and Lin et al. 2024 (VQAScore, arXiv:2404.01291), whose 527 prompts are read,
https://github.com/linzhiqiu/t2v_metrics. Results are broken down by the model that made the image.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.loaders.published import RATING_SCHEMA, Benchmark, Row, Unusable, read_image_set
from compeval.loaders.published.rows import read_each, read_json

RATINGS = range(1, 6)


def make_row(entry: tuple[dict[str, Any], str]) -> Row:
    item, model = entry
    ratings = item["models"][model]
    if not {*ratings} <= {*RATINGS}:
        raise ValueError("a rating is not one of 1 to 5")
    image = (f"{model}/{item['id']}.jpeg",)
    return Row(
        "main",
        image,
        (item["prompt"],),
        image_id=item["id"],
        categories=(("model", model),),
        label=sum(ratings),
    )


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield a row for each prompt and model, in order. Raises ValueError if the file has another layout."""
    items = read_json(path)
    if not all(isinstance(item, dict) and isinstance(item.get("models"), dict) for item in items):
        raise ValueError(f"{path}: expected items with the keys id, prompt and models.")
    return read_each(((item, model) for item in items for model in item["models"]), make_row)


BENCHMARK = Benchmark(
    images=read_image_set("genai_bench"),
    read_file=read,
    fields=("id", "prompt", "models"),
    schema=RATING_SCHEMA,
    chance={"*": 1 / 2},
)
