"""Rebuild CREPE's sets from micro-world scenes with another annotation recall.

Annotation recall is the share of a scene's facts (objects, attributes, relations) that its annotations contain. The
micro-world writes its annotations in Visual Genome's format, so they are read by the reader of Visual Genome.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from generators import crepe_productivity, crepe_systematicity
from generators.hard_negatives.balanced.compounds import BALANCED_NEGATIVES, make_balanced_negatives
from generators.hard_negatives.balanced.image_nouns import ImageNouns
from generators.hard_negatives.crepe.systematicity import NEGATIVES
from generators.microworld.annotate import annotate, write_annotations
from generators.microworld.scenes.splits import TEST_IDS, sample_test_scene
from generators.pipeline.params import read_params, read_parser_params
from generators.readers import annotations, visual_genome
from generators.readers.records import Flaws
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from generators.seen_analysis.targets import Targets
from generators.storage.dataset import write_config


def rebuild_crepe(
    recall: float, seed: int, num_images: int, source: Path, output: Path, unseen_renderings: float = 0.0
) -> dict[str, dict[str, Any]]:
    """Annotate the first ``num_images`` test scenes with ``recall`` and write the sets to ``output``/crepe.

    ``source`` is the folder of the micro-world's images. Returns image id -> complete scene (JSON form).
    """
    scenes = [sample_test_scene(seed, image_id, unseen_renderings) for image_id in TEST_IDS[:num_images]]
    annotation_folder, crepe_folder = output / "source", output / "crepe"
    annotation_folder.mkdir()
    write_annotations(annotate(scenes, seed, recall), annotation_folder)
    (annotation_folder / "VG_100K").symlink_to((source / "VG_100K").resolve())
    annotated, flaws = annotations.Annotations(output / "annotations.parquet"), Flaws()
    annotations.write(annotated.path, visual_genome.read(annotation_folder, flaws), flaws)
    settings = read_params("crepe_systematicity") | {"workers": 1} | read_parser_params()
    crepe_systematicity.build_regions("microworld", annotated, settings, output / "regions")
    rows = list(crepe_systematicity.read_rows(output / "regions"))
    write_config(crepe_folder, "all_raw", {"test": crepe_systematicity.make_raw_rows(rows)}, RAW_SCHEMA)
    compounds = Targets.load(output / "regions" / "targets.json").compounds
    image_nouns = ImageNouns.of_rows(rows)
    balanced = {
        kind: make_balanced_negatives(rows, kind, compounds, image_nouns, refine=False) for kind in BALANCED_NEGATIVES
    }
    for kind in (*NEGATIVES, *BALANCED_NEGATIVES):
        with_balanced = (
            row | {name: columns[index] for name, columns in balanced.items()} for index, row in enumerate(rows)
        )
        negatives = crepe_systematicity.make_hard_negative_rows(with_balanced, kind)
        write_config(crepe_folder, f"all_{kind}", {"test": negatives}, HARD_NEGATIVE_SCHEMA)
    productivity = crepe_productivity.Settings(
        **read_params("crepe_productivity") | {"workers": 1} | read_parser_params()
    )
    for is_balanced in (False, True):
        kind_settings = replace(productivity, balanced=is_balanced)
        crepe_productivity.write(annotated.path, "microworld", kind_settings, crepe_folder)
    return {str(scene.image_id): scene.to_json() for scene in scenes}
