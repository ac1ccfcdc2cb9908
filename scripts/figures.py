#!/usr/bin/env python3
# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What scripts that make tables and figures of benchmarks' reports share."""

import csv
import re
import sys

# What Google Benchmark adds to names.
suffix = re.compile(r"/(min_time:[^/]*|iterations:\d+|repeats:\d+|manual_time|real_time)")


def number(value):
    return "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def machine_of(report):
    """A line that says where and when the report was made."""
    context = report["context"]
    return "; ".join(
        f"{key}: {context[key]}" for key in ("executor", "gpu", "date") if key in context
    )


def runs_of(report, parts):
    """The runs of a report without errors, with the parts of their names."""
    for run in report["benchmarks"]:
        name = suffix.sub("", run["name"])
        if run.get("error_occurred") or name.count("/") != parts - 1:
            print(f"omitted: {run['name']}", file=sys.stderr)
            continue
        yield name.split("/"), run


def write_table(path, title, head, rows):
    """Writes rows to a CSV and a Markdown file; returns the latter's text."""
    with path.with_name(path.name + ".csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    lines = [head, ["---"] * len(head)]
    lines += [[number(v) if isinstance(v, float) else str(v) for v in row] for row in rows]
    text = f"## {title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)
    path.with_name(path.name + ".md").write_text(text + "\n")
    return text


def plotter():
    """matplotlib.pyplot, which draws to files, or None."""
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: no pictures", file=sys.stderr)
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot
