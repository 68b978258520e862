"""How a simulation grows with its workers: rows of scripts/scale, what is promised of them, their section."""
import concurrent.futures
import json
import math
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass

import instructions
from claims import Claim
from page import Measured, table
from runs import RunError

SCRIPT = "scripts/scale"
METHODS = ("hop", "partial_reduce")  # of which something is promised
MANY = 4096
FEW = 64


@dataclass(frozen=True)
class Grown:
    rows: dict  # by (variant, workers)
    printed: str  # the same as a table


def measure(motley, quick):
    """What scripts/scale measures, with the instructions where something is promised of them."""
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "rows.json"
        command = [SCRIPT, "--motley", motley, "--json", str(file)]
        if quick:
            command += ["--largest", str(MANY), "--times", str(MANY // FEW)]
            command += [word for method in METHODS for word in ("--only", method)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RunError(f"{' '.join(command)}: {done.stdout}{done.stderr.strip()}")
        rows = json.loads(file.read_text())
    grown = Grown({(row["variant"], row["workers"]): row for row in rows}, done.stdout.strip())
    count_instructions(motley, grown.rows)
    return grown


def count_instructions(motley, rows):
    """Adds them to the rows of which something is promised."""
    wanted = [(method, workers) for method in METHODS for workers in (FEW, MANY)]
    with concurrent.futures.ThreadPoolExecutor(len(METHODS)) as pool:
        counts = pool.map(lambda each: instructions.per_event(motley, *each), wanted)
        for each, counted in zip(wanted, counts):
            rows[each]["instructions_per_event"] = counted


def of(method, workers, key):
    return lambda rows: rows[method, workers].get(key)


def growth(method, key):
    """How many times as much an event costs among many workers as among few."""

    def value(rows):
        few, many = (rows[method, n].get(key) for n in (FEW, MANY))
        return None if few is None or many is None else many / few

    return value


def all_claims():
    for method in METHODS:
        name = f"{MANY:,} workers, 100 steps of {method}"
        yield Claim("scale", f"{name}: on one core", "", of(method, MANY, "cpu_seconds"), "s", most=60)
        yield Claim("scale", f"{name}: memory", "", of(method, MANY, "peak_bytes"), "GB", most=2e9)
        many = f"{method}, {MANY:,} workers against {FEW}"
        yield Claim("scale", f"{many}: instructions per event (log n: 2x)", "",
                    growth(method, "instructions_per_event"), "x", most=math.log(MANY) / math.log(FEW))
        yield Claim("scale", f"{many}: time per event", "", growth(method, "microseconds_per_event"), "x")


def claims(grown):
    return [Measured(claim, {1: grown.rows}) for claim in all_claims()]


def section(grown):
    return "\n\n".join([
        "## Thousands of workers",
        "What it takes to simulate 100 steps of each worker with a phantom model of a million parameters. These are seconds of "
        "this machine. All-reduce of more than 64 workers is worked out in one event a worker ([simulator.md](simulator.md)), so "
        "that its few events are dear ones.",
        table(claims(grown)),
        f"`{SCRIPT}`:",
        grown.printed,
        counted(grown.rows),
        "Instructions per event grow more slowly than log n; time grows faster than that. What a worker has, its stack, mailbox and "
        "the state of its method, is some kilobytes, so that 64 workers fit into a core's own cache, a thousand into the one that cores share, and more into "
        "neither: the longest wait in the profile is for the first line of a stack that is switched to. Stacks that begin at different places of a page, "
        "and huge pages for stacks and heap, were tried and changed nothing that could be measured.",
    ])


def counted(rows):
    lines = ["| method | workers | instructions per event |", "| --- | ---: | ---: |"]
    for (method, workers), row in rows.items():
        if "instructions_per_event" in row:
            lines.append(f"| `{method}` | {workers:,} | {row['instructions_per_event']:,.0f} |")
    example = instructions.command("build/motley", METHODS[0], FEW, instructions.steps_for(FEW), "DIR")
    return f"`{' '.join(example)}`, and with {instructions.LONGER} times the steps: the difference by that of `simulated_events`:\n\n" + "\n".join(lines)
