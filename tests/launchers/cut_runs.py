"""Real runs between hosts (hosts.py) whose links a test cuts, and what becomes of them.

    with TrainRun(motley, "all_reduce", heartbeat=5) as run:     # or LaunchRun(motley, program, ...)
        run.await_whole()
        run.cut(*run.TO_COORDINATOR)
        run.await_progress()
        run.mend(*run.TO_COORDINATOR)
        run.await_whole()                   # all workers take part, and the run makes progress
        run.stop()                          # in order; then run.summary, run.stays(), ...
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time

import hosts
from ranks import environment

WORKERS = 3
PORT = "29500"
PATIENCE = 90  # seconds, for what usually takes a few
LOOKS = 0.2  # seconds between two looks at a run
SETTINGS = {"cluster.unit": "1e-4", "cluster.overhead": "5e-3", "train.checkpoint_every": "0"}

# Enough parameters for a ring, which uses the links between all workers.
JOB = """
name = "cut"
[model]
kind = "mlp"
[data]
kind = "synthetic"
samples = 480
test_samples = 100
features = 256
[train]
batch = 48
steps = 1000000000
eval_every = 0
"""


class Lines:
    """What a process writes to a pipe, line by line, and when."""

    def __init__(self, pipe):
        self.lines = []  # (moment, text)
        self.reader = threading.Thread(target=self.read, args=(pipe,), daemon=True)
        self.reader.start()

    def read(self, pipe):
        for line in pipe:
            self.lines.append((time.monotonic(), line.rstrip("\n")))

    def text(self):
        return "\n".join(line for _, line in self.lines)


class Process:
    def __init__(self, popen):
        self.popen = popen
        self.out, self.err = Lines(popen.stdout), Lines(popen.stderr)

    def end(self, patience=PATIENCE):
        code = self.popen.wait(patience)
        for lines in (self.out, self.err):
            lines.reader.join(PATIENCE)
        return code


class CutRun:
    """The part of TrainRun and LaunchRun that they share. `first` is the process on whose terminal the run is seen."""

    def __init__(self, motley, method, heartbeat, settings, host_count):
        self.motley = motley
        self.settings = {**SETTINGS, "strategy.sync": method, "cluster.heartbeat": heartbeat, **(settings or {})}
        self.host_count = host_count
        self.stack = contextlib.ExitStack()
        self.looks = []  # (moment, what `motley status` said)
        self.ended = threading.Event()
        self.summary = None

    def __enter__(self):
        with self.stack:
            self.directory = self.stack.enter_context(tempfile.TemporaryDirectory())
            self.hosts = self.stack.enter_context(hosts.Hosts(self.host_count))
            self.processes = self.begin()
            self.first = self.processes[0]
            watcher = threading.Thread(target=self.watch, daemon=True)
            watcher.start()
            self.stack.callback(watcher.join)
            self.stack.callback(self.ended.set)
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, host, *command):
        return Process(self.hosts.start(host, *command, cwd=self.directory, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(MOTLEY_TOKEN="of cut runs")))

    def watch(self):
        command = hosts.in_namespace(self.hosts.hosts[0], [self.motley, "status", "out", "--json"], self.directory)
        while not self.ended.wait(LOOKS):
            looked = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(),
                                    check=False)
            if looked.returncode == 0:
                self.looks.append((time.monotonic(), json.loads(looked.stdout)))

    def everything(self):
        """What all processes have said, for messages of tests."""
        said = [f"process {i}: {each.out.text()}{each.err.text()}" for i, each in enumerate(self.processes)]
        return "\n".join([*said, *(json.dumps(status) for _, status in self.looks[-1:])])

    def await_that(self, what, holds, patience=PATIENCE):
        deadline = time.monotonic() + patience
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {patience} s until {what}\n{self.everything()}")
            time.sleep(LOOKS / 4)

    def samples(self):
        return self.looks[-1][1]["samples"] if self.looks else 0

    def present(self):
        members = self.looks[-1][1]["members"] if self.looks else []
        return sorted(member["worker"] for member in members if member["left"] is None)

    def await_progress(self, samples=500, patience=PATIENCE):
        goal = self.samples() + samples
        self.await_that(f"it has used {samples} more samples", lambda: self.samples() >= goal, patience)

    def await_whole(self, patience=PATIENCE):
        self.await_that("all workers take part", lambda: self.present() == list(range(WORKERS)), patience)
        self.await_progress(patience=patience)

    def cut(self, one, other):
        self.hosts.cut(one, other)

    def mend(self, one, other):
        self.hosts.mend(one, other)

    def stop(self, patience=PATIENCE):
        """Ends the run in order. Returns how long that took."""
        asked = time.monotonic()
        expected = self.ask_to_stop()
        try:
            code = self.first.end(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run did not end within {patience} s\n{self.everything()}") from None
        took = time.monotonic() - asked
        self.ended.set()
        assert code == expected, f"exit code {code}\n{self.everything()}"
        with open(self.path("out/summary.json"), encoding="utf-8") as file:
            self.summary = json.load(file)
        return took

    def stays(self):
        """[(worker, why it left or None), ...], in the order of joining."""
        return [(member["worker"], member["why"] if member["left"] is not None else None)
                for member in self.summary["members"] if "worker" in member]

    def lost(self):
        return [worker for worker, why in self.stays() if why is not None]

    def silence(self, begin, end):
        """The longest time in between in which nothing was written to the terminal."""
        moments = [begin, *(at for at, _ in self.first.err.lines if begin < at < end), end]
        return max(after - before for before, after in zip(moments, moments[1:]))

    def standstill(self, begin, end):
        """The longest time in between without progress, as `motley status` says."""
        longest, last, since = 0, None, begin
        for at, status in self.looks:
            if begin <= at <= end:
                if status["samples"] != last:
                    last, since = status["samples"], at
                longest = max(longest, at - since)
        return longest


class TrainRun(CutRun):
    """`motley train --listen` on host 0, and worker i on host i + 1."""
    TO_COORDINATOR = (0, 3)
    BETWEEN_WORKERS = (2, 3)

    def __init__(self, motley, method, heartbeat, settings=None):
        super().__init__(motley, method, heartbeat, settings, 1 + WORKERS)

    def begin(self):
        with open(self.path("job.toml"), "w", encoding="utf-8") as file:
            file.write(JOB)
        there = f"{hosts.address(0)}:{PORT}"
        flags = [word for name, value in {**self.settings, "cluster.workers": WORKERS}.items()
                 for word in ("--set", f"{name}={value}")]
        train = self.start(0, self.motley, "train", "job.toml", "--out", "out", "--listen", there, *flags)
        return [train, *(self.start(1 + worker, self.motley, "worker", "--join", there, "--rank", str(worker))
                         for worker in range(WORKERS))]

    def ask_to_stop(self):
        self.first.popen.send_signal(signal.SIGTERM)
        return 128 + signal.SIGTERM


class LaunchRun(CutRun):
    """A program under `motley launch`, with rank i on host i. The coordinator is in the process of rank 0."""
    TO_COORDINATOR = (0, 2)
    BETWEEN_WORKERS = (1, 2)

    def __init__(self, motley, program, method, heartbeat, settings=None):
        super().__init__(motley, method, heartbeat, settings, WORKERS)
        self.program = program

    def begin(self):
        flags = [word for name, value in self.settings.items() for word in ("--motley-set", f"{name}={value}")]
        return [self.start(host, self.motley, "launch", "--nnodes", str(WORKERS), "--node-rank", str(host),
                           "--master-addr", hosts.name(0), "--master-port", PORT, "-n", "1", self.program,
                           "--steps", "1000000000", "--features", "20000", "--stop-file", self.path("stop"),
                           "--motley-out", self.path("out"), *flags)
                for host in range(WORKERS)]

    def ask_to_stop(self):
        with open(self.path("stop"), "w", encoding="utf-8"):
            return 0
