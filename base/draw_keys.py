"""Keys of random draws that a reader of a row cannot compute.

A draw that is seeded with the true caption can be replayed for each candidate of a row: for the true one, it returns
the other candidates. A seed of the image id alone can be replayed in the same way, because the id is public. Therefore
a draw of hard negatives is seeded with a digest of the source: the boxes and phrases of the whole image, or all
captions. Whoever can compute it has the source, which states the truth.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from compeval.base.schemas.annotated_image import AnnotatedImage


def make_image_key(image: AnnotatedImage) -> str:
    """Return 32 hex digits of a hash over the objects, relations and region phrases of an image, with their boxes."""
    regions = [(region.region_id, region.phrase, *region.box) for region in image.regions]
    content = json.dumps([image.image_id, image.graph.to_row(), regions], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def make_source_key(texts: Iterable[str]) -> str:
    """Return 32 hex digits of a hash over all texts of a source, in their order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:32]
