"""SVO-Probes: a sentence, its image, and an image in which the subject, the verb or the object is another one.

    svo_probes.csv -> configs subject, verb, object; chance 1/2

Source: Hendricks and Nematzadeh 2021 (arXiv:2106.09141), https://github.com/google-deepmind/svo_probes. The authors
classify each image as matching or not, with a threshold; a similarity has none, so, as is usual for dual encoders, the
sentence chooses between the two images. Like the authors, we use the rows with a negative of exactly one type.
"""

from compeval.loaders.published import Benchmark, Row, image_choice_schema, read_image_set

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
    images={"svo_probes.csv": read_image_set("svo_probes")},
    make_row=make_row,
    fields=("sentence", "pos_image_id", "neg_image_id", *TYPES),
    schema=image_choice_schema(2),
    chance={"*": 1 / 2},
)
