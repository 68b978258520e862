"""Tests what all ranks of a program agree on: weighted steps, learning rates, counts, evaluations, the end.

usage: numbers_test.py MOTLEY NUMBERS
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MOTLEY, NUMBERS = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
UNEVEN = ["--motley-set", "strategy.allocation=static", "--motley-set", "strategy.shares=[1, 2, 7]"]


def method(name):
    return ["--motley-set", f"strategy.sync={name}"]


class Numbers(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def launch(self, ranks, *arguments, code=0):
        done = subprocess.run([MOTLEY, "launch", "-n", str(ranks), "--", NUMBERS, *arguments], cwd=self.scratch,
                              text=True, capture_output=True, timeout=100)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_ranks(self, ranks, *arguments):
        """Returns what each rank prints at the end, by rank."""
        done = self.launch(ranks, *arguments)
        said = [json.loads(line) for line in re.findall(r"\{.*\}", done.stdout)]
        self.assertEqual(len(said), ranks, done.stdout)
        return sorted(said, key=lambda one: one["rank"])

    def difference(self, one, other):
        pairs = zip(one["weight"] + one["bias"], other["weight"] + other["bias"])
        largest = max(abs(value) for value in one["weight"])
        return max(abs(a - b) for a, b in pairs) / largest

    # A sample of which nothing counts has the loss 0 / 0: alone in a share it must not spoil the step.
    def test_weighted_steps_are_those_of_one_rank(self):
        alone = self.run_ranks(1, "--weights", "all")[0]
        for arguments in [UNEVEN, UNEVEN + method("ps_bsp"), ["--motley-set", "train.micro_batch=[7, 3, 1]"]]:
            with self.subTest(arguments=arguments):
                said = self.run_ranks(3, "--weights", "all", *arguments)
                for one in said:
                    self.assertEqual(one["losses"], said[0]["losses"])
                    self.assertLess(self.difference(alone, one), 1e-6)
                    for loss, expected in zip(one["losses"], alone["losses"]):
                        self.assertAlmostEqual(loss, expected, places=5)

    def test_without_weights_they_are_not(self):
        alone = self.run_ranks(1)[0]
        one = self.run_ranks(3, *UNEVEN)[0]
        self.assertTrue(None in one["weight"] or self.difference(alone, one) > 1e-4)  # null: not a number

    # Their own steps, each on a weighted mean.
    def test_every_method_takes_weights(self):
        for sync in ["local_sgd", "hop"]:
            with self.subTest(sync=sync):
                said = self.run_ranks(3, "--weights", "all", *method(sync))
                for one in said:
                    self.assertEqual(one["weight"], said[0]["weight"])
                    self.assertTrue(all(math.isfinite(value) for value in one["weight"]))

    def test_steps_without_weight_are_left_out(self):
        untouched = self.run_ranks(1, "--rate", "0")[0]
        for sync in ["all_reduce", "partial_reduce"]:
            with self.subTest(sync=sync):
                for one in self.run_ranks(2, "--mask-all", "--weights", "all", *method(sync)):
                    self.assertLess(self.difference(untouched, one), 1e-6)
                    self.assertEqual(one["samples"], 400)

    def test_weights_on_some_ranks_only_are_refused(self):
        done = self.launch(2, "--weights", "main", code=1)
        self.assertIn("some ranks gave finish() a weight in this step and others did not", done.stderr)

    # A step on a sum is as much longer as the batch is large.
    def test_a_sum_keeps_the_step_of_the_program(self):
        for sync in ["local_sgd", "partial_reduce"]:
            with self.subTest(sync=sync):
                arguments = ["--steps", "1", "--epochs", "1", *method(sync)]
                mean = self.run_ranks(3, "--reduction", "mean_of_sum", "--rate", "0.2", *arguments)[0]
                whole = self.run_ranks(3, "--reduction", "sum", "--rate", "0.01", *arguments)[0]
                self.assertLess(self.difference(mean, whole), 1e-6)
        alone = self.run_ranks(1, "--reduction", "sum", "--rate", "0.01")[0]
        for one in self.run_ranks(3, "--reduction", "sum", "--rate", "0.01", *UNEVEN):
            self.assertLess(self.difference(alone, one), 1e-6)
            self.assertAlmostEqual(one["losses"][0], alone["losses"][0], places=3)

    # Batches of three samples, the last one of an epoch of one: often some rank has none.
    def test_schedules_count_every_step_on_every_rank(self):
        for sync in ["all_reduce", "local_sgd"]:
            with self.subTest(sync=sync):
                for one in self.run_ranks(3, "--batch", "3", "--steps", "40", "--motley-set", "strategy.shares=[1,1,8]",
                                          "--motley-set", "strategy.allocation=static", *method(sync)):
                    self.assertEqual(one["rates"], [0.1 / 2**step for step in range(one["steps"])])
                    self.assertEqual(one["batches"], list(range(1, one["steps"] + 1)))
                    self.assertEqual(one["steps"], 41)  # 40 * 3 samples, of which an epoch has 100

    def test_evaluations_are_on_epoch_boundaries_and_every_rank_hears_of_them(self):
        for sync in ["all_reduce", "ps_bsp", "partial_reduce"]:
            with self.subTest(sync=sync):
                # The result takes a moment; the run is long enough.
                said = self.run_ranks(3, "--eval-epochs", "5", "--epochs", "100000", "--patience", "3", *method(sync))
                judged = said[0]["judged"]
                for one in said:
                    self.assertEqual([heard[0] for heard in one["heard"]][:3], judged[:3])
                    self.assertEqual([heard[3] for heard in one["heard"]], [heard[3] for heard in said[0]["heard"]])
                    if sync != "partial_reduce":  # together: after the same steps, and the end too
                        self.assertEqual(one["heard"], said[0]["heard"])
                        self.assertEqual([heard[0] for heard in one["heard"]][:3], [500, 1000, 1500])
                        self.assertEqual(one["steps"], one["heard"][2][2] + 1)

    def test_an_evaluation_needs_no_accuracy_and_may_have_other_numbers(self):
        one = self.run_ranks(1, "--no-accuracy", "--eval-epochs", "2", "--motley-out", "out", "--motley-progress")[0]
        self.assertFalse(one["has_accuracy"])
        metrics = [json.loads(line) for line in (self.scratch / "out/metrics.jsonl").read_text().splitlines()]
        self.assertEqual([metric["samples"] for metric in metrics], [200, 400])
        for metric in metrics:
            self.assertIsNone(metric["accuracy"])
            self.assertGreater(metric["metrics"]["weight"], 0)
        done = self.launch(1, "--no-accuracy", "--motley-set", "train.target_accuracy=0.9", code=1)
        self.assertIn("exit code 2", done.stderr)
        self.assertIn("train.target_accuracy is set, but the program's evaluation returns no accuracy", done.stderr)

    def test_a_request_to_stop_takes_effect_at_the_next_step(self):
        for ranks, sync, last in [(1, "all_reduce", 6), (3, "all_reduce", 6), (3, "local_sgd", 8)]:
            with self.subTest(ranks=ranks, sync=sync):
                for one in self.run_ranks(ranks, "--stop", "5", "--stopper", str(ranks - 1), "--epochs", "1000000",
                                          *method(sync)):
                    self.assertEqual(one["steps"], last)
                    self.assertEqual(one["stopped"], "the program")

    def test_at_their_own_pace_it_takes_effect_within_an_iteration(self):
        for ranks, sync in [(1, "ps_asp"), (3, "partial_reduce"), (3, "adsp")]:
            with self.subTest(ranks=ranks, sync=sync):
                said = self.run_ranks(ranks, "--stop", "5", "--stopper", str(ranks - 1), "--epochs", "1000000",
                                      *method(sync))
                self.assertLessEqual(said[-1]["steps"], 5 + 2)
                for one in said:
                    self.assertEqual(one["stopped"], "the program")

    def test_counts_are_sums_over_all_ranks(self):
        for sync in ["all_reduce", "local_sgd", "partial_reduce"]:
            with self.subTest(sync=sync):
                for one in self.run_ranks(3, *UNEVEN, "--weights", "all", *method(sync)):
                    self.assertEqual(one["counts"]["seen"], one["samples"])
                    self.assertEqual(one["counts"]["tokens"], 4 * self.tokens())

    def test_sums_after_a_run_are_over_all_ranks(self):
        for one in self.run_ranks(3, "--sums", "--steps", "2", "--motley-out", "out", "--motley-set", "strategy.sync=hop"):
            self.assertEqual(one["sum"], [4.5, 0.75, 3e9, -6])
            self.assertEqual(one["exact_sum"], 3e9 + 3)

    def tokens(self):
        return sum(sample % 6 + 1 for sample in range(100) if sample % 8)

    def test_a_count_of_another_name_is_an_error(self):
        done = self.launch(1, "--unknown-count", code=1)
        self.assertIn('count("words", ...): no such name in Options::counts, which is [seen, tokens]', done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
