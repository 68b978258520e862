"""Tests motley's API with programs that run as the ranks of real runs.

usage: api_test.py MOTLEY LEARNER EXAMPLES_DIR
"""
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MOTLEY, LEARNER, EXAMPLES = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


class Api(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def run_command(self, *command, code=0):
        done = subprocess.run([str(word) for word in command], cwd=self.scratch, text=True,
                              capture_output=True, timeout=100)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def launch(self, ranks, program, *arguments, code=0):
        return self.run_command(MOTLEY, "launch", "-n", ranks, "--", program, *arguments, code=code)

    def learn(self, ranks, *arguments):
        """Returns what each rank prints at the end, by rank."""
        done = self.launch(ranks, LEARNER, *arguments)
        said = [json.loads(line) for line in re.findall(r"\{.*\}", done.stdout)]
        self.assertEqual(len(said), ranks, done.stdout)
        return sorted(said, key=lambda one: one["rank"])

    def test_everything_under_every_method(self):
        for sync in ["all_reduce", "partial_reduce", "hop", "ashl"]:
            with self.subTest(sync=sync):
                said = self.learn(3, "--motley-set", f"strategy.sync={sync}", "--motley-set",
                                  f"train.loader.workers={2 if sync == 'hop' else 0}")
                self.assertGreater(said[0]["accuracy"], 0.9)
                for one in said:
                    # All ranks end with one model, after one schedule, in the mode that the program has set.
                    self.assertEqual(one["samples"], 4500)
                    self.assertEqual(one["parameters"], said[0]["parameters"])
                    self.assertGreater(one["buffers"], 0)
                    self.assertEqual(one["buffers"], said[0]["buffers"])
                    self.assertEqual(one["training"], [1, 0])
                    self.assertEqual(one["epochs"], 3)
                    self.assertAlmostEqual(one["lr"], 0.01 / 4, places=9)  # the first step() does not change it
                    self.assertEqual(one["clipped"], one["steps"])

    # Uneven shares, ranks with different initial models, a loss that is a mean or a sum, a custom
    # loop: the model is always that of one process.
    def test_any_division_gives_the_model_of_one_process(self):
        alone = self.learn(1, "--bare")[0]
        for ranks, arguments in [
            (3, ["--motley-set", "strategy.allocation=static",
                 "--motley-set", "strategy.shares=[1, 2, 7]"]),
            (2, ["--sum", "--loop"]),
            (3, ["--motley-set", "train.micro_batch=[7, 3, 1]"]),
            # Its zero_grad() after begin() must not clear what the parts before have left.
            (2, ["--loop", "--motley-set", "train.micro_batch=[11, 4]"]),
            (2, ["--loop", "--sum", "--motley-set", "train.micro_batch=7"]),
            (2, ["--motley-set", "train.micro_batch=7", "--motley-set", "train.loader.workers=2"]),
        ]:
            with self.subTest(arguments=arguments):
                for one in self.learn(ranks, "--bare", *arguments):
                    self.assertEqual(one["samples"], alone["samples"])
                    self.assertAlmostEqual(one["parameters"] / alone["parameters"], 1, places=5)
                    # A hook is called once a step, not once a part.
                    self.assertEqual(one["steps"], alone["steps"])
                    self.assertEqual(one["clipped"], alone["clipped"])

    def learn_with_a_loss(self, ranks, *arguments):
        """Rank 1 is killed, and the run waits until it has come back."""
        once = self.scratch / f"dead{len(list(self.scratch.iterdir()))}"
        done = self.launch(ranks, LEARNER, "--die", "1", "--once", once, "--motley-out", self.scratch / "out",
                           "--motley-set", f"cluster.min_workers={ranks}", *arguments)
        self.assertEqual(done.stderr, "motley: rank 1 was killed by signal 9 (Killed); started again (1 of 3)\n")
        said = [json.loads(line) for line in re.findall(r"\{.*\}", done.stdout)]
        self.assertEqual(len(said), ranks, done.stdout)
        members = json.loads((self.scratch / "out/summary.json").read_text())["members"]
        self.assertEqual([member["worker"] for member in members if "worker" in member], [*range(ranks), 1])
        return sorted(said, key=lambda one: one["rank"])

    # Everything that training changes has come to the new process: Adam, the schedule, the program's own state, the
    # position. So it makes no difference to what is learnt.
    def test_a_rank_that_is_killed_comes_back_with_everything(self):
        for arguments in [[], ["--loop", "--sum"], ["--motley-set", "train.micro_batch=7"],
                          ["--motley-set", "strategy.sync=ps_bsp"]]:
            with self.subTest(arguments=arguments):
                whole = self.learn(3, "--bare", *arguments)
                for one, other in zip(whole, self.learn_with_a_loss(3, "--bare", *arguments)):
                    self.assertAlmostEqual(one["parameters"] / other["parameters"], 1, places=5)
                    for key in ["samples", "lr", "clipped", "steps", "epochs", "training"]:
                        self.assertEqual(one[key], other[key], key)

    # With BatchNorm and dropout, at their own pace and in step.
    def test_every_kind_of_method_goes_on_with_the_rank_that_was_killed(self):
        for sync in ["all_reduce", "local_sgd", "partial_reduce", "hop", "ps_asp", "ashl"]:
            with self.subTest(sync=sync):
                said = self.learn_with_a_loss(3, "--motley-set", f"strategy.sync={sync}")
                self.assertGreater(said[0]["accuracy"], 0.9)
                for one in said:
                    self.assertEqual(one["samples"], 4500)
                    self.assertEqual(one["parameters"], said[0]["parameters"])
                    self.assertGreater(one["buffers"], 0)
                    self.assertEqual(one["buffers"], said[0]["buffers"])
                    self.assertEqual(one["epochs"], 3)
                    self.assertAlmostEqual(one["lr"], 0.01 / 4, places=9)

    def losses_and_seconds(self, *arguments):
        out = self.scratch / f"run{len(list(self.scratch.iterdir()))}"
        self.learn(2, "--bare", "--motley-out", out, *arguments)
        lines = (out / "metrics.jsonl").read_text().splitlines()
        summary = json.loads((out / "summary.json").read_text())
        return [json.loads(line)["train_loss"] for line in lines], summary["seconds"]

    # 75 steps. A share of 30 samples in parts of 10 has 3 parts, each with the overhead.
    def test_losses_and_pace_are_those_of_all_parts(self):
        whole, _ = self.losses_and_seconds()
        parts, seconds = self.losses_and_seconds("--motley-set", "train.micro_batch=[10, 30]",
                                                 "--motley-set", "cluster.overhead=0.02")
        self.assertEqual(len(parts), len(whole))
        for one, other in zip(parts, whole):
            self.assertAlmostEqual(one / other, 1, places=4)
        self.assertGreater(seconds, 0.99 * 75 * 3 * 0.02)

    def test_a_part_cannot_be_finished_twice(self):
        for arguments in [[], ["--motley-set", "train.micro_batch=10"]]:
            with self.subTest(arguments=arguments):
                done = self.launch(2, LEARNER, "--loop", "--twice", *arguments, code=1)
                self.assertIn("finish() called without a begin()", done.stderr)

    # A sample takes about 0.6 MB of activations. Ranks 1 and 2 have shares of 500 samples; rank 0 also evaluates.
    def test_the_memory_of_a_rank_follows_its_micro_batch(self):
        said = self.learn(3, "--bare", "--hidden", "32768", "--motley-set", "train.batch=1500",
                          "--motley-set", "train.micro_batch=[10, 10, 1000]")
        megabytes = [one["peak_kb"] / 1000 for one in said]
        self.assertGreater(megabytes[2], megabytes[1] + 100, megabytes)

    # The request goes to the coordinator and back, which may take long on a busy machine: the run is longer.
    def test_a_program_can_stop_early(self):
        said = self.learn(2, "--stop", "5", "--motley-set", "train.epochs=2000")
        self.assertLess(said[0]["samples"], 3_000_000)
        self.assertEqual(said[0]["steps"], said[1]["steps"])
        self.assertGreaterEqual(said[0]["steps"], 5)

    def test_a_throw_in_the_middle_of_a_step_is_the_root_cause(self):
        for arguments in [["--throw", "1", "--loop"], ["--throw", "1", "--motley-set", "strategy.sync=hop"],
                          ["--hook", "1"]]:
            with self.subTest(arguments=arguments):
                done = self.launch(3, LEARNER, *arguments, code=1)
                box = done.stderr[done.stderr.index("+---"):]
                self.assertRegex(box, r"first +rank 1 .*exit code 1")
                self.assertIn("why      sample 7 is damaged", box)
                self.assertIn("others   ranks 0, 2: exit code 1", box)
                for rank in [0, 2]:
                    self.assertRegex(done.stderr, rf"\[rank {rank}\] motley: rank {rank}: worker 1 "
                                                  r"\(pid \d+ on \S+\) failed: sample 7 is damaged")

    def test_what_differs_is_refused_with_both_sides_named(self):
        for flag, name, theirs, ours in [("--hidden 48", "body.0.weight", "48x16", "32x16"),
                                         ("--rate 2", r"optimizer\.group0\.lr", "0.02", "0.01")]:
            with self.subTest(flag=flag):
                script = f'[ $RANK = 1 ] && different="{flag}"; exec {LEARNER} $different'
                done = self.launch(2, "/bin/sh", "-c", script, code=1)
                self.assertRegex(done.stderr, rf"{name} is {theirs} for rank 1 \(pid \d+ on \S+\), {ours} "
                                              r"for rank 0 \(pid \d+ on \S+\)")

    def test_the_run_directory_is_that_of_motley_train(self):
        self.learn(2, "--motley-out", "out")
        files = {path.name for path in (self.scratch / "out").iterdir()}
        self.assertLessEqual({"job.toml", "summary.json", "metrics.jsonl", "report.html",
                              "trace.json", "record.json"}, files)
        summary = json.loads((self.scratch / "out/summary.json").read_text())
        self.assertEqual(summary["workers"], 2)
        self.assertGreater(summary["final_accuracy"], 0.9)

    # Unlike other tests it trains on real data, which it unpacks.
    def test_a_plain_loop_moves_with_ten_changed_lines(self):
        for name in ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]:
            (self.scratch / name).write_bytes(gzip.decompress((FASHION / f"{name}.gz").read_bytes()))
        plain = self.run_command(EXAMPLES / "plain_loop", ".")
        self.assertLess(float(plain.stdout.split()[-1]), 1)
        (self.scratch / "net.pt").unlink()
        moved = self.launch(2, EXAMPLES / "02_own_loop", ".")
        self.assertLess(float(moved.stdout.split()[-1]), 1)
        self.assertTrue((self.scratch / "net.pt").exists())

        diff = subprocess.run(["diff", "-u0", "plain_loop.cc", "02_own_loop.cc"],
                              cwd=SOURCE / "examples", text=True, capture_output=True).stdout
        added = re.findall(r"^\+(?!\+\+).*", diff, re.MULTILINE)
        removed = re.findall(r"^-(?!--).*", diff, re.MULTILINE)
        self.assertLessEqual(len(added), 10)
        self.assertLessEqual(len(removed), 10)
        page = (SOURCE / "docs/api.md").read_text()
        for line in added + removed:
            self.assertIn(line + "\n", page)

    # BatchNorm, dropout, Adam, a schedule, a state of its own. A step takes 30 ms, so that several checkpoints are
    # on disk, unless it is slow.
    def test_a_program_that_was_killed_goes_on_with_the_same_bits(self):
        pace = ["--motley-set", "train.checkpoint_every=10", "--motley-set", "cluster.overhead=0.03"]
        for ranks, flags in [(1, []), (2, ["--loop"]), (2, ["--motley-set", "strategy.codec=topk"])]:
            with self.subTest(ranks=ranks, flags=flags):
                out = self.scratch / f"killed{len(list(self.scratch.iterdir()))}"
                whole = self.learn(ranks, *flags, *pace)
                self.launch(ranks, LEARNER, *flags, *pace, "--motley-out", out, "--kill", "38", "--await", out,
                            code=1)
                steps = sorted(int(path.name) for path in (out / "checkpoints").glob("[0-9]*"))
                self.assertTrue(steps and steps[-1] in (10, 20, 30), steps)
                resumed = self.learn(ranks, *flags, *pace, "--motley-resume", out)
                for one, other in zip(whole, resumed):
                    for key in one.keys() - {"peak_kb"}:
                        self.assertEqual(one[key], other[key], key)

    def test_a_checkpoint_that_does_not_fit_the_program_is_refused(self):
        out = self.scratch / "out"
        self.learn(1, "--bare", "--stop", "30", "--motley-out", out, "--motley-set", "train.checkpoint_every=10")
        for flags, said in [(["--bare", "--hidden", "48"], r"body\.0\.weight has the shape \[32, 16\]; expected \[48, 16\]"),
                            (["--bare", "--add", "queue"], r'it has no state "queue", which the program adds; '
                                                           r"the run that wrote it added: schedule, clipped"),
                            ([], r"model\.body\.")]:
            with self.subTest(flags=flags):
                done = self.run_command(LEARNER, *flags, "--motley-resume", out, code=2)
                self.assertRegex(done.stderr, "cannot go on from the checkpoint: .*" + said)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_the_example_goes_on_and_its_model_can_be_loaded(self):
        whole = self.launch(2, EXAMPLES / "06_resume").stdout
        program, pace = EXAMPLES / "06_resume", ["--motley-set", "cluster.overhead=0.1"]
        running = subprocess.Popen([MOTLEY, "launch", "-n", "2", "--", program, "--motley-out", "run", *pace],
                                   cwd=self.scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not list(self.scratch.glob("run/checkpoints/[0-9]*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(60), 130)
        self.assertEqual(self.launch(2, program, "--motley-resume", "run", "--motley-set",
                                     "cluster.overhead=0").stdout, whole)
        self.assertEqual(self.run_command(program, "--load", "run").stdout, "accuracy 1.00\n")
        refused = self.run_command(program, "--load", "nowhere", code=2)
        self.assertIn("nowhere", refused.stderr)

    def test_unlike_workers_gain_from_adaptive_shares(self):
        done = self.launch(4, EXAMPLES / "03_unlike_workers")
        gain = float(re.search(r"([\d.]+) times as many", done.stdout)[1])
        self.assertGreater(gain, 1.8)  # ideal: 3.25

    def test_a_custom_method_runs_real_and_simulated(self):
        program, job = EXAMPLES / "04_write_a_strategy", SOURCE / "examples/04_job.toml"
        self.assertIn("averages with one neighbour", self.run_command(program, "strategies").stdout)
        flags = ["--set", "strategy.sync=pairs", "--json", "--quiet"]
        results = [json.loads(self.run_command(program, mode, job, *flags).stdout)
                   for mode in ["simulate", "train"]]
        for result in results:
            self.assertEqual(result["strategy"]["sync"], "pairs")
            self.assertEqual(result["samples"], 8000)
        self.assertAlmostEqual(results[0]["final_loss"], results[1]["final_loss"], places=4)
        unknown = self.run_command(MOTLEY, "simulate", job, *flags, code=2)
        self.assertIn('"pairs" is not a strategy', unknown.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
