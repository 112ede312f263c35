#!/usr/bin/python3
"""make bench: one table of figures, none of them asserted.

Times are stamped on the monotonic clock, by the fake model for what it receives and sends,
here for what goes into the program and comes out of it.  "own time" of a turn is what
remains when the model's share is taken off; it includes the wake-ups of this script.
"""
import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenes"))
from fakes.model import Model as SlowModel, Reply  # noqa: E402
from fakes.telegram import ALLOWED, TOKEN, Telegram  # noqa: E402

GANTRY = os.path.abspath(os.environ.get("GANTRY", "build/gantry"))
BENCH = os.path.abspath(os.environ.get("BENCH", "build/bench"))
TURNS = int(os.environ.get("BENCH_TURNS", "200"))
rows = []


def row(name, value, unit, target=""):
    rows.append({"name": name, "value": value, "unit": unit, "target": target})
    print(f"  {name:<44} {value:>10} {unit:<8} {target}", flush=True)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


class Model:
    """tests/bench/fake_model as a process; .log is filled by waiting for lines."""

    def __init__(self):
        self.proc = subprocess.Popen([f"{BENCH}/fake_model"], stdout=subprocess.PIPE, text=True)
        atexit.register(self.proc.kill)     # also when a bench fails
        self.port = int(self.proc.stdout.readline().split()[1])

    def take(self, n):
        """The next n requests as (arrived_us, departed_us)."""
        found = []
        for _ in range(n):
            _, arrived, departed, _ = self.proc.stdout.readline().split()
            found.append((int(arrived), int(departed)))
        return found

    def close(self):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()


def environment(home, model, tools=True):
    os.makedirs(f"{home}/persona", exist_ok=True)
    with open(f"{home}/mcp.toml", "w") as f:
        if tools:
            f.write(f'[[server]]\nname = "echo"\ncommand = "{BENCH}/mcp_echo"\n')
    return {
        "PATH": os.environ["PATH"], "HOME": home, "CHANNEL": "stdio",
        "LLM_BASE_URL": f"http://127.0.0.1:{model.port}/v1", "LLM_API_KEY": "bench-key", "LLM_MODEL": "bench",
        "PERSONA_DIR": f"{home}/persona", "DATA_DIR": f"{home}/data", "MCP_MANIFEST": f"{home}/mcp.toml",
        "LOG_LEVEL": "info", "TOOL_TRACE": "off",
    }


class Daemon:
    """gantry run over pipes."""

    def __init__(self, env):
        self.log = open(f"{env['HOME']}/log", "w+")
        self.began = time.monotonic_ns()
        self.proc = subprocess.Popen([GANTRY, "run"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=self.log)
        self.ready_ms = None

    def wait_ready(self):
        """By the log's own line; polling a file costs up to a tenth of a millisecond."""
        with open(self.log.name) as f:
            while True:
                line = f.readline()
                if '"ready"' in line:
                    self.ready_ms = (time.monotonic_ns() - self.began) / 1e6
                    return
                if not line:
                    if self.proc.poll() is not None:
                        sys.exit("bench: gantry ended: " + open(self.log.name).read())
                    time.sleep(0.0001)

    def turn(self, text):
        """Begin and end of one turn, in microseconds."""
        began = time.monotonic_ns() // 1000
        self.proc.stdin.write(text.encode() + b"\n")
        self.proc.stdin.flush()
        self.proc.stdout.readline()
        return began, time.monotonic_ns() // 1000

    def pids(self):
        """The program and its spawner; servers are not ours to count."""
        found = [self.proc.pid]
        for pid in os.listdir("/proc"):
            try:
                stat = open(f"/proc/{pid}/stat").read()
                exe = os.readlink(f"/proc/{pid}/exe")
            except (OSError, ValueError):
                continue
            if exe == GANTRY and int(stat.rsplit(")", 1)[1].split()[1]) == self.proc.pid:
                found.append(int(pid))
        return found

    def pss_kib(self):
        total = 0
        for pid in self.pids():
            with open(f"/proc/{pid}/smaps_rollup") as f:
                total += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
        return total

    def close(self):
        self.proc.stdin.close()
        self.proc.wait(30)
        self.proc.stdout.close()
        self.log.close()


def own_times(daemon, model, text, requests, n):
    own = []
    for _ in range(n):
        began, ended = daemon.turn(text)
        own.append(ended - began - sum(d - a for a, d in model.take(requests)))
    return [us / 1000 for us in own]


def bench_start(home):
    ready = []
    for i in range(20):
        model = Model()
        daemon = Daemon(environment(f"{home}/start{i % 2}", model))
        daemon.wait_ready()
        ready.append(daemon.ready_ms)
        daemon.close()
        model.close()
    row("exec to ready p50", f"{percentile(ready, .5):.1f}", "ms", "<= 25")
    row("exec to ready p99", f"{percentile(ready, .99):.1f}", "ms")


def bench_turns(home):
    model = Model()
    daemon = Daemon(environment(f"{home}/turns", model))
    daemon.wait_ready()
    daemon.turn("warm up")
    model.take(1)
    row("memory idle (program and spawner)", f"{daemon.pss_kib() / 1024:.1f}", "MiB PSS", "<= 12")
    own = own_times(daemon, model, "a question of a few words", 1, TURNS)
    row("memory after the turns", f"{daemon.pss_kib() / 1024:.1f}", "MiB PSS")
    row("own time per turn, no tool, p50", f"{percentile(own, .5):.2f}", "ms", "<= 1.5 + commits")
    row("own time per turn, no tool, p99", f"{percentile(own, .99):.2f}", "ms")
    own = own_times(daemon, model, "tools=5 please", 2, TURNS)
    row("own time per turn, 5 parallel calls, p50", f"{percentile(own, .5):.2f}", "ms")
    row("own time per turn, 5 parallel calls, p99", f"{percentile(own, .99):.2f}", "ms")
    daemon.close()
    model.close()


def bench_growth(home):
    medians = {}
    for stored in (10, 1000, 100000):
        model = Model()
        env = environment(f"{home}/grow{stored}", model, tools=False)
        os.makedirs(env["DATA_DIR"])
        subprocess.run([f"{BENCH}/fill", f"{env['DATA_DIR']}/gantry.db", "stdio", "local", str(stored)], check=True)
        daemon = Daemon(dict(env, HISTORY_MAX_MESSAGES="10"))
        daemon.wait_ready()
        ready = daemon.ready_ms
        daemon.turn("warm up")
        model.take(1)
        own = own_times(daemon, model, "a question of a few words", 1, TURNS)
        medians[stored] = percentile(own, .5)
        row(f"own time per turn, {stored} stored messages, p50", f"{medians[stored]:.2f}", "ms")
        row(f"exec to ready, {stored} stored messages", f"{ready:.1f}", "ms")
        daemon.close()
        model.close()
    row("growth from 10 to 100000 messages", f"{medians[100000] / medians[10]:.2f}", "times", "<= 1.2")


def cpu_seconds(pids):
    """User and system time so far."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as f:
            ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def telegram_daemon(home, model, bot, **more):
    env = dict(environment(home, model, tools=False), CHANNEL="telegram", TELEGRAM_BOT_TOKEN=TOKEN,
               TELEGRAM_ALLOWED_USERS=str(ALLOWED), TELEGRAM_API_BASE_URL=bot.url, **more)
    daemon = Daemon(env)
    bot.wait_calls("getUpdates", 1, 20)
    return daemon


def bench_telegram(home):
    """All stamps are the fakes': when a poll's answer was about to go out, when a request was whole."""
    model, bot = Model(), Telegram().start()
    served = []
    bot.on_update = lambda updates, stamp: served.append(stamp)
    daemon = telegram_daemon(f"{home}/telegram", model, bot)
    to_model, to_send = [], []
    for n in range(TURNS + 1):
        if n == 1:
            began = cpu_seconds(daemon.pids())
        bot.say("a question of a few words")
        sent = bot.wait_calls("sendMessage", n + 1)
        (arrived, departed), = model.take(1)
        if n:
            to_model.append(arrived / 1e3 - served[-1] * 1e3)
            to_send.append(sent.arrived * 1e3 - departed / 1e3)
    cpu = (cpu_seconds(daemon.pids()) - began) / TURNS
    row("update served to model request p50", f"{percentile(to_model, .5):.2f}", "ms")
    row("update served to model request p99", f"{percentile(to_model, .99):.2f}", "ms")
    row("model answer to sendMessage p50", f"{percentile(to_send, .5):.2f}", "ms")
    row("model answer to sendMessage p99", f"{percentile(to_send, .99):.2f}", "ms")
    row("processor time per turn over Telegram", f"{cpu * 1e3:.1f}", "ms")
    daemon.proc.terminate()
    daemon.close()
    model.close()
    model, answers = SlowModel().start(), 3
    model.answer(lambda r: Reply("word " * 100, chunk=[2000] + [700] * 100, pause=0.05))
    bot.calls.clear()
    daemon = telegram_daemon(f"{home}/stream", model, bot, STREAM_REPLIES="true")
    began = time.monotonic()
    for n in range(answers):
        before = len(bot.messages())
        bot.say("stream")
        bot.board.wait(lambda: any(m.text.count("word") == 100 for m in bot.messages()[before:]), "the answer", 60)
    row("edits per streamed answer", f"{len(bot.of('editMessageText')) / answers:.1f}", "edits",
        f"of {(time.monotonic() - began) / answers:.1f} s")
    daemon.proc.terminate()
    daemon.close()
    model.stop()
    bot.stop()
    for fault in bot.violations:
        sys.exit("bench: the Bot API refused: " + fault)


def print_rows(command, env):
    """The rows of a bench that is a program: "name value unit" lines."""
    out = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    for line in out.stdout.splitlines():
        name, value, unit = line.split(" ", 2)
        target = "<= 0.1" if name == "mcp_call_p50" else "<= 100" if re.match("cancel.*p99", name) else ""
        row(name.replace("_", " "), value, unit, target)


def bench_dns(home, env):
    """A resolver that never answers: own network and mount namespaces, so only as root."""
    if os.geteuid() != 0:
        print("  cancel dns: skipped, needs root for a network namespace")
        return
    with open(f"{home}/resolv.conf", "w") as f:
        f.write("nameserver 127.0.0.1\n")
    script = f"ip link set lo up && mount --bind {home}/resolv.conf /etc/resolv.conf && exec {BENCH}/bench_cancel dns"
    print_rows(["unshare", "-n", "-m", "sh", "-c", script], env)


def bench_programs(home):
    model = Model()
    env = environment(f"{home}/many", model, tools=False)
    print_rows([f"{BENCH}/bench_turns", "16", "50"], env)
    print_rows([f"{BENCH}/bench_mcp", f"{BENCH}/mcp_echo", "5000"], env)
    print_rows([f"{BENCH}/bench_cancel"], env)
    bench_dns(home, env)
    if os.path.exists(f"{BENCH}/bench_store"):
        os.makedirs(f"{home}/journal")
        print_rows([f"{BENCH}/bench_store", f"{home}/journal"], env)
    model.close()


def main():
    home = tempfile.mkdtemp(prefix="gantry-bench.")
    print(f"gantry bench: {os.cpu_count()} cores, {os.uname().release}, {TURNS} turns a figure")
    try:
        size = os.path.getsize(GANTRY)
        stripped = f"{home}/stripped"
        subprocess.run(["strip", "-o", stripped, GANTRY], check=True)
        row("binary, stripped (dynamic)", f"{os.path.getsize(stripped) / 1024:.0f}", "KiB", f"{size // 1024} with symbols")
        bench_start(home)
        bench_turns(home)
        bench_growth(home)
        bench_telegram(home)
        bench_programs(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if os.environ.get("BENCH_JSON"):
        with open(os.environ["BENCH_JSON"], "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
