"""Selecting region descriptions as test captions, and counting the removed regions."""

from pathlib import Path

import pytest

from generators.schemas.annotated_image import AnnotatedImage, Region
from generators.schemas.scene_graph import Box, SceneGraph
from generators.seen_analysis.regions import IMAGES_PER_CHUNK, RegionReader, find_candidates
from generators.seen_analysis.splits import FEW_ATOMS, NO_COMPOUND, REPEATED, SMALL, UNPARSED, WORDLESS, Funnel
from tests.generators import fake_language as fake
from tests.generators.parser.test_caption_parser import FailingParser

BIG, TINY = Box(0, 0, 300, 300), Box(0, 0, 30, 30)


def spell(phrase: str) -> str:
    return phrase.replace("rde", "red")


def make_reader() -> RegionReader:
    return RegionReader(fake.FakeParser(), spell)


def image(image_id: int, *regions: tuple[str, Box]) -> AnnotatedImage:
    described_regions = tuple(Region(str(number), phrase, box) for number, (phrase, box) in enumerate(regions))
    return AnnotatedImage(str(image_id), 400, 400, SceneGraph(), described_regions, files=(Path("x.jpg"),))


def read(images: list[AnnotatedImage], workers: int = 1) -> tuple[list[list[tuple[str, str]]], dict[str, int]]:
    funnel = Funnel()
    groups = find_candidates(iter(images), make_reader, workers, funnel)
    return [[(c.image.image_id, c.parse.caption) for c in group] for group in groups], funnel.to_json()


def test_every_region_is_selected_or_counted() -> None:
    selected, funnel = read(
        [
            image(1, ("The RDE  cat", BIG), ("rde Cats .", BIG), ("red cat", TINY), (" . ", BIG), ("cat", BIG)),
            image(2, ("cat and dog", BIG)),
            image(3, ("cat see dog", BIG), ("red cat", BIG), ("dog see cat", BIG)),
        ]
    )
    # "RDE" has capitals, so it is a name and is not corrected; "rde" is corrected to "red". "The RDE cat" has no atom
    # "red" and too few atoms. "red cat" in image 3 has the same graph as "red cats".
    assert selected == [[("1", "red cats")], [("3", "cat see dog"), ("3", "dog see cat")]]
    assert funnel == dict.fromkeys(funnel, 0) | {
        "regions": 9,
        SMALL: 1,
        WORDLESS: 1,
        FEW_ATOMS: 2,
        NO_COMPOUND: 1,
        REPEATED: 1,
        "kept": 3,
    }


def test_repeated_graphs_of_other_images_are_yielded_on_request() -> None:
    images = [image(1, ("red cat", BIG), ("red cats", BIG)), image(2, ("red cat", BIG), ("rde cats", BIG)), image(3)]
    funnel = Funnel()
    groups = list(find_candidates(iter(images), make_reader, 1, funnel, lambda candidate: candidate.repeated))
    assert [[(c.image.image_id, c.parse.caption, c.repeated) for c in group] for group in groups] == [
        [("1", "red cat", False)],
        [("2", "red cat", True)],
    ]
    assert (funnel.to_json()[REPEATED], funnel.to_json()["kept"]) == (3, 1)


def test_a_phrase_that_the_parser_cannot_parse_is_counted() -> None:
    def make_failing_reader() -> RegionReader:
        return RegionReader(FailingParser(), spell)

    funnel, facts = Funnel(), image(1, ("red cat", BIG), ("bad dog", BIG), ("big mice", TINY))
    ((candidate,),) = find_candidates(iter([facts]), make_failing_reader, 1, funnel)
    assert candidate.parse.caption == "red cat"
    assert candidate.facts.mentioned == {"cat", "mouse"}
    assert funnel.to_json() == dict.fromkeys(funnel.to_json(), 0) | {"regions": 3, UNPARSED: 1, SMALL: 1, "kept": 1}


def test_phrases_of_all_regions_add_to_the_facts_of_their_image() -> None:
    images = [image(1, ("red cat", BIG), ("big dogs", TINY)), image(2, ("cat see cat", BIG))]
    groups = find_candidates(iter(images), make_reader, 1, Funnel())
    facts = [candidate.facts for group in groups for candidate in group]
    assert [item.mentioned for item in facts] == [{"cat", "dog"}, {"cat"}]
    assert make_reader().facts(images[0]) == facts[0]


@pytest.mark.acceptance
def test_two_workers_select_the_same_regions() -> None:
    phrases = ["red cat", "cat see dog", "big dog", "cat", "red cats see mice"]
    images = [
        image(n, (phrases[n % 5], BIG), (f"big {'cat ' * (n % 7)}", BIG)) for n in range(2 * IMAGES_PER_CHUNK + 1)
    ]
    assert read(images, workers=2) == read(images)
