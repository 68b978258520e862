"""slurm.py runs its command as Slurm runs a job, and leaves nothing behind.
usage: slurm_test.py      exit code 77: Slurm cannot be started here"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import slurm


def start(script, directory):
    return subprocess.Popen(
        [sys.executable, "-B", slurm.__file__, "sh", "-c", script], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": directory},
    )


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Slurm(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        os.chmod(self.directory, 0o711)  # munge requires it

    def test_tasks_know_who_they_are_and_the_worst_exit_code_comes_out(self):
        run = start('echo "$SLURM_PROCID of $SLURM_NTASKS"; exit $((SLURM_PROCID + 3))', self.directory)
        out, error = run.communicate()
        self.assertEqual(sorted(out.splitlines()), [f"{rank} of 4" for rank in range(4)], error)
        self.assertEqual(run.returncode, 6, error)
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_signal_ends_the_tasks_and_all_daemons(self):
        # The tasks are running when each has printed its number.
        run = start('echo "$$"; exec sleep 1000', self.directory)
        tasks = [int(run.stdout.readline()) for _ in range(4)]
        daemons = self.daemons()
        self.assertTrue(all(map(alive, tasks)))
        self.assertGreaterEqual(len(daemons), 3, "munged, slurmctld, slurmd")
        run.send_signal(signal.SIGTERM)
        run.communicate()
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)
        self.assertEqual([pid for pid in tasks + daemons if alive(pid)], [])
        self.assertEqual(os.listdir(self.directory), [])

    def daemons(self):
        """The processes whose command line contains this test's directory."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                    words = file.read()
            except OSError:
                continue
            if re.search(r"munged|slurmctld|slurmd", words) and self.directory in words:
                found.append(int(pid))
        return found


if __name__ == "__main__":
    if why := slurm.why_not():
        print(f"skipped: {why}")
        sys.exit(slurm.SKIPPED)
    unittest.main(argv=sys.argv[:1])
