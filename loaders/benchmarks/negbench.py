"""NegBench: captions with negations, as multiple choice and as retrieval.

    {COCO_val,VOC2007,synthetic}_mcq_llama3.1_rephrased.csv -> configs {coco,voc2007,synthetic}_mcq; chance 1/4
    COCO_val_retrieval.csv, COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv -> coco_retrieval{,_negated}
    synthetic_retrieval_v{1,2}.csv -> configs of the same names

Source: Alhamoud et al. 2025 (arXiv:2501.09425), https://github.com/m1k2zoo/negbench. The multiple choice is reported by
the template of the truth: positive, negative or hybrid. The authors take the first of the highest scores, and the truth
is the first option of all rows of COCO and VOC, so they count its ties as hits. The main metric of the retrieval is
t2i_recall@5, with plain captions against negated ones. The questions about videos (MSR-VTT) are not read.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from compeval.base.text_only.cues import has_negation
from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    RETRIEVAL_SCHEMA,
    AuthorsRule,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
    Unusable,
)
from compeval.loaders.published.declaration import hit_with_ties
from compeval.loaders.published.rows import get_fields, parse_texts, read_csv, read_each

OPTIONS = tuple(f"caption_{number}" for number in range(4))
CHOICES = {
    "COCO_val_mcq_llama3.1_rephrased": "coco_mcq",
    "VOC2007_mcq_llama3.1_rephrased": "voc2007_mcq",
    "synthetic_mcq_llama3.1_rephrased": "synthetic_mcq",
}
RETRIEVALS = {
    "COCO_val_retrieval": "coco_retrieval",
    "COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true": "coco_retrieval_negated",
    "synthetic_retrieval_v1": "synthetic_retrieval_v1",
    "synthetic_retrieval_v2": "synthetic_retrieval_v2",
}


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file, in order."""
    stem = Path(name).stem
    if stem in CHOICES:
        columns = ("image_path", "correct_answer", "correct_answer_template", *OPTIONS)
        return read_each(read_csv(path, columns), lambda item: _read_choice(item, CHOICES[stem]))
    return read_each(
        read_csv(path, ("filepath", "captions")),
        lambda item: _read_retrieval(item, RETRIEVALS[stem]),
    )


def _read_choice(item: dict[str, str], config: str) -> Row:
    options = [item[option] for option in OPTIONS]
    if item["correct_answer"] not in map(str, range(len(OPTIONS))):
        raise ValueError(f"the correct answer is not one of 0 to {len(OPTIONS) - 1}")
    truth = options.pop(int(item["correct_answer"]))
    categories = (("template", item["correct_answer_template"]),)
    image = item["image_path"]
    return Row(
        config,
        (image,),
        (truth,),
        tuple(options),
        categories=categories,
        image_id=_get_image_id(image),
    )


def _read_retrieval(item: dict[str, str], config: str) -> Row:
    image = item["filepath"]
    return Row(config, (image,), parse_texts(item["captions"])[0], image_id=_get_image_id(image))


def recognise(name: str, items: list[dict[str, str]]) -> str | None:
    """Recognise renamed files by their columns, the paths of their images and their captions. The two versions of the
    synthetic retrieval do not differ in this, so the name has to contain v1 or v2."""
    fields = get_fields(items)
    is_choice = {"image_path", "correct_answer", "correct_answer_template", *OPTIONS} <= fields
    if not (is_choice or {"filepath", "captions"} <= fields):
        return None
    image = str(items[0].get("image_path" if is_choice else "filepath", ""))
    source = "COCO_val" if "val2017" in image else "VOC2007" if "VOC" in image else "synthetic"
    if is_choice:
        return f"{source}_mcq_llama3.1_rephrased.csv"
    if source == "synthetic":
        version = re.search("v[12]", name)
        return f"synthetic_retrieval_{version[0]}.csv" if version else None
    negated = sum(has_negation(item.get("captions", "")) for item in items)
    kind = (
        "negated_retrieval_llama3.1_rephrased_affneg_true"
        if 2 * negated > len(items)
        else "retrieval"
    )
    return f"{source}_{kind}.csv"


def _get_image_id(image: str) -> str:
    """Return the id of a generated image with its folder: positive/1_img.png and negative/1_img.png are two images.

    Other images have the id of their file, "".
    """
    path = PurePosixPath(image)
    return f"{path.parent.name}/{path.stem}" if path.parent.name in ("positive", "negative") else ""


VOC2007 = ImageSet(
    "voc2007",
    ("VOCdevkit/VOC2007/JPEGImages", "JPEGImages", "images"),
    bytes_per_image=90_000,
    archives=(
        RemoteFile(
            url="http://host.robots.ox.ac.uk/pascal/VOC/voc2007/VOCtest_06-Nov-2007.tar",
            name="VOCtest_06-Nov-2007.tar",
            makes="VOCdevkit",
        ),
    ),
)
SYNTHETIC = ImageSet(
    "negbench_synthetic",
    ("data",),
    download_instructions="https://github.com/m1k2zoo/negbench says how.",
)
FIRST = AuthorsRule("a tie with the truth is a hit", hit_with_ties, {"": 1 / 4})
BENCHMARK = Benchmark(
    description="Which of four captions, with and without negations, describes the image?",
    year=2025,
    licence_id="mit",
    source=DataSource(
        title="NegBench",
        homepage="https://github.com/m1k2zoo/negbench",
        licence="MIT; images: COCO and VOC2007, under their Flickr licences, and generated",
        citation="Alhamoud et al. 2025, Vision-Language Models Do Not Understand Negation, CVPR, "
        "arXiv:2501.09425",
        download_instructions="Download the files of "
        "https://drive.google.com/drive/folders/1kSEq0mkV1t1T8GuOAM65iz_iAA7e5gxB and pass "
        "their folder with --from.",
    ),
    images={
        f"{stem}.csv": COCO
        if stem.startswith("COCO")
        else VOC2007
        if stem.startswith("VOC")
        else SYNTHETIC
        for stem in (*CHOICES, *RETRIEVALS)
    },
    read_file=read,
    recognise_file=recognise,
    item=f"the columns image_path, correct_answer, correct_answer_template and {', '.join(OPTIONS)}, or filepath and "
    "captions",
    schema=CHOICE_SCHEMA,
    other_schemas={"*_retrieval*": RETRIEVAL_SCHEMA},
    chance={"*_mcq": 1 / 4, "synthetic_retrieval_v2": 1 / 10_000, "*_retrieval*": 1 / 5000},
    authors={"coco_mcq": FIRST, "voc2007_mcq": FIRST},
    tested=True,
    rows={
        "coco_mcq": 5914,
        "voc2007_mcq": 5031,
        "synthetic_mcq": 9997,
        "coco_retrieval": 5000,
        "coco_retrieval_negated": 5000,
        "synthetic_retrieval_v1": 5000,
        "synthetic_retrieval_v2": 10000,
    },
    flaws=(
        Flaw(
            rows="all rows of coco_mcq and voc2007_mcq",
            what="the truth is the first option",
            source="counted",
        ),
        Flaw(
            rows="173 rows",
            what="an option has remarks of the language model, in 57 rows the truth",
            source="counted with a pattern",
        ),
        Flaw(
            rows="synthetic_mcq",
            what="the truth is option 0 or 1 by template, so the authors' argmax gives a constant "
            "scorer 50 %",
            source="counted",
        ),
        Flaw(
            rows="some captions of coco_retrieval_negated",
            what="they are true of other images, too",
            source="read by hand",
        ),
    ),
)
