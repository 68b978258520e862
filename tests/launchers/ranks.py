"""Processes of a program as the ranks of one run, told who they are by hand, as torchrun would tell them.

    with Ranks(2) as ranks:
        first, second = ranks.start(0, PROGRAM), ranks.start(1, PROGRAM)
        ranks.end(first, second)        # what each of them said in the end
"""

import contextlib
import os
import socket
import subprocess

PATIENCE = 60  # seconds, for what takes one or two


def environment(**more):
    """Of this process, without what a launcher of it may have said; one thread for each process."""
    ours = {name: value for name, value in os.environ.items()
            if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
            and not name.startswith(("OMPI_", "PMIX_", "SLURM_", "TORCHELASTIC_", "MOTLEY_"))}
    return {**ours, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **more}


class Ranks:
    TOKEN = "of these ranks"

    def __init__(self, size):
        self.size = size
        self.stack = contextlib.ExitStack()
        # Bound, so that nobody else is given the port, but not listening, so that rank 0 can have it.
        held = self.stack.enter_context(socket.socket())
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        self.door = held.getsockname()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self, rank, *command):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(
                RANK=str(rank), WORLD_SIZE=str(self.size), MASTER_ADDR=self.door[0],
                MASTER_PORT=str(self.door[1]), MOTLEY_TOKEN=self.TOKEN))
        self.stack.enter_context(process)
        self.stack.callback(process.kill)
        return process

    @staticmethod
    def end(*processes):
        """What each of them says, and its exit code: [(stdout, stderr, code), ...]"""
        return [(*process.communicate(timeout=PATIENCE), process.returncode) for process in processes]
