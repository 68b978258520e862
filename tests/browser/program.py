"""Runs the built program in tests: starts it, reads its output, sends signals; and emulates the
terminal that it draws on."""
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time

PATIENCE = 30  # seconds to wait for a condition


def eventually(condition, what):
    """Waits for condition() and returns its first true value."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"timed out waiting for: {what}")
        threading.Event().wait(0.02)
    return value


class Ear:
    """Reads a pipe or a terminal until its last writer has closed it."""

    def __init__(self, is_terminal, rows=24, columns=80):
        self.chunks = []
        self.end, self.mouth = pty.openpty() if is_terminal else os.pipe()
        if is_terminal:
            fcntl.ioctl(self.mouth, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.thread = threading.Thread(target=self.listen, daemon=True)

    def begin(self):
        os.close(self.mouth)  # the child has its own
        self.thread.start()

    def listen(self):
        try:
            while chunk := os.read(self.end, 65536):
                self.chunks.append(chunk)
        except OSError:
            pass  # a terminal reports its end like this
        os.close(self.end)

    def text(self):
        return b"".join(self.chunks).decode().replace("\r\n", "\n")


class Run:
    """Starts `motley ARGUMENTS`. `terminal`: stdout and stderr are one terminal each."""

    def __init__(self, program, folder, *arguments, terminal=False, rows=24):
        self.out = folder / arguments[arguments.index("--out") + 1]
        self.stdout, self.stderr = Ear(terminal, rows), Ear(terminal, rows)
        self.process = subprocess.Popen(
            [program, *arguments], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=self.stdout.mouth, stderr=self.stderr.mouth, start_new_session=True)
        self.stdout.begin()
        self.stderr.begin()

    def is_running(self):
        return self.process.poll() is None

    def until(self, condition, what):
        """Waits for condition() while the program runs, and returns its first true value."""
        def held():
            is_over = not self.is_running()
            if is_over:
                self.finish()  # reads the rest of its output
            value = condition()
            if not value and is_over:
                raise AssertionError(f"ended without: {what}; stderr: {self.stderr.text()}")
            return value
        return eventually(held, what)

    def until_said(self, pattern):
        """Waits for the pattern on stderr and returns the match."""
        return self.until(lambda: re.search(pattern, self.stderr.text()), pattern)

    def workers(self):
        """Its child processes."""
        pid = self.process.pid
        return [int(child) for child in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def finish(self):
        """Waits for its end and returns the exit code."""
        code = self.process.wait(PATIENCE)
        self.stdout.thread.join(PATIENCE)
        self.stderr.thread.join(PATIENCE)
        return code

    def has_left_processes(self):
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def end(self):
        """Ends it unconditionally."""
        if self.has_left_processes():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.finish()


class Screen:
    """Emulates a terminal, with as much of ECMA-48 as redrawing a block in place needs.
    Anything else fails."""

    TOKEN = re.compile(r"\x1b\[(\d*)([AKJ])|([\r\n])|([^\x00-\x1f\x7f])", re.DOTALL)

    def __init__(self, rows=24, columns=80):
        self.rows, self.columns = rows, columns
        self.lines, self.row, self.column = [""], 0, 0
        self.pending = b""

    def feed(self, chunk):
        self.pending += chunk
        whole = max(self.pending.rfind(b"\n"), self.pending.rfind(b"J")) + 1
        text, self.pending = self.pending[:whole].decode(), self.pending[whole:]
        at = 0
        while at < len(text):
            match = self.TOKEN.match(text, at)
            if not match:
                raise AssertionError(f"a terminal is not sent {text[at:at + 10]!r}")
            at = match.end()
            self.take(*match.groups())
        return self

    def take(self, count, command, control, character):
        if command == "A":
            self.row -= int(count or 1)
            if self.row < max(0, len(self.lines) - self.rows):
                raise AssertionError("above the screen: lines that have scrolled away stay there")
        elif command == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif command == "J":
            del self.lines[self.row + 1:]
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif control == "\r":
            self.column = 0
        elif control == "\n":
            self.go_down()
        else:
            if self.column == self.columns:
                self.go_down()
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1

    def go_down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")
