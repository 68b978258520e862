"""Links between hosts (hosts.py) are cut while a run goes on. If packets vanish for less than a heartbeat, nothing is
lost; if for longer, one worker, which comes back by itself.
usage: cut_runs_test.py MOTLEY TOY_PROGRAM [--all [METHOD...]]     --all: every case, as a table; some ten minutes
exit code: 77: not permitted to create networks"""

import os
import signal
import sys
import time
import unittest

import hosts
from cut_runs import PATIENCE, LaunchRun, TrainRun

MOTLEY, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
METHODS = ("all_reduce", "ad_psgd", "hop", "ps_ssp", "partial_reduce")
HEARTBEAT = 5  # of the table
SPARE = 2  # seconds; on a busy machine


def check(holds, what, run):
    if not holds:
        raise AssertionError(f"{what}\n{run.everything()}\n{run.summary}")


def cut_for(run, link, seconds):
    """Returns how long the run stood still, and how long nothing was on the terminal."""
    run.await_whole()
    begin = time.monotonic()
    run.cut(*link)
    time.sleep(seconds)
    run.mend(*link)
    run.await_whole()
    end = time.monotonic()
    run.stop()
    return run.standstill(begin, end), run.silence(begin, end)


def stop_for(run, process, seconds):
    run.await_whole()
    begin = time.monotonic()
    process.popen.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.popen.send_signal(signal.SIGCONT)
    run.await_whole()
    end = time.monotonic()
    run.stop()
    return run.standstill(begin, end), run.silence(begin, end)


def stop_in(run, link):
    """Asks the run to end while a link is cut, and does not mend it. Returns how long it took."""
    run.await_whole()
    run.cut(*link)
    time.sleep(1)
    took = run.stop()
    check(os.path.exists(run.path("out/model.pt")), "no model", run)
    return took


def check_lost(run, at_most):
    check(len(run.lost()) <= at_most, f"lost: {run.stays()}", run)
    if at_most == 0:
        check(run.summary["terms"] == 1, "more than one term", run)
        check(run.summary["samples_redealt"] == 0 and run.summary["updates_lost"] == 0, "lost work", run)


class CutRuns(unittest.TestCase):
    def test_a_short_cut_loses_nothing(self):
        with TrainRun(MOTLEY, "all_reduce", heartbeat=4) as run:
            run.await_whole()
            for link in (run.TO_COORDINATOR, run.BETWEEN_WORKERS):
                run.cut(*link)
                time.sleep(2)
                run.mend(*link)
                run.await_progress()
            run.stop()
            check_lost(run, 0)

    def test_the_others_go_on_while_a_link_is_cut(self):
        with TrainRun(MOTLEY, "all_reduce", heartbeat=2) as run:
            run.await_whole()
            run.cut(*run.BETWEEN_WORKERS)
            run.await_that("worker 2 is gone", lambda: run.present() == [0, 1])
            run.await_progress(5000)
            self.assertEqual(run.present(), [0, 1], run.everything())
            run.mend(*run.BETWEEN_WORKERS)
            run.await_whole()
            run.stop()
            self.assertEqual(run.lost(), [2], run.everything())
            self.assertIn("they do not reach each other", run.first.err.text())


def case(name, make, act, judge):
    try:
        with make() as run:
            figures = act(run)
            judge(run, figures)
            said = ", ".join(f"{figure:.1f} s" for figure in figures) if isinstance(figures, tuple) else f"{figures:.1f} s"
            print(f"| {name} | {said} | {len(run.lost())} | {run.summary['terms']} |", flush=True)
            return True
    except AssertionError as error:
        print(f"| {name} | FAILED: {error}", flush=True)
        return False


def all_cases(methods):
    print("| method, case | standstill, silence of the terminal | workers lost | terms |\n| --- | --- | --- | --- |")
    for method in methods:
        for kind, make in (("train", lambda: TrainRun(MOTLEY, method, HEARTBEAT)),
                           ("launch", lambda: LaunchRun(MOTLEY, PROGRAM, method, HEARTBEAT))):
            for where in ("TO_COORDINATOR", "BETWEEN_WORKERS"):
                for seconds in (1, 3, 4.5, 10, 30):
                    def judge(run, figures, kind=kind, seconds=seconds):
                        check_lost(run, 0 if seconds < HEARTBEAT else 1)
                        check(figures[0] < 2 * HEARTBEAT + SPARE, f"stood still for {figures[0]:.1f} s", run)
                        check(kind == "launch" or figures[1] < 2 * HEARTBEAT, f"silent for {figures[1]:.1f} s", run)
                    yield case(f"{method}, {kind}, {where.lower().replace('_', ' ')}, {seconds:g} s", make,
                               lambda run, where=where, seconds=seconds: cut_for(run, getattr(run, where), seconds),
                               judge)
        train = lambda: TrainRun(MOTLEY, method, HEARTBEAT)
        yield case(f"{method}, SIGTERM while a link between workers is cut", train,
                   lambda run: stop_in(run, run.BETWEEN_WORKERS),
                   lambda run, took: check(took < 4 * HEARTBEAT, f"took {took:.1f} s", run))
        yield case(f"{method}, coordinator stopped for 11 s", train, lambda run: stop_for(run, run.first, 11),
                   lambda run, _: check_lost(run, 0))


if __name__ == "__main__":
    if why := hosts.why_not():
        print(f"skipped: {why}")
        sys.exit(hosts.SKIPPED)
    if sys.argv[3:4] == ["--all"]:
        sys.exit(0 if all(list(all_cases(sys.argv[4:] or METHODS))) else 1)
    unittest.main(argv=sys.argv[:1])
