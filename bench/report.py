#!/usr/bin/python3
"""Makes one table of the results of scripts/bench, and says whether the claims hold.

usage: report.py MEASURED [--out FILE] [--busy BEFORE AFTER]

MEASURED is a directory with the output of the benchmarks:
  all_reduce-*.json            rows of all_reduce_bench
  mpi-*.jsonl                  rows of mpi_all_reduce, one per line
  step-MODEL-ROUND-motley.json summary of `motley train`
  step-MODEL-ROUND-ddp.json    row of ddp_step.py
  simulator.json               row of sim_bench
  controller.json              rows of controller_bench
  mean.json                    rows of mean_bench
  order.json                   rows of order_bench
  codec.json                   rows of codec_bench
  record.json                  row of record_bench
  api.json                     row of api_bench
  state.json                   row of state_bench

Every figure is a ratio, other / motley: above 1, motley is faster. motley and Gloo take turns in the
same processes, motley and DDP run by run; Open MPI is measured in its own run right after. The
spread is the smallest and largest ratio of a single round: if it is wide, the machine was busy.
--busy is the percentage of the cores that other processes used before and after. On a busy machine
the time of a small message can change a hundredfold for one contender and not for the other, so
such a run proves nothing either way. Exit code 1: a required ratio was missed, or a required
measurement is missing.
"""
import argparse
import glob
import json
import os
import re
import statistics
import sys
from dataclasses import asdict, dataclass
from typing import Optional, Tuple

EVENTS_PER_SECOND = 1e6
SIGNALS_PER_SECOND = 2e5
ADDED_US = 50  # to a step, by the controller of partial reduce
FIRST_STEP_MS = 10  # of a data set of 10^9 samples
API_OVERHEAD = 0.02  # of a step
STATE_COPIES = 1.5  # what the cut of a checkpoint may take, in memory copies of the state
RECORDING = 0.01  # of a step of the smallest model, at most
# Relative to a memory copy. Others are measured, but nothing is claimed about them.
CODEC_RATIOS = {("fp16", "encode"): 0.5, ("fp16", "decode"): 0.5, ("bf16", "encode"): 0.5,
                ("bf16", "decode"): 0.5, ("int8", "encode"): 0.25, ("int8", "decode"): 0.25,
                ("topk", "encode"): 0.1}
BUSY_PERCENT = 10  # above it, the figures prove nothing
STEP_MODELS = ("mlp", "cnn")
WORKERS = (2, 4)


@dataclass
class Row:
    bench: str
    what: str
    beside: str
    motley: Optional[float]
    other: float
    unit: str
    ratio: Optional[float]
    spread: Optional[Tuple[float, float]] = None
    required: Optional[float] = None

    def ok(self):
        return self.required is None or (self.ratio is not None and self.ratio >= self.required)

    def verdict(self):
        return "" if self.required is None else "ok" if self.ok() else "SHORT"


def read_files(folder, pattern):
    for path in sorted(glob.glob(os.path.join(folder, pattern))):
        with open(path, encoding="utf-8") as file:
            yield path, file.read()


def size_name(count):
    if count < 1_000_000:
        return f"{count // 1024} KB"
    return f"{count / 1e6:.1f}".removesuffix(".0") + " MB"


def all_reduce_name(workers, count):
    return f"all-reduce {size_name(count)}, {workers} processes"


def gloo_rows(folder):
    for _, text in read_files(folder, "all_reduce-*.json"):
        for row in json.loads(text):
            yield Row("all_reduce", all_reduce_name(row["workers"], row["bytes"]), "Gloo",
                      row["motley_us"], row["gloo_us"], "us", row["ratio"],
                      (row["least_ratio"], row["greatest_ratio"]),
                      2.0 if row["bytes"] == 1_600_000 else 1.0)


def mpi_rows(folder, motley_us):
    """Open MPI starts its own processes, so these are compared with motley's results of the same minute."""
    for _, text in read_files(folder, "mpi-*.jsonl"):
        for row in map(json.loads, text.splitlines()):
            name = all_reduce_name(row["workers"], row["bytes"])
            motley = motley_us.get(name)
            yield Row("all_reduce", name, row["contender"], motley, row["us"], "us",
                      row["us"] / motley if motley else None)


def step_rows(folder):
    """A motley step is seconds / steps of the whole run; DDP's is the mean after its warm-up."""
    for model in STEP_MODELS:
        motley, ddp = [], []
        for path, text in read_files(folder, f"step-{model}-*-*.json"):
            values = json.loads(text)
            if re.search(r"-motley\.json$", path):
                motley.append(1e3 * values["seconds"] / values["steps"])
                workers = values["workers"]
            else:
                ddp.append(1e3 * values["mean_s"])
        if not motley or not ddp:
            continue
        rounds = [other / own for own, other in zip(motley, ddp)]
        own, other = statistics.median(motley), statistics.median(ddp)
        yield Row("step", f"training step of {model}, {workers} workers", "PyTorch DDP, Gloo", own,
                  other, "ms", other / own, (min(rounds), max(rounds)), 1.0)


def simulator_rows(folder):
    for _, text in read_files(folder, "simulator.json"):
        for row in json.loads(text):
            rate = row["events_per_second"]
            yield Row("simulator", f"simulator, {row['workers']} phantom workers", "1 million",
                      rate / 1e6, EVENTS_PER_SECOND / 1e6, "M events/s", rate / EVENTS_PER_SECOND,
                      None, 1.0)


def record_rows(folder):
    """What recording adds to a step, compared with 1 % of a step of mlp in the same run."""
    mlp = [row for row in step_rows(folder) if " mlp" in row.what]
    for _, text in read_files(folder, "record.json") if mlp else ():
        for row in json.loads(text):
            added = max(row["added_us"], 0.01)
            allowed = RECORDING * 1e3 * mlp[0].motley
            yield Row("record", "recording, added to a step", "1 % of a step of mlp", added, allowed,
                      "us", allowed / added, None, 1.0)


def api_rows(folder):
    """What the API adds to a hand-written step."""
    for _, text in read_files(folder, "api.json"):
        for row in json.loads(text):
            by_hand, by_api = row["by_hand_us"], row["by_hand_us"] * (1 + row["added_percent"] / 100)
            yield Row("api", "a step of mlp through the API", "by hand", by_api, by_hand, "us",
                      by_hand / by_api, None, 1 / (1 + API_OVERHEAD))


def state_rows(folder):
    """The cut of a checkpoint. A state is always copied into memory that was not in use."""
    for _, text in read_files(folder, "state.json"):
        for row in json.loads(text):
            what = f"state of {size_name(row['bytes'])}"
            yield Row("state", what, "memory copy, new memory", row["state_ms"], row["copy_ms"], "ms",
                      1 / row["times"], (1 / row["greatest"], 1 / row["least"]), 1 / STATE_COPIES)
            yield Row("state", what, "memory copy, used memory", row["state_ms"], row["warm_copy_ms"],
                      "ms", row["warm_copy_ms"] / row["state_ms"])


def controller_rows(folder):
    for _, text in read_files(folder, "controller.json"):
        for row in json.loads(text):
            if row["bench"] == "controller":
                rate = row["signals_per_second"]
                yield Row("controller", f"controller, {row['workers']} workers, groups of "
                          f"{row['group']}", "200,000", rate / 1e3, SIGNALS_PER_SECOND / 1e3,
                          "k signals/s", rate / SIGNALS_PER_SECOND, None, 1.0)
            else:
                added = max(row["added_us"], 0.1)
                yield Row("controller", "controller, added to a step", f"{ADDED_US} us", added,
                          ADDED_US, "us", ADDED_US / added, None, 1.0)


def mean_rows(folder):
    for _, text in read_files(folder, "mean.json"):
        for row in json.loads(text):
            yield Row("mean", f"mean with {row['neighbours']} neighbours' models", "memory copy",
                      row["mean_gb_per_second"], row["copy_gb_per_second"], "GB/s", row["ratio"],
                      None, 1.0)


def order_rows(folder):
    for _, text in read_files(folder, "order.json"):
        for row in json.loads(text):
            if row["bench"] == "first_step":
                yield Row("order", f"first step of {row['samples']:,} samples", f"{FIRST_STEP_MS} ms",
                          row["ms"], FIRST_STEP_MS, "ms", FIRST_STEP_MS / row["ms"], None, 1.0)
            else:
                yield Row("order", f"order of {row['samples']:,} samples", "shuffled array",
                          row["ns"], row["shuffle_ns"], "ns", row["shuffle_ns"] / row["ns"])


def codec_rows(folder):
    for _, text in read_files(folder, "codec.json"):
        for row in json.loads(text):
            yield Row("codec", f"{row['codec']}, {row['direction']}", "memory copy",
                      row["gb_per_second"], row["copy_gb_per_second"], "GB/s", row["ratio"], None,
                      CODEC_RATIOS.get((row["codec"], row["direction"])))


def number(value):
    return "-" if value is None else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def print_table(rows):
    lines = [("what", "motley", "other", "", "beside", "ratio", "spread", "required", "")]
    for row in rows:
        spread = "" if row.spread is None else f"{row.spread[0]:.2f} .. {row.spread[1]:.2f}"
        required = "" if row.required is None else f">= {row.required:.3g}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append((row.what, number(row.motley), number(row.other), row.unit, row.beside, ratio,
                      spread, required, row.verdict()))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [cell.rjust(width) if i in (1, 2, 5) else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def missing(rows):
    """Claims without a measurement."""
    counts = {bench: sum(row.required is not None and row.bench == bench for row in rows)
              for bench in ("all_reduce", "step", "record", "api", "state", "controller", "mean",
                            "order", "codec", "simulator")}
    wanted = {"all_reduce": 8 * len(WORKERS), "step": len(STEP_MODELS), "record": 1, "api": 1,
              "state": 1, "controller": 3, "mean": 4, "order": 1, "codec": len(CODEC_RATIOS),
              "simulator": 1}
    return [f"{bench}: {counts[bench]} of {wanted[bench]} measured"
            for bench in wanted if counts[bench] < wanted[bench]]


def main():
    parser = argparse.ArgumentParser(description="one table of what the benchmarks measured")
    parser.add_argument("measured")
    parser.add_argument("--out", help="write the rows here as JSON")
    parser.add_argument("--busy", type=int, nargs=2, default=[0, 0], metavar=("BEFORE", "AFTER"))
    options = parser.parse_args()
    gloo = list(gloo_rows(options.measured))
    mpi = list(mpi_rows(options.measured, {row.what: row.motley for row in gloo}))
    rows = gloo + mpi + [row for rows_of in (step_rows, record_rows, api_rows, state_rows,
                                                 controller_rows, mean_rows, order_rows, codec_rows,
                                                 simulator_rows)
                         for row in rows_of(options.measured)]
    print_table(rows)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"cores": os.cpu_count(), "busy_percent": options.busy,
                       "evidence": max(options.busy) <= BUSY_PERCENT,
                       "rows": [{**asdict(row), "ok": row.ok()} for row in rows]}, file, indent=1)
            file.write("\n")
    short = [row.what for row in rows if not row.ok()]
    gaps = missing(rows)
    for gap in gaps:
        print(f"missing: {gap}")
    for what in short:
        print(f"below the requirement: {what}")
    if max(options.busy) > BUSY_PERCENT:
        print(f"warning: others used {options.busy[0]}% of the cores before and {options.busy[1]}% "
              "after: the figures prove nothing; measure again on a quiet machine")
    return 1 if short or gaps else 0


if __name__ == "__main__":
    sys.exit(main())
