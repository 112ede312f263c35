#!/usr/bin/python3
"""make density: how many idle instances of the static program fit into so much memory.

usage: density.py [--count N] [--memory MIB] [--seconds S]

Starts one instance after the other, each with a directory, a database and a bot of its own, each
polling a Bot API over TLS 1.3, until COUNT of them run or the sum of their PSS reaches MEMORY
(8192 MiB).  Then all are left alone, and what they take is read: the PSS of each (the program and
its spawner) and of all, and the processor over SECONDS (60).  The kernel's own memory for their
threads and connections is in no PSS; it is told beside it.  Nothing is asserted.
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

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenes")]

import record  # noqa: E402
from harness.tls import certificate  # noqa: E402
from polls import Polls  # noqa: E402

STARTING = 8            # at once
START_S = 120           # until an instance polls, on a busy machine
SETTLE_S = 20           # after the last start: the check of each file is over
LEFT_MIB = 1024         # what the machine keeps for itself
TARGET = 1600


def meminfo(key):
    with open("/proc/meminfo") as f:
        return int(re.search(r"^%s:\s+(\d+)" % key, f.read(), re.M).group(1)) / 1024


def pid_max():
    return int(pathlib.Path("/proc/sys/kernel/pid_max").read_text())


class Instance:
    def __init__(self, n, home, program, polls, bundle):
        self.home = home / str(n)
        for d in ("", "persona", "data"):
            (self.home / d).mkdir()
        (self.home / "mcp.toml").write_text("")
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "CHANNEL": "telegram", "LLM_API_KEY": "density-key",
               "LLM_BASE_URL": "http://127.0.0.1:9/v1", "LLM_MODEL": "none", "LOG_LEVEL": "warn",
               "PERSONA_DIR": str(self.home / "persona"), "DATA_DIR": str(self.home / "data"),
               "MCP_MANIFEST": str(self.home / "mcp.toml"), "TELEGRAM_ALLOWED_USERS": "111",
               "TELEGRAM_BOT_TOKEN": "%d:AAdensity_0123456789abcdefghijklmnopq" % (100000000 + n),
               "TELEGRAM_API_BASE_URL": polls.url, "SSL_CERT_FILE": str(bundle)}
        with open(self.home / "log", "wb") as log:
            self.process = subprocess.Popen([program, "run"], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def pids(self):
        """The program and what it forked; empty when it is gone."""
        try:
            tasks = pathlib.Path("/proc/%d/task" % self.process.pid)
            children = " ".join((t / "children").read_text() for t in tasks.iterdir()).split()
        except OSError:
            return []
        return [self.process.pid, *map(int, children)]

    def said(self):
        return (self.home / "log").read_text(errors="replace")[-2000:]


def pss_kib(pid):
    try:
        with open("/proc/%d/smaps_rollup" % pid) as f:
            return int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
    except OSError:
        return 0


def tasks_of(pid):
    try:
        return os.listdir("/proc/%d/task" % pid)
    except OSError:
        return []


def cpu_s(pids):
    total = 0
    for pid in pids:
        for task in tasks_of(pid):
            try:
                with open("/proc/%d/task/%s/schedstat" % (pid, task)) as f:
                    total += int(f.read().split()[0])
            except OSError:
                pass
    return total / 1e9


class Density:
    def __init__(self, opt, program, home):
        self.opt, self.program, self.home = opt, program, home
        cert, key = certificate(home, "telegram", "IP:127.0.0.1")
        self.bundle = home / "bundle.pem"
        self.bundle.write_bytes(pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_bytes() + cert.read_bytes())
        self.polls = Polls(cert, key)
        self.all, self.why = [], ""

    def sum_mib(self):
        return sum(pss_kib(pid) for i in self.all for pid in i.pids()) / 1024

    def full(self):
        """Why no further one is started, "" when one is."""
        n = len(self.all)
        if self.opt.count and n >= self.opt.count:
            return "%d were asked for" % n
        if meminfo("MemAvailable") < LEFT_MIB:
            return "the machine has no more than %d MiB left" % meminfo("MemAvailable")
        tasks, most = int(pathlib.Path("/proc/loadavg").read_text().split()[3].partition("/")[2]), pid_max()
        if tasks + 2000 > most:
            return "kernel.pid_max is %d, and the machine has %d processes and threads" % (most, tasks)
        if n % 50 == 0 and n:
            used = self.sum_mib()
            print("  %5d polling, %7.1f MiB PSS, %7.1f MiB of the machine available"
                  % (n, used, meminfo("MemAvailable")), flush=True)
            if used + STARTING * used / n > self.opt.memory:
                return "the sum of PSS is %.0f of %d MiB" % (used, self.opt.memory)
        return ""

    def start(self):
        while not self.why:
            self.why = self.full()
            if self.why:
                return
            more = min(STARTING, 50 - len(self.all) % 50)
            if self.opt.count:
                more = min(more, self.opt.count - len(self.all))
            try:
                for _ in range(more):
                    self.all.append(Instance(len(self.all), self.home, self.program, self.polls, self.bundle))
            except OSError as e:        # no room for a process
                self.why = "the machine refused: %s (kernel.pid_max is %d)" % (e, pid_max())
            self.wait_polling()

    def wait_polling(self):
        end = time.monotonic() + START_S
        while self.polls.waiting < len(self.all):
            for i in list(self.all):
                if i.process.poll() is not None:
                    self.all.remove(i)
                    self.why = "instance %s ended with %s:\n%s" % (i.home.name, i.process.returncode, i.said())
            if time.monotonic() > end:
                self.why = "%d of %d poll after %d s" % (self.polls.waiting, len(self.all), START_S)
                return
            threading.Event().wait(0.02)

    def measure(self):
        """What all of them take, left alone."""
        threading.Event().wait(SETTLE_S)
        living = [i.pids() for i in self.all if i.process.poll() is None]
        pids = [pid for group in living for pid in group]
        served, used, began = self.polls.served, cpu_s(pids), time.monotonic()
        threading.Event().wait(self.opt.seconds)
        used, took = cpu_s(pids) - used, time.monotonic() - began
        each = sorted(sum(map(pss_kib, group)) / 1024 for group in living)
        spawners = sorted(sum(pss_kib(pid) for pid in group[1:]) / 1024 for group in living)
        return {"instances": len(living), "waiting": self.polls.waiting, "processes": len(pids),
                "tasks": sum(len(tasks_of(pid)) for pid in pids), "why": self.why, "pss_mib": round(sum(each), 1),
                "each_mib": [round(each[int((len(each) - 1) * s)], 2) for s in (0, .5, 1)],
                "spawner_mib": round(spawners[len(spawners) // 2], 2), "seconds": round(took, 1),
                "processor_s": round(used, 2), "polls": self.polls.served - served, "strange": self.polls.strange}

    def stop(self):
        for i in self.all:
            if i.process.poll() is None:
                i.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 60
        for i in self.all:
            try:
                i.process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                i.process.kill()
                i.process.wait()
        self.polls.close()


def table(r, before, after):
    n = r["instances"]
    one = r["processor_s"] / n / r["seconds"] * 100
    rows = [("instances, each polling over TLS 1.3", "%d" % n, ">= %d" % TARGET),
            ("PSS of one, program and spawner: least, half, most", "%.2f %.2f %.2f" % tuple(r["each_mib"]), "MiB"),
            ("PSS of a spawner alone, half", "%.2f" % r["spawner_mib"], "MiB"),
            ("PSS of all", "%.1f" % r["pss_mib"], "MiB"),
            ("what the machine has less, the kernel's and the fake's part too", "%.0f" % (before - after), "MiB"),
            ("processes and threads", "%d %d" % (r["processes"], r["tasks"]), ""),
            ("processor of all over %.0f s" % r["seconds"], "%.2f" % r["processor_s"], "s"),
            ("which is of one core", "%.2f" % (r["processor_s"] / r["seconds"] * 100), "%"),
            ("and for each instance", "%.4f" % one, "% of a core"),
            ("polls that were answered meanwhile", "%d" % r["polls"], "")]
    for name, value, unit in rows:
        print("  %-64s %18s %s" % (name, value, unit))
    print("  no further one, as " + r["why"])


def main():
    p = argparse.ArgumentParser(description="How many idle instances fit.")
    p.add_argument("--count", type=int, default=0)
    p.add_argument("--memory", type=int, default=8192)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--program", default="build/static/gantry")
    p.add_argument("--json", default="build/bench/density.json")
    opt = p.parse_args()
    program = os.path.abspath(opt.program)
    if not os.path.exists(program):
        sys.exit("density: there is no %s: make static" % opt.program)
    home, before = pathlib.Path(tempfile.mkdtemp(prefix="gantry-density.")), meminfo("MemAvailable")
    print("gantry density: %.0f MiB of memory, %.0f available, %d cores, Linux %s; %s"
          % (meminfo("MemTotal"), before, os.cpu_count(), os.uname().release,
             record.said_by(program, "version")), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    own = str(home / "gantry")      # a build meanwhile changes nothing
    shutil.copy(program, own)
    d = Density(opt, own, home)
    try:
        d.start()
        if not d.all:
            sys.exit("density: " + d.why)
        r = d.measure()
        table(r, before, meminfo("MemAvailable"))
        os.makedirs(os.path.dirname(opt.json) or ".", exist_ok=True)
        with open(opt.json, "w", encoding="utf-8") as f:
            json.dump({**record.origin(), **r, "memory_mib": opt.memory}, f, indent=1)
    finally:
        d.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
