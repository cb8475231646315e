"""Tests of the training of recovery probes and the autoencoder."""

import json
import os
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoTokenizer,
    T5Config,
    T5ForConditionalGeneration,
    TrainingArguments,
)
from transformers.trainer_callback import CallbackHandler

from compeval.evaluators.models import Model, fingerprint, load_model
from compeval.evaluators.models.recovery_probe import AUTOENCODER, PROBE, RecoveryT5
from compeval.trainers.probe import data as recovery_data
from compeval.trainers.probe import training as probe
from compeval.trainers.probe.data import Collator, SimilarLengthSampler
from compeval.trainers.probe.training import OneDeviceArguments, Recipe
from tests.close import assert_close, count_terms

NOUNS, SIDES = ("cat", "dog", "cup", "box", "ox"), ("left", "right", "middle", "back")
TEXTS = [
    f"{article} {noun} on the {side}"
    for article in ("a", "the")
    for noun in NOUNS
    for side in SIDES
]
RECIPE = Recipe(epochs=2, batch_size=8, learning_rate=1e-2)


class LetterCounter:
    """Text encoder that counts letters, so anagrams have the same features."""

    def __init__(self) -> None:
        self.num_encoded = 0

    def encode_texts(self, texts, batch_size):
        self.num_encoded += len(texts)
        return np.array(
            [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts],
            dtype=float,
        )


def make_letter_model(encoder: LetterCounter | None = None) -> Model:
    return Model(
        spec="letters", name="letters", encoder=encoder or LetterCounter(), fingerprint="letters"
    )


@pytest.fixture(autouse=True)
def use_small_t5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        probe,
        "SMALL",
        probe.SMALL | {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_decoder_layers": 1},
    )
    monkeypatch.setattr(probe, "SMALL_ENCODER_LAYERS", 1)


def hash_weights(folder: Path) -> str:
    return fingerprint.of_weights(load_file(folder / "model.safetensors"))


def test_split_is_90_to_10_and_keeps_equal_texts_together():
    train, validation = recovery_data.split_texts([*TEXTS, *TEXTS], seed=0)
    assert (len(train), len(validation)) == (36, 4)
    assert {*train, *validation} == set(TEXTS)
    assert not {*train} & {*validation}
    assert recovery_data.split_texts(TEXTS, seed=0) == (train, validation)
    with pytest.raises(ValueError, match="4 distinct training texts; at least 10"):
        recovery_data.split_texts(TEXTS[:4], seed=0)


def test_tokenizer_decodes_to_the_same_texts():
    tokenizer = recovery_data.train_tokenizer(TEXTS)
    ids = tokenizer(TEXTS)["input_ids"]
    assert {len(tokens) for tokens in ids} == {6}  # one token per word and the end token
    assert tokenizer.batch_decode(ids, skip_special_tokens=True) == TEXTS
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (0, 1)


def test_loss_ignores_padding():
    batch = Collator(recovery_data.train_tokenizer(TEXTS), None)(["a cat on the left", "a cat"])
    assert batch["labels"].shape == (2, 6)
    assert (batch["labels"][1] == -100).tolist() == [False, False, False, True, True, True]
    assert (batch["attention_mask"] == (batch["labels"] != -100)).all()


def test_sampler_depends_on_seed_and_epoch_only():
    texts = ["a " * (1 + index % 7) for index in range(45)]
    order = SimilarLengthSampler(texts, 4, seed=0)
    first = list(order)
    assert sorted(first) == list(range(45))
    assert first == list(SimilarLengthSampler(texts, 4, seed=0))
    order.set_epoch(1)
    assert list(order) != first
    lengths = [
        {len(texts[index]) for index in first[start : start + 4]} for start in range(0, 44, 4)
    ]
    assert all(len(batch_lengths) <= 2 for batch_lengths in lengths)


def test_initial_weights_standardise_the_features():
    model = probe.make_model(RECIPE, 10, 6, has_encoder=False)
    vectors = torch.randn(500, 6) * torch.tensor([1.0, 2, 3, 4, 5, 6]) + 100
    model.standardise(vectors.mean(0), vectors.std(0))
    with torch.no_grad():
        bridged = model.bridge(vectors)
    # The mean of 500 sums of six, with terms of up to 100.
    assert_close(bridged.mean(0), torch.zeros_like(bridged.mean(0)), summed=500 + 6, size=100)
    # Each output is a sum of six standardised features with weights of variance 1/6.
    assert_close(bridged.var(0).mean().item(), 1, within=0.4)


def test_accumulated_gradient_equals_the_gradient_of_the_batch():
    tokenizer = recovery_data.train_tokenizer(TEXTS)
    model = probe.make_model(RECIPE, len(tokenizer), None, has_encoder=True)
    collate = Collator(tokenizer, None)
    texts = ["a cat", "the dog on the left", "a box", "a cup on the right"]
    model(**collate(texts)).loss.backward()
    expected = model.bridge.weight.grad.clone()
    model.zero_grad()
    tokens = int((collate(texts)["labels"] != -100).sum())
    for part in (texts[:2], texts[2:]):
        model(**collate(part), num_items_in_batch=tokens).loss.backward()
    # Forwards and backwards through the network.
    assert_close(model.bridge.weight.grad, expected, summed=2 * count_terms(model))


def test_a_resumed_training_ends_with_the_same_weights(tmp_path, monkeypatch):
    recipe = replace(RECIPE, accumulate=2)
    uninterrupted = probe.train_probe(make_letter_model(), TEXTS, recipe, tmp_path / "a")
    end_step = CallbackHandler.on_step_end

    def interrupt_at_step_5(self, args, state, control):
        if state.global_step == 5:
            raise KeyboardInterrupt
        return end_step(self, args, state, control)

    with monkeypatch.context() as patch:
        patch.setattr(CallbackHandler, "on_step_end", interrupt_at_step_5)
        with pytest.raises(KeyboardInterrupt):
            probe.train_probe(make_letter_model(), TEXTS, recipe, tmp_path / "b")
    assert not (tmp_path / "b").exists()
    (work,) = tmp_path.glob(".b.*")
    last_checkpoint = probe.find_last_checkpoint(work)
    assert last_checkpoint is not None
    incomplete = work / "checkpoint-9"  # interrupted while it was written
    shutil.copytree(last_checkpoint, incomplete)
    (incomplete / "trainer_state.json").unlink()
    resumed = probe.train_probe(make_letter_model(), TEXTS, recipe, tmp_path / "b")
    assert resumed == uninterrupted
    assert hash_weights(tmp_path / "a") == hash_weights(tmp_path / "b")
    assert not list(tmp_path.glob(".b.*"))


def test_a_finished_training_is_not_repeated(tmp_path):
    encoder = LetterCounter()
    loss = probe.train_probe(make_letter_model(encoder), TEXTS, RECIPE, tmp_path / "a")
    assert encoder.num_encoded == len(TEXTS)
    written = (tmp_path / "a" / PROBE).stat().st_mtime_ns
    assert probe.train_probe(make_letter_model(encoder), TEXTS, RECIPE, tmp_path / "a") == loss
    assert (tmp_path / "a" / PROBE).stat().st_mtime_ns == written
    probe.train_probe(make_letter_model(encoder), TEXTS, replace(RECIPE, seed=1), tmp_path / "a")
    assert (tmp_path / "a" / PROBE).stat().st_mtime_ns > written
    assert encoder.num_encoded == len(TEXTS)  # features are cached


def test_autoencoder_returns_mean_token_states_with_shuffled_dimensions(tmp_path):
    probe.train_autoencoder(TEXTS, replace(RECIPE, epochs=1), tmp_path / "ae")
    record = json.loads((tmp_path / "ae" / AUTOENCODER).read_text(encoding="utf-8"))
    assert sorted(record["shuffle"]) == list(range(32)) != record["shuffle"]
    encoder = load_model(f"local:{tmp_path / 'ae'}")
    texts = ["a cat", "the dog on the left"]
    feature_ND = encoder.encoder.encode_texts(texts, 8)
    # Each text is encoded alone, so the mean includes no padding.
    model = RecoveryT5.from_pretrained(tmp_path / "ae").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "ae")
    with torch.no_grad():
        mean_states = [
            model.encoder(**tokenizer(text, return_tensors="pt"))[0].mean(1)[0].numpy()
            for text in texts
        ]
    expected_ND = np.stack(mean_states)[:, record["shuffle"]]
    assert_close(feature_ND, expected_ND, summed=count_terms(model.encoder))
    probe.train_probe(encoder, TEXTS, RECIPE, tmp_path / "probe")
    recovered = load_model(f"local:{tmp_path / 'probe'}").encoder.recover(["a cat on the left"])
    assert isinstance(recovered[0], str)
    # A probe is refused if the text encoder changed after its training.
    probe.train_autoencoder(TEXTS, replace(RECIPE, epochs=1, seed=1), tmp_path / "ae")
    with pytest.raises(ValueError, match="has changed since training"):
        load_model(f"local:{tmp_path / 'probe'}")


def test_decoder_of_a_pretrained_t5(tmp_path):
    """The T5 has the layout of t5-large: encoder and decoder layers, the usual weight names, and a tokenizer."""
    tokenizer = recovery_data.train_tokenizer(TEXTS)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        num_heads=2,
        d_ff=16,
        num_layers=2,
        decoder_start_token_id=0,
    )
    pretrained = T5ForConditionalGeneration(config)
    pretrained.save_pretrained(tmp_path / "t5")
    tokenizer.save_pretrained(tmp_path / "t5")
    recipe = replace(RECIPE, decoder=str(tmp_path / "t5"))
    model = probe.make_model(recipe, 0, 26, has_encoder=False)
    name = "decoder.block.1.layer.0.SelfAttention.q.weight"
    assert torch.equal(model.state_dict()[name], pretrained.state_dict()[name])  # loaded
    assert len(model.encoder.block) == 0
    assert len(model.decoder.block) == 2
    probe.train_probe(make_letter_model(), TEXTS, recipe, tmp_path / "probe")
    assert (
        json.loads((tmp_path / "probe" / PROBE).read_text(encoding="utf-8"))["recipe"]["decoder"]
        == recipe.decoder
    )


def test_error_for_an_indivisible_batch_size():
    with pytest.raises(ValueError, match="Batch size 10 is not divisible by 3"):
        Recipe(batch_size=10, accumulate=3)


def test_error_for_a_model_without_text_features(tmp_path):
    scorer = Model(spec="python:m:Scorer", name="m", encoder=None, fingerprint="")
    with pytest.raises(ValueError, match="python:m:Scorer has no text features to probe"):
        probe.train_probe(scorer, TEXTS, RECIPE, tmp_path / "p")


def test_one_gpu_is_used_and_it_is_the_requested_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    chosen: list[str] = []
    monkeypatch.setattr("torch.cuda.set_device", lambda device: chosen.append(str(device)))
    on_all_gpus = property(
        lambda arguments: vars(arguments).update(_n_gpu=4) or torch.device("cuda:0")
    )
    monkeypatch.setattr(TrainingArguments, "_setup_devices", on_all_gpus)
    arguments = OneDeviceArguments(output_dir=str(tmp_path), one_device="cuda:1")
    assert (str(arguments.device), arguments.n_gpu, chosen[-1]) == ("cuda:1", 1, "cuda:1")
    # pick_device names the first GPU without its number, which torch.cuda.set_device refuses.
    arguments = OneDeviceArguments(output_dir=str(tmp_path), one_device="cuda")
    assert (str(arguments.device), arguments.n_gpu, chosen[-1]) == ("cuda:0", 1, "cuda:0")
    monkeypatch.setenv("WORLD_SIZE", "4")  # the device that the launcher assigned
    assert str(OneDeviceArguments(output_dir=str(tmp_path), one_device="cuda:1").device) == "cuda:0"


def test_processes_divide_the_batch():
    recipe = Recipe(batch_size=512, accumulate=2)
    assert [probe.divide_batch(recipe, processes) for processes in (1, 2, 4)] == [256, 128, 64]
    with pytest.raises(
        ValueError,
        match=r"Batch size 512 is not divisible by 2 \(accumulate\) times 3 \(processes\)",
    ):
        probe.divide_batch(recipe, 3)


def train_in_a_process(rank: int, num_processes: int, port: int, folder: Path) -> None:
    """Train a probe as one of several processes that torchrun starts."""
    environment = {
        "RANK": rank,
        "LOCAL_RANK": rank,
        "WORLD_SIZE": num_processes,
        "MASTER_PORT": port,
    }
    os.environ |= {name: str(value) for name, value in environment.items()} | {
        "MASTER_ADDR": "127.0.0.1"
    }
    os.environ["COMPEVAL_CACHE"] = str(folder.parent / "cache")
    probe.SMALL |= {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_decoder_layers": 1}
    probe.MAX_VALIDATION_TEXTS = 1
    probe.train_probe(make_letter_model(), TEXTS, replace(RECIPE, batch_size=6, epochs=1), folder)


@pytest.mark.acceptance
def test_two_processes_learn_what_one_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # The 36 training texts are six whole batches. One validation text has the same loss in one and two processes.
    monkeypatch.setattr(probe, "MAX_VALIDATION_TEXTS", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train_in_a_process, (2, port, tmp_path / "two"), nprocs=2)
    probe.train_probe(
        make_letter_model(), TEXTS, replace(RECIPE, batch_size=6, epochs=1), tmp_path / "one"
    )
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    # The decoder attends to one position, so the gradients of queries and keys are rounding errors, which Adafactor
    # scales.
    meaningless = ("EncDecAttention.q", "EncDecAttention.k", "layer.1.layer_norm")
    for name, tensor in one.items():
        if not any(part in name for part in meaningless):
            # Adam divides a gradient by its size, so the weights of small gradients differ by more than rounding.
            assert_close(two[name], tensor, within=1e-4)


def test_vectors_are_fp32_in_any_precision(tmp_path: Path):
    # 1 and 1 + 2^-12 are equal in bfloat16, so their projections differ only if they are kept in fp32.
    model = probe.make_model(RECIPE, 10, 4, has_encoder=False)
    model.standardise(torch.ones(4), torch.full((4,), 2.0**-12))
    model.save_pretrained(tmp_path / "t5")
    half = RecoveryT5.from_pretrained(tmp_path / "t5", dtype=torch.bfloat16)
    vectors = torch.stack([torch.ones(4), torch.full((4,), 1 + 2.0**-12)])
    for loaded in (model, half):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            first, second = loaded.project(vectors).last_hidden_state[:, 0]
        assert (first - second).abs().max() > 0.1
    assert half.project(vectors).last_hidden_state.dtype == torch.bfloat16
