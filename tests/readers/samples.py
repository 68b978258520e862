"""The output of write_samples, for the tests of this folder. Their argument is its path."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

_directory = None


def directory():
    """The directory of the samples, which are written once."""
    global _directory
    if _directory is None:
        _directory = tempfile.TemporaryDirectory(prefix="motley-test-")
        subprocess.run([_program, _directory.name], check=True, timeout=60)
    return pathlib.Path(_directory.name)


def main():
    global _program
    _program = sys.argv.pop(1)
    unittest.main("__main__")
