"""The Debian package: cpack builds it, its dependencies exist, and its program runs.
usage: package_test.py CPACK BUILD_DIRECTORY VERSION"""

import gzip
import os
import re
import subprocess
import sys
import tempfile
import unittest

CPACK, BUILD, VERSION = sys.argv[1:4]


def output(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        output(CPACK, "-G", "DEB", "-B", directory.name, cwd=BUILD)
        (name,) = [name for name in os.listdir(directory.name) if name.endswith(".deb")]
        cls.name = name
        cls.package = os.path.join(directory.name, name)
        cls.root = os.path.join(directory.name, "root")
        output("dpkg-deb", "-x", cls.package, cls.root)

    def path(self, *names):
        return os.path.join(self.root, "usr", *names)

    def test_says_what_it_is_and_needs(self):
        self.assertRegex(self.name, rf"^motley_{re.escape(VERSION)}-1_\w+\.deb$")
        fields = dict(
            re.findall(r"^ ?([A-Z][\w-]+): (.*)$", output("dpkg-deb", "-f", self.package), re.M)
        )
        self.assertEqual((fields["Package"], fields["Version"]), ("motley", VERSION + "-1"))
        needs = {need.split()[0] for need in fields["Depends"].split(", ")}
        # Dependencies of the libraries come from what they link to: check one of each library.
        self.assertLessEqual({"libtorch-dev", "libc6"}, needs)
        self.assertTrue(any(need.startswith("libtorch1") for need in needs), needs)
        self.assertTrue(any(need.startswith("libfmt") for need in needs), needs)
        self.assertEqual(fields["Recommends"], "libopenblas0-pthread")

    def test_what_it_needs_exists(self):
        # They are installed here, where motley was built. Asking apt would take seconds.
        needs = output("dpkg-deb", "-f", self.package, "Depends").strip()
        self.assertEqual(output("dpkg-checkbuilddeps", "-d", needs, "/dev/null"), "")

    def test_the_program_in_it_runs(self):
        self.assertEqual(output(self.path("bin", "motley"), "--version"), f"motley {VERSION}\n")

    def test_has_the_documents_of_debian(self):
        with gzip.open(self.path("share", "man", "man1", "motley.1.gz"), "rt") as page:
            self.assertIn(".SH COMMANDS", page.read())
        with gzip.open(self.path("share", "doc", "motley", "changelog.Debian.gz"), "rt") as changelog:
            self.assertEqual(changelog.readline(), f"motley ({VERSION}-1) unstable; urgency=medium\n")
        self.assertTrue(os.path.exists(self.path("share", "doc", "motley", "copyright")))
        self.assertTrue(os.path.exists(self.path("share", "bash-completion", "completions", "motley")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
