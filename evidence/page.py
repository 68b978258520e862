"""docs/results.md: what was measured and what was published, with the commands that measure it."""
import statistics


def number(value, unit):
    if value is None:
        return "not reached"
    if unit == "GB":
        return f"{value / 1e9:.2f} GB"
    text = {"x": "{:.2f}x", "%": "{:.1f} %", "s": "{:.3f} s", "points": "{:+.2f} points"}[unit]
    return text.format(value)


def promise(claim):
    if claim.least is not None and claim.most is not None:
        return f"{number(claim.least, claim.unit)} to {number(claim.most, claim.unit)}"
    if claim.least is not None:
        return f"at least {number(claim.least, claim.unit)}"
    if claim.most is not None:
        return f"at most {number(claim.most, claim.unit)}"
    return ""


class Measured:
    """A claim with the values of all seeds."""

    def __init__(self, claim, runs_of_seed):
        self.claim = claim
        self.values = [claim.measure(runs) for _, runs in sorted(runs_of_seed.items())]
        self.mean = None if None in self.values else statistics.fmean(self.values)
        self.holds = claim.holds(self.mean)

    def figure(self):
        text = number(self.mean, self.claim.unit)
        if self.mean is not None and len(self.values) > 1:
            low, high = (number(each, self.claim.unit) for each in (min(self.values), max(self.values)))
            text += f" ({low} .. {high})"
        return text

    def verdict(self):
        return ("yes" if self.holds else "**no**") if promise(self.claim) else ""

    def row(self):
        cells = (self.claim.what, self.claim.published, self.figure(), promise(self.claim), self.verdict())
        return "| " + " | ".join(cells) + " |"


HEADER = "| what | published | motley | promised | holds |\n| --- | --- | --- | --- | --- |"


def table(measured):
    return "\n".join([HEADER, *(each.row() for each in measured)])


def mean_of(runs_of_seed, variant, key):
    values = [key(runs[variant]) for runs in runs_of_seed.values()]
    return None if None in values else statistics.fmean(values)


def wait_share(run):
    workers = run.summary["per_worker"]
    return sum(w["wait_seconds"] for w in workers) / (run.seconds * len(workers))


COLUMNS = (
    ("seconds", lambda run: run.seconds, "{:.2f}"),
    ("samples/s", lambda run: run.rate, "{:.0f}"),
    ("efficiency", lambda run: run.summary["efficiency"], "{:.2f}"),
    ("s to target", lambda run: run.time_to_target, "{:.2f}"),
    ("accuracy", lambda run: run.accuracy, "{:.4f}"),
    ("waiting", wait_share, "{:.2f}"),
    ("MB sent", lambda run: run.summary["bytes_sent"] / 1e6, "{:.0f}"),
)


def variants_table(runs_of_seed):
    """Every variant of a plan: means over the seeds. Columns without values are left out."""
    variants = list(next(iter(sorted(runs_of_seed.items())))[1])
    rows = {v: [mean_of(runs_of_seed, v, key) for _, key, _ in COLUMNS] for v in variants}
    used = [i for i in range(len(COLUMNS)) if any(row[i] is not None for row in rows.values())]
    lines = ["| variant | " + " | ".join(COLUMNS[i][0] for i in used) + " |",
             "| --- |" + " --- |" * len(used)]
    for variant, row in rows.items():
        cells = ["-" if row[i] is None else COLUMNS[i][2].format(row[i]) for i in used]
        lines.append(f"| `{variant}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def section(experiment, measured, runs, picture):
    parts = [f"## {experiment.title}", experiment.about, table(measured)]
    for name, plan in experiment.plans.items():
        seeds = ", ".join(map(str, plan.seeds))
        parts.append(f"`{plan.command()}`" + (f", and the same with seeds {seeds}; means:" if len(plan.seeds) > 1 else ":"))
        parts.append(variants_table(runs[name]))
    if picture:
        parts.append(f"![Accuracy over training time]({picture})")
    if experiment.word:
        parts.append(experiment.word)
    return "\n\n".join(parts)
