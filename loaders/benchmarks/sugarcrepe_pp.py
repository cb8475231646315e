"""SugarCrepe++: five files of two equivalent captions and a wrong one.

    {replace_att,replace_obj,replace_rel,swap_att,swap_obj}.json -> configs of the same names; chance 1/3

Source: Dumpala et al. 2024 (arXiv:2406.11171), https://github.com/Sri-Harsha/scpp. The images are whole images of
COCO's val2017. The rows are not SugarCrepe's: captions were corrected and persons made gender-neutral.
"""

from compeval.loaders.published import COCO, PARAPHRASE_SCHEMA, Benchmark, Columns

BENCHMARK = Benchmark(
    images=COCO,
    columns=Columns(
        images=("filename",),
        captions=("caption", "caption2"),
        hard_negatives=("negative_caption",),
        swaps="swap_*",
    ),
    schema=PARAPHRASE_SCHEMA,
    chance={"*": 1 / 3},
)
