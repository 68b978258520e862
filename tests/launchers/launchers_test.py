"""Example 01 prints the same under every launcher.
usage: launchers_test.py MOTLEY EXAMPLE"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import slurm
from ranks import PATIENCE, Ranks, environment, torchrun

MOTLEY, EXAMPLE = sys.argv[1:3]
FEW, MANY = 2, slurm.TASKS


class Launchers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = directory.name
        os.chmod(cls.directory, 0o711)  # munge requires it
        cls.alone = cls.output(EXAMPLE)
        assert cls.alone.startswith("9000 samples, loss "), cls.alone

    @classmethod
    def output(cls, *command):
        done = subprocess.run(command, cwd=cls.directory, text=True, capture_output=True, timeout=PATIENCE,
                              env=environment(TMPDIR=cls.directory))
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} not installed")

    def test_variables_set_by_hand(self):
        with Ranks(FEW) as ranks:
            ends = Ranks.end(*(ranks.start(rank, EXAMPLE) for rank in range(FEW)))
        self.assertEqual(ends, [(self.alone, "", 0)] + [("", "", 0)] * (FEW - 1))

    def test_motley_launch(self):
        self.assertEqual(self.output(MOTLEY, "launch", "-n", str(MANY), EXAMPLE),
                         f"[rank 0] {self.alone}")

    def test_mpirun(self):
        self.need("mpirun")
        self.assertEqual(self.output("mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
                                     str(MANY), EXAMPLE), self.alone)

    def test_srun(self):
        if why := slurm.why_not():
            self.skipTest(why)
        self.assertEqual(self.output(sys.executable, "-B", slurm.__file__, EXAMPLE), self.alone)

    def test_torchrun(self):
        self.need("torchrun")
        with Ranks(FEW) as ranks:
            self.assertEqual(self.output(*torchrun(ranks, EXAMPLE)), self.alone)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
