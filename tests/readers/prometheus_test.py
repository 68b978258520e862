"""Reads the text of /metrics with the parser of Prometheus' own client (python3-prometheus-client).
usage: prometheus_test.py PATH_OF_WRITE_SAMPLES"""

import math
import re
import unittest

from prometheus_client.parser import text_string_to_metric_families

import samples

HOSTILE = "a\\b\"c\nd\\n é 模 {x=\"y\"} #\t\r 1"


def text(name):
    return (samples.directory() / name).read_bytes().decode("utf-8")


def families(name):
    return {family.name: family for family in text_string_to_metric_families(text(name))}


def values(name):
    """(sample's name, labels) -> value."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families(name).values()
        for sample in family.samples
    }


def format_faults(text):
    """Checks what the parser does not: every family is described once, before its samples, which are
    contiguous; names and types are right; the text ends with a newline."""
    faults = [] if text.endswith("\n") else ["no newline at the end"]
    helped, typed, seen = set(), {}, set()
    for line in text.split("\n")[:-1]:
        if match := re.fullmatch(r"# HELP ([a-z_]+) (\S.*)", line):
            faults += ["twice: " + line] if match[1] in helped else []
            helped.add(match[1])
        elif match := re.fullmatch(r"# TYPE ([a-z_]+) (counter|gauge)", line):
            name, kind = match[1], match[2]
            faults += ["twice: " + line] if name in typed else []
            faults += ["not helped: " + line] if name not in helped else []
            faults += ["misnamed: " + line] if (kind == "counter") != name.endswith("_total") else []
            typed[name] = kind
        elif match := re.fullmatch(r'([a-z_]+)(\{([a-z]+="([^"\\\n]|\\[\\"n])*",?)+\})? (\S+)', line):
            last = list(typed)[-1] if typed else None
            faults += ["not under its TYPE: " + line] if match[1] != last else []
            faults += ["twice: " + line] if (match[1], match[2]) in seen else []
            seen.add((match[1], match[2]))
            if not re.fullmatch(r"NaN|[+-]Inf|-?[0-9.]+(e[+-][0-9]+)?", match[5]):
                faults.append("no number: " + line)
        else:
            faults.append("neither comment nor sample: " + line)
    faults += ["without samples: " + name for name in typed if name not in {name for name, _ in seen}]
    return faults


class Prometheus(unittest.TestCase):
    def test_the_format_is_kept(self):
        for name in ("plain.prom", "hostile.prom", "empty.prom"):
            self.assertEqual(format_faults(text(name)), [], name)

    def test_the_format_check_can_fail(self):
        plain = text("plain.prom")
        for good, bad in (
            ("# TYPE motley_samples_total counter", "# TYPE motley_samples_total gauge"),
            ("motley_samples_total 12800\n", ""),
            ("# HELP motley_samples_total Samples trained on.\n", ""),
            ('worker="0"', 'worker="1"'),
            ("10240.5", "10,240.5"),
            ('sync="hop"', 'sync="h"op"'),
            ("motley_train_loss 1.1\n", "motley_train_loss 1.1"),
        ):
            self.assertIn(good, plain)
            self.assertNotEqual(format_faults(plain.replace(good, bad)), [], bad)

    def test_figures_read_back(self):
        worker = lambda rank, **more: tuple(sorted({"worker": str(rank), **more}.items()))
        run = dict(name="fashion", mode="train", sync="hop", allocation="adaptive", codec="none")
        self.assertEqual(
            values("plain.prom"),
            {
                ("motley_run_info", tuple(sorted(run.items()))): 1,
                ("motley_running", ()): 1,
                ("motley_run_seconds_total", ()): 1.25,
                ("motley_samples_total", ()): 12800,
                ("motley_samples_limit", ()): 120000,
                ("motley_samples_per_second", ()): 10240.5,
                ("motley_sent_bytes_total", ()): 123456789012,
                ("motley_train_loss", ()): 1.1,
                ("motley_test_loss", ()): 0.9,
                ("motley_test_accuracy", ()): 0.7,
                ("motley_worker_seconds_total", worker(0, doing="compute")): 0.75,
                ("motley_worker_seconds_total", worker(0, doing="communicate")): 0.125,
                ("motley_worker_seconds_total", worker(0, doing="wait")): 0.125,
                ("motley_worker_seconds_total", worker(1, doing="compute")): 0.5,
                ("motley_worker_seconds_total", worker(1, doing="communicate")): 0,
                ("motley_worker_seconds_total", worker(1, doing="wait")): 0.5,
                ("motley_worker_samples_total", worker(0)): 9600,
                ("motley_worker_samples_total", worker(1)): 3200,
                ("motley_worker_steps_total", worker(0)): 50,
                ("motley_worker_steps_total", worker(1)): 50,
                ("motley_worker_share_samples", worker(0)): 192,
                ("motley_worker_share_samples", worker(1)): 0,
                ("motley_worker_sent_bytes_total", worker(0)): 61728394506,
                ("motley_worker_sent_bytes_total", worker(1)): 0,
            },
        )

    def test_types_and_help_are_read(self):
        for name, family in families("plain.prom").items():
            self.assertIn(family.type, ("counter", "gauge"), name)
            self.assertTrue(family.documentation, name)
        self.assertEqual(families("plain.prom")["motley_samples"].type, "counter")

    def test_hostile_labels_and_odd_numbers_read_back(self):
        (info,) = families("hostile.prom")["motley_run_info"].samples
        self.assertEqual(info.labels["name"], HOSTILE)
        self.assertEqual(info.labels["sync"], "}")
        read = values("hostile.prom")
        self.assertTrue(math.isnan(read["motley_train_loss", ()]))
        self.assertEqual(read["motley_samples_per_second", ()], math.inf)
        self.assertEqual(read["motley_test_loss", ()], -math.inf)
        self.assertEqual(read["motley_running", ()], 0)


if __name__ == "__main__":
    samples.main()
