"""Each deployment in examples/ is right as it stands: it validates, starts, and answers."""

import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import pytest
import yaml

from fakes.telegram import TOKEN
from harness.fixtures import KEY, PYTHON, TREE
from harness.newcomer import fake_programs
from harness.process import Proc, Result
from harness.watch import wait_until

EXAMPLES = TREE / "examples"
FILES = sorted(p.parent.name for p in EXAMPLES.glob("*/config.yaml"))
COMPOSED = sorted(p.parent.name for p in EXAMPLES.glob("*/compose.yml"))
OWNER = 123456789       # who the examples answer


class Example:
    """A copy of an example on a machine of its own: a home, its /srv, programs it names."""

    def __init__(self, gantry, name):
        self.g = gantry
        self.dir = gantry.dir / name
        shutil.copytree(EXAMPLES / name, self.dir)
        self.bin = fake_programs(gantry.dir / "bin", "npx", "uvx")
        (self.bin / "python3").symlink_to(PYTHON)
        self.srv = gantry.dir / "srv"
        for name in ("assistant", "photos", "documents"):
            (self.srv / name).mkdir(parents=True)
        for p in self.dir.iterdir():
            if p.suffix in (".yaml", ".toml") and "/srv/" in p.read_text():
                p.write_text(p.read_text().replace("/srv/", str(self.srv) + "/"))
        gantry.secrets |= {TOKEN, TOKEN.partition(":")[2]}

    def dotenv(self):
        """.env.example filled in."""
        out = {}
        path = self.dir / ".env.example"
        for line in path.read_text().splitlines() if path.exists() else ():
            if line and not line.startswith("#"):
                name, _, value = line.partition("=")
                out[name] = value or (TOKEN if "TOKEN" in name else KEY if "KEY" in name else "")
                assert out[name], "%s has no value, and a person would not know what to write" % name
        return out

    def env(self, **more):
        env = {"PATH": "%s:/usr/bin:/bin" % self.bin, "HOME": str(self.g.home), "LANG": "C.UTF-8",
               "GANTRY_OPENAI_BASE_URL": self.g.model.url, **self.dotenv(), **more}
        env.update({k: os.environ[k] for k in os.environ if k.endswith("SAN_OPTIONS")})
        return env

    def run(self, *args, code=0, **more):
        return self.g.run("--config", self.dir / "config.yaml", *args, code=code, env=self.env(**more), cwd=self.dir)

    def start(self, *args, stdin=subprocess.DEVNULL, **more):
        return self.g.start("--config", self.dir / "config.yaml", *args, env=self.env(**more), cwd=self.dir, stdin=stdin)


def options(name):
    return yaml.safe_load((EXAMPLES / name / "config.yaml").read_text())


def on_telegram(name):
    return options(name)["channels"]["telegram"].get("enabled", True)


def test_every_directory_is_an_example_with_its_line_in_the_cookbook():
    cookbook = (EXAMPLES / "README.md").read_text()
    for p in EXAMPLES.iterdir():
        if p.is_dir():
            assert p.name in FILES + COMPOSED, "%s holds nothing that could be started" % p.name
        if p.name != "README.md":
            assert "(%s" % p.name in cookbook, "examples/README.md does not link %s" % p.name


@pytest.mark.parametrize("name", FILES)
def test_it_validates_without_a_warning(gantry, name):
    e = Example(gantry, name)
    r = e.run("config", "validate")
    assert r.out == "OK: %s\n" % (e.dir / "config.yaml") and not r.err


@pytest.mark.parametrize("name", [n for n in FILES if on_telegram(n)])
def test_it_answers_its_owner_on_telegram_and_nobody_else(gantry, bot, model, name):
    e = Example(gantry, name)
    bot.user(OWNER), bot.user(999)
    model.reply("It is all there.")
    p = e.start("run", GANTRY_CHANNELS_TELEGRAM_API_BASE_URL=bot.url)
    bot.say("let me in", chat=999, user=999)
    bot.say("hello", chat=OWNER, user=OWNER)
    bot.wait_text("It is all there", chat=OWNER)
    assert not bot.seen(999) and len(model.requests) == 1
    system = model.last.system
    for part in options(name)["agent"].get("system_prompt_files", []):
        assert (e.dir / part).read_text().strip().splitlines()[0] in system
    assert e.run("status", GANTRY_CHANNELS_TELEGRAM_API_BASE_URL=bot.url).out.startswith("healthy")
    p.term()
    p.wait(30, 0)


@pytest.mark.parametrize("name", [n for n in FILES if not on_telegram(n)])
def test_it_answers_at_the_terminal(gantry, model, name):
    e = Example(gantry, name)
    model.key = None if options(name)["openai"].get("no_key") else KEY
    model.reply("It is all there.")
    assert e.run("prompt", "hello").out == "It is all there.\n"


# --- what each of them promises ---------------------------------------------------------------

def offered(e, model, **more):
    model.reply("ok")
    e.run("prompt", "hello", **more)
    return set(model.last.tools)


def test_the_small_machine_sends_little(gantry, model):
    model.key = None
    tools = offered(Example(gantry, "ollama-pi"), model)
    assert "read_file" in tools and not tools & {"exec", "web_fetch"}
    assert "authorization" not in model.last.headers


def test_the_reviewer_reads_and_cannot_write(gantry, model):
    from fakes.model import call
    e = Example(gantry, "reviewer")
    tree = gantry.dir / "tree"
    tree.mkdir()
    (tree / "a.c").write_text("int main(void) { return 1; }\n")
    model.reply(calls=[call("read_file", path="a.c"), call("write_file", path="a.c", content="gone")])
    model.reply("a.c:1: it fails always")
    git = e.bin / "git"
    git.write_text("#!/bin/sh\necho \"+int main(void) { return 1; } ($*)\"\n")
    git.chmod(0o755)
    (e.bin / "gantry").symlink_to(gantry.start("version").argv[0])
    p = Proc(["/bin/sh", str(e.dir / "review"), "v1"], e.env(), str(tree), stdin=subprocess.DEVNULL, name="review")
    gantry.procs.append(p)
    p.wait(30, 0)
    assert Result(p).out == "a.c:1: it fails always\n"
    assert "(diff v1)" in model.requests[0].user
    read, written = [m["content"] for m in model.last.messages if m["role"] == "tool"]
    assert "return 1" in read and "refused" in written.lower()
    assert (tree / "a.c").read_text() == "int main(void) { return 1; }\n"


@pytest.mark.parametrize("name, line, verdict", [
    ("telegram-vps", "df -h", "allow"), ("telegram-vps", "systemctl status nginx", "allow"),
    ("telegram-vps", "systemctl restart nginx", "ask"), ("telegram-vps", "rm -rf /", "deny"),
    ("home-nas", "du -sh photos", "allow"), ("home-nas", "mv a b", "ask"), ("home-nas", "mkfs /dev/sda", "deny"),
    ("home-nas", "rm -rf /", "deny")])
def test_commands_are_judged_as_the_example_says(gantry, name, line, verdict):
    r = Example(gantry, name).run("policy", "test", line, "--json", code=None)
    assert json.loads(r.out)["verdict"] == verdict, r


@pytest.mark.parametrize("tool, args, verdict", [
    ("write_file", {"path": "x"}, "ask"), ("read_file", {"path": "x"}, "allow"),
    ("files__move_file", {"source": "a"}, "ask"), ("files__read_text_file", {"path": "SRV/documents/tax/2025"}, "deny"),
    ("files__list_directory", {"path": "SRV/photos"}, "allow")])
def test_the_nas_asks_before_it_changes_anything(gantry, tool, args, verdict):
    e = Example(gantry, "home-nas")
    text = json.dumps(args).replace("SRV", str(e.srv))
    assert json.loads(e.run("policy", "test", "--tool", tool, text, "--json", code=None).out)["verdict"] == verdict


FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<item><guid>a-2</guid><title>Release 2 &amp; more</title><link>https://example.org/2</link></item>
<item><title>Release 1</title><link>https://example.org/1</link></item></channel></rss>"""
ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><entry><id>urn:1</id><title>Eins</title>
<link href="https://example.org/eins"/><updated>2026-01-01T00:00:00Z</updated></entry></feed>"""


@pytest.fixture
def web():
    pages = {"/rss": FEED, "/atom": ATOM, "/bomb": '<!DOCTYPE x [<!ENTITY a "b">]><rss/>', "/text": "no feed"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path in pages else 404)
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield "http://127.0.0.1:%d" % server.server_port
    server.shutdown()
    server.server_close()


def test_the_feed_server_reads_both_kinds_of_feed_and_nothing_else(gantry, web):
    e = Example(gantry, "feed-watcher")

    def look(path, code=0):
        r = e.run("tools", "call", "feeds__entries", json.dumps({"url": path}), code=None)
        return json.loads(r.out) if r.out.startswith("{") else r.out + r.err
    assert look(web + "/rss")["items"] == [
        {"id": "a-2", "title": "Release 2 & more", "link": "https://example.org/2", "date": ""},
        {"id": "https://example.org/1", "title": "Release 1", "link": "https://example.org/1", "date": ""}]
    assert look(web + "/atom")["items"][0] == {"id": "urn:1", "title": "Eins", "link": "https://example.org/eins",
                                               "date": "2026-01-01T00:00:00Z"}
    for bad in (web + "/bomb", web + "/text", web + "/none", "file:///etc/passwd"):
        assert "cannot read the feed" in look(bad)


def test_the_watcher_can_watch_that_feed(gantry, bot, model, web):
    from fakes.model import call
    e = Example(gantry, "feed-watcher")
    bot.user(OWNER)
    model.reply(calls=[call("watch_add", tool="feeds__entries", args={"url": web + "/rss"}, every="30m", prompt="Releases only")])
    model.reply("I watch it.")
    p = e.start("run", GANTRY_CHANNELS_TELEGRAM_API_BASE_URL=bot.url)
    bot.say("watch it", chat=OWNER, user=OWNER)
    bot.wait_text("I watch it", chat=OWNER)
    result = model.last.results[0]
    assert "error" not in result.lower(), result
    p.term()
    p.wait(30, 0)


def test_the_json_of_a_desktop_client_is_a_manifest(gantry):
    line = re.search(r"^GANTRY_MCP_MANIFEST=~/(\S+) gantry (tools list)$", (EXAMPLES / "README.md").read_text(), re.M)
    e = Example(gantry, "telegram-vps")
    at = gantry.home / line[1]
    at.parent.mkdir(parents=True)
    at.write_text(json.dumps({"mcpServers": {"mine": {"command": "npx", "args": ["-y", "whatever"]}}}))
    assert "mine__echo" in e.run(*line[2].split(), GANTRY_MCP_MANIFEST=at).out


# --- containers -------------------------------------------------------------------------------

def fill(text, env):
    """${NAME}, ${NAME:-default} and ${NAME:?message} as compose has them."""
    def one(m):
        name, kind, word = m[1], m[2], m[3]
        if env.get(name):
            return env[name]
        assert kind == ":-", "%s has to be set: %s" % (name, word)
        return word
    return re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", one, text)


def services(directory, env):
    text = fill((directory / "compose.yml").read_text(), env)
    return yaml.safe_load(text)["services"]


def contained(e, service, bot, **more):
    """The environment of a service, with its mounts where they are on this machine."""
    env = dict(e.dotenv()) if service.get("env_file") else {}
    env.update({k: str(v) for k, v in service["environment"].items()})
    where = {}
    for volume in service["volumes"]:
        source, target = volume.split(":")[:2]
        (e.dir / source).mkdir(parents=True, exist_ok=True) if not source.endswith(".toml") else None
        where[target] = str(e.dir / source)
    env.update(PERSONA_DIR=where["/persona"], DATA_DIR=where["/data"],
               MCP_MANIFEST=where.get("/etc/gantry/mcp.toml", str(e.dir / "none.toml")), TELEGRAM_API_BASE_URL=bot.url,
               LLM_BASE_URL=e.g.model.url, TELEGRAM_BOT_TOKEN=TOKEN, PATH="/usr/bin:/bin", HOME=str(e.g.home))
    env.update(more)
    return env


@pytest.mark.parametrize("name", COMPOSED)
def test_a_composed_example_answers_over_telegram(gantry, bot, model, name):
    e = Example(gantry, name)
    if (e.dir / "persona.example").exists():
        (e.dir / "persona.example").rename(e.dir / "persona")
    (e.dir / "none.toml").write_text("")
    bot.user(OWNER)
    for title, service in services(e.dir, e.dotenv()).items():
        keyless = service["environment"].get("LLM_NO_KEY") == "true"
        model.key = None if keyless else KEY
        env = contained(e, service, bot)
        model.reply("Here is %s." % title)
        p = gantry.start("run", env=env, stdin=subprocess.DEVNULL)
        bot.say("hello", chat=OWNER, user=OWNER)
        bot.wait_text("Here is %s" % title, chat=OWNER)
        persona = sorted((e.dir / service["volumes"][0].split(":")[0]).glob("*.md"))
        assert persona and persona[0].read_text().strip().splitlines()[0] in model.last.system
        test = service["healthcheck"]["test"]
        assert test == ["CMD", "/usr/local/bin/gantry", "status"]
        wait_until(lambda: gantry.run("status", env=env, code=None).out.startswith("healthy"), "a healthy status")
        p.term()
        p.wait(30, 0)


@pytest.mark.parametrize("name", COMPOSED)
def test_a_container_can_write_nothing_but_its_data(name):
    for service in services(EXAMPLES / name, dict.fromkeys(("GEMINI_API_KEY", "OPENAI_API_KEY", "WORK_BOT_TOKEN",
                                                            "HOME_BOT_TOKEN", "MY_ID"), "x")).values():
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and "ports" not in service
        assert [v for v in service["volumes"] if not v.endswith(":ro")] == [v for v in service["volumes"] if ":/data" in v]


def test_make_example_pa_seeds_persona_and_env_and_keeps_what_is_there(gantry):
    tree = gantry.dir / "tree"
    (tree / "scripts").mkdir(parents=True)
    shutil.copy(TREE / "scripts" / "example-pa", tree / "scripts")
    shutil.copytree(EXAMPLES / "personal-assistant", tree / "examples" / "personal-assistant",
                    ignore=shutil.ignore_patterns(".env", "data", "secrets", "persona"))
    pa = tree / "examples" / "personal-assistant"

    def make():
        return subprocess.run(["/bin/sh", str(tree / "scripts" / "example-pa")], capture_output=True, text=True, check=True).stdout
    out = make()
    assert "wrote examples/personal-assistant/.env\n" in out and "docker compose -f" in out
    seeded = {p.relative_to(pa): p.read_text() for p in [pa / ".env", *(pa / "persona").iterdir()]}
    assert len(seeded) == 4
    assert re.search(r"^GEMINI_API_KEY=$", (pa / ".env").read_text(), re.M)
    assert re.search(r"^RUN_AS=\d+:\d+$", (pa / ".env").read_text(), re.M)
    assert (pa / ".env").stat().st_mode & 0o777 == 0o600
    (pa / "persona" / "SOUL.md").write_text("mine\n")
    (pa / ".env").write_text("GEMINI_API_KEY=mine\n")
    assert "wrote" not in make()
    assert (pa / "persona" / "SOUL.md").read_text() == "mine\n" and (pa / ".env").read_text() == "GEMINI_API_KEY=mine\n"
