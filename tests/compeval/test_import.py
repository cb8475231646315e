"""Tests of ``compeval import`` and ``compeval audit``."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from compeval.loaders.importing.identify import identify
from compeval.loaders.published.balanced import OWN_LISTS, pack, write_lists
from tests.compeval.cli.test_cli import call
from tests.published_files import read_file
from tests.stand_ins import write_stand_ins

SWAPS = "crepe/prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_4.csv"


def test_published_files_are_imported_audited_and_evaluated(
    here: Path, clip: Path, real_data: Path
):
    pairs = json.loads((real_data / "sugar_crepe" / "swap_obj.json").read_text(encoding="utf-8"))
    small_file = here / "swap_obj.json"
    small_file.write_text(
        json.dumps({key: pairs[key] for key in list(pairs)[:9]}), encoding="utf-8"
    )
    files = [real_data / SWAPS, small_file]
    write_stand_ins(files, here / "images")
    imported = call("import", *files, "--images", "images", "--output", "published")
    assert imported.exit_code == 0, imported.stderr
    assert "crepe_published/prod_hnswap/n4" in imported.stdout
    audits = json.loads(call("audit", "crepe_published", "--data", "published", "--json").stdout)
    file_audits = json.loads(call("audit", files[0], "--json").stdout)
    assert audits["crepe_published/prod_hnswap/n4"] == file_audits[files[0].name]
    tasks = ("--task", "crepe_published/*", "--task", "sugarcrepe/*")
    run = call("run", "--model", f"local:{clip}", "--data", "published", *tasks, "--json")
    results = json.loads(run.stdout)
    assert [
        (result["task"], result["data"]["rows"], result["source"], result["synthetic"])
        for result in results
    ] == [
        ("crepe_published/prod_hnswap/n4", 27, "visual_genome", False),
        ("sugarcrepe/swap_obj", 9, "coco", False),
    ]


def test_audit_prints_findings_and_a_verdict(here: Path, data: Path):
    lines = list(
        csv.DictReader(
            call("audit", "crepe", "--data", data, "--format", "csv").stdout.splitlines()
        )
    )
    first = [line for line in lines if line["set"] == "crepe/prod_hnatom/n4"]
    # 5 rows of 3 negatives.
    assert {(line["rows"], line["negatives"]) for line in first} == {("5", "15")}
    # All candidates have the same number of words, so the rules are at chance, 1/4.
    assert {line["name"]: line["value"] for line in first if line["kind"] == "cue"} == {
        "no negation word": "0.25",
        "fewest words": "0.25",
        "most words": "0.25",
        "no final stop, or outer spaces": "0.25",
    }
    table = call("audit", "crepe", "--data", data, "--format", "md").stdout.splitlines()
    assert table[0] == "| set | verdict | found | rows | negatives | chance % |"
    assert "| crepe/prod_hnatom/n4 | clean | nothing | 5 | 15 | 25.0 |" in table
    rows = [{"filename": "1.jpg", "caption": "a b", "negative_caption": "no a  b"}] * 1200
    Path("replace_obj.json").write_text(json.dumps(rows), encoding="utf-8")
    result = call("audit", "replace_obj.json", "--json")
    (audit,) = json.loads(result.stdout).values()
    assert (audit["verdict"], audit["findings"]) == (
        "flaws and cues",
        [
            "1,200 negatives have a double space, their caption has none",
            "no negation word selects the caption in 100.0% of rows, and 1,200 negatives add one",
            "fewest words selects the caption in 100.0% of rows",
        ],
    )


@pytest.mark.parametrize("name", ["atom_complexity_4", "swap_complexity_12", "negate_complexity_8"])
def test_published_files_are_known_by_their_content(tmp_path: Path, real_data: Path, name: str):
    kind = name.split("_")[0]
    published = real_data / "crepe" / "prod_hard_negatives" / kind / f"prod_vg_hard_negs_{name}.csv"
    renamed = tmp_path / "prod_renamed.csv"
    shutil.copy(published, renamed)
    found = identify(renamed)
    assert (found.benchmark.name, found.name) == ("crepe_published", published.name)
    own, of_published = read_file(renamed), read_file(published)
    assert own[1] == of_published[1]
    assert (own[0].file, own[0].sha256) == ("prod_renamed.csv", of_published[0].sha256)


@pytest.mark.parametrize(
    ("source", "renamed", "expected"),
    [
        ("sugar_crepe/swap_obj.json", "swaps of objects.json", "swap_obj.json"),
        ("aro/visual_genome_relation.json", "pairs of nouns.json", "visual_genome_relation.json"),
        ("aro/valid_neg_clip.head500.tsv", "captions.tsv", "valid_neg_clip.tsv"),
    ],
)
def test_files_of_aro_and_sugarcrepe_are_known_too(
    tmp_path: Path, real_data: Path, source: str, renamed: str, expected: str
):
    shutil.copy(real_data / source, tmp_path / renamed)
    assert identify(tmp_path / renamed).name == expected


RENAMED = {
    "cola/data/COLA_multiobjects_matching_benchmark.json": "pairs.json",
    "imagecode/data/valid_data.json": "sets.json",
    "aro/visual_genome_attribution.json": "attributes.json",
    "predicate_noun/eval_set.json": "items.json",
    "comvg/ComVG.csv": "mine.csv",
    "svo_probes/svo_probes.csv": "table.csv",
    "negbench/images/synthetic_mcq_llama3.1_rephrased.csv": "a.csv",
    "negbench/images/COCO_val_mcq_llama3.1_rephrased.csv": "b.csv",
    "negbench/images/VOC2007_mcq_llama3.1_rephrased.csv": "c.csv",
    "negbench/images/COCO_val_retrieval.csv": "d.csv",
    "negbench/images/COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv": "e.csv",
    "naturalbench/dataset_split_for_finetuning/test_set.json": "lines.json",
    # The content does not say which file it is, so the name does.
    "negbench/images/synthetic_retrieval_v2.csv": "retrieval-v2.csv",
    "sugarcrepe_pp/data/replace_att.json": "att (replace).json",
    "valse/data/counting-hard.json": "valse_hard_counting.json",
    "vsr/splits/zeroshot/dev.jsonl": "vsr dev zeroshot.jsonl",
    "colorswap/test.json": "colorswap_test_2.json",
}


STATEMENT = '{"image": "1.jpg", "caption": "a", "label": 1, "relation": "on"}\n'


@pytest.mark.parametrize("name", RENAMED)
def test_renamed_copies_are_recognised_by_their_items_and_words(
    tmp_path: Path, real_data: Path, name: str
):
    source = real_data / "benchmarks" / name
    shutil.copy(source, tmp_path / RENAMED[name])
    found, published = identify(tmp_path / RENAMED[name]), identify(source)
    assert (found.benchmark, found.name) == (published.benchmark, published.name)
    assert identify(tmp_path / RENAMED[name], published.benchmark) == found


@pytest.mark.parametrize(
    ("benchmark", "name", "content", "message"),
    [
        (
            "comvg",
            "a.csv",
            "x,y\n1,2\n",
            "a.csv: not a file of comvg. Expected the columns sentence, pos_image_id, neg_image_id, neg_value; "
            "it has the "
            "columns x, y.",
        ),
        (
            "comvg",
            "a.csv",
            "sentence;pos_image_id\n1;2\n",
            "it has the columns sentence;pos_image_id.",
        ),
        (
            "sugarcrepe",
            "a.json",
            '[{"caption": "a"}]',
            "Expected the keys filename, caption, negative_caption; it has the keys caption.",
        ),
        (
            "cola",
            "a.json",
            "[[1, 2]]",
            "not a file of cola. Expected lists [URL of image 1, caption 1, URL of image 2, caption 2]; it has "
            "items like "
            "[1, 2].",
        ),
        (
            "vsr",
            "a.jsonl",
            STATEMENT,
            "its content does not say which file of vsr it is. Expected the keys image, caption, label, "
            "relation; it has "
            "the keys image, caption, label, relation. Give it one of these names, or one with the words of one "
            "of them: "
            "random/dev.jsonl, random/test.jsonl",
        ),
        (
            "negbench",
            "a.csv",
            "filepath,captions\nx/1.png,[]\n",
            "does not say which file of negbench it is.",
        ),
        (
            "cola",
            "a.json",
            "{",
            "not a file of cola (not JSON (Expecting property name enclosed in double quotes",
        ),
        (
            "imagecode",
            "train.json",
            '{"s": {"1": "a"}}',
            "its content does not say which file of imagecode it is. Expected sets {index of the image, 0 to 9: "
            "caption}; "
            "it has the keys 1.",
        ),
        (
            "",
            "a.csv",
            "x,y\n1,2\n",
            "a.csv: not recognised as a published file, neither by its name nor by its content. It has the "
            "columns x, y. "
            "Give it its published name, or name the benchmark: `compeval import NAME a.csv`.",
        ),
        (
            "",
            "a.jsonl",
            STATEMENT,
            "like the files of vsr. Give it its published name, or name the benchmark: `compeval import vsr a.jsonl`.",
        ),
        (
            "",
            "test.json",
            '[{"img_filename": "a.jpg"}]',
            "none of its 1 rows is usable (1 fields are missing). A file of colorswap has the keys image_1, image_2,",
        ),
    ],
)
def test_an_error_says_what_was_expected_and_what_the_file_has(
    here: Path, benchmark: str, name: str, content: str, message: str
):
    Path(name).write_text(content, encoding="utf-8")
    done = call("import", *filter(None, (benchmark, name)))
    assert (done.exit_code, done.stderr.count("Error:")) == (2, 1), done.output
    assert " ".join(message.split()) in " ".join(done.stderr.split())


def test_the_benchmark_can_be_named(here: Path):
    rows = "1,a dog eats,1,2,verb\n"
    Path("mine.csv").write_text(
        f"id,sentence,pos_image_id,neg_image_id,neg_value\n{rows}", encoding="utf-8"
    )
    write_stand_ins([Path("mine.csv")], here / "images")
    Path("comvg").mkdir()  # a folder of the same name is not a file
    done = call("import", "comvg", "mine.csv", "--images", "images", "--output", "data", "--json")
    assert done.exit_code == 0, done.output
    assert "mine.csv: recognised as ComVG.csv of comvg." in done.stderr
    (counts,) = json.loads(done.stdout)
    assert (counts["published_name"], counts["written"]) == ("ComVG.csv", {"verb/test": 1})


def test_captions_of_unknown_sets_need_their_published_name(tmp_path: Path, real_data: Path):
    shutil.copy(real_data / "aro" / "coco_karpathy_test.json", tmp_path / "mine.json")
    with pytest.raises(
        ValueError, match=r"mine.json: not recognised as a published file, .*aro_published"
    ):
        identify(tmp_path / "mine.json")


def test_commands_know_balanced_subsets(here: Path, clip: Path):
    rows = {
        str(row): {
            "filename": f"{row:012d}.jpg",
            "caption": f"a cup {row}",
            "negative_caption": f"a hat {row}",
        }
        for row in range(6)
    }
    file = here / "swap_obj.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    entry = {
        "file": file.name,
        "sha256": identify(file).sha256,
        "pairs": 6,
        "kept": pack(np.arange(6) % 2 == 0),
    }
    write_lists(Path("published", OWN_LISTS), [entry])
    write_stand_ins([file], here / "images")
    assert call("import", file, "--images", "images", "--output", "published").exit_code == 0
    for name in ("one", "two"):
        run = call(
            "run", "--model", f"local:{clip}", "--name", name, "--data", "published", "--json"
        )
        sizes = {result["task"]: result["data"]["rows"] for result in json.loads(run.stdout)}
        assert sizes == {"sugarcrepe/swap_obj": 6, "sugarcrepe/swap_obj@balanced": 3}
    folders = ("results/coco/one", "results/coco/two")
    compared = json.loads(call("compare", *folders, "--json").stdout)
    assert "sugarcrepe/swap_obj@balanced" in json.dumps(compared)
    assert call("leaderboard", *folders, "--data", "published").exit_code == 0
    assert "swap_obj@balanced" in (here / "leaderboard/index.html").read_text(encoding="utf-8")
    assert call("report", *folders, "--data", "published", "--output", "page").exit_code == 0
    assert "swap_obj@balanced" in (here / "page/index.html").read_text(encoding="utf-8")
