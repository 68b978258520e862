"""The manual page and the completions have every subcommand and flag of --help.
usage: manual_test.py PROGRAM DIRECTORY_OF_THE_MANUAL"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MANUAL = sys.argv[1:3]


def read(name):
    with open(os.path.join(MANUAL, name), encoding="utf-8") as file:
        return file.read()


def help_of(*command):
    return subprocess.run([PROGRAM, *command, "--help"], check=True, text=True, capture_output=True).stdout


def subcommands():
    return re.findall(r"^  ([a-z]+) ", help_of().partition("Subcommands:")[2], re.M)


def flags(*command):
    """The flags in --help, found without the parser of packaging/manual.py."""
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", help_of(*command), re.M))


def completions(*words):
    """What bash offers after these words; the last one is incomplete."""
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _motley; printf "%s\\n" "${COMPREPLY[@]}"'
    out = subprocess.run(
        ["bash", "-c", script, os.path.join(MANUAL, "motley.bash"), *words],
        check=True, text=True, capture_output=True,
    )
    assert out.stderr == "", out.stderr
    return set(out.stdout.split())


class Manual(unittest.TestCase):
    def test_there_are_subcommands(self):
        self.assertLessEqual({"train", "simulate", "compare", "strategies"}, set(subcommands()))

    def test_the_page_has_a_section_for_each_with_every_flag(self):
        sections = dict(re.findall(r'^\.SS "motley ([a-z]+)(.*?)(?=^\.S)', read("motley.1"), re.M | re.S))
        self.assertEqual(list(sections), subcommands())
        for command, text in sections.items():
            for flag in flags(command) - {"--help"}:
                self.assertIn(rf"\fB{flag}\fR".replace("-", r"\-"), text, command)

    def test_the_page_is_good_roff(self):
        out = subprocess.run(
            ["groff", "-man", "-ww", "-Tutf8", "-z", os.path.join(MANUAL, "motley.1")], text=True, capture_output=True
        )
        self.assertEqual((out.returncode, out.stderr), (0, ""))

    def test_bash_offers_what_there_is(self):
        self.assertEqual(completions("motley", ""), {*subcommands(), *flags(), "-h"})
        for command in subcommands():
            self.assertEqual(completions("motley", command, "--"), flags(command), command)
        self.assertEqual(completions("motley", "train", "--dash"), {"--dashboard", "--dashboard-host"})

    def test_bash_offers_job_files_and_their_variants(self):
        with tempfile.TemporaryDirectory() as directory:
            job = os.path.join(directory, "job.toml")
            with open(job, "w", encoding="utf-8") as file:
                file.write('name = "job"\n[[variant]]\nname = "equal"\n\n[[variant]]\nname = "even"\n')
            open(os.path.join(directory, "other.txt"), "w").close()
            self.assertEqual(completions("motley", "train", directory + "/"), {job})
            self.assertEqual(completions("motley", "train", job, "--variant", "ev"), {"even"})
            self.assertEqual(completions("motley", "train", job, "--variant", ""), {"equal", "even"})
            self.assertEqual(completions("motley", "train", job, "--set", ""), set())

    def test_zsh_offers_every_flag(self):
        cases = dict(re.findall(r"^  ([a-z]+)\) (.*) ;;$", read("_motley"), re.M))
        self.assertEqual(list(cases), subcommands())
        for command, text in cases.items():
            self.assertEqual(set(re.findall(r"(?:^| )'\*?(--[a-z-]+)\[", text)), flags(command), command)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
