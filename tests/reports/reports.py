"""Public reports of people who evaluate vision-language models, as inputs with the right value.

Each thread was read in its tracker. ``expected`` is worked out by hand, taken from the thread, or computed by a library
that is called directly; a pattern is part of an error message.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from PIL import Image
from safetensors.torch import load_file, save_file

from tests.base.files.test_upright_pictures import tiff
from tests.reports import runners as r
from tests.reports.bench import encode, json_lines, noise, turned, write_rows

RIGHT, SILENT, REFUSED, UNCLEAR = (
    "right",
    "wrong, silently",
    "refused without need",
    "unclear message",
)


class Report(NamedTuple):
    thread: str
    """Repository and number, as in ``https://github.com/OWNER/NAME/issues/NUMBER``."""
    kind: str
    wrong: str
    """The fault that the report describes."""
    run: r.Runner
    given: Any
    expected: Any
    """A value, a function of the same arguments as ``run`` that asks the library itself, or a pattern of a message."""
    before: str = RIGHT
    """Behaviour of this project before, measured by running this table on commit 6cdfc36, and the reports of the last
    function on the commit that its docstring names."""

    @property
    def now(self) -> str:
        """Behaviour of this project now: the right value, or an error with its remedy where no value is right."""
        return "a clear error" if isinstance(self.expected, re.Pattern) else RIGHT


LONG = [f"a red ball {'x ' * count}" for count in (10, 11, 12, 13)]
"""Texts of 15 to 18 tokens; the tiny CLIP reads 16."""
STRANGE = [
    "",
    " ",
    "😀😀",
    "日本 語",
    "a_b __ c",
    "don't",
    "<|endoftext|> a",
    "&amp;amp; &lt;",
    "ﬁne “quoted”",
    "a\u200bb",
]
RAMP = np.tile(np.linspace(0, 65_535, 64).astype(np.uint16), (8, 1))
FLOATS = np.tile(np.linspace(0, 1, 64, dtype=np.float32), (8, 1))
PHOTO = encode(noise(64, 48), "JPEG")
TIE, WIN, LOSS = [0.5, 0.5], [0.6, 0.5], [0.4, 0.5]


def png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG file of 8-bit RGB with the given chunks behind its header."""
    header = (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    packed = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (header, *chunks, (b"IEND", b""))
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def palette(transparency: Any) -> bytes:
    """Return a PNG of a black and a white column, of which the black one is transparent."""
    image = Image.new("P", (2, 2))
    image.putpalette([0, 0, 0] + [255, 255, 255] * 255)
    image.putpixel((1, 0), 1)
    image.putpixel((1, 1), 1)
    return encode(image, transparency=transparency)


def flip(data: bytes) -> bytes:
    """Return data of the same size in which one byte differs."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def rows_of(*cells: tuple[str, str, str]) -> str:
    return "image,caption,hard_negatives\n" + "".join(",".join(row) + "\n" for row in cells)


def blue_pictures(data: Path) -> None:
    write_rows(data, ["red"] * 3, shown="blue")


def blue_captions(data: Path) -> None:
    write_rows(data, ["blue"] * 3, foils=("red",))


def moved(data: Path) -> Path:
    return data.rename(data.with_name("moved"))


# fmt: off
def _texts() -> Iterator[Report]:
    kind = "text: tokens"
    for thread, wrong, text, ids in (
        ("huggingface/transformers#22166", "an apostrophe is another token than OpenAI's, if ftfy is installed",
         "You should've done this", [592, 1535, 1200, 1700, 589]),
        ("huggingface/transformers#12142", "ids are not those of OpenAI's release", "hello world", [3306, 1002]),
        ("huggingface/transformers#19118", "accents depend on whether ftfy is installed", "résumé",
         [29106, 7054, 4166]),
    ):
        yield Report(thread, kind, wrong, r.real_tokens, text, [49406, *ids, 49407])
    for thread, wrong, text in (
        ("huggingface/transformers#12648", "spaces, digits and symbols are split otherwise",
         "A\n'll 11p223RF☆ho!!to? of a cat"),
        ("huggingface/transformers#15067", "HTML entities and broken Unicode are cleaned otherwise",
         "&amp;lt; caf\u0065\u0301 Ã© ﬁne"),
        ("finegrain-ai/refiners#453", "underscores vanish", "a_b __ c"),
    ):
        yield Report(thread, kind, wrong, r.clip_tokens, text, r.open_clip_tokens)
    kind = "text: longer than the context"
    yield Report("Lightning-AI/torchmetrics#2000", kind, "an error for captions of more than 77 tokens",
                 r.real_texts, ["x " * 80], r.real_library_texts)
    yield Report("Lightning-AI/torchmetrics#2883", kind, "the end-of-text token is cut off, the score drops",
                 r.clip_texts, LONG, r.open_clip_texts)
    yield Report("huggingface/sentence-transformers#3210", kind, "CLIP's texts are not truncated",
                 r.family_texts, ("clip", ["a red ball " * 9, "a ball"]), r.library_texts)
    yield Report("RotsteinNoam/FuseCap#7", kind, "long captions are cut, and nothing says so",
                 r.truncated, LONG, [False, False, True, True])
    kind = "text: pooling"
    yield Report("openai/CLIP#306", kind, "features are those of the largest id, the end of text",
                 r.clip_texts, STRANGE, r.open_clip_texts)
    yield Report("huggingface/transformers#24650", kind, "the largest id is not the end of text",
                 r.real_texts, [text for text in STRANGE if text.strip()], r.real_library_texts)
    yield Report("huggingface/transformers#39821", kind, "MetaCLIP 2 ends texts with id 2, which CLIP's code misreads",
                 r.family_texts, ("metaclip_2", ["a red ball", "blue", ""]), r.library_texts)
    yield Report("huggingface/transformers#39269", kind, "SigLIP 2 pools at the last position, which is padding",
                 r.family_texts, ("siglip2", ["a red ball", "blue", ""]), r.library_texts, SILENT)
    kind = "text: padding and masks"
    yield Report("huggingface/transformers#26522", kind, "SigLIP's scores are wrong without padding to full length",
                 r.family_texts, ("siglip", ["a red ball", "a", "a blue ball " * 5]), r.library_texts, SILENT)
    yield Report("mlfoundations/open_clip#984", kind, "SigLIP attends to the padding, with no mask",
                 r.family_texts, ("siglip", ["ball", "a red ball"]), r.library_texts, SILENT)
    yield Report("lean-dojo/ReProver#34", kind, "features depend on the longest text of the batch",
                 r.family_texts, ("align", ["a", "a red ball a blue ball a", "ball"]), r.library_texts)


def _batches_and_models() -> Iterator[Report]:
    kind = "batch size"
    for thread, wrong, family in (
        ("huggingface/sentence-transformers#2312", "other batch sizes give other features", "clip"),
        ("huggingface/sentence-transformers#1453", "batches of several texts give other features", "flava"),
    ):
        texts = ["a", "a red ball", "a red ball a blue ball", "pink"]
        yield Report(thread, kind, wrong, r.family_texts, (family, texts), r.library_texts)
    captions = ["a red ball", "a blue ball on a table beside two boxes", "a"]
    for thread, wrong, family in (
        ("huggingface/transformers#29282", "LLaVA's logits depend on the batch", "llava-onevision"),
        ("EvolvingLMMs-Lab/lmms-eval#236", "accuracy falls from 69.6 to 58.7 with batches of two", "qwen2.5-vl"),
        ("haotian-liu/LLaVA#1928", "yes becomes no in batches of 16", "internvl"),
    ):
        yield Report(thread, kind, wrong, r.yes_scores, (family, captions), r.library_yes_scores)
    kind = "generative models: answers"
    yield Report("huggingface/transformers#29835", "generative models: control tokens", "image tokens of the "
                 "prompt and images are of different number", r.yes_scores, ("internvl", ["a <image> ball", "a ball"]),
                 r.library_yes_scores)
    yield Report("linzhiqiu/t2v_metrics#19", kind, "is it the probability of yes among all tokens, or against no?",
                 r.yes_scores, ("qwen2.5-vl", ["a red ball", "nothing here is blue"]), r.library_yes_scores)
    for thread, wrong, text, expected, before in (
        ("EvolvingLMMs-Lab/lmms-eval#1434", "the first capital letter of a sentence is taken for the answer",
         "A dog is shown. The correct answer is (B).", 0, SILENT),
        ("aniri15/OPD-V#2", "'Answer: **D**' is read as A", "Answer: **B**", 0, RIGHT),
        ("open-compass/VLMEvalKit#1552", "a stated answer is lost among explanations",
         "The correct answer is B. Here is why A is wrong.", 0, REFUSED),
        ("jundot/omlx#3668", "a letter behind the answer replaces it", "The answer is B. Note that A is close.", 0,
         REFUSED),
        ("NVIDIA-NeMo/Skills#1526", "a letter in a formula replaces the answer", "\\boxed{B}", 0, REFUSED),
        ("EvolvingLMMs-Lab/lmms-eval#671", "the text behind (A) is taken for the answer", "(A) a red ball", 1, RIGHT),
        ("Future-House/paper-qa#693", "an answer that is not an option is read as one", "14", 0.5, RIGHT),
        ("open-compass/VLMEvalKit#1701", "an empty answer scores as A", "  ", 0.5, UNCLEAR),
    ):
        yield Report(thread, kind, wrong, r.answered, text, expected, before)
    kind = "activation"
    for thread, wrong, name, expected in (
        ("mlfoundations/open_clip#771", "a fine-tuned file runs with another activation than its tag",
         "ViT-B-32/FILE", re.compile("nothing states the activation")),
        ("mertyg/vision-language-models-are-bows#35", "NegCLIP was evaluated with GELU",
         "ViT-B-32-quickgelu/FILE", ("ViT-B-32-quickgelu", False)),
        ("mlfoundations/open_clip#441", "which activation does laion400m_e32 have?",
         "ViT-B-32/laion400m_e32", ("ViT-B-32", True)),
        ("huggingface/pytorch-image-models#2031", "OpenAI's weights run with GELU in timm",
         "ViT-B-16/openai", ("ViT-B-16", True)),
        ("ailia-ai/ailia-models#1810", "scores differ from the official ones by the activation",
         "ViT-L-14/openai", ("ViT-L-14", True)),
    ):
        yield Report(thread, kind, wrong, r.activation, name, expected)
    kind = "evaluation mode"
    for thread in ("LAION-AI/CLIP_benchmark#73", "mertyg/vision-language-models-are-bows#7"):
        wrong = "dropout is active while the model is evaluated"
        yield Report(thread, kind, wrong, r.in_training, None, (True, True))


def _images() -> Iterator[Report]:
    for thread, kind, wrong, image in (
        ("huggingface/transformers#21638", "image: size", "an image of one pixel is an error", noise(1, 1)),
        ("huggingface/sentence-transformers#2846", "image: size", "an image of one row is taken for channels first",
         noise(1000, 1)),
        ("huggingface/transformers#31950", "image: size", "the channels of a narrow image are guessed", noise(1, 1000)),
        ("huggingface/transformers#25694", "image: mode", "a grey image has two dimensions", noise(20, 30, "L")),
        ("huggingface/transformers#11992", "image: resize", "the aspect ratio is lost", noise(61, 30)),
        ("huggingface/transformers#30282", "image: resize", "is it resized first, or cropped?", noise(30, 61)),
        ("mlfoundations/open_clip#782", "image: crop", "is the crop needed after the resize?", noise(18, 16)),
        ("huggingface/transformers#30922", "image: crop", "crops larger than the image are one pixel too small",
         noise(15, 17)),
        ("pytorch/vision#2950", "image: antialiasing", "tensors are resized without antialiasing", noise(500, 400)),
    ):
        yield Report(thread, kind, wrong, r.pixels, image, r.library_pixels)
    # Resized to 16 x W, (W - 16) / 2 columns are cut off on the left: half of 3, 1 and 5 columns, and of 2.
    for thread, wrong, width, expected in (
        ("huggingface/transformers#26238", "odd differences are rounded otherwise than in torchvision", 19, [2, 1]),
        ("pytorch/vision#5274", "round(0.5) is 0, round(1.5) is 2", 17, [0, 0]),
        ("huggingface/transformers#22505", "features are not OpenAI's", 18, [1, 1]),
    ):
        yield Report(thread, "image: crop", wrong, r.cropped, (width, 16), expected)
    kind = "image: more than 8 bits"
    for thread, wrong, data, mean in (
        ("python-pillow/Pillow#2574", "16-bit grey becomes white", encode(Image.fromarray(RAMP)), 127.5),
        ("python-pillow/Pillow#5991", "16-bit big-endian grey loses its tones",
         encode(Image.fromarray(RAMP.astype(">u2")), "TIFF"), 127.5),
        ("python-pillow/Pillow#1108", "16-bit TIFF is clipped", encode(Image.fromarray(RAMP), "TIFF"), 127.5),
        ("unslothai/unsloth#10094", "floats are clipped", encode(Image.fromarray(FLOATS), "TIFF"), 127.5),
    ):
        yield Report(thread, kind, wrong, r.made_mean, data, mean, SILENT)
    kind = "image: orientation"
    yield Report("huggingface/dataset-viewer#2605", kind, "EXIF orientation is ignored", r.upright, turned("JPEG"),
                 ((4, 6), "red", "blue"), SILENT)
    yield Report("VisionXLab/SpaCE-10#1", kind, "pictures of a data set are rotated", r.upright, turned("PNG"),
                 ((4, 6), "red", "blue"), SILENT)
    kind = "image: transparency"
    white = np.full((2, 2, 3), 255, np.uint8)
    for thread, wrong, data in (
        ("NVIDIA/DIGITS#85", "what is transparent becomes black",
         encode(Image.new("RGBA", (2, 2), (0, 0, 0, 0)))),
        ("python-pillow/Pillow#5593", "a transparent colour of a palette becomes opaque", palette(0)),
        ("python-pillow/Pillow#6348", "transparency of a palette in bytes is lost", palette(bytes([0] + [255] * 255))),
    ):
        yield Report(thread, kind, wrong, r.made_picture, data, white, SILENT)
    yield Report("python-pillow/Pillow#7288", kind, "published sets: colours as the authors' code sees them",
                 r.decoded, palette(0), r.pillow)
    kind = "image: damaged or hostile"
    for thread, wrong, data, pattern in (
        ("python-pillow/Pillow#889", "a file that is cut off", PHOTO[:-200], "truncated"),
        ("python-pillow/Pillow#4414", "with LOAD_TRUNCATED_IMAGES, it is black", encode(noise(64, 48))[:-2000],
         "truncated"),
        ("python-pillow/Pillow#4966", "a bitmap of 3.6 billion pixels",
         b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 60000, 60000, 1, 24, *[0] * 6),
         "decompression bomb"),
        ("deepfates/memery#10", "a small PNG of 2.5 billion pixels", png(50_000, 50_000, (b"IDAT", b"")),
         "decompression bomb"),
        ("python-pillow/Pillow#2445", "a colour profile of megabytes",
         png(2, 2, (b"iCCP", b"x\0\0" + zlib.compress(b"0" * 2_000_000))), "Decompressed data too large"),
    ):
        yield Report(thread, kind, wrong, r.decoded, data, re.compile(pattern))


def _scores() -> Iterator[Report]:
    kind = "ties"
    for thread, wrong, scores, expected in (
        ("embeddings-benchmark/mteb#5376", "the order of equal scores decides", [TIE, WIN], (0.5, 0.5)),
        ("batra-mlp-lab/visdial-rl#10", "the truth wins every tie", [TIE, TIE, LOSS], (0, 2 / 3)),
        ("scikit-learn/scikit-learn#6377", "a constant score has a precision of a half", [[0.0] * 5] * 4, (0, 1)),
        ("dssg/triage#133", "sorting by score and label inflates precision", [TIE, WIN, WIN, LOSS], (0.5, 0.25)),
    ):
        yield Report(thread, kind, wrong, r.ranked, scores, expected)
    yield Report("gospodima/Extended-SimGNN#4", "order of scores", "the smallest scores count as the best", r.ranked,
                 [WIN, WIN, LOSS], (2 / 3, 0))
    yield Report("scikit-learn/scikit-learn#16625", "meaningless cutoffs", "k >= number of candidates gives 100 %",
                 r.cutoffs, [[0.1, 0.2, 0.3]] * 2, ["recall@1"])
    yield Report("stanford-crfm/helm#2991", "ties", "a tie is a win or a loss by chance", r.winoground,
                 [[0.5, 0.4], [0.4, 0.4]], {"text": 0, "image": 0, "group": 0})
    yield Report("HaozheZhao/MIC#19", "definition of metrics", "which comparisons is Winoground's group score?",
                 r.winoground, [[0.9, 0.6], [0.7, 0.8]], {"text": 1, "image": 1, "group": 1})
    kind = "matching heads"
    yield Report("salesforce/LAVIS#672", kind, "the probability is 99.878 % and says little", r.log_odds,
                 [[0.0, 40.0], [0.0, 41.0], [2.0, 1.0]], [40, 41, -1], SILENT)
    yield Report("salesforce/BLIP#4", kind, "is it the logit, or its softmax?", r.log_odds,
                 [[-60.0, 60.0], [-61.0, 60.0]], [120, 121], SILENT)
    kind = "several truths"
    x, y, z = np.eye(3).tolist()
    two = ([0, 1], [[0, 1], [2, 3]], [x, y], [x, z, y, y])
    yield Report("LAION-AI/CLIP_benchmark#7", kind, "an image has five captions, only one counts as true",
                 r.retrieved, two, {"i2t": 1, "t2i": 3 / 4})
    yield Report("mertyg/vision-language-models-are-bows#40", kind, "is one of five captions at rank 1 a hit?",
                 r.retrieved, ([0, 1], [[0, 1], [2, 3]], [x, y], [z, x, y, z]), {"i2t": 1, "t2i": 1 / 2})
    yield Report("ruotianluo/self-critical.pytorch#132", "duplicates", "a caption that two images share",
                 r.retrieved, ([0, 1, 2], [[0], [0], [1]], [x, [0.6, 0.8, 0], z], [x, z]), {"i2t": 1, "t2i": 1})
    yield Report("sarahESL/AlignCLIP#3", kind, "which of five captions is the query?", r.retrieved,
                 ([0, 1], [[0, -1], [1, 2]], [x, y], [x, y, x]), {"i2t": 1 / 2, "t2i": 2 / 3})
    yield Report("openai/CLIP#318", "labels", "1.7 % top-1: are labels and names of classes in one order?",
                 r.classified, ([[0.5, 0.5], [0.1, 0.2]], [0, 1]), ([False, True], [False, True]))
    kind = "scores that are not finite"
    message = re.compile("zero, infinite or not a number")
    for thread, wrong, value in (
        ("openai/CLIP#222", "all scores are NaN on a GPU", np.nan),
        ("openai/CLIP#146", "NaN after fine-tuning", np.nan),
        ("openai/CLIP#40", "NaN after one step in fp16", -np.inf),
    ):
        yield Report(thread, kind, wrong, r.features, lambda count, value=value: np.full((count, 3), value), message)
    kind = "half precision"
    yield Report("NVIDIA/FasterTransformer#277", kind, "fp16 gives other values in other batches", r.half, "fp16", True)
    yield Report("Blaizzy/mlx-vlm#1165", kind, "features overflow", r.features,
                 lambda count: np.full((count, 3), [60_000.0, 0, 0], np.float16), (1, 0))


def _score_files() -> Iterator[Report]:
    good = [{"row": row, "scores": [0.9, 0.1, 0.2]} for row in (2, 0, 1)]
    kind = "score files: numbers"
    nan = json_lines(good[:2]) + '{"row": 1, "scores": [NaN, 0.1, 0.2]}\n'
    big = json_lines(good[:2]) + '{"row": 1, "scores": [1e400, 0.1, 0.2]}\n'
    close = [{"row": row, "scores": [1 - 1e-9, 1 - 2e-9, 0]} for row in range(3)]
    yield Report("conbench/conbench#1163", kind, "NaN in JSON", r.scored_file, (".jsonl", nan),
                 re.compile("not a list of finite numbers"))
    yield Report("ICRAR/ijson#139", kind, "an infinite number in JSON", r.scored_file, (".jsonl", big),
                 re.compile("not a list of finite numbers"))
    yield Report("ailia-ai/ailia-models#1389", "half precision", "fp16 is too coarse for the argmax", r.scored_file,
                 (".jsonl", json_lines(close)), (1, 0), SILENT)
    yield Report("apache/spark#18945", kind, "a nullable column of whole numbers becomes one of floats",
                 r.scored_file, (".parquet", [{**line, "row": float(line["row"])} for line in good]), (1, 0),
                 REFUSED)
    yield Report("pandas-dev/pandas#56678", kind, "row numbers are floats, since a value was missing",
                 r.scored_file, (".csv", "row,scores\n2.0,0.9 0.1 0.2\n0.0,0.9 0.1 0.2\n1.0,0.9 0.1 0.2\n"), (1, 0),
                 REFUSED)
    kind = "score files: rows"
    for thread, wrong, rows in (
        ("PrimeIntellect-ai/prime-rl#1374", "a resumed run counts rows twice", (0, 1, 1, 2)),
        ("LAION-AI/CLIP_benchmark#119", "row 108 is missing in swap_obj", (0, 2)),
    ):
        content = json_lines([{"row": row, "scores": [0.9, 0.1, 0.2]} for row in rows])
        yield Report(thread, kind, wrong, r.scored_file, (".jsonl", content), re.compile("row 1 occurs [02] times"))
    yield Report("mertyg/vision-language-models-are-bows#32", "order of captions", "the truth is second in ARO's file",
                 r.scored_file, (".jsonl", json_lines([{"row": row, "scores": [0.1, 0.9, 0.2]} for row in range(3)])),
                 (0, 0))


def _tables() -> Iterator[Report]:
    missing = re.compile("row 1: a text is null; leave the cell empty")
    kind = "tables: missing values"
    yield Report("huggingface/datasets#4467", kind, "the word null becomes None", r.own_table,
                 ("a.csv", rows_of(("1.png", "null", ""))), missing, SILENT)
    yield Report("pandas-dev/pandas#32084", kind, "null becomes a number", r.own_table,
                 ("a.jsonl", json_lines([{"image": "1.png", "caption": None}])), re.compile("row 1: .*string"),
                 UNCLEAR)
    kind = "tables: quotes and line breaks"
    for thread, wrong, name, text, expected in (
        ("rom1504/img2dataset#283", "a caption with a line break", "a.csv",
         rows_of(("1.png", '"a cup\non a box"', "")), [(["a cup\non a box"], [])]),
        ("apple/turicreate#907", "a quoted line break ends the row", "a.tsv",
         'image\tcaption\n1.png\t"this is \nnot fine!"\n2.png\tfine\n',
         [(["this is \nnot fine!"], []), (["fine"], [])]),
        ("pandas-dev/pandas#25228", "an inch mark swallows rows of a TSV", "a.tsv",
         'image\tcaption\n1.png\ta 12" ruler\n2.png\ta 14" ruler\n', [(['a 12" ruler'], []), (['a 14" ruler'], [])]),
        ("iejMac/video2dataset#117", "doubled quotes", "a.csv", rows_of(("1.png", '"a ""red"" cup"', "")),
         [(['a "red" cup'], [])]),
        ("pandas-dev/pandas#5500", "a quote that is not closed swallows the rest of the file", "a.csv",
         rows_of(("1.png", "a cup", ""), ("2.png", '"a box', ""), ("3.png", "a hat", "")),
         re.compile("row from line 3")),
        ("pandas-dev/pandas#15910", "a letter behind a closing quote", "a.csv",
         rows_of(("1.png", "a cup", ""), ("2.png", '"a box"es', "")), re.compile("line 3: text after a closing quote")),
    ):
        before = SILENT if isinstance(expected, re.Pattern) else RIGHT
        yield Report(thread, kind, wrong, r.own_table, (name, text), expected, before)
    kind = "tables: lists"
    emoji = json.dumps(["a 😀", "a cup/mug", "café"]).replace("/", "\\/").replace('"', '""')
    yield Report("archesproject/arches#6397", kind, "lists in cells are JSON or Python literals", r.own_table,
                 ("a.csv", rows_of(("1.png", "a cup", f'"{emoji}"'))),
                 [(["a cup"], ["a 😀", "a cup/mug", "café"])], SILENT)
    kind = "tables: schema of a shard"
    text, null = pa.schema({"text": pa.string()}), pa.schema({"text": pa.null()})
    large = pa.schema({"text": pa.large_string(), "more": pa.int64()})
    lists = pa.schema({"text": pa.list_(pa.null())})
    words = pa.schema({"text": pa.dictionary(pa.int32(), pa.string())})
    for thread, wrong, shards, expected in (
        ("huggingface/datasets#4491", "a shard of nulls decides the type", [([{"text": None}], null),
         ([{"text": "a"}], text)], [None, "a"]),
        ("huggingface/datasets#7092", "a column is empty in one of the files", [([{"text": []}], lists),
         ([{"text": ["a"]}], pa.schema({"text": pa.list_(pa.string())}))], [[], ["a"]]),
        ("huggingface/datasets#7222", "a string after nulls", [([{"text": None}, {"text": "b"}], text)], [None, "b"]),
        ("huggingface/datasets#7449", "an additional column in one file", [([{"text": "a"}], text),
         ([{"text": "b", "more": 2**63 - 1}], large)], ["a", "b"]),
        ("huggingface/datasets#6039", "a subset of the columns is an error", [([{"text": "a"}], words)], ["a"]),
    ):
        yield Report(thread, kind, wrong, r.parquet_texts, shards, expected)
    kind = "tables: big numbers"
    for thread, wrong, name, content, expected in (
        ("huggingface/datasets#8365", "an id of 2**53 + 1 is one less", "a.csv",
         "image,caption\n9007199254740993,a cup\n", ["9007199254740993"]),
        ("pandas-dev/pandas#44684", "ids of 18 digits become equal", "a.jsonl",
         json_lines([{"image": 202101010000000003, "caption": "a cup"}]), ["202101010000000003"]),
        ("pandas-dev/pandas#52505", "large integers are read as floats", "a.csv",
         "image,caption\n4873214862074861313,a cup\n", ["4873214862074861313"]),
    ):
        yield Report(thread, kind, wrong, r.image_names, (expected[0], name, content), expected)
    kind = "names: Unicode forms"
    for thread, on_disk, name in (
        ("Garmelon/PFERD#141", "cafe\u0301.png", "caf\u00e9.png"),
        ("renpy/renpy#2327", "caf\u00e9.png", "cafe\u0301.png"),
    ):
        wrong = "macOS writes é as two characters, and the file is not found"
        given = (on_disk, "a.csv", f"image,caption\n{name},a cup\n")
        yield Report(thread, kind, wrong, r.image_names, given, [name], REFUSED)
    kind = "encodings and locales"
    for thread, encoding in (("MemPalace/mempalace#1203", "cp1252"), ("grill-lab/trec-cast-tools#18", "ascii")):
        wrong = "files are read and written in the encoding of the locale"
        yield Report(thread, kind, wrong, r.locale, encoding, ("naïve 😀", "naïve 😀"), REFUSED)
    latin = "image,caption\n1.png,caf\u00e9\n".encode("cp1252")
    yield Report("OnroerendErfgoed/language-tags#7", kind, "a table in Windows' encoding", r.own_table,
                 ("a.csv", latin), re.compile("not in UTF-8. Save it as CSV UTF-8"))


def _shards_and_runs() -> Iterator[Report]:
    kind = "shards: names"
    for thread, wrong, names, expected, before in (
        ("webdataset/webdataset#237", "a key ends at its first dot", ["235342 Track 2.0.jpg", "235342 Track 2.0.txt"],
         (["235342 Track 2.0"], 0), REFUSED),
        ("huggingface/datasets#6849", "a.b.jpeg has no key", ["a.b.jpeg", "a.b.txt", "a.c.jpeg", "a.c.txt"],
         (["a.b", "a.c"], 0), SILENT),
        ("huggingface/datasets#7150", "dots of folders and files are confused", ["p/22.0/1.1.png", "p/22.0/1.1.txt"],
         (["p/22.0/1.1"], 0), REFUSED),
        ("macrodata-labs/refiner#124", "all files of a folder with a dot are one sample",
         ["train.v1/1.jpg", "train.v1/1.txt", "train.v1/2.jpg", "train.v1/2.txt"],
         (["train.v1/1", "train.v1/2"], 0), RIGHT),
        ("webdataset/webdataset#407", "files of a sample are not adjacent", ["1.jpg", "2.jpg", "2.txt", "1.txt"],
         (["2"], 2), RIGHT),
    ):
        yield Report(thread, kind, wrong, r.shard, names, expected, before)
    kind = "parser"
    one = ([("cat",), ("mat",)], [("cat", "sit on", "mat")])
    for thread, wrong, text, expected in (
        ("explosion/spaCy#1528", "a double space is a token", "The cat  sat on the mat", one),
        ("explosion/spaCy#13680", "spaces change parts of speech", "The  cat sat   on the mat", one),
        ("explosion/spaCy#220", "a line break is a noun", "The cat\r\nsat on\r\n\r\nthe mat\r\n", one),
        ("explosion/spacymoji#9", "emojis stick together", "😄😄 a red ball 😄", ([("ball", "red")], [])),
        ("explosion/spaCy#719", "a lemma is empty", "s...", ([("s",)], [])),
    ):
        before = SILENT if thread == "explosion/spaCy#13680" else RIGHT
        yield Report(thread, kind, wrong, r.parsed, text, expected, before)
    kind = "stale caches"
    for thread, wrong, change, expected in (
        ("huggingface/datasets#2956", "a changed file is not read again", blue_captions, [1, 0]),
        ("lisa-lab/pylearn2#870", "pictures of equal names are taken from the cache", blue_pictures, [1, 0]),
        ("embeddings-benchmark/mteb#1782", "results stay when the data changes", blue_captions, [1, 0]),
        ("huggingface/datasets#2496", "a moved folder is another data set", moved, [1, 1]),
    ):
        before = SILENT if change is blue_pictures else RIGHT
        yield Report(thread, kind, wrong, r.again, change, expected, before)
    yield Report("huggingface/datasets#6465", kind, "the cached data stay when their source changes", r.made_again,
                 ("red", "blue"), [1, 0])
    kind = "results of another model"
    for thread, wrong, names in (
        ("embeddings-benchmark/mteb#842", "two revisions of a model have one result", ("v1", "v2")),
        ("embeddings-benchmark/mteb#43", "an earlier result is kept", ("epoch 1", "epoch 2")),
    ):
        yield Report(thread, kind, wrong, r.other_weights, names, [1, 0])
    kind = "damaged files"
    for thread, wrong, change, pattern, before in (
        ("huggingface/huggingface_hub#3643", "same size, other content", flip, "SHA-256 .* expected", SILENT),
        ("treeverse/dvc#5978", "a changed file counts as unchanged, by its time and rights", flip,
         "SHA-256 .* expected", SILENT),
        ("huggingface/huggingface_hub#3371", "an interrupted download counts as complete", lambda data: data[:-100],
         "prod_hnatom/n4-", RIGHT),
        ("huggingface/huggingface_hub#1396", "a failed download leaves a damaged file", lambda data: b"",
         "prod_hnatom/n4-", RIGHT),
    ):
        yield Report(thread, kind, wrong, r.damaged, change, re.compile(pattern), before)
    yield Report("huggingface/huggingface_hub#1903", "interrupted runs", "the next run starts again", r.interrupted, 4,
                 (4, 4 + 2))
    kind = "concurrent runs"
    for thread in ("EleutherAI/lm-evaluation-harness#796", "DataBiosphere/toil#2910"):
        yield Report(thread, kind, "the cache's database is locked", r.concurrent, 4, 40)


def _weights_answers_and_identities() -> Iterator[Report]:
    """Found in November 2026 while the project was at commit 6d0e786."""
    kind = "weights against their architecture"
    yield Report("huggingface/pytorch-image-models#2003", kind, "names of a compiled model begin with _orig_mod.",
                 r.prefixed, "module._orig_mod.", ["logit_scale", "visual.proj"], UNCLEAR)
    yield Report("epheterson/immich-apple-silicon#122", kind, "SigLIP's images are cropped, not squashed", r.prepared,
                 "ViT-B-16-SigLIP/FILE", ("squash", (0.5, 0.5, 0.5)), SILENT)
    yield Report("mlfoundations/open_clip#862", kind, "the result is another one in every run", r.changed_folder,
                 remove_tensor, re.compile("its files lack 1 of its tensors .*text_projection"), SILENT)
    yield Report("huggingface/peft#515", kind, "outputs with the adapter are those of the base model",
                 r.changed_folder, add_adapter, re.compile("json does not name the base model"), SILENT)
    texts = ["a", "a red ball a blue ball", "pink"]
    yield Report("allenai/open-instruct#75", "text: padding and masks",
                 "batches of 8 give 26 %, of one 46 %: padding on the left", r.left_padded, ("clip", texts),
                 r.library_texts, SILENT)
    kind = "generative models: where the answer begins"
    thought = ["<think>", "Is it red? No.", "</think>", "\n\n", "Yes"]
    yield Report("modelscope/evalscope#649", kind, "a model thinks before it answers", r.begin_of_answer, thought,
                 "Yes", SILENT)
    bold = ["The", " answer", " is", " **", "Yes", "**", "."]
    yield Report("EvolvingLMMs-Lab/lmms-eval#1475", kind, "bold and prefixed answers are not read", r.begin_of_answer,
                 bold, "Yes", SILENT)
    kind = "stale answers of servers"
    first, second = ("Yes", "2026-11-01"), ("No", "2026-11-02")
    yield Report("EleutherAI/lm-evaluation-harness#4063", kind, "one model's answers are served as another's",
                 r.stored_answers, [("a", False), ("b", False), ("a", False)], [first, second, first])
    yield Report("huggingface/lighteval#1364", kind, "other weights under the same name get the old answers",
                 r.stored_answers, [("a", False), ("a", True), ("a", False)], [first, second, second], SILENT)
    yield Report("jhl-Det/CVA-Net#27", "duplicates", "identical pictures have several names", r.clusters,
                 [("benign/20.png", "1"), ("malignant/30.png", "1"), ("benign/21.png", "2")], 2, SILENT)
    yield Report("mxmlnkn/ratarmount#28", "shards: names", "hard links in a tar cannot be read", r.linked_shard,
                 ["1.png", "1.txt"], ["1", "9"], SILENT)
    inverted = np.array([[[255] * 3, [0] * 3]], np.uint8)
    yield Report("darktable-org/darktable#18815", "image: more than 8 bits", "zero is white: the picture is a negative",
                 r.made_picture, tiff(16, 1, 0, struct.pack("<2H", 0, 65_535)), inverted, SILENT)


def remove_tensor(folder: Path) -> None:
    """Remove the projection of texts from the weights of a folder of transformers."""
    path = folder / "model.safetensors"
    kept = {name: value for name, value in load_file(path).items() if "text_projection" not in name}
    save_file(kept, path, metadata={"format": "pt"})


def add_adapter(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}', encoding="utf-8")

# fmt: on

REPORTS = [
    *_texts(),
    *_batches_and_models(),
    *_images(),
    *_scores(),
    *_score_files(),
    *_tables(),
    *_shards_and_runs(),
    *_weights_answers_and_identities(),
]
