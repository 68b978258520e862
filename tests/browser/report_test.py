"""The report and the live page in a real browser.

usage: report_test.py PAGE_SAMPLES [unittest's arguments]
"""
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import browser  # noqa: E402

WIDTHS = (1280, 390)
ALL_OF_ONE = ["accuracy", "behind", "bytes", "loss", "shares", "throughput", "timeline",
              "worker-time"]
LARGEST_REPORT = 5_000_000  # bytes
LONGEST_LOAD = 2000         # milliseconds, from the start of navigation until everything is drawn
PATIENCE = 20               # seconds to wait for a condition

# Every chart that is shown: its name, its sentence, and the coloured share of the plot (axes and
# grid are grey). Samples one pixel in five of a copy: reading a canvas changes how the browser
# stores it.
CHARTS = """
const shown = [...document.querySelectorAll('canvas')].filter((c) => c.getClientRects().length);
return shown.map((c) => {
  const chart = Chart.getChart(c);
  const {left, top, width, height} = chart.chartArea;
  const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {willReadFrequently: true});
  copy.drawImage(c, 0, 0);
  const data = copy.getImageData(left, top, width, height).data;
  let coloured = 0;
  for (let i = 0; i < data.length; i += 20) {
    const spread = Math.max(data[i], data[i + 1], data[i + 2]) -
        Math.min(data[i], data[i + 1], data[i + 2]);
    coloured += data[i + 3] > 128 && spread > 60;
  }
  return {id: c.closest('figure').id, role: c.getAttribute('role'),
          label: c.getAttribute('aria-label'), coloured: 20 * coloured / data.length,
          plot: width * height, points: chart.data.datasets.map((set) => set.data.length)};
});
"""

# Opens the tables behind all charts; returns the number of rows and columns of each.
TABLES = """
const tables = [...document.querySelectorAll('figure.card:not([hidden]) details')];
const shown = tables.filter((t) => t.getClientRects().length);
shown.forEach((t) => { t.open = true; });
const done = arguments[0];
setTimeout(() => done(shown.map((t) => ({
  id: t.closest('figure').id, rows: t.querySelectorAll('tbody tr').length,
  caption: (t.querySelector('caption') || {}).textContent,
  empty: [...t.querySelectorAll('td, th')].filter((cell) => cell.textContent === '').length,
  columns: t.querySelectorAll('thead th').length}))), 0);
"""


def setUpModule():
    Pages.folder = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    subprocess.run([SAMPLES, Pages.folder], check=True)
    Pages.driver = unittest.enterModuleContext(browser.chromium())  # shared by all tests


class Pages(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(self.complaints(), [], "in the console")

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def run_script(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, name, width=1280, dark=False):
        self.width = width
        browser.set_screen(self.driver, width, dark=dark)
        self.driver.get((self.folder / name).as_uri())

    def until(self, script, *arguments):
        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(
            lambda _: self.run_script(script, *arguments), f"never true: {script}")

    def text(self, selector):
        return self.run_script("return document.querySelector(arguments[0]).textContent", selector)

    def check_charts(self, expected):
        charts = self.run_script(CHARTS)
        self.assertEqual(sorted(chart["id"] for chart in charts), sorted(expected))
        for chart in charts:
            with self.subTest(chart=chart["id"]):
                self.assertEqual(chart["role"], "img")
                self.assertRegex(chart["label"], r"^[A-Z].* .*[0-9].*\.$")
                self.assertGreater(chart["coloured"], 0.002)
                self.assertGreater(chart["plot"], 10_000)
        return {chart["id"]: chart for chart in charts}

    def check_tables(self, expected):
        tables = self.driver.execute_async_script(TABLES)
        self.assertEqual(sorted(table["id"] for table in tables), sorted(expected))
        for table in tables:
            with self.subTest(table=table["id"]):
                self.assertGreater(table["rows"], 2)
                self.assertGreater(table["columns"], 1)
                self.assertEqual(table["empty"], 0)
                self.assertTrue(table["caption"])

    def check_width(self):
        """Compares with the screen, because a phone makes its window as wide as the page."""
        self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"),
                             self.width)

    def check_page(self, expected):
        """Checks what holds for every page: charts, tables, no overflow, nothing fetched."""
        charts = self.check_charts(expected)
        self.check_tables(expected)
        self.check_width()
        self.assertEqual(self.run_script("return document.querySelectorAll('img').length"), 0)
        self.assertEqual(self.run_script(
            "return performance.getEntriesByType('resource').map((entry) => entry.name)"
            ".filter((name) => !name.startsWith('data:'))"), [])
        return charts


class Report(Pages):
    def test_of_one_run_shows_every_chart(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                self.open("one.html", width)
                charts = self.check_page(ALL_OF_ONE)
                self.assertEqual(charts["accuracy"]["points"], [24, 2])
        run = self.run_script("return JSON.parse(document.getElementById('runs').textContent)[0]")
        last = run["metrics"][-1]
        self.assertIn(f"Accuracy reaches {last['accuracy']:.3f} after {last['seconds']:.1f} s",
                      charts["accuracy"]["label"])
        self.assertEqual(self.text("h1"), run["name"])
        self.assertIn(run["straggler"]["reason"], self.text(".callout.warn"))
        self.assertEqual(self.text("#job pre"), run["job"])
        self.assertIn("libtorch 1.13.1", self.text(".facts"))
        self.assertIn("simulator version 2", self.text(".facts"))

    def test_switches_the_axis_to_samples(self):
        self.open("one.html")
        last = "return Chart.getChart(document.querySelector('#loss canvas')).data.datasets[0]" \
               ".data.at(-1).x"
        self.assertAlmostEqual(self.run_script(last), 12.3)
        self.run_script("document.querySelector('input[value=samples]').click()")
        self.assertGreater(self.run_script(last), 1000)
        self.assertIn("samples", self.text("#accuracy .say"))

    def test_of_several_runs_compares_them(self):
        overlaid = ["accuracy-all", "loss-all", "throughput-all"]
        for width in WIDTHS:
            with self.subTest(width=width):
                self.open("compare.html", width)
                charts = self.check_page(overlaid + [one for one in ALL_OF_ONE if one != "behind"])
                self.assertEqual(charts["accuracy-all"]["points"], [24, 24, 24, 2])
        rows = [row.text for row in
                self.driver.find_elements(By.CSS_SELECTOR, "#comparison tbody tr")]
        self.assertEqual(len(rows), 4)
        self.assertIn("1.00×", rows[0])
        self.assertRegex(rows[1], r"adaptive .*76 %.* [2-9]\.\d\d×")
        self.assertIn("failed: worker 2 (pid 71) was killed by SIGKILL", rows[2])
        self.assertNotIn("–", rows[2])  # the reason takes the place of the figures
        self.assertIn("together", self.text("#behind"))
        # Another run in detail, and the failed one, which has nothing to draw.
        self.run_script("document.querySelectorAll('#comparison button')[3].click()")
        self.assertEqual(self.text(".chooser + div h2"), "partial_reduce")
        self.check_charts(overlaid + ALL_OF_ONE)
        self.run_script("document.querySelectorAll('#comparison button')[2].click()")
        self.check_charts(overlaid)

    def test_of_a_phantom_says_why_there_is_no_accuracy(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                self.open("phantom.html", width)
                self.check_page([one for one in ALL_OF_ONE
                                 if one not in ("accuracy", "loss", "behind")])
        self.assertIn("never evaluated", self.text("#accuracy"))

    def test_of_64_workers_is_small_and_opens_soon(self):
        self.assertLess((self.folder / "large.html").stat().st_size, LARGEST_REPORT)
        loads = []
        for width in WIDTHS:
            with self.subTest(width=width):
                self.open("large.html", width)
                loads.append(self.run_script(
                    "return performance.getEntriesByType('navigation')[0].loadEventEnd"))
                self.check_page(ALL_OF_ONE)
        self.assertLess(min(loads), LONGEST_LOAD)  # other tests may have slowed one of them down

    def test_of_thousands_of_workers_keeps_rows_that_can_be_read(self):
        self.open("huge.html")
        self.check_charts([one for one in ALL_OF_ONE if one != "behind"])
        rows = "return Chart.getChart(document.querySelector('#timeline canvas')).cells" \
               ".groups.length"
        self.assertLessEqual(self.run_script(rows), 80)
        self.assertIn("mean of 52 workers", self.text("#timeline .say"))
        self.run_script("document.querySelector('#timeline input[value=waiting]').click()")
        self.run_script("document.querySelector('#timeline .canvas').dispatchEvent("
                        "new KeyboardEvent('keydown', {key: 'ArrowDown'}))")
        self.assertRegex(self.text("#timeline output"), "^52 workers that wait")

    # The colour of the timeline at a moment (seconds), in the middle of a row or in its gap.
    PIXEL = """
    const chart = Chart.getChart(document.querySelector('#timeline canvas'));
    const {left, top} = chart.chartArea;
    const x = chart.scales.x.getPixelForValue(arguments[0]);
    const y = chart.scales.y.getPixelForValue(arguments[1]);
    const copy = new OffscreenCanvas(chart.canvas.width, chart.canvas.height).getContext('2d');
    copy.drawImage(chart.canvas, 0, 0);
    const ratio = chart.currentDevicePixelRatio;
    return [...copy.getImageData(x * ratio, y * ratio, 1, 1).data];
    """

    def read_cell(self, row, seconds):
        self.run_script(
            "const {cells} = Chart.getChart(document.querySelector('#timeline canvas'));"
            "cells.point({row: arguments[0], bin: Math.floor(arguments[1] / cells.run.binWidth)});",
            row, seconds)
        return self.text("#timeline output")

    def test_of_members_that_come_and_go_says_when_and_why(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                self.open("elastic.html", width)
                self.check_page([one for one in ALL_OF_ONE if one != "behind"])
        self.open("elastic.html")
        seconds = 246 * 0.05
        lost, back, came = (part * seconds for part in (0.3, 0.5, 0.65))
        self.assertRegex(self.text("#timeline .say"),
                         "5 workers .* 1 time a worker was lost or left, 2 times one joined")
        # Nothing is drawn while a worker is absent; lines show why terms begin.
        nothing = self.run_script(self.PIXEL, (lost + back) / 2 + 0.1, -0.49)
        for row, moment, is_drawn in ((1, 0.5 * lost, True), (1, 0.45 * seconds, False),
                                      (1, 0.8 * seconds, True), (4, 0.5 * seconds - 0.3, False),
                                      (4, 0.9 * seconds, True)):
            with self.subTest(row=row, moment=moment):
                pixel = self.run_script(self.PIXEL, moment, row + 0.3)
                self.assertEqual(pixel != nothing, is_drawn, pixel)
        legend = self.text("#timeline .legend")
        for cause in ("a loss", "a newcomer", "a checkpoint"):
            self.assertIn(f"term begins: {cause}", legend)
        self.assertNotIn("connection", legend)
        self.assertRegex(self.read_cell(1, 0.45 * seconds), "^Worker 1, .* s: absent$")
        self.assertRegex(self.read_cell(1, lost + 0.001),
                         r"gone from 3\.69 s on \(was killed by SIGKILL\); term 1 begins at "
                         r"3\.69 s, a loss \(goes on without worker 1: step 17 is done again\)$")
        self.assertRegex(self.read_cell(4, came + 0.001), "^Worker 9, .*; joins at 8.00 s; term 4")
        members = self.text("#members tbody")
        self.assertIn("worker 10.003.69was killed by SIGKILL", members)
        self.assertIn("worker 16.15–joined", members)
        self.assertIn("loss", self.text("#terms tbody tr:nth-child(2)"))
        self.assertIn("step 17 is done again", self.text("#terms tbody tr:nth-child(2)"))

    def test_of_members_that_stay_has_no_lists_of_them(self):
        self.open("one.html")
        for card in ("#members", "#terms"):
            self.assertTrue(self.run_script("return document.querySelector(arguments[0]).hidden",
                                            card))
        self.assertNotIn("term begins", self.text("#timeline .legend"))

    def test_takes_text_as_text(self):
        several = ["accuracy-all", "loss-all", "throughput-all"]
        pages = (("hostile.html", 1280, []), ("hostile_compare.html", 390, several))
        for name, width, more in pages:
            with self.subTest(name=name):
                self.open(name, width)
                run = self.run_script(
                    "return JSON.parse(document.getElementById('runs').textContent)[0]")
                self.assertIn("</script><img src=x onerror=alert(1)>", run["name"])
                self.assertIn("{{runs}}", run["name"])
                self.assertEqual(self.text("h1"), run["name"])
                self.assertEqual(self.text("#job pre"), run["job"])
                self.check_page(ALL_OF_ONE + more)
                self.assertEqual(self.run_script("return document.scripts.length"), 3)

    def test_reads_odd_documents_as_far_as_they_go(self):
        self.open("failed.html")
        run = {"name": None, "state": "running", "seconds": 2, "bins": {"width": 1, "count": -3}}
        for odd in ({}, None, "x", run, {**run, "per_worker": [{}, None, {"compute": [1, "x"]}]},
                    {**run, "metrics": [None, {}, {"seconds": 1, "accuracy": "high"}]},
                    {**run, "throughput": [None, 1], "behind": {}, "straggler": 3, "method": [1]},
                    {**run, "members": [{}, None, {"worker": 1, "joined": "x", "left": 1}],
                     "terms": [None, {"seconds": 1}, {"seconds": "x", "cause": 3}],
                     "per_worker": [{"rank": 1, "compute": [1, 2]}]},
                    {**run, "behind": {"what": None, "counts": [0, 2]}, "decisions": [{}, 1]}):
            with self.subTest(document=odd):
                self.run_script("const page = document.getElementById('page');"
                                "page.replaceChildren(); showReport(page, [arguments[0]]);", odd)
                self.assertTrue(self.text("h1"))
                self.driver.execute_async_script(TABLES)

    def test_legend_switches_lines_off_and_on(self):
        self.open("one.html")
        hidden = "return Chart.getChart(document.querySelector('#loss canvas')).data.datasets" \
                 ".map((set) => set.hidden)"
        button = self.driver.find_elements(By.CSS_SELECTOR, "#loss .legend button")[1]
        for pressed, expected in (("false", [False, True]), ("true", [False, False])):
            button.send_keys("\n")
            self.assertEqual(self.run_script(hidden), expected)
            self.assertEqual(button.get_attribute("aria-pressed"), pressed)

    def test_of_a_run_that_failed_at_once_says_why(self):
        self.open("failed.html", 390)
        self.check_charts([])
        self.assertIn("killed by SIGKILL", self.text(".callout.bad"))

    def test_follows_the_scheme(self):
        look = """const axis = Chart.getChart(document.querySelector('#loss canvas')).scales.x;
            return [document.documentElement.dataset.scheme, axis.options.ticks.color,
                    getComputedStyle(document.body).backgroundColor];"""
        self.open("one.html", dark=True)
        dark = self.run_script(look)
        self.check_charts(ALL_OF_ONE)
        browser.set_screen(self.driver, 1280, dark=False)
        self.until("return document.documentElement.dataset.scheme === 'light'")
        light = self.run_script(look)
        self.assertEqual(dark[0], "dark")
        self.assertTrue(all(a != b for a, b in zip(light, dark)), (light, dark))
        self.run_script("document.querySelector('input[value=dark]').click()")
        self.assertEqual(self.run_script(look), dark)
        self.run_script("document.querySelector('input[value=auto]').click()")

    def test_can_be_read_with_keys(self):
        self.open("one.html")
        for _ in range(2):
            self.driver.find_element(By.CSS_SELECTOR, "#timeline .canvas").send_keys("\ue014")
        self.assertRegex(self.text("#timeline output"),
                         r"^Worker 0, 0\.05 to 0\.10 s: computing [0-9]+ %")
        shown = len(self.driver.find_elements(By.CSS_SELECTOR, "#decisions tbody tr"))
        self.driver.find_element(By.CSS_SELECTOR, "#decisions button").send_keys("\n")
        self.assertGreater(len(self.driver.find_elements(By.CSS_SELECTOR, "#decisions tbody tr")),
                           shown)


class Stream:
    """Serves the live page and the newest document, until it is told to refuse."""

    def __init__(self, page):
        self.changed = threading.Condition()
        self.number, self.document = 0, None
        self.refuses, self.refused, self.streams = False, 0, 0
        stream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                stream.answer(self, page)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def show(self, document):
        with self.changed:
            self.number, self.document = self.number + 1, document
            self.changed.notify_all()

    def refuse(self, refuses):
        with self.changed:
            self.refuses = refuses
            self.changed.notify_all()

    def answer(self, request, page):
        is_page = request.path == "/"
        request.send_response(200 if is_page or not self.refuses else 503)
        request.send_header("Content-Type", "text/html" if is_page else "text/event-stream")
        request.end_headers()
        if is_page:
            request.wfile.write(page)
        elif not self.refuses:
            self.streams += 1
            self.stream(request)
        else:
            with self.changed:
                self.refused += 1
                self.changed.notify_all()

    def until_refused(self):
        with self.changed:
            return self.changed.wait_for(lambda: self.refused > 0, PATIENCE)

    def stream(self, request):
        shown = 0
        request.wfile.write(b"retry: 100\n\n")
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.refuses or self.number > shown)
                if self.refuses:
                    return
                shown, document = self.number, self.document
            try:
                request.wfile.write(b"data: " + document + b"\n\n")
            except OSError:
                return  # the browser has disconnected

    def end(self):
        self.refuse(True)
        self.server.shutdown()
        self.server.server_close()


class Live(Pages):
    POINTS = "return Chart.getChart(document.querySelector('#accuracy canvas')).data.datasets[0]" \
             ".data.length === arguments[0]"

    def setUp(self):
        self.documents = [(self.folder / f"live-{i}.json").read_bytes() for i in range(4)]
        self.stream = Stream((self.folder / "live.html").read_bytes())
        self.addCleanup(self.stream.end)
        self.addCleanup(self.driver.get, "about:blank")  # first, so that it does not try to reconnect

    def points_of(self, number):
        return len(json.loads(self.documents[number])["metrics"])

    def follow(self, width):
        self.width = width
        browser.set_screen(self.driver, width)
        self.driver.get(self.stream.address)

    def test_page_follows_a_run_to_its_end(self):
        self.follow(1280)
        self.until("return document.querySelector('#connection').textContent.startsWith('Waiting')")
        self.stream.show(self.documents[0])
        self.until("return document.querySelector('.state')?.textContent === 'running'")
        self.assertIn("not been evaluated", self.text("#accuracy"))
        self.stream.show(self.documents[1])
        self.until("const c = document.querySelector('#accuracy canvas');"
                   "return c.getClientRects().length > 0")
        self.until(self.POINTS, self.points_of(1))
        self.assertIn("left", self.text(".progress"))
        self.run_script("window.first = Chart.getChart(document.querySelector('#timeline canvas'));"
                        "document.querySelector('#timeline details').open = true;")
        self.stream.show(self.documents[2])
        self.until(self.POINTS, self.points_of(2))
        self.check_charts(ALL_OF_ONE)
        # The same charts with more data; an open table stays open.
        self.assertTrue(self.run_script(
            "return first === Chart.getChart(document.querySelector('#timeline canvas'))"))
        self.assertEqual(self.run_script("return Object.keys(Chart.instances).length"),
                         len(ALL_OF_ONE))
        self.assertEqual(self.run_script(
            "return document.querySelectorAll('#timeline tbody tr').length"), 4)
        self.assertEqual(self.text("#members tbody tr:last-child"), "worker 16.15–joined")
        self.stream.show(self.documents[3])
        self.until("return document.querySelector('#connection').textContent.includes('has ended')")
        self.assertEqual(self.text(".state"), "done")
        self.assertTrue(self.run_script("return document.querySelector('.progress').hidden"))
        self.check_charts(ALL_OF_ONE)
        # A worker that came meanwhile has a row.
        self.assertEqual(self.run_script(
            "return document.querySelectorAll('#timeline tbody tr').length"), 5)
        self.assertEqual(self.text("#members tbody tr:last-child"), "worker 98.00–joined")
        self.assertEqual(self.stream.streams, 1)

    def test_late_joiner_sees_the_whole_run(self):
        self.stream.show(self.documents[2])
        self.follow(390)
        self.until("return document.querySelector('.state')?.textContent === 'running'")
        self.assertTrue(self.run_script(self.POINTS, self.points_of(2)))
        self.check_charts(ALL_OF_ONE)
        self.check_width()

    def test_lost_connection_is_said_and_tried_again(self):
        self.stream.show(self.documents[1])
        self.follow(1280)
        self.until("return document.querySelector('.state')?.textContent === 'running'")
        self.stream.refuse(True)
        self.until("return document.querySelector('#connection').textContent.includes('lost')")
        self.assertEqual(self.text(".state"), "running")
        # After a refusal the browser does not reconnect by itself; the page does.
        self.assertTrue(self.stream.until_refused())
        self.stream.show(self.documents[2])
        self.stream.refuse(False)
        self.until(self.POINTS, self.points_of(2))
        self.assertTrue(self.run_script("return document.querySelector('#connection').hidden"))
        self.complaints()  # the browser itself reports the refusals


if __name__ == "__main__":
    SAMPLES = sys.argv.pop(1)
    unittest.main()
