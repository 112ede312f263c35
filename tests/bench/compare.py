#!/usr/bin/python3
"""make compare: the same conversation with several agents, on the same fakes, side by side.

usage: compare.py [--install] [--turns N] [--starts N] [--rounds N] [DRIVER...]

A driver (tests/bench/drivers/*.toml; gantry.toml explains the fields) says how an agent is
started, what files it wants, and how it is pointed at a model and at a Bot API.  An agent that
knows api.telegram.org only is started in a mount namespace whose /etc/hosts names the fake so, as
root.  Without a DRIVER all that are shipped are run; an agent that is not installed is left out with a
line, and --install installs it.

Every agent is measured alike: from exec to its first getUpdates, the PSS of all its processes but
the tool server, and for each turn what is left of the time from the update to the answer in the
chat when the model's and nobody else's is taken off (the fakes' own time is in all alike).  Then it is killed
with SIGKILL, at moments that the fakes choose, and started again; a judge reads the chat and the
ledger of the tool server: was a message lost, answered twice, or a tool that had finished run again?
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenes")]

import record  # noqa: E402
from fakes.model import Model, Reply, call  # noqa: E402
from fakes.telegram import ALLOWED, TOKEN, Methods, Telegram  # noqa: E402
from harness import openai_check  # noqa: E402
from harness.process import become_subreaper, descendants, reap_orphans  # noqa: E402
from harness.tls import Front, certificate  # noqa: E402
from harness.watch import Gate, Hung  # noqa: E402

KEY, NAME = "compare-key-0123456789", "test-model"
ANSWER_S = 60           # until an answer stands in the chat; after that it does not come
START_S = 120
HOSTS = "127.0.0.53"    # where api.telegram.org is, for those that know no other
FIELDS = {"name", "command", "env", "files", "bot_api", "tool", "install", "missing"}


class Lenient(Telegram):
    """Takes every method of the Bot API, and shows those that the strict one has not as done."""

    def __init__(self):
        super().__init__()
        for method in self.api.methods:
            if not hasattr(Methods, method) and method != "getUpdates":
                setattr(Methods, method, lambda self, params, files: True)
        self.served = {}
        self.on_update = lambda updates, stamp: [self.served.setdefault(u["update_id"], stamp) for u in updates]


class Fakes:
    """The model, the Bot API with TLS before it where that is needed, and the conversation's script."""

    def __init__(self, home, tool, by_hosts):
        self.model, self.bot = Model().start(), Lenient().start()
        self.model.check = False
        self.model.answer(self.decide)
        self.tool, self.gate, self.gate_round, self.bad = tool, None, 0, []
        self.front, self.ca = None, "/etc/ssl/certs/ca-certificates.crt"
        if by_hosts:
            cert, key = certificate(home, "telegram", "DNS:api.telegram.org")
            self.ca = str(home / "bundle.pem")
            pathlib.Path(self.ca).write_bytes(pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_bytes() + cert.read_bytes())
            self.front = Front(self.bot.url, cert, key, address=(HOSTS, 443))

    def decide(self, request):
        self.bad += openai_check.check(request.body, request.headers)
        said = [(i, str(m["content"])) for i, m in enumerate(request.messages) if m["role"] == "user"
                and re.search(r"msg \d+ \w+", str(m["content"]))]
        if not said:
            return Reply("ok")
        n, kind = re.findall(r"msg (\d+) (\w+)", said[-1][1])[-1]
        rounds = sum(1 for m in request.messages[said[-1][0]:] if m.get("tool_calls"))
        gate = self.gate if self.gate and rounds == self.gate_round else None
        if gate:
            self.gate = None
        if kind == "tool" and self.tool and rounds == 0:
            return Reply(calls=[call(self.tool, label="n" + n)], gate=gate)
        return Reply("answer %s." % n, gate=gate)

    def close(self):
        if self.front:
            self.front.close()
        self.bot.stop()
        self.model.stop()


class Agent:
    """An agent, as its driver says."""

    def __init__(self, driver, home):
        self.d, self.home = driver, home
        self.by_hosts = driver.get("bot_api") == "hosts"
        self.fakes = Fakes(home, driver.get("tool"), self.by_hosts)
        self.ledger, self.process, self.said = home / "ledger", None, 0
        args = ["-S", "-E", str(HERE.parent / "scenes" / "fakes" / "mcp_server.py"), "--log", str(home / "mcp.log"),
                "--ledger", str(self.ledger), "--tools", "count"]
        self.values = names(home, self.fakes, args)
        for name, text in driver.get("files", {}).items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(text, self.values))

    def start(self):
        """Seconds until it polls."""
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8",
               **{k: filled(v, self.values) for k, v in self.d.get("env", {}).items()}}
        command = [filled(c, self.values) for c in self.d["command"]]
        if self.by_hosts:
            hosts = self.home / "hosts"
            hosts.write_text("127.0.0.1 localhost\n%s api.telegram.org\n" % HOSTS)
            command = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts), *command]
        bot = self.fakes.bot
        before, began = len(bot.of("getUpdates")), time.monotonic()
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(command, env=env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        bot.board.wait(lambda: len(bot.of("getUpdates")) > before or self.process.poll() is not None,
                       "its first poll", START_S, self.log)
        if len(bot.of("getUpdates")) == before:
            raise RuntimeError("it ended with %s before it polled:\n%s" % (self.process.returncode, self.log()))
        return bot.of("getUpdates")[before].arrived - began

    def log(self):
        return (self.home / "log").read_text(errors="replace")[-3000:]

    def pids(self):
        """All its processes, but the tool server and what belongs to that alone."""
        found = [self.process.pid, *descendants(self.process.pid)]
        return [pid for pid in found if "fakes/mcp_server.py" not in command_line(pid)]

    def end(self, how):
        """End it; whatever it left is killed too."""
        everything = [self.process.pid, *descendants(self.process.pid)]
        self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pid in everything[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap_orphans(set())

    def close(self):
        if self.process and self.process.poll() is None:
            self.end(signal.SIGTERM)
        self.fakes.close()

    # The conversation -----------------------------------------------------------------------

    def say(self, kind):
        """(number, message)"""
        self.said += 1
        return self.said, self.fakes.bot.say("msg %d %s" % (self.said, kind))

    def answers(self, n):
        return [m for m in self.fakes.bot.messages() if re.search(r"answer %d\." % n, m.text)]

    def wait_answer(self, n, seconds=ANSWER_S):
        return self.fakes.bot.board.wait(lambda: self.answers(n), "answer %d" % n, seconds, self.log)[0]

    def turn(self, kind):
        """Own time of one turn, in milliseconds."""
        requests = self.fakes.model.requests
        before = len(requests)
        n, said = self.say(kind)
        answered = self.wait_answer(n).stamps[-1]
        mine = [r for r in requests[before:] if r.departed and r.arrived < answered]
        whole = answered - self.fakes.bot.served[said.update]
        return (whole - sum(r.departed - r.arrived for r in mine)) * 1000


def names(home, fakes, mcp_args):
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "gantry"
    return {"tree": str(TREE), "cache": str(cache), "home": str(home), "model": fakes and fakes.model.url, "key": KEY,
            "name": NAME, "bot_api": fakes and fakes.bot.url, "token": TOKEN, "user": str(ALLOWED),
            "ca": fakes and fakes.ca, "mcp_command": "/usr/bin/python3", "mcp_args": " ".join(mcp_args),
            "mcp_args_json": json.dumps(mcp_args)}


def filled(text, values):
    def value(m):
        if m[1] not in values:
            raise ValueError("@%s@ is no name that is filled in" % m[1])
        return values[m[1]]
    return re.sub(r"@(\w+)@", value, text)


def command_line(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def pss_mib(pids):
    total = 0
    for pid in pids:
        try:
            with open("/proc/%d/smaps_rollup" % pid) as f:
                total += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
        except OSError:
            pass
    return total / 1024


def cpu_ms(pids):
    """Of their threads, ended ones too, but not of children that were reaped."""
    total = 0
    for pid in pids:
        try:
            with open("/proc/%d/stat" % pid) as f:
                total += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
        except OSError:
            pass
    return total * 1000 / os.sysconf("SC_CLK_TCK")


def middle(values):
    values = sorted(values)
    return values[len(values) // 2]


def measure(agent, opt):
    """The figures of an agent: {row: text}, in the order of the table."""
    out, starts = {}, []
    for n in range(opt.starts):
        starts.append(agent.start() * 1000)
        if n < opt.starts - 1:
            agent.end(signal.SIGTERM)
    out["exec to first poll, p50 of %d, ms" % opt.starts] = "%.0f" % middle(starts)
    agent.turn("plain")         # whatever is loaded at first use
    threading.Event().wait(opt.rest)
    out["memory at rest, MiB PSS"] = "%.1f" % pss_mib(agent.pids())
    out["processes"] = "%d" % len(agent.pids())
    for kind in ("plain", "tool") if agent.d.get("tool") else ("plain",):
        pids = agent.pids()
        before = cpu_ms(pids)
        own = [agent.turn(kind) for _ in range(opt.turns)]
        threading.Event().wait(1)       # what is done after the answer
        used = (cpu_ms(pids) - before) / opt.turns
        what = "no tool" if kind == "plain" else "one tool call"
        out["own time of a turn, %s, p50, ms" % what] = "%.1f" % middle(own)
        out["own time of a turn, %s, most, ms" % what] = "%.1f" % max(own)
        out["processor of a turn, %s, ms" % what] = "%.1f" % used
    out["memory after these turns, MiB PSS"] = "%.1f" % pss_mib(agent.pids())
    agent.end(signal.SIGTERM)
    return out


# --- deaths ------------------------------------------------------------------------------------


def kill_at(agent, moment):
    """Say something, kill it with SIGKILL at that moment; the number of the message."""
    fakes = agent.fakes
    if moment == "while it sends":
        fault = fakes.bot.fail("sendMessage", hang=True, match=r"answer")
        n, _ = agent.say("plain")
        fakes.bot.board.wait(lambda: fault.hits, "its sendMessage", ANSWER_S, agent.log)
        agent.end(signal.SIGKILL)
        fakes.bot.heal()
        return n
    gate = fakes.gate = Gate()
    fakes.gate_round = 1 if moment == "after the tool ran" else 0
    n, _ = agent.say("tool" if fakes.gate_round else "plain")
    gate.wait_reached(ANSWER_S)
    agent.end(signal.SIGKILL)
    gate.release()
    return n


def survive(agent, opt):
    """The judge's table of deaths: {row: text}."""
    moments = ["while the model is asked", "while it sends"]
    if agent.d.get("tool"):
        moments.append("after the tool ran")
    lost, twice, repeated, deaths, where = 0, 0, 0, 0, []
    for moment in moments:
        for _ in range(opt.rounds):
            agent.start()
            n = kill_at(agent, moment)
            deaths += 1
            agent.start()
            try:
                agent.wait_answer(n, opt.patience)
            except Hung:
                lost += 1
                where.append(moment)
            threading.Event().wait(1)       # a second copy, if there is one
            twice += len(agent.answers(n)) > 1
            ran = agent.ledger.read_text().split().count("n%d" % n) if agent.ledger.exists() else 0
            repeated += ran > 1
            agent.end(signal.SIGTERM)
    good = lost == 0 and repeated == 0
    return {"survives kill -9": "yes" if good else "no", "deaths": "%d" % deaths,
            "messages that were never answered": "%d%s" % (lost, " (%s)" % ", ".join(sorted(set(where))) if where else ""),
            "messages that were answered twice": "%d" % twice,
            "finished tools that ran again": "%d" % repeated if agent.d.get("tool") else "-"}


def compare(driver, opt):
    """The column of one agent."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="gantry-compare."))
    agent = Agent(driver, home)
    try:
        out = measure(agent, opt)
        out.update(survive(agent, opt))
        out["requests a strict model would refuse"] = "%d" % len(agent.fakes.bad)
        out["calls a strict Bot API would refuse"] = "%d" % len(agent.fakes.bot.violations)
        return out
    finally:
        agent.close()
        shutil.rmtree(home, ignore_errors=True)


def load(path):
    with open(path, "rb") as f:
        d = tomllib.load(f)
    odd = set(d) - FIELDS
    if odd or not {"name", "command", "bot_api"} <= set(d) or d["bot_api"] not in ("url", "hosts"):
        sys.exit("compare: %s: %s" % (path, "unknown: " + " ".join(sorted(odd)) if odd else
                                      'name, command and bot_api ("url" or "hosts") are needed'))
    return d


def missing(d, opt):
    """Why an agent cannot be run here, "" when it can."""
    values = names("/nowhere", None, [])
    program = filled(d["command"][0], values)
    if not os.path.exists(program) and opt.install:
        for command in d.get("install", []):
            subprocess.run([filled(c, values) for c in command], check=True)
    if not os.path.exists(program):
        return "%s is not there%s" % (program, ": " + d["missing"] if "missing" in d else "")
    if d["bot_api"] == "hosts" and os.geteuid() != 0:
        return "needs root: it can be pointed at a Bot API only by /etc/hosts"
    return ""


def table(columns):
    """Side by side: [(name, {row: text})]."""
    rows = list(dict.fromkeys(r for _, c in columns for r in c))
    widths = [max(len(name), *(len(c.get(r, "-")) for r in rows)) for name, c in columns]
    first = max(map(len, rows))
    print("  " + " " * first + "".join("  " + name.rjust(w) for (name, _), w in zip(columns, widths)))
    for r in rows:
        print("  " + r.ljust(first) + "".join("  " + c.get(r, "-").rjust(w) for (_, c), w in zip(columns, widths)))


def main():
    p = argparse.ArgumentParser(description="The same conversation with several agents.")
    p.add_argument("drivers", nargs="*")
    p.add_argument("--install", action="store_true")
    p.add_argument("--turns", type=int, default=30)
    p.add_argument("--starts", type=int, default=5)
    p.add_argument("--rounds", type=int, default=3, help="deaths at each moment")
    p.add_argument("--patience", type=float, default=30, help="seconds for an answer after a death")
    p.add_argument("--rest", type=float, default=10, help="seconds before memory is read")
    p.add_argument("--json", default="build/bench/compare.json")
    opt = p.parse_args()
    become_subreaper()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # what is there is shown all the same
    columns, failed = [], False
    for path in opt.drivers or sorted((HERE / "drivers").glob("*.toml")):
        d = load(path)
        why = missing(d, opt)
        if why:
            print("compare: %s is left out: %s" % (d["name"], why), flush=True)
            continue
        print("compare: %s ..." % d["name"], flush=True)
        try:
            columns.append((d["name"], compare(d, opt)))
        except (Hung, RuntimeError, ValueError, OSError) as e:
            failed = True
            print("compare: %s: %s" % (d["name"], e), flush=True)
        except (KeyboardInterrupt, SystemExit):
            failed = True
            print("compare: ended in the midst of %s" % d["name"], flush=True)
            break
    if columns:
        table(columns)
        os.makedirs(os.path.dirname(opt.json) or ".", exist_ok=True)
        with open(opt.json, "w", encoding="utf-8") as f:
            json.dump({**record.origin(), "turns": opt.turns, "agents": dict(columns)}, f, indent=1)
    return 1 if failed or not columns else 0


if __name__ == "__main__":
    sys.exit(main())
