"""Recovery probes: tokens, batches, resumed trainings, T5s of others, and the command."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import T5Config, T5ForConditionalGeneration, TrainerCallback

from evaluators.models import Model, fingerprint, resolve
from evaluators.models.recovery_probe import AUTOENCODER, PROBE, RecoveryT5
from trainers.probe import data as recovery_data
from trainers.probe import training as probe
from trainers.probe.data import Collator, SimilarLengths
from trainers.probe.training import Recipe

NOUNS, SIDES = ("cat", "dog", "cup", "box", "ox"), ("left", "right", "middle", "back")
TEXTS = [f"{article} {noun} on the {side}" for article in ("a", "the") for noun in NOUNS for side in SIDES]
RECIPE = Recipe(epochs=2, batch_size=8, learning_rate=1e-2)


class Letters:
    """Counts of letters: a text encoder that anagrams share."""

    def __init__(self) -> None:
        self.encoded = 0

    def encode_texts(self, texts, batch_size):
        self.encoded += len(texts)
        return np.array(
            [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], dtype=float
        )


def letters(encoder: Letters | None = None) -> Model:
    return Model(spec="letters", name="letters", encoder=encoder or Letters(), fingerprint="letters")


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(probe, "SMALL", probe.SMALL | {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_decoder_layers": 1})
    monkeypatch.setattr(probe, "SMALL_ENCODER_LAYERS", 1)


def weights(folder: Path) -> str:
    return fingerprint.of_weights(load_file(folder / "model.safetensors"))


def test_a_split_is_90_to_10_and_never_divides_equal_texts():
    train, held = recovery_data.split([*TEXTS, *TEXTS], seed=0)
    assert (len(train), len(held)) == (36, 4)
    assert {*train, *held} == set(TEXTS)
    assert not {*train} & {*held}
    assert recovery_data.split(TEXTS, seed=0) == (train, held)
    with pytest.raises(ValueError, match="4 distinct training texts; at least 10"):
        recovery_data.split(TEXTS[:4], seed=0)


def test_the_tokeniser_gives_its_texts_back():
    tokenizer = recovery_data.train_tokenizer(TEXTS)
    ids = tokenizer(TEXTS)["input_ids"]
    assert {len(one) for one in ids} == {6}  # a word is a token, and there is an end
    assert tokenizer.batch_decode(ids, skip_special_tokens=True) == TEXTS
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (0, 1)


def test_padding_has_no_part_in_the_loss():
    batch = Collator(recovery_data.train_tokenizer(TEXTS), None)(["a cat on the left", "a cat"])
    assert batch["labels"].shape == (2, 6)
    assert (batch["labels"][1] == -100).tolist() == [False, False, False, True, True, True]
    assert (batch["attention_mask"] == (batch["labels"] != -100)).all()


def test_an_order_depends_on_seed_and_epoch_alone():
    texts = ["a " * (1 + place % 7) for place in range(45)]
    order = SimilarLengths(texts, 4, seed=0)
    first = list(order)
    assert sorted(first) == list(range(45))
    assert first == list(SimilarLengths(texts, 4, seed=0))
    order.set_epoch(1)
    assert list(order) != first
    spans = [{len(texts[place]) for place in first[start : start + 4]} for start in range(0, 44, 4)]
    assert sum(len(span) <= 2 for span in spans) == len(spans)


def test_the_first_weights_see_standardised_vectors():
    torch.manual_seed(0)
    model = probe.new_model(RECIPE, 10, 6, own_encoder=False)
    vectors = torch.randn(500, 6) * torch.tensor([1.0, 2, 3, 4, 5, 6]) + 100
    model.standardise(vectors.mean(0), vectors.std(0))
    with torch.no_grad():
        bridged = model.bridge(vectors)
    assert bridged.mean(0).abs().max() < 1e-3
    # Each output is a sum of six standard numbers with weights of variance 1/6.
    assert bridged.var(0).mean().item() == pytest.approx(1, abs=0.4)


def test_parts_of_a_batch_have_the_gradient_of_the_whole():
    torch.manual_seed(0)
    tokenizer = recovery_data.train_tokenizer(TEXTS)
    model = probe.new_model(RECIPE, len(tokenizer), None, own_encoder=True)
    collate = Collator(tokenizer, None)
    texts = ["a cat", "the dog on the left", "a box", "a cup on the right"]
    model(**collate(texts)).loss.backward()
    whole = model.bridge.weight.grad.clone()
    model.zero_grad()
    tokens = int((collate(texts)["labels"] != -100).sum())
    for part in (texts[:2], texts[2:]):
        model(**collate(part), num_items_in_batch=tokens).loss.backward()
    torch.testing.assert_close(model.bridge.weight.grad, whole)


class _Killed(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 5:
            raise KeyboardInterrupt


def test_a_resumed_probe_has_the_weights_of_an_undisturbed_one(tmp_path, monkeypatch):
    recipe = replace(RECIPE, accumulate=2)
    undisturbed = probe.train_probe(letters(), TEXTS, recipe, tmp_path / "a")
    trainer = probe._Trainer
    with monkeypatch.context() as patch:
        patch.setattr(probe, "_Trainer", lambda **options: trainer(**options, callbacks=[_Killed()]))
        with pytest.raises(KeyboardInterrupt):
            probe.train_probe(letters(), TEXTS, recipe, tmp_path / "b")
    assert not (tmp_path / "b").exists()
    (work,) = tmp_path.glob(".b.*")
    last = probe.last_checkpoint(work)
    assert last is not None
    torn = work / "checkpoint-9"  # killed while it was written
    shutil.copytree(last, torn)
    (torn / "trainer_state.json").unlink()
    resumed = probe.train_probe(letters(), TEXTS, recipe, tmp_path / "b")
    assert resumed == undisturbed
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert not list(tmp_path.glob(".b.*"))


def test_what_was_done_is_not_done_again(tmp_path):
    encoder = Letters()
    loss = probe.train_probe(letters(encoder), TEXTS, RECIPE, tmp_path / "a")
    assert encoder.encoded == len(TEXTS)
    written = (tmp_path / "a" / PROBE).stat().st_mtime_ns
    assert probe.train_probe(letters(encoder), TEXTS, RECIPE, tmp_path / "a") == loss
    assert (tmp_path / "a" / PROBE).stat().st_mtime_ns == written
    probe.train_probe(letters(encoder), TEXTS, replace(RECIPE, seed=1), tmp_path / "a")
    assert (tmp_path / "a" / PROBE).stat().st_mtime_ns > written
    assert encoder.encoded == len(TEXTS)  # features are cached


def test_an_autoencoder_is_a_text_encoder_with_its_dimensions_shuffled(tmp_path):
    probe.train_autoencoder(TEXTS, replace(RECIPE, epochs=1), tmp_path / "ae")
    told = json.loads((tmp_path / "ae" / AUTOENCODER).read_text())
    assert sorted(told["shuffle"]) == list(range(32)) != told["shuffle"]
    encoder = resolve(f"local:{tmp_path / 'ae'}")
    texts = ["a cat", "the dog on the left"]
    found_ND = encoder.encoder.encode_texts(texts, 8)
    # The mean over the tokens of the encoder, the second text's two more than the first's left out.
    model = RecoveryT5.from_pretrained(tmp_path / "ae").eval()
    tokenizer = encoder.encoder._tokenizer
    with torch.no_grad():
        plain = [model.encoder(**tokenizer(text, return_tensors="pt"))[0].mean(1)[0].numpy() for text in texts]
    np.testing.assert_allclose(found_ND, np.stack(plain)[:, told["shuffle"]], atol=1e-5)
    folder = tmp_path / "probe"
    probe.train_probe(encoder, TEXTS, RECIPE, folder)
    found = resolve(f"local:{folder}").encoder.recover(["a cat on the left"])
    assert isinstance(found[0], str)


def test_another_text_encoder_than_in_training_is_refused(tmp_path):
    probe.train_autoencoder(TEXTS, replace(RECIPE, epochs=1), tmp_path / "ae")
    probe.train_probe(resolve(f"local:{tmp_path / 'ae'}"), TEXTS, RECIPE, tmp_path / "probe")
    probe.train_autoencoder(TEXTS, replace(RECIPE, epochs=1, seed=1), tmp_path / "ae")
    with pytest.raises(ValueError, match="is not the one that it was trained on"):
        resolve(f"local:{tmp_path / 'probe'}")


def test_a_t5_of_others_goes_the_same_way(tmp_path):
    """t5-large's layout: encoder and decoder layers, weights under their usual names, a tokeniser in its folder."""
    tokenizer = recovery_data.train_tokenizer(TEXTS)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, num_heads=2, d_ff=16, num_layers=2, decoder_start_token_id=0
    )
    theirs = T5ForConditionalGeneration(config)
    theirs.save_pretrained(tmp_path / "t5")
    tokenizer.save_pretrained(tmp_path / "t5")
    recipe = replace(RECIPE, decoder=str(tmp_path / "t5"))
    start = probe.new_model(recipe, 0, 26, own_encoder=False)
    torch.testing.assert_close(
        start.state_dict()["decoder.block.1.layer.0.SelfAttention.q.weight"],
        theirs.state_dict()["decoder.block.1.layer.0.SelfAttention.q.weight"],
    )
    assert len(start.encoder.block) == 0
    assert len(start.decoder.block) == 2
    probe.train_probe(letters(), TEXTS, recipe, tmp_path / "probe")
    assert json.loads((tmp_path / "probe" / PROBE).read_text())["recipe"]["decoder"] == recipe.decoder


def test_a_batch_must_divide():
    with pytest.raises(ValueError, match="A batch of 10 does not divide into 3 parts"):
        Recipe(batch_size=10, accumulate=3)


def test_a_model_without_text_vectors_is_refused(tmp_path):
    scorer = Model(spec="python:m:Scorer", name="m", encoder=None, fingerprint="")
    with pytest.raises(ValueError, match="python:m:Scorer has no text features to probe"):
        probe.train_probe(scorer, TEXTS, RECIPE, tmp_path / "p")
