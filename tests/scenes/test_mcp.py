"""Tool servers misbehave, too: noise, floods, silence, deaths, odd names.  The others go on."""

import json
import os
import re
import signal

import pytest

from fakes.model import Reply, call
from harness.process import descendants, wait_gone

pytestmark = pytest.mark.concurrency


def use(gantry, model, name, seconds=None, settings=None, **args):
    """One turn that calls one tool; what the model was told."""
    model.reply(calls=[call(name, **args)])
    model.reply("done")
    r = gantry.talk("go", seconds=seconds, **(settings or {}))
    assert r.out == "done\n", r
    return model.last.results[0]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_revision_is_spoken(gantry, model, mcp, revision):
    mcp.add("srv", revision=revision)
    assert use(gantry, model, "srv__echo", text="hi") == "hi"
    assert mcp.received("initialize")[0]["params"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("revision", ["1999-01-01", "", "2031-01-01"])
def test_an_unknown_revision_is_refused_with_a_reason(gantry, model, mcp, revision):
    mcp.add("bad", "answer-revision=" + revision).add("good", tools=["echo"])
    assert use(gantry, model, "good__echo", text="hi") == "hi"
    assert not any(t.startswith("bad__") for t in model.last.tools)
    err = gantry.procs[-1].err.text
    assert "bad" in err and ("version" in err or "revision" in err)


@pytest.mark.parametrize("tricks", [["noise"], ["noise-each"], ["stderr-flood"], ["stderr-lines=20000"], ["crlf"],
                                    ["trickle"], ["bad-json"], ["twice"], ["string-ids"],
                                    ["noise", "stderr-flood", "crlf", "trickle"]], ids="+".join)
def test_a_noisy_server_works(gantry, model, mcp, tricks):
    mcp.add("srv", *tricks, tools=["echo", "add"])
    assert use(gantry, model, "srv__echo", text="日本") == "日本"
    assert len(gantry.procs[-1].err.data) < 2_000_000


def test_what_a_server_says_on_stderr_is_logged_with_its_name(gantry, model, mcp):
    mcp.add("talker", "stderr-lines=2", tools=["echo"])
    use(gantry, model, "talker__echo", text="x")
    assert re.search(r"talker.*scripted line 1|scripted line 1.*talker", gantry.procs[-1].err.text)


def test_bad_servers_are_named_and_the_good_one_serves(gantry, model, mcp):
    mcp.add("silent", "silent").add("leaves", "exit=3").add("good", tools=["echo"])
    mcp.command("absent", "/nonexistent/program").command("sleeper", "sleep", ["1000"])
    model.reply(calls=[call("good__echo", text="hi")])
    model.reply("done")
    d = gantry.daemon(GANTRY_MCP_START_TIMEOUT="3s")
    d.send("go")
    d.out.wait("done", 60)
    assert model.last.results == ["hi"]
    d.send("/status")
    d.out.wait("good")
    for name in ("silent", "leaves", "absent", "sleeper"):
        d.out.wait(name, from_start=True)
    d.finish()
    for name in ("absent", "leaves"):
        assert name in d.err.text


def test_a_silent_server_does_not_hold_up_the_first_answer(gantry, model, mcp):
    mcp.add("silent", "silent")
    model.reply("here")
    d = gantry.daemon(GANTRY_MCP_START_TIMEOUT="1h", GANTRY_MCP_TURN_WAIT=None)
    d.send("anybody there?")
    d.out.wait("here", 30)
    d.finish()


def test_a_server_that_comes_late_is_there_for_a_later_turn(gantry, model, mcp):
    gate = gantry.dir / "gate"
    mcp.add("late", "slow-init=%s" % gate, tools=["echo"]).add("good", tools=["add"])
    model.reply("one")
    d = gantry.daemon(GANTRY_MCP_START_TIMEOUT="1s")
    d.send("first")
    d.out.wait("one", 60)
    gate.touch()
    d.err.wait(r'mcp.connected","server":"late', 60)
    model.reply("two")
    d.send("second")
    d.out.wait("two")
    assert "late__echo" in model.last.tools
    d.finish()


def test_all_pages_are_read(gantry, model, mcp):
    names = ["t%02d" % n for n in range(25)]
    mcp.add("srv", "page=4", tools=names)
    assert use(gantry, model, "srv__t24", text="x") == "x"
    assert set(model.last.tools) >= {"srv__" + n for n in names}


def test_an_endless_list_ends(gantry, model, mcp):
    mcp.add("srv", "page=1", "page-loop", tools=["echo"]).add("good", tools=["echo"])
    assert use(gantry, model, "good__echo", seconds=120, text="x") == "x"
    assert len(mcp.received("tools/list")) < 200


def test_a_burst_of_list_changes_is_one_or_two_lists(gantry, model, mcp):
    mcp.add("srv", "list-changed=20", "early-list-changed", tools=["echo"])
    model.reply("one")
    d = gantry.daemon()
    d.send("first")
    d.out.wait("one")
    mcp.wait(lambda: any("late" in json.dumps(m) for m in sent(mcp, "srv")), "the new list", 30)

    def answer(request):
        if request.results:
            return Reply("called")
        return Reply(calls=[call("srv__late")]) if "srv__late" in request.tools else Reply("not yet")
    model.answer(answer)
    for _ in range(20):
        d.send("use the late tool")
        if b"called" in d.out.wait("called|not yet").group(0):
            break
    assert ("late", {}) in mcp.calls()
    d.finish()
    assert len(mcp.received("tools/list")) <= 4


def sent(mcp, name):
    from harness import mcp_check
    return [r["raw"] for r in mcp_check.read_log(mcp.logs[name]) if r["dir"] == "out"] if mcp.logs[name].exists() else []


def test_names_are_unique_valid_and_stable(gantry, model, mcp):
    tools = ["synchronize_all_customer_data_across_multiple_regional_systems_v1",
             "synchronize_all_customer_data_across_multiple_regional_systems_v2", "a.b", "a_b", "123go", "naïve tool"]
    mcp.add("customer-database-management", tools=tools)
    model.reply("ok")
    gantry.talk("go")
    first = model.last.tools
    assert len([t for t in first if not t.startswith(("read_file", "write_file", "list_dir"))]) >= 6
    assert len(set(first)) == len(first)
    mine = {t["function"]["name"] for t in model.last.body["tools"] if "Returns its text" in t["function"]["description"]}
    assert len(mine) == 6
    model.answer(lambda r: Reply("done") if r.results else Reply(
        calls=[call(n, text=n) for n in sorted(mine)]))
    gantry.talk("call them all")
    assert model.last.tools == first
    assert model.last.results == sorted(mine)
    assert sorted(n for n, _ in mcp.calls("customer-database-management")) == sorted(tools)


def test_filters_and_prefix_of_the_manifest(gantry, model, mcp):
    mcp.add("srv", tools=["get_a", "get_b", "raw_c", "raw_d"], tools_prefix="x", exclude=["raw_*"])
    model.reply("ok")
    gantry.talk("go")
    assert [t for t in model.last.tools if t.startswith("x__")] == ["x__get_a", "x__get_b"]
    log = gantry.procs[-1].err.text
    assert re.search(r"tools_listed\D+4", log) and re.search(r"tools_published\D+2", log) and "est_tokens" in log


def test_the_json_form_of_a_manifest_works(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    (s,) = mcp.servers
    gantry.manifest.write_text(json.dumps({"mcpServers": {"desk-top": {
        "command": s["command"], "args": s["args"], "env": {"EXTRA": "1"}, "disabled": False}}}))
    assert use(gantry, model, "desk-top__echo", text="x") == "x"


# Results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool,words,absent", [
    ("image", "image/png", "iVBORw0KGgo"), ("audio", "audio/wav", "UklGR"), ("resource", "T-resource", None),
    ("resource_link", "file:///linked.txt", None), ("structured", "36", None), ("structured_only", '{"total":36}', None),
    ("mixed", "before", "iVBORw0KGgo"), ("empty", "", None),
])
def test_every_kind_of_content_is_readable(gantry, model, mcp, tool, words, absent):
    mcp.add("srv")
    result = use(gantry, model, "srv__" + tool)
    assert words in result and result.strip()
    assert absent is None or absent not in result
    if tool == "mixed":
        assert re.search(r"before.*image/png.*after", result, re.S)


def test_an_error_result_is_marked_with_text_and_code(gantry, model, mcp):
    mcp.add("srv")
    result = use(gantry, model, "srv__fail", text="no such file")
    assert "no such file" in result and "error" in result.lower() and "E1" in result


@pytest.mark.parametrize("n,char", [(8 << 20, "a"), (3_000_000, "あ"), (100_000, "\u2028"), (100_000, "\\n")])
def test_a_huge_line_is_cut_for_the_model_and_the_next_call_works(gantry, model, mcp, n, char):
    mcp.add("srv", "crlf")
    model.reply(calls=[call("srv__big", n=n, char=char)])
    model.reply(calls=[call("srv__echo", text="next")])
    model.reply("done")
    assert gantry.talk("go", seconds=120).out == "done\n"
    big = [m["content"] for m in model.last.messages if m["role"] == "tool"][0]
    assert 0 < len(big) < 20_000 and model.last.results == ["next"]


def test_progress_and_log_messages_are_taken(gantry, model, mcp):
    mcp.add("srv")
    model.reply(calls=[call("srv__progress"), call("srv__log", text="from the server side")])
    model.reply("done")
    assert gantry.talk("go").out == "done\n"
    assert "from the server side" in gantry.procs[-1].err.text


# The server asks -------------------------------------------------------------------------------


def test_requests_before_and_during_are_answered_properly(gantry, model, mcp):
    mcp.add("srv", "request-first", "colliding-ids", "ask=sampling/createMessage")
    roots = json.loads(use(gantry, model, "srv__roots"))
    answers = [m for m in incoming(mcp, "srv") if "method" not in m]
    by_error = [m for m in answers if "error" in m]
    assert {m["error"]["code"] for m in by_error} <= {-32601, -32600}
    assert any("error" in m for m in answers) and any(m.get("result") == {} for m in answers)
    assert "result" in roots or roots["error"]["code"] == -32601


def incoming(mcp, name):
    from harness import mcp_check
    return [json.loads(r["raw"]) for r in mcp_check.read_log(mcp.logs[name]) if r["dir"] == "in"]


# Death and restart -----------------------------------------------------------------------------


def test_a_server_that_dies_in_a_call_is_a_result_and_comes_back(gantry, model, mcp):
    mcp.add("srv")
    flag = gantry.dir / "flag"

    def answer(request):
        if not request.results:
            return Reply(calls=[call("srv__die_once", flag=str(flag))])
        if "alive again" in request.results[0] or request.number > 8:
            return Reply("done")
        return Reply(calls=[call("srv__die_once", flag=str(flag))])
    model.answer(answer)
    r = gantry.talk("go", seconds=120)
    assert r.out.strip()
    assert mcp.events("srv").count("start") >= 2


def test_a_call_that_may_have_happened_is_not_repeated(gantry, model, mcp):
    mcp.add("srv", tools=["die", "echo"])
    result = use(gantry, model, "srv__die", seconds=120)
    assert len([c for c in mcp.calls() if c[0] == "die"]) == 1
    assert "may" in result or "unknown" in result or "died" in result or "interrupted" in result


def test_a_server_that_died_while_idle_is_restarted(gantry, model, mcp):
    mcp.add("srv", tools=["pid"])
    model.reply(calls=[call("srv__pid")])
    model.reply("one")
    d = gantry.daemon()
    d.send("go")
    d.out.wait("one")
    pid = int(model.last.results[0])
    os.kill(pid, signal.SIGKILL)
    assert wait_gone(pid)
    mcp.wait(lambda: mcp.events("srv").count("start") >= 2, "the restart", 30)

    def answer(request):
        return Reply("two") if request.results else Reply(calls=[call("srv__pid")])
    model.answer(answer)
    d.send("again")
    d.out.wait("two", 60)
    d.finish()
    assert model.last.results[0] != str(pid)


def test_a_hung_idle_server_is_found_and_restarted(gantry, model, mcp):
    mcp.add("srv", "no-ping", tools=["echo"])
    model.reply("one")
    d = gantry.daemon(GANTRY_MCP_PING_INTERVAL="1s")
    d.send("hi")
    d.out.wait("one")
    mcp.wait(lambda: mcp.events("srv").count("start") >= 2, "the restart", 90)
    d.finish()


def test_pings_keep_a_healthy_server_running(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    d = gantry.daemon(GANTRY_MCP_PING_INTERVAL="1s")
    mcp.wait(lambda: len(mcp.received("ping")) >= 2, "two pings", 60)
    d.finish()
    assert mcp.events("srv").count("start") == 1


def test_a_call_past_its_timeout_is_cancelled_and_said(gantry, model, mcp):
    mcp.add("srv", tools=["hang", "echo"], timeout=1)
    result = use(gantry, model, "srv__hang", seconds=60)
    assert "no answer" in result and "1000 ms" in result
    assert len(mcp.received("notifications/cancelled")) == 1


def test_a_server_that_dies_at_each_step_is_only_its_own_problem(gantry, model, mcp):
    for step in ("initialize", "notifications/initialized", "tools/list"):
        mcp.add(step.replace("/", "-"), "die-at=" + step)
    mcp.add("good", tools=["echo"])
    assert use(gantry, model, "good__echo", seconds=60, text="x") == "x"


# Processes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tricks", [["grandchild"], ["ignore-eof"], ["ignore-eof", "ignore-term"],
                                    ["grandchild-setsid"], ["ignore-eof", "ignore-term", "grandchild-setsid"]],
                         ids="+".join)
def test_nothing_is_left_after_the_end(gantry, model, mcp, tricks):
    mcp.add("srv", *tricks, tools=["echo"])
    use(gantry, model, "srv__echo", seconds=60, text="x")     # the harness looks for survivors


def test_a_launcher_and_its_server_both_end(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    (s,) = mcp.servers
    mcp.servers = []
    mcp.command("srv", "/bin/sh", ["-c", "sleep 1000 & exec \"$@\"", "sh", s["command"], *s["args"]])
    assert use(gantry, model, "srv__echo", seconds=60, text="x") == "x"


@pytest.mark.parametrize("tricks", [[], ["ignore-eof", "ignore-term"], ["grandchild-setsid"]], ids=["plain", "deaf", "setsid"])
def test_nothing_is_left_after_kill_9(gantry, model, mcp, tricks):
    mcp.add("srv", *tricks, tools=["echo"])
    model.reply("up")
    d = gantry.daemon()
    d.send("hi")
    d.out.wait("up")
    d.kill(signal.SIGKILL)
    d.wait()                                                # the harness looks for survivors


def test_dead_children_are_reaped_while_running(gantry, model, mcp):
    mcp.add("srv", "exit=0").add("good", tools=["echo"])
    model.answer(lambda r: Reply("ok"))
    d = gantry.daemon()
    d.send("hi")
    d.out.wait("ok")
    mcp.wait(lambda: mcp.events("srv").count("start") >= 3, "three starts", 60)
    zombies = [p for p, st in descendants(d.pid).items() if st[1] == "Z"]
    for pid in zombies:
        assert wait_gone(pid)
    d.finish()


# Environment -----------------------------------------------------------------------------------


def test_a_server_sees_path_home_and_what_the_manifest_gives_but_no_secret(gantry, model, mcp):
    mcp.add("one", tools=["env"], env={"TOKEN_OF_ONE": "t1", "LANG": "xx"})
    mcp.add("two", tools=["env"], env=["LIST_FORM=t2"])
    model.reply(calls=[call("one__env"), call("two__env")])
    model.reply("done")
    gantry.talk("go", OTHER_THING="passed", TELEGRAM_BOT_TOKEN="123456:secret-token-value")
    one, two = (dict(line.split("=", 1) for line in r.splitlines() if "=" in line) for r in model.last.results)
    for env in (one, two):
        assert env["PATH"] and env["HOME"] == str(gantry.home)
        assert env["OTHER_THING"] == "passed"
        assert not {"LLM_API_KEY", "TELEGRAM_BOT_TOKEN"} & set(env)
    assert one["TOKEN_OF_ONE"] == "t1" and one["LANG"] == "xx" and "TOKEN_OF_ONE" not in two
    assert two["LIST_FORM"] == "t2"


def test_inherit_env_false_passes_only_the_basics(gantry, model, mcp):
    mcp.add("srv", tools=["env"], env={"GIVEN": "1"}, inherit_env=False)
    env = dict(line.split("=", 1) for line in use(gantry, model, "srv__env", settings={"OTHER_THING": "x", "TZ": "UTC"})
               .splitlines() if "=" in line)
    assert set(env) <= {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "GIVEN", "LC_CTYPE"} and env["GIVEN"] == "1"


def test_the_working_directory_is_the_manifests(gantry, model, mcp):
    (gantry.dir / "work").mkdir()
    mcp.add("srv", tools=["cwd"], cwd=str(gantry.dir / "work"))
    assert use(gantry, model, "srv__cwd") == str(gantry.dir / "work")


# gantry tools ----------------------------------------------------------------------------------


def test_tools_list_and_call_need_no_model(gantry, mcp):
    mcp.add("srv")
    no_model = {"LLM_BASE_URL": None, "LLM_API_KEY": None, "LLM_MODEL": None}
    listed = gantry.run("tools", "list", **no_model).out
    assert "srv__echo" in listed and "srv__add" in listed
    assert gantry.run("tools", "call", "srv__add", '{"a":1,"b":2}', **no_model).out.strip() == "3"
    r = gantry.run("tools", "call", "srv__fail", '{"text":"broken"}', code=1, **no_model)
    assert "broken" in r.out + r.err
    assert gantry.run("tools", "call", "srv__add", "[1]", code=None, **no_model).code in (1, 2)
    r = gantry.run("tools", "call", "srv__ad", "{}", code=None, **no_model)
    assert r.code in (1, 2) and "srv__add" in r.out + r.err


def test_a_schema_budget_that_is_exceeded_stops_the_start(gantry, mcp):
    mcp.add("srv")
    r = gantry.talk(code=1, TOOL_SCHEMA_MAX_TOKENS="10")
    assert "TOOL_SCHEMA_MAX_TOKENS" in r.err


def test_sighup_reloads_manifest_and_persona(gantry, model, mcp):
    mcp.add("one", tools=["echo"])
    model.answer(lambda r: Reply("sees " + ",".join(t for t in r.tools if "__" in t) + (" sailor" if "sailor" in r.system else "")))
    d = gantry.daemon()
    d.send("a")
    d.out.wait("sees one__echo\n")
    mcp.add("two", tools=["add"])
    (gantry.persona / "PERSONA.md").write_text("You are a sailor.\n")
    d.popen.send_signal(signal.SIGHUP)
    mcp.wait(lambda: mcp.received("tools/list", "two"), "the new server", 30)
    for _ in range(50):
        d.send("b")
        if b"two__add" in d.out.wait(r"sees [^\n]*\n").group(0):
            break
    assert re.search(r"sees one__echo,two__add sailor\n", d.out.text)
    assert mcp.events("one").count("start") == 1
    d.finish()
