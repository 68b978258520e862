"""Real runs over links of 100 Mbit between hosts (hosts.py) take as long as `motley simulate` says, with the links
that `motley calibrate --listen` measured.
usage: links_test.py MOTLEY [--full [--workers N ...] [--methods NAME ...] [--repeats N] [--queue TIME]
                      [--congestion ALGORITHM]]
    --full         all methods, 4 and 8 workers, as a table in Markdown
    --queue        a packet that would wait for longer in front of a link is lost (50ms)
    --congestion   how connections share links: cubic, bbr ... (that of this machine)
exit code: 77: not permitted to create networks"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import tomllib
import unittest

import hosts
from ranks import environment
from slurm import SIGNALS

PORT = "29500"
RATE = "100mbit"
BURST = "16kb"  # at full speed, of a model of 1 MB
PATIENCE = 300  # seconds for one run
ATTEMPTS = 3
MOST_MISSED = 0.05  # of a worker's steps; in a run with more, the machine was too busy
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

# A model of 1 MB (262,150 parameters) that next to nothing is computed for: a step is nearly all sending.
JOB = """
[model]
kind = "svm"
[data]
kind = "synthetic"
samples = 64
test_samples = 10
features = 26214
classes = 10
[train]
batch = {workers}
steps = {steps}
eval_every = 0
lr = 0.001
momentum = 0
[strategy]
sync = "{sync}"
[cluster]
workers = {workers}
unit = 20e-3
"""

# How far real seconds may be from simulated ones, and how many steps take a few seconds.
METHODS = {
    "ps_bsp": (0.10, 12),
    "ps_asp": (0.10, 32),
    "ashl": (0.10, 120),
    "all_reduce": (0.10, 30),
    "partial_reduce": (0.10, 60),
    "hop": (0.15, 40),
    "ad_psgd": (0.15, 100),
}
# ashl plans by what it measures in its first three iterations, so one run says little.
MORE_RUNS = {"ashl": 3}
QUICK = ("ps_bsp", "all_reduce", "hop")
# The links of servers are keys only of methods that have servers.
WITH_SERVERS = ("ps_bsp", "ps_asp", "ashl")


class ShapedCluster:
    """A host for the coordinator and its servers, and one for each worker; every link has the same rate both ways."""

    def __init__(self, motley, workers, queue="50ms", congestion=None):
        self.motley = motley
        self.queue = queue
        self.congestion = congestion
        self.workers = workers
        self.hosts = hosts.Hosts(1 + workers)
        self.directory = tempfile.TemporaryDirectory()
        self.runs = 0

    def __enter__(self):
        self.hosts.__enter__()
        self.hosts.enlarge_packets()
        if self.congestion:
            self.hosts.control_congestion(self.congestion)
        for host in range(1 + self.workers):
            self.hosts.slow_down(host, RATE, BURST, self.queue)
        return self

    def __exit__(self, *exception):
        self.hosts.__exit__(*exception)
        self.directory.cleanup()

    def job(self, sync, steps):
        path = os.path.join(self.directory.name, f"{sync}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(JOB.format(sync=sync, steps=steps, workers=self.workers))
        return path

    def start(self, host, *command):
        return self.hosts.start(host, self.motley, *command, **PIPES, cwd=self.directory.name,
                                env=environment(MOTLEY_TOKEN="of all hosts"))

    def join(self, command, job, *flags):
        """Runs a command that listens on host 0, with a worker on each other host; returns what it printed."""
        place = f"{hosts.address(0)}:{PORT}"
        first = self.start(0, command, job, "--listen", place, *flags)
        workers = [self.start(1 + worker, "worker", "--join", place, "--rank", str(worker))
                   for worker in range(self.workers)]
        out, err = first.communicate(timeout=PATIENCE)
        for each in workers:
            _, its_err = each.communicate(timeout=PATIENCE)
            if each.returncode:
                err += its_err
        if first.returncode or any(each.returncode for each in workers):
            raise RuntimeError(f"motley {command}: {err}")
        return out

    def out(self):
        self.runs += 1
        return ["--quiet", "--json", "--out", os.path.join(self.directory.name, f"run{self.runs}")]

    def calibrate(self):
        """The keys of [cluster] that `motley calibrate` found."""
        return tomllib.loads(self.join("calibrate", self.job("ps_bsp", 1)))["cluster"]

    def train(self, sync, steps, seed=1):
        return json.loads(self.join("train", self.job(sync, steps), f"--set=seed={seed}", *self.out()))

    def simulate(self, sync, steps, links, seed=1):
        chosen = [f"--set=cluster.{key}={json.dumps(value)}" for key, value in links.items()
                  if sync in WITH_SERVERS or not key.startswith("server")]
        done = subprocess.run([self.motley, "simulate", self.job(sync, steps), f"--set=seed={seed}", *self.out(), *chosen],
                              **PIPES, timeout=PATIENCE, check=False)
        if done.returncode:
            raise RuntimeError(f"motley simulate: {done.stderr}")
        return json.loads(done.stdout)


def missed(summary):
    """The largest part of a worker's steps that took longer to compute than they should."""
    return max(worker.get("pace_missed") or 0 for worker in summary["per_worker"])


def milliseconds(summary):
    return 1e3 * summary["seconds"] / summary["steps"]


def compare(cluster, sync, links, seed=1):
    """Milliseconds a step, real and simulated."""
    steps = METHODS[sync][1]
    real = cluster.train(sync, steps, seed)
    return {"real": milliseconds(real), "simulated": milliseconds(cluster.simulate(sync, steps, links, seed)),
            "missed": missed(real)}


def row(cluster, sync, links, repeats):
    """The mean of several runs, each with a seed of its own; runs that could not hold their pace do not count."""
    runs = [compare(cluster, sync, links, 1 + repeat) for repeat in range(repeats)]
    held = [run for run in runs if run["missed"] <= MOST_MISSED]
    good = held or runs
    real = statistics.mean(run["real"] for run in good)
    simulated = statistics.mean(run["simulated"] for run in runs)
    every = ", ".join(f"{run['real']:.0f}" for run in good)
    return (f"| {sync} | {cluster.workers} | {real:.1f} | {simulated:.1f} | {real / simulated:.3f} | {every}"
            f"{'' if held else ' (all missed their pace)'} |")


def note_lost_packets(cluster, sync, before):
    """Of the host of the coordinator and the server."""
    out, back = (now - then for now, then in zip(cluster.hosts.lost_packets(0), before))
    print(f"{sync}, {cluster.workers} workers: lost packets from the server: {out}, to it: {back}",
          file=sys.stderr, flush=True)


def table(motley, sizes, methods, repeats, *network):
    print("| method | workers | real | simulated | real / simulated | each real run |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for workers in sizes:
        with ShapedCluster(motley, workers, *network) as cluster:
            links = cluster.calibrate()
            print(f"{workers} workers: {links}", file=sys.stderr)
            for sync in methods:
                before = cluster.hosts.lost_packets(0)
                print(row(cluster, sync, links, repeats * MORE_RUNS.get(sync, 1)), flush=True)
                note_lost_packets(cluster, sync, before)


class RealAndSimulated(unittest.TestCase):
    def test_methods_take_as_long_as_simulated(self):
        with ShapedCluster(ARGUMENTS.motley, 4) as cluster:
            links = cluster.calibrate()
            for sync in QUICK:
                with self.subTest(sync=sync, links=links):
                    self.assert_agrees(cluster, sync, links)

    # A busy machine makes a real run slower, never faster.
    def assert_agrees(self, cluster, sync, links):
        ratios = []
        for attempt in range(ATTEMPTS):
            found = compare(cluster, sync, links, 1 + attempt)
            ratios.append(found["real"] / found["simulated"])
            if abs(ratios[-1] - 1) <= METHODS[sync][0]:
                return
        self.fail(f"real / simulated: {ratios}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("motley", type=os.path.abspath)  # it is started in other directories
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--workers", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queue", default="50ms")
    parser.add_argument("--congestion")
    return parser.parse_args()


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()
    if why := hosts.why_not():
        print(f"skipped: {why}")
        sys.exit(hosts.SKIPPED)
    for number in SIGNALS:  # so that nothing is left behind
        signal.signal(number, signal.default_int_handler)
    if ARGUMENTS.full:
        table(ARGUMENTS.motley, ARGUMENTS.workers, ARGUMENTS.methods, ARGUMENTS.repeats, ARGUMENTS.queue,
              ARGUMENTS.congestion)
    else:
        unittest.main(argv=sys.argv[:1])
