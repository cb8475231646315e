"""SugarCrepe and SugarCrepe++ in German, Spanish and Persian, translated by a language model.

    {sc,scpp}/{de,es,fa}/*.json with *_issues.json -> configs sc_de to scpp_fa, splits add_att and so on
    chance: sc 1/2, scpp 1/3

Source: https://github.com/Theparia/Multilingual-VLM-Compositionality. In some rows, two captions have the same
translation. The authors leave out a row in all languages if it is in the list of one of them: category ``collision``.
The images are those of COCO's val2017. Rows and splits correspond to those of the English files.
"""

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    PARAPHRASE_SCHEMA,
    Benchmark,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import read_each

LANGUAGES = ("de", "es", "fa")
SPLITS = ("add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj")


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file. Raises ValueError if a list of collisions is missing."""
    kind, language, split = PurePosixPath(name).with_suffix("").parts
    lists = [path.absolute().parents[1] / other / f"{split}_issues.json" for other in LANGUAGES]
    if missing := [file for file in lists if not file.is_file()]:
        raise ValueError(f"{path}: a list of collisions is missing. Expected it in {missing[0]}.")
    collisions = {
        item["sample_id"] for file in lists for item in json.loads(file.read_text(encoding="utf-8"))
    }

    def make_row(entry: tuple[str, dict[str, Any]]) -> Row:
        number, item = entry
        captions = (item["caption"], item["caption2"]) if kind == "scpp" else (item["caption"],)
        has_collision = "some language" if number in collisions else "none"
        return Row(
            f"{kind}_{language}",
            (item["filename"],),
            captions,
            (item["negative_caption"],),
            split=split,
            categories=(("collision", has_collision),),
        )

    items = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(items, dict):
        raise ValueError(f"{path}: expected an object of items.")
    return read_each(items.items(), make_row)


FILES = [
    f"{kind}/{language}/{split}"
    for kind, splits in (("sc", SPLITS), ("scpp", SPLITS[2:]))
    for language in LANGUAGES
    for split in splits
]
BENCHMARK = Benchmark(
    images={f"{file}.json": COCO for file in FILES},
    companions=tuple(f"{file}_issues.json" for file in FILES),
    read_file=read,
    languages=LANGUAGES,
    fields=("filename", "caption", "negative_caption", "source_caption"),
    schema=CHOICE_SCHEMA,
    other_schemas={"scpp_*": PARAPHRASE_SCHEMA},
    chance={"sc_*": 1 / 2, "scpp_*": 1 / 3},
)
