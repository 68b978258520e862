"""Programs of others: examples/ built with CMake against an installed motley that was moved, and one
program with pkg-config and the compiler alone.
usage: consumer_test.py CMAKE BUILD_DIRECTORY SOURCE_DIRECTORY CXX"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, SOURCE, CXX = sys.argv[1:5]

# Small, but needs torch, whose library is in the directory that motley was moved to.
JOB = """
[model]
kind = "svm"
[data]
kind = "synthetic"
samples = 64
test_samples = 16
features = 4
[train]
batch = 8
steps = 2
[cluster]
workers = 2
unit = 1e-4
"""

PROGRAM = """
#include <motley/command_line.h>
#include <motley/version.h>
#include <cstdio>
int main(int argc, char** argv) {
  std::printf("version %s\\n", motley::kVersion);
  return motley::command_line(argc, argv);
}
"""


def output(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Consumer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = directory.name
        cls.prefix = os.path.join(cls.directory, "moved")
        installed = os.path.join(cls.directory, "installed")
        output(CMAKE, "--install", BUILD, "--prefix", installed)
        os.rename(installed, cls.prefix)
        cls.library_dirs = [
            path for path, _, names in os.walk(cls.prefix) if "libmotley.so" in names
        ]

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def test_the_examples_build_and_run(self):
        build = self.path("build")
        output(CMAKE, "-S", os.path.join(SOURCE, "examples"), "-B", build, "-G", "Ninja",
               f"-DCMAKE_CXX_COMPILER={CXX}", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        examples = ["00_command_line", "01_own_model", "04_write_a_strategy"]
        output(CMAKE, "--build", build, "--target", *examples)
        self.assertIn("9000 samples", output(os.path.join(build, "01_own_model")))
        self.assertRegex(output(os.path.join(build, "04_write_a_strategy"), "strategies"),
                         r"(?m)^sync +pairs ")
        program = os.path.join(build, "00_command_line")
        strategies = output(program, "strategies")
        self.assertEqual(strategies, output(os.path.join(self.prefix, "bin", "motley"), "strategies"))
        self.assertRegex(strategies, r"(?m)^sync +all_reduce ")
        job = write(self.path("job.toml"), JOB)
        output(program, "simulate", job, "--out", self.path("run"), "--quiet")
        self.assertTrue(os.path.exists(self.path("run", "model.pt")))

    def test_pkg_config_is_enough(self):
        self.assertEqual(len(self.library_dirs), 1)
        environment = {
            **os.environ,
            "PKG_CONFIG_PATH": os.path.join(self.library_dirs[0], "pkgconfig"),
            "LD_LIBRARY_PATH": self.library_dirs[0],
        }
        flags = output("pkg-config", "--cflags", "--libs", "motley", env=environment).split()
        source, program = write(self.path("program.cc"), PROGRAM), self.path("program")
        output(CXX, "-std=c++20", source, "-o", program, *flags)
        version = output("pkg-config", "--modversion", "motley", env=environment).strip()
        self.assertEqual(output(program, "--version", env=environment),
                         f"version {version}\nmotley {version}\n")

    def test_a_process_has_one_copy_of_everything(self):
        """If both libraries had a registry, methods registered in one would not be found in the other."""
        def defined(library):
            symbols = output("nm", "-D", "--defined-only", os.path.join(self.library_dirs[0], library))
            # Inline functions, their tables and types may be in both: the linker uses one.
            return {name for kind, name in re.findall(r"(?m)^\S+ (\w) (\S+)", symbols) if kind not in "WVu"}

        core, torch = defined("libmotley.so"), defined("libmotley_torch.so")
        self.assertIn("_ZN6motley12command_lineEiPPc", core)
        self.assertIn("motley_make_torch_task", torch)
        self.assertEqual(core & torch, set())
        foreign = [name for name in core if "6motley" not in name]
        self.assertEqual(foreign, [], "what others' headers left in libmotley.so stays in there")

    def test_headers_include_what_is_installed(self):
        include = os.path.join(self.prefix, "include")
        headers = [os.path.join(path, name) for path, _, names in os.walk(include) for name in names]
        self.assertIn(os.path.join(include, "motley", "command_line.h"), headers)
        for header in headers:
            with open(header, encoding="utf-8") as file:
                for name in re.findall(r'(?m)^\s*#\s*include "(.*)"', file.read()):
                    self.assertIn(os.path.join(include, name), headers, header)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
