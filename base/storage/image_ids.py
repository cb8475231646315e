"""Ids of images that are named by their files: no two pictures have one id.

A name is a spelling: two folders can have files of equal names. Results count images, and intervals resample them, so
the content decides: an id is a name, and if another picture has it, part of the content's hash follows. One picture
under two names has two ids; results join them by the hash of the crop (evaluators/results/compose.py).
"""

from __future__ import annotations


class ImageIds:
    """Unique ids of images by name and content: the name, with a part of the hash if another image has this name."""

    def __init__(self) -> None:
        self._content_of: dict[str, str] = {}

    def find(self, sha256: str, name: str) -> str:
        """Return the id of an image, given the SHA-256 of its file and its name."""
        for image_id in (name, f"{name}~{sha256[:8]}", f"{name}~{sha256}"):
            if self._content_of.setdefault(image_id, sha256) == sha256:
                return image_id
        raise AssertionError("two contents have one hash")
