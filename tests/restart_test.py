"""What docs/elastic.md claims of sixteen spot machines, in virtual time: how much of the work that the
machines could have done is done, and how that compares with restarting from the last checkpoint.

usage: restart_test.py MOTLEY
"""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "evidence"))
import restart  # noqa: E402

SECONDS = 600


class Spot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.simulator = restart.Simulator(MOTLEY)
        cls.job = restart.job_of(ROOT / "scenarios" / "spot.toml")
        cls.runs = {name: restart.going_on(cls.simulator, cls.job, name, SECONDS)
                    for name in ("adsp", "all_reduce, adaptive")}
        cls.machines = restart.Machines.of(cls.runs["all_reduce, adaptive"]["members"])

    def test_loses_a_machine_a_minute(self):
        losses = [at for at, _, joins in self.machines.events if not joins and at < SECONDS]
        self.assertGreaterEqual(len(losses), SECONDS / 60)

    def test_does_most_of_the_work_that_the_machines_could_do(self):
        self.assertGreater(self.runs["adsp"]["efficiency"], 0.9)
        self.assertGreater(self.runs["all_reduce, adaptive"]["efficiency"], 0.8)

    def test_is_twice_as_fast_as_restarting_whether_newcomers_wait_or_not(self):
        for wait in (False, True):
            with self.subTest(newcomers_wait=wait):
                run = restart.RestartedRun(self.simulator, self.job, self.machines,
                                           restart.Restarting(newcomers_wait=wait))
                goodput = run.goodput(SECONDS)
                self.assertGreater(run.restarts, 4)
                self.assertGreater(goodput, 0)  # otherwise the factor says nothing
                rate = self.runs["all_reduce, adaptive"]["samples_per_second"]
                self.assertGreater(rate, 2 * goodput)


class Model(unittest.TestCase):
    """The model of restarting itself, without losses and with one."""

    @classmethod
    def setUpClass(cls):
        cls.simulator = restart.Simulator(MOTLEY)
        cls.job = restart.job_of(ROOT / "scenarios" / "spot.toml")
        cls.job["cluster"].update(workers=4, speeds=[1, 1, 1, 1])

    def goodput(self, *events, **assumed):
        machines = restart.Machines(frozenset(range(4)), events)
        run = restart.RestartedRun(self.simulator, self.job, machines,
                                   restart.Restarting(**assumed))
        return run.goodput(200), run

    def test_without_losses_it_is_as_fast_as_any_run(self):
        goodput, run = self.goodput(interval=50)
        self.assertEqual(run.restarts, 0)
        self.assertAlmostEqual(goodput * run.seconds_of_a_step / 512, 1, delta=0.02)

    def test_a_loss_costs_the_restart_and_what_was_not_saved(self):
        undisturbed, run = self.goodput(interval=50)
        step = run.seconds_of_a_step
        goodput, run = self.goodput((130.0, 3, False), (131.0, 3, True), interval=50, restart=20)
        self.assertEqual(run.restarts, 1)
        # Steps of the checkpoint at 100 s, and those of the last 50 s.
        every = round(50 / step)
        self.assertAlmostEqual(goodput * 200 / 512, 2 * every + 50 / step, delta=1.5)
        self.assertLess(goodput, 0.8 * undisturbed)

    def test_a_loss_during_a_restart_begins_it_anew_and_newcomers_restart_it(self):
        machines = restart.Machines(frozenset(range(4)),
                                    ((10.0, 0, False), (25.0, 1, False), (60.0, 0, True)))
        self.assertEqual(machines.ready(10.0, 20), 45.0)
        self.assertEqual(machines.at(45.0), {2, 3})
        self.assertEqual(machines.next_end(45.0, {2, 3}, newcomers_wait=False), 60.0)
        self.assertIsNone(machines.next_end(45.0, {2, 3}, newcomers_wait=True))


if __name__ == "__main__":
    MOTLEY = sys.argv.pop(1)
    unittest.main()
