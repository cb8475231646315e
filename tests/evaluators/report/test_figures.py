import subprocess
import sys
from pathlib import Path

DRAW = """
from compeval.evaluators.report.figures import draw


def paint(panels):
    panels[0].plot([0, 1], [0, 1])
    panels[0].set_xlabel("atoms")


print(draw(1, paint))
"""
SETTINGS = "lines.linewidth: 20\nfont.size: 40\naxes.facecolor: red\nsavefig.facecolor: red\n"


def draw_in(folder: Path) -> str:
    """Return a figure that is drawn by a process whose current folder is ``folder``."""
    command = [sys.executable, "-c", DRAW]
    return subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", check=True
    ).stdout


def test_a_figure_does_not_depend_on_matplotlibrc_of_the_current_folder(tmp_path: Path):
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.mkdir()
    other.mkdir()
    (other / "matplotlibrc").write_text(SETTINGS, encoding="utf-8")
    figure = draw_in(plain)
    assert figure.startswith("<svg")
    assert draw_in(other) == figure
