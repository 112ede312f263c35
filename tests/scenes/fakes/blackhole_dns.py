#!/usr/bin/python3
"""
Runs a command where every name lookup hangs: blackhole_dns.py command args...

To be started by `unshare --map-root-user --net --mount`: the loopback device is brought up, a
socket on port 53 takes the questions and never answers, and /etc/resolv.conf points there with
timeouts of minutes.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile


def main(argv):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    request = struct.pack("16sH14s", b"lo", 1 | 64, b"")            # IFF_UP | IFF_RUNNING
    fcntl.ioctl(s, 0x8914, request)                                 # SIOCSIFFLAGS
    s.bind(("127.0.0.1", 53))
    with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as f:
        f.write("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
    os.chmod(f.name, 0o644)
    subprocess.run(["mount", "--bind", f.name, "/etc/resolv.conf"], check=True)
    os.unlink(f.name)
    child = subprocess.Popen(argv)
    s.recv(512)                 # the first question: the lookup hangs from here on
    sys.stderr.write("blackhole: a lookup hangs\n")
    sys.stderr.flush()
    code = child.wait()
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(sys.argv[1:])
