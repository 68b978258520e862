"""Instructions per event of the simulator: the same on every machine, whatever its caches are.

Counted by valgrind. Two runs are made, one of them longer: their difference is the cost of the steps, without
start and end of the run."""
import json
import re
import subprocess
import tempfile

from runs import RunError

JOB = "scenarios/scale.toml"
WORKER_STEPS = 6400  # of the shorter run, at least
FEWEST_STEPS = 4
LONGER = 2


def steps_for(workers):
    return max(FEWEST_STEPS, WORKER_STEPS // workers)


def command(motley, method, workers, steps, out):
    """The run, under valgrind."""
    sets = (f"cluster.workers={workers}", f"train.batch={workers}", f"train.steps={steps}")
    words = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    words += [motley, "simulate", JOB, "--variant", method]
    words += [word for each in sets for word in ("--set", each)]
    return words + ["--quiet", "--json", "--out", out]


def count(motley, method, workers, steps):
    """(instructions, events) of a run."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(command(motley, method, workers, steps, out), capture_output=True, text=True)
    counted = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or counted is None:
        raise RunError(f"{method} with {workers} workers under valgrind: {done.stderr.strip()[-500:]}")
    return int(counted[1].replace(",", "")), json.loads(done.stdout)["simulated_events"]


def per_event(motley, method, workers):
    steps = steps_for(workers)
    short, long = (count(motley, method, workers, n) for n in (steps, LONGER * steps))
    return (long[0] - short[0]) / (long[1] - short[1])
