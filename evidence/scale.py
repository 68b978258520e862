"""How the cost of a simulation grows with its workers: rows of scripts/scale, what is promised for them, their section."""
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
METHODS = ("hop", "partial_reduce")  # those with a promise
MANY = 4096
FEW = 64


@dataclass(frozen=True)
class Grown:
    rows: dict  # by (variant, workers)
    printed: str  # the same as a table


def measure(motley, quick):
    """What scripts/scale measures, with the instructions of the rows that have a promise."""
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
    """Adds the instructions to the rows that have a promise."""
    wanted = [(method, workers) for method in METHODS for workers in (FEW, MANY)]
    with concurrent.futures.ThreadPoolExecutor(len(METHODS)) as pool:
        counts = pool.map(lambda each: instructions.per_event(motley, *each), wanted)
        for each, counted in zip(wanted, counts):
            rows[each]["instructions_per_event"] = counted


def of(method, workers, key):
    return lambda rows: rows[method, workers].get(key)


def growth(method, key):
    """The cost of an event with many workers relative to that with few."""

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
        "The cost of simulating 100 steps of each worker with a phantom model of a million parameters, in real seconds of "
        "this machine. All-reduce of more than 64 workers is computed in one event per worker ([simulator.md](simulator.md)), so "
        "its events are few but expensive.",
        table(claims(grown)),
        f"`{SCRIPT}`:",
        grown.printed,
        counted(grown.rows),
        "Instructions per event grow more slowly than log n, but time per event grows faster. A worker's stack, mailbox and method "
        "state take some kilobytes. So 64 workers fit into a core's own cache, a thousand fit into the shared cache, and more fit "
        "into neither: in the profile most time is spent waiting for the first cache line of a stack that is switched to. We tried "
        "stacks that begin at different offsets within a page, and huge pages for stacks and heap; neither made a measurable "
        "difference.",
    ])


def counted(rows):
    lines = ["| method | workers | instructions per event |", "| --- | ---: | ---: |"]
    for (method, workers), row in rows.items():
        if "instructions_per_event" in row:
            lines.append(f"| `{method}` | {workers:,} | {row['instructions_per_event']:,.0f} |")
    example = instructions.command("build/motley", METHODS[0], FEW, instructions.steps_for(FEW), "DIR")
    return f"`{' '.join(example)}`, and again with {instructions.LONGER} times the steps. The difference in instructions, divided by the difference in `simulated_events`:\n\n" + "\n".join(lines)
