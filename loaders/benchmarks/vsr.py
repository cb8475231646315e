"""VSR: is a statement about the spatial relation of two objects true of the image?

    {random,zeroshot}/{dev,test}.jsonl -> configs random, zeroshot with splits dev and test; chance 1/2

Source: Liu et al. 2023 (arXiv:2205.00363), https://github.com/cambridgeltl/visual-spatial-reasoning. A row has one
caption and a label, and no other caption to compare it with: evaluators/protocols/true_or_false.py describes the
threshold. The authors' scores of CLIP are those of a classifier that was trained on its features. Results are broken
down by relation.
"""

from compeval.loaders.published import COCO, TRUTH_SCHEMA, Benchmark, Columns

BENCHMARK = Benchmark(
    images=COCO,
    columns=Columns(
        images=("image",),
        captions=("caption",),
        label="label",
        categories={"relation": ("relation",)},
    ),
    schema=TRUTH_SCHEMA,
    chance={"*": 1 / 2},
)
