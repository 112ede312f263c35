#!/usr/bin/python3
"""Run a program under the SystemCallFilter of a unit, as systemd would.

usage: filtered.py UNIT PROGRAM [ARGUMENT...]

The sets (@system-service) are those of the systemd that is installed.  What is not in the list gets
EPERM, as the unit says; what this machine's table of calls does not know is left out, as systemd does.
"""
import ctypes
import errno
import os
import re
import struct
import subprocess
import sys

ARCHITECTURES = {"x86_64": (0xC000003E, "unistd_64.h"), "aarch64": (0xC00000B7, "unistd.h")}
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def numbers():
    """Every call of this machine by name, as the kernel's header has it."""
    header = ARCHITECTURES[os.uname().machine][1]
    made = subprocess.run(["cc", "-E", "-dM", "-include", "asm/%s" % header, "-x", "c", "/dev/null"],
                          capture_output=True, text=True, check=True).stdout
    return {name: int(number) for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", made, re.M)}


def expand(word):
    if not word.startswith("@"):
        return {word}
    out = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True).stdout
    inside = [line.strip() for line in out.splitlines()[1:]]
    return set().union(*(expand(w) for w in inside if w and not w.startswith("#")))


def allowed(unit):
    with open(unit, encoding="utf-8") as f:
        words = re.findall(r"^SystemCallFilter=(.*)$", f.read(), re.M)
    return set().union(*(expand(w) for line in words for w in line.split()))


def install(calls):
    def op(code, k, jt=0, jf=0):
        return struct.pack("=HBBI", code, jt, jf, k)
    program = [op(LOAD, 4), op(EQUAL, ARCHITECTURES[os.uname().machine][0], 1, 0), op(RETURN, KILL), op(LOAD, 0)]
    for number in sorted(calls):
        program += [op(EQUAL, number, 0, 1), op(RETURN, ALLOW)]
    program.append(op(RETURN, ERRNO | errno.EPERM))
    code = ctypes.create_string_buffer(b"".join(program))
    fprog = struct.pack("@HP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog, 0, 0):
        raise OSError(ctypes.get_errno(), "the filter was not taken")


def main():
    table = numbers()
    install({table[name] for name in allowed(sys.argv[1]) if name in table})
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
