"""The seen analysis gives what parsing every caption gives, on all real captions and on 200,000 of the micro-world."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from bench.seen import SIZES, measure, microworld_captions, microworld_test_captions, real_captions, targets_of
from generators.parser.caption_parser import make_parser


@pytest.mark.acceptance
def test_same_answer_on_real_captions(real_data: Path) -> None:
    """Targets: the parses of every second web caption and of all region captions; corpus: the other web captions."""
    parser = make_parser()
    test, corpus = real_captions(real_data)
    targets = targets_of(test, parser)
    (run,) = measure(targets, corpus, parser, [len(corpus)])  # asserts that both answers are the same
    assert run.result.captions == len(corpus) > 4_500
    assert len(targets.items) > 20_000
    assert len(run.found) > 4_000


@pytest.mark.acceptance
def test_same_answer_on_200_000_microworld_captions() -> None:
    parser = make_parser()
    corpus = list(islice(microworld_captions(), SIZES[-1]))
    assert len(corpus) == 200_000
    targets = targets_of(list(microworld_test_captions()), parser)
    shares = [run.result.parsed / run.result.captions for run in measure(targets, corpus, parser, SIZES)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 1 / 4
