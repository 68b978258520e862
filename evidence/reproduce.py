"""Measures the main claims of the published systems with motley's simulator and writes docs/results.md.

usage: reproduce.py [--quick] [--motley PROGRAM] [--page FILE] [--runs DIR]

Exit code 1: a figure misses its promise, or a run failed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import sys
import tempfile
import time

import chart
import page
import scale
from experiments import all_experiments
from runs import RunError, Runner

PICTURES = "pictures"
LEAST_IN_PICTURES = 0.7


def arguments():
    parser = argparse.ArgumentParser(description="Reproduces the published figures.")
    parser.add_argument("--quick", action="store_true", help="one seed, smaller runs; writes no page")
    parser.add_argument("--motley", default="build/motley", help="the motley program")
    parser.add_argument("--page", default="docs/results.md", help="where the results go")
    parser.add_argument("--runs", help="keep the run directories here")
    return parser.parse_args()


def draw(experiment, runner, directory):
    """Writes the picture of an experiment's first seed; returns its path relative to the page."""
    if not experiment.picture:
        return None
    plan, variants = experiment.picture
    seed = experiment.plans[plan].seeds[0]
    lines = {v: chart.points_of(runner.directory(plan, seed, v)) for v in variants}
    path = f"{PICTURES}/{plan}.svg"
    (directory / PICTURES).mkdir(exist_ok=True)
    (directory / path).write_text(chart.draw(lines, least=LEAST_IN_PICTURES))
    return path


def opening(quick, minutes, cores):
    return f"""# Results

This page compares what the published systems claim with what motley measures of the same methods. The protocol code is the one that
trains for real; it runs on the simulator's virtual clock ([simulator.md](simulator.md) says how close that is to real runs). A
figure is the mean over the seeds, with the least and the greatest in brackets. *promised* is what motley requires of itself:
`scripts/reproduce` fails if a figure does not meet it.

    scripts/reproduce        # this page: {minutes:.0f} minutes on {cores} cores
    scripts/reproduce --quick  # one seed, smaller runs, no page

Every table has the command that makes its rows; the job files are in [scenarios/](../scenarios). Seconds are simulated and
do not depend on the machine, except for those of the last section, which are real.

Figures are of version 2 of the simulator and of 0.2.0's order of samples. Compared with [version 1](simulator.md#versions), where links were not shared, rings take
as long as before and methods with servers take longer: with one server and identical machines 6,489 samples per second instead of 7,100, in the mix 9,619 instead of 10,400 (`ps_asp`) and
3,626 instead of 4,276 (`ps_ssp`). So partial reduce gains more against the best of them (1.82x instead of 1.37x). Times to an accuracy or a loss also changed with the order of samples; with
it, Hop with staleness 5 does not reach the training loss of its table with every seed, which it did before (1.24x)."""


def verdict(rows, seconds):
    """Prints what was measured; returns the exit code."""
    print(page.table(rows))
    missed = [row for row in rows if not row.holds]
    for row in missed:
        print(f"missed: {row.claim.what}: {row.figure()}, {page.promise(row.claim)} was promised",
              file=sys.stderr)
    print(f"{len(rows)} figures in {seconds:.0f} s, {len(missed)} missed")
    return 1 if missed else 0


def main():
    options = arguments()
    began = time.monotonic()
    target = pathlib.Path(options.page)
    target.parent.mkdir(parents=True, exist_ok=True)
    experiments = all_experiments(options.quick)
    plans = {name: plan for each in experiments for name, plan in each.plans.items()}
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(options.motley, pathlib.Path(options.runs or scratch))
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            growing = beside.submit(scale.measure, options.motley, True) if options.quick else None
            runs = runner.run(plans)
        measured = {
            each.title: [page.Measured(claim, runs[claim.plan]) for claim in each.claims]
            for each in experiments
        }
        # These are seconds of a real clock, so for the page nothing else may run beside them.
        grown = growing.result() if growing else scale.measure(options.motley, False)
        if not options.quick:
            sections = [
                page.section(each, measured[each.title], runs, draw(each, runner, target.parent))
                for each in experiments
            ]
            minutes = (time.monotonic() - began) / 60
            target.write_text("\n\n".join(
                [opening(options.quick, minutes, runner.jobs), *sections, scale.section(grown)]) + "\n")
    rows = [row for each in measured.values() for row in each] + scale.claims(grown)
    return verdict(rows, time.monotonic() - began)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RunError as error:
        print(f"reproduce: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        os._exit(130)
