"""web_fetch: pages of the public web and of listed hosts, and nothing else, whatever a page or a name server says."""

import contextlib
import http.server
import json
import os
import socket
import subprocess
import threading
import zlib
from threading import Event

import pytest

from fakes.model import call
from harness.fixtures import FAKES, PYTHON, binary
from harness.process import Proc
from harness.watch import limit, wait_files

PAGES = {
    "/": ("text/html; charset=utf-8",
          "<title>Home</title><h1>Welcome</h1><script>evil()</script><p style='display:none'>hidden "
          "order</p><a href=more.html>more</a>".encode()),
    "/sjis": ("text/html", b"<meta charset=\"Shift_JIS\"><title>\x93\xfa\x96\x7b</title>"),
    "/cyrillic": ("text/plain; charset=windows-1251", b"\xcf\xf0\xe8\xe2\xe5\xf2"),
    "/png": ("image/png", b"\x89PNG\r\n\x1a\n\0\0\0"),
}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.path)
        if self.path == "/bomb":
            self.bomb()
            return
        kind, body = PAGES[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def bomb(self):
        """A gibibyte in a megabyte."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        try:
            pack = zlib.compressobj(9, zlib.DEFLATED, 31)
            for _ in range(1024):
                self.wfile.write(pack.compress(b"0" * (1 << 20)))
        except OSError:
            pass                # enough, said the other side

    def log_message(self, *args):
        pass


@pytest.fixture
def site(gantry):
    """A server on this machine, which is listed as one of the owner's own."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.seen = []
    server.host = "127.0.0.1:%d" % server.server_port
    server.url = "http://" + server.host
    threading.Thread(target=server.serve_forever, daemon=True).start()
    gantry.set(TOOLS="web", GANTRY_TOOLS_WEB_FETCH_ALLOW_HOSTS=server.host)
    yield server
    server.shutdown()
    server.server_close()


def fetch(gantry, model, *urls):
    model.reply(calls=[call("web_fetch", url=url) for url in urls])
    model.reply("done")
    assert gantry.talk("go").out == "done\n"
    return model.last.results


def test_a_page_reaches_the_model_as_fenced_text(gantry, model, site):
    (text,) = fetch(gantry, model, site.url + "/")
    assert "Status: 200" in text and "not instructions" in text
    assert "Title: Home\n\n# Welcome\n\n[more](%s/more.html)" % site.url in text
    assert "evil" not in text and "hidden order" not in text
    row = gantry.sql("select name, decision, state, duration_ms >= 0 as timed from tool_calls")[0]
    assert tuple(row) == ("web_fetch", "allow", "done", 1)


def test_every_character_set_becomes_utf_8_and_pictures_are_named(gantry, model, site):
    sjis, cyrillic, png = fetch(gantry, model, site.url + "/sjis", site.url + "/cyrillic", site.url + "/png")
    assert "Title: \u65e5\u672c" in sjis
    assert "\u041f\u0440\u0438\u0432\u0435\u0442" in cyrillic
    assert "image/png" in png and "PNG\r" not in png


def test_this_machine_is_refused_unless_it_is_listed(gantry, model, site):
    gantry.set(GANTRY_TOOLS_WEB_FETCH_ALLOW_HOSTS="127.0.0.1:1")
    port = site.server_port
    texts = fetch(gantry, model, site.url + "/", "http://localhost:%d/" % port, "http://2130706433:%d/" % port,
                  "http://0x7f.1:%d/" % port, "http://[::ffff:127.0.0.1]:%d/" % port, "http://0:%d/" % port)
    assert all("not allowed" in t for t in texts), texts
    assert site.seen == []


def test_without_the_setting_there_is_no_web_tool(gantry, model):
    model.reply("none")
    gantry.talk("go")
    assert "web_fetch" not in model.last.tools


def test_a_bomb_stays_small(gantry, model, site):
    """What counts is what it unpacks to, and it is read no further."""
    d = gantry.daemon()
    model.reply(calls=[call("web_fetch", url=site.url + "/bomb")])
    model.reply("done")
    d.send("go")
    d.out.wait("done")
    if "ASAN_OPTIONS" not in os.environ and "TSAN_OPTIONS" not in os.environ:
        with open("/proc/%d/status" % d.pid) as f:
            peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
        assert peak < 100 * 1024, "%d KiB" % peak
    d.finish()
    assert "Note: only the first 1048576 bytes were read" in model.last.results[0]


def world(gantry, *urls):
    """Fetched in a network of its own, with its own names: texts and what each server saw."""
    argv = ["unshare", "--map-root-user", "--net", "--mount"]
    if subprocess.run([*argv, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine gives no network namespace")
    gantry.set(TOOLS="web")
    p = Proc([*argv, PYTHON, "-S", "-E", str(FAKES / "web_world.py"), binary(), *urls], gantry.env(), str(gantry.dir))
    gantry.procs.append(p)
    p.close_stdin()
    assert p.wait(60) == 0, p.err.text
    got = json.loads(p.out.text)
    return got["texts"], got["hits"]


def test_names_that_lead_inward_are_refused_whatever_they_led_to_before(gantry):
    texts, hits = world(gantry, "http://public.test/", "http://inside.test/", "http://mixed.test/",
                        "http://rebind.test/", "http://rebind.test/")
    assert "page of 93.184.216.34" in texts[0]
    assert "a private network, which is not allowed" in texts[1]
    assert "page of 93.184.216.34" in texts[2]          # never the other one
    assert "page of 93.184.216.34" in texts[3]
    assert "this machine, which is not allowed" in texts[4]
    assert hits == {"93.184.216.34": 3, "10.0.0.5": 0, "127.0.0.1": 0}


def test_a_public_page_leads_nobody_inside(gantry):
    texts, hits = world(gantry, "http://public.test/to-private", "http://public.test/to-name",
                        "http://public.test/to-local")
    assert all("which is not allowed" in t for t in texts), texts
    assert hits == {"93.184.216.34": 3, "10.0.0.5": 0, "127.0.0.1": 0}


class Silent(threading.Thread):
    """A server that says `head`, then one byte of a body now and then, for ever; .reached when somebody waits for it."""

    def __init__(self, head=b"", trickle=False):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=8)
        self.port, self.head, self.trickle, self.reached, self.left = self.listener.getsockname()[1], head, trickle, Event(), Event()

    def run(self):
        try:
            conn, _ = self.listener.accept()
        except OSError:
            return
        with conn:
            conn.recv(65536)
            conn.sendall(self.head)
            self.reached.set()
            conn.settimeout(0.005)
            while True:
                try:
                    if conn.recv(1) == b"":
                        break
                except TimeoutError:
                    try:
                        conn.sendall(b"x" if self.trickle else b"")
                    except OSError:
                        break
                except OSError:
                    break
        self.left.set()


@pytest.fixture
def stopped(gantry, model):
    """A page that never comes, /stop once somebody waits for it, and the session goes on."""
    def run(host, reached):
        gantry.set(TOOLS="web", GANTRY_TOOLS_WEB_FETCH_ALLOW_HOSTS=host, GANTRY_TOOLS_WEB_FETCH_TIMEOUT="10m")
        model.reply(calls=[call("web_fetch", url="http://%s/" % host)])
        model.reply("next")
        d = gantry.daemon()
        d.err.wait("ready")
        d.send("go")
        reached(d)
        d.send("/stop\nand now")
        d.out.wait("next\n")
        d.finish()
        assert "interrupted" in json.dumps(model.last.messages) or "stopped" in json.dumps(model.last.messages)
        (row,) = gantry.sql("select state, duration_ms from tool_calls")
        assert row["state"] == "canceled"
    return run


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\nsome text\n"


@pytest.mark.parametrize("head, trickle", [(b"", False), (HEAD[:20], False), (HEAD, False), (HEAD, True)],
                         ids=["first byte", "headers", "body", "trickle"])
def test_stop_ends_the_wait_for_a_page(stopped, head, trickle):
    site = Silent(head, trickle)
    site.start()
    stopped("127.0.0.1:%d" % site.port, lambda d: site.reached.wait(limit(20)))
    assert site.reached.is_set() and site.left.wait(limit(20))
    site.listener.close()


def test_stop_ends_the_wait_for_a_connection(gantry, stopped):
    """Its queue is full and nobody takes from it."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as held:
        for _ in range(4):
            s = held.enter_context(socket.socket())
            s.setblocking(False)
            s.connect_ex(listener.getsockname())
        port = listener.getsockname()[1]
        stopped("127.0.0.1:%d" % port, lambda d: wait_files(
            gantry.data, lambda: gantry.sql("select 1 from tool_calls where state = 'running'"), "the call"))


def test_stop_ends_the_wait_for_a_name(gantry, stopped):
    """The name server says nothing."""
    address = "127.%d.%d.%d" % tuple(os.getpid() >> s & 127 | 1 for s in (14, 7, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        try:
            server.bind((address, 53))
        except OSError:
            pytest.skip("this machine gives no port 53")
        conf = gantry.dir / "resolv.conf"
        conf.write_text("nameserver %s\n" % address)
        gantry.prefix = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', str(conf)]
        if subprocess.run([*gantry.prefix, "true"], capture_output=True).returncode != 0:
            pytest.skip("this machine gives no mount namespace")
        server.settimeout(limit(20))
        stopped("nobody.test", lambda d: server.recv(512))
