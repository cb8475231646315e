"""A dataset folder as an attacker would publish it, and a command line that records what it opens and executes.

    python -m tests.compeval.hostile LOG run --model ...

calls ``compeval run --model ...`` and appends one line of JSON per audit event to LOG.
"""

import hashlib
import io
import json
import os
import pickle
import sys
import tarfile
import zlib
from pathlib import Path
from typing import Any

from PIL import Image

from compeval.base.schemas.rows import CHOICE_SCHEMA, use_image_paths
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import make_crop_id
from compeval.base.storage.dataset import write_config
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.evaluators import tiny

BOX = Box(0.0, 0.0, 8.0, 6.0)
SECRET = b"the content of a private file"
SECRET_COLOR = (1, 254, 3)
TEXTS = (
    "a red 100% of $x^2$ \\input{/etc/passwd} \\write18{touch executed} %",
    "a red [bold]markup[/x] [/] [link=file:///etc/passwd]here[/link]",
    "a red <script>document.title='executed'</script><img src=x onerror=alert(1)> ![x](file:///etc/passwd)",
    '=HYPERLINK("http://127.0.0.1:9/"&A1) red',
    "a red \u202e\u2028\u0085\x1b]0;executed\x07 \x00 text",
    "a red " + "(" * 20_000,
    "a red {{ 7 * 7 }} {% include '/etc/passwd' %} ${IFS}$(touch executed) `touch executed`",
)
NAMES = ("../../escaped", "/escaped", "..", "a/b", "\x00", "con", "x" * 5000)
EXECUTED = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "pickle.find_class",
)
CHANGES = (
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
)


class Executed:
    """Unpickling an instance creates the file ``executed``."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("executed"),))


def make_images(folder: Path, private: Path) -> dict[str, str | bytes]:
    """Write hostile files to the dataset folder. Returns the cells of images (bytes, or paths) by their kind."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), "red").save(buffer, "EPS")
    eps = buffer.getvalue()
    header = b"IHDR" + (60_000).to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00"
    bomb = (
        b"\x89PNG\r\n\x1a\n"
        + (13).to_bytes(4, "big")
        + header
        + zlib.crc32(header).to_bytes(4, "big")
    )
    os.mkfifo(folder / "fifo.png")
    (folder / "link.png").symlink_to(private / "picture.png")
    (folder / "links").symlink_to(private)
    (folder / "pickle.png").write_bytes(pickle.dumps(Executed()))
    (folder / "bomb.png").write_bytes(bomb)
    (folder / "picture.eps").write_bytes(eps)
    name = folder.name
    return {
        "absolute": str(private / "picture.png"),
        "parent": f"../{private.name}/picture.png",
        "through the dataset": f"{name}/../../{private.name}/picture.png",
        "beside the dataset": "thesis/picture.png",
        "link": f"{name}/link.png",
        "folder of links": f"{name}/links/picture.png",
        "fifo": f"{name}/fifo.png",
        "device": "/dev/zero",
        "url": "http://127.0.0.1:9/picture.png",
        "pickle": f"{name}/pickle.png",
        "bomb": f"{name}/bomb.png",
        "eps": f"{name}/picture.eps",
        "stored bomb": bomb,
        "stored eps": eps,
        "stored pickle": pickle.dumps(Executed()),
    }


def write_images_dataset(data: Path, private: Path) -> None:
    """Write ``data/images``: good rows, then a row per hostile image, in a config of stored images and one of paths.

    Other files of the folder are a script, a pickled model, and a page that links to a private file.
    """
    folder = data / "images"
    folder.mkdir(parents=True)
    (folder / "good.png").write_bytes(tiny.picture("red"))
    cells = [*_good_images(), *make_images(folder, private).values()]
    stored, referenced = [], []
    for number, cell in enumerate(cells):
        row = _row(number, str(number), "a red picture")
        stored.append(
            row
            | {
                "image": {"bytes": cell, "path": None}
                if isinstance(cell, bytes)
                else _located(cell)
            }
        )
        path = "images/good.png" if isinstance(cell, bytes) else cell
        source = data / path
        known = source.is_relative_to(folder) and source.is_file()
        crop_id = (
            make_crop_id(hashlib.sha256(source.read_bytes()).hexdigest(), BOX)
            if known
            else str(number)
        )
        referenced.append(row | {"crop_id": crop_id, "image_path": path})
    write_config(folder, "stored", {"test": stored}, CHOICE_SCHEMA)
    write_config(folder, "referenced", {"test": referenced}, use_image_paths(CHOICE_SCHEMA))
    _write_card(folder)
    (folder / "images.py").write_text("open('executed', 'w')\n", encoding="utf-8")
    (folder / "model.pt").write_bytes(pickle.dumps(Executed()))
    (folder / "NOTES.md").symlink_to(private / "secret.txt")


def write_texts_dataset(data: Path, private: Path) -> None:
    """Write ``data/texts``: rows with good images, and hostile names and texts."""
    folder = data / "texts"
    rows = [
        _row(number, NAMES[number % len(NAMES)], text)
        | {"image": {"bytes": pixels, "path": str(private / "secret.txt")}}
        for number, (pixels, text) in enumerate(zip(_good_images(), TEXTS, strict=True))
    ]
    write_config(folder, "stored", {"test": rows}, CHOICE_SCHEMA)
    _write_card(folder)


def _good_images() -> list[bytes]:
    return [tiny.picture("red", (8, 6 + number)) for number in range(len(TEXTS))]


def _located(path: str) -> dict[str, Any]:
    return {"bytes": None, "path": path}


def _row(number: int, name: str, text: str) -> dict[str, Any]:
    return {
        "crop_id": f"{name}{number}",
        "image_id": name,
        **BOX._asdict(),
        "caption": text,
        "hard_negatives": [f"a blue {text}", f"a green {text}"],
        "categories": [{"by": NAMES[0], "name": text}, {"by": "relation", "name": name}],
        "provenance": {"source": "visual_genome", "captioner": name, "seed": 0},
    }


def _write_card(folder: Path) -> None:
    stats = measure(folder) | {"source": "visual_genome"}
    write_card(folder, {"license": "mit"}, f"# {folder.name}\n\n[x](file:///etc/passwd)\n", stats)


def write_shard(path: Path) -> None:
    """Write a webdataset shard with a good pair, a pickle, and members that lead outside."""
    members = {
        "good.png": tiny.picture("red"),
        "good.txt": b"a red picture",
        "evil.png": pickle.dumps(Executed()),
        "evil.pickle": pickle.dumps(Executed()),
        "evil.pyd": pickle.dumps(Executed()),
        "evil.txt": b"a red picture",
        "../../escaped.png": tiny.picture("red"),
        "../../escaped.txt": b"a red picture",
        "/escaped.png": tiny.picture("red"),
        "/escaped.txt": b"a red picture",
    }
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)


def _is_relative_to_descriptor(arguments: tuple[Any, ...]) -> bool:
    return isinstance(arguments[-1], int) and 2 < arguments[-1] < 0o100


def record(log: Path) -> None:
    """Append the audit events of files, programs, pickles and connections of this process to ``log``."""
    output = log.open("a", encoding="utf-8", buffering=1)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            for_writing = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or set(
                arguments[1] or ""
            ) & set("wax+")
            note("write" if for_writing else "read", arguments[0])
        elif event in CHANGES and not _is_relative_to_descriptor(arguments):
            for path in arguments:
                if isinstance(path, (str, bytes)):
                    note("write", os.fsdecode(path))
        elif event in EXECUTED or event == "socket.connect":
            output.write(json.dumps([event, str(arguments[:2])]) + "\n")

    def note(kind: str, path: str) -> None:
        output.write(json.dumps([kind, str(Path(path).absolute())]) + "\n")

    sys.addaudithook(hook)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
    from compeval.cli import app

    app(sys.argv[2:], prog_name="compeval")
