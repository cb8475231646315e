"""Fingerprints of models that people write."""

import torch

import compeval


def test_the_fingerprint_of_a_model_changes_with_its_weights_alone():
    model = torch.nn.Linear(2, 3)
    before = compeval.fingerprint(model)
    assert compeval.fingerprint(model.state_dict()) == before
    assert compeval.fingerprint(model.eval()) == before
    with torch.no_grad():
        model.bias[0] += 1.0
    assert compeval.fingerprint(model) != before
