"""``compeval make``, ``push``, ``publish`` and ``results pull``: create datasets, and exchange data on the Hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    Answers,
    Ask,
    BaseUrl,
    CaptionColumn,
    Data,
    DatasetsOutput,
    DropEqual,
    ImageColumn,
    KindColumn,
    LanguageModel,
    MaxCost,
    NegativeColumns,
    PriceIn,
    PriceOut,
    TableColumns,
    split_names,
)

if TYPE_CHECKING:
    from compeval.loaders.own_data.options import NegativeOptions

app = typer.Typer(no_args_is_help=True, help="Results of others.")
CAPTION = "caption"
"""Default caption column of a training corpus."""


class HardNegatives(NamedTuple):
    """The hard negatives that are made from captions."""

    negatives: str = ""
    corpus: list[str] | None = None
    corpus_column: str = CAPTION
    graphs: list[Path] | None = None
    annotations: Path = ANNOTATIONS
    refine: bool = True
    workers: int = 1

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
        if llm.ask:
            from compeval.generators.llm.client import check_key

            check_key()  # before the captions are parsed

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
    name: Annotated[str, typer.Argument(help="Name of the new dataset.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Tables (csv, tsv, jsonl, json) with the columns image, caption or captions, "
            "and hard_negatives; COCO's captions_*.json and dataset_*.json; folders with "
            "metadata.csv or metadata.jsonl; webdataset shards."
        ),
    ],
    images: Annotated[
        Path | None, typer.Option(help="Folder of the images. Default: the folder of each table.")
    ] = None,
    output: DatasetsOutput = Path(),
    split: Annotated[
        str,
        typer.Option(
            help="Split to read of a file with splits; several ones separated by commas, or all."
        ),
    ] = "test",
    on_error: Annotated[
        Literal["stop", "skip"],
        typer.Option(
            help="skip: leave out rows with an error, such as a broken image or an empty "
            "caption, and count them."
        ),
    ] = "stop",
    image_column: ImageColumn = "",
    caption_column: CaptionColumn = "",
    negative_columns: NegativeColumns = "",
    kind_column: KindColumn = "",
    drop_equal: DropEqual = False,
    negatives: Annotated[
        str,
        typer.Option(
            help="Kinds of hard negatives to make, separated by commas: atom, comp, swap, "
            "negation, order."
        ),
    ] = "",
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="Files of a training corpus, as a glob: parquet, csv, tsv, jsonl, txt or "
            "webdataset shards. Repeatable."
        ),
    ] = None,
    corpus_column: Annotated[
        str,
        typer.Option(
            help="Name of its caption column, or its position (from 0) in a table without a header."
        ),
    ] = CAPTION,
    graphs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Scene graphs of the images: Visual Genome's folder, GQA's *sceneGraphs*.json, "
            "COCO's instances or panoptic file. Repeatable."
        ),
    ] = None,
    annotations: Annotated[
        Path,
        typer.Option(
            help="Folder of the annotations; the texts that `compeval annotate import` rejected "
            "are replaced."
        ),
    ] = ANNOTATIONS,
    refine: Annotated[
        bool,
        typer.Option(
            help="Remove rows from balanced sets until text-only baselines are at chance."
        ),
    ] = True,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    model: Annotated[
        str | None,
        typer.Option(
            help="Language model that writes and judges the negatives from the captions alone. "
            "Default: rules, without a model. Where it does not write enough usable negatives, "
            "the rules do."
        ),
    ] = None,
    base_url: BaseUrl = None,
    answers: Answers = Path("sample/llm"),
    ask: Ask = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_cost: MaxCost = 0.0,
) -> None:
    """Build a dataset for retrieval and hard negatives from your own images and captions.

    With --negatives, hard negatives are made from the captions, and with --corpus they are divided into captions whose
    compounds the training corpus contains (sc) and does not contain (uc).

    Example: `compeval make mine captions.csv --images photos --negatives atom,swap`.
    """
    columns = TableColumns(
        image_column=image_column,
        caption_column=caption_column,
        negative_columns=negative_columns,
        kind_column=kind_column,
        drop_equal=drop_equal,
    )
    hard_negatives = HardNegatives(
        negatives=negatives,
        corpus=corpus,
        corpus_column=corpus_column,
        graphs=graphs,
        annotations=annotations,
        refine=refine,
        workers=workers,
    )
    llm = LanguageModel(
        model=model,
        base_url=base_url,
        answers=answers,
        ask=ask,
        price_in=price_in,
        price_out=price_out,
        max_cost=max_cost,
    )
    build_dataset(name, files, images, output, columns, hard_negatives, llm, split, on_error)


def build_dataset(
    name: str,
    files: Sequence[Path],
    images: Path | None,
    output: Path,
    columns: TableColumns,
    hard_negatives: HardNegatives,
    llm: LanguageModel,
    split: str = "test",
    on_error: Literal["stop", "skip"] = "stop",
) -> None:
    """Build a dataset, and print its rows, its best text-only baselines and what to do next."""
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


def push(
    dataset: Annotated[str, typer.Argument(help="Name or folder of a dataset.")],
    repository: Annotated[
        str,
        typer.Argument(help="ORG/NAME. The name of a micro-world dataset must contain microworld."),
    ],
    private: Annotated[
        bool, typer.Option("--private", help="Create a new repository as private.")
    ] = False,
    data: Data = None,
) -> None:
    """Upload a dataset folder to the Hugging Face Hub, with images if their licence permits redistribution.

    Example: `compeval push mine ORG/mine --private`.
    """
    from compeval.loaders.datasets.folders import resolve_folder
    from compeval.loaders.push import push as upload

    folder = resolve_folder(dataset, data)
    with err.status("Uploading"):
        url = upload(folder, repository, private=private)
    typer.echo(url)


def publish(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Folders of results.")
    ],
    repository: Annotated[
        str,
        typer.Option(
            "--to",
            help="ORG/NAME of the dataset. The name for micro-world results must contain "
            "microworld.",
        ),
    ],
    model_repository: Annotated[
        str | None,
        typer.Option(
            "--model-repo",
            help="ORG/NAME of the model, whose page gets .eval_results/compeval.yaml.",
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=ORG/DATASET: the repository of a dataset, for --model-repo and Every Eval "
            "Ever. Repeatable."
        ),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Create a new repository as private.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all files, and upload nothing.")
    ] = False,
) -> None:
    """Upload results with their rows as a dataset, and propose them for the page of a model.

    The dataset also has one document per model in the schema of Every Eval Ever. Results on drawn scenes have none.

    Example: `compeval publish results --to ORG/results --dry-run`.
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


SCORES = "scores"
"""Argument of ``pull`` that stands for the tables of published scores."""


def _pull_scores(compare: list[Path] | None) -> None:
    from compeval.evaluators.results import score_tables

    if compare:
        raise ValueError(
            "--compare is for results with rows; published scores have none. `compeval show` ranks with them."
        )
    with progress(in_bytes=True) as report:
        pulled = score_tables.pull(report)
    print_message(
        f"{pulled.scores:,} scores of {pulled.models:,} models were added to the published scores."
    )


@app.command()
def pull(
    repository: Annotated[
        str,
        typer.Argument(
            help="ORG/NAME of a dataset that `compeval publish` wrote; `scores`, the published scores of "
            "about 230 models; or a folder or the URL of results of MTEB."
        ),
    ],
    output: Annotated[Path, typer.Option(help="Folder to write the folder ORG--NAME to.")] = Path(
        "pulled"
    ),
    compare: Annotated[
        list[Path] | None,
        typer.Option(help="Result folder of a model to rank with the downloaded ones. Repeatable."),
    ] = None,
) -> None:
    """Download the results of others, and rank them with your own.

    `scores` (vl_compo's table of 202 models, FSC-CLIP's, NegBench's, predicate-noun dependencies') and result files of
    MTEB are added to the published scores in the cache, with which `compeval show` ranks.

    Example: `compeval results pull ORG/results --compare results/coco/ViT-B-32`.
    """
    if repository == SCORES:
        _pull_scores(compare)
        return
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

        print_ranking([*compare, *folders], None, "table")
