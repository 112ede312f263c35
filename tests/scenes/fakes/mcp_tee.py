#!/usr/bin/python3
"""
Records the traffic of a real MCP server: mcp_tee.py LOG command args...

The log is that of mcp_server.py: one JSON object a line with t, dir ("in" is towards the server)
and raw.  The server keeps our stderr; its end is our end, and the end of our stdin is its end.
"""

import json
import os
import subprocess
import sys
import threading
import time


def main(log_path, argv):
    log, lock = open(log_path, "a", encoding="utf-8"), threading.Lock()

    def note(way, raw):
        with lock:
            log.write(json.dumps({"t": time.monotonic(), "pid": os.getpid(), "dir": way,
                                  "raw": raw.decode("utf-8", "replace")}) + "\n")
            log.flush()

    note("event", b"start")
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def pump(way, src, dst):
        buf = b""
        while True:
            part = os.read(src, 1 << 16)
            if not part:
                break
            buf += part
            *lines, buf = buf.split(b"\n")
            for line in lines:
                note(way, line)
            try:
                while part:
                    part = part[os.write(dst, part):]
            except BrokenPipeError:
                break
        os.close(dst)

    down = threading.Thread(target=pump, args=("in", 0, child.stdin.fileno()), daemon=True)
    down.start()
    pump("out", child.stdout.fileno(), 1)
    code = child.wait()
    note("event", b"exit %d" % code)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
