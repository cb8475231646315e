"""No draw of hard negatives can be replayed from the texts of a row (base/draw_keys.py)."""

import ast
import hashlib
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from compeval.base.draw_keys import make_image_key, make_source_key
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Box, SceneGraph, SceneObject
from compeval.base.text_only.baselines import RetrievalSets
from compeval.base.text_only.refinement import select_rows_at_chance
from compeval.generators.hard_negatives.balanced.compounds import make_balanced_negatives
from compeval.generators.hard_negatives.balanced.image_nouns import ImageNouns
from tests.generators.hard_negatives.balanced.test_compounds import COLORS, NOUNS, PAIRS, make_row

ROOT = Path(__file__).parents[3]
TRAINING_ONLY = "generators/hard_negatives/negclip/negatives.py"
"""Its negatives are training data: no row asks which of them is true."""
TRUTHS = {"caption", "text", "truth", "captions"}


def list_seeds_with_truths() -> list[str]:
    """Return the calls of Random in the code whose arguments name a caption."""
    calls: list[str] = []
    for folder in ("generators", "loaders", "base"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id == "Random"
                ):
                    names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
                    names |= {
                        item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)
                    }
                    names |= {
                        item.value for item in ast.walk(node) if isinstance(item, ast.Constant)
                    }
                    if names & TRUTHS and "draw_key" not in names:
                        calls.append(path.relative_to(ROOT).as_posix())
    return calls


def test_no_seed_contains_a_caption():
    assert set(list_seeds_with_truths()) <= {TRAINING_ONLY}


@pytest.mark.parametrize("kind", ["hnatom_balanced", "hncomp_balanced"])
def test_balanced_draws_follow_the_key_and_not_the_caption(kind: str):
    """Rows with another article have the same foils; rows with another key have others."""
    pairs = [(noun, color) for noun in NOUNS for color in COLORS if color != "orange"] * 2
    rows = [make_row(f"a {color} {noun}", str(n)) for n, (noun, color) in enumerate(pairs)]
    definite = [make_row(f"the {color} {noun}", str(n)) for n, (noun, color) in enumerate(pairs)]
    other_keys = [row | {"draw_key": f"other {row['draw_key']}"} for row in rows]
    first, same, others = (
        [
            [[foil["to"] for foil in item["foils"]] for item in negatives]
            for negatives in make_balanced_negatives(of, kind, PAIRS, ImageNouns({}), refine=False)
        ]
        for of in (rows, definite, other_keys)
    )
    assert first == same
    assert sum(one != other for one, other in zip(first, others, strict=True)) > len(rows) / 2


def test_which_row_of_an_image_is_kept_does_not_show_its_true_caption():
    """Two rows of an image share the word that differs, so one stays: not the one whose truth has the smaller hash."""
    captions = [
        [f"a {color} cup {n}", f"a {color} hat {n}"]
        for n in range(200)
        for color in ("red", "blue")
    ]
    sets = RetrievalSets(captions, [str(n // 2) for n in range(400)])
    keep_N = select_rows_at_chance(sets, 0, {}, drop_related=True)
    hash_N = np.array(
        [
            hashlib.sha256(f"0:{image}:{truth}".encode()).hexdigest()
            for image, (truth, _) in zip(sets.images, sets.captions, strict=True)
        ]
    )
    is_smaller = [hash_N[row] < hash_N[row ^ 1] for row in np.flatnonzero(keep_N)]
    assert 60 <= len(is_smaller) <= 200
    assert 0.35 < np.mean(is_smaller) < 0.65


def test_the_key_of_an_image_is_that_of_its_whole_annotation():
    graph = SceneGraph((SceneObject("1", "cup", (), Box(1, 2, 3, 4)),))
    region = Region("7", "a cup", Box(0, 0, 9, 9))
    image = AnnotatedImage("5", 10, 10, graph, (region,), files=(Path("a.jpg"),))
    key = make_image_key(image)
    assert key == make_image_key(replace(image, files=(Path("elsewhere/a.jpg"),)))
    moved = SceneGraph((SceneObject("1", "cup", (), Box(1, 2, 3, 5)),))
    others = (
        replace(image, graph=moved),
        replace(image, regions=(region, region)),
        replace(image, image_id="6"),
    )
    assert key not in map(make_image_key, others)
    assert make_source_key(["a", "b"]) != make_source_key(["a", "c"])
    assert Random(key).random() != Random("5:a cup").random()
