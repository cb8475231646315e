"""A stand-in for the language model that writes productivity captions: it reads a graph from a prompt and words it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compeval.base.schemas.scene_graph import Relation, SceneGraph, SceneObject
from compeval.generators.captioner.captioner import GrammarCaptioner, NoCaption, Request


class GraphCaptions:
    """Answers prompts of captioner/prompted.py about the graphs of annotated images with the grammar's captions."""

    def __init__(self, graphs: Iterable[SceneGraph]) -> None:
        self._names: set[str] = set()
        self._attributes: set[str] = set()
        for graph in graphs:
            self._names.update(item.name for item in graph.objects)
            self._attributes.update(text for item in graph.objects for text in item.attributes)

    def answer(self, prompt: str) -> str:
        """Return a caption of the graph in a prompt."""
        graph = self.read_graph(prompt)
        (caption,) = GrammarCaptioner().captions([Request(graph, prompt)])
        return "no caption" if isinstance(caption, NoCaption) else caption.text

    def read_graph(self, prompt: str) -> SceneGraph:
        """Return the graph of a prompt: "red cup1, cup2, table", then one line per relation."""
        first, *lines = prompt.splitlines()
        objects: dict[str, SceneObject] = {}
        for text in first.split(", "):
            words = text.split()
            start = next(
                at for at in range(len(words)) if self._find_name(" ".join(words[at:])) is not None
            )
            label = " ".join(words[start:])
            name = self._find_name(label)
            assert name is not None
            attributes = tuple(self._split_attributes(words[:start]))
            objects[label] = SceneObject(str(len(objects)), name, attributes)
        return SceneGraph(
            tuple(objects.values()), tuple(_read_relation(line, objects) for line in lines)
        )

    def _find_name(self, label: str) -> str | None:
        """Return the name of a label: "cup" of "cup1", but also "atomic number 99" of itself."""
        stem = label.rstrip("0123456789")
        names = (label[:end] for end in range(len(label), len(stem) - 1, -1))
        return next((name for name in names if name in self._names), None)

    def _split_attributes(self, words: list[str]) -> Iterable[str]:
        while words:
            end = next(
                at
                for at in range(len(words), 0, -1)
                if at == 1 or " ".join(words[:at]) in self._attributes
            )
            yield " ".join(words[:end])
            words = words[end:]


def _read_relation(line: str, objects: Mapping[str, SceneObject]) -> Relation:
    subject, object_ = (
        max(filter(test, objects), key=len)
        for test in (
            lambda label: line.startswith(f"{label} "),
            lambda label: line.endswith(f" {label}"),
        )
    )
    return Relation(
        objects[subject].id, line[len(subject) : -len(object_)].strip(), objects[object_].id
    )
