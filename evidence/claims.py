"""What was published, what motley promises, and how each is measured.

Every measure takes the runs of one seed, {variant: Run}, and returns a number, or None if a run did not
reach what is measured. A claim holds if the mean over the seeds is within its bounds. A claim without
bounds is only reported.
"""
from dataclasses import dataclass
from typing import Callable, Optional


@dataclass(frozen=True)
class Claim:
    plan: str
    what: str
    published: str
    measure: Callable[[dict], Optional[float]]
    unit: str  # "x" | "%" | "s" | "points" | "GB"
    least: Optional[float] = None
    most: Optional[float] = None

    def holds(self, value):
        if self.least is None and self.most is None:
            return True
        return (
            value is not None
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )


def ratio(above, below):
    return above / below if above is not None and below else None


def saved(slow, fast):
    """The time that `fast` saves compared with `slow`, in percent, at equal samples."""
    return lambda runs: 100 * (1 - runs[fast].seconds / runs[slow].seconds)


def faster(fast, slow):
    return lambda runs: runs[fast].rate / runs[slow].rate


def iterates_faster(fast, slow):
    return lambda runs: runs[fast].iteration_rate() / runs[slow].iteration_rate()


def sooner(fast, *others):
    """The time to the target of the best of the others, divided by that of `fast`."""

    def measure(runs):
        times = [runs[other].time_to_target for other in others]
        reached = [time for time in times if time is not None]
        return ratio(min(reached), runs[fast].time_to_target) if reached else None

    return measure


def saved_to_target(slow, fast):
    def measure(runs):
        part = ratio(runs[fast].time_to_target, runs[slow].time_to_target)
        return None if part is None else 100 * (1 - part)

    return measure


def sooner_to_loss(fast, slow):
    """The same for the time to the loss that `slow` has after three quarters of its run."""

    def measure(runs):
        loss = runs[slow].loss_at(0.75)
        return ratio(runs[slow].time_to_loss(loss), runs[fast].time_to_loss(loss))

    return measure


def points(one, other):
    return lambda runs: 100 * (runs[one].accuracy - runs[other].accuracy)


def seconds_a_step(variant):
    return lambda runs: runs[variant].seconds / runs[variant].summary["per_worker"][0]["steps"]


def slowest_per_sample(than, besides):
    """The additional time per sample of the slowest of the other runs, in percent."""

    def measure(runs):
        rates = [run.rate for name, run in runs.items() if name not in besides]
        return 100 * (runs[than].rate / min(rates) - 1)

    return measure


def best_to_target(than):
    """The time to the target of `than`, divided by that of the fastest run."""

    def measure(runs):
        reached = [run.time_to_target for run in runs.values() if run.time_to_target is not None]
        return ratio(runs[than].time_to_target, min(reached, default=None))

    return measure
