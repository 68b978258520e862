"""Starts processes of a program as the ranks of one run, with the variables that torchrun would set.

    with Ranks(2) as ranks:
        first, second = ranks.start(0, PROGRAM), ranks.start(1, PROGRAM)
        ranks.end(first, second)        # the output of each
"""

import contextlib
import os
import socket
import subprocess

PATIENCE = 60  # seconds; one or two are normal


def environment(**more):
    """This process's environment without the variables of a launcher, and with one thread per process."""
    ours = {name: value for name, value in os.environ.items()
            if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
            and not name.startswith(("OMPI_", "PMIX_", "SLURM_", "TORCHELASTIC_", "MOTLEY_"))}
    return {**ours, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **more}


class Ranks:
    TOKEN = "of these ranks"

    def __init__(self, size):
        self.size = size
        self.stack = contextlib.ExitStack()
        # Bound, so that no other process gets the port, but not listening, so that rank 0 can listen there.
        held = self.stack.enter_context(socket.socket())
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        self.rendezvous = held.getsockname()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self, rank, *command):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(
                RANK=str(rank), WORLD_SIZE=str(self.size), MASTER_ADDR=self.rendezvous[0],
                MASTER_PORT=str(self.rendezvous[1]), MOTLEY_TOKEN=self.TOKEN))
        self.stack.enter_context(process)
        self.stack.callback(process.kill)
        return process

    @staticmethod
    def end(*processes):
        """Waits for all; returns output and exit code of each: [(stdout, stderr, code), ...]"""
        return [(*process.communicate(timeout=PATIENCE), process.returncode) for process in processes]


def torchrun(ranks, *command):
    """torchrun of this many ranks, at a port that no other process has."""
    _, port = ranks.rendezvous
    # torch 1.13 cannot read its own default for the last two with Python 3.11; rank 9 does not exist.
    return ["torchrun", "--no_python", f"--nproc_per_node={ranks.size}", f"--master_port={port}",
            "--redirects=9:1", "--tee=9:1", *command]
