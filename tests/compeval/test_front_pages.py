"""Run the commands of README.md and of the pages that need no pipeline, on a tiny world.

Blocks after ``<!-- needs a download -->`` are not run; of these, only the names of commands and options are checked.
"""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from compeval.cli import app
from tests.compeval.test_pages import BLOCK, run
from tests.evaluators import tiny
from tests.rows import picture

ROOT = Path(__file__).parents[2]
DOWNLOAD = "<!-- needs a download -->"
RUN_BY_CI = {"pip", "make", "dvc", "uv", "compeval-environment/bin/pip", "python"}
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def read_blocks(page: Path) -> list[tuple[str, str, bool]]:
    """Return the language and the text of each code block, and whether it needs a download."""
    text = page.read_text()
    return [
        (match[1] or "sh", match[2] or match[3], text[: match.start()].rstrip().endswith(DOWNLOAD))
        for match in BLOCK.finditer(text)
    ]


def list_commands(page: Path) -> list[tuple[str, bool]]:
    """Return the shell commands of a page without their comments, and whether each needs a download."""
    return [
        (line.strip(), needs_download)
        for language, text, needs_download in read_blocks(page)
        if language == "sh"
        for line in re.sub(r"  +#.*", "", text).splitlines()
    ]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of ``compeval demo``, which tests/compeval/test_demo.py tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("demo"))
        result = CliRunner().invoke(app, ["demo"])
        assert result.exit_code == 0, result.output
        return Path("compeval-demo").resolve()


@pytest.fixture
def world(tmp_path: Path, clip: Path, demo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the model, the dataset and the pictures that the pages name."""
    tiny.write_dataset(tmp_path, {"prod_hnatom": {"n4": tiny.choice_rows(5, 3), "n5": tiny.choice_rows(4, 3)}})
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "clip-laion-s0").symlink_to(clip)
    (tmp_path / "models.txt").write_text("local:checkpoints/clip-laion-s0  # tiny\n")
    images = tmp_path / "downloads" / "val2017"
    images.mkdir(parents=True)
    rows = [f"{picture(images, number).name},a cup {number},\"['a hat']\"" for number in range(4)]
    (tmp_path / "downloads" / "pairs.csv").write_text("\n".join(["image,caption,hard_negatives", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("page", "number"),
    [
        ("README.md", 10),
        ("docs/install.md", 1),
        ("docs/first-steps.md", 5),
        ("docs/papers.md", 0),
        ("docs/concepts.md", 0),
        ("docs/many-models.md", 4),
    ],
)
def test_the_commands_of_a_page(page: str, number: int, world: Path, demo: Path, monkeypatch: pytest.MonkeyPatch):
    executed = 0
    for language, text, needs_download in read_blocks(ROOT / page):
        if language == "python" and text.startswith("# my_model.py"):
            (world / "my_model.py").write_text(text)
            monkeypatch.delitem(sys.modules, "my_model", raising=False)
        elif language == "python":
            exec(compile(text, page, "exec"), {})
            executed += 1
        elif language == "sh" and not needs_download:
            for line in re.sub(r"  +#.*", "", text).splitlines():
                if line.strip() == "compeval demo":
                    shutil.copytree(demo, "compeval-demo")
                elif shlex.split(line)[0] not in RUN_BY_CI:
                    run(line.strip(), monkeypatch)
                else:
                    continue
                executed += 1
    assert executed == number


@pytest.mark.parametrize(
    "page", [Path("README.md"), *(Path("docs") / f.name for f in (ROOT / "docs").glob("*.md"))], ids=str
)
def test_commands_exist(page: Path):
    """Marked blocks: the command and its options exist. make and dvc: the target and the stage exist."""
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    for line, needs_download in list_commands(ROOT / page):
        program, *arguments = shlex.split(line)
        if program == "make":
            assert set(arguments) <= set(targets), line
        elif re.match("dvc (repro|pull)", line):
            assert {name for name in arguments[1:] if not name.startswith("experiments/")} <= set(stages), line
        elif program == "compeval" and needs_download:
            result = CliRunner().invoke(app, [*arguments, "--help"])
            assert result.exit_code == 0, f"{line}\n{result.output}"


def test_links_of_the_readme_and_of_pages_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in LINK.findall(page.read_text()):
            if not re.match(r"https?:|#", target):
                assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"
