"""Tests of the page about a dataset's hard negatives."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

from compeval.base.schemas.rows import GROUP_SCHEMA
from compeval.base.schemas.texts import Texts
from compeval.base.storage.dataset import write_config
from compeval.base.text_only.baselines import RetrievalSets
from compeval.base.text_only.judges import JUDGES
from compeval.cli import app
from compeval.evaluators.inspection import measures
from compeval.evaluators.inspection.malformed import score_without_malformed
from compeval.evaluators.inspection.measures import contrast, contrast_words, measure_set
from compeval.evaluators.inspection.predictability import (
    find_solver,
    score_least_predictable,
    select_least_predictable,
    write_predictability,
)
from compeval.evaluators.inspection.rows import SetRows, Source, TextRow, gather, open_sources
from compeval.evaluators.report.text_only import read_text_only
from compeval.evaluators.results import documents
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.close import assert_close
from tests.evaluators import tiny
from tests.evaluators.engine.test_protocol_runs import groups

pytestmark = pytest.mark.usefixtures("few_trees")


def make_rows(
    captions: list[tuple[str, list[str]]], images: list[str] | None = None
) -> list[TextRow]:
    images = images or [str(index) for index in range(len(captions))]
    return [
        TextRow("toy", "test", index, image, Texts(caption, negatives, [False] * len(negatives)))
        for index, ((caption, negatives), image) in enumerate(zip(captions, images, strict=True))
    ]


def test_contrast_by_hand():
    # 16 images, two candidates. Differences from the mean of the row: +1 in 12 images, -1 in 4. Sum 8, variance 16.
    value_NK = np.array([[3.0, 1.0]] * 12 + [[1.0, 3.0]] * 4)
    found = contrast("words", value_NK, [str(row) for row in range(16)])
    assert (found.truth, found.negatives) == (2.5, 1.5)
    assert_close(found.p, 2 * norm.sf(8 / 4))
    # The same rows twice per image are no more evidence.
    twice = contrast("words", np.repeat(value_NK, 2, axis=0), [str(row // 2) for row in range(32)])
    assert_close(twice.p, found.p, summed=32)
    assert contrast("words", value_NK, list("abcd") * 4).p is None  # too few images


def test_words_that_occur_in_true_captions_only():
    # "red" is in every true caption and in no negative; "cup" is in all captions.
    colours = ["blue", "green", "grey", "pink"]
    captions = [
        ["a red cup", f"a {colours[row % 4]} cup", f"a {colours[(row + 1) % 4]} cup"]
        for row in range(40)
    ]
    words = contrast_words(RetrievalSets(captions, [str(row) for row in range(40)]))
    assert next((word.name, word.truth, word.negatives) for word in words) == ("red", 1.0, 0.0)
    assert {word.name for word in words} <= {"red", *colours}
    # Difference 2/3 in each of 40 images; Holm over the five words that differ between captions.
    # The tail of a normal distribution at z = 40 ** 0.5 has a relative error of z^2 times that of z, a sum of 40.
    z = 40 * (2 / 3) / np.sqrt(40 * (2 / 3) ** 2)
    assert_close(words[0].p, 5 * 2 * norm.sf(z), summed=40 * 40**2)


def test_words_of_exchangeable_captions_are_not_significant():
    generator = np.random.default_rng(0)
    words = np.array(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
    captions = [[" ".join(generator.choice(words, 4)) for _ in range(5)] for _ in range(300)]
    assert contrast_words(RetrievalSets(captions, [str(row) for row in range(300)])) == []


def test_duplicates_by_hand():
    rows = make_rows(
        [
            ("a red cup", ["a blue cup", "a green cup"]),
            ("a red cup", ["a green cup", "a blue cup"]),  # the first row again, in another order
            # Of the same image: a true caption among the negatives.
            (
                "a blue cup",
                ["a red cup", "a pink cup"],
            ),
            ("a red cup", ["a pink cup"]),  # another image and fewer candidates
        ],
        ["x", "x", "x", "y"],
    )
    found = gather(rows)
    assert (found.images, found.candidates) == (2, {2: 1, 3: 3})
    # Three candidates are more frequent.
    assert sorted(row.position for row in found.sample) == [
        0,
        1,
        2,
    ]
    # The two first rows have "a blue cup", the third "a red cup".
    assert list(found.duplicates.values()) == [
        1,
        2,
        3,
    ]


def test_sample_is_random_bounded_and_repeatable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("compeval.evaluators.inspection.rows.SAMPLE_ROWS", 10)
    rows = make_rows([(f"cup {index}", ["bowl"]) for index in range(200)])
    sample = [row.position for row in gather(rows).sample]
    assert len(sample) == 10
    assert sample == [row.position for row in gather(rows).sample]
    assert max(sample) > 20


def test_a_set_whose_truth_is_the_medoid_is_above_chance():
    nouns = ["cup", "bowl", "box", "key", "hat", "lamp"]
    captions = []
    for row in range(60):
        truth = [nouns[(row + place) % 6] for place in range(4)]
        negatives = [
            " ".join([*truth[:place], nouns[(row + 4) % 6], *truth[place + 1 :]])
            for place in range(4)
        ]
        captions.append((" ".join(truth), negatives))
    report = measure_set("toy", gather(make_rows(captions)))
    assert report.rules["medoid_of_words"]["recall@1"] == 1.0
    assert_close(report.rules["fewest words"]["recall@1"], report.chance)
    assert "medoid_of_words" in report.above_chance
    assert "fewest words" not in report.above_chance


@pytest.fixture
def one_baseline(one_process: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fewest = {"fewest words": JUDGES["fewest words"].score}
    monkeypatch.setattr(measures, "select_audited", lambda: fewest)


@pytest.mark.usefixtures("one_baseline")
def test_page_of_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tiny.write_dataset(tmp_path / "here", {"main": {"test": tiny.choice_rows(3)}})  # not this one
    monkeypatch.chdir(tmp_path / "here")
    folder = tiny.write_dataset(
        tmp_path,
        {
            "prod_hnatom": {"n4": tiny.choice_rows(5, 3), "n10": tiny.choice_rows(4, 3)},
            "toy_raw": {},
        },
    )
    genuine = [{"type": "prod_hnatom", "recall": 0.9, "genuine": 0.995, "captions": 1234}]
    validity = {"positives": {"captions": 10_000, "true_share": 0.9998}, "genuine": genuine}
    (folder / "validity.json").write_text(json.dumps(validity), encoding="utf-8")
    output = tmp_path / "pages"
    arguments = ["inspect", "crepe", "--data", str(folder), "--output", str(output), "--json"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert [line["set"] for line in json.loads(result.stdout)] == ["prod_hnatom"]
    report = json.loads((output / "text_only_crepe.json").read_text(encoding="utf-8"))[
        "prod_hnatom"
    ]
    assert read_text_only([output / "text_only_crepe.json"])["crepe"]["prod_hnatom"] == report
    assert (report["rows"], report["candidates"], report["sampled"]) == (9, {"4": 9}, 9)
    page = (output / "crepe.html").read_text(encoding="utf-8")
    assert (
        page.count('class="example"')
        == page.count("data:image/jpeg")
        == len(set(re.findall(r'id="row-[^"]+', page)))
        == 9
    )
    assert "judges 9,998 of 10,000 captions as true." in page
    assert (
        '<td><span class="value">99.5</span> <span class="spread">(1,234 captions)</span></td>'
        in page
    )
    assert "a baseline that reads only the captions finds the true one more often" in page
    assert page.index("data:image/jpeg") < page.index("<table>"), "pictures come before tables"
    assert page.count("of the text-only baselines select ✓") == 9
    assert "Synthetic data." in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)


@pytest.mark.usefixtures("one_baseline")
def test_no_baseline_is_above_chance_on_a_few_rows():
    rows = make_rows([("a cup", ["a red cup"] * 4)])
    report = measure_set("toy", gather(rows))
    assert report.best_recall == 1.0
    assert report.rules[report.best_baseline]["interval"][0] > report.chance
    assert report.above_chance == []


@pytest.mark.usefixtures("one_baseline")
def test_each_caption_of_a_pair_is_the_negative_of_the_other(tmp_path: Path):
    folder = tmp_path / "minimal_pairs"
    write_config(
        folder,
        "colours",
        {"test": groups([("red", "green"), ("red", "blue"), ("blue", "pink")])},
        GROUP_SCHEMA,
    )
    write_card(folder, {}, "", measure(folder))
    (source,) = open_sources([str(folder)])
    (rows,) = source.sets.values()
    assert (rows.audit.rows, rows.images, rows.candidates) == (6, 3, {2: 6})
    assert (
        rows.duplicates["negatives that are a true caption of the same image in another row"] == 0
    )
    for first, second in zip(rows.sample[::2], rows.sample[1::2], strict=True):
        assert (first.position, first.column, second.column) == (
            second.position,
            "image_0",
            "image_1",
        )
        assert (first.caption, *first.hard_negatives) == (*second.hard_negatives, second.caption)
        assert source.read_image(first).tobytes() != source.read_image(second).tobytes()
    report = measure_set("colours", rows)
    assert report.rules["fewest words"]["recall@1"] == report.chance == 0.5


def test_rows_that_lack_a_text_are_left_out(tmp_path: Path):
    """A row without a cell is an error, since `compeval run` cannot score it."""
    first, second, third = tiny.choice_rows(3, 2)
    first["caption"] = ""
    second["hard_negatives"][1] = ""
    folder = tiny.write_dataset(tmp_path, {"prod_hnatom": {"test": [first, second, third]}})
    (source,) = open_sources(["crepe"], folder)
    (row,) = source.sets["prod_hnatom"].sample
    assert (row.position, row.caption) == (2, third["caption"])
    second["hard_negatives"][1] = None
    tiny.write_dataset(tmp_path, {"prod_hnatom": {"test": [first, second, third]}})
    with pytest.raises(ValueError, match=r"row 1: the column 'hard_negatives' has an empty cell"):
        open_sources(["crepe"], folder)


@pytest.mark.usefixtures("one_baseline")
def test_page_of_published_files(real_data: Path, tmp_path: Path):
    files = [real_data / "sugar_crepe" / name for name in ("swap_obj.json", "swap_att.json")]
    (source,) = open_sources([str(file) for file in files])
    assert list(source.sets) == ["swap_att", "swap_obj"]
    assert [rows.audit.rows for rows in source.sets.values()] == [666, 245]
    result = CliRunner().invoke(
        app, ["inspect", *map(str, files), "--output", str(tmp_path)], catch_exceptions=False
    )
    assert result.exit_code == 0
    page = (tmp_path / "sugarcrepe.html").read_text(encoding="utf-8")
    assert page.count('class="example bare"') == 40
    assert "Synthetic" not in page


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere/set", "nowhere/set: no such file or folder."),
        ("README.txt", "README.txt: not recognised as a published file"),
        ("retrieval", "no split has hard negatives to inspect"),
    ],
)
def test_bad_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, message: str):
    monkeypatch.chdir(tmp_path)
    Path("README.txt").write_text("nothing", encoding="utf-8")
    tiny.write_dataset(tmp_path, {"toy_raw": {"test": tiny.raw_rows(4)}}, name="retrieval")
    result = CliRunner().invoke(app, ["inspect", target, "--data", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())
    assert not Path("inspection").exists()


def test_predictability_of_ten_rows_against_brute_force():
    """Three baselines of ten sets; a tie of t captions with the truth on top counts 1/t."""
    scores = [
        np.random.default_rng(seed).integers(0, 3, (10, 4)).astype(float) for seed in range(3)
    ]
    expected = []
    for row in range(10):
        hits = [(of[row][0] == max(of[row])) / list(of[row]).count(max(of[row])) for of in scores]
        expected.append(sum(hits) / 3)
    found = measures.compute_predictability(scores)
    assert_close(found.tolist(), expected)
    least = select_least_predictable(found)
    assert least.sum() >= 5
    assert found[least].max() <= (found[~least].min() if (~least).any() else 1)


def test_score_on_the_least_predictable_half_by_hand(tmp_path: Path):
    rows = SetRows(None, 4, {2: 4}, [*make_rows([(f"cup {n}", ["hat"]) for n in range(4)])], {})  # type: ignore[arg-type]
    source = Source(
        "toy", {"main": rows}, is_synthetic=False, version=None, read_image=lambda row: None
    )
    report = measure_set("main", gather(make_rows([("cup", ["hat"])] * 12)))
    report = dataclasses.replace(report, hits={}, predictability=[0.9, 0.1, 0.2, 0.8])
    table = pa.table(
        {"row": [0, 1, 2, 3], "image_id": list("abcd"), "rank": [1, 1, 2, 1], "tie": [False] * 4}
    )
    result = {
        "schema": 1,
        "task": "toy/main",
        "dataset": "toy",
        "config": "main",
        "split": "test",
        "variant": None,
    }
    document = result | {"main": ["recall@1"], "model": {"name": "model"}}
    (tmp_path / "results").mkdir()
    documents.write(tmp_path / "results/main.json", document, table)
    (record,) = score_least_predictable(source, [report], tmp_path / "results")
    assert (record["all"], record["all rows"], record["least"], record["least rows"]) == (
        0.75,
        4,
        0.5,
        2,
    )
    assert record["solved by"] is None
    write_predictability(tmp_path / "rows.csv", source, [report])
    lines = (tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "set,split,row,image_id,predictability"
    assert [line.split(",")[2] for line in lines[1:]] == ["1", "2", "3", "0"]


def test_a_half_that_one_baseline_solves_is_no_test_of_vision():
    """Eleven of twelve baselines are wrong in the first half, in which the other one is right."""
    rows = [*make_rows([(f"cup {n}", ["hat"]) for n in range(40)])]
    sample = [row._replace(image_id=str(n)) for n, row in enumerate(rows)]
    set_rows = SetRows(None, 40, {2: 40}, sample, {})  # type: ignore[arg-type]
    source = Source(
        "toy", {"main": set_rows}, is_synthetic=False, version=None, read_image=lambda row: None
    )
    report = measure_set("main", gather(make_rows([("cup", ["hat"])] * 12)))
    half = [0.0] * 20 + [1.0] * 20
    hits = {"medoid": [1.0] * 40, **{f"other {n}": half for n in range(11)}}
    predictability = np.mean([*hits.values()], axis=0).tolist()
    report = dataclasses.replace(report, hits=hits, predictability=predictability)
    assert find_solver(report, source) == ("medoid", 1.0)
    wrong = {name: of for name, of in hits.items() if name != "medoid"}
    assert find_solver(dataclasses.replace(report, hits=wrong), source) is None


def test_scores_without_malformed_texts_by_hand(tmp_path: Path):
    negatives = [["a owl", "a cat"], ["a cat", "a hat"], ["a owl", "an cup"], ["a cat", "a bed"]]
    captions = ["a dog", "a dog", "a dog", "Sure, a dog"]
    scores = [[1.0, 2.0, 0.0], [1.0, 0.0, 0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    columns = {
        "caption": captions,
        "hard_negatives": negatives,
        "scores": scores,
        "image_id": list("abcd"),
    }
    (tmp_path / "results").mkdir()
    for name in ("toy", "other"):
        result = {
            "schema": 1,
            "task": f"{name}/main",
            "dataset": name,
            "main": ["recall@1"],
            "variant": None,
        }
        documents.write(
            tmp_path / f"results/{name}.json",
            result | {"model": {"name": "model"}},
            pa.table({"row": range(4)} | columns),
        )
    (record,) = score_without_malformed(tmp_path / "results", {"toy"})
    found = {
        name: (record[name]["rows"], record[name]["recall@1"])
        for name in ("all", "rows", "negatives")
    }
    # Row 0 is right without "a owl"; row 2 has no negative left; the caption of row 3 is malformed.
    assert found == {"all": (4, 0.5), "rows": (1, 1.0), "negatives": (2, 1.0)}
    assert_close(record["negatives"]["chance"], (1 / 2 + 1 / 3) / 2)
