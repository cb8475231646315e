"""VSR: is a statement about the spatial relation of two objects true of the image?

    {random,zeroshot}/{dev,test}.jsonl -> configs random, zeroshot with splits dev and test; chance 1/2

Source: Liu et al. 2023 (arXiv:2205.00363), https://github.com/cambridgeltl/visual-spatial-reasoning. A row has one
caption and a label, and no other caption to compare it with: evaluators/protocols/true_or_false.py describes the
threshold. The authors' scores of CLIP are those of a classifier that was trained on its features. Results are broken
down by relation.
"""

from compeval.loaders.published import (
    COCO,
    TRUTH_SCHEMA,
    Benchmark,
    Columns,
    DataSource,
    Flaw,
    RemoteFile,
    Score,
)

PINNED_FILES = (
    RemoteFile(name="random/dev.jsonl", size=338049, sha256="90de24b811597a913310d043758f1119a1ba9ebf1b1ca8f1e27c4907f01980d4"),
    RemoteFile(name="random/test.jsonl", size=674712, sha256="8ade82a0b93ac9dc1e53f6cf1f11e9d5536776a3715102b6b4d27d4f81d551cc"),
    RemoteFile(name="zeroshot/dev.jsonl", size=107245, sha256="0abda42fe9333ab6a8671b32886738b5cfa6d37a8c277b56d8368c339c8dffce"),
    RemoteFile(name="zeroshot/test.jsonl", size=380380, sha256="914d9156723b912d8f794b179248af865a68c5f81c9d8e3a21d007778cacaad4"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Is a statement about the spatial relation of two objects true of the image?",
    year=2023,
    licence_id="apache-2.0",
    source=DataSource(
        title="VSR",
        homepage="https://github.com/cambridgeltl/visual-spatial-reasoning",
        licence="Apache-2.0; images: COCO, under their Flickr licences",
        citation="Liu et al. 2023, Visual Spatial Reasoning, TACL, arXiv:2205.00363",
        root="https://raw.githubusercontent.com/cambridgeltl/visual-spatial-reasoning/b27a0af0ee1462d2b6b92c8c83e869d9254a241a/data/splits",
        files=PINNED_FILES,
    ),
    images=COCO,
    columns=Columns(
        images=("image",),
        captions=("caption",),
        label="label",
        categories={"relation": ("relation",)},
    ),
    schema=TRUTH_SCHEMA,
    chance={"*": 1 / 2},
    tested=True,
    rows={"random/dev": 1097, "random/test": 2195, "zeroshot/dev": 340, "zeroshot/test": 1222},
    flaws=(
        Flaw(
            rows="some rows",
            what="validators disagree with the label; the file has their votes",
            source="the authors",
        ),
    ),
    scores=(
        Score(
            "CLIP",
            "random",
            "trained_accuracy",
            56.0,
            "the authors' README: a classifier trained on CLIP's features, size not stated",
        ),
        Score(
            "CLIP",
            "zeroshot",
            "trained_accuracy",
            54.5,
            "the authors' README: a classifier trained on CLIP's features, size not stated",
        ),
    ),
)
