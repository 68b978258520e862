#!/usr/bin/python3
"""Runs a command as the 4 tasks of a Slurm job, on a private Slurm that consists of this machine.
usage: slurm.py COMMAND...      exit code: srun's; 77: Slurm cannot be started here

Uses Debian's munged, slurmctld and slurmd with a temporary directory and their own ports; a Slurm that the
machine may already have is not touched. Needs root. The daemons always end with this process, even if it is
killed: everything started here, including daemons that left their parents, stays a descendant of a process
that kills the rest."""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TASKS = 4
SKIPPED = 77
PATIENCE = 30  # seconds for a daemon to become ready; one or two are normal
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None)

CONFIGURATION = """
ClusterName=motley
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SelectType=select/linear
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
KillWait=5
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=10 State=UP
"""


class CannotStart(Exception):
    pass


def why_not():
    """Why Slurm cannot be started here; empty if it can."""
    missing = [name for name in ("munged", "slurmctld", "slurmd", "srun") if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)} not installed"
    return "" if os.geteuid() == 0 else "needs root"


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def descendants():
    """The descendants of this process, from /proc."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended in the meantime
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(entry)] = int(parent)

    def comes_from_here(pid):
        while pid in parents:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    return [pid for pid in parents if comes_from_here(pid)]


def reap():
    with contextlib.suppress(ChildProcessError):  # there are no more children
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def kill_all():
    """Repeats until nothing is left: processes that die may leave children to this one."""
    deadline = time.monotonic() + PATIENCE
    while (left := descendants()) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap()
    reap()


class Slurm:
    def __init__(self, directory):
        self.directory = directory
        self.environment = {**os.environ, "SLURM_CONF": self.path("slurm.conf")}

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, *command, **where):
        """Starts a process that dies with this one."""
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, env=self.environment,
            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), **where
        )

    def start_daemon(self, *command):
        """Starts a daemon in the foreground with its output in a file."""
        with open(self.path(command[0] + ".log"), "w", encoding="utf-8") as log:
            return self.start(*command, stdout=log, stderr=log)

    def wait(self, daemon, ready):
        deadline = time.monotonic() + PATIENCE
        while not ready():
            ended = daemon.poll() is not None
            if ended or time.monotonic() > deadline:
                name = daemon.args[0]
                with open(self.path(name + ".log"), encoding="utf-8") as log:
                    words = "".join(log.readlines()[-10:])
                raise CannotStart(f"{name} {'ended' if ended else 'is not ready'}\n{words}")
            time.sleep(0.02)

    def ask(self, *command):
        done = subprocess.run(command, env=self.environment, text=True, capture_output=True, timeout=PATIENCE)
        return done.stdout.strip() if done.returncode == 0 else None

    def begin(self):
        os.chmod(self.directory, 0o711)  # munge requires its socket to be reachable by all users
        for name in ("state", "spool"):
            os.mkdir(self.path(name))
        with open(os.open(self.path("munge.key"), os.O_CREAT | os.O_WRONLY, 0o400), "wb") as key:
            key.write(os.urandom(64))
        host = socket.gethostname().partition(".")[0]
        controller_port, node_port = free_ports(2)
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(host=host, directory=self.directory,
                                            controller_port=controller_port, node_port=node_port))

        files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid",
                 "seed-file": "munge.seed", "log-file": "munge.log"}
        munged = self.start_daemon("munged", "--foreground",
                                   *(f"--{option}={self.path(name)}" for option, name in files.items()))
        self.wait(munged, lambda: os.path.exists(self.path("munge.socket")))

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", controller_port)) == 0

        controller = self.start_daemon("slurmctld", "-D", "-c", "-f", self.path("slurm.conf"))
        self.wait(controller, listens)
        node = self.start_daemon("slurmd", "-D", "-N", host, "-f", self.path("slurm.conf"))
        self.wait(node, lambda: self.ask("sinfo", "--noheader", "--format=%T") == "idle")

    def run(self, command):
        """Returns srun's exit code. A signal that ends this process ends the job first, as Slurm does."""
        srun = self.start("srun", f"--ntasks={TASKS}", "--overcommit", *command)
        try:
            code = srun.wait()
        except SystemExit:
            srun.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                srun.wait(PATIENCE)
            raise
        return code if code >= 0 else 128 - code


def keep(command):
    """Starts Slurm, runs the command, cleans up and returns the exit code."""
    for number in SIGNALS:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    os.setsid()  # so that killing the process group of the first process does not kill this one
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory(prefix="slurm-") as directory:
        slurm = Slurm(directory)
        try:
            slurm.begin()
            return slurm.run(command)
        except CannotStart as error:
            print(f"slurm.py: {error}", file=sys.stderr, flush=True)
            return 1
        except SystemExit as end:
            return end.code
        finally:
            kill_all()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if why := why_not():
        print(f"slurm.py: skipped: {why}", file=sys.stderr)
        return SKIPPED
    # The child does the work; it is signalled when this process ends.
    child = os.fork()
    if child == 0:
        os._exit(keep(sys.argv[1:]))
    for number in SIGNALS:
        signal.signal(number, lambda number, _: os.kill(child, number))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
