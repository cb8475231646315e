"""Evaluate the probes and write their tables to experiments/probe/.

python -m experiments.probe.evaluate checkpoints/probe/of-*
"""

from __future__ import annotations

from pathlib import Path

from compeval.base.pipeline import stage
from compeval.evaluators.models import load_model, pick_device
from compeval.evaluators.probes.evaluate import evaluate_probe
from compeval.evaluators.report import probe_report

DEVIATIONS = """\
Deviations from the paper: the decoder is a small T5 that is trained from scratch on 100,000 generated captions,
with batches of 128 and 4 epochs (paper: t5-large, Conceptual Captions, batches of 512); the text encoders are
tiny CLIP models of the micro-world and our autoencoder; CompPrompts and ControlledImCaps are rebuilt, because
they were not released. `compeval train probe` with `--decoder t5-large` and `--text`, and `compeval probe run`,
do the same for published text encoders. Table 10 is measured by the stage `text_only_aro`, with a chat model if
`text_only_aro.chat` names one, on the sets that `aro` builds.

"""


def main(
    probes: list[Path],
    output: Path = Path("experiments/probe"),
    results: Path = Path("results/probe"),
) -> None:
    """Evaluate the probes in the folders PROBES; write the tables to OUTPUT and the results of all tasks to RESULTS."""
    device = pick_device()
    evaluations = [
        evaluate_probe(load_model(f"local:{probe}", device), output=results, device=device)
        for probe in probes
    ]
    probe_report.write(output, evaluations)
    page = output / "README.md"
    page.write_text(DEVIATIONS + page.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    stage.run(main)
