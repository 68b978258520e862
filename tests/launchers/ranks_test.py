"""How a run begins and ends when something is wrong with one of its ranks.
usage: ranks_test.py MOTLEY TOY_PROGRAM"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from ranks import PATIENCE, Ranks, environment

MOTLEY, PROGRAM = sys.argv[1:3]
HOST = socket.gethostname()
ENDLESS = ("--steps", "1000000000")


def name(rank, process):
    return f"rank {rank} (pid {process.pid} on {HOST})"


def last_line(text):
    return text.splitlines()[-1]


def ask(address, **words):
    """Sends one line to the rendezvous as soon as it listens, and returns the answer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection(address) as connection:
                connection.sendall(json.dumps(words).encode() + b"\n")
                return json.loads(connection.makefile().readline())
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "nothing listens"
            time.sleep(0.01)


def first_to_end(*processes):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for place, process in enumerate(processes):
            if process.poll() is not None:
                return process, processes[1 - place]
        time.sleep(0.01)
    raise AssertionError("both are still running")


class Rendezvous(unittest.TestCase):
    def ranks(self, size):
        return self.enterContext(Ranks(size))

    def assert_all_fail(self, ends, words):
        """Asserts that every rank exits with 1 and its last line ends with these words."""
        for rank, (out, err, code) in enumerate(ends):
            self.assertEqual((out, code), ("", 1), err)
            self.assertRegex(last_line(err), f"^motley: rank {rank}: ")
            self.assertTrue(last_line(err).endswith(words), f"{err} and not {words}")

    def test_a_missing_rank_is_named(self):
        without_last, without_first = self.ranks(3), self.ranks(2)
        timeout = ("--motley-join-timeout", "3")
        early = [without_last.start(rank, PROGRAM, *timeout) for rank in range(2)]
        lonely = without_first.start(1, PROGRAM, *timeout)
        self.assert_all_fail(Ranks.end(*early), "timed out after 3 s waiting for rank 2 to join")
        _, err, code = Ranks.end(lonely)[0]
        self.assertEqual((err, code), ("motley: rank 1: timed out after 3 s waiting for rank 0: "
                                       "nothing listens at {}:{}\n".format(*without_first.rendezvous), 1))

    def test_a_signal_ends_the_waiting(self):
        ranks = self.ranks(2)
        first = ranks.start(0, PROGRAM)
        ask(ranks.rendezvous, motley="9.9.9", token="of others")  # it is listening
        first.send_signal(signal.SIGINT)
        self.assert_all_fail(Ranks.end(first), "stopped by SIGINT before all ranks had joined")

    def test_a_signal_ends_the_waiting_for_rank_0(self):
        ranks = self.ranks(2)
        with socket.socket() as silent:  # never answers
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            silent.bind(ranks.rendezvous)
            silent.listen()
            second = ranks.start(1, PROGRAM)
            with silent.accept()[0]:
                second.send_signal(signal.SIGTERM)
                (_, err, code), = Ranks.end(second)
        self.assertEqual((err, code), ("motley: rank 1: stopped by SIGTERM before all ranks had joined\n", 1))

    def test_a_duplicate_rank_is_refused_and_the_run_goes_on(self):
        ranks = self.ranks(3)
        first = ranks.start(0, PROGRAM)
        second, third = first_to_end(ranks.start(1, PROGRAM), ranks.start(1, PROGRAM))
        _, err, code = Ranks.end(second)[0]
        self.assertEqual((err, code), (
            f"motley: rank 1: refused by {name(0, first)}: rank 1 joined twice: first pid {third.pid} on {HOST}, "
            f"now pid {second.pid} on {HOST}\n", 1))
        ends = Ranks.end(first, third, ranks.start(2, PROGRAM))
        self.assertEqual([(err, code) for _, err, code in ends], [("", 0)] * 3)

    def test_a_duplicate_rank_during_training_is_refused(self):
        for elastic in ("false", "true"):
            with self.subTest(elastic=elastic):
                self.refuse_a_duplicate(f"cluster.elastic={elastic}")

    def refuse_a_duplicate(self, setting):
        flags = (*ENDLESS, "--motley-set", setting)
        ranks = self.ranks(2)
        running = [ranks.start(rank, PROGRAM, *flags) for rank in range(2)]
        self.assertEqual([process.stdout.readline() for process in running], ["training\n"] * 2)
        late = ranks.start(1, PROGRAM, *flags, "--motley-join-timeout", "1")
        (_, err, code), = Ranks.end(late)
        twice = (f"motley: rank 1: refused by {name(0, running[0])}: rank 1 joined twice: first pid {running[1].pid} "
                 f"on {HOST}, now pid {late.pid} on {HOST}\n")
        # An elastic run takes it for a rank that was started again, and waits for the end of the first one.
        waits = "motley: rank 1: timed out after 1 s waiting for rank 0: {}:{} does not answer\n"
        self.assertEqual((err, code), (twice if "false" in setting else waits.format(*ranks.rendezvous), 1))
        running[0].send_signal(signal.SIGINT)
        self.assertEqual([code for _, _, code in Ranks.end(*running)], [130, 130])

    def refused(self, difference, *flags):
        """Asserts the message of all ranks when rank 1 of 2 has these flags."""
        ranks = self.ranks(2)
        first, second = ranks.start(0, PROGRAM), ranks.start(1, PROGRAM, *flags)
        theirs, ours = name(1, second), name(0, first)
        self.assert_all_fail(Ranks.end(first, second), difference.format(theirs, ours))

    def test_another_job_is_refused(self):
        self.refused("train.batch is 20 for {}, 50 for {}", "--motley-set", "train.batch=20")

    def test_another_model_is_refused(self):
        self.refused("linear.weight is 1x11 for {}, 1x10 for {}", "--features", "11")

    def test_another_data_set_is_refused(self):
        ranks = self.ranks(2)
        first, second = ranks.start(0, PROGRAM), ranks.start(1, PROGRAM, "--samples", "400")
        self.assert_all_fail(Ranks.end(first, second), f"worker 1 (pid {second.pid} on {HOST}) has 400 "
                                                       "training samples, expected 500")

    def test_another_version_is_refused(self):
        ranks = self.ranks(2)
        first = ranks.start(0, PROGRAM)
        answer = ask(ranks.rendezvous, motley="9.9.9", rank=1, host="elsewhere", pid=77, token=ranks.TOKEN)
        difference = (f"rank 1 (pid 77 on elsewhere) has motley 9.9.9, {name(0, first)} has "
                      f"{answer['motley']}")
        self.assertEqual(answer["refused"], f"refused by {name(0, first)}: {difference}")
        self.assert_all_fail(Ranks.end(first), difference)

    def test_strangers_are_refused_and_the_run_goes_on(self):
        ranks = self.ranks(2)
        first = ranks.start(0, PROGRAM)
        version = ask(ranks.rendezvous, motley="9.9.9", rank=1, token="of others")["motley"]
        answer = ask(ranks.rendezvous, motley=version, rank=1, host="elsewhere", pid=77, token="of others")
        self.assertIn("rank 1 (pid 77 on elsewhere) belongs to another run", answer["refused"])
        self.assertNotIn(ranks.TOKEN, json.dumps(answer))
        ends = Ranks.end(first, ranks.start(1, PROGRAM))
        self.assertEqual([(err, code) for _, err, code in ends], [("", 0)] * 2)


class End(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())

    def launch(self, *arguments):
        process = subprocess.Popen(
            [MOTLEY, "launch", "-n", "3", "--log-dir", self.directory, PROGRAM, *arguments], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.enterContext(process)
        self.addCleanup(process.kill)
        return process

    def log(self, rank):
        with open(os.path.join(self.directory, f"rank_{rank}.log"), encoding="utf-8") as file:
            return file.read()

    def test_all_ranks_and_the_launcher_report_an_exception(self):
        (_, err, code), = Ranks.end(self.launch("--fail-on", "1"))
        self.assertEqual(code, 1)
        pid = re.search(r"\|   first    rank 1 \(host \S+, pid (\d+)\), exit code 1 +\|\n", err)
        self.assertTrue(pid, err)
        self.assertRegex(err, r"\|   why      out of luck +\|\n")
        self.assertRegex(err, r"\|   others   ranks 0, 2: exit code 1 +\|\n")
        self.assertEqual(last_line(self.log(1)), "motley: rank 1: out of luck")
        for rank in (0, 2):
            self.assertEqual(last_line(self.log(rank)), f"motley: rank {rank}: worker 1 (pid {pid[1]} on {HOST}) "
                                                        "failed: out of luck")

    def test_a_rank_that_leaves_too_early_is_named(self):
        (_, err, code), = Ranks.end(self.launch("--leave", "1"))
        self.assertEqual(code, 1)
        self.assertRegex(err, r"\|   first    rank 1 \(host \S+, pid \d+\), exit code 0 +\|\n")
        self.assertIn("why      the program left the training loop early", err)
        self.assertEqual(last_line(self.log(1)), "motley: rank 1: the program left the training loop early")

    def test_a_signal_to_the_launcher_stops_all_in_order(self):
        run = self.launch(*ENDLESS)
        self.assertEqual(sorted(run.stdout.readline() for _ in range(3)),
                         [f"[rank {rank}] training\n" for rank in range(3)])
        run.send_signal(signal.SIGTERM)
        (out, err, code), = Ranks.end(run)
        self.assertEqual((err, code), ("motley: stopped by SIGTERM\n", 143))
        self.assertRegex(out, r"^\[rank 0\] \d+ steps, loss \d+\.\d+, SIGTERM\n$")

    def test_a_signal_to_one_rank_stops_all_in_order(self):
        with Ranks(3) as ranks:
            processes = [ranks.start(rank, PROGRAM, *ENDLESS) for rank in range(3)]
            self.assertEqual([process.stdout.readline() for process in processes], ["training\n"] * 3)
            processes[1].send_signal(signal.SIGINT)
            ends = Ranks.end(*processes)
        self.assertEqual([(err, code) for _, err, code in ends], [("", 130)] * 3)
        self.assertRegex(ends[0][0], r"^\d+ steps, loss \d+\.\d+, SIGINT\n$")

    def test_calibrate_measures_the_workers_that_join(self):
        ranks = self.enterContext(Ranks(2))
        place = "{}:{}".format(*ranks.rendezvous)
        calibrate = ranks.start(0, MOTLEY, "calibrate", "--set", "cluster.workers=2", "--json", "--listen", place)
        workers = [ranks.start(0, MOTLEY, "worker", "--join", place) for _ in range(2)]
        (out, err, code), *others = Ranks.end(calibrate, *workers)
        self.assertEqual((code, others), (0, [("", "", 0)] * 2), err)
        self.assertIn("waiting for 2 workers", err)
        links = json.loads(out)
        self.assertGreater(links["bandwidth"], 1e6)
        self.assertGreater(links["latency"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
