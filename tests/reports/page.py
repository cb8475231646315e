"""Write docs/reports.md: `python -m tests.reports.page > docs/reports.md`."""

from __future__ import annotations

from collections import Counter

from tests.reports.reports import REFUSED, REPORTS, RIGHT, SILENT, UNCLEAR

HEAD = """# Public reports

People who evaluate vision-language models report what goes wrong in the trackers of the libraries and benchmarks that
they use. {threads} threads of {kinds} kinds were collected in November 2026, and each became a small input with the
right value: worked out by hand, or computed by open_clip, transformers, Pillow or another library that is called
directly (`tests/reports/`). Before, {right} came out right, {silent} wrong without a word, {refused} were refused
without need, and {unclear} had a message that did not help. Now all have the value or the error of the last column.

| thread | kind | what went wrong there | here before | here now |
| --- | --- | --- | --- | --- |
"""


def render() -> str:
    count = Counter(report.before for report in REPORTS)
    head = HEAD.format(
        threads=len(REPORTS),
        kinds=len({report.kind for report in REPORTS}),
        right=count[RIGHT],
        silent=count[SILENT],
        refused=count[REFUSED],
        unclear=count[UNCLEAR],
    )
    lines = []
    for report in REPORTS:
        repository, number = report.thread.split("#")
        link = f"[{report.thread}](https://github.com/{repository}/issues/{number})"
        cells = (
            link,
            report.kind,
            report.wrong.replace("|", "\\|").replace("<", "&lt;"),
            report.before,
            report.now,
        )
        lines.append(f"| {' | '.join(cells)} |\n")
    return head + "".join(lines)


if __name__ == "__main__":
    print(render(), end="")
