"""`gantry mcp` under hosts that nobody here wrote: the official SDKs, in both eras."""

import json
import pathlib

import pytest

from fakes.model import Reply, call
from harness.fixtures import binary
from harness.process import Proc

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture
def scripted(gantry, model, mcp):
    """What the agent does for such a host."""
    mcp.add("srv", tools=["echo", "hang"])
    gantry.set(GANTRY_POLICY_RULES="[{tool: 'srv__echo', action: ask}]")

    def answer(request):
        if request.user.startswith("run echo"):
            return Reply("it said " + request.results[-1]) if request.results else Reply(
                calls=[call("srv__echo", text="hello sdk")])
        if request.user.startswith("hang"):
            return Reply(calls=[call("srv__echo", text="begin"), call("srv__hang")])
        return Reply("here")
    model.answer(answer)


def run(gantry, argv, name, **env):
    p = Proc(argv, gantry.env(**env), str(gantry.dir), name=name)
    gantry.procs.append(p)
    p.close_stdin()
    p.wait(90, 0)
    return json.loads(p.out.text.splitlines()[-1])


def check(gantry, mcp, seen, error):
    assert set(seen["tools"]) == {"ask", "memory_recall", "memory_store", "schedule"}
    assert seen["answer"]["content"][0]["text"] == "it said hello sdk", seen
    assert seen["answer"]["structuredContent"]["state"] == "done"
    assert "hello sdk" in seen["questions"][0]
    assert any("srv__echo" in (p.get("message") or "") for p in seen["progress"])
    assert "The SDK was here." in seen["recalled"]["content"][0]["text"]
    assert seen["cancelled"] != "answered" and seen["after"]["content"][0]["text"] == "here"
    assert seen["bad"] == error
    states = [r["state"] for r in gantry.sql("SELECT state FROM turns ORDER BY started_at_ms, id")]
    assert states == ["done", "canceled", "done"]


@pytest.mark.parametrize("version, mode, era", [
    ("v1", "-", None), ("v2", "legacy", "legacy"), ("v2", "auto", "modern"), ("v2", "2026-07-28", "modern")])
def test_the_typescript_sdk_is_a_host_of_it(gantry, mcp, rig, scripted, version, mode, era):
    seen = run(gantry, [rig.node, str(HERE / "mcp_host.mjs"), str(rig.folder), version, mode, binary(), "mcp"],
               "typescript host")
    assert seen.get("era") == era
    assert seen["server"]["name"] == "gantry"
    check(gantry, mcp, seen, -32602)


@pytest.mark.parametrize("mode, revision", [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")])
def test_the_python_sdk_is_a_host_of_it(gantry, mcp, rig, scripted, mode, revision):
    interpreter = rig.folder / "python" / "interpreter"
    if not interpreter.exists():
        pytest.skip("the Python SDK is not installed: no pip or no PyPI")
    seen = run(gantry, [interpreter.read_text().strip(), str(HERE / "mcp_host.py"), mode, binary(), "mcp"], "python host",
               PYTHONPATH=str(rig.folder / "python"))
    assert seen["version"] == revision
    check(gantry, mcp, seen, -32602)
