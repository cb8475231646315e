"""Draw figures as SVG text. Colours show training corpora; dashed grey lines show chance; panels share their axes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = {"cc12m": "#0072b2", "yfcc": "#d55e00", "laion": "#009e73"}
OTHER_COLOUR = "#555555"
DASHES = ("-", "--", ":", "-.")
SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)pt"[^>]*?height="([\d.]+)pt"')
"""Width and height of an SVG."""
STYLE: dict[Any, Any] = yaml.safe_load(
    Path(__file__).with_name("figures.yaml").read_text(encoding="utf-8")
)


def draw(
    num_panels: int,
    paint: Callable[[list[Axes]], None],
    size: tuple[float, float] = (3.3, 3.0),
    projection: str | None = None,
) -> str:
    """Draw panels and return them as SVG elements without XML prolog, one per panel: a narrow page stacks them.

    ``paint`` is called with the axes of the panels. ``size``: width and height of a panel in inches. The same input
    always produces the same text.
    """
    with _use_style():
        panels = [Figure(figsize=size, layout="constrained") for _ in range(num_panels)]
        paint([panel.add_subplot(projection=projection) for panel in panels])
        return "".join(map(_to_svg, panels))


@contextmanager
def _use_style() -> Iterator[None]:
    """Use the style of figures.yaml, whatever a ``matplotlibrc`` of the user or of the current folder says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def _to_svg(figure: Figure) -> str:
    buffer = io.StringIO()
    metadata = {"Date": None, "Creator": None}
    figure.savefig(buffer, format="svg", metadata=metadata, bbox_inches="tight", transparent=True)
    return "".join(buffer.getvalue().partition("<svg")[1:])


def join_panels(panels: str) -> str:
    """Return the panels of a figure side by side in one SVG, for a file."""
    sizes = [(float(width), float(height)) for width, height in SIZE.findall(panels)]
    if len(sizes) == 1:
        return panels
    parts = []
    x = 0.0
    for part, (width, _) in zip(panels.split("<svg ")[1:], sizes, strict=True):
        parts.append(f'<svg x="{x:g}" {part}')
        x += width
    height = max(height for _, height in sizes)
    box = f'width="{x:g}pt" height="{height:g}pt" viewBox="0 0 {x:g} {height:g}"'
    return f'<svg {box} xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>\n'


def add_legend(axes: Axes, ylabel: str) -> None:
    axes.set_ylabel(ylabel)
    axes.legend()


def share_axes(panels: list[Axes], *axes: str) -> None:
    """Set the same limits of the axes "x" and "y" for all panels."""
    for axis in axes:
        limits = [getattr(panel, f"get_{axis}lim")() for panel in panels]
        for panel in panels:
            getattr(panel, f"set_{axis}lim")(
                min(low for low, _ in limits), max(high for _, high in limits)
            )


def add_chance_line(axes: Axes, chance: float) -> None:
    """Add a dashed line at a chance level (a fraction of 1). The axis starts at 0."""
    axes.axhline(100 * chance, color="#999999", linestyle="--", linewidth=1)
    position: Any = {"xy": (1, 100 * chance), "xycoords": ("axes fraction", "data")}
    axes.annotate(
        "chance",
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        color="#777777",
        fontsize=8,
        **position,
    )
    axes.set_ylim(bottom=0)


def draw_bars(
    panels: Sequence[pd.DataFrame],
    xlabel: str,
    titles: Sequence[str] = (),
    chances: Sequence[float] = (),
    size: tuple[float, float] = (3.3, 3.0),
) -> str:
    """Draw a panel of horizontal bars for each frame: one group per row, from top to bottom, and one bar per column.

    Values are in percent. ``titles`` and ``chances`` (dashed lines, as fractions of 1): one per panel, or none.
    """

    def paint(axes_of_panels: list[Axes]) -> None:
        for index, (axes, values) in enumerate(zip(axes_of_panels, panels, strict=True)):
            values.plot.barh(ax=axes, width=0.8)
            axes.invert_yaxis()
            axes.grid(visible=False, axis="y")
            axes.set(xlabel=xlabel, ylabel="", xlim=(0, 100), title=titles[index] if titles else "")
            axes.legend(loc="upper left", bbox_to_anchor=(0, -0.18))
            if chances:
                axes.axvline(100 * chances[index], color="#999999", linestyle="--", linewidth=1)

    return draw(len(panels), paint, size)


class Line(NamedTuple):
    """The values of all training seeds of a model, and the style of its line."""

    values: pd.DataFrame
    style: dict[str, Any]


def make_lines(values: pd.DataFrame) -> Iterator[Line]:
    """Yield one line per model, over its training seeds.

    Colours show the corpus; dashes distinguish models of a corpus. All models are named.
    """
    for corpus, corpus_values in values.groupby(values["trained_on"].fillna("other")):
        for index, (series, rows) in enumerate(corpus_values.groupby("series")):
            label = (
                f"{rows['training_data'].iloc[0]}, {series}" if corpus in COLOURS else str(series)
            )
            colour = COLOURS.get(str(corpus), OTHER_COLOUR)
            dashes = DASHES[index % len(DASHES)]
            yield Line(rows, {"color": colour, "linestyle": dashes, "label": label})


def describe_rows(counts: Iterable[int], unit: str = "rows per set") -> str:
    """Return the number of rows in words: "300 rows per set." or "100 to 300 rows per set."."""
    distinct = sorted(set(map(int, counts)))
    return f"{' to '.join(f'{count:,}' for count in dict.fromkeys((distinct[0], distinct[-1])))} {unit}."


def describe_spread(values: pd.DataFrame, mark: str) -> str:
    """Return what ``mark`` (bands or bars) shows: intervals, or the range over the seeds or models of a line."""
    seeds = values.groupby("series")["model"].nunique()
    texts = {
        "95 % intervals over images": (seeds == 1).any(),
        "minimum and maximum over the training seeds or models": (seeds > 1).any(),
    }
    joined = " (models with one seed) or ".join(
        text for text, is_shown in texts.items() if is_shown
    )
    return f"{mark}: {joined}." if joined else ""


def summarise_seeds(values: pd.DataFrame, key: str) -> pd.DataFrame:
    """Return the mean in percent by ``key``: columns mean, low, high.

    With several seeds, low and high are the minimum and the maximum; otherwise, they are the confidence interval.
    """
    grouped = values.groupby(key)
    has_several_seeds = (grouped["model"].nunique() > 1).any()
    low, high = ("value", "value") if has_several_seeds else ("low", "high")
    return 100 * pd.DataFrame(
        {"mean": grouped["value"].mean(), "low": grouped[low].min(), "high": grouped[high].max()}
    )
