#!/usr/bin/python3
"""
One conversation of the static program in a root that holds nothing else: inside.py GANTRY ECHO ROOT

To be started by `unshare --map-root-user --net --mount`: the loopback device is brought up, a
name server on port 53 knows one name, and behind that name stands a model over TLS 1.3.  The
program finds in ROOT its certificate bundle, zones, resolv.conf, a data directory and one
tool server (ECHO, static too); no library, no shell, no /proc, no /dev.  What it said and
what was seen outside of it goes to standard output as one JSON object.
"""

import fcntl
import json
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading

SCENES = pathlib.Path(__file__).resolve().parents[1] / "scenes"
sys.path.insert(0, str(SCENES))

from fakes.model import Model, call  # noqa: E402
from harness.tls import Front, certificate  # noqa: E402

NAME = b"\x05model\x04test\x00"
PORT = 8443


def network():
    """Bring up the loopback device and answer for model.test; the questions that came."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14s", b"lo", 1 | 64, b""))     # SIOCSIFFLAGS, up
    s.bind(("127.0.0.1", 53))
    asked = []

    def serve():
        while True:
            q, peer = s.recvfrom(512)
            kind = q[12 + len(NAME):14 + len(NAME)]
            asked.append(kind.hex())
            known = q[12:].startswith(NAME) and kind == b"\x00\x01"
            head = q[:2] + b"\x81\x80\x00\x01" + (b"\x00\x01" if known else b"\x00\x00") + b"\x00" * 4
            answer = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x7f\x00\x00\x01" if known else b""
            s.sendto(head + q[12:16 + len(NAME)] + answer, peer)

    threading.Thread(target=serve, daemon=True).start()
    return asked


def furnish(root, gantry, echo):
    """Nothing but what the program cannot carry itself."""
    for d in ("etc/ssl/certs", "etc/gantry", "usr/share", "data", "persona", "tmp"):
        (root / d).mkdir(parents=True)
    shutil.copy(gantry, root / "gantry")
    shutil.copy(echo, root / "echo")
    cert, key = certificate(root.parent, "model", "DNS:model.test")
    shutil.copy(cert, root / "etc/ssl/certs/ca-certificates.crt")
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    (root / "etc/gantry/mcp.toml").write_text('[[server]]\nname = "srv"\ncommand = "/echo"\n')
    shutil.copytree("/usr/share/zoneinfo", root / "usr/share/zoneinfo", symlinks=True)
    return cert, key


def main(gantry, echo, root):
    root = pathlib.Path(root)
    asked = network()
    cert, key = furnish(root, gantry, echo)
    model = Model()
    model.start()
    front = Front(model.url, cert, key)
    at = front.socket.getsockname()[1]
    model.reply(calls=[call("srv__echo", text="from the empty root")])
    model.reply("Done.")
    env = {"CHANNEL": "stdio", "LLM_BASE_URL": "https://model.test:%d/v1" % at, "LLM_API_KEY": "k",
           "LLM_MODEL": "m", "TZ": "Asia/Tokyo"}
    r = subprocess.run(["/gantry", "prompt", "go"], input=b"", capture_output=True, timeout=60, env=env,
                       preexec_fn=lambda: (os.chroot(root), os.chdir("/")))
    print(json.dumps({"code": r.returncode, "out": r.stdout.decode(), "err": r.stderr.decode(),
                      "context": model.last.user if model.requests else "", "tls": front.versions, "asked": asked, "results": model.last.results if model.requests else [],
                      "database": (root / "data/gantry.db").exists()}))
    front.close()
    model.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
