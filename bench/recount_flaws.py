"""Count the texts of the page docs/benchmark-flaws.md again, without the project's code.

    python -m bench.recount_flaws docs/flaws.json FILE ...

Reads CREPE's productivity files (csv) and SugarCrepe's (json), and compares with flaws.json: rows, candidates, flaws of
form, identical texts, mangled words, wrong articles, malformed negatives, the intervals of shares of rows, and the best
text-only baseline where it learns nothing (medoids, lengths, negation words). Shares of baselines are those of all rows
here, of at most 300 random rows there. Baselines that are trained are not computed again. Exits with 1 at a difference.
"""

import ast
import csv
import hashlib
import json
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein
from scipy.stats import norm, t

VOWEL = re.compile(r"(?!eu|ewe|one|once)[aeio]|u(?:m|n(?!i)|p|g)", re.I)
CONSONANT = re.compile(r"[bcdfgjklmnpqrstvwxyz][a-z]*[aeiouy]", re.I)
NEGATIONS = {
    *[
        "no",
        "not",
        "never",
        "none",
        "nothing",
        "nobody",
        "nowhere",
        "neither",
        "nor",
        "without",
        "cannot",
    ]
}
TOLERANCE = 0.08
"""Largest difference between the share of 300 random rows and that of all rows."""

SHARES = ("identical texts", "mangled word", "article")
"""Shares of rows that have intervals."""


class File(NamedTuple):
    """The texts of a published file."""

    rows: list[tuple[str, list[str]]]
    """Captions with their negatives."""
    images: list[str]
    unordered: int = 0
    """Number of rows whose negatives are a set."""


def read(path: Path) -> File:
    if path.suffix == ".json":
        items = json.loads(path.read_text(encoding="utf-8")).values()
        rows = [(item["caption"], [item["negative_caption"]]) for item in items]
        return File(rows, [item["filename"] for item in items])
    rows = []
    images: list[str] = []
    unordered = 0
    for line in csv.DictReader(path.open(encoding="utf-8", newline="")):
        literal = line["hard_negs"].strip()
        unordered += literal.startswith("{")
        negatives = ast.literal_eval(literal)
        images.append(line["image_id"])
        rows.append(
            (line["caption"], sorted(negatives) if isinstance(negatives, set) else negatives)
        )
    return File(rows, images, unordered)


def compute_interval(hits: list[bool], images: list[str]) -> tuple[float, float]:
    """Return Wilson's interval of a share of rows whose images are clusters (Korn and Graubard 1998)."""
    hit_N = np.array(hits, float)
    share = hit_N.mean()
    members = {image: np.array(images) == image for image in set(images)}
    clusters = len(members)
    rows = float(clusters)
    if clusters == len(images):
        rows = float(len(images))
    elif 0 < share < 1:
        residual_N = hit_N - share
        between = sum(residual_N[mask].sum() ** 2 for mask in members.values())
        design_effect = between * clusters / (clusters - 1) / (residual_N**2).sum()
        rows = len(images) / max(1, design_effect)
        rows *= (norm.ppf(0.975) / t.ppf(0.975, clusters - 1)) ** 2
    square = norm.ppf(0.975) ** 2
    centre = (share + square / (2 * rows)) / (1 + square / rows)
    half = np.sqrt(square * share * (1 - share) / rows + square**2 / (4 * rows**2))
    half /= 1 + square / rows
    return max(0.0, centre - half), min(1.0, centre + half)


def split(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


WORDNET = Path(sys.prefix, "share", "wordnet")
ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
"""WordNet's rules: an ending, and what takes its place (morphy(7WN))."""


@cache
def load_wordnet(part: str) -> tuple[set[str], dict[str, list[str]]]:
    """Return the words of a part of speech, and its exceptions with their base forms."""
    index = (WORDNET / f"index.{part}").read_text(encoding="utf-8").splitlines()
    exceptions = (
        line.split(" ")
        for line in (WORDNET / f"{part}.exc").read_text(encoding="utf-8").splitlines()
    )
    return {line.split(" ")[0] for line in index if line[0] != " "}, {
        key: bases for key, *bases in exceptions
    }


def find_base(text: str, part: str) -> str | None:
    lemmas, exceptions = load_wordnet(part)
    if text in exceptions:
        return next((base for base in (text, *exceptions[text]) if base in lemmas), None)
    rules = [rule.split(":") for rule in ENDINGS[part].split()]
    forms = [text, *(text.removesuffix(old) + new for old, new in rules if text.endswith(old))]
    return next((form for form in forms if form in lemmas), None)


@cache
def is_word(text: str) -> bool:
    """Return True if WordNet has a text; it takes an "s" off words that end in "s", too."""
    bases = [base for part in ENDINGS if (base := find_base(text, part))]
    return any(not (base[-1] == "s" and text == base + "s") for base in bases)


@cache
def singular(text: str) -> str:
    return find_base(text, "noun") or text


def is_mangled(caption: str, negative: str, frequent_words: set[str]) -> bool:
    """Return True if a word of the negative has a word in place of a part of a word of the caption."""
    truth = Counter(split(caption))
    lost = set(truth - Counter(split(negative)))
    for word in split(negative):
        if len(word) < 3 or word in frequent_words or re.search(r"\d", word) or is_word(word):
            continue
        for source in truth:
            for own in truth:
                for inner in {own, singular(own)} - {source}:
                    if not lost & {source, own}:
                        continue
                    for match in re.finditer(f"(?={re.escape(inner)})", source):
                        before = source[: match.start()]
                        after = source[match.start() + len(inner) :]
                        middle = word[len(before) : len(word) - len(after)]
                        fits = word == before + middle + after and middle
                        is_plural = word == f"{middle}s" and middle[-1:] != "s"
                        if fits and not is_plural and (middle in frequent_words or is_word(middle)):
                            return True
    return False


def has_wrong_article(caption: str, negative: str) -> bool:
    own = {match.lower() for match in re.findall(r"\ban? [a-z]+", caption, re.I)}
    for article, word in re.findall(r"\b(an?) ([a-z]+)", negative, re.I):
        wrong = (VOWEL if article.lower() == "a" else CONSONANT).match(word)
        if (
            wrong
            and len(word) > 1
            and not word.isupper()
            and f"{article} {word}".lower() not in own
        ):
            return True
    return False


def has_doubled_word(caption: str, negative: str) -> bool:
    own = {match[0].lower() for match in re.finditer(r"\b(\w+) \1\b", caption, re.I)}
    return any(
        match[0].lower() not in own for match in re.finditer(r"\b(\w+) \1\b", negative, re.I)
    )


def share_first(values: list[float]) -> float:
    """Return the share of the caption, the first value, in the smallest value."""
    return (values[0] == min(values)) / values.count(min(values))


def sum_distances(items: list) -> list[float]:
    return [sum(Levenshtein.distance(item, other) for other in items) for item in items]


BASELINES = {
    "medoid_of_characters": lambda texts: sum_distances([text.lower() for text in texts]),
    "medoid_of_words": lambda texts: sum_distances([tokens(text) for text in texts]),
    "no negation word": lambda texts: [
        bool(NEGATIONS & set(split(text)) or re.search(r"n['’]t\b", text, re.I)) for text in texts
    ],
    "shortest": lambda texts: [len(text) for text in texts],
    "fewest words": lambda texts: [len(split(text)) for text in texts],
    "no final stop, or outer spaces": lambda texts: [
        text.rstrip().endswith(".") - (text != text.strip()) for text in texts
    ],
}


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())


def count(file: File) -> dict[str, float | str]:
    """Return counts, and the intervals of shares in percent."""
    rows = file.rows
    caption_words = {word for caption, _ in rows for word in split(caption)}
    mangled = [[is_mangled(caption, text, caption_words) for text in of] for caption, of in rows]
    articles = [[has_wrong_article(caption, text) for text in of] for caption, of in rows]
    doubled = [[has_doubled_word(caption, text) for text in of] for caption, of in rows]
    folded = [
        [" ".join(text.casefold().split()) for text in (caption, *of)] for caption, of in rows
    ]
    rows_by_share = {
        "identical texts": [len(set(of)) < len(of) for of in folded],
        "mangled word": [any(of) for of in mangled],
        "article": [any(of) for of in articles],
    }
    intervals = {
        f"interval of {name}": format_interval(compute_interval(hits, file.images))
        for name, hits in rows_by_share.items()
    }
    return {
        "rows": len(rows),
        "candidates": 1 + len(rows[0][1]),
        "capital": sum(
            text[:1].isupper() and caption[:1].islower() for caption, of in rows for text in of
        ),
        "final stop": sum(
            any(text.rstrip().endswith(".") != caption.rstrip().endswith(".") for text in of)
            for caption, of in rows
        ),
        "unordered": file.unordered,
        **{name: sum(hits) for name, hits in rows_by_share.items()},
        **intervals,
        "malformed negatives": sum(
            any(flaws)
            for row in zip(mangled, articles, doubled, strict=True)
            for flaws in zip(*row, strict=True)
        ),
    }


def format_interval(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def list_claims(item: dict) -> dict[str, float | str]:
    """Return the same counts and intervals of flaws.json."""
    shares = {name: round(entry["share"] * item["rows"]) for name, entry in item["shares"].items()}
    form = {name: item["form"].get(name, 0) for name in ("capital", "final stop", "unordered")}
    own = {name: item[name] for name in ("rows", "candidates", "malformed negatives")}
    intervals = {
        f"interval of {name}": format_interval(item["shares"][name]["interval"]) for name in SHARES
    }
    return own | form | intervals | {name: shares[name] for name in SHARES}


def main(output: str, *files: str) -> None:
    measured = json.loads(Path(output).read_text(encoding="utf-8"))
    wrong = 0
    for path in map(Path, files):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest not in measured:
            sys.exit(f"{path}: {output} has no file with the SHA-256 {digest}.")
        item = measured[digest]
        file = read(path)
        counted = count(file)
        claimed = list_claims(item)
        differing = {
            name: (claimed[name], value)
            for name, value in counted.items()
            if claimed[name] != value
        }
        best = item["baselines"]["recall@1"]
        if (baseline := BASELINES.get(best["baseline"])) is not None:
            rows = [share_first(baseline([caption, *of])) for caption, of in file.rows]
            share = sum(rows) / len(rows)
            if abs(share - best["share"]) > TOLERANCE:
                differing[best["baseline"]] = (best["share"], share)
        wrong += bool(differing)
        print(f"{path.name}: {differing or 'equal'}", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
