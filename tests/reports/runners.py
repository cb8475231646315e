"""Functions that the reports run: one per kind of input for our value, and one for that of the library.

A function takes the bench, an empty folder and the input. ValueError and FileNotFoundError are results: the message.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

from compeval.base.files.untrusted import decode_image, make_upright_rgb
from compeval.base.readers import shards
from compeval.evaluators import models
from compeval.evaluators.engine.feature_cache import FeatureStore
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.in_process import evaluate
from compeval.evaluators.models import weights_file
from compeval.evaluators.models.answers import AnswerStore
from compeval.evaluators.models.api import ApiScorer
from compeval.evaluators.models.endpoint import Answer, find_answer
from compeval.evaluators.models.generated import read_choice
from compeval.evaluators.models.generative import first_tokens
from compeval.evaluators.models.huggingface import compute_match_log_odds
from compeval.evaluators.models.open_clip_names import find_preprocessing
from compeval.evaluators.models.openclip import parse_name
from compeval.evaluators.models.questions import Scoring
from compeval.evaluators.protocols import choice, classification, group, recall
from compeval.evaluators.results.compose import get_clusters
from compeval.evaluators.results.external import score_file
from compeval.evaluators.run import EvaluationOptions, run
from compeval.loaders.datasets.stats import read_stats
from compeval.loaders.datasets.verified import verify_files
from compeval.loaders.load import load_dataset
from compeval.loaders.own_data.entries import read_entries
from compeval.loaders.published import tables
from compeval.loaders.user_files import make
from tests.reports.bench import (
    Bench,
    Colors,
    encode,
    iterate_pairs,
    normalize,
    tar_of,
    wrap,
    write_rows,
    write_table,
)
from tests.rows import toy_dataset

TASK = Task("crepe", "prod_hnatom", "n4")
CUT: dict[str, Any] = {"truncation": True, "max_length": 12}
"""Options with which the tiny tokenisers truncate texts."""
RAW_PROMPTS = {
    "InstructBlip": "{}",
    "Blip2": "Question: {} Answer:",
    "PaliGemma": "<image>answer en {}",
}
"""Prompts of the authors."""
Runner = Callable[[Bench, Path, Any], Any]


# Texts


def clip_tokens(bench: Bench, folder: Path, text: str) -> Any:
    return bench.clip._tokenize([text])


def open_clip_tokens(bench: Bench, folder: Path, text: str) -> Any:
    return bench.open_clip[2]([text])


def real_tokens(bench: Bench, folder: Path, text: str) -> list[int]:
    return bench.real_clip[0]._texts([text])["input_ids"][0].tolist()


def clip_texts(bench: Bench, folder: Path, texts: Sequence[str]) -> Any:
    return bench.clip.encode_texts(texts, 2)


def open_clip_texts(bench: Bench, folder: Path, texts: Sequence[str]) -> Any:
    """Each text alone, with padding."""
    model, _, tokenizer = bench.open_clip
    with torch.no_grad():
        return torch.cat([model.encode_text(tokenizer([text])) for text in texts])


def truncated(bench: Bench, folder: Path, texts: Sequence[str]) -> Any:
    return bench.clip.find_truncated(texts).tolist()


def family_texts(bench: Bench, folder: Path, given: tuple[str, Sequence[str]]) -> Any:
    family, texts = given
    return bench.ours(family).encode_texts(texts, 2)


def library_texts(bench: Bench, folder: Path, given: tuple[str, Sequence[str]]) -> Any:
    """Each text alone; SigLIP's at full length without a mask, as its authors trained it."""
    family, texts = given
    model, tokenizer, _ = bench.library(family)
    padding, features = "max_length" if "siglip" in family else "do_not_pad", []
    for text in texts:
        tokens = tokenizer([text], padding=padding, return_tensors="pt", **CUT)
        if "siglip" in family:
            del tokens["attention_mask"]
        with torch.no_grad():
            features.append(model.get_text_features(**tokens).pooler_output)
    # FLAVA projects every token.
    return torch.cat([one[:, 0] if one.ndim == 3 else one for one in features])


def real_texts(bench: Bench, folder: Path, texts: Sequence[str]) -> Any:
    return bench.real_clip[0].encode_texts(texts, 2)


def real_library_texts(bench: Bench, folder: Path, texts: Sequence[str]) -> Any:
    tokens = [bench.real_tokenizer(text, truncation=True, return_tensors="pt") for text in texts]
    with torch.no_grad():
        return torch.cat(
            [bench.real_clip[1].get_text_features(**one).pooler_output for one in tokens]
        )


def activation(bench: Bench, folder: Path, name: str) -> Any:
    """Return the architecture that runs, and True if it is configured with QuickGELU."""
    (folder / "weights.pt").touch()
    built, _, quick_gelu = parse_name(name.replace("FILE", str(folder / "weights.pt")))
    return built, quick_gelu


# Images


def pixels(bench: Bench, folder: Path, image: Image.Image) -> Any:
    """Pixels of our adapters of open_clip and of transformers' CLIP."""
    decoded = decode_image(encode(image))
    return [normalize(bench.clip, decoded), bench.ours("clip").preprocess(decoded)["pixel_values"]]


def library_pixels(bench: Bench, folder: Path, image: Image.Image) -> Any:
    rgb = image.convert("RGB")
    return [
        bench.open_clip[1](rgb),
        bench.library("clip")[2](images=rgb, return_tensors="pt")["pixel_values"][0],
    ]


def cropped(bench: Bench, folder: Path, size: tuple[int, int]) -> Any:
    """Return the number of columns of a grey ramp left of the crop, by open_clip and by transformers' CLIP."""
    width, height = size
    ramp = Image.fromarray(np.tile(np.arange(width, dtype=np.uint8), (height, 1))).convert("RGB")
    ours = normalize(bench.clip, ramp), bench.real_clip[0].preprocess(ramp)["pixel_values"]
    means = (0.48145466, 0.26862954)
    return [round(float(one[0, 0, 0]) * means[1] * 255 + means[0] * 255) for one in ours]


def decoded(bench: Bench, folder: Path, data: bytes) -> Any:
    return np.asarray(decode_image(data))


def pillow(bench: Bench, folder: Path, data: bytes) -> Any:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def made_picture(bench: Bench, folder: Path, data: bytes) -> Any:
    """The picture of a dataset of one's own, as ``load_dataset`` returns it."""
    (folder / "1.png").write_bytes(data)
    (folder / "pairs.csv").write_text("image,caption\n1.png,a ball\n", encoding="utf-8")
    make("mine", [folder / "pairs.csv"], None, folder / "out")
    (row,) = load_dataset("mine", "captions", "test", data_dir=folder / "out")
    return np.asarray(row["image"].convert("RGB"))  # pyright: ignore


def made_mean(bench: Bench, folder: Path, data: bytes) -> Any:
    return round(float(made_picture(bench, folder, data).mean()), 1)


def upright(bench: Bench, folder: Path, data: bytes) -> Any:
    """Size of what ``make`` stores, and its colours above and below."""
    image = decode_image(make_upright_rgb(data))
    above, below = image.getpixel((0, 0)), image.getpixel((0, image.height - 1))
    return image.size, *("red" if pixel[0] > pixel[2] else "blue" for pixel in (above, below))  # pyright: ignore


# Scores and metrics


def ranked(bench: Bench, folder: Path, scores: Any) -> Any:
    """Recall@1 and tie rate of rows whose first score is the truth's."""
    metrics = choice.evaluate(np.array(scores)[:, None])[""].summarise()
    return metrics["recall@1"], metrics["tie_rate"]


def cutoffs(bench: Bench, folder: Path, scores: Any) -> Any:
    return sorted(
        name for name in choice.evaluate(np.array(scores)[:, None])[""].summarise() if "@" in name
    )


def winoground(bench: Bench, folder: Path, scores: Any) -> Any:
    return {
        name: part.summarise()["score"] for name, part in group.evaluate(np.array([scores])).items()
    }


def retrieved(bench: Bench, folder: Path, given: Any) -> Any:
    """Recall@1 in both directions, given ids of images and of their texts, and the features of each id."""
    crop_M, text_MT, image, text = map(np.array, given)
    text_J = text_MT[text_MT >= 0]
    ranks = recall.retrieve_both_directions(
        crop_M, text_MT, lambda index: image[crop_M[index]], lambda index: text[text_J[index]]
    )
    return {direction: float((part.rank_N == 1).mean()) for direction, part in ranks.items()}


def classified(bench: Bench, folder: Path, given: Any) -> Any:
    scores, labels = map(np.array, given)
    ranks, predicted = classification.classify(scores, labels)
    return (ranks.rank_N == 1).tolist(), (predicted == labels).tolist()


def log_odds(bench: Bench, folder: Path, logits: Any) -> Any:
    return compute_match_log_odds(torch.tensor(logits)).tolist()


def scored_file(bench: Bench, folder: Path, given: tuple[str, Any]) -> Any:
    """Recall@1 and tie rate of a file of scores for three rows of three captions."""
    suffix, content = given
    toy_dataset(folder)
    path = folder / f"scores{suffix}"
    if suffix == ".parquet":
        write_table(path, content)
    else:
        path.write_text(content, encoding="utf-8")
    metrics = score_file(
        path, "crepe/toy_hnatom", "mine", data_dir=folder, output=folder / "results"
    )["metrics"]
    return metrics["recall@1"], metrics["tie_rate"]


def answered(bench: Bench, folder: Path, text: str) -> float:
    """Our reading of an answer to "A or B?" without probabilities: 1 for A, 0 for B, 0.5 for neither."""
    return read_choice(Answer(text), Scoring("choice", answers=("A", "B")))


def yes_scores(bench: Bench, folder: Path, given: tuple[str, Sequence[str]]) -> Any:
    """Scores of several captions of one picture, which we compute together."""
    family, captions = given
    encoder = bench.vlm(family)[0]
    picture = encoder.preprocess(Image.new("RGB", (40, 30), "red"))
    return torch.from_numpy(encoder.score([picture] * len(captions), captions))


def library_yes_scores(bench: Bench, folder: Path, given: tuple[str, Sequence[str]]) -> Any:
    """Log-probabilities of Yes, one prompt and one forward pass a caption."""
    _, model, processor = bench.vlm(given[0])
    picture, captions = (
        Image.new("RGB", (40, 30), "red"),
        (text.replace("<image>", "< image>") for text in given[1]),
    )
    return torch.stack(
        [answer(model, processor, ask(processor, picture, caption)) for caption in captions]
    )


@torch.no_grad()
def answer(model: Any, processor: Any, inputs: Any) -> torch.Tensor:
    """Return the log-probability of Yes; PaliGemma says yes."""
    word = "yes" if model.config.model_type == "paligemma" else "Yes"
    tokens = sorted(first_tokens(processor.tokenizer, word))
    if model.config.get_text_config().is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.tensor(
            [[model.config.get_text_config().decoder_start_token_id]]
        )
    return model(**inputs).logits[0, -1].double().log_softmax(dim=0)[tokens].logsumexp(dim=0)


def ask(processor: Any, image: Image.Image, caption: str) -> Any:
    """Return the processor's inputs for VQAScore's question, by the model's chat template, or its authors' prompt."""
    question = f'Does this figure show "{caption}"? Please answer yes or no.'
    if not getattr(processor, "chat_template", None):
        prompt = RAW_PROMPTS[type(processor).__name__.removesuffix("Processor")].format(question)
        inputs = processor(images=image, text=prompt, return_tensors="pt")
        return {name: value for name, value in inputs.items() if name != "labels"}
    content = [{"type": "image", "image": image}, {"type": "text", "text": question}]
    return processor.apply_chat_template(
        [{"role": "user", "content": content}],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )


# Files


def own_table(bench: Bench, folder: Path, given: tuple[str, Any]) -> Any:
    """Captions and negatives that ``make`` reads from a table, given its file name and text (or bytes)."""
    name, content = given
    for number in (1, 2, 3):
        (folder / f"{number}.png").write_bytes(encode(Image.new("RGB", (2, 2))))
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return [
        (list(entry.captions), list(entry.hard_negatives))
        for entry in read_entries(folder / name, folder, folder / "s")
    ]


def image_names(bench: Bench, folder: Path, given: tuple[str, str, Any]) -> Any:
    """Names of the images that ``make`` finds, given the file on disk, and the table."""
    on_disk, name, content = given
    (folder / on_disk).write_bytes(encode(Image.new("RGB", (2, 2))))
    (folder / name).write_text(content, encoding="utf-8")
    return [entry.image_id for entry in read_entries(folder / name, folder, folder / "s")]


def parquet_texts(bench: Bench, folder: Path, files: Sequence[tuple[Sequence[Any], Any]]) -> Any:
    """The column ``text`` of several shards, which have different schemas."""
    read = []
    for number, (rows, schema) in enumerate(files):
        path = write_table(folder / f"{number}.parquet", rows, schema)
        read += [row["text"] for _, row in tables.read_table(path, ["text"])]
    return read


def shard(bench: Bench, folder: Path, names: Sequence[str]) -> Any:
    """Keys of the pairs in a shard, and how many samples were left out."""
    (folder / "0.tar").write_bytes(tar_of(iterate_pairs(names)))
    skipped = Counter[str]()
    pairs = list(shards.read_pairs(folder / "0.tar", skipped))
    return [pair.key for pair in pairs], sum(skipped.values())


def parsed(bench: Bench, folder: Path, text: str) -> Any:
    """The caption's scene graph."""
    (parse,) = bench.parser.parse([text])
    graph = parse.graph
    objects = [(item.name, *item.attributes) for item in graph.objects]
    return objects, [
        (graph.by_id[e.subject].name, e.predicate, graph.by_id[e.object].name)
        for e in graph.relations
    ]


# Runs


def again(bench: Bench, folder: Path, change: Callable[[Path], Any]) -> Any:
    """Recall@1 before and after ``change`` of the data folder, with the cache and the results of the first run."""
    data, recalls = write_rows(folder / "data", ["red"] * 3), []
    for step in (lambda _: None, change):
        data = step(data) or data
        (result,) = run(
            wrap(Colors()), [TASK], EvaluationOptions(data_dir=data, output=folder / "results")
        )
        recalls.append(result["metrics"]["recall@1"])
    return recalls


def made_again(bench: Bench, folder: Path, colors: Sequence[str]) -> Any:
    """Recall@1 of datasets of one's own in one run, made one after the other from equal names with other pictures."""
    (folder / "pairs.csv").write_text(
        "image,caption,hard_negatives\n1.png,a red ball,\"['a blue ball']\"\n", encoding="utf-8"
    )
    for color in colors:
        (folder / "1.png").write_bytes(encode(Image.new("RGB", (8, 8), color)))
        make(color, [folder / "pairs.csv"], None, folder / "data")
    tasks = [Task(color, "foils_1", "test") for color in colors]
    results = run(
        wrap(Colors()),
        tasks,
        EvaluationOptions(data_dir=folder / "data", output=folder / "results"),
    )
    return [result["metrics"]["recall@1"] for result in results]


def damaged(bench: Bench, folder: Path, change: Callable[[bytes], bytes]) -> Any:
    """Verify a dataset whose file was changed, but not its time of change."""
    data = write_rows(folder / "data", ["red"] * 3)
    (path,) = (data / "crepe" / "prod_hnatom").glob("*.parquet")
    stats, status = read_stats(data / "crepe"), path.stat()
    verify_files(data / "crepe", stats, [f"prod_hnatom/{path.name}"])  # which is remembered
    path.write_bytes(change(path.read_bytes()))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    verify_files(data / "crepe", stats, [f"prod_hnatom/{path.name}"])
    return run(wrap(Colors()), [TASK], EvaluationOptions(data_dir=data, output=folder / "results"))


def other_weights(bench: Bench, folder: Path, fingerprints: Sequence[str]) -> Any:
    """Recall@1 of models of one name: the first knows the colours, the others see their complement."""

    class Negative(Colors):
        def encode_image(self, images: Any) -> Any:
            return 255 - super().encode_image(images)

    data, recalls = write_rows(folder / "data", ["red"] * 3), []
    for model, fingerprint in zip([Colors(), Negative()], fingerprints, strict=True):
        (result,) = run(
            wrap(model, fingerprint),
            [TASK],
            EvaluationOptions(data_dir=data, output=folder / "results"),
        )
        recalls.append(result["metrics"]["recall@1"])
    return recalls


def interrupted(bench: Bench, folder: Path, count: int) -> Any:
    """Rows and encoded items after an interrupted run and a second one; each item is encoded once."""

    class Stops(Colors):
        def encode_text(self, texts: Any) -> Any:
            raise KeyboardInterrupt

    data = write_rows(folder / "data", ["red"] * count)
    encoders = Stops(), Colors()
    with pytest.raises(KeyboardInterrupt):
        run(wrap(encoders[0]), [TASK], EvaluationOptions(data_dir=data, output=folder / "results"))
    (result,) = run(
        wrap(encoders[1]), [TASK], EvaluationOptions(data_dir=data, output=folder / "results")
    )
    return result["data"]["rows"], sum(model.calls for model in encoders)


def concurrent(bench: Bench, folder: Path, count: int) -> Any:
    """Number of features after several stores, as of several processes, wrote one file at once."""

    def write(worker: int) -> None:
        store = FeatureStore(folder, "one model")
        for number in range(20):
            store.put([f"{worker % 2} {number}".encode()], np.ones((1, 3), np.float32))
        store.close()

    workers = [threading.Thread(target=write, args=[worker]) for worker in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return FeatureStore(folder, "one model").count()


def features(bench: Bench, folder: Path, image_features: Any) -> Any:
    """Return recall@1 and the tie rate of a model that returns these features of images."""

    class Fixed(Colors):
        def encode_image(self, images: Any) -> Any:
            return image_features(len(images))

    data = write_rows(folder / "data", ["red"] * 3)
    (result,) = run(
        wrap(Fixed()), [TASK], EvaluationOptions(data_dir=data, output=folder / "results")
    )
    return result["metrics"]["recall@1"], result["metrics"]["tie_rate"]


def half(bench: Bench, folder: Path, precision: Any) -> bool:
    """Return True if half precision moves directions of texts by less than 0.01, in batches of one and of four."""
    texts = ["a red ball", "a", "nothing here is blue", "two boxes"]
    encoder: Any = models.load_model(f"local:{bench.clip_folder}", precision=precision).encoder
    exact = open_clip_texts(bench, folder, texts).numpy()
    parts = [encoder.encode_texts(texts, size) for size in (1, 4)] + [exact]
    units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
    return bool(max(np.abs(unit - units[-1]).max() for unit in units) < 0.01)


def in_training(bench: Bench, folder: Path, _: Any) -> Any:
    """Difference of scores of a model in training mode, with dropout, from those in evaluation mode; its mode after."""
    model, transform, tokenizer = bench.open_clip
    dropped = torch.nn.Sequential(model.visual, torch.nn.Dropout(0.9))
    model.encode_image = lambda pixels: dropped(pixels)
    model.dropout = dropped[1]
    data = write_rows(folder / "data", ["red"] * 3)
    try:
        scores = []
        for training in (False, True):
            model.train(training)
            result = evaluate(model, transform, tokenizer, "crepe/prod_hnatom/n4", data_dir=data)
            scores.append(result["crepe/prod_hnatom/n4"]["metrics"])
        return scores[0] == scores[1], model.training
    finally:
        model.eval()
        del model.encode_image, model.dropout


def locale(bench: Bench, folder: Path, encoding: str) -> Any:
    """Category names of a result that was written and read where files have another encoding by default."""
    from compeval.evaluators.results import documents

    original = io.text_encoding
    io.text_encoding = lambda given, stacklevel=2: given or encoding
    try:
        path = folder / "result.json"
        documents.write_document(path, {"schema": documents.SCHEMA, "categories": "naïve 😀"})
        return documents.read(path)["categories"], json.loads(path.read_bytes())["categories"]
    finally:
        io.text_encoding = original


# Weights, answers and identities


def prefixed(bench: Bench, folder: Path, prefix: str) -> list[str]:
    """Names of the tensors of a weights file that a training saved with a prefix."""
    names = ("visual.proj", "logit_scale")
    torch.save({f"{prefix}{name}": torch.ones(1) for name in names}, folder / "weights.pt")
    return sorted(weights_file.read_state(folder / "weights.pt"))


def prepared(bench: Bench, folder: Path, name: str) -> Any:
    """Return the resize mode and the mean of the preprocessing for a weights file of an architecture."""
    (folder / "weights.pt").touch()
    found = find_preprocessing(name.replace("FILE", str(folder / "weights.pt")))
    return found["resize_mode"], found["mean"]


def changed_folder(bench: Bench, folder: Path, change: Callable[[Path], Any]) -> Any:
    """Load a folder of transformers' CLIP after a change of its files."""
    copy = Path(shutil.copytree(bench.transformers_folder("clip"), folder / "model"))
    change(copy)
    return models.load_model(f"transformers:{copy}").name


def left_padded(bench: Bench, folder: Path, given: tuple[str, Sequence[str]]) -> Any:
    """Features of texts in one batch, by a tokeniser that pads in front of a text."""
    family, texts = given
    copy = Path(shutil.copytree(bench.transformers_folder(family), folder / "model"))
    path = copy / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | {"padding_side": "left"}
    path.write_text(json.dumps(settings), encoding="utf-8")
    encoder: Any = models.load_model(f"transformers:{copy}").encoder
    return torch.from_numpy(encoder.encode_texts(texts, len(texts)))


def begin_of_answer(bench: Bench, folder: Path, tokens: Sequence[str]) -> Any:
    """The token at which a server's answer to a question of yes or no begins."""
    position = find_answer(tokens, ("Yes", "No"))
    return None if position is None else tokens[position]


def stored_answers(bench: Bench, folder: Path, given: Sequence[tuple[str, bool]]) -> Any:
    """Return answers of models of the given names at one address. True: stored answers are requested again.

    The server answers with yes to the first request, and with no to later ones.
    """
    sent: list[str] = []

    class Server:
        def __init__(self, name: str) -> None:
            self.identity = name, "http://localhost/v1"
            self.max_tokens = 16

        def ask(self, question: str, *_: Any) -> Answer:
            sent.append(question)
            word = "Yes" if len(sent) == 1 else "No"
            return Answer(word, ((word, -0.1),), made=f"2026-11-{len(sent):02}")

    answers = []
    for name, asks_again in given:
        numbers: dict[str, float] = {"max_tokens": 16, "concurrency": 1}
        scorer = ApiScorer(Server(name), Scoring(), AnswerStore(folder), numbers)  # pyright: ignore
        scorer.asks_again = asks_again
        image = scorer.preprocess(Image.new("RGB", (2, 2)))
        answers.append((scorer.ask(image, "a cup").text, scorer.list_times()["first"]))
    return answers


def clusters(bench: Bench, folder: Path, rows: Sequence[tuple[str, str]]) -> int:
    """Number of images among rows, given the id of the image and the hash of the crop."""
    images, crops = zip(*rows, strict=True)
    table = pa.table({"row": range(len(rows)), "image_id": images, "crop_id": crops})
    return len(set(get_clusters(table).tolist()))


def linked_shard(bench: Bench, folder: Path, names: Sequence[str]) -> Any:
    """Keys of the pairs of a shard whose second image is a hard link to the first."""
    path = folder / "0.tar"
    path.write_bytes(tar_of(iterate_pairs(names)))
    with tarfile.open(path, "a") as archive:
        link = tarfile.TarInfo("9.png")
        link.type, link.linkname = tarfile.LNKTYPE, names[0]
        archive.addfile(link)
        text = tarfile.TarInfo("9.txt")
        text.size = 1
        archive.addfile(text, io.BytesIO(b"9"))
    return [pair.key for pair in shards.read_pairs(path, Counter())]
