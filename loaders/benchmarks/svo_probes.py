"""SVO-Probes: a sentence, its image, and an image in which the subject, the verb or the object is another one.

    svo_probes.csv -> configs subject, verb, object; chance 1/2

Source: Hendricks and Nematzadeh 2021 (arXiv:2106.09141), https://github.com/google-deepmind/svo_probes. The authors
classify each image as matching or not, with a threshold; a similarity has none, so, as is usual for dual encoders, the
sentence chooses between the two images. Like the authors, we use the rows with a negative of exactly one type.
"""

from compeval.loaders.published import (
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    Row,
    image_choice_schema,
)

TYPES = {"subj_neg": "subject", "verb_neg": "verb", "obj_neg": "object"}


def make_row(item: dict[str, str], file: str) -> Row:
    types = [kind for column, kind in TYPES.items() if item[column] == "True"]
    if len(types) != 1:
        raise ValueError("the negative is not of exactly one type")
    return Row(
        types[0],
        (f"{item['pos_image_id']}.jpg", f"{item['neg_image_id']}.jpg"),
        (item["sentence"],),
    )


BENCHMARK = Benchmark(
    description="Which of two images, with another subject, verb or object, does a sentence describe?",
    year=2021,
    licence_id="cc-by-4.0",
    source=DataSource(
        title="SVO-Probes",
        homepage="https://github.com/google-deepmind/svo_probes",
        licence="CC BY 4.0; images: web pages, under their own licences",
        citation="Hendricks and Nematzadeh 2021, Probing Image-Language Transformers for Verb "
        "Understanding, Findings of ACL, arXiv:2106.09141",
        root="https://raw.githubusercontent.com/google-deepmind/svo_probes/206219e2afd9640b8bbe6ef95f49b52b0d4ed350",
        files=(
            RemoteFile(name="svo_probes.csv", git_blob="2dbab46af1169c2d6feb8b2cee26fe7140ffda19"),
        ),
    ),
    images={
        "svo_probes.csv": ImageSet(
            "svo_probes",
            ("images",),
            download_instructions="Download each image from its URL in svo_probes.csv and save it as <image id>.jpg. "
            "Some URLs no longer exist.",
        )
    },
    make_row=make_row,
    fields=("sentence", "pos_image_id", "neg_image_id", *TYPES),
    schema=image_choice_schema(2),
    chance={"*": 1 / 2},
    tested=True,
    unseen="the authors' own CSV (rows of a copy with four more columns were read)",
    flaws=(
        Flaw(
            rows="many rows",
            what="the images are web pages of others, and some no longer exist",
            source="vl_compo's copy",
        ),
    ),
)
