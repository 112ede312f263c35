"""
The report in Chromium: it is drawn in light and dark and at the width of a phone, nothing sticks
out, and it asks for nothing.  A browser is not among what scripts/counterparts installs (some
300 MB): apt-get install chromium, or name one with GANTRY_BROWSER.  GANTRY_SCREENSHOTS names a
directory that keeps the pictures, to be looked at.
"""

import http.server
import os
import pathlib
import re
import shutil
import struct
import subprocess
import threading
import zlib

import pytest

from fakes.model import call

NAMES = ("chromium", "chromium-browser", "google-chrome")
USAGE = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}


@pytest.fixture(scope="module")
def browser():
    found = os.environ.get("GANTRY_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip("no browser: apt-get install chromium, or set GANTRY_BROWSER")
    return found


class Site:
    """Serves the page and remembers every path that was asked for, on whatever host."""

    def __init__(self, page):
        site, self.asked = self, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append((self.headers.get("Host"), self.path))
                body = page.encode() if self.path == "/" else b""
                self.send_response(200 if self.path == "/" else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def chromium(browser, home, *args):
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--user-data-dir=%s" % (home / "profile")]
    p = subprocess.run([browser, *flags, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                       env={"PATH": os.environ["PATH"], "HOME": str(home)})
    assert p.returncode == 0, p.stderr.decode()[-2000:]
    return p.stdout.decode()


def pixels(path):
    """Width, height and the rows of a PNG of 8 bits a channel, unfiltered."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, idat, head = 8, b"", None
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", data[at + 8:at + 8 + n])
        if kind == b"IDAT":
            idat += data[at + 8:at + 8 + n]
        at += n + 12
    width, height, depth, colour = head[:4]
    assert depth == 8 and colour in (2, 6) and head[6] == 0
    size = 3 if colour == 2 else 4
    raw, rows, before = zlib.decompress(idat), [], bytearray(width * size)
    for y in range(height):
        kind = raw[y * (width * size + 1)]
        row = bytearray(raw[y * (width * size + 1) + 1:(y + 1) * (width * size + 1)])
        for i in range(len(row)):
            a = row[i - size] if i >= size else 0
            b, c = before[i], before[i - size] if i >= size else 0
            if kind == 1:
                row[i] = (row[i] + a) & 255
            elif kind == 2:
                row[i] = (row[i] + b) & 255
            elif kind == 3:
                row[i] = (row[i] + (a + b) // 2) & 255
            elif kind == 4:
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                row[i] = (row[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        rows.append(row)
        before = row
    return width, height, size, rows


def colour(page, name, dark):
    return re.findall("--%s:(#[0-9a-f]{6})" % name, page)[dark]


@pytest.fixture
def page(gantry, model, mcp):
    mcp.add("srv", tools=["echo", "fail"])
    model.reply(calls=[call("srv__echo", text="x"), call("srv__fail"), call("<b>&\u202e" + "long" * 60)], usage=USAGE)
    model.reply("done", usage=USAGE)
    model.reply("second", usage={})
    model.reply(status=400, body={"error": {"message": "no"}})
    gantry.talk("one", "two", "three")
    return gantry.run("report", "--html", "-").out


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1200, 500])
def test_the_report_is_drawn_and_asks_for_nothing(browser, page, tmp_path, dark, width):
    site = Site(page)
    shot = tmp_path / ("report-%s-%d.png" % ("dark" if dark else "light", width))
    try:
        chromium(browser, tmp_path, "--window-size=%d,900" % width, "--screenshot=%s" % shot,
                 "--blink-settings=preferredColorScheme=%d" % (0 if dark else 1),
                 # Whatever host is asked for, it is this server that hears of it.
                 "--host-resolver-rules=MAP * 127.0.0.1:%d" % site.port, "http://report.test:%d/" % site.port)
    finally:
        site.close()
    asked = {path for host, path in site.asked if host == "report.test:%d" % site.port}
    # The browser has errands of its own; those of the page would be to hosts that it names.
    others = {(h, p) for h, p in site.asked if h != "report.test:%d" % site.port and h.split(":")[0] in page}
    assert "/" in asked and asked <= {"/", "/favicon.ico"} and not others, site.asked
    if os.environ.get("GANTRY_SCREENSHOTS"):
        shutil.copy(shot, pathlib.Path(os.environ["GANTRY_SCREENSHOTS"]) / shot.name)
    w, h, size, rows = pixels(shot)
    assert w == width and h >= 700
    at = {"#%02x%02x%02x" % tuple(rows[y][x * size:x * size + 3]) for y in range(0, h, 3) for x in range(0, w, 3)}
    ground = "#%02x%02x%02x" % tuple(rows[2][2 * size:2 * size + 3])
    assert ground == colour(page, "page", dark) and colour(page, "card", dark) in at
    assert {colour(page, c, dark) for c in ("c0", "c3")} <= at      # turns that are done, and that failed
    # A margin is left on the right: nothing sticks out.
    assert {bytes(r[(w - 2) * size:(w - 2) * size + 3]) for r in rows} == {bytes(rows[2][2 * size:2 * size + 3])}


def test_the_page_is_no_wider_than_a_phone(browser, page, tmp_path):
    """A ruler that only the test adds says how wide the page is in a frame of 360."""
    probe = tmp_path / "probe.html"
    inner = tmp_path / "inner.html"
    inner.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*/>', "", page), encoding="utf-8")
    probe.write_text("""<!DOCTYPE html><iframe id="f" src="inner.html" width="360" height="600"></iframe><p id="o"></p>
<script>document.getElementById('f').onload = function () {
 var d = this.contentDocument.documentElement;
 document.getElementById('o').textContent = 'width=' + d.scrollWidth + ' of ' + d.clientWidth; };</script>""")
    dom = chromium(browser, tmp_path, "--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom",
                   "file://%s" % probe)
    wide, client = map(int, re.search(r"width=(\d+) of (\d+)", dom).groups())
    assert 300 < client <= 360 and wide <= client, dom[-300:]
