"""Secrets appear nowhere.  Every scene looks for the key by value; here are those that provoke it."""

import json
import urllib.parse

import pytest

from fakes.model import Reply, call

TOKEN = "123456789:AAExampleExampleExampleExample_tok-en"


@pytest.fixture(autouse=True)
def token(gantry):
    gantry.secrets.add(TOKEN)
    gantry.set(TELEGRAM_BOT_TOKEN=TOKEN, LOG_LEVEL="debug")


@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_a_provider_that_echoes_headers_and_body(gantry, model, status):
    key = gantry.env()["LLM_API_KEY"]
    model.default = Reply(status=status, body={"error": {
        "message": "you sent Authorization: Bearer %s and %s and %s" % (key, TOKEN, urllib.parse.quote(key, safe=""))}})
    assert gantry.talk("hi", seconds=180).out.strip()


def test_a_key_in_the_base_url(gantry, model):
    url = model.url.replace("http://", "http://user:%s@" % "p4ssw0rd-in-url")
    gantry.secrets.add("p4ssw0rd-in-url")
    model.default = Reply(status=500, body={"error": {"message": "no"}})
    gantry.talk("hi", LLM_BASE_URL=url, code=None, seconds=180)


def test_an_unreachable_endpoint(gantry):
    gantry.talk("hi", LLM_BASE_URL="http://127.0.0.1:9/v1", seconds=120)


def test_status_config_and_tools_commands(gantry, model, mcp):
    mcp.add("srv", tools=["env"], env={"SRV_TOKEN": "abc-def-ghi-jkl"})
    for args in (["config", "show"], ["config", "validate"], ["config", "docs"], ["status"], ["tools", "list"],
                 ["tools", "call", "srv__env", "{}"]):
        gantry.run(*args, code=None)


def test_a_bad_value_is_not_printed(gantry):
    gantry.secrets.add("sk-this-is-a-misplaced-secret")
    p = gantry.start("run", LOG_LEVEL="sk-this-is-a-misplaced-secret")
    p.close_stdin()
    p.wait(30, code=1)
    assert "LOG_LEVEL" in p.err.text


def test_a_dump_of_the_environment_by_a_tool(gantry, model, mcp):
    mcp.add("srv", tools=["env"])
    model.reply(calls=[call("srv__env")])
    model.reply("done")
    gantry.talk("dump it")
    assert TOKEN not in model.last.raw.decode() and gantry.env()["LLM_API_KEY"] not in model.last.raw.decode()


def test_the_processes_do_not_show_it_in_proc(gantry, model):
    model.reply("up")
    d = gantry.daemon()
    d.send("hi")
    d.out.wait("up")
    key = gantry.env()["LLM_API_KEY"].encode()
    for pid in [d.pid, *d.children()]:
        for name in ("cmdline", "environ"):
            try:
                with open("/proc/%d/%s" % (pid, name), "rb") as f:
                    data = f.read()
            except OSError:
                continue
            assert key not in data and TOKEN.encode() not in data, (pid, name)
    d.finish()


def test_what_looks_like_a_secret_is_in_no_trace_line_and_no_audit_row(gantry, model, mcp):
    """The call itself has it, and so has the conversation."""
    mcp.add("srv", tools=["echo"])
    secret = "sk-0123456789abcdefghij"
    model.reply(calls=[call("srv__echo", text="line\n%s" % secret, api_key="plain words")])
    model.reply("done")
    r = gantry.talk("go", TOOL_TRACE="full")
    assert mcp.calls() == [("echo", {"text": "line\n%s" % secret, "api_key": "plain words"})]
    assert "srv__echo" in r.err and "[REDACTED]" in r.err
    assert secret not in r.err and "plain words" not in r.err
    (args,) = gantry.sql("select args from tool_calls")[0]
    assert json.loads(args) == {"text": "line\n[REDACTED]", "api_key": "[REDACTED]"}
