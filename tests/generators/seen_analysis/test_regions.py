"""Reading region descriptions, selecting them as test captions, and counting the removed regions."""

from functools import partial
from pathlib import Path

import pytest

from compeval.base.readers.annotations import Annotations, write_images
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Box, SceneGraph
from compeval.generators.seen_analysis.regions import (
    IMAGES_PER_CHUNK,
    RegionReader,
    collect_image_facts,
    find_candidates,
    read_regions,
)
from compeval.generators.seen_analysis.splits import (
    FEW_ATOMS,
    NO_COMPOUND,
    REPEATED,
    SMALL,
    UNPARSED,
    WORDLESS,
    Funnel,
)
from tests.generators import fake_language as fake
from tests.generators.parser.test_caption_parser import FailingParser

BIG, TINY = Box(0, 0, 300, 300), Box(0, 0, 30, 30)


def spell(phrase: str) -> str:
    return phrase.replace("rde", "red")


def make_reader() -> RegionReader:
    return RegionReader(fake.FakeParser(), spell)


def image(image_id: int, *regions: tuple[str, Box]) -> AnnotatedImage:
    described_regions = tuple(
        Region(str(number), phrase, box) for number, (phrase, box) in enumerate(regions)
    )
    return AnnotatedImage(
        str(image_id), 400, 400, SceneGraph(), described_regions, files=(Path("x.jpg"),)
    )


def select(
    images: list[AnnotatedImage], keep_repeated: bool = False
) -> tuple[list[list[tuple[str, str, bool]]], dict[str, int]]:
    """Return the image, the caption and whether it is repeated, for each selected region, and the counts."""
    funnel = Funnel()
    found = find_candidates(
        read_regions(images, make_reader), funnel, lambda image, graph: keep_repeated
    )
    groups = [
        [(item.image.image_id, c.parse.caption, c.repeated) for c in item.candidates]
        for item in found
    ]
    return groups, funnel.to_json()


def test_every_region_is_selected_or_counted() -> None:
    selected, funnel = select(
        [
            image(
                1,
                ("The RDE  cat", BIG),
                ("rde Cats .", BIG),
                ("red cat", TINY),
                (" . ", BIG),
                ("cat", BIG),
            ),
            image(2, ("cat and dog", BIG)),
            image(3, ("cat see dog", BIG), ("red cat", BIG), ("dog see cat", BIG)),
        ]
    )
    # "RDE" has capitals, so it is a name and is not corrected; "rde" is corrected to "red". "The RDE cat" has no atom
    # "red" and too few atoms. "red cat" in image 3 has the same graph as "red cats".
    assert selected == [
        [("1", "red cats", False)],
        [("3", "cat see dog", False), ("3", "dog see cat", False)],
    ]
    removed = {SMALL: 1, WORDLESS: 1, FEW_ATOMS: 2, NO_COMPOUND: 1, REPEATED: 1}
    assert funnel == dict.fromkeys(funnel, 0) | {"regions": 9, **removed, "kept": 3}


def test_repeated_graphs_of_other_images_are_yielded_on_request() -> None:
    images = [
        image(1, ("red cat", BIG), ("red cats", BIG)),
        image(2, ("red cat", BIG), ("rde cats", BIG)),
        image(3),
    ]
    selected, funnel = select(images, keep_repeated=True)
    assert selected == [[("1", "red cat", False)], [("2", "red cat", True)]]
    assert (funnel[REPEATED], funnel["kept"]) == (3, 1)


def test_a_phrase_that_the_parser_cannot_parse_is_counted() -> None:
    reader, funnel = RegionReader(FailingParser(), spell), Funnel()
    images = read_regions(
        [image(1, ("red cat", BIG), ("bad dog", BIG), ("big mice", TINY))], lambda: reader
    )
    ((read_image, (candidate,)),) = find_candidates(images, funnel)
    assert candidate.parse.caption == "red cat"
    assert collect_image_facts(read_image).mentioned == {"cat", "mouse"}
    assert funnel.to_json() == dict.fromkeys(funnel.to_json(), 0) | {
        "regions": 3,
        UNPARSED: 1,
        SMALL: 1,
        "kept": 1,
    }


def test_phrases_of_all_regions_add_to_the_facts_of_their_image() -> None:
    images = [image(1, ("red cat", BIG), ("big dogs", TINY)), image(2, ("cat see cat", BIG))]
    facts = [collect_image_facts(item) for item in read_regions(images, make_reader)]
    assert [item.mentioned for item in facts] == [{"cat", "dog"}, {"cat"}]


def test_a_file_keeps_captions_and_parses(tmp_path: Path) -> None:
    images = [image(1, ("red cat see dogs", BIG), (" . ", BIG)), image(2)]
    read_images = list(read_regions(images, partial(RegionReader.make, "rules", False)))
    assert read_images[0].regions[0].parse
    assert read_images[0].regions[0].parse.mentions
    write_images(tmp_path / "parsed.parquet", read_images)
    assert list(Annotations(tmp_path / "parsed.parquet")) == read_images


@pytest.mark.acceptance
def test_two_workers_read_the_same_regions() -> None:
    phrases = ["red cat", "cat see dog", "big dog", "cat", "red cats see mice"]
    images = [
        image(n, (phrases[n % 5], BIG), (f"big {'cat ' * (n % 7)}", BIG))
        for n in range(2 * IMAGES_PER_CHUNK + 1)
    ]
    assert list(read_regions(images, make_reader, workers=2)) == list(
        read_regions(images, make_reader)
    )
