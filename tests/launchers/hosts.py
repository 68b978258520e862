#!/usr/bin/python3
"""Simulates several hosts on this machine: each has a network of its own, all are on one switch.

    with Hosts(3) as hosts:
        hosts.slow_down(2, "100mbit")                   # in both directions
        run = hosts.start(0, "motley", "train", ...)    # a subprocess.Popen
        hosts.cut(0, 1)                                 # a black hole between these two, until mend()
        hosts.unplug(2)

usage: hosts.py COUNT COMMAND...      runs the command on each host, with HOST=0, 1 ...
                                      exit code: the first that is not 0; 77: not permitted to create networks

Host i is called host<i>, which all hosts can resolve, and has the address 10.77.0.<i+1>. The machine's own network
is not touched: each host and the switch is a namespace that vanishes with the process that holds it. All processes
started here end with this one, however it ends. Needs root."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys

from slurm import LIBC, PR_SET_PDEATHSIG, SIGNALS, SKIPPED

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 2
JUMBO = 9000  # bytes of a packet
NOBODY = "02:00:00:00:00:00"  # the hardware address that no host has


def name(host):
    return f"host{host}"


def address(host):
    return f"10.77.0.{host + 1}"


def hardware_address(host):
    return f"02:00:00:00:{(host + 1) // 256:02x}:{(host + 1) % 256:02x}"


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def begin_namespace(called, names):
    die_with_parent()
    if LIBC.unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS) != 0:
        os._exit(SKIPPED)
    socket.sethostname(called)
    # The names are in a file that only this namespace sees; it vanishes with the namespace.
    LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    LIBC.mount(b"tmpfs", b"/mnt", b"tmpfs", 0, None)
    with open("/mnt/hosts", "w", encoding="utf-8") as file:
        file.writelines(names)
    LIBC.mount(b"/mnt/hosts", b"/etc/hosts", None, MS_BIND, None)
    LIBC.umount2(b"/mnt", MNT_DETACH)


def hold_namespace(called, names=()):
    """Starts a process in a network of its own, which exists when this returns."""
    return subprocess.Popen(["sleep", "infinity"], preexec_fn=lambda: begin_namespace(called, names))


def in_namespace(holder, command, cwd="."):
    return ["nsenter", "--mount", "--net", "--uts", f"--target={holder.pid}", f"--wd={cwd}", "--", *command]


def configure(holder, tool, *lines):
    subprocess.run(in_namespace(holder, [tool, "-batch", "-"]), input="\n".join(lines), text=True, check=True)


def lost_by(holder, device):
    shown = subprocess.run(in_namespace(holder, ["tc", "-s", "-json", "qdisc", "show", "dev", device]),
                           stdout=subprocess.PIPE, check=True)
    return json.loads(shown.stdout)[0]["drops"]


def why_not():
    """Why hosts cannot be created here; empty if they can."""
    missing = [name for name in ("ip", "tc", "nsenter") if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)} not installed"
    if os.geteuid() != 0:
        return "needs root"
    trial = hold_namespace("trial")
    made = subprocess.run(in_namespace(trial, ["ip", "link", "add", "name", "trial", "type", "bridge"]),
                          stderr=subprocess.DEVNULL)
    trial.kill()
    trial.wait()
    return "" if made.returncode == 0 else "not permitted to create networks"


class Hosts:
    def __init__(self, count):
        self.count = count
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with self.stack:  # all or nothing
            names = ["127.0.0.1 localhost\n", *(
                f"{address(host)} {name(host)}\n" for host in range(self.count))]
            self.switch = self.keep(hold_namespace("switch"))
            self.hosts = [self.keep(hold_namespace(name(host), names)) for host in range(self.count)]
            configure(self.switch, "ip", "link add name switch type bridge", "link set switch up", *(
                line for host, holder in enumerate(self.hosts) for line in (
                    f"link add name port{host} type veth peer name eth0 address {hardware_address(host)} "
                    f"netns {holder.pid}",
                    f"link set port{host} master switch up")))
            for host, holder in enumerate(self.hosts):
                configure(holder, "ip", "link set lo up", f"address add {address(host)}/24 dev eth0",
                          "link set eth0 up")
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def keep(self, process):
        """Kills the process at the latest when the hosts end."""
        self.stack.enter_context(process)
        self.stack.callback(process.kill)
        return process

    def start(self, host, *command, cwd=".", **options):
        return self.keep(subprocess.Popen(in_namespace(self.hosts[host], command, cwd),
                                          preexec_fn=die_with_parent, **options))

    def write_shell(self, path):
        """Writes a replacement for ssh, for launchers that need one: PATH HOST COMMAND..."""
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o755), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nhost=$1; shift; command=$*\ncase $host in\n")
            for host, holder in enumerate(self.hosts):
                file.write(f"{name(host)}) set -- {shlex.join(in_namespace(holder, []))} ;;\n")
            file.write('esac\nexec "$@" sh -c "$command"\n')
        return path

    def slow_down(self, host, rate, burst="32kbit", queue="50ms"):
        """A packet that would wait for longer than `queue` is lost."""
        shape = f"root tbf rate {rate} burst {burst} latency {queue}"
        configure(self.hosts[host], "tc", f"qdisc replace dev eth0 {shape}")
        configure(self.switch, "tc", f"qdisc replace dev port{host} {shape}")

    def lost_packets(self, host):
        """How many packets were lost so far: in the host's queue, and in the switch's queue to the host."""
        return tuple(lost_by(*queue) for queue in ((self.hosts[host], "eth0"), (self.switch, f"port{host}")))

    def control_congestion(self, algorithm):
        """How connections from now on share links: cubic (the default of Linux), bbr, reno."""
        for holder in self.hosts:
            subprocess.run(in_namespace(holder, ["sysctl", "-qw", f"net.ipv4.tcp_congestion_control={algorithm}"]),
                           check=True)

    def enlarge_packets(self):
        """Fewer packets cost the machine less time."""
        for host, holder in enumerate(self.hosts):
            configure(holder, "ip", f"link set eth0 mtu {JUMBO}")
            configure(self.switch, "ip", f"link set port{host} mtu {JUMBO}")

    def cut(self, one, other):
        """From now on packets between these two vanish, without a word to either; others are not affected."""
        self.send_to(one, other, f"{NOBODY} nud permanent")
        self.send_to(other, one, f"{NOBODY} nud permanent")

    def mend(self, one, other):
        self.send_to(one, other, f"{hardware_address(other)} nud reachable")
        self.send_to(other, one, f"{hardware_address(one)} nud reachable")

    def send_to(self, host, peer, receiver):
        configure(self.hosts[host], "ip", f"neighbor replace {address(peer)} dev eth0 lladdr {receiver}")

    def unplug(self, host):
        configure(self.switch, "ip", f"link set port{host} down")


def main():
    if len(sys.argv) < 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    if why := why_not():
        print(f"hosts.py: skipped: {why}", file=sys.stderr)
        return SKIPPED
    for number in SIGNALS:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    count = int(sys.argv[1])
    with Hosts(count) as hosts:
        running = [hosts.start(host, *sys.argv[2:], env={**os.environ, "HOST": str(host)})
                   for host in range(count)]
        codes = [each.wait() for each in running]
    return next((code if code > 0 else 128 - code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
