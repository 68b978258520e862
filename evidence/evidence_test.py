"""Tests of scripts/reproduce: a missed promise, a failed run, a target that no run reached."""
import contextlib
import io
import os
import pathlib
import stat
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
os.chdir(HERE.parent)
sys.path.insert(0, str(HERE))

import chart  # noqa: E402
import page  # noqa: E402
import reproduce  # noqa: E402
import scale  # noqa: E402
from claims import Claim, best_to_target, saved_to_target, slowest_per_sample, sooner  # noqa: E402
from experiments import BY_DESIGN, all_experiments  # noqa: E402
from runs import Plan, Run, RunError, Runner  # noqa: E402


def run(time_to_target=None, seconds=1.0, rate=1.0, losses=()):
    summary = {"seconds": seconds, "samples_per_second": rate, "time_to_target": time_to_target,
               "final_accuracy": 0.5}
    return Run(summary, [{"seconds": i + 1.0, "train_loss": loss} for i, loss in enumerate(losses)])


def program(directory, text):
    path = pathlib.Path(directory) / "program"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


class Claims(unittest.TestCase):
    def test_a_claim_holds_within_its_bounds(self):
        claim = Claim("plan", "", "", None, "x", least=1, most=2)
        self.assertEqual([claim.holds(v) for v in (0.9, 1, 2, 2.1, None)],
                         [False, True, True, False, False])
        self.assertTrue(Claim("plan", "", "", None, "x").holds(None))

    def test_targets_that_were_not_reached_are_no_figure(self):
        runs = {"a": run(4), "b": run(2), "never": run()}
        self.assertEqual(sooner("b", "a", "never")(runs), 2)
        self.assertIsNone(sooner("never", "a")(runs))
        self.assertIsNone(sooner("a", "never")(runs))
        self.assertEqual(saved_to_target("a", "b")(runs), 50)
        self.assertIsNone(saved_to_target("a", "never")(runs))
        self.assertEqual(best_to_target("a")(runs), 2)
        self.assertIsNone(best_to_target("never")({"never": run()}))

    def test_what_is_slow_by_design_does_not_count(self):
        runs = {"equal": run(rate=100), "slow": run(rate=80), BY_DESIGN[0]: run(rate=10)}
        self.assertAlmostEqual(slowest_per_sample("equal", BY_DESIGN)(runs), 25)

    def test_the_time_to_a_loss_is_that_of_a_mean_of_evaluations(self):
        one = run(losses=[10, 8, 6, 4, 2, 2, 2, 2, 2, 2])
        self.assertEqual(one.time_to_loss(8), 3)
        self.assertEqual(one.loss_at(0.5), 6)
        self.assertIsNone(one.time_to_loss(1))


class Page(unittest.TestCase):
    def test_a_figure_is_the_mean_with_its_spread(self):
        claim = Claim("plan", "what", "1x", lambda runs: runs, "x", least=2)
        good = page.Measured(claim, {1: 1.0, 2: 3.0, 3: 2.0})
        self.assertEqual(good.row(), "| what | 1x | 2.00x (1.00x .. 3.00x) | at least 2.00x | yes |")
        missed = page.Measured(claim, {1: 1.0, 2: None})
        self.assertFalse(missed.holds)
        self.assertIn("not reached", missed.row())
        self.assertIn("**no**", missed.row())

    def test_a_picture_can_be_drawn_of_poor_runs(self):
        self.assertIn("</svg>", chart.draw({"a": [(1, 0.1), (2, 0.2)]}, least=0.7))


class Plans(unittest.TestCase):
    def test_every_claim_is_of_runs_that_are_made(self):
        for quick in (False, True):
            for experiment in all_experiments(quick):
                for claim in experiment.claims:
                    self.assertIn(claim.plan, experiment.plans)
                for name, plan in experiment.plans.items():
                    variants = plan.names()  # raises for one that the job has not
                    if experiment.picture and experiment.picture[0] == name and not quick:
                        self.assertLessEqual(set(experiment.picture[1]), set(variants))

    def test_an_unknown_variant_is_an_error(self):
        with self.assertRaisesRegex(RunError, "has no variant nobody"):
            Plan("scenarios/homogeneous.toml", (1,), ("nobody",)).names()


class Failures(unittest.TestCase):
    def test_a_run_that_fails_is_an_error(self):
        with tempfile.TemporaryDirectory() as scratch:
            runner = Runner(program(scratch, "echo 'no disk' >&2; exit 1"), pathlib.Path(scratch))
            with self.assertRaisesRegex(RunError, "no disk"):
                runner.run({"p": Plan("scenarios/homogeneous.toml", (1,), ("equal",))})
            with self.assertRaises(RunError):
                scale.measure(runner.motley, True)

    def test_a_miss_is_the_exit_code(self):
        claim = Claim("p", "too slow", "", lambda runs: 1.0, "x", least=2)
        self.assertEqual(self.exit_code_of([page.Measured(claim, {1: {}})]), 1)
        self.assertEqual(self.exit_code_of([page.Measured(Claim("p", "", "", lambda runs: 3.0, "x", least=2), {1: {}})]), 0)

    @staticmethod
    def exit_code_of(rows):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return reproduce.verdict(rows, 0)


if __name__ == "__main__":
    unittest.main()
