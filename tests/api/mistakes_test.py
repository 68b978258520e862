"""What users do to a model and its optimizer around a trainer is right on every rank, or refused by name.

usage: mistakes_test.py MOTLEY MISTAKES
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MOTLEY, MISTAKES = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
TOGETHER = ["all_reduce", "ps_bsp"]
METHODS = TOGETHER + ["local_sgd", "partial_reduce"]


class Mistakes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def launch(self, ranks, *arguments, code=0):
        command = [MOTLEY, "launch", "-n", ranks, "--", MISTAKES, *arguments]
        done = subprocess.run([str(word) for word in command], cwd=self.scratch, text=True,
                              capture_output=True, timeout=100)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def ends(self, ranks, *arguments):
        """What each rank prints at the end, by rank; it is the same on all."""
        done = self.launch(ranks, *arguments)
        said = sorted((json.loads(line) for line in re.findall(r"\{.*\}", done.stdout)), key=lambda one: one["rank"])
        self.assertEqual([one.pop("rank") for one in said], list(range(ranks)), done.stdout)
        self.assertEqual(said, [said[0]] * ranks)
        return said[0], done.stderr

    def refused(self, ranks, *arguments):
        return self.launch(ranks, *arguments, code=1).stderr

    def expect_as_alone(self, end, alone, sync):
        if sync in TOGETHER:
            for key in alone:
                self.assertAlmostEqual(end[key], alone[key], delta=1e-5 * abs(alone[key]), msg=key)

    # All ranks end with one model and one optimizer. Where they step together it is that of one process.
    def test_what_is_loaded_after_the_trainer_was_made_is_trained(self):
        alone, _ = self.ends(1, "load")
        for sync in ["all_reduce", "partial_reduce"]:
            with self.subTest(sync=sync):
                end, _ = self.ends(3, "load", "--rank", "0", "--motley-set", f"strategy.sync={sync}")
                self.expect_as_alone(end, alone, sync)

    # Every rank begins with another model, also another frozen layer. Rank 0 has taken steps with Adam before.
    def test_all_ranks_begin_with_the_optimizer_of_rank_zero(self):
        alone, _ = self.ends(1, "adam")
        for sync in METHODS:
            with self.subTest(sync=sync):
                end, _ = self.ends(3, "adam", "--rank", "0", "--motley-set", f"strategy.sync={sync}")
                self.expect_as_alone(end, alone, sync)

    # Nor what another rank loads. Weight decay would move the parameters that nobody uses.
    def test_what_another_rank_remembers_does_not_count(self):
        alone, _ = self.ends(1)
        self.assertNotAlmostEqual(alone["adam"], self.ends(1, "adam")[0]["adam"], places=3)
        for what, more in [("load", []), ("adam", ["train.micro_batch=2"]), ("adam", ["strategy.codec=fp16"])]:
            with self.subTest(what=what, more=more):
                flags = [word for setting in more for word in ("--motley-set", setting)]
                end, _ = self.ends(2, what, "--rank", "1", *flags)
                self.assertEqual(end["unused"], alone["unused"])
                self.assertEqual(end["frozen"], alone["frozen"])
                if "strategy.codec=fp16" not in more:
                    self.expect_as_alone(end, alone, "all_reduce")

    def test_one_trainer_after_the_other_trains_what_each_finds(self):
        alone, _ = self.ends(1, "phases")
        self.assertNotAlmostEqual(alone["frozen"], self.ends(1)[0]["frozen"], places=3)
        for sync in ["all_reduce", "partial_reduce"]:
            with self.subTest(sync=sync):
                end, _ = self.ends(2, "phases", "--motley-set", f"strategy.sync={sync}")
                self.expect_as_alone(end, alone, sync)

    def test_what_would_part_the_ranks_is_refused_by_name(self):
        for what, said in [
            ("load-late", "parameter frozen.weight|parameter body.weight was given other memory during the run"),
            ("unfreeze", "parameter frozen.weight is to be trained now, but a trainer"),
            ("grow", "the optimizer has a new group 1 of 1 parameters, but a trainer"),
            ("step", r"parameter body.weight was changed between begin\(\) and finish\(\)"),
            ("no-backward", r"no parameter has got a gradient: call loss.backward\(\) before finish\(\)"),
            ("late-hook", r"on_step\(\) called after the first begin\(\)"),
        ]:
            with self.subTest(what=what):
                self.assertRegex(self.refused(2, what, "--rank", "1"), said)

    def test_settings_of_the_optimizer_that_differ_are_refused(self):
        self.assertRegex(self.refused(2, "decay", "--rank", "1"),
                         r"optimizer\.group0\.weight_decay is 0\.2 for rank 1 \(.*\), 0\.1 for rank 0 \(")

    # The gradient of NaN makes all models NaN, and then every rank says so.
    def test_what_may_be_right_is_said_once(self):
        for what, said in [("nan", "the loss is nan in step 4 of rank 1"),
                           ("clamp", "the program has changed parameter body.weight between two steps")]:
            with self.subTest(what=what):
                stderr = self.launch(2, what, "--rank", "1").stderr
                self.assertIn(f"[rank 1] motley: warning: {said}", stderr)
                self.assertEqual(stderr.count("[rank 1] motley: warning: "), 1, stderr)
                self.assertLessEqual(stderr.count("[rank 0] motley: warning: the loss"), 1, stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
