"""The small world: two objects from four themes, and captions with their relation."""

import json
import re
from pathlib import Path

from compeval.base.readers.gqa import read
from compeval.base.readers.records import Flaws
from compeval.generators.microworld.build import Params
from compeval.generators.microworld.scenes.splits import TEST_IDS, training_ids
from experiments.negclip.small_world import (
    NOUNS,
    sample_small_caption,
    sample_small_scene,
    write_test_scenes,
)

SCENES = [sample_small_scene(7, image_id) for image_id in range(1, 81)]


def test_scenes_have_two_objects_that_are_not_small() -> None:
    assert len(NOUNS) == 28  # 8 + 8 + 9 + 8 nouns, of which 5 are in two themes
    for scene in SCENES:
        first, second = scene.objects
        assert first.noun != second.noun
        assert {first.noun, second.noun} <= set(NOUNS)
        assert {first.pattern, second.pattern} <= {"plain", "striped"}
        assert "small" not in (first.size, second.size)


def test_captions_name_the_subject_first() -> None:
    captions = [sample_small_caption(7, scene, 0.5)[0].lower() for scene in SCENES]
    assert not [caption for caption in captions if " with " in caption or " has " in caption]
    # Nine of ten captions state a relation and therefore name both objects.
    names_both = [
        all(
            any(word in caption for word in (item.noun, "pail", "blossom", "kitty"))
            for item in scene.objects
        )
        for scene, caption in zip(SCENES, captions, strict=True)
    ]
    assert 60 <= sum(names_both) < len(SCENES)


def test_no_caption_has_the_template_of_vg_relation() -> None:
    captions = [
        sample_small_caption(7, scene, richness)[0].lower()
        for scene in SCENES
        for richness in (0.0, 0.5)
    ]
    assert not [
        caption
        for caption in captions
        if re.search(r"^the .* is .*\bthe (?!(left|right) )", caption)
    ]


def test_test_scenes_have_scene_graphs_and_captions(tmp_path: Path) -> None:
    params = Params(seed=7, test_images=0, train_images=0, train_size=16, annotation_recall=1.0)
    write_test_scenes(tmp_path / "test", params, 4)
    flaws = Flaws()
    images = list(read(tmp_path / "test/sceneGraphs.json", tmp_path / "test/VG_100K", flaws))
    assert not flaws.counts
    names = [[item.name for item in image.graph.objects] for image in images]
    assert names == [[item.noun for item in scene.objects] for scene in SCENES[:4]]
    split = json.loads((tmp_path / "test/coco_karpathy_test.json").read_text(encoding="utf-8"))
    assert all(item["caption"] for item in split)
    assert not set(TEST_IDS) & set(training_ids(2, 700_000))
