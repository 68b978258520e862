"""How a simulation grows with its workers: rows of scripts/scale, what is promised of them, their section."""
import json
import math
import pathlib
import subprocess
import tempfile

from claims import Claim
from page import Measured, table
from runs import RunError

SCRIPT = "scripts/scale"
METHODS = ("hop", "partial_reduce")  # of which something is promised
MANY = 4096
FEW = 64


def measure(motley, quick):
    """Rows by (variant, workers)."""
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "rows.json"
        command = [SCRIPT, "--motley", motley, "--json", str(file)]
        if quick:
            command += ["--largest", str(MANY), "--times", str(MANY // FEW)]
            command += [word for method in METHODS for word in ("--only", method)]
        done = subprocess.run(command, capture_output=True, text=True)
        if not file.exists():
            raise RunError(f"{' '.join(command)}: {done.stderr.strip()}")
        rows = json.loads(file.read_text())
    return {(row["variant"], row["workers"]): row for row in rows}


def of(method, workers, key):
    return lambda rows: rows[method, workers].get(key)


def growth(method):
    """Of the cost per event from few workers to many, over that of log n: at most 1 is promised."""

    def value(rows):
        few, many = (rows[method, n].get("microseconds_per_event") for n in (FEW, MANY))
        return None if few is None or many is None else many / few / (math.log(MANY) / math.log(FEW))

    return value


def all_claims():
    for method in METHODS:
        name = f"{MANY:,} workers, 100 steps of {method}"
        yield Claim("scale", f"{name}: on one core", "", of(method, MANY, "cpu_seconds"), "s", most=60)
        yield Claim("scale", f"{name}: memory", "", of(method, MANY, "peak_bytes"), "GB", most=2e9)
        yield Claim("scale", f"{method}: cost per event from {FEW} to {MANY:,} workers, over log n", "",
                    growth(method), "x", most=1)


def claims(rows):
    return [Measured(claim, {1: rows}) for claim in all_claims()]


def line(row):
    if "error" in row:
        return f"| `{row['variant']}` | {row['workers']:,} | {row['error']} | | | | |"
    cells = (f"`{row['variant']}`", f"{row['workers']:,}", f"{row['seconds']:.2f}", f"{row['cpu_seconds']:.2f}",
             f"{row['peak_bytes'] / 2**20:,.0f}", f"{row['events']:,}", f"{row['microseconds_per_event']:.2f}")
    return "| " + " | ".join(cells) + " |"


def section(rows):
    lines = ["| method | workers | wall seconds | on one core | MiB | events | µs per event |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: |", *map(line, rows.values())]
    return "\n\n".join([
        "## Thousands of workers",
        "What it takes to simulate 100 steps of each worker with a phantom model of a million parameters. These are seconds of "
        "this machine. All-reduce of more than 64 workers is worked out in one event a worker ([simulator.md](simulator.md)), so "
        "that its few events are dear ones.",
        table(claims(rows)),
        f"`{SCRIPT}`:",
        "\n".join(lines),
    ])
