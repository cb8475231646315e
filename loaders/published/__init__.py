"""All names that declarations of published benchmarks use, in one place to import from (docs/add-a-benchmark.md).

The readers of irregular files also use the functions of rows.py.
"""

from compeval.base.schemas.rows import (
    CHOICE_SCHEMA,
    GROUP_SCHEMA,
    HARD_NEGATIVE_SCHEMA,
    RAW_SCHEMA,
    RETRIEVAL_SCHEMA,
)
from compeval.base.sources import DataSource, RemoteFile
from compeval.loaders.published.declaration import (
    LABELS,
    AuthorsRule,
    Benchmark,
    Columns,
    Flaw,
    Score,
)
from compeval.loaders.published.image_sets import (
    COCO,
    FLICKR30K,
    HAKE,
    OPEN_IMAGES,
    SWIG,
    VISDIAL,
    VISUAL7W,
    VISUAL_GENOME,
    ImageSet,
)
from compeval.loaders.published.rows import Row, Unusable
from compeval.loaders.published.schemas import (
    PARAPHRASE_SCHEMA,
    QUESTIONS_SCHEMA,
    RATING_SCHEMA,
    TRUTH_SCHEMA,
    image_choice_schema,
    set_schema,
    video_group_schema,
    video_schema,
)
