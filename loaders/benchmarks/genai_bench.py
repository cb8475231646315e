"""GenAI-Bench: how well the images of six models agree with 527 prompts, as rated by three people from 1 to 5.

    genai_image.json -> config main; chance of the accuracy about 1/2, of the correlations 0

Source: Li et al. 2024 (arXiv:2406.13743) and Lin et al. 2024 (VQAScore, arXiv:2404.01291), whose 527 prompts are read,
https://github.com/linzhiqiu/t2v_metrics. Results are broken down by the model that made the image.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.loaders.published import (
    RATING_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
    Unusable,
)
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


IMAGE_ARCHIVES = (
    RemoteFile(url="https://huggingface.co/datasets/zhiqiulin/GenAI-Bench-527/resolve/main/DALLE_3.zip", name="DALLE_3.zip", makes="DALLE_3"),
    RemoteFile(url="https://huggingface.co/datasets/zhiqiulin/GenAI-Bench-527/resolve/main/SDXL_Turbo.zip", name="SDXL_Turbo.zip", makes="SDXL_Turbo"),
    RemoteFile(url="https://huggingface.co/datasets/zhiqiulin/GenAI-Bench-527/resolve/main/DeepFloyd_I_XL_v1.zip", name="DeepFloyd_I_XL_v1.zip", makes="DeepFloyd_I_XL_v1"),
    RemoteFile(url="https://huggingface.co/datasets/zhiqiulin/GenAI-Bench-527/resolve/main/Midjourney_6.zip", name="Midjourney_6.zip", makes="Midjourney_6"),
    RemoteFile(url="https://huggingface.co/datasets/zhiqiulin/GenAI-Bench-527/resolve/main/SDXL_2_1.zip", name="SDXL_2_1.zip", makes="SDXL_2_1"),
    RemoteFile(url="https://huggingface.co/datasets/zhiqiulin/GenAI-Bench-527/resolve/main/SDXL_Base.zip", name="SDXL_Base.zip", makes="SDXL_Base"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="How well does a generated image agree with its prompt?",
    year=2024,
    licence_id="apache-2.0",
    source=DataSource(
        title="GenAI-Bench, 527 prompts",
        homepage="https://github.com/linzhiqiu/t2v_metrics",
        licence="Apache-2.0; generated images under their models' terms",
        citation="Li et al. 2024, GenAI-Bench, CVPR Workshops, arXiv:2406.13743",
        root="https://raw.githubusercontent.com/linzhiqiu/t2v_metrics/60ce07b144b9bff24b8dac5317cb28586b1b2509",
        files=(
            RemoteFile(
                name="genai_image.json",
                size=438844,
                sha256="a5974a5e67f530985a12f2d5cda490f3cb1e47064a56c54817d57102a964e9ff",
            ),
        ),
        image_archives=IMAGE_ARCHIVES,
    ),
    images=ImageSet("genai_bench", (), bytes_per_image=500_000, archives=IMAGE_ARCHIVES),
    read_file=read,
    fields=("id", "prompt", "models"),
    schema=RATING_SCHEMA,
    chance={"*": 1 / 2},
    tested=True,
    rows={"main": 3160},
    image_count=3160,
    flaws=(
        Flaw(
            rows="2 of 3162 rows", what="a rating is 41 or 33; they are dropped", source="counted"
        ),
    ),
)
