"""What the built program leaves and shows of its runs, as a user sees it: in a real browser, on a
terminal, in the shell. A few runs, begun all at once, are shared by all tests.

usage: program_test.py PROGRAM [unittest's arguments]
"""
import functools
import http.client
import http.server
import json
import math
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from prometheus_client.parser import text_string_to_metric_families

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "readers")]
import browser  # noqa: E402
import event_file_test  # noqa: E402
import prometheus_test  # noqa: E402
import program_runs  # noqa: E402
from program import Screen  # noqa: E402
from program_runs import FILE, FOLDER, NAME, RUNS, VARIANT, ended  # noqa: E402
from report_test import ALL_OF_ONE, LARGEST_REPORT, LONGEST_LOAD, WIDTHS, Pages  # noqa: E402

LEFT_BY_A_RUN = {"job.toml", "metrics.jsonl", "summary.json", "model.pt", "record.json",
                 "trace.json", "report.html"}
OVERLAID = ["accuracy-all", "loss-all", "throughput-all"]
NO_ACCURACY = ("accuracy", "loss", "accuracy-all", "loss-all")


def setUpModule():
    folder = Pages.folder = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    unittest.addModuleCleanup(program_runs.end_all)
    program_runs.start_all(PROGRAM, folder)
    Pages.driver = unittest.enterModuleContext(browser.chromium())  # shared by all tests
    ended("killed")  # early: it would take long


def methods():
    return program_runs.methods(PROGRAM)


def read_json(path):
    return json.loads(path.read_text())


class InBrowser(Pages):
    def check_report(self, path, expected):
        """Opens a report from disk, without a network, in every width."""
        self.driver.execute_cdp_cmd("Network.enable", {})
        offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions",
                                    {"offline": True, **offline})
        self.addCleanup(self.driver.execute_cdp_cmd, "Network.emulateNetworkConditions",
                        {"offline": False, **offline})
        for width in WIDTHS:
            with self.subTest(report=path.parent.name, width=width):
                self.open(path, width)
                self.check_page(expected)
                self.assertEqual(self.run_script("return document.scripts.length"), 3)


class LivePage(InBrowser):
    """The page during the run and at its end. First in the alphabet, because other tests wait for its end."""

    POINTS = """const chart = (id) => Chart.getChart(document.querySelector(`#${id} canvas`));
        return document.querySelector('.state')?.textContent === 'running' &&
            chart('accuracy') && chart('throughput') &&
            chart('accuracy').data.datasets[0].data.map((point) => point.x);"""
    FIRST_DOCUMENT = """const Real = EventSource;
        window.EventSource = class extends Real {
          constructor(address) {
            super(address);
            this.addEventListener('message', (event) => { window.firstOne ??= event.data; });
          }
        };"""
    ENDED = "return document.querySelector('#connection').textContent.includes('has ended')"

    def test_shows_the_running_run_and_its_end(self):
        run = RUNS["live"]
        address = run.until_said(r"watch the run at (http://127\.0\.0\.1:\d+/)\n")[1]
        browser.set_screen(self.driver, WIDTHS[0])
        self.driver.get(address)
        self.check_other_answers(address)
        first = self.until(self.POINTS)
        grown = self.until(f"const points = (() => {{{self.POINTS}}})();"
                           "return points.length > arguments[0] && points", len(first))
        self.assertEqual(grown[:len(first)], first)
        self.check_live_page()

        early = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        self.addCleanup(self.driver.switch_to.window, early)
        self.addCleanup(self.driver.close)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument",
                                    {"source": self.FIRST_DOCUMENT})
        browser.set_screen(self.driver, WIDTHS[1])
        self.driver.get(address)
        self.check_sees_the_whole_run(grown)
        self.check_live_page()

        self.assertTrue(run.is_running())
        self.assertEqual(self.complaints(), [])
        self.assertEqual(ended("live").code, 130)
        for tab in (self.driver.current_window_handle, early):
            self.driver.switch_to.window(tab)
            self.until(self.ENDED)
            self.assertEqual(self.text(".state"), "stopped by SIGINT")
            self.check_live_page()
            self.check_complaints_about_the_closed_server(address)
        self.driver.switch_to.window(self.driver.window_handles[-1])

    def check_live_page(self):
        self.assertEqual(self.text("h1"), NAME)
        self.assertIn(f"{FOLDER}/{FILE}", self.text("#job pre"))
        self.check_charts([one for one in ALL_OF_ONE if one != "behind"])
        self.assertEqual(self.run_script(
            "return [document.documentElement.scrollWidth - innerWidth, "
            "document.querySelectorAll('img').length, document.scripts.length]"), [0, 0, 3])

    def check_sees_the_whole_run(self, seen_before):
        points = self.until(self.POINTS)
        self.assertEqual(points[:len(seen_before)], seen_before)
        first = json.loads(self.run_script("return window.firstOne"))
        self.assertGreaterEqual(len(first["metrics"]), len(seen_before))
        self.assertGreaterEqual(first["seconds"], seen_before[-1])
        self.assertEqual(first["state"], "running")
        # From second 0 without a gap: every bin but the newest is full.
        for worker in first["per_worker"]:
            sums = [sum(doing) for doing in
                    zip(worker["compute"], worker["communicate"], worker["wait"])]
            whole = int(sum(sums) / first["bins"]["width"])
            self.assertGreater(whole, 10)
            for each in sums[:whole]:
                self.assertAlmostEqual(each / first["bins"]["width"], 1, delta=0.01)

    # The last document ends the stream, so the page does not reconnect. A browser that has not
    # drawn it yet may try once.
    def check_complaints_about_the_closed_server(self, address):
        for complaint in self.complaints():
            self.assertRegex(complaint, rf"^{re.escape(address)}events .*ERR_CONNECTION_REFUSED")

    def check_other_answers(self, address):
        host = address.split("/")[2]
        def ask(method, path):
            connection = http.client.HTTPConnection(host, timeout=10)
            connection.request(method, path)
            answer = connection.getresponse()
            body = answer.read().decode()
            connection.close()
            return answer, body
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"):
            for path in ("/", "/events", "/metrics", "/record.json", "/none"):
                self.assertEqual(ask(method, path)[0].status, 405, (method, path))
        self.assertEqual(ask("GET", "/none")[0].status, 404)
        answer, text = ask("GET", "/metrics")
        self.assertEqual(answer.status, 200)
        self.assertRegex(answer.getheader("Content-Type"), r"^text/plain; version=0\.0\.4")
        self.assertEqual(prometheus_test.format_faults(text), [])
        families = {family.name: family for family in text_string_to_metric_families(text)}
        self.assertEqual(families["motley_run_info"].samples[0].labels["name"], NAME)
        self.assertEqual(families["motley_running"].samples[0].value, 1)
        self.assertEqual(json.loads(ask("GET", "/record.json")[1])["name"], NAME)


class Refusals(unittest.TestCase):
    """Asserts one line, exit code 2, nothing written, nothing left running."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    @staticmethod
    def contents(folder):
        return {path.relative_to(folder): path.read_bytes() if path.is_file() else None
                for path in folder.rglob("*")}

    def check_refused(self, *arguments, says, **about):
        """Runs in a copy of the folder, so that leftovers do not affect the next test."""
        with self.subTest(arguments=arguments, **about), tempfile.TemporaryDirectory() as place:
            copy = shutil.copytree(self.folder, pathlib.Path(place) / "copy")
            process = subprocess.Popen([PROGRAM, *arguments], cwd=copy, text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True)
            output, errors = process.communicate(timeout=20)
            self.assertEqual((process.returncode, output), (2, ""), errors)
            self.assertRegex(errors, rf"^motley: [^\n]*{says}[^\n]*\n$")
            self.assertNotIn("json.exception", errors)
            self.assertRaises(ProcessLookupError, os.killpg, process.pid, 0)
            now, before = self.contents(copy), self.contents(self.folder)
            self.assertEqual(now.keys(), before.keys())
            self.assertEqual([path for path in now if now[path] != before[path]], [])

    def test_report_of_a_directory_without_a_run(self):
        (self.folder / "empty").mkdir()
        self.check_refused("report", says="RUN_DIR")
        self.check_refused("report", "missing", says="missing")
        self.check_refused("report", "empty", says="empty: contains no record.json")
        self.check_refused("report", "empty", "--out", "new.html", says="empty: contains no record.json")

    def test_report_of_a_damaged_record(self):
        good = (ended("methods").out / "hop" / "record.json").read_text()
        damaged = self.folder / "damaged"
        damaged.mkdir()
        without_bins = json.loads(good)
        del without_bins["bins"]
        for text in (good[:-20], "", "null", "[1]", '"version"', '{"version":"1"}', "{}",
                     good.replace('"version":1', '"version":2', 1), '{"version":1}',
                     json.dumps(without_bins),
                     json.dumps({**json.loads(good), "per_worker": 5})):
            (damaged / "record.json").write_text(text)
            self.check_refused("report", "damaged", says="damaged/record.json: ",
                               record=text[:30])

    def test_report_of_a_damaged_comparison(self):
        damaged = self.folder / "damaged"
        damaged.mkdir()
        for text in ("{", "[1]", '{"name":"a"}', "null", '[{"name":5}]', '[{"name":"../up"}]'):
            (damaged / "compare.json").write_text(text)
            self.check_refused("report", "damaged", says="damaged/compare.json: ",
                               comparison=text)

    def test_report_into_what_cannot_be_written(self):
        run = str(ended("methods").out / "hop")
        (self.folder / "folder").mkdir()
        for out in ("missing/report.html", "folder", "", "/proc/report.html"):
            self.check_refused("report", run, "--out", out, says="cannot be written")

    def test_dashboard_on_an_impossible_address(self):
        shutil.copy(Pages.folder / "phantom.toml", self.folder)
        shutil.copytree(ended("methods").out / "hop", self.folder / "earlier")
        run = ("simulate", "phantom.toml", "--out")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            for out in ("new", "earlier"):
                self.check_refused(*run, out, "--dashboard", port, says=f"port {port} is already in use")
        for out in ("new", "earlier"):
            for port in ("0", "65536", "-1", "x", "80x", "0x50", "8420.0"):
                self.check_refused(*run, out, "--dashboard", port, says="--dashboard")
            for host in ("192.0.2.1", "no.such.host.invalid", ""):
                self.check_refused(*run, out, "--dashboard", "--dashboard-host", host,
                                   says="cannot listen on")
        self.check_refused(*run, "new", "--dashboard-host", "127.0.0.1", says="--dashboard")

    def test_dashboard_of_workers_that_are_not_started(self):
        shutil.copy(Pages.folder / "real.toml", self.folder)
        shutil.copytree(Pages.folder / FOLDER, self.folder / FOLDER)
        self.check_refused("train", "real.toml", "--out", "new", "--dashboard", "--dashboard-host",
                           "192.0.2.1", says="cannot listen on 192.0.2.1")


class Reports(InBrowser):
    def test_of_a_real_run(self):
        run = ended("live")
        self.check_report(run.out / "report.html",
                          [one for one in ALL_OF_ONE if one != "behind"])
        self.assertEqual(self.text("h1"), NAME)
        self.assertIn(f"path = \"{FOLDER}/{FILE}\"", self.text("#job pre"))
        self.assertEqual(self.text(".state"), "stopped by SIGINT")
        self.assertEqual(read_json(run.out / "summary.json")["stopped"], "SIGINT")

    def test_of_simulated_runs_and_of_their_comparison(self):
        run = ended("compare")
        self.assertEqual((run.code, run.stderr.text()), (0, ""))
        charts = [one for one in ALL_OF_ONE if one != "behind"]
        self.check_report(run.out / "report.html", OVERLAID + charts)
        self.assertEqual(self.run_script(
            "return [...document.querySelectorAll('#comparison tbody th')].map((name) => "
            "name.textContent)"), ["equal", VARIANT])
        self.run_script("document.querySelectorAll('#comparison button')[1].click()")
        self.check_page(OVERLAID + ALL_OF_ONE)
        self.assertEqual(self.text(".chooser + div h2"), VARIANT)
        self.check_report(run.out / VARIANT / "report.html", ALL_OF_ONE)
        self.assertEqual(self.text("h1"), VARIANT)

    def test_of_every_method_without_arithmetic(self):
        run = ended("methods")
        self.check_report(run.out / "report.html",
                          [one for one in OVERLAID + ALL_OF_ONE
                           if one not in NO_ACCURACY and one != "behind"])
        rows = "return [...document.querySelectorAll('#comparison tbody th')]" \
               ".map((name) => name.textContent)"
        self.assertEqual(self.run_script(rows), methods())

    def test_made_again_shows_the_same(self):
        runs = [ended("live").out, ended("terminal").out]
        made = subprocess.run([PROGRAM, "report", *runs, "--out", self.folder / "both.html"],
                              check=True, capture_output=True, text=True)
        self.assertEqual((made.stdout, made.stderr), (f"{self.folder / 'both.html'}\n", ""))
        self.open("both.html")
        self.check_charts(OVERLAID + [one for one in ALL_OF_ONE if one != "behind"])
        self.assertEqual(self.run_script(
            "return JSON.parse(document.getElementById('runs').textContent)"),
            [read_json(run / "record.json") for run in runs])

        again = shutil.copytree(runs[1], self.folder / "again")
        (again / "report.html").unlink()
        subprocess.run([PROGRAM, "report", again], check=True, capture_output=True)
        report = lambda run: re.search(r'(?s)<script[^>]*id="?runs.*?</script>',
                                       (run / "report.html").read_text())[0]
        self.assertEqual(report(again), report(runs[1]))

    def test_of_a_run_whose_worker_was_killed_says_so(self):
        run = ended("killed")
        self.assertEqual(run.code, 1)
        self.assertFalse(run.has_left_processes())
        why = f"worker 1 (pid {run.victim}) was killed by "
        self.assertIn(why, run.stderr.text())
        record = read_json(run.out / "record.json")
        self.assertEqual(record["state"], "failed")
        self.assertIn(why, record["why"])
        self.assertFalse((run.out / "summary.json").exists())
        for width in WIDTHS:
            self.open(run.out / "report.html", width)
            self.assertIn(why, self.text(".callout.bad"))
            self.assertEqual(self.text(".state"), "failed")
            self.check_charts(ALL_OF_ONE)  # of what was recorded before

    def test_of_64_workers_and_2000_steps_is_small_and_opens_soon(self):
        run = ended("large")
        self.assertEqual(read_json(run.out / "summary.json")["steps"], 2000)
        self.assertLess((run.out / "report.html").stat().st_size, LARGEST_REPORT)
        self.check_report(run.out / "report.html",
                          [one for one in ALL_OF_ONE if one not in NO_ACCURACY])
        # The scripts draw everything before they end, and end before the page has loaded.
        loads = []
        for _ in range(3):  # other tests may slow one of them down
            self.open(run.out / "report.html", WIDTHS[0])
            loads.append(self.run_script(
                "return performance.getEntriesByType('navigation')[0].loadEventEnd"))
        self.assertLess(min(loads), LONGEST_LOAD)
        self.assertEqual(self.run_script(
            "return Chart.getChart(document.querySelector('#timeline canvas')).cells.groups"
            ".length"), 64)


class TensorBoard(unittest.TestCase):
    def test_reads_what_a_real_run_left(self):
        for name, workers in (("live", 4), ("terminal", 2)):
            with self.subTest(name):
                self.check_events(ended(name).out, workers)

    def check_events(self, out, workers):
        (path,) = out.glob("events.out.tfevents.*.motley")
        first, *rest = event_file_test.events(path.read_bytes())
        self.assertEqual(first.file_version, "brain.Event:2")
        apart = [event_file_test.scalars(event) for event in rest]
        self.assertEqual(set().union(*apart), {
            "test/loss", "test/accuracy", "train/loss", "throughput/samples_per_second",
            *(f"{doing}/worker_{rank}" for rank in range(workers)
              for doing in ("compute", "wait"))})
        metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        self.assertGreater(len(metrics), 3)
        for tag, key in (("test/accuracy", "accuracy"), ("test/loss", "loss")):
            drawn = [(event.step, scalars[tag]) for event, scalars in zip(rest, apart)
                     if tag in scalars]
            self.assertEqual([step for step, _ in drawn], [one["step"] for one in metrics])
            for (_, value), one in zip(drawn, metrics):
                self.assertAlmostEqual(value, one[key], delta=1e-6 * abs(one[key]))
        for scalars in apart:
            for rank in range(workers):
                if f"compute/worker_{rank}" in scalars:
                    parts = [scalars[f"{doing}/worker_{rank}"] for doing in ("compute", "wait")]
                    self.assertTrue(all(0 <= part <= 1.001 for part in parts), parts)


class Terminal(unittest.TestCase):
    HEAD = "  worker  samples/s  share  waits  now"
    TOO_SMALL = r"^(motley: this machine is too slow for the pace of the job: .*)?$"  # may be printed on a slow machine

    def check_block(self, run, rows, workers, more):
        """Asserts a block redrawn in place, with a line per worker, removed at the end. Returns what it showed."""
        screen, blocks = Screen(rows), []
        for chunk in run.stderr.chunks:
            lines = screen.feed(chunk).lines
            self.assertLessEqual(lines.count(self.HEAD), 1)
            self.assertLess(len(lines), rows + 1)
            if self.HEAD in lines and (not blocks or lines != blocks[-1]):
                blocks.append(list(lines))
        self.assertEqual(screen.pending, b"")
        self.assertRegex("".join(screen.lines), self.TOO_SMALL)
        self.assertGreater(len(blocks), 2)
        block = blocks[-1]
        at = block.index(self.HEAD) + 1
        for rank in range(workers):
            self.assertRegex(block[at + rank], rf"^ {{6,7}}{rank} +(\d+|\?) +\d+ +\d+ %  \S.*$")
        self.assertEqual(block[at + workers:at + workers + len(more)], more)
        return blocks

    def test_shows_a_block_that_is_removed_at_the_end(self):
        run = ended("terminal")
        self.assertEqual(run.code, 0)
        blocks = self.check_block(run, 24, 2, [])
        self.assertEqual(blocks[-1][0], f"{NAME}: hop training of 2 workers, equal shares"[:80])
        self.assertRegex(blocks[-1][1], r"^\[#+\.*\] +\d+ %  step \d+/60  \d+ samples/s")
        self.assertRegex(run.stdout.text(), r": training of 2 workers, hop, equal shares\n"
                         r"(?s:.*)\n  saved in terminal, report: terminal/report\.html\n$")

    def test_shows_as_many_workers_as_fit(self):
        self.check_block(ended("large"), 24, 18, ["  and 46 more workers"])

    def test_has_json_alone_on_stdout(self):
        for name in ("json", "large"):
            run = ended(name)
            self.assertEqual(run.code, 0, run.stderr.text())
            self.assertEqual(json.loads(run.stdout.text()), read_json(run.out / "summary.json"))
        self.assertEqual(json.loads(ended("methods").stdout.text()),
                         read_json(ended("methods").out / "compare.json"))

    def test_is_quiet(self):
        self.assertEqual(ended("json").stderr.chunks, [])
        self.assertEqual(ended("compare").stderr.chunks, [])

    def test_prints_lines_without_a_terminal(self):
        said = ended("live").stderr.text()
        self.assertNotRegex(said, r"[\x00-\x09\x0b-\x1f]")
        for rank in range(4):
            self.assertRegex(
                said, rf"(?m)^\[rank {rank}\] (\d+|\?) samples/s, share \d+, waits \d+ %$")

    def test_leaves_what_a_run_leaves(self):
        for name in ("terminal", "json", "live"):
            run = ended(name)
            (events,) = {path.name for path in run.out.glob("events.out.tfevents.*.motley")}
            mode = read_json(run.out / "summary.json")["mode"]
            left = LEFT_BY_A_RUN | {events} | ({"checkpoints"} if mode == "train" else set())
            self.assertEqual({path.name for path in run.out.iterdir()}, left)
            self.assertFalse(run.has_left_processes())


class Times(unittest.TestCase):
    """For every worker, computing, communicating and waiting add up to the run."""

    DOING = ("compute", "communicate", "wait")

    def faults(self, summary, record):
        seconds = summary["seconds"]
        near = functools.partial(math.isclose, rel_tol=0, abs_tol=0.01 * seconds)
        faults = [] if near(record["seconds"], seconds) else ["seconds"]
        for which, workers in (("summary", summary["per_worker"]),
                               ("record", record["per_worker"])):
            for worker in workers:
                parts = [worker[f"{doing}_seconds"] for doing in self.DOING]
                if min(parts) < 0 or not near(sum(parts), seconds):
                    faults.append(f"{which}: worker {worker['rank']}: {parts} of {seconds}")
        for worker in record["per_worker"]:
            for doing in self.DOING:
                if not near(sum(worker[doing]), worker[f"{doing}_seconds"]):
                    faults.append(f"bins: worker {worker['rank']}: {doing}")
            for at, parts in enumerate(zip(*(worker[doing] for doing in self.DOING))):
                if min(parts) < 0 or sum(parts) > 1.01 * record["bins"]["width"]:
                    faults.append(f"bins: worker {worker['rank']}: {at}: {parts}")
        if len(summary["per_worker"]) != len(record["per_worker"]) or not seconds > 0:
            faults.append("workers")
        return faults

    def check(self, out, sync, workers):
        with self.subTest(out=out.name):
            summary, record = read_json(out / "summary.json"), read_json(out / "record.json")
            self.assertEqual(summary["strategy"]["sync"], sync)
            self.assertEqual(len(summary["per_worker"]), workers)
            self.assertEqual(self.faults(summary, record), [])

    def test_add_up_in_every_method(self):
        run = ended("methods")
        self.assertEqual(run.code, 0, run.stderr.text())
        self.assertGreater(len(methods()), 9)
        for name in methods():
            self.check(run.out / name, name, 4)
        self.check(ended("large").out, "partial_reduce", 64)

    def test_add_up_in_real_runs(self):
        for name, sync, workers in (("live", "all_reduce", 4), ("terminal", "hop", 2),
                                    ("json", "local_sgd", 2)):
            self.check(ended(name).out, sync, workers)

    def test_that_do_not_add_up_are_noticed(self):
        out = ended("methods").out / "hop"
        for change in ("record['per_worker'][1]['wait_seconds'] += 0.02 * record['seconds']",
                       "summary['per_worker'][2]['compute_seconds'] *= 0.9",
                       "record['per_worker'][0]['wait'][5] += 0.02 * record['seconds']",
                       "record['per_worker'][3]['compute'][7] = -0.001",
                       "record['seconds'] *= 1.02"):
            summary, record = read_json(out / "summary.json"), read_json(out / "record.json")
            exec(change, {"summary": summary, "record": record})
            self.assertNotEqual(self.faults(summary, record), [], change)


class Trace(InBrowser):
    LOOK = (HERE / "trace_look.js").read_text()

    @classmethod
    def setUpClass(cls):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass
        (cls.folder / "blank.html").write_text("<!doctype html><link rel=icon href='data:,'>")
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=cls.folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.address = f"http://127.0.0.1:{server.server_port}/"

    def look(self, path):
        self.driver.get(self.address + "blank.html")
        return self.driver.execute_async_script(
            self.LOOK + "const [path, done] = arguments;"
            "fetch(path).then((answer) => answer.text()).then(look)"
            ".then(done, (error) => done({error: String(error)}));", path)

    def test_of_64_workers_is_whole(self):
        ended("large")
        seen = self.look("large/trace.json")
        self.assertEqual(seen["names"], ["coordinator", *(f"worker {i}" for i in range(64))])
        self.assertGreater(min(count for name, count in seen["spans"] if "worker" in name), 1000)
        self.assertGreater(seen["arrows"], 1000)
        self.assertGreater(seen["decisions"], 1000)
        self.assertEqual(seen["faults"], {})

    def test_of_real_runs_and_of_servers_is_whole(self):
        ended("live"), ended("terminal"), ended("methods")
        for path, names in (("live", ["coordinator", *(f"worker {i}" for i in range(4))]),
                            ("terminal", ["coordinator", "worker 0", "worker 1"]),
                            ("methods/ps_ssp", ["coordinator", *(f"worker {i}" for i in range(4)),
                                                "server 0"])):
            with self.subTest(path):
                seen = self.look(f"{path}/trace.json")
                self.assertEqual(seen["names"], names)
                self.assertGreater(seen["arrows"], 10)
                self.assertEqual(seen["faults"], {})
        self.assertGreater(self.look("live/trace.json")["decisions"], 0)

    def test_that_is_damaged_is_noticed(self):
        text = (ended("methods").out / "partial_reduce" / "trace.json").read_text()
        self.driver.get(self.address + "blank.html")
        see = lambda trace: self.run_script(
            self.LOOK + "try { return look(arguments[0]).faults; }"
            "catch (error) { return {unread: error.name}; }", trace)
        self.assertEqual(see(text), {})
        for kind, good, bad in (("unread", "]}", "}"), ("no duration", r'"dur":', '"dur":-'),
                                ("arrow without beginning", '"ph":"s"', '"ph":"b"'),
                                ("arrow without end", '"ph":"f"', '"ph":"b"'),
                                ("decision without reason", r'"reason":"[^"]*"', '"reason":""'),
                                ("arrow twice", '"id":2,', '"id":1,'),
                                ("of nobody", '"pid":2,"tid":0,"ts"', '"pid":99,"tid":0,"ts"')):
            with self.subTest(kind):
                damaged, count = re.subn(good, bad, text, count=1)
                self.assertEqual(count, 1)
                self.assertIn(kind, see(damaged))


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
