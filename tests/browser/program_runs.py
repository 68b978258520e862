"""The runs that the tests of the built program examine, all started at once: real ones with 4 or 2
workers, simulated ones, comparisons."""
import functools
import os
import random
import re
import signal
import subprocess

from program import Run

# As hostile as a job file allows: a name cannot contain a slash, a path can.
NAME = 'x"\\{{runs}}<!--<script><img src=x onerror=alert(1)>'
FOLDER, FILE = "x<", "script><img src=x onerror=alert(1)>"
VARIANT = "<svg onload=alert(1)>&lt;"

REAL = f"""
name = '{NAME}'
[model]
kind = "svm"
[data]
kind = "libsvm"
path = '{FOLDER}/{FILE}'
[train]
batch = 64
steps = 60
eval_every = 10
[cluster]
workers = 4
unit = 5e-4
speeds = [1, 1, 1, 0.5]
"""
LONG = ("--set", "train.steps=100000")
TWO_WORKERS = ("--set", "cluster.workers=2", "--set", "cluster.speeds=[1, 0.5]")

VARIANTS = f"""
[[variant]]
name = "equal"
[[variant]]
name = '{VARIANT}'
strategy.sync = "partial_reduce"
strategy.allocation = "adaptive"
"""

PHANTOM = """
name = "methods"
[model]
kind = "phantom"
parameters = 100_000
[train]
batch = 64
steps = 60
eval_every = 0
[cluster]
workers = 4
unit = 1e-3
speeds = [1, 1, 1, 0.5]
"""
LARGE = """
name = "large"
[model]
kind = "phantom"
parameters = 100_000
[train]
batch = 2048
steps = 2000
eval_every = 0
[strategy]
sync = "partial_reduce"
[cluster]
workers = 64
unit = 1e-3
[[cluster.slowdown]]
kind = "random"
probability = 0.0625
factor = 6
"""

RUNS = {}  # by name, which is also the name of the directory


@functools.cache
def methods(program):
    """The methods that `motley strategies` lists."""
    listed = subprocess.run([program, "strategies"], check=True, capture_output=True, text=True)
    return re.findall(r"^sync +(\w+)", listed.stdout, re.MULTILINE)


def write_data(folder):
    """Writes two classes that are nearly linearly separable."""
    (folder / FOLDER).mkdir()
    chance = random.Random(1)
    with open(folder / FOLDER / FILE, "w", encoding="ascii") as file:
        for i in range(600):
            side = 1 if i % 2 else -1
            values = [f"{k}:{chance.gauss(side / k, 1):.3f}" for k in range(1, 9)]
            print(f"{side:+d}", *values, file=file)


def start_all(program, folder):
    write_data(folder)
    (folder / "real.toml").write_text(REAL)
    (folder / "compare.toml").write_text(REAL + VARIANTS)
    (folder / "phantom.toml").write_text(PHANTOM)
    (folder / "methods.toml").write_text(PHANTOM + "".join(
        f'[[variant]]\nname = "{name}"\nstrategy.sync = "{name}"\n' for name in methods(program)))
    (folder / "large.toml").write_text(LARGE)

    def start(name, *arguments, **how):
        RUNS[name] = Run(program, folder, *arguments, "--out", name, **how)

    start("live", "train", "real.toml", "--dashboard", *LONG,
          "--set", "strategy.allocation=adaptive")
    start("killed", "train", "real.toml", *LONG, *TWO_WORKERS, "--set", "cluster.elastic=false",
          "--set", "strategy.sync=partial_reduce")
    start("terminal", "train", "real.toml", *TWO_WORKERS, "--set", "strategy.sync=hop",
          terminal=True)
    start("json", "train", "real.toml", "--json", "--quiet", *TWO_WORKERS,
          "--set", "strategy.sync=local_sgd", terminal=True)
    start("large", "simulate", "large.toml", "--json", terminal=True)
    start("methods", "compare", "methods.toml", "--simulate", "--json")
    start("compare", "compare", "compare.toml", "--simulate", "--quiet")


def end_all():
    for run in RUNS.values():
        run.end()


def until_evaluated(run, times):
    path = run.out / "metrics.jsonl"
    run.until(lambda: path.exists() and path.read_text().count("\n") >= times, "evaluations")


@functools.cache
def ended(name):
    """Waits for the run of that name to end; stops the two that would take long."""
    run = RUNS[name]
    if name == "killed":
        until_evaluated(run, 3)
        run.victim = run.workers()[1]
        os.kill(run.victim, signal.SIGKILL)
    if name == "live":
        run.until_said(r"\[rank 3\]")
        until_evaluated(run, 6)
        if run.is_running():
            run.process.send_signal(signal.SIGINT)
    run.code = run.finish()
    return run
