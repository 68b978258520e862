"""Tests examples/python_model with few steps: from the model in Python to its accuracy in Python.
usage: python_model_test.py PROGRAM EXAMPLE_DIRECTORY"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, EXAMPLE = sys.argv[1:3]
sys.path.insert(0, EXAMPLE)
# Both run in this process: importing torch takes longer than what they do.
import evaluate  # noqa: E402
import make_model  # noqa: E402


def run_script(module, *arguments):
    """Returns its exit code and its output."""
    out = io.StringIO()
    sys.argv = [module.__file__, *arguments]
    with contextlib.redirect_stdout(out):
        try:
            module.main()
            code = 0
        except SystemExit as end:
            code = end.code
    return code, out.getvalue()


class PythonModel(unittest.TestCase):
    def test_what_motley_trained_is_as_good_in_python(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)  # job.toml names net.pt
            self.assertEqual(run_script(make_model)[0], 0)
            done = subprocess.run(
                [PROGRAM, "simulate", os.path.join(EXAMPLE, "job.toml"), "--out", "run", "--quiet",
                 "--set", "train.steps=12", "--set", "train.batch=64"],
                text=True, capture_output=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            code, text = run_script(evaluate, "run")
            self.assertEqual(code, 0, text)
            # It has learned something: statistics and weights are not the initial ones.
            self.assertGreater(float(re.search(r"Python ([\d.]+)", text)[1]), 0.3)

            with open("run/summary.json", encoding="utf-8") as file:
                summary = json.load(file)
            summary["final_accuracy"] += 1e-4  # one image of the test set
            with open("run/summary.json", "w", encoding="utf-8") as file:
                json.dump(summary, file)
            self.assertEqual(run_script(evaluate, "run")[0], 1)
            os.chdir("/")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
