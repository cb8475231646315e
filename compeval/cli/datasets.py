"""``compeval make``, ``push``, ``publish`` and ``results pull``: create datasets, and exchange data on the Hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from compeval.cli.console import (
    check_asked,
    check_writable,
    err,
    print_message,
    progress,
    reject_unused_options,
)
from compeval.cli.options import (
    ANNOTATIONS,
    Data,
    DatasetsOutput,
    LanguageModel,
    Positive,
    TableColumns,
    split_names,
)

if TYPE_CHECKING:
    from compeval.loaders.own_data.options import NegativeOptions

app = typer.Typer(no_args_is_help=True, help="Results of others.")
CAPTION = "caption"
"""Default caption column of a training corpus."""


class HardNegatives(NamedTuple):
    """The hard negatives that are made from captions.

    Args:
        negatives: Kinds of hard negatives to make, separated by commas: atom, comp, swap, negation, order.
        corpus: Files of a training corpus, as a glob: parquet, csv, tsv, jsonl, txt or webdataset shards. Repeatable.
        corpus_column: Name of its caption column, or its position (from 0) in a table without a header.
        graphs: Scene graphs of the images: Visual Genome's folder, GQA's *sceneGraphs*.json, COCO's instances or
            panoptic file. Repeatable.
        annotations: Folder of the annotations; the texts that `compeval annotate import` rejected are replaced.
        refine: Remove rows from balanced sets until text-only baselines are at chance.
        workers: Number of processes.
    """

    negatives: str = ""
    corpus: list[str] | None = None
    corpus_column: str = CAPTION
    graphs: list[Path] | None = None
    annotations: Path = ANNOTATIONS
    refine: bool = True
    workers: Positive = 1

    def check(self, llm: LanguageModel) -> None:
        """Raise ValueError if an option has no effect, or if one is missing that another needs."""
        if not self.corpus:
            reject_unused_options("without --corpus", corpus_column=self.corpus_column != CAPTION)
        if not self.negatives:
            others = {"annotations": self.annotations != ANNOTATIONS, "no_refine": not self.refine}
            reject_unused_options(
                "without --negatives",
                corpus=self.corpus,
                graphs=self.graphs,
                **others,
                workers=self.workers > 1,
            )
        check_asked(llm)
        if (llm.ask or llm.base_url) and llm.model is None:
            raise ValueError("--ask and --base-url need --model, the name of the language model.")
        if llm.model and not self.negatives:
            raise ValueError("--model writes hard negatives: name their kinds with --negatives.")

    def make_options(self, name: str, llm: LanguageModel, report: Any) -> NegativeOptions | None:
        """Return the options of the dataset ``name``, or None if no hard negatives are made."""
        if not self.negatives:
            return None
        from compeval.generators.hard_negatives.own.language_model import LanguageModel as Writer
        from compeval.loaders.own_data.options import NegativeOptions

        endpoint = llm.find_endpoint()
        return NegativeOptions(
            split_names(self.negatives),
            corpus=self.corpus or (),
            corpus_column=int(self.corpus_column)
            if self.corpus_column.isdecimal()
            else self.corpus_column,
            graphs=self.graphs or (),
            annotations=self.annotations / name,
            workers=self.workers,
            refine=self.refine,
            model=Writer(endpoint, llm.answers) if endpoint else None,
            max_cost=llm.max_cost if endpoint and llm.ask else None,
            report=report,
        )


def make(
    name: str,
    files: list[Path],
    images: Path | None = None,
    output: DatasetsOutput = Path(),
    split: str = "test",
    on_error: Literal["stop", "skip"] = "stop",
    *,
    columns: TableColumns,
    hard_negatives: HardNegatives,
    llm: LanguageModel,
) -> None:
    """Build a dataset for retrieval and hard negatives from your own images and captions.

    With --negatives, hard negatives are made from the captions, and with --corpus they are divided into captions whose
    compounds the training corpus contains (sc) and does not contain (uc).

    Args:
        name: Name of the new dataset.
        files: Tables (csv, tsv, jsonl, json) with the columns image, caption or captions, and hard_negatives; COCO's
            captions_*.json and dataset_*.json; folders with metadata.csv or metadata.jsonl; webdataset shards.
        images: Folder of the images. Default: the folder of each table.
        split: Split to read of a file with splits; several ones separated by commas, or all.
        on_error: skip: leave out rows with an error, such as a broken image or an empty caption, and count them.
        model: Language model that writes and judges the negatives from the captions alone. Default: rules, without a
            model. Where it does not write enough usable negatives, the rules do.
    """
    hard_negatives.check(llm)
    with progress() if hard_negatives.negatives else err.status("Reading") as report:
        from compeval.loaders.own_data.left_out import LeftOut
        from compeval.loaders.user_files import make as build

        left_out = LeftOut(split, on_error == "skip")
        options = hard_negatives.make_options(name, llm, report)
        stats = build(
            name,
            files,
            images,
            output,
            columns.to_user_columns(),
            options,
            drop_equal=columns.drop_equal,
            left_out=left_out,
        )
    left_out.print_skipped()
    typer.echo(f"{'':<30}{'rows':>8}  best text-only baseline")
    made = stats.get("negatives", {})
    for config, splits in stats["rows"].items():
        best = made.get("baselines", {}).get(config)
        found = (
            f"  {best['share']:.1%} {best['name']} (chance {best['chance']:.1%})" if best else ""
        )
        typer.echo(f"{name + '/' + config:<30}{splits['test']:>8,}{found}")
    for line in _describe_made(made):
        typer.echo(line)
    data = "" if output == Path() else f" --data {output}"
    typer.echo("Next:")
    typer.echo(f"  compeval inspect {name}{data}")
    typer.echo(f"  compeval run --model ViT-B-32/laion400m_e32{data} --task '{name}/*'")


def _describe_made(made: Mapping[str, Any]) -> Iterator[str]:
    """Yield why captions have no negatives of a kind, and why a config has no balanced variant."""
    captions = made.get("counts", {}).get("captions with distinct atoms", 0)
    for kind, reasons in made.get("reasons", {}).items():
        without = sum(reasons.values())
        yield f"{kind}: {captions - without:,} of {captions:,} captions qualify."
        yield from (f"  {count:,}: the caption {reason}." for reason, count in reasons.items())
    for name, count in made.get("counts", {}).items():
        if name.startswith("captions that") and count:
            yield f"{count:,} {name} are left out."
    for config, reason in made.get("unbalanced", {}).items():
        yield f"{config}: no balanced variant, because {reason}."


def push(dataset: str, repository: str, private: bool = False, data: Data = None) -> None:
    """Upload a dataset folder to the Hugging Face Hub, with images if their licence permits redistribution.

    Args:
        dataset: Name or folder of a dataset.
        repository: ORG/NAME. The name of a micro-world dataset must contain microworld.
        private: Create a new repository as private.
    """
    from compeval.loaders.datasets.folders import resolve_folder
    from compeval.loaders.push import push as upload

    folder = resolve_folder(dataset, data)
    with err.status("Uploading"):
        url = upload(folder, repository, private=private)
    typer.echo(url)


def publish(
    folders: Annotated[list[Path], typer.Argument(metavar="RESULTS...")],
    repository: Annotated[str, typer.Option("--to")],
    model_repository: Annotated[str | None, typer.Option("--model-repo")] = None,
    benchmark: list[str] | None = None,
    private: bool = False,
    dry_run: bool = False,
) -> None:
    """Upload results with their rows as a dataset, and propose them for the page of a model.

    The dataset also has one document per model in the schema of Every Eval Ever. Results on drawn scenes have none.

    Args:
        folders: Folders of results.
        repository: ORG/NAME of the dataset. The name for micro-world results must contain microworld.
        model_repository: ORG/NAME of the model, whose page gets .eval_results/compeval.yaml.
        benchmark: NAME=ORG/DATASET: the repository of a dataset, for --model-repo and Every Eval Ever. Repeatable.
        private: Create a new repository as private.
        dry_run: Print all files, and upload nothing.
    """
    from compeval.evaluators.results import hub

    benchmarks = dict(_split(text) for text in benchmark or ())
    publication = hub.prepare(folders, repository, model_repository, benchmarks)
    if dry_run:
        typer.echo(hub.describe_files(publication))
        print_message("Nothing was uploaded.")
        return
    with err.status("Uploading"):
        urls = hub.publish(publication, private=private)
    typer.echo("\n".join(urls))


def _split(text: str) -> tuple[str, str]:
    name, sign, repository = text.partition("=")
    if not (name and sign and repository):
        raise ValueError(
            f"--benchmark {text}: expected NAME=ORG/DATASET, for example sugarcrepe=me/sugarcrepe."
        )
    return name, repository


@app.command()
def pull(repository: str, output: Path = Path("pulled"), compare: list[Path] | None = None) -> None:
    """Download the results of others, and rank them with your own.

    Result files of MTEB are added to the published scores in the cache, with which `compeval show` ranks.

    Args:
        repository: ORG/NAME of a dataset that `compeval publish` wrote; or a folder or the URL of results of MTEB.
        output: Folder to write the folder ORG--NAME to.
        compare: Result folder of a model to rank with the downloaded ones. Repeatable.
    """
    if repository.startswith(("http://", "https://")) or Path(repository).is_dir():
        from compeval.evaluators.results import mteb

        if compare:
            raise ValueError(
                "--compare is for results with rows; those of MTEB are scores, with which `compeval show` ranks."
            )
        pulled = mteb.pull(repository)
        print_message(
            f"{pulled.scores:,} scores of {pulled.models:,} models of MTEB were added to the published scores."
        )
        if pulled.unknown:
            print_message(
                f"Left out, since their names are not known here: {', '.join(pulled.unknown)}."
            )
        return
    check_writable(output)
    from compeval.evaluators.results import hub

    with err.status("Downloading"):
        folders = hub.pull(repository, output)
    typer.echo("\n".join(map(str, folders)))
    if compare:
        from compeval.cli.compare import print_ranking

        print_ranking([*compare, *folders], "table")
