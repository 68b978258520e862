"""Runs of motley's simulator, and the figures read from them."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tomllib
from dataclasses import dataclass, field


class RunError(Exception):
    """A run failed; str() is its message."""


@dataclass
class Run:
    """One variant with one seed: its summary.json and the lines of its metrics.jsonl."""
    summary: dict
    metrics: list

    @property
    def seconds(self):
        return self.summary["seconds"]

    @property
    def rate(self):
        return self.summary["samples_per_second"]

    @property
    def accuracy(self):
        return self.summary["final_accuracy"]

    @property
    def time_to_target(self):
        return self.summary["time_to_target"]

    def iteration_rate(self):
        """For hop: iterations per second, skipped ones included."""
        return self.summary["hop"]["mean_iterations"] / self.seconds

    def loss_at(self, part, window=5):
        """The training loss, as a mean of a few evaluations, after a part of the run."""
        return self._losses(window)[int(part * len(self.metrics)) - 1][1]

    def time_to_loss(self, loss, window=5):
        """The first time at which that mean is as low as `loss`; None if it never is."""
        return next((s for s, value in self._losses(window) if value <= loss), None)

    def _losses(self, window):
        losses = [m["train_loss"] for m in self.metrics]
        means = [
            sum(losses[max(0, i + 1 - window) : i + 1]) / len(losses[max(0, i + 1 - window) : i + 1])
            for i in range(len(losses))
        ]
        return [(m["seconds"], mean) for m, mean in zip(self.metrics, means)]


@dataclass(frozen=True)
class Plan:
    """Variants of a job file to run, with every seed."""
    job: str
    seeds: tuple
    variants: tuple = ()  # empty: all of them
    changes: tuple = ()  # for --set

    def names(self):
        with open(self.job, "rb") as file:
            all_names = [variant["name"] for variant in tomllib.load(file)["variant"]]
        missing = set(self.variants) - set(all_names)
        if missing:
            raise RunError(f"{self.job} has no variant {', '.join(sorted(missing))}")
        return list(self.variants) or all_names

    def command(self):
        """The command that runs one seed of it."""
        sets = "".join(f" --set {change}" for change in self.changes)
        return f"build/motley compare {self.job} --simulate --set seed={self.seeds[0]}{sets}"


@dataclass
class Runner:
    """Runs plans on all cores, each variant and seed as a process of its own."""
    motley: str
    out: pathlib.Path
    jobs: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))

    def run(self, plans):
        """{plan name: {seed: {variant: Run}}} of {plan name: Plan}. Raises RunError."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            futures = {
                (name, seed, variant): pool.submit(self._run_one, name, plan, seed, variant)
                for name, plan in plans.items()
                for seed in plan.seeds
                for variant in plan.names()
            }
            try:
                results = {}
                for (name, seed, variant), future in futures.items():
                    results.setdefault(name, {}).setdefault(seed, {})[variant] = future.result()
                return results
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def directory(self, name, seed, variant):
        return self.out / name / str(seed) / variant

    def _run_one(self, name, plan, seed, variant):
        directory = self.directory(name, seed, variant)
        command = [self.motley, "simulate", plan.job, "--variant", variant, "--quiet", "--json"]
        command += ["--out", str(directory)]
        for change in (*plan.changes, f"seed={seed}"):
            command += ["--set", change]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RunError(f"{' '.join(command)}: {done.stderr.strip()}")
        lines = (directory / "metrics.jsonl").read_text() if has_metrics(directory) else ""
        return Run(json.loads(done.stdout), [json.loads(line) for line in lines.splitlines()])


def has_metrics(directory):
    return (directory / "metrics.jsonl").exists()
