"""How long functions, files and lines may be, and that no two types share a name."""
import collections
import pathlib
import statistics
import unittest

import cxx

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("include", "src", "tests", "bench", "examples")
LONGEST_FUNCTION = 60
LONGEST_MEDIAN = 7
LONGEST_FILE = 500
LONGEST_LINE = 100

# Programs of their own, outside of namespace motley, which users read one at a time: each may have its `Net`.
PROGRAMS = ("examples/", "tests/api/", "tests/installed/")


def sources():
    return sorted(path for folder in FOLDERS for kind in ("*.h", "*.cc")
                  for path in (ROOT / folder).rglob(kind))


def place(path, line=None):
    name = str(path.relative_to(ROOT))
    return name if line is None else f"{name}:{line}"


class Sources(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.texts = {path: path.read_text(encoding="utf-8") for path in sources()}
        cls.scanned = {path: cxx.scan(text) for path, text in cls.texts.items()}

    def test_there_is_something_to_look_at(self):
        self.assertGreater(len(self.texts), 300)
        self.assertGreater(sum(len(functions) for functions, _ in self.scanned.values()), 3000)
        self.assertGreater(sum(len(types) for _, types in self.scanned.values()), 400)

    def test_no_function_is_too_long(self):
        long = [f"{place(path, function.line)}: {function.lines} lines: {function.head}"
                for path, (functions, _) in self.scanned.items() for function in functions
                if function.lines > LONGEST_FUNCTION]
        self.assertEqual(long, [], f"functions of more than {LONGEST_FUNCTION} lines")

    def test_most_functions_are_short(self):
        bodies = [function.body for functions, _ in self.scanned.values() for function in functions]
        self.assertLessEqual(statistics.median(bodies), LONGEST_MEDIAN)

    def test_no_file_is_too_long(self):
        long = [f"{place(path)}: {text.count(chr(10))} lines" for path, text in self.texts.items()
                if text.count("\n") > LONGEST_FILE]
        self.assertEqual(long, [], f"files of more than {LONGEST_FILE} lines: a second idea in them?")

    def test_no_line_is_too_long(self):
        long = [place(path, number) for path, text in self.texts.items()
                for number, line in enumerate(text.splitlines(), 1) if len(line) > LONGEST_LINE]
        self.assertEqual(long, [], f"lines of more than {LONGEST_LINE} characters")

    def test_no_two_types_share_a_name(self):
        places = collections.defaultdict(list)
        for path, (_, types) in self.scanned.items():
            if not place(path).startswith(PROGRAMS):
                # In one file the same name is one type, written for two platforms.
                for type in {type.name: type for type in types}.values():
                    places[type.name].append(place(path, type.line))
        shared = {name: where for name, where in places.items() if len(where) > 1}
        self.assertEqual(shared, {}, "types that share a name")


if __name__ == "__main__":
    unittest.main()
