"""What the compiler says first to a program that uses motley's headers wrongly. Needs no torch.

usage: compile_errors_test.py COMPILER INCLUDE_DIR
"""
import pathlib
import subprocess
import sys
import unittest

COMPILER, INCLUDE = sys.argv[1], pathlib.Path(sys.argv[2])

TYPES = """
#include <memory>
#include <optional>
struct Set { std::optional<int> size(); int get_batch(std::vector<std::size_t>); };
struct Loader { int* begin(); void join(); int options(); };
struct Stream { void reset(); int get_batch(std::size_t); };
"""


class CompileErrors(unittest.TestCase):
    def first_error(self, source, standard="c++20"):
        done = subprocess.run([COMPILER, f"-std={standard}", "-fsyntax-only", "-Wfatal-errors", f"-I{INCLUDE}",
                               "-x", "c++", "-"], input=source, text=True, capture_output=True, timeout=60)
        return next((line for line in done.stderr.splitlines() if "error:" in line), "")

    def test_an_older_standard_is_named_by_every_header(self):
        headers = sorted((INCLUDE / "motley").glob("*.h"))
        self.assertGreater(len(headers), 7)
        for header in headers:
            if header.name == "version.h":
                continue
            with self.subTest(header=header.name):
                error = self.first_error(f'#include "motley/{header.name}"\n', "c++17")
                self.assertIn("motley needs C++20: compile with -std=c++20", error)

    def test_what_is_no_data_set_is_refused_in_a_sentence(self):
        for data, said in [("Set", ""),
                           ("motley::Samples<int (*)(int)>", ""),
                           ("std::unique_ptr<Loader>", "takes the data set itself, not a DataLoader"),
                           ("Loader", "takes the data set itself, not a DataLoader"),
                           ("std::shared_ptr<Set>", "takes the data set itself, not a pointer to it"),
                           ("Set*", "takes the data set itself, not a pointer to it"),
                           ("Stream", "this data set chooses its samples itself"),
                           ("std::vector<int>", "takes a torch::data data set, which has size() and")]:
            with self.subTest(data=data):
                source = f'#include "motley/trainer_data.h"\n{TYPES}static_assert(motley::expect_data<{data}>());\n'
                error = self.first_error(source)
                self.assertIn(said, error)
                self.assertEqual(bool(said), bool(error), error)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
