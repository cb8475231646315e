"""Evaluate the probes and write their tables to experiments/probe/.

python -m experiments.probe.evaluate checkpoints/probe/of-*
"""

from __future__ import annotations

from pathlib import Path

from evaluators.models import pick_device, resolve
from evaluators.probes.evaluate import evaluate_probe
from evaluators.report import probe_report
from generators.pipeline import stage


def main(probes: list[Path], output: Path = Path("experiments/probe"), results: Path = Path("results/probe")) -> None:
    """Evaluate the probes in the folders PROBES; write the tables to OUTPUT and the results of all tasks to RESULTS."""
    device = pick_device()
    evaluations = [evaluate_probe(resolve(f"local:{probe}", device), output=results, device=device) for probe in probes]
    probe_report.write(output, evaluations)


if __name__ == "__main__":
    stage.run(main)
