"""Ranks of a program that are lost, leave and come back, under `motley launch` and under other launchers.
usage: lost_ranks_test.py MOTLEY TOY_PROGRAM"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import slurm
from ranks import PATIENCE, Ranks, environment, torchrun

MOTLEY, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
KILLED = "was killed by signal 9 (Killed)"


def words_of(pid, name):
    """What /proc says of a process, such as its command line."""
    with contextlib.suppress(OSError):  # it has ended in the meantime
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")
    return []


def process_of(variable, rank, directory):
    """The process of this rank of the run in this directory. The variable is that of its launcher."""
    return next(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if any(directory in word for word in words_of(pid, "cmdline"))
                and f"{variable}={rank}" in words_of(pid, "environ"))


class Program(unittest.TestCase):
    """Runs of the program that a test ends."""

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(self.directory, 0o711)  # munge requires it

    def path(self, name):
        return os.path.join(self.directory, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def start(self, *command, **variables):
        process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(TMPDIR=self.directory, **variables))
        self.enterContext(process)
        self.addCleanup(process.kill)
        return process

    def signal(self, rank, number, variable="RANK"):
        os.kill(process_of(variable, rank, self.path("stop")), number)

    def program(self, *settings):
        """An endless run that end() ends."""
        pairs = [word for setting in settings for word in ("--motley-set", setting)]
        return [PROGRAM, "--steps", "1000000000", "--stop-file", self.path("stop"), "--motley-out", self.path("out"),
                "--motley-set", "cluster.overhead=0.002", "--motley-set", "train.checkpoint_every=0", *pairs]

    def end(self, *runs):
        with open(self.path("stop"), "w", encoding="utf-8"):
            pass
        # What readline() has read ahead would be lost to communicate().
        return [(run.stdout.read(), run.stderr.read(), run.wait(PATIENCE)) for run in runs]

    def evaluations(self):
        with contextlib.suppress(FileNotFoundError):  # there is none yet
            return len(self.read("out/metrics.jsonl").splitlines())
        return 0

    def await_evaluations(self, count):
        deadline = time.monotonic() + PATIENCE
        while self.evaluations() < count:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def members(self):
        """[(worker, why it left), ...], in the order of joining."""
        return [(member["worker"], member["why"] if member["left"] is not None else None)
                for member in json.loads(self.read("out/summary.json"))["members"] if "worker" in member]



class LostRanks(Program):
    def launch(self, *command, flags=("-n", "3"), logs="logs", **variables):
        return self.start(MOTLEY, "launch", *flags, "--log-dir", self.path(logs), *command, **variables)

    def await_training(self, run, *ranks):
        self.assertEqual(sorted(run.stdout.readline() for _ in ranks), [f"[rank {rank}] training\n" for rank in ranks])

    def assert_ended_well(self, run, said):
        (out, err, code), = self.end(run)
        self.assertEqual((err, code), (said, 0))
        self.assertRegex(out, r"^\[rank 0\] \d+ steps, loss \d+\.\d+, the program\n$")

    def test_a_rank_that_is_killed_is_started_again(self):
        run = self.launch(*self.program())
        self.await_training(run, 0, 1, 2)
        self.signal(2, signal.SIGKILL)
        self.await_training(run, 2)
        self.signal(1, signal.SIGKILL)
        self.await_training(run, 1)
        self.signal(2, signal.SIGKILL)
        self.await_training(run, 2)
        first, second = (f"motley: rank 2 {KILLED}; started again ({time} of 3)\n" for time in (1, 2))
        self.assert_ended_well(run, f"{first}motley: rank 1 {KILLED}; started again (1 of 3)\n{second}")
        self.assertEqual([worker for worker, _ in self.members()], [0, 1, 2, 2, 1, 2])
        self.assertEqual([worker for worker, why in self.members() if why is None], [0, 1, 2])
        self.assertEqual(self.read("logs/rank_2.log"), f"training\n{first}training\n{second}training\n")

    def test_the_others_go_on_without_a_rank(self):
        run = self.launch(*self.program("cluster.respawn=0"))
        self.await_training(run, 0, 1, 2)
        self.signal(1, signal.SIGKILL)
        said = f"motley: rank 1 {KILLED}; the others go on without it\n"
        self.assertEqual(run.stderr.readline(), said)
        self.assert_ended_well(run, "")
        (worker, why), = ((worker, why) for worker, why in self.members() if why is not None)
        self.assertEqual(worker, 1)
        self.assertRegex(why, "^is lost: ")

    def test_every_method_goes_on(self):
        for method in ("ps_bsp", "local_sgd", "partial_reduce", "hop", "ad_psgd", "ps_asp", "ashl"):
            with self.subTest(method=method):
                run = self.launch(*self.program(f"strategy.sync={method}"))
                self.await_training(run, 0, 1, 2)
                self.signal(2, signal.SIGKILL)
                self.await_training(run, 2)
                self.assert_ended_well(run, f"motley: rank 2 {KILLED}; started again (1 of 3)\n")
                os.remove(self.path("stop"))

    def test_a_rank_leaves_in_order(self):
        run = self.launch(*self.program())
        self.await_training(run, 0, 1, 2)
        self.signal(1, signal.SIGTERM)
        self.assertEqual(run.stdout.readline(), "[rank 1] left\n")
        self.assertEqual(run.stderr.readline(), "motley: rank 1 has left the run; the others go on\n")
        self.assert_ended_well(run, "")
        self.assertEqual(self.members(), [(0, None), (1, "left"), (2, None)])

    def test_a_rank_that_was_stopped_for_too_long_comes_back(self):
        run = self.launch(*self.program("cluster.heartbeat=1", "train.eval_every=10"))
        self.await_training(run, 0, 1, 2)
        self.await_evaluations(1)
        self.signal(1, signal.SIGSTOP)
        # The others cannot take more than a step with it.
        self.await_evaluations(self.evaluations() + 2)
        self.signal(1, signal.SIGCONT)
        self.assertRegex(run.stderr.readline(), r"^\[rank 1\] motley: rank 1: ")
        self.assertEqual(run.stderr.readline(), "motley: rank 1 exited with code 1; started again (1 of 3)\n")
        self.await_training(run, 1)
        self.assert_ended_well(run, "")

    def test_a_run_that_is_not_elastic_ends(self):
        for number, end in ((signal.SIGKILL, "signal 9 (Killed)"), (signal.SIGTERM, "exit code 143")):
            with self.subTest(signal=number):
                run = self.launch(*self.program("cluster.elastic=false"))
                self.await_training(run, 0, 1, 2)
                self.signal(1, number)
                (_, err, code), = Ranks.end(run)
                self.assertEqual(code, 1)
                self.assertIn(end, err)
                self.assertNotIn("go on", err)
                self.assertNotIn("again", err)

    def test_rank_0_cannot_be_lost(self):
        run = self.launch(*self.program())
        self.await_training(run, 0, 1, 2)
        self.signal(0, signal.SIGKILL)
        (_, err, code), = Ranks.end(run)
        self.assertEqual(code, 1)
        self.assertRegex(err, r"\|   first    rank 0 \(host \S+, pid \d+\), signal 9 \(Killed\) +\|\n")
        self.assertRegex(err, r"\|   others   ranks 1, 2: exit code 1 +\|\n")

    def newcomer(self, script):
        """A run whose rank 2 does this when it is started again, instead of joining."""
        again = self.path("again")
        return self.launch("sh", "-c", f'[ "$RANK" = 2 ] && [ -e {again} ] && {{ {script}; }}; '
                           f'[ "$RANK" = 2 ] && touch {again}; exec "$0" "$@"', *self.program())

    def test_a_rank_that_cannot_join_again_ends_nothing(self):
        for script, code, why in [
                ("exit 3", 3, ""), ('exec "$0" "$@" --samples 400', 1, "has 400 training samples, expected 500"),
                ('exec "$0" "$@" --motley-set train.batch=20', 1, "train.batch is 20 for rank 2")]:
            with self.subTest(script=script):
                run = self.newcomer(script)
                self.await_training(run, 0, 1, 2)
                self.signal(2, signal.SIGKILL)
                self.assertEqual(run.stderr.readline(), f"motley: rank 2 {KILLED}; started again (1 of 3)\n")
                if why:
                    self.assertIn(why, run.stderr.readline())
                self.assertEqual(run.stderr.readline(), f"motley: rank 2 exited with code {code} before it had joined "
                                                        "again; the others go on without it\n")
                self.assert_ended_well(run, "")
                for name in ("stop", "again"):
                    os.remove(self.path(name))

    def test_a_rank_begins_again_with_its_first_run(self):
        """So it cannot come back to a later one."""
        run = self.launch(*self.program(), "--second")
        self.await_training(run, 0, 1, 2)
        self.signal(2, signal.SIGKILL)
        self.assertEqual(run.stderr.readline(), f"motley: rank 2 {KILLED}; the others go on without it\n")
        self.assert_ended_well(run, "")

    def test_a_rank_with_a_server_comes_back_and_leaves(self):
        for method in ("ps_bsp", "ps_asp"):
            with self.subTest(method=method):
                run = self.launch(*self.program(f"strategy.sync={method}", "strategy.ps.servers=2"))
                self.await_training(run, 0, 1, 2)
                self.signal(1, signal.SIGKILL)
                self.await_training(run, 1)
                self.signal(1, signal.SIGTERM)
                self.assertEqual(run.stdout.readline(), "[rank 1] left\n")
                self.assert_ended_well(run, f"motley: rank 1 {KILLED}; started again (1 of 3)\n"
                                       "motley: rank 1 has left the run; the others go on\n")
                os.remove(self.path("stop"))

    def test_a_rank_that_comes_too_late_is_ended(self):
        run = self.newcomer("echo $$; exec sleep 1000")
        self.await_training(run, 0, 1, 2)
        self.signal(2, signal.SIGKILL)
        late = int(run.stdout.readline().split()[-1])
        (_, err, code), = self.end(run)
        self.assertEqual(code, 0, err)
        self.assertFalse(os.path.exists(f"/proc/{late}"))

    def launch_two(self):
        """As on two hosts. Returns the runs, and what starts the second one again."""
        ranks = self.enterContext(Ranks(1))

        def start(node):
            return self.launch(*self.program(), logs=f"logs{node}", MOTLEY_TOKEN="of both", flags=(
                "-n", "2", "--nnodes", "2", "--node-rank", str(node), "--master-addr", ranks.rendezvous[0],
                "--master-port", str(ranks.rendezvous[1])))

        runs = [start(0), start(1)]
        self.await_training(runs[0], 0, 1)
        self.await_training(runs[1], 2, 3)
        return *runs, lambda: start(1)

    def test_the_ranks_of_another_host_come_back_and_leave_with_it(self):
        here, there, _ = self.launch_two()
        self.signal(3, signal.SIGKILL)
        self.await_training(there, 3)
        there.send_signal(signal.SIGTERM)
        (out, err, code), = Ranks.end(there)
        self.assertEqual(sorted(out.splitlines()), ["[rank 2] left", "[rank 3] left"])
        self.assertEqual((err, code), (f"motley: rank 3 {KILLED}; started again (1 of 3)\n"
                                       "motley: stopped by SIGTERM\n", 143))
        self.assert_ended_well(here, "")
        self.assertEqual([worker for worker, why in self.members() if why is None], [0, 1])

    def test_a_host_is_lost_and_comes_back(self):
        here, there, start_again = self.launch_two()
        there.kill()
        there.communicate()
        there = start_again()
        self.await_training(there, 2, 3)
        (out, err, code), = self.end(there)
        self.assertEqual((out, err, code), ("", "", 0))
        self.assert_ended_well(here, "")
        self.assertEqual(sorted(worker for worker, why in self.members() if why is None), [0, 1, 2, 3])


class OtherLaunchers(Program):
    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} not installed")

    def await_training(self, run, size):
        self.assertEqual([run.stdout.readline() for _ in range(size)], ["training\n"] * size)

    def assert_lost(self, *lost):
        self.assertEqual([worker for worker, why in self.members() if why is not None], list(lost))

    def mpirun(self, *flags):
        ranks = self.enterContext(Ranks(3))
        self.rendezvous = {"MASTER_ADDR": ranks.rendezvous[0], "MASTER_PORT": str(ranks.rendezvous[1]),
                           "MOTLEY_TOKEN": "of mpirun"}
        words = [word for name in self.rendezvous for word in ("-x", name)]
        run = self.start("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", *words, *flags,
                         *self.program(), **self.rendezvous)
        self.await_training(run, 3)
        return run

    def test_mpirun_lets_ranks_leave(self):
        self.need("mpirun")
        run = self.mpirun()
        self.signal(1, signal.SIGTERM, "OMPI_COMM_WORLD_RANK")
        self.assertEqual(run.stdout.readline(), "left\n")
        (_, err, code), = self.end(run)
        self.assertEqual(code, 0, err)
        self.assert_lost(1)

    def test_mpirun_survives_a_loss_if_it_is_told_to(self):
        self.need("mpirun")
        run = self.mpirun("--enable-recovery")
        self.signal(2, signal.SIGKILL, "OMPI_COMM_WORLD_RANK")
        again = self.start(*self.program(), RANK="2", WORLD_SIZE="3", **self.rendezvous)
        self.await_training(again, 1)
        self.assertEqual([code for _, _, code in self.end(run, again)], [0, 0])
        self.assert_lost(2)
        self.assertEqual(len(self.members()), 4)

    def test_srun(self):
        if why := slurm.why_not():
            self.skipTest(why)
        run = self.start(sys.executable, "-B", slurm.__file__, "--wait=0", *self.program())
        self.await_training(run, slurm.TASKS)
        self.signal(1, signal.SIGTERM, "SLURM_PROCID")
        self.assertEqual(run.stdout.readline(), "left\n")
        self.signal(2, signal.SIGKILL, "SLURM_PROCID")
        (out, err, code), = self.end(run)
        self.assertRegex(out, r"^\d+ steps, loss \S+, the program\n$", err)
        self.assertEqual(code, 128 + signal.SIGKILL, "the highest of all tasks")
        self.assert_lost(1, 2)

    def test_torchrun_ends_all_when_one_is_killed(self):
        self.need("torchrun")
        run = self.start(*torchrun(self.enterContext(Ranks(3)), *self.program()))
        self.await_training(run, 3)
        self.signal(1, signal.SIGTERM)
        self.assertEqual(run.stdout.readline(), "left\n")
        self.signal(2, signal.SIGKILL)
        (out, err, code), = Ranks.end(run)
        self.assertEqual(code, 1, err)
        self.assertRegex(out, r"^\d+ steps, loss \d+\.\d+, SIGTERM\n$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
