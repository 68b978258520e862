"""A checkpoint, read without motley: by the Python code of docs/state.md, and by hand.
usage: checkpoint_test.py PATH_OF_WRITE_SAMPLES"""

import hashlib
import json
import pathlib
import re
import unittest

import numpy

import samples

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "state.md"


def directory():
    return samples.directory() / "checkpoints" / "500"


def code_of_the_page():
    """What the code of the page defines."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


def digest(raw):
    return hashlib.sha256(raw).hexdigest()


class Checkpoint(unittest.TestCase):
    def test_the_code_of_the_page_reads_the_tensors(self):
        tensors = code_of_the_page()["load_tensors"](directory() / "tensors.safetensors")
        expected = {
            "model.weight": numpy.array([[500, -0.5, 2], [3, 4, 5]], numpy.float32),
            "count": numpy.array([500], numpy.int64),
            "raw": numpy.array([1, 2, 3], numpy.uint8),
            "optimizer.scale": numpy.array(0.1, numpy.float64),
            'naïve "name"': numpy.array([], numpy.float32),
        }
        self.assertEqual(tensors.keys(), expected.keys())
        for name, values in expected.items():
            self.assertEqual(tensors[name].dtype, values.dtype, name)
            self.assertEqual(tensors[name].shape, values.shape, name)
            numpy.testing.assert_array_equal(tensors[name], values, name)

    def test_values_are_json(self):
        state = json.loads((directory() / "state.json").read_text(encoding="utf-8"))
        self.assertEqual(state["format"], "motley checkpoint")
        self.assertEqual((state["version"], state["step"], state["accuracy"]), (1, 500, 0.5))
        self.assertEqual(state["values"], {"step": 500, "attempt": 0, "text": 'a "b"\n'})

    def test_checksums_are_of_all_files(self):
        raw = (directory() / "state.json").read_bytes()
        state = json.loads(raw)
        self.assertEqual(state["sha256"], digest(raw[: raw.rindex(b',\n"sha256"')]))
        others = {path.name: path.read_bytes() for path in directory().iterdir() if path.name != "state.json"}
        self.assertEqual(others.keys(), {"tensors.safetensors", "own.bin"})
        self.assertEqual(
            state["files"], {name: {"bytes": len(raw), "sha256": digest(raw)} for name, raw in others.items()}
        )

    def test_nothing_else_is_left(self):
        self.assertEqual([path.name for path in directory().parent.iterdir()], ["500"])


if __name__ == "__main__":
    samples.main()
