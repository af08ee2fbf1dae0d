"""What the files of bench/results say: records, and the numbers that documents take from them.
scripts/check-numbers uses it. Medians and paired ratios are computed again from the samples, if a file has
them."""
import fnmatch
import json
import math
import pathlib
import re

RESULTS = pathlib.Path("bench/results")
# What subjects share that were timed together.
CASE = ("collective", "engine", "n", "bytes", "roots", "quantity", "pinned")


class Flaw(Exception):
    pass


def quantile(values, q):
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def middle(values):
    return quantile(values, 0.5)


def interval(values):
    """The 95 % interval of the median, as bench/stats.hpp defines it; empty for fewer than six values."""
    ordered, n, k, tail = sorted(values), len(values), 0, 0.0
    while k < n // 2:
        tail += math.comb(n, k) / 2.0**n
        if 2 * tail > 0.05:
            break
        k += 1
    return [ordered[k - 1], ordered[n - k]] if k > 0 else []


def paired(samples, base):
    """The median of the ratios of samples that were taken in the same rounds, and its interval."""
    ratios = [a / b for a, b in zip(samples, base) if a is not None and b]
    return [middle(ratios)] + interval(ratios)


def fits(value, wanted):
    if isinstance(wanted, (list, tuple)):
        return any(fits(value, one) for one in wanted)
    if isinstance(wanted, str) and re.fullmatch(r"[<>][\d.]+", wanted):
        limit = float(wanted[1:])
        return value is not None and (value < limit if wanted[0] == "<" else value > limit)
    size = re.fullmatch(r"(\d+)(?: ([KM])iB)?", wanted) if isinstance(wanted, str) else None
    if size and not isinstance(value, str):
        return value == int(size.group(1)) * {None: 1, "K": 1024, "M": 1048576}[size.group(2)]
    if isinstance(wanted, str) and isinstance(value, str):
        return fnmatch.fnmatchcase(value, wanted)
    return value == wanted


def flattened(rows, above=None):
    """Records with the fields of those around them."""
    for row in rows:
        whole = {**(above or {}), **row}
        inner = whole.pop("rows", None)
        yield from flattened(inner, whole) if isinstance(inner, list) else [whole]


class Source:
    """The records of one or more files that pass the filters. FILE#KEY takes the list KEY of the file."""

    def __init__(self, root, file, filters):
        name, _, self.key = file.partition("#")
        self.root, self.filters = root, filters
        self.paths = sorted((root / RESULTS).glob(name))
        if not self.paths:
            raise Flaw(f"no file {RESULTS / name}")
        self.rows = [row for path in self.paths for row in self.read(path)]

    def read(self, path):
        data = json.loads(path.read_text(encoding="utf-8"))
        for key in self.key.split(".") if self.key else []:
            data = data[key]
        if isinstance(data, dict):
            data = next((data[key] for key in ("results", "rows", "cells") if data.get(key)), [data])
        return flattened(data)

    # What the expressions of a mark may call:

    def of(self, file):
        """The same filters on another file."""
        return Source(self.root, file, self.filters)

    def select(self, **filters):
        return [row for row in self.rows
                if all(fits(row.get(key), wanted) for key, wanted in {**self.filters, **filters}.items())]

    def get(self, field, **filters):
        """The field of the one record that fits."""
        rows = self.select(**filters)
        if len(rows) != 1:
            raise Flaw(f"{len(rows)} records fit {field} {filters}")
        return rows[0][field]

    def best(self, subject, **filters):
        """The record of least median: of several variants, only the fastest counts."""
        rows = self.select(subject=subject, **{"quantity": "period", **filters})
        if not rows:
            raise Flaw(f"no record of {subject} {filters}")
        return min(rows, key=lambda row: row["median"])

    def quantile(self, subject, q, **filters):
        row = self.best(subject, **filters)
        present = [sample for sample in row.get("samples") or [] if sample is not None]
        return quantile(present, q) if present else row[{0.1: "p10", 0.5: "median", 0.9: "p90"}[q]]

    def median(self, subject, **filters):
        return self.quantile(subject, 0.5, **filters)

    def ratio(self, subject, to="planned", **filters):
        """The time of the subject by that of another one, paired by rounds, and its interval."""
        row = self.best(subject, **filters)
        others = [one for one in self.rows if fits(one.get("subject"), to)
                  and all(one.get(key) == row.get(key) for key in CASE)]
        base = min(others, key=lambda one: one["median"], default={})
        if row.get("samples") and base.get("samples"):
            return paired(row["samples"], base["samples"])
        if to != "planned":
            raise Flaw(f"no samples of {subject} and {to}")
        return [row["ratio_to_plan"]] + (row["ratio_to_plan_interval"] or [])

    def by_bound(self, subject, **filters):
        row = self.best(subject, **filters)
        return row["median"] / row["bound"]

    def runs(self, **filters):
        """bench-versions: the median of the runs' ratios, and its interval by the normal approximation."""
        ordered = sorted(middle([old / new for old, new in run]) for run in self.get("runs_ns", **filters))
        half, reach = (len(ordered) - 1) / 2, 0.98 * math.sqrt(len(ordered))
        return [middle(ordered), ordered[math.floor(half - reach)], ordered[math.ceil(half + reach)]]

    def series(self, field, names, **filters):
        """A list of samples in a field of the one record that fits; of several lists, their sums."""
        lists = self.get(field, **filters)
        chosen = [lists[name] for name in ([names] if isinstance(names, str) else names)]
        return [sum(parts) for parts in zip(*chosen)]

    def barrier(self, way, **filters):
        """bench-hosts: the predicted and the measured time in us."""
        row = self.get(way, **filters)
        return [row[key] / 1000 for key in ("predicted_ns", "measured_ns") if key in row]

    def bytes_per_ns(self, subject, **filters):
        row = self.best(subject, **filters)
        return row["bytes"] / row["median"]

    def count(self, **filters):
        return len(self.select(**filters))

    def values(self, field, **filters):
        found = [row[field] for row in self.select(**filters) if row.get(field) is not None]
        if not found:
            raise Flaw(f"no record has {field} {filters}")
        return found

    def least(self, field, **filters):
        return min(self.values(field, **filters))

    def most(self, field, **filters):
        return max(self.values(field, **filters))

    def span(self, field, **filters):
        return [self.least(field, **filters), self.most(field, **filters)]

    def mean(self, field, **filters):
        """The geometric mean."""
        found = self.values(field, **filters)
        return math.exp(sum(map(math.log, found)) / len(found))

    def evaluate(self, expression):
        names = {name: getattr(self, name) for name in (
            "of", "select", "get", "best", "quantile", "median", "ratio", "by_bound", "runs", "series",
            "barrier", "bytes_per_ns", "count", "values", "least", "most", "span", "mean")}
        names |= {"min": min, "max": max, "len": len, "middle": middle, "paired": paired}
        try:  # marks are part of the sources, so they are trusted
            value = eval(expression, {"__builtins__": {}} | names)
        except (SyntaxError, NameError, TypeError, KeyError, ValueError, IndexError) as error:
            raise Flaw(f"{expression}: {type(error).__name__} {error}") from error
        return list(value) if isinstance(value, (list, tuple)) else [value]
