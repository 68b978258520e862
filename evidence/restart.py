"""What losses of machines cost a run that is restarted from its last checkpoint, beside one that goes
on, in virtual time.

usage: python3 evidence/restart.py [--motley build/motley] [--scenario scenarios/spot.toml]

A run that restarts is modelled as torchrun has it: all workers have equal shares, and a machine that
is lost ends the workers on all others. They meet again (rendezvous), start, load the last checkpoint
and go on with the machines that are there. What was computed since the checkpoint is lost. torchrun
restarts for newcomers as well; with "newcomers wait" they are let in only when a loss restarts the
run anyway, which is kinder to it.

Each stretch between two restarts is a run of `motley simulate` with cluster.elastic = false that goes
on from the checkpoints of the one before. Machines come and go as in the run that goes on. Not
charged: the first start, noticing the loss, and writing a checkpoint.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANY_STEPS = 10_000_000  # more than any stretch takes


@dataclass(frozen=True)
class Restarting:
    """The assumptions about a run that restarts, in seconds."""
    restart: float = 30           # from the loss until the first step: processes, rendezvous, loading
    interval: float = 60          # between two checkpoints
    newcomers_wait: bool = False  # they do not restart the run


@dataclass(frozen=True)
class Machines:
    """Which machines are there: at the beginning, and what happens later."""
    first: frozenset
    events: tuple  # (seconds, worker, whether it joins), in order of time

    @staticmethod
    def of(members):
        """Of the list of members in a summary.json."""
        workers = [each for each in members if "worker" in each]
        events = [(each["joined"], each["worker"], True) for each in workers if each["joined"] > 0]
        events += [(each["left"], each["worker"], False) for each in workers
                   if each["left"] is not None]
        first = frozenset(each["worker"] for each in workers if each["joined"] == 0)
        return Machines(first, tuple(sorted(events)))

    def at(self, seconds):
        there = set(self.first)
        for at, worker, joins in self.events:
            if at <= seconds:
                (there.add if joins else there.discard)(worker)
        return there

    def next_end(self, begin, team, newcomers_wait):
        """When a stretch ends that `team` begins at this time; None: never."""
        return next((at for at, worker, joins in self.events
                     if at > begin and (not newcomers_wait if joins else worker in team)), None)

    def ready(self, loss, restart):
        """When the workers compute again. A loss during a restart begins it anew."""
        ready = loss + restart
        for at, _, joins in self.events:
            if loss < at < ready and not joins:
                ready = at + restart
        return ready


class Simulator:
    def __init__(self, motley):
        self.motley = motley

    def call(self, *arguments, fails=False):
        done = subprocess.run([self.motley, *map(str, arguments)], capture_output=True, text=True)
        if (done.returncode != 0) != fails:
            sys.exit(f"{self.motley} {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def summary(self, job):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "job.toml"
            path.write_text(toml_of(job))
            return json.loads(self.call("simulate", path, "--out", f"{folder}/run", "--json",
                                        "--no-trace"))


def job_of(scenario):
    """The job of a scenario, without its variants."""
    job = tomllib.loads(pathlib.Path(scenario).read_text())
    job.pop("variant", None)
    return job


def toml_of(job, table=""):
    """Enough of TOML for a job file."""
    plain = {key: value for key, value in job.items() if not isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in plain.items()
             if not (isinstance(value, list) and value and isinstance(value[0], dict))]
    text = (f"[{table}]\n" if table else "") + "\n".join(lines) + "\n"
    for key, value in plain.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for each in value:
                text += toml_of(each, f"[{table}.{key}]")
    for key, value in job.items():
        if isinstance(value, dict):
            text += toml_of(value, f"{table}.{key}" if table else key)
    return text


class RestartedRun:
    """One run that is restarted at every loss, for so many seconds."""

    def __init__(self, simulator, job, machines, restarting):
        self.simulator, self.machines, self.restarting = simulator, machines, restarting
        cluster = {**job["cluster"], "elastic": False, "respawn": 0}
        cluster.pop("churn", None)
        self.job = {**job, "strategy": {"sync": "all_reduce"}, "cluster": cluster}
        self.seconds_of_a_step = self._seconds_of_a_step()
        self.saved = 0, 0.0  # steps and training seconds of the last checkpoint
        self.restarts = 0

    def goodput(self, window):
        """Samples that the model has learnt by then, per second."""
        every = max(1, round(self.restarting.interval / self.seconds_of_a_step))
        begin = 0.0
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            while begin < window:
                team = self.machines.at(begin)
                end = self.machines.next_end(begin, team, self.restarting.newcomers_wait)
                is_last = end is None or end >= window
                samples = self._stretch(team, (window if is_last else end) - begin, every)
                if is_last:
                    return samples / window
                self.restarts += 1
                begin = self.machines.ready(end, self.restarting.restart)
            return self.saved[0] * self.job["train"]["batch"] / window

    def _seconds_of_a_step(self):
        return self.simulator.summary(self._job(self.machines.first, steps=20))["seconds"] / 20

    def _job(self, team, steps=MANY_STEPS, checkpoint_every=0, end=None):
        train = {**self.job["train"], "steps": steps, "checkpoint_every": checkpoint_every}
        speeds = [self.job["cluster"]["speeds"][worker] for worker in sorted(team)]
        cluster = {**self.job["cluster"], "workers": len(team), "speeds": speeds}
        if end is not None:
            cluster["event"] = [{"at": end, "kind": "dies", "worker": 0}]
        return {**self.job, "train": train, "cluster": cluster}

    def _note_saved(self, run):
        newest = max((int(each.name) for each in run.glob("checkpoints/*")), default=0)
        if newest > self.saved[0]:
            state = json.loads(self.simulator.call("state", run, "--json"))
            self.saved = state["step"], state["seconds"]

    def _stretch(self, team, seconds, every):
        """Samples at its end, as far as they were computed, saved or not."""
        steps, before = self.saved
        if not team:
            return steps * self.job["train"]["batch"]
        path, run = self.folder / "job.toml", self.folder / "run"
        path.write_text(toml_of(self._job(team, checkpoint_every=every, end=before + seconds)))
        where = ("--resume", run) if steps else ("--out", run)
        self.simulator.call("simulate", path, *where, "--quiet", "--no-trace", fails=True)
        self._note_saved(run)
        return json.loads((run / "record.json").read_text())["samples"]


METHODS = {
    "adsp": {"sync": "adsp"},
    "all_reduce, adaptive": {"sync": "all_reduce", "allocation": "adaptive"},
    "all_reduce, equal shares": {"sync": "all_reduce"},
}


def going_on(simulator, job, name, seconds):
    """The summary of a run of METHODS that goes on after losses, for about so many seconds."""
    def run(steps):
        return simulator.summary({**job, "train": {**job["train"], "steps": int(steps)},
                                  "strategy": {**job["strategy"], **METHODS[name]}})
    tried = run(100)
    return run(1.1 * seconds * tried["samples_per_second"] / job["train"]["batch"])


def print_table(simulator, job, window, machines, elastic):
    rate = {name: each["samples_per_second"] for name, each in elastic.items()}
    print("| goes on | samples/s | efficiency |\n| --- | --- | --- |")
    for name, value in rate.items():
        print(f"| {name} | {value:.0f} | {100 * elastic[name]['efficiency']:.0f} % |")
    print("\n| a checkpoint every | a restart takes | newcomers | restarts | samples/s | "
          "adaptive | equal shares |\n| --- | --- | --- | --- | --- | --- | --- |")
    for wait, interval, restart in itertools.product((False, True), (10, 60, 300, 600),
                                                     (10, 30, 60)):
        run = RestartedRun(simulator, job, machines, Restarting(restart, interval, wait))
        goodput = run.goodput(window)
        times = [f"{rate[name] / goodput:.1f}x" if goodput > 0 else "-"
                 for name in ("all_reduce, adaptive", "all_reduce, equal shares")]
        print(f"| {interval} s | {restart} s | {'wait' if wait else 'restart it'} | "
              f"{run.restarts} | {goodput:.0f} | {times[0]} | {times[1]} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--motley", default=ROOT / "build" / "motley", type=pathlib.Path)
    parser.add_argument("--scenario", default=ROOT / "scenarios" / "spot.toml", type=pathlib.Path)
    parser.add_argument("--seconds", default=960, type=float, help="of the run (%(default)g)")
    given = parser.parse_args()
    simulator, job = Simulator(given.motley), job_of(given.scenario)
    elastic = {name: going_on(simulator, job, name, given.seconds) for name in METHODS}
    machines = Machines.of(elastic["all_reduce, adaptive"]["members"])
    losses = sum(1 for at, _, joins in machines.events if not joins and at < given.seconds)
    print(f"{losses} losses in {given.seconds:g} s\n")
    print_table(simulator, job, given.seconds, machines, elastic)


if __name__ == "__main__":
    main()
