"""
Processes under test: started with an explicit environment, read line by line with a watchdog,
and never left behind.

The test process is a child subreaper, so whatever a program under test leaves behind (also
after setsid, also after kill -9 of its parent) becomes a descendant of ours and is seen.
"""

import ctypes
import os
import re
import select
import signal
import subprocess
import threading
import time

from .watch import Board, Hung, limit

PR_SET_CHILD_SUBREAPER = 36

SANITIZER = re.compile(
    rb"ERROR: (Address|Leak|Thread|Memory)Sanitizer|runtime error:|WARNING: ThreadSanitizer"
    rb"|LeakSanitizer:|AddressSanitizer:DEADLYSIGNAL|SUMMARY: \w+Sanitizer")

CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


def become_subreaper():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _stat(pid):
    """(parent, state, start time) of a process, or None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            rest = f.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(rest[1]), rest[0].decode(), int(rest[19])


def descendants(root=None):
    """{pid: (parent, state, start)} of all descendants of root, zombies included."""
    root = root or os.getpid()
    everyone = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            st = _stat(int(name))
            if st:
                everyone[int(name)] = st
    found, grew = {}, True
    while grew:
        grew = False
        for pid, st in everyone.items():
            if pid not in found and (st[0] == root or st[0] in found):
                found[pid] = st
                grew = True
    return found


def command_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().replace(b"\0", b" ").decode("utf-8", "replace").strip() or "[%d]" % pid
    except OSError:
        return "[%d]" % pid


def wait_gone(pid, seconds=None):
    """Wait until a process that need not be our child is dead; False when it outlives the watchdog."""
    end = time.monotonic() + limit(seconds if seconds is not None else 20.0)
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        return bool(poller.poll(max(0, end - time.monotonic()) * 1000))
    finally:
        os.close(fd)


def reap_orphans(keep):
    """Reap zombies that fell to us; keep holds the pids that a Popen of ours will reap."""
    for pid, (parent, state, _) in descendants().items():
        if state == "Z" and parent == os.getpid() and pid not in keep:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


class Stream:
    """One output of a process: all bytes so far, and waiting for more."""

    def __init__(self, fd, name, board, owned=True):
        self.owned = owned      # close fd at the end of the stream
        self.fd, self.name, self.board = fd, name, board
        self.data = bytearray()
        self.stamps = []        # (offset after the read, monotonic time)
        self.eof = False
        self.mark = 0           # where the next wait_* starts to look
        self.thread = threading.Thread(target=self._pump, daemon=True)
        self.thread.start()

    def _pump(self):
        while True:
            try:
                part = os.read(self.fd, 65536)
            except OSError:     # a pty whose other end closed says EIO
                part = b""
            with self.board.cond:
                if part:
                    self.data += part
                    self.stamps.append((len(self.data), time.monotonic()))
                else:
                    self.eof = True
                self.board.cond.notify_all()
            if not part:
                if self.owned:
                    os.close(self.fd)
                return

    @property
    def text(self):
        return bytes(self.data).decode("utf-8", "replace")

    @property
    def lines(self):
        return self.text.split("\n")[:-1] if self.text.endswith("\n") else self.text.split("\n")

    def wait(self, pattern, seconds=None, from_start=False):
        """Wait for a regular expression (str, on the text after the last match) and return the match."""
        rx = re.compile(pattern.encode() if isinstance(pattern, str) else pattern, re.S | re.M)

        def look():
            m = rx.search(bytes(self.data), 0 if from_start else self.mark)
            if not m and self.eof:
                raise Hung("%s ended without %r:\n%s" % (self.name, pattern, self.text[-4000:]))
            return m

        m = self.board.wait(look, "%r on %s" % (pattern, self.name), seconds,
                            lambda: self.board_detail())
        if not from_start:
            self.mark = m.end()
        return m

    def board_detail(self):
        return "--- %s so far:\n%s" % (self.name, self.text[-4000:])

    def line(self, seconds=None):
        """The next whole line, without its newline."""
        m = self.wait(rb"([^\n]*)\n", seconds)
        return m.group(1).decode("utf-8", "replace")

    def at(self, offset):
        """When the byte at offset arrived (monotonic)."""
        for end, stamp in self.stamps:
            if offset < end:
                return stamp
        return None


class Proc:
    """A started program."""

    def __init__(self, argv, env, cwd, stdin="pipe", pass_fds=(), name=None):
        self.argv, self.name = argv, name or os.path.basename(argv[0])
        self.board = Board()
        self.expect_signal = None
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        self.popen = subprocess.Popen(
            argv, env=env, cwd=cwd, close_fds=True, pass_fds=pass_fds, start_new_session=True,
            stdin=subprocess.PIPE if stdin == "pipe" else stdin, stdout=out_w, stderr=err_w)
        os.close(out_w)
        os.close(err_w)
        self.stdin = self.popen.stdin
        self.out = Stream(out_r, "stdout", self.board)
        self.err = Stream(err_r, "stderr", self.board)

    @property
    def pid(self):
        return self.popen.pid

    def send(self, text):
        """Write to its stdin: one line when no newline is given."""
        data = text.encode() if isinstance(text, str) else text
        if not data.endswith(b"\n"):
            data += b"\n"
        self.stdin.write(data)
        self.stdin.flush()

    def close_stdin(self):
        if self.stdin and not self.stdin.closed:
            try:
                self.stdin.close()
            except BrokenPipeError:
                pass

    def kill(self, sig=signal.SIGKILL):
        self.expect_signal = sig
        self.popen.send_signal(sig)

    def term(self):
        self.kill(signal.SIGTERM)

    def running(self):
        return self.popen.poll() is None

    def wait(self, seconds=None, code=None):
        """Wait for the end and for all of its output; the exit code (-n for a signal).
        With code, anything else fails."""
        try:
            got = self.popen.wait(limit(seconds if seconds is not None else 30.0))
        except subprocess.TimeoutExpired:
            raise Hung("%s does not end\n%s" % (self.name, self.report())) from None
        for s in (self.out, self.err):
            s.thread.join(limit(5))     # a survivor may hold the pipe: found at teardown
        if code is not None:
            assert got == code, "%s ended with %s, not %s\n%s" % (self.name, got, code, self.report())
        return got

    def finish(self, seconds=None, code=0):
        """Close stdin and wait for the end."""
        self.close_stdin()
        return self.wait(seconds, code)

    def children(self):
        """Living descendants, as {pid: command line}."""
        return {p: command_of(p) for p, st in descendants(self.pid).items() if st[1] != "Z"}

    def report(self):
        return "--- %s\n--- stdout\n%s\n--- stderr\n%s" % (
            " ".join(self.argv), self.out.text[-3000:], self.err.text[-6000:])

    def crashed(self):
        code = self.popen.poll()
        return (code is not None and code < 0 and -code in CRASHES
                and -code != (self.expect_signal or 0))

    def sanitizer_report(self):
        m = SANITIZER.search(bytes(self.err.data))
        return self.err.text[max(0, m.start() - 200):m.start() + 6000] if m else None


class Result:
    """What a finished command left: out, err, code."""

    def __init__(self, proc):
        self.proc, self.code = proc, proc.popen.returncode
        self.out, self.err = proc.out.text, proc.err.text

    def __repr__(self):
        return "exit %s\n--- stdout\n%s\n--- stderr\n%s" % (self.code, self.out, self.err)
