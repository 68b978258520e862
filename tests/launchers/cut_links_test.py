"""A fabric between two hosts (hosts.py) loses nothing while packets vanish for less than its patience, and goes on
soon after; if they vanish for longer, both sides say so. A process that was stopped blames nobody.
usage: cut_links_test.py FABRIC_PAIR [--measure STUCK_AFTER SECONDS...]      prints the gaps for cuts of so many seconds
exit code: 77: not permitted to create networks"""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

import hosts

PAIR = os.path.abspath(sys.argv[1])
PORT = "29600"
PATIENCE = 60
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
STUCK_AFTER = 3  # seconds, for what is lost; on a busy machine, a process may not run for one
# For the replacement of a connection, on a busy machine.
SPARE = 1.5


def cut_link(two, _, seconds):
    two.cut(0, 1)
    time.sleep(seconds)
    two.mend(0, 1)


def stop_first(_, sides, seconds):
    sides[0].send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    sides[0].send_signal(signal.SIGCONT)


def talk(stuck_after, seconds, disturb=cut_link, rest=0.5):
    """What both sides say after so many seconds of a disturbance."""
    with hosts.Hosts(2) as two:
        sides = [two.start(host, PAIR, str(host), hosts.address(host), hosts.address(1 - host), PORT, str(stuck_after),
                           **PIPES) for host in range(2)]
        for word in ("listening", "connected"):
            for side in sides:
                said = side.stdout.readline()
                assert said == word + "\n", said
            if word == "listening":
                for side in sides:
                    side.stdin.write("\n")
                    side.stdin.flush()
        disturb(two, sides, seconds)
        time.sleep(rest)
        for side in sides:
            side.stdin.close()
            side.stdin = None
        return [json.loads(side.communicate(timeout=PATIENCE)[0]) for side in sides]


class CutLinks(unittest.TestCase):
    def assert_nothing_lost(self, side):
        self.assertEqual(side["lost"], "")
        self.assertEqual(side["came"], side["expected"])
        self.assertTrue(side["in_order"])

    def test_a_short_cut_loses_nothing(self):
        for cut in (0.5, 3):
            with self.subTest(cut=cut):
                for side in talk(4, cut):
                    self.assert_nothing_lost(side)
                    self.assertLess(side["gap"], cut + SPARE)

    def test_a_process_that_stops_for_a_short_time_loses_nothing(self):
        for side in talk(4, 3, stop_first):
            self.assert_nothing_lost(side)

    def test_a_process_that_was_stopped_blames_nobody(self):
        stopped, other = talk(STUCK_AFTER, 5, stop_first)
        self.assertEqual(stopped["lost"], "the connection to rank 1 broke: End of file")
        self.assertEqual(other["lost"], f"rank 0 gave no sign of life for {STUCK_AFTER} s")

    def test_a_long_cut_is_a_loss_for_both(self):
        for rank, side in enumerate(talk(STUCK_AFTER, 5)):
            self.assertEqual(side["lost"], f"rank {1 - rank} gave no sign of life for {STUCK_AFTER} s")


if __name__ == "__main__":
    if why := hosts.why_not():
        print(f"skipped: {why}")
        sys.exit(hosts.SKIPPED)
    if sys.argv[2:3] == ["--measure"]:
        for seconds in map(float, sys.argv[4:]):
            print(seconds, *(f"{side['gap']}{' ' + side['lost']}" for side in talk(float(sys.argv[3]), seconds, rest=3)),
                  flush=True)
    else:
        unittest.main(argv=sys.argv[:1])
