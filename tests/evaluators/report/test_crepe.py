"""Tests of the sections on CREPE: tables, figures, findings, captioners, frequencies of atoms, and validity."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from compeval.base.schemas.corpus_names import ProductivityConfig, parse_productivity
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.evaluators.metrics.trend import Slope
from compeval.evaluators.report import build, make_sections
from compeval.evaluators.report.figures import make_lines, summarise_seeds
from compeval.evaluators.report.headlines import describe_slope, explain_below_chance
from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Results, read_results, split_parts
from compeval.evaluators.report.sections import atom_counts, captioners, crepe, gap, sizes, validity
from compeval.evaluators.report.sections.crepe import PRODUCTIVITY_KINDS
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.close import assert_close
from tests.evaluators.written import write_hits, write_result
from tests.rows import hard_negative_row


def make(make_section: Callable[[Results], Section | None], *folders: Path) -> Section:
    """Return the section on the results in some folders."""
    section = make_section(read_results(folders))
    assert section is not None
    return section


def get_rows(section: Section) -> list[list[list[str]]]:
    return [table.cells.to_numpy().tolist() for table in section.tables]


@pytest.mark.parametrize("corpus", ["laion", "mine", "my_shop"])
def test_tables_of_a_corpus(tmp_path: Path, corpus: str):
    """A corpus of the user has the same tables as those of the paper."""
    for split, recall in (("sc", 0.6), ("uc", 0.45)):
        metrics = {"recall@1": recall, "avg_recall": recall + 0.1}
        write_result(tmp_path, "clip", f"crepe/{corpus}_{split}_hnatom", metrics, corpus=corpus)
    for number, recall in ((4, 0.5), (12, 0.25)):
        write_result(
            tmp_path, "clip", f"crepe/prod_hnatom/n{number}", {"recall@1": recall}, corpus=corpus
        )
    section = make(crepe.make_systematicity, tmp_path)
    names = (f"{corpus} (micro-world)", "clip")
    assert list(section.tables[0].cells) == [
        "Training data",
        "Model",
        "R@1 SC",
        "R@1 UC",
        "Avg R@K SC",
        "Avg R@K UC",
    ]
    assert get_rows(section) == [
        [
            ["Random", "", *["33.3"] * 4],
            [
                *names,
                "60.0 [50.0, 70.0]",
                "45.0 [35.0, 55.0]",
                "70.0 [60.0, 80.0]",
                "55.0 [45.0, 65.0]",
            ],
        ]
    ]
    section = make(crepe.make_productivity, tmp_path)
    assert list(section.tables[0].cells) == ["Training data", "Model", "n = 4", "n = 12"]
    assert get_rows(section)[0][1] == [*names, "50.0 [40.0, 60.0]", "25.0 [15.0, 35.0]"]
    figure_5, *_ = section.figures
    assert figure_5 == f"{crepe.FIGURE_5} Bands: 95 % intervals over images. 30 rows per set."


def test_figure_6_shows_models_with_other_training_data(tmp_path: Path):
    for model, corpus, recall in (
        ("RN50/openai", None, 0.4),
        ("RN101/openai", None, 0.6),
        ("flava", None, 0.3),
    ):
        write_result(tmp_path, model, "crepe/prod_hnatom/n4", {"recall@1": recall}, corpus=corpus)
    write_result(tmp_path, "clip-laion", "crepe/prod_hnatom/n4", {"recall@1": 0.9}, corpus="laion")
    values = read_results([tmp_path]).values
    lines = make_lines(crepe.join_openai_models(values[values["trained_on"].isna()]))
    means = {
        line.style["label"]: summarise_seeds(line.values, "complexity")["mean"].iloc[0]
        for line in lines
    }
    assert_close(means, {"OpenAI CLIP": 50.0, "flava": 30.0})
    figures = make(crepe.make_productivity, tmp_path).figures
    caption = f"{crepe.FIGURE_6} Bands: 95 % intervals over images (models with one seed) or minimum and maximum"
    (svg,) = [svg for text, svg in figures.items() if text.startswith(caption)]
    assert "OpenAI CLIP" in svg
    assert "LAION" not in svg


def test_figure_5_shows_the_mean_of_the_models_of_a_corpus(tmp_path: Path):
    for model, corpus, recall in (
        ("B-32", "laion", 0.4),
        ("L-14", "laion", 0.6),
        ("RN50", "yfcc", 0.3),
    ):
        write_result(tmp_path, model, "crepe/prod_hnatom/n4", {"recall@1": recall}, corpus=corpus)
    lines = make_lines(crepe.average_models(read_results([tmp_path]).values))
    means = {
        line.style["label"]: summarise_seeds(line.values, "complexity")["mean"].iloc[0]
        for line in lines
    }
    assert_close(
        means, {"laion (micro-world), mean of 2 models": 50.0, "yfcc (micro-world), RN50": 30.0}
    )


def test_sizes_of_training_sets_and_models(tmp_path: Path):
    """Published in Table 12 for n = 4 and 5: RN50 on CC-12M 19.71 and 21.46, mean 20.6; B-32 on LAION-400M none here.

    SC - UC of Table 9 for RN50 on CC-12M: 23.26 - 19.96 = 3.3 points.
    """
    real = {"synthetic": False, "source": "visual_genome"}
    models = {"RN50-quickgelu/cc12m": ("cc12m", 0.2), "RN50-quickgelu/yfcc15m": ("yfcc", 0.3)}
    models |= {"ViT-L-14/laion400m_e32": ("laion", 0.4)}
    for model, (corpus, recall) in models.items():
        options = {"corpus": corpus, "about": {"corpus_source": "web"}, **real}
        for complexity in (4, 5):
            write_result(
                tmp_path, model, f"crepe/prod_hnatom/n{complexity}", {"recall@1": recall}, **options
            )
        for split, drop in (("sc", 0.1), ("uc", 0)):
            write_result(
                tmp_path,
                model,
                f"crepe/{corpus}_{split}_hnall",
                {"recall@1": recall + drop},
                **options,
            )
    section = make(sizes.make_section, *sorted(path for path in tmp_path.iterdir()))
    sizes_table, trends = section.tables
    assert sizes_table.cells.to_numpy().tolist()[0] == [
        "CC-12M", "RN50-quickgelu/cc12m", "12", "102", "20.0 (20.6)", "+10.0 (+3.3)",
    ]  # fmt: skip
    assert list(trends.cells["Measure"]) == ["HN-Atom", "SC - UC, HN-Atom + HN-Comp"]
    # 12, 15, 400 million pairs, 20, 30, 40 percent: the same order. Parameters: 102, 102, 428, ranks 1.5, 1.5, 3.
    assert trends.cells["With training pairs"][0].startswith("+1.00 (")
    assert trends.cells["With parameters"][0].startswith("+0.87 (")


def test_models_of_one_size_have_no_section(tmp_path: Path):
    for model in ("clip-s0", "clip-s1"):
        write_result(tmp_path, model, "crepe/prod_hnatom/n4", {"recall@1": 0.5}, corpus="laion")
    assert sizes.make_section(read_results([tmp_path])) is None


def test_raw_tables_have_both_directions(tmp_path: Path):
    def write(task: str, size: int, share: float) -> None:
        metrics = {"i2t_recall@1": share, "t2i_recall@1": share / 2}
        changes = {
            "std": dict.fromkeys(metrics, 0.01),
            "chance": 1 / size,
            "data": {"set_size": size},
        }
        write_result(tmp_path, "clip", task, metrics, corpus="mine", **changes)

    for split, share, size in (("sc", 0.4, 100), ("uc", 0.3, 100), ("ua", 0.2, 20)):
        write(f"crepe/mine_{split}_raw", size, share)
    for number, share in ((4, 0.3), (5, 0.5)):
        write(f"crepe/prod_raw/n{number}", 50, share)
    (by_split,) = get_rows(make(crepe.make_systematicity, tmp_path))
    names, sizes = ("mine (micro-world)", "clip"), ("100 / 100 / 20", "1.0 / 1.0 / 5.0")
    assert by_split == [
        ["Image to text", *names, "40.0 ± 1.0", "30.0 ± 1.0", "20.0 ± 1.0", *sizes],
        ["Text to image", *names, "20.0 ± 1.0", "15.0 ± 1.0", "10.0 ± 1.0", *sizes],
    ]
    (by_complexity,) = get_rows(make(crepe.make_productivity, tmp_path))
    assert by_complexity[1] == ["Text to image", *names, "15.0 ± 1.0", "25.0 ± 1.0", "50", "2.0"]


def test_trend_over_complexities_is_one_regression(tmp_path: Path):
    for number, hits in ((4, 40), (8, 30), (12, 20)):
        write_hits(tmp_path, "a", f"crepe/prod_hnatom/n{number}", hits)
    # A model with one complexity is not in the trend.
    write_hits(tmp_path, "b", "crepe/prod_hnatom/n4", 0)
    (line,) = make(crepe.make_productivity, tmp_path).headline
    # From 66.7 % to 33.3 % over 8 atoms: 4.2 points per atom.
    assert line.startswith(
        "HN-Atom Recall@1 falls by 4.2 points per atom from 4 to 12 atoms (95 % interval "
    )
    assert line.endswith(", p < 0.001; 180 rows, 1 model; chance 16.7%).")


def test_a_trend_that_is_not_significant_is_not_claimed(tmp_path: Path):
    for number, hits in ((4, 30), (8, 25), (12, 28)):
        write_hits(tmp_path, "a", f"crepe/prod_hnatom/n{number}", hits)
    (line,) = make(crepe.make_productivity, tmp_path).headline
    assert line.startswith(
        "HN-Atom Recall@1 has no significant trend from 4 to 12 atoms: -0.4 points per atom (95 %"
    )
    assert re.search(r", p = 0\.\d+; 180 rows, 1 model; chance 16\.7%\)\.$", line)


def test_a_rounded_slope_of_zero_has_no_minus():
    values = {"first": 4, "last": 12, "rows": 180, "models": "1 model", "chance": 1 / 6}
    slope = Slope(slope=-0.0003, low=-0.003, high=-0.0001, p=0.8)
    assert describe_slope("complexity", slope, **values) == (
        "HN-Atom Recall@1 has no significant trend from 4 to 12 atoms: +0.0 points per atom "
        "(95 % interval -0.3 to 0.0, p = 0.8; 180 rows, 1 model; chance 16.7%)."
    )


@pytest.mark.parametrize(
    ("seen", "unseen", "start"),
    [
        (45, 20, "Seen compounds are easier by 41.7 points of HN-Atom Recall@1 (95 % interval "),
        (20, 45, "Unseen compounds are easier by 41.7 points of HN-Atom Recall@1 (95 % interval "),
        (
            31,
            30,
            "HN-Atom Recall@1 does not differ significantly between seen and unseen compounds: seen minus unseen ",
        ),
    ],
)
def test_seen_minus_unseen_has_an_interval(tmp_path: Path, seen: int, unseen: int, start: str):
    for split, hits in (("sc", seen), ("uc", unseen)):
        write_hits(tmp_path, "a", f"crepe/laion_{split}_hnatom", hits, corpus="laion")
    (line,) = make(crepe.make_systematicity, tmp_path).headline
    assert line.startswith(start)
    assert line.endswith(f"seen {seen / 60:.1%}, unseen {unseen / 60:.1%}, chance 16.7%; 1 model).")


def test_models_on_different_tasks_are_not_compared(tmp_path: Path):
    write_hits(tmp_path, "a", "crepe/laion_sc_hnatom", 50, corpus="laion")
    write_hits(tmp_path, "b", "crepe/laion_uc_hnatom", 10, corpus="laion")
    # Trained on the web's LAION, so the micro-world's sets of that name are not its own.
    write_hits(
        tmp_path, "web", "crepe/laion_uc_hnatom", 10, corpus="laion", about={"corpus_source": "web"}
    )
    section = make(crepe.make_systematicity, tmp_path)
    assert section.headline == []
    assert section.tables[0].cells["Model"].tolist() == ["", "a", "b"]


def test_a_constant_encoder_is_below_chance_because_of_its_ties(tmp_path: Path):
    metrics, intervals = {"recall@1": 0.0, "tie_rate": 1.0}, {"recall@1": [0.0, 0.06]}
    for number in (4, 8):
        task = f"crepe/prod_hnatom/n{number}"
        write_hits(tmp_path / "r", "constant", task, 0, metrics=metrics, intervals=intervals)
    lines = build([tmp_path / "r"], tmp_path / "report").splitlines()
    assert lines == [
        "constant, 2 tasks with hard negatives: 2 below chance (95 % intervals). In 100% of the rows, the true caption "
        "ties with a wrong one, which counts as an error."
    ]
    page = (tmp_path / "report/report.md").read_text(encoding="utf-8")
    assert "0.0↓ [0.0, 6.0]" in page
    assert (
        "↓ The 95 % interval is below chance: the model prefers wrong captions systematically"
        in page
    )
    assert r"0.0$\downarrow$ [0.0, 6.0]" in (
        tmp_path / "report/tables/productivity_hnatom.tex"
    ).read_text(encoding="utf-8")


def explain(root: Path, random_recalls: dict[str, tuple[str, float]]) -> list[str]:
    """Return the explanations of results below chance. ``random_recalls``: config -> version and random recall."""
    results = read_results([root])
    groups = {
        config: {"version": version, "random_scorers": recall}
        for config, (version, recall) in random_recalls.items()
    }
    results.text_only = {"crepe": groups}
    return explain_below_chance(results, results.values, PRODUCTIVITY_KINDS)


def test_a_result_below_chance_is_explained_by_random_word_weights_and_the_balanced_sets(
    tmp_path: Path,
):
    """5 of 120 rows of the paper's swaps are hits, and 30 of 60 of the balanced ones."""
    hits = {
        "prod_hnswap/n4": 1,
        "prod_hnswap/n5": 4,
        "prod_hnswap_balanced/n4": 30,
        "prod_hnatom/n4": 30,
    }
    for task, count in hits.items():
        write_hits(tmp_path, "a", f"crepe/{task}", count)
    (line,) = explain(
        tmp_path, {"prod_hnswap": ("v1", 0.13), "prod_hnswap_balanced": ("another version", 0.5)}
    )
    assert line == (
        "HN-Swap Recall@1 is below chance, 4.2% (95 % interval 1.8 to 9.4; 120 rows, 1 model; chance 16.7%). Random "
        "word weights, which know nothing of the image, reach 13.0%. On the balanced sets it is above chance, 50.0% "
        "(95 % interval 37.7 to 62.3; 60 rows, 1 model; chance 16.7%)."
    )


def test_nothing_is_explained_at_chance_or_without_the_same_effect_on_random_word_weights(
    tmp_path: Path,
):
    write_hits(tmp_path, "a", "crepe/prod_hnswap/n4", 9)
    write_hits(tmp_path, "b", "crepe/prod_hnneg/n4", 0)
    assert explain(tmp_path, {"prod_hnswap": ("v1", 0.13), "prod_hnneg": ("v1", 0.3)}) == []


def test_gap_of_crepe_and_of_imported_crepe_are_separate(tmp_path: Path):
    def write(dataset: str, corpus: str, split: str, rank: int, crop_id: str) -> None:
        examples = {
            "crop_id": [crop_id],
            "image_id": [crop_id],
            "caption": ["a red ball"],
            "rank": [rank],
        }
        changes = {"corpus": corpus, "synthetic": False, "source": "visual_genome"}
        task = f"{dataset}/{corpus}_{split}_hnatom"
        write_result(
            tmp_path / dataset, f"clip-{corpus}", task, {"recall@1": 0.5}, examples, **changes
        )

    # Built CREPE: laion hits everything, so the differences are 1 and -1, and the gap is 0. Imported CREPE: the seen
    # corpus always hits and the unseen one never, so the gap is 1. Pooled, both would be 1/2.
    for corpus, rank in (("laion", 1), ("yfcc", 2)):
        own, other = ("a", "b") if corpus == "laion" else ("b", "a")
        write("crepe", corpus, "sc", rank, own)
        write("crepe", corpus, "uc", rank, other)
        write("crepe_published", corpus, "sc", 1, f"published {own}")
        write("crepe_published", corpus, "uc", 2, f"published {other}")
    parts = split_parts(read_results([tmp_path]))
    sections = {name: gap.make_section(results) for name, results in parts.items()}
    gaps = {
        name: section.tables[0].cells["Gap"].tolist()
        for name, section in sections.items()
        if section
    }
    assert gaps == {"photographs": ["+0.0"] * 3, "published": ["+100.0"] * 3}
    assert sections["photographs"]
    assert sections["photographs"].metrics == {
        "seen_minus_unseen": {"hnatom": {"laion": 0.0, "yfcc": 0.0, "all": 0.0}}
    }


def test_names_of_productivity_configs() -> None:
    assert parse_productivity("prod_hnatom") == (None, "hnatom")
    assert parse_productivity("prod_llm_hnswap") == ("llm", "hnswap")
    assert parse_productivity("prod_hnneg_balanced") == (None, "hnneg_balanced")
    assert parse_productivity("laion_uc_hnatom") is None
    assert ProductivityConfig("llm", "raw").name == "prod_llm_raw"


def test_captioners_are_compared_at_the_complexities_of_both(tmp_path: Path) -> None:
    for number in (4, 5, 6):
        write_result(tmp_path, "A", f"crepe/prod_hnatom/n{number}", {"recall@1": 1 / 3})
    results = read_results([tmp_path])
    assert captioners.make_section(results) is None
    assert "captioners" not in [section.id for section in make_sections(results)]
    for number in (5, 6, 7):
        write_result(tmp_path, "A", f"crepe/prod_llm_hnatom/n{number}", {"recall@1": 1 / 3})
    results = read_results([tmp_path])
    results.validity = {
        "captioners": [
            {"variant": "llm", "captioner": "model", "complexities": [5, 6], "captions": 9, "kept": 0.9, "true": 0.8,
             "negatives": 5, "genuine": 0.7, "log_probability": -2.5},
            {"variant": "", "captioner": "grammar", "complexities": [5], "captions": 9, "kept": 1.0, "true": 1.0,
             "negatives": 0, "genuine": None, "log_probability": None},
        ]
    }  # fmt: skip
    section = captioners.make_section(results)
    assert section is not None
    captions, (row,) = get_rows(section)
    assert captions == [
        ["model", "5 to 6", "9", "90.0", "80.0", "70.0", "-2.50"],
        ["grammar", "5", "9", "100.0", "100.0", "-", "-"],
    ]
    # Three rows of each of two splits; one of three ranks is 1.
    assert row[:4] == [
        "A",
        "HN-Atom",
        "5 to 6",
        "6",
    ]
    assert row[4].startswith("33.3 [")
    assert row[5:] == ["6", row[4], "33.3"]
    assert section.shown == {("A", f"crepe/prod_llm_hnatom/n{n}") for n in (5, 6, 7)}


def test_validity(tmp_path: Path):
    write_result(tmp_path, "A", "crepe/prod_hnatom/n4", {"recall@1": 1 / 3})
    results = read_results([tmp_path])
    assert validity.make_section(results) is None
    results.validity = {
        "positives": {"captions": 10, "true_share": 1.0},
        "genuine": [
            {"type": kind, "recall": recall, "genuine": share}
            for kind in ("hnatom", "prod_hnswap")
            for recall, share in ((1.0, 0.995), (0.5, 0.9))
        ],
        "foil_words": {"drawable_and_seen": 0.93},
        "listed_atoms": [
            {"type": "raw", "rows": 30, "share": 0.9},
            {"type": "hnatom", "rows": 10, "share": 0.5},
        ],
    }
    section = validity.make_section(results)
    assert section is not None
    assert section.tables[0].cells.to_dict("records") == [
        {"Type": "hnatom", "recall 1.0": "99.5", "recall 0.5": "90.0", "annotators (CREPE)": "-"},
        {
            "Type": "prod_hnswap",
            "recall 1.0": "99.5",
            "recall 0.5": "90.0",
            "annotators (CREPE)": "70.1",
        },
    ]
    assert "93.0% of the words that hard negatives introduce" in section.text
    assert "80.00% of the rows list exactly the atoms" in section.text


def test_frequencies_of_atoms(tmp_path: Path):
    """Three seen rows and one unseen row of a red ball, and the counts of the corpus ``mine``."""
    data, seen = tmp_path / "data", tmp_path / "seen"
    data.mkdir()
    seen.mkdir()
    with pytest.raises(FileNotFoundError, match=r"seen_analysis\.seen CORPUS --counts"):
        atom_counts.read_atom_counts(seen)
    for split, count in (("sc", 3), ("uc", 1)):
        rows = [hard_negative_row(data, number) for number in range(count)]
        write_config(data / "crepe", f"mine_{split}_hnatom", {"test": rows}, HARD_NEGATIVE_SCHEMA)
    write_card(
        data / "crepe",
        {"license": "mit"},
        "A toy.\n",
        measure(data / "crepe") | {"source": "microworld"},
    )
    atoms = [["attribute", "red", 1000], ["object", "ball", 50], ["object", "kite", 7]]
    (seen / "mine.counts.json").write_text(
        json.dumps({"corpus": "mine", "atoms": atoms, "compounds": []}), encoding="utf-8"
    )
    assert atom_counts.read_atom_counts(seen, data).drop(columns="corpus").to_numpy().tolist() == [
        ["sc", "attribute", "red", 1000, 3],
        ["sc", "object", "ball", 50, 3],
        ["uc", "attribute", "red", 1000, 1],
        ["uc", "object", "ball", 50, 1],
    ]
    write_result(
        tmp_path / "results", "clip-mine", "crepe/mine_sc_hnatom", {"recall@1": 0.5}, corpus="mine"
    )
    build([tmp_path / "results"], tmp_path / "report", data, counts=seen)
    cells = pd.read_csv(tmp_path / "report/tables/atom_counts.csv")
    assert cells.iloc[0].tolist() == ["mine (micro-world)", "SC", 2, 525]
    assert "mathdefault" not in (tmp_path / "report/figures/atom_counts-1.svg").read_text(
        encoding="utf-8"
    )
    assert atom_counts.make_section(read_results([tmp_path / "results"])) is None


def test_frequencies_are_in_the_part_with_crepe(tmp_path: Path):
    """CREPE from photographs, and a set of drawn scenes, whose part is the first one."""
    data, seen, results = tmp_path / "data", tmp_path / "seen", tmp_path / "results"
    data.mkdir()
    seen.mkdir()
    for config in ("mine_sc_hnatom", "mine_uc_hnatom"):
        rows = [hard_negative_row(data, 0)]
        write_config(data / "crepe", config, {"test": rows}, HARD_NEGATIVE_SCHEMA)
    write_card(data / "crepe", {"license": "mit"}, "A toy.\n", measure(data / "crepe"))
    counts = {"corpus": "mine", "atoms": [["object", "ball", 50]], "compounds": []}
    (seen / "mine.counts.json").write_text(json.dumps(counts), encoding="utf-8")
    real = {"source": "visual_genome", "synthetic": False}
    write_result(results, "a", "crepe/mine_sc_hnatom", {"recall@1": 0.5}, corpus="mine", **real)
    write_result(results, "a", "minimal_pairs/object", {"text_score": 0.5})
    build([results], tmp_path / "report", data, counts=seen)
    tables = {path.name for path in (tmp_path / "report/tables").glob("*atom_counts.csv")}
    assert tables == {"photographs_atom_counts.csv"}
    cells = pd.read_csv(tmp_path / "report/tables/photographs_atom_counts.csv")
    assert cells["Training data"].tolist() == ["mine", "mine"]
