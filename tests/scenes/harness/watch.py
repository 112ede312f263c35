"""Watchdogs.  A scene waits for the thing itself; the watchdog only ends a hung one."""

import ctypes
import os
import select
import threading
import time

# A sanitizer's build is an order slower; GANTRY_SLOW says so for anything else.
SLOW = float(os.environ.get("GANTRY_SLOW") or
             ("10" if any(k in os.environ for k in ("ASAN_OPTIONS", "TSAN_OPTIONS")) else "1"))


def limit(seconds=20.0):
    """The watchdog for one wait, stretched under sanitizers by GANTRY_SLOW."""
    return seconds * SLOW


class Hung(AssertionError):
    """A wait whose watchdog fired."""


class Board:
    """A condition that scenes wait on: the owner changes state under it and notifies."""

    def __init__(self):
        self.cond = threading.Condition()

    def changed(self):
        with self.cond:
            self.cond.notify_all()

    def wait(self, test, what, seconds=None, detail=None):
        """Wait until test() is true and return its value; Hung when the watchdog fires."""
        end = time.monotonic() + limit(seconds if seconds is not None else 20.0)
        with self.cond:
            while True:
                value = test()
                if value:
                    return value
                left = end - time.monotonic()
                if left <= 0:
                    break
                self.cond.wait(left)
        more = "\n" + detail() if detail else ""
        raise Hung("gave up waiting for %s%s" % (what, more))


def wait_until(test, what, seconds=None):
    """For things that notify nobody: look again and again."""
    end = time.monotonic() + limit(seconds if seconds is not None else 20.0)
    while not (value := test()):
        if time.monotonic() > end:
            raise Hung("gave up waiting for %s" % what)
        threading.Event().wait(0.01)
    return value


class Gate:
    """A place where a fake stops until the test lets it go on."""

    def __init__(self):
        self.reached = threading.Event()
        self._open = threading.Event()
        self._wakers = []
        self._lock = threading.Lock()

    def wait_reached(self, seconds=None):
        if not self.reached.wait(limit(seconds if seconds is not None else 20.0)):
            raise Hung("the fake never reached its gate")

    def release(self):
        with self._lock:
            self._open.set()
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def on_release(self, wake):
        """Call wake() once the gate opens (at once when it is open)."""
        with self._lock:
            if not self._open.is_set():
                self._wakers.append(wake)
                return
        wake()

    def is_open(self):
        return self._open.is_set()


IN_MODIFY, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x2, 0x80, 0x100, 0x200


def wait_files(folder, test, what, seconds=None):
    """Wait until test() is true, looking again whenever a file in folder changes; its value."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if fd < 0 or libc.inotify_add_watch(fd, os.fsencode(str(folder)),
                                        IN_MODIFY | IN_MOVED_TO | IN_CREATE | IN_DELETE) < 0:
        raise OSError(ctypes.get_errno(), "inotify on %s" % folder)
    end = time.monotonic() + limit(seconds if seconds is not None else 20.0)
    poller = select.poll()      # select() cannot take descriptors over 1023
    poller.register(fd, select.POLLIN)
    try:
        while True:
            value = test()
            if value:
                return value
            if not poller.poll(max(0, end - time.monotonic()) * 1000):
                raise Hung("gave up waiting for %s" % what)
            try:
                os.read(fd, 65536)
            except BlockingIOError:
                pass
    finally:
        os.close(fd)
