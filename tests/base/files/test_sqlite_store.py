"""SQLite with a Turkish locale, in which the lower case of I has no dot."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WRITE = """
import locale, sys
from pathlib import Path
from compeval.base.files.sqlite_store import SqliteStore
from compeval.base.readers.records import RecordsByImage

class Store(SqliteStore):
    name, contents, table = "cache", "values", "cache"

def stop_at_the_second():
    yield "c", 3
    raise RuntimeError

store = Store(Path(sys.argv[1]))
print(locale.setlocale(locale.LC_CTYPE))
print(store.write([("a", 1), ("b", 2)]), store.write([("a", 1)]))
for write in (store.write, store.replace):
    try:
        write(stop_at_the_second())
    except RuntimeError:
        print(sorted(Store(Path(sys.argv[1])).read(["a", "b", "c"]).items()))
records = RecordsByImage()
print([records.is_new(item) for item in ("1", "2", "1")])
"""


def test_rows_are_counted_and_a_write_is_one_transaction_in_turkish(tmp_path: Path):
    if shutil.which("localedef") is None:
        pytest.skip("localedef, which makes the locale, is part of glibc")
    name = "tr_TR.UTF-8"
    made = subprocess.run(
        ["localedef", "-i", "tr_TR", "-f", "UTF-8", tmp_path / name],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("the definitions of locales are not installed")
    environment = os.environ | {"LOCPATH": str(tmp_path), "LC_ALL": name, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WRITE, str(tmp_path / "store.sqlite")]
    done = subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", check=True
    )
    rows = [("a", 1), ("b", 2)]
    expected = [name, "2 0", str(rows), str(rows), "[True, True, False]"]
    assert done.stdout.splitlines() == expected
