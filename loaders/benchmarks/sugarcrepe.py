"""SugarCrepe: seven files of COCO captions, each caption with one fluent hard negative.

    {add,replace,swap}_{obj,att,rel}.json -> configs of the same names (add_rel and swap_rel do not exist); chance 1/2

Source: Hsieh et al. 2023 (arXiv:2306.14610), https://github.com/RAIVNLab/sugar-crepe. The images are whole images of
COCO's val2017. The negatives were written by a language model; in a swap, it may also change words to keep the text
fluent.
"""

from compeval.loaders.published import CHOICE_SCHEMA, COCO, Benchmark, Columns

BENCHMARK = Benchmark(
    images=COCO,
    columns=Columns(
        images=("filename",),
        captions=("caption",),
        hard_negatives=("negative_caption",),
        swaps="swap_*",
    ),
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
)
