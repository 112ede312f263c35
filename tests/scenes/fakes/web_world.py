#!/usr/bin/python3
"""
A small Internet of its own: web_world.py GANTRY URL...

To be started by `unshare --map-root-user --net --mount`. The loopback device gets a public
address beside private ones, with a web server on each, and a name server answers for them, also
with two addresses at once, and with another one the second time it is asked. Each URL is fetched
by a process of its own; what came, and how often each server was asked, is printed as JSON.
"""

import fcntl
import http.server
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

PUBLIC, PRIVATE, LOCAL = "93.184.216.34", "10.0.0.5", "127.0.0.1"
# Each question in its turn; the last answer stays.
NAMES = {"public.test": [[PUBLIC]], "inside.test": [[PRIVATE]], "mixed.test": [[PRIVATE, PUBLIC]],
         "rebind.test": [[PUBLIC], [LOCAL]]}
HITS = {PUBLIC: 0, PRIVATE: 0, LOCAL: 0}


def address(name, ip):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sockaddr = struct.pack("HH4s8s", socket.AF_INET, 0, socket.inet_aton(ip), b"")
    fcntl.ioctl(s, 0x8916, struct.pack("16s16s", name, sockaddr))           # SIOCSIFADDR
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14s", name, 1 | 64, b""))       # SIOCSIFFLAGS: up


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        HITS[self.server.server_address[0]] += 1
        to = {"/to-private": "http://%s/secret" % PRIVATE, "/to-name": "http://inside.test/secret",
              "/to-local": "http://127.1/secret"}.get(self.path)
        self.send_response(302 if to else 200)
        if to:
            self.send_header("Location", to)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"" if to else b"page of " + self.server.server_address[0].encode())

    def log_message(self, *args):
        pass


def answer(question):
    """A reply to one query; no addresses of IPv6."""
    end = question.index(b"\0", 12)
    name, i = [], 12
    while question[i]:
        name.append(question[i + 1:i + 1 + question[i]].decode())
        i += question[i] + 1
    kind = struct.unpack("!H", question[end + 1:end + 3])[0]
    known = NAMES.get(".".join(name).lower())
    ips = []
    if known and kind == 1:
        ips = known[0] if len(known) == 1 else known.pop(0)
    head = question[:2] + struct.pack("!HHHHH", 0x8180 if known else 0x8183, 1, len(ips), 0, 0)
    records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(ip) for ip in ips)
    return head + question[12:end + 5] + records


def serve_names(s):
    while True:
        question, peer = s.recvfrom(512)
        s.sendto(answer(question), peer)


def main(gantry, *urls):
    for name, ip in ((b"lo", LOCAL), (b"lo:1", PUBLIC), (b"lo:2", PRIVATE)):
        address(name, ip)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind((LOCAL, 53))
    threading.Thread(target=serve_names, args=(names,), daemon=True).start()
    for ip in HITS:
        server = http.server.ThreadingHTTPServer((ip, 80), Page)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as f:
        f.write("nameserver 127.0.0.1\noptions timeout:5 attempts:2\n")
    os.chmod(f.name, 0o644)
    subprocess.run(["mount", "--bind", f.name, "/etc/resolv.conf"], check=True)
    os.unlink(f.name)
    texts = []
    for url in urls:
        done = subprocess.run([gantry, "tools", "call", "web_fetch", json.dumps({"url": url})],
                              capture_output=True, text=True)
        texts.append(done.stdout + done.stderr)
    print(json.dumps({"texts": texts, "hits": HITS}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
