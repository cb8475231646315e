"""Table 6 on real images: results next to the published numbers."""

from pathlib import Path

import pytest

from experiments.negclip import real_table6
from tests.evaluators.written import write_result

CLIP = "ViT-B-32-quickgelu/openai"


def test_table_6_has_the_results_next_to_the_published_numbers(tmp_path: Path) -> None:
    coco, genome = tmp_path / "results/coco", tmp_path / "results/visual_genome"
    for seed, share in ((0, 0.4), (1, 0.5)):
        write_result(coco, CLIP, f"aro/coco_order@s{seed}", {"recall@1": share})
    write_result(coco, "negclip", "aro_published/coco_order", {"recall@1": 0.855})
    write_result(
        genome, CLIP, "aro/vg_relation", {"recall@1": 0.9, "recall@1_macro_relation_table_2": 0.6}
    )
    write_result(coco, CLIP, "classification/cifar10", {"top1": 0.9})
    output = tmp_path / "table6.md"
    real_table6.main(CLIP, "clip-ft", "negclip", tmp_path / "results", output)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in output.read_text(encoding="utf-8").splitlines()[4:]
    ]
    assert rows == [
        [
            "aro_published/vg_relation",
            "recall@1_macro_relation_table_2",
            "60.0 (59)",
            "- (63)",
            "- (81)",
        ],
        ["aro_published/coco_order", "recall@1", "45.0 (46)", "- (36)", "85.5 (86)"],
        ["classification/cifar10", "top1", "90.0", "-", "-"],
    ]
    with pytest.raises(
        ValueError, match="no result of other, clip-ft or none on a task of Table 6"
    ):
        real_table6.main("other", "clip-ft", "none", tmp_path / "results", output)
