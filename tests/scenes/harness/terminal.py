"""A program on a pseudo terminal: keys in, and a small screen that understands what a line editor emits."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import unicodedata

from .process import Proc, Stream
from .watch import Board, Hung, limit

_CSI = re.compile(r"\x1b\[([0-9;?]*)([@-~])")
_OSC = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def plain(text):
    """Text without escape sequences."""
    return re.sub(r"\x1b[()][A-Za-z0-9]|\x1b[=>78]", "", _CSI.sub("", _OSC.sub("", text)))


class Screen:
    """Replays output on rows x cols cells: enough of a VT100 for a line editor."""

    def __init__(self, rows=40, cols=100):
        self.rows, self.cols = rows, cols
        self.cells = [[" "] * cols for _ in range(rows)]
        self.r = self.c = 0
        self.unknown = []

    def _scroll(self):
        while self.r >= self.rows:
            self.cells.pop(0)
            self.cells.append([" "] * self.cols)
            self.r -= 1

    def _put(self, ch):
        wide = 2 if unicodedata.east_asian_width(ch) in "WF" else 1
        if unicodedata.combining(ch) or ch in "\u200d\ufe0f":
            return
        if self.c + wide > self.cols:
            self.c, self.r = 0, self.r + 1
            self._scroll()
        self.cells[self.r][self.c] = ch
        for i in range(1, wide):
            self.cells[self.r][self.c + i] = ""
        self.c += wide

    def _csi(self, args, end):
        n = [int(x) if x.isdigit() else 0 for x in args.lstrip("?").split(";")] if args else [0]
        one = max(n[0], 1)
        if end == "A":
            self.r = max(0, self.r - one)
        elif end == "B":
            self.r = min(self.rows - 1, self.r + one)
        elif end == "C":
            self.c = min(self.cols - 1, self.c + one)
        elif end == "D":
            self.c = max(0, self.c - one)
        elif end == "G":
            self.c = min(self.cols - 1, one - 1)
        elif end in "Hf":
            self.r = min(self.rows - 1, one - 1)
            self.c = min(self.cols - 1, max(n[1] if len(n) > 1 else 1, 1) - 1)
        elif end == "K":
            lo, hi = {0: (self.c, self.cols), 1: (0, self.c + 1), 2: (0, self.cols)}[n[0]]
            for i in range(lo, min(hi, self.cols)):
                self.cells[self.r][i] = " "
        elif end == "J":
            start = 0 if n[0] in (2, 3) else self.r + 1
            if n[0] == 0:
                for i in range(self.c, self.cols):
                    self.cells[self.r][i] = " "
            for r in range(start, self.rows):
                self.cells[r] = [" "] * self.cols
        elif end not in "mhlnq":
            self.unknown.append("\x1b[" + args + end)

    def feed(self, text):
        i = 0
        while i < len(text):
            ch = text[i]
            if ch == "\x1b":
                m = _CSI.match(text, i) or _OSC.match(text, i)
                if m and m.re is _CSI:
                    self._csi(m.group(1), m.group(2))
                i = m.end() if m else i + 2
                continue
            if ch == "\r":
                self.c = 0
            elif ch == "\n":
                self.r += 1
                self._scroll()
            elif ch == "\b":
                self.c = max(0, self.c - 1)
            elif ch == "\t":
                self.c = min(self.cols - 1, (self.c // 8 + 1) * 8)
            elif ch >= " ":
                self._put(ch)
            i += 1
        return self

    @property
    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    @property
    def text(self):
        return "\n".join(self.lines).rstrip("\n")


class Terminal(Proc):
    """A Proc whose stdin and stdout (and stderr, unless err="pipe") are a terminal of its own."""

    def __init__(self, argv, env, cwd, rows=40, cols=100, err="tty"):
        self.argv, self.name = argv, os.path.basename(argv[0])
        self.board = Board()
        self.expect_signal = None
        self.rows, self.cols = rows, cols
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self.mode_before = termios.tcgetattr(slave)
        err_r = err_w = None
        if err == "pipe":
            err_r, err_w = os.pipe()

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.popen = subprocess.Popen(argv, env=env, cwd=cwd, close_fds=True, preexec_fn=own_terminal,
                                      stdin=slave, stdout=slave,
                                      stderr=slave if err_w is None else err_w)
        self.slave = slave      # kept open: the settings can be read after the program is gone
        self.master = master
        self.stdin = None
        self.out = Stream(master, "terminal", self.board, owned=False)
        if err_w is None:
            self.err = self.out
        else:
            os.close(err_w)
            self.err = Stream(err_r, "stderr", self.board)

    def keys(self, text):
        """Type; "\\r" is Enter, "\\x03" Ctrl-C, "\\x04" Ctrl-D."""
        data = text.encode() if isinstance(text, str) else text
        while data:
            data = data[os.write(self.master, data):]

    def close_stdin(self):
        pass

    def wait(self, seconds=None, code=None):
        got = self._wait_code(seconds)
        if self.slave is not None:      # the reader sees the end when no one holds the terminal
            self.mode = termios.tcgetattr(self.slave)
            os.close(self.slave)
            self.slave = None
        self.out.thread.join(limit(5))
        if code is not None:
            assert got == code, "%s ended with %s, not %s\n%s" % (self.name, got, code, self.report())
        return got

    def _wait_code(self, seconds):
        try:
            return self.popen.wait(limit(seconds if seconds is not None else 30.0))
        except subprocess.TimeoutExpired:
            raise Hung("%s does not end\n%s" % (self.name, self.report())) from None

    def hangup(self):
        """The window was closed."""
        self.expect_signal = signal.SIGHUP
        os.kill(self.pid, signal.SIGHUP)

    def resize(self, rows, cols):
        self.rows, self.cols = rows, cols
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    @property
    def screen(self):
        return Screen(self.rows, self.cols).feed(self.out.text)

    def see(self, pattern, seconds=None):
        """Wait until the screen matches a regular expression; the screen."""
        rx = re.compile(pattern, re.M)

        def look():
            s = self.screen
            return s if rx.search(s.text) else None

        return self.board.wait(look, "%r on the screen" % pattern, seconds, lambda: self.screen.text)
