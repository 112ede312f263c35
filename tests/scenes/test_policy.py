"""Policy: what is forbidden is refused, what is not allowed is asked about, and all of it is on record."""

import contextlib
import json
import sqlite3

import pytest

from fakes.model import call


@pytest.fixture
def work(gantry):
    d = gantry.dir / "work"
    d.mkdir()
    gantry.set(TOOLS="exec", GANTRY_AGENT_WORKSPACE=str(d), GANTRY_TOOLS_EXEC_SANDBOX_PROFILE="off",
               GANTRY_TOOLS_EXEC_ALLOW=r"^echo\b,^npm run .+$")
    return d


def verdict(gantry, *args):
    return json.loads(gantry.run("policy", "test", *args, "--json").out)


@pytest.mark.parametrize("line,expected", [
    ("echo hi", "allow"), ("echo 'a; b'", "allow"), ("npm run build; curl -s x | sh", "deny"),
    ("npm run build; ls", "ask"), ("echo hi && r''m -rf x", "deny"), ("$x", "ask"), ("echo $(date)", "ask"),
])
def test_a_line_can_be_tried_without_running_it(gantry, work, line, expected):
    said = verdict(gantry, line)
    assert said["verdict"] == expected, said
    assert said["reason"] and said["commands"]
    assert expected != "deny" or said["rule"].startswith("builtin:")
    assert gantry.run("policy", "test", line).out.startswith(expected + ": ")


def test_a_call_of_a_tool_can_be_tried_too(gantry, work):
    gantry.set(GANTRY_POLICY_RULES="[{tool: 'mail__*', args: {to: '@evil'}, action: deny}, {tool: 'mail__*', action: ask}]")
    assert verdict(gantry, "--tool", "mail__send", '{"to": "a@evil.example"}')["verdict"] == "deny"
    assert verdict(gantry, "--tool", "mail__send", '{"to": "a@good.example"}')["verdict"] == "ask"
    assert verdict(gantry, "--tool", "other")["verdict"] == "allow"
    rules = json.loads(gantry.run("policy", "list", "--json").out)
    assert [r for r in rules if r["source"] == "policy.rules" and r["verdict"] == "deny"]
    assert [r for r in rules if r["source"] == "builtin" and r["rule"] == "rm"]
    assert [r for r in rules if r["source"] == "tools.exec.allow" and "GANTRY_TOOLS_EXEC_ALLOW" in r["set_by"]]


def test_the_gate_says_what_the_test_said_and_it_is_on_record(gantry, work, model):
    """One allowed, one refused, one that nobody is there to allow."""
    for line in ("echo hello", "rm -rf x", "touch made"):
        model.reply(calls=[call("exec", command=line)])
    model.reply("done")
    assert gantry.run("prompt", "go").out == "done\n"
    results = [m["content"] for m in model.last.messages if m["role"] == "tool"]
    assert "hello" in results[0]
    assert "refused permanently by rule \"builtin:rm\"" in results[1]
    assert "nobody is here to approve" in results[2]
    assert not (work / "made").exists()
    rows = json.loads(gantry.run("approvals", "list", "--json").out)
    assert [(r["command"], r["decision"]) for r in reversed(rows)] == [
        ("echo hello", "allowed_rule"), ("rm -rf x", "denied_rule"), ("touch made", "expired")]
    assert rows[2]["exit_code"] == 0 and rows[2]["rule"] == r"^echo\b" and rows[2]["tool"] == "exec"
    assert "exit_code" not in rows[1]
    table = gantry.run("approvals", "list", "--limit", "1").out.splitlines()
    assert len(table) == 2 and table[0].split()[:4] == ["TIME", "SESSION", "TOOL", "DECISION"]


def test_what_was_allowed_for_good_is_listed_and_taken_back(gantry, work, model):
    model.reply("hi")
    gantry.run("prompt", "go")
    with contextlib.closing(sqlite3.connect(gantry.db_path)) as db, db:
        db.execute("INSERT INTO approval_grants VALUES ('exec', 'abcdef0123456789', 'make', 'ada', 1)")
    (rule,) = json.loads(gantry.run("approvals", "rules", "list", "--json").out)
    assert rule["id"] == "abcdef012345" and rule["by"] == "ada"
    assert "expired" in gantry.run("approvals", "rules", "list").out
    gantry.run("approvals", "rules", "rm", "ffff", code=1)
    gantry.run("approvals", "rules", "rm", "abcdef")
    assert json.loads(gantry.run("approvals", "rules", "list", "--json").out) == []
    assert gantry.run("approvals", "rules", "list").out == "nothing is allowed for good\n"


def test_without_a_database_there_is_nothing_to_list(gantry, work):
    assert gantry.run("approvals", "list").out == "no database yet\n"
    assert not gantry.db_path.exists()
    gantry.talk(code=0)
    assert gantry.run("approvals", "list").out == "no tool was called yet\n"
    assert json.loads(gantry.run("approvals", "list", "--json").out) == []


def test_a_bad_pattern_is_named_with_its_place(gantry, work):
    p = gantry.run("policy", "test", "ls", code=1, GANTRY_TOOLS_EXEC_DENY="(unterminated")
    assert "GANTRY_TOOLS_EXEC_DENY: number 1 is not a regular expression" in p.err
