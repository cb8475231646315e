"""What stages share."""

import json

from generators.storage import stage


def test_write_json_leaves_no_scratch_file(tmp_path) -> None:
    stage.write_json(tmp_path / "new" / "file.json", {"a": "ä"})
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file.json"]
    assert json.loads((tmp_path / "new" / "file.json").read_text(encoding="utf-8")) == {"a": "ä"}
