"""Runs on several hosts (hosts.py) equal those on one machine; a slow link and a lost host are noticed.
usage: hosts_test.py MOTLEY EXAMPLE TOY_PROGRAM      exit code 77: not permitted to create networks"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import hosts
from ranks import PATIENCE, Ranks, environment

MOTLEY, EXAMPLE, PROGRAM = sys.argv[1:4]
WORKERS = 3
PORT = "29500"
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

# 394,634 parameters: 1.6 MB in each direction of every step, which a slow link shows.
JOB = f"""
[model]
kind = "mlp"
[data]
kind = "synthetic"
samples = 480
test_samples = 100
features = 3072
[train]
batch = 96
steps = 6
eval_every = 0
[cluster]
workers = {WORKERS}
"""


class SeveralHosts(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.hosts = self.enterContext(hosts.Hosts(1 + WORKERS))

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, host, *command):
        return self.hosts.start(host, *command, **PIPES, cwd=self.directory,
                                env=environment(MOTLEY_TOKEN="of all hosts"))

    def train(self, out, *flags, rendezvous="", workers=0):
        """Runs `motley train` on host 0 and workers on the others; returns the summary."""
        with open(self.path("job.toml"), "w", encoding="utf-8") as file:
            file.write(JOB)
        running = [self.start(0, MOTLEY, "train", "job.toml", "--out", out, "--quiet", *flags)]
        running += [self.start(1 + worker, MOTLEY, "worker", "--join", rendezvous) for worker in range(workers)]
        for _, err, code in Ranks.end(*running):
            self.assertEqual(code, 0, err)
        with open(self.path(os.path.join(out, "summary.json")), encoding="utf-8") as file:
            return json.load(file)

    def test_all_reduce_is_the_same_and_a_slow_link_is_seen(self):
        rendezvous = f"{hosts.name(0)}:{PORT}"
        one_machine = self.train("one")
        fast = self.train("fast", "--listen", rendezvous, rendezvous=rendezvous, workers=WORKERS)
        self.hosts.slow_down(2, "100mbit")
        slow = self.train("slow", "--listen", rendezvous, rendezvous=rendezvous, workers=WORKERS)
        self.assertEqual(fast["final_loss"], one_machine["final_loss"])
        self.assertEqual(slow["final_loss"], one_machine["final_loss"])

        def communicating(summary):  # in a ring all workers are as slow as the slowest link
            return min(worker["communicate_seconds"] for worker in summary["per_worker"])

        # 4/3 of 1.6 MB through 12.5 MB/s take 0.17 s.
        self.assertGreater(communicating(slow) / slow["steps"], 0.1)
        self.assertGreater(communicating(slow), 2 * communicating(fast))

    def test_a_server_is_reached_from_everywhere(self):
        flags = ("--set", "strategy.sync=ps_bsp", "--set", "cluster.workers=2")
        rendezvous = f"{hosts.address(0)}:{PORT}"
        many = self.train("many", "--listen", rendezvous, *flags, rendezvous=rendezvous, workers=2)
        self.assertEqual(many["final_loss"], self.train("one", *flags)["final_loss"])

    def launch(self, host, *command):
        return self.start(host, MOTLEY, "launch", "--nnodes", str(WORKERS), "--node-rank", str(host),
                          "--master-addr", hosts.name(0), "--master-port", PORT, "-n", "1", *command)

    # Uses the script of example 05, which every host runs.
    def test_example_01_says_the_same(self):
        alone = subprocess.run([EXAMPLE], **PIPES, env=environment(), timeout=PATIENCE)
        script = pathlib.Path(__file__).resolve().parents[2] / "examples/05_multi_host.sh"
        ends = Ranks.end(*(
            self.start(host, "env", f"MOTLEY={MOTLEY}", f"PORT={PORT}", script, hosts.address(0),
                       str(WORKERS), str(host), EXAMPLE)
            for host in range(WORKERS)))
        self.assertEqual(ends, [(f"[rank 0] {alone.stdout}", "", 0)] + [("", "", 0)] * (WORKERS - 1))

    def test_mpirun(self):
        if not shutil.which("mpirun"):
            self.skipTest("mpirun not installed")
        line = subprocess.run([PROGRAM], **PIPES, env=environment(), timeout=PATIENCE).stdout.splitlines()[-1]
        everywhere = ",".join(map(hosts.name, range(WORKERS)))
        mpirun = self.start(0, "mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent",
                            self.hosts.write_shell(self.path("shell")), "-H", everywhere,
                            "-x", f"MASTER_ADDR={hosts.name(0)}", PROGRAM)
        (out, err, code), = Ranks.end(mpirun)
        self.assertEqual((sorted(out.splitlines()), code), ([line] + ["training"] * WORKERS, 0), err)

    def test_a_host_that_goes_away_is_named(self):
        flags = ("--steps", "1000000000", "--motley-set", "cluster.heartbeat=2",
                 "--motley-set", "cluster.elastic=false")
        running = [self.launch(host, PROGRAM, *flags) for host in range(WORKERS)]
        for rank, process in enumerate(running):
            self.assertEqual(process.stdout.readline(), f"[rank {rank}] training\n")
        self.hosts.unplug(2)
        lost = r"worker 2 \(pid \d+ on host2\) gave no sign of life for 2 s"
        whys = [lost, lost, "the coordinator gave no sign of life for 12 s"]
        for rank, (_, err, code) in enumerate(Ranks.end(*running)):
            self.assertEqual(code, 1)
            self.assertRegex(err, rf"(?m)^\[rank {rank}\] motley: rank {rank}: {whys[rank]}$")


if __name__ == "__main__":
    if why := hosts.why_not():
        print(f"skipped: {why}")
        sys.exit(hosts.SKIPPED)
    unittest.main(argv=sys.argv[:1])
