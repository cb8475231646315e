"""Rebuild CREPE's sets from micro-world scenes with another annotation recall.

Annotation recall is the share of a scene's facts (objects, attributes, relations) that its annotations contain. The
micro-world writes its annotations in Visual Genome's format, so they are read by the reader of Visual Genome.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from compeval.base.pipeline.params import read_params, read_parser_params
from compeval.base.readers import visual_genome
from compeval.base.readers.annotations import Annotations, write_images
from compeval.base.readers.records import Flaws
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.generators import captioned_walks, crepe_productivity, crepe_regions
from compeval.generators.crepe_systematicity import add_negatives, read_compounds
from compeval.generators.hard_negatives.balanced.compounds import (
    BALANCED_NEGATIVES,
    make_balanced_negatives,
)
from compeval.generators.hard_negatives.balanced.image_nouns import ImageNouns
from compeval.generators.hard_negatives.crepe.source import Source
from compeval.generators.hard_negatives.crepe.systematicity import NEGATIVES
from compeval.generators.microworld.annotate import annotate, write_annotations
from compeval.generators.microworld.scenes.splits import TEST_IDS, sample_test_scene
from compeval.generators.seen_analysis.regions import RegionReader, read_regions
from compeval.generators.seen_analysis.targets import Targets


def rebuild_crepe(
    recall: float,
    seed: int,
    num_images: int,
    images: Path,
    output: Path,
    unseen_renderings: float = 0.0,
) -> dict[str, dict[str, Any]]:
    """Annotate the first ``num_images`` test scenes with ``recall`` and write the sets to ``output``/crepe.

    ``images`` is the folder of the micro-world's images. Returns image id -> complete scene (JSON form).
    """
    scenes = [
        sample_test_scene(seed, image_id, unseen_renderings) for image_id in TEST_IDS[:num_images]
    ]
    annotation_folder = output / "source"
    crepe_folder = output / "crepe"
    annotation_folder.mkdir()
    write_annotations(annotate(scenes, seed, recall), annotation_folder)
    (annotation_folder / "VG_100K").symlink_to((images / "VG_100K").resolve())
    annotated = Annotations(output / "annotations.parquet")
    make_reader = partial(RegionReader.make, **read_parser_params())
    write_images(
        annotated.path, read_regions(visual_genome.read(annotation_folder, Flaws()), make_reader)
    )
    _write_systematicity(annotated, output / "regions", crepe_folder)
    walk_settings = replace(captioned_walks.CaptionedWalkSettings.read(), workers=1, variants={})
    captioned_walks.build(annotated, walk_settings, output / "walks")
    settings = replace(crepe_productivity.ProductivitySettings.read(), workers=1, refine=False)
    source = Source.read(annotated.path)
    for balanced in (False, True):
        balanced_settings = replace(settings, balanced=balanced)
        crepe_productivity.write(
            output / "walks", source, "microworld", balanced_settings, crepe_folder
        )
    return {str(scene.image_id): scene.to_json() for scene in scenes}


def _write_systematicity(images: Annotations, regions: Path, output: Path) -> None:
    """Write the captions and all their negatives, without splits by a training corpus."""
    settings = read_params("crepe_systematicity") | {"workers": 1}
    crepe_regions.build("microworld", images, settings, regions)
    write_config(output, "all_raw", {"test": crepe_regions.read_captions(regions)}, RAW_SCHEMA)
    compounds = Targets.load(regions / crepe_regions.TARGETS).compounds
    nouns = ImageNouns.of_rows(crepe_regions.read_captions(regions, ["image_id", "atoms"]))
    negatives = {
        kind: [row[kind] for row in crepe_regions.read_negatives(regions, [kind])]
        for kind in NEGATIVES
    }
    negatives |= {
        kind: make_balanced_negatives(read_compounds(regions), kind, compounds, nouns, refine=False)
        for kind in BALANCED_NEGATIVES
    }
    for kind, columns in negatives.items():
        rows = add_negatives(crepe_regions.read_captions(regions), columns)
        write_config(output, f"all_{kind}", {"test": rows}, HARD_NEGATIVE_SCHEMA)
