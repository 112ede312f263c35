#!/usr/bin/python3
"""make cost: how many instructions the pieces of the program take, beside those that were kept.

usage: cost.py [--keep] [--runs N]

Each case of tests/bench/bench_cost.c is run twice, with N and with 3 N rounds; the difference
over 2 N is one round, without the start.  Counted is by `perf stat -e instructions:u` where the
machine lets it and counts of it were kept, else by valgrind's cachegrind, which is exact: the same program and
database give the same count.  Counts depend on the compiler and on the libraries, so they are
kept in tests/bench/cost.json for each set of these; for a set that is not there nothing is judged,
and a line says so.  A case fails that takes over 3 % more than was kept.  --keep writes the counts
of this machine's set.  --runs counts so often, each time with a new database, and shows the
spread.  The last line is "N passed, N failed".
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "cost.json"
BENCH = os.path.abspath(os.environ.get("BENCH", "build/bench"))
MORE = 0.03
LIBRARIES = ("sqlite3", "jansson", "libpcre2-8")
# No count depends on which variant of memcpy() the processor is given.
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512VL,-ERMS"}


def said_by(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def this_set():
    """What the counts depend on, beside the code."""
    libs = ["%s %s" % (lib, said_by("pkg-config", "--modversion", lib)) for lib in LIBRARIES]
    compiler = os.environ.get("COMPILER") or said_by("gcc", "--version").partition("\n")[0]
    return "; ".join([compiler, os.uname().machine, said_by("getconf", "GNU_LIBC_VERSION"), *libs])


def by_perf(command):
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "--", *command], env=ENV,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    m = re.search(r"^(\d+),[^,]*,instructions:u", done.stderr, re.M)
    return int(m.group(1)) if m and done.returncode == 0 else None


def by_valgrind(command):
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command],
                          env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    m = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or not m:
        sys.exit("cost: %s: exit %d\n%s" % (" ".join(command), done.returncode, done.stderr[-2000:]))
    return int(m.group(1).replace(",", ""))


TOOLS = {"perf": by_perf, "valgrind": by_valgrind}


def tools_here():
    """Those that count on this machine, the quick one first."""
    found = []
    if shutil.which("perf") and by_perf(["true"]) is not None:
        found.append("perf")
    if shutil.which("valgrind"):
        found.append("valgrind")
    return found


def fill(folder):
    subprocess.run([f"{BENCH}/bench_store", folder, "bench", "1", "400", "20"], check=True)
    subprocess.run([f"{BENCH}/bench_memory", folder, "2000"], check=True)


def count(tool):
    """{case: instructions of one round}"""
    cases = [line.split() for line in said_by(f"{BENCH}/bench_cost").splitlines()]
    out = {}
    with tempfile.TemporaryDirectory(prefix="gantry-cost.") as folder:
        fill(folder)
        for name, times in cases:
            few, many = (TOOLS[tool]([f"{BENCH}/bench_cost", name, str(n), folder]) for n in (int(times), 3 * int(times)))
            out[name] = (many - few) // (2 * int(times))
    return out


def judge(counts, kept):
    """Print the table; how many cases are within the limit and how many not."""
    passed = failed = 0
    for name, n in counts.items():
        before = kept.get(name)
        change = n / before - 1 if before else 0.0
        word = "new, not kept yet" if before is None else "%+.2f %%" % (change * 100)
        if change > MORE:
            word += "  FAILED, over %.0f %%" % (MORE * 100)
        elif change < -MORE:
            word += "  less than was kept: make cost KEEP=1 keeps that"
        passed, failed = passed + (change <= MORE), failed + (change > MORE)
        print("  %-10s %14s instructions  %14s kept  %s" % (name, "{:,}".format(n), "{:,}".format(before or 0), word))
    gone = sorted(set(kept) - set(counts))
    if gone:
        print("  FAILED: kept, and counted no more: " + " ".join(gone))
    return passed, failed + len(gone)


def spread(tool, runs):
    all_of = [count(tool) for _ in range(runs)]
    for name in all_of[0]:
        values = [c[name] for c in all_of]
        print("  %-10s %14s to %14s  %.3f %% in %d runs" % (
            name, "{:,}".format(min(values)), "{:,}".format(max(values)), (max(values) / min(values) - 1) * 100, runs))
    return 0


def main():
    p = argparse.ArgumentParser(description="Instructions of the pieces of the program.")
    p.add_argument("--keep", action="store_true")
    p.add_argument("--runs", type=int, default=0)
    opt = p.parse_args()
    key, here = this_set(), tools_here()
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if not here:
        print("cost: skipped: neither perf nor valgrind counts instructions here")
        return 0
    tool = next((t for t in here if known.get(key, {}).get(t)), here[-1])
    print("gantry cost: by %s; %s" % (tool, key), flush=True)
    if opt.runs:
        return spread(tool, opt.runs)
    kept = known.get(key, {}).get(tool)
    if kept is None and not opt.keep:
        print("cost: skipped: no counts are kept for this compiler and these libraries; make cost KEEP=1 keeps them")
        return 0
    counts = count(tool)
    if opt.keep:
        known.setdefault(key, {})[tool] = counts
        KEPT.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        kept = counts
    passed, failed = judge(counts, kept)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
