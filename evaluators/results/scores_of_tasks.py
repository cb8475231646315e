"""The result of ``compeval.evaluate``: scores by task, with attributes for the main values.

scores = compeval.evaluate(model, preprocess, tokenizer, "crepe/prod_*")
scores["crepe/prod_hnatom/n4"].recall_at_1    # 0.632, a share of 1
scores["crepe/prod_hnatom/n4"].interval       # (0.601, 0.66), the 95 % interval of the main metric
scores["crepe/prod_hnatom/n4"].chance         # 0.2, the chance level of the main metric
scores.flat()                                 # {"crepe/prod_hnatom/n4/recall@1": 0.632, ...} for a logger
"""

from __future__ import annotations

from typing import Any


class TaskScores(dict[str, Any]):
    """The scores of a model on one task.

    As a dictionary, it is the document that ``compeval run`` writes. Its keys are ``task``, ``dataset``, ``config``,
    ``split``, ``variant``, ``protocol``, ``source``, ``synthetic``; ``model`` (name, fingerprint, precision and more);
    ``data`` (rows, crops, images, set_size, version and more); ``main`` (names of the main metrics); ``metrics``,
    ``intervals``, ``chance`` and ``std`` (by metric); ``categories`` (metrics by category of the rows); ``warnings``;
    ``skipped`` (rows without a readable image); and ``code``. Shares are fractions of 1.

    Each metric is an attribute as well, with ``_at_`` for ``@``: ``recall_at_1`` is ``scores["metrics"]["recall@1"]``.
    """

    @property
    def metric(self) -> str:
        """Name of the main metric; the first one if both directions of retrieval are measured."""
        return self["main"][0]

    @property
    def score(self) -> float:
        """Value of the main metric."""
        return self["metrics"][self.metric]

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the main metric over images, or None if there are too few."""
        bounds = self["intervals"].get(self.metric)
        return (bounds[0], bounds[1]) if bounds else None

    @property
    def chance(self) -> float:
        """Chance level of the main metric."""
        return self["chance"][self.metric]

    def __getattr__(self, name: str) -> float:
        metrics = self.get("metrics", {})
        if (metric := name.replace("_at_", "@")) in metrics:
            return metrics[metric]
        known = ", ".join(known.replace("@", "_at_") for known in metrics)
        raise AttributeError(
            f"The task {self.get('task')} has no metric {name!r}. Its metrics: {known}."
        )

    def __repr__(self) -> str:
        bounds = (
            "" if self.interval is None else f" [{self.interval[0]:.3f}, {self.interval[1]:.3f}]"
        )
        return f"<{self['task']}: {self.metric} {self.score:.3f}{bounds}, chance {self.chance:.3f}>"


class Scores(dict[str, TaskScores]):
    """The scores of a model: name of a task -> ``TaskScores``, in the order of the tasks."""

    def flat(self) -> dict[str, float]:
        """Return the main metrics as ``task/metric``, for a logger."""
        return {
            f"{task}/{name}": scores["metrics"][name]
            for task, scores in self.items()
            for name in scores["main"]
        }
