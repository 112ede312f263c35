"""
Where the calls of a run came from, as tests/seam left it (struct book in tests/seam/faults.h), and
what each call may fail with.
"""

import collections
import functools
import pathlib
import re
import struct
import subprocess

TREE = pathlib.Path(__file__).resolve().parents[2]
CALLS = re.findall(r"^\tX\((\w+)\)", (TREE / "tests/seam/faults.h").read_text(encoding="utf-8"), re.M)
FRAMES, PLACES, MODULES, MODULE_NAME = 8, 8192, 48, 48

# What the kernel may answer, by the kind of call.  SHORT: half of it.
FILE = ["EIO", "EINTR", "SHORT"]
NAME = ["EIO", "EACCES", "ENOSPC"]
MANY = ["EMFILE", "ENFILE", "ENOMEM"]
HOWS = {
    "read": FILE, "pread": ["EIO", "SHORT"], "write": ["ENOSPC", *FILE], "pwrite": ["ENOSPC", *FILE],
    "fsync": ["EIO", "ENOSPC"], "fdatasync": ["EIO", "ENOSPC"], "ftruncate": ["EIO", "ENOSPC", "EINTR"],
    "open": ["EMFILE", "EIO", "EACCES", "ENOMEM", "EINTR", "ENOSPC"], "rename": NAME, "unlink": ["EIO", "EACCES"],
    "mkdir": NAME, "stat": ["EIO", "EACCES", "ENOMEM"], "access": ["EIO", "EACCES"], "opendir": ["EMFILE", "EACCES"],
    "readdir": ["EIO"], "readlink": ["EIO", "EACCES"], "link": NAME, "chmod": ["EPERM", "EROFS"], "lock": ["ENOLCK", "EINTR"],
    "dup": ["EMFILE"], "mmap": ["ENOMEM"], "pipe": MANY, "eventfd": MANY, "signalfd": MANY, "random": ["EINTR"],
    "socketpair": MANY, "socket": [*MANY, "ENOBUFS"], "connect": ["ECONNREFUSED", "ENETUNREACH", "ETIMEDOUT", "EINTR"],
    "send": ["ECONNRESET", "EPIPE", "ENOBUFS", "EINTR", "SHORT"], "recv": ["ECONNRESET", "ETIMEDOUT", "EINTR", "SHORT"],
    "poll": ["EINTR", "ENOMEM"], "resolve": ["EAGAIN"], "thread": ["EAGAIN"], "fork": ["EAGAIN", "ENOMEM"], "wait": ["EINTR"],
    "exec": ["ENOENT", "EACCES", "ENOMEM"], "syscall": ["EMFILE", "EIO", "ENOSYS"], "alloc": ["ENOMEM"]}

Place = collections.namedtuple("Place", "call child hash nth times failed frames")


class Book:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        at = 8 + 2 * len(CALLS) * 8
        counts = struct.unpack_from("%dq" % (2 * len(CALLS)), data, 8)
        self.counts = {CALLS[i]: counts[i] for i in range(len(CALLS))}
        (self.failed,) = struct.unpack_from("q", data, at)
        at += 8
        self.modules = [data[at + i * MODULE_NAME:at + (i + 1) * MODULE_NAME].split(b"\0")[0].decode() for i in range(MODULES)]
        at += MODULES * MODULE_NAME
        self.places = []
        for i in range(PLACES):
            h, call, child, nth, times, failed, *frames = struct.unpack_from("QIIqII%dI" % FRAMES, data, at + i * 64)
            if h:
                self.places.append(Place(CALLS[call], bool(child), h, nth, times, failed, [f for f in frames if f]))

    def hit(self):
        """The places where something failed."""
        return [p for p in self.places if p.failed]


def fault(place, how):
    return "%s%s@%x:%s" % ("child:" if place.child else "", place.call, place.hash, how)


@functools.lru_cache(None)
def symbol(binary, offset):
    out = subprocess.run(["addr2line", "-f", "-s", "-e", binary, hex(offset - 1)], capture_output=True, text=True).stdout.split("\n")
    return "%s (%s)" % (out[0], out[1].split(" ")[0]) if len(out) > 1 else hex(offset)


def told(place, modules, binary):
    """A place in words, innermost first."""
    frames = [symbol(binary, f & 0x3ffffff) if f >> 26 == 0 else "%s+%#x" % (
        modules[f >> 26] if f >> 26 < len(modules) else "?", f & 0x3ffffff) for f in place.frames]
    return "%s%s no. %d, from %s" % ("child's " if place.child else "", place.call, place.nth, " < ".join(frames))
