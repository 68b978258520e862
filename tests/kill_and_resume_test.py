"""Kills the coordinator of real runs at random moments, and lets the runs go on from what is on disk.

usage: kill_and_resume_test.py MOTLEY [KILLS [SEED]]

Every run has to end, and to repeat no more steps than there are between two checkpoints. What it computed while a
checkpoint was being written comes on top: that must not take long.
"""
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

MOTLEY = pathlib.Path(sys.argv[1]).resolve()
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
METHODS = ["all_reduce", "partial_reduce", "ps_ssp"]
EVERY = 5  # steps between two checkpoints
STEPS = 40
BATCH = 50
STEP_SECONDS = 0.05
LATE = 2.0  # seconds from the end of a term to its checkpoint on a machine with other work; otherwise less than a step
DEADLINE = 100

JOB = f"""
name = "killed"
[model]
kind = "mlp"
[data]
kind = "synthetic"
samples = 500
test_samples = 50
features = 20
[train]
batch = {BATCH}
steps = {STEPS}
eval_every = 1
checkpoint_every = {EVERY}
momentum = 0.9
[cluster]
workers = 3
overhead = {STEP_SECONDS}
"""


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def await_condition(condition, process, what):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        check(process.poll() is None and time.monotonic() < deadline, what)
        time.sleep(0.005)


def whole_checkpoints(run):
    return sorted(int(path.name) for path in (run / "checkpoints").glob("[0-9]*"))


def evaluated(run):
    """Steps and seconds of all evaluations. Each step's model is evaluated, within milliseconds."""
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [(metric["samples"] / BATCH, metric["seconds"]) for metric in metrics]


def check_repeated(run, saved):
    """Returns how many steps are done again by a run that goes on after step `saved`."""
    done, killed = evaluated(run)[-1]
    later = [seconds for step, seconds in evaluated(run) if step >= saved + EVERY]
    if done - saved > EVERY:
        check(killed - later[0] < LATE, f"{run}: step {done}, going on after step {saved}")
    return max(round(done - saved), 0)


def train(folder, *arguments):
    done = subprocess.run([MOTLEY, "train", *arguments, "--quiet", "--no-trace"], cwd=folder, capture_output=True,
                          text=True, timeout=DEADLINE)
    check(done.returncode == 0, f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def check_end(run, samples=STEPS * BATCH):
    summary = json.loads((run / "summary.json").read_text())
    check(summary["samples"] == samples, f"{run}: {summary['samples']} samples")
    check(sum(worker["samples"] for worker in summary["per_worker"]) == samples, f"{run}: samples of all workers")
    steps = [step for step, _ in evaluated(run)]
    check(steps == sorted(set(steps)), f"{run}: evaluations after {steps}")
    return summary


def killed_run(folder, name, method, moment):
    """Returns whether it was killed before its end, some time after its first checkpoint."""
    run = folder / name
    shutil.rmtree(run, ignore_errors=True)  # it may have come to its end before
    command = [MOTLEY, "train", "job.toml", "--set", f"strategy.sync={method}", "--out", name, "--quiet", "--no-trace"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        await_condition(lambda: whole_checkpoints(run), process, f"{name} has no checkpoint")
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
    return not (run / "summary.json").exists()


def main():
    chance = random.Random(SEED)
    repeated = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "job.toml").write_text(JOB)
        train(folder, "job.toml", "--out", "whole")
        check_end(folder / "whole")
        kills = 0
        while kills < KILLS:
            method = METHODS[kills % len(METHODS)]
            name = f"{method}{kills}"
            run = folder / name
            if not killed_run(folder, name, method, chance.uniform(0, STEPS * STEP_SECONDS)):
                continue
            kills += 1
            saved = whole_checkpoints(run)[-1]
            repeated[check_repeated(run, saved)] += 1
            train(folder, "--resume", name)  # its workers may not have noticed yet
            summary = check_end(run)
            check(summary["resumed_from"] == f"{name}/checkpoints/{saved}", f"{name}: {summary['resumed_from']}")
            if method == "all_reduce":
                check((run / "model.pt").read_bytes() == (folder / "whole/model.pt").read_bytes(), f"{name}: its model")
    print(f"{kills} kills; runs by steps that were done again: {dict(sorted(repeated.items()))}")


if __name__ == "__main__":
    main()
