"""The official MCP servers, through `gantry tools` and through whole turns: every tool, every kind of content."""

import json
import re

import pytest

from fakes.model import Reply, call

# (server, tool, arguments, what the model must be able to read).  {dir} is a folder with a.txt.
THOUGHT = {"thought": "first think", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
CALLS = [
    ("everything", "echo", {"message": "hello there"}, "hello there"),
    ("everything", "get-annotated-message", {"messageType": "success", "includeImage": True}, r"(?s)success.*image/png"),
    ("everything", "get-env", {}, "PATH"),
    ("everything", "get-resource-links", {"count": 2}, r"(?s)demo://resource.*demo://resource"),
    ("everything", "get-resource-reference", {"resourceType": "Text", "resourceId": 1}, r"demo://resource|Resource 1"),
    ("everything", "get-resource-reference", {"resourceType": "Blob", "resourceId": 1}, r"demo://resource|application|bytes"),
    ("everything", "get-structured-content", {"location": "Chicago"}, "temperature"),
    ("everything", "get-sum", {"a": 20, "b": 22}, "42"),
    ("everything", "get-tiny-image", {}, "image/png"),
    ("everything", "gzip-file-as-resource", {"name": "x.gz", "data": "data:text/plain,hello", "outputType": "resource"},
     "gzip"),
    ("everything", "gzip-file-as-resource", {"name": "y.gz", "data": "data:text/plain,hello",
                                             "outputType": "resourceLink"}, "y.gz"),
    ("everything", "trigger-long-running-operation", {"duration": 0.3, "steps": 3}, "(?i)completed"),
    ("everything", "toggle-simulated-logging", {}, "(?i)log"),
    ("everything", "toggle-simulated-logging", {}, "(?i)stop|log"),
    ("everything", "toggle-subscriber-updates", {}, "(?i)updat"),
    ("everything", "toggle-subscriber-updates", {}, "(?i)updat|stop"),
    ("filesystem", "list_allowed_directories", {}, "{dir}"),
    ("filesystem", "write_file", {"path": "{dir}/b.txt", "content": "one\ntwo\nthree\n"}, "(?i)wrote|success"),
    ("filesystem", "read_file", {"path": "{dir}/b.txt"}, "two"),
    ("filesystem", "read_text_file", {"path": "{dir}/b.txt", "head": 1}, "one"),
    ("filesystem", "read_multiple_files", {"paths": ["{dir}/a.txt", "{dir}/b.txt"]}, r"(?s)alpha.*three"),
    ("filesystem", "read_media_file", {"path": "{dir}/p.png"}, "image/png"),
    ("filesystem", "edit_file", {"path": "{dir}/b.txt", "edits": [{"oldText": "two", "newText": "zwei"}]}, "zwei"),
    ("filesystem", "create_directory", {"path": "{dir}/sub"}, "(?i)creat"),
    ("filesystem", "list_directory", {"path": "{dir}"}, r"(?s)a\.txt.*sub"),
    ("filesystem", "list_directory_with_sizes", {"path": "{dir}"}, r"a\.txt"),
    ("filesystem", "directory_tree", {"path": "{dir}"}, r"b\.txt"),
    ("filesystem", "move_file", {"source": "{dir}/b.txt", "destination": "{dir}/sub/c.txt"}, "(?i)moved"),
    ("filesystem", "search_files", {"path": "{dir}", "pattern": "**/c.txt"}, r"c\.txt"),
    ("filesystem", "get_file_info", {"path": "{dir}/a.txt"}, "size"),
    ("memory", "create_entities", {"entities": [
        {"name": "Ada", "entityType": "person", "observations": ["writes programs"]},
        {"name": "Engine", "entityType": "machine", "observations": []}]}, "Ada"),
    ("memory", "create_relations", {"relations": [{"from": "Ada", "to": "Engine", "relationType": "programs"}]}, "programs"),
    ("memory", "add_observations", {"observations": [{"entityName": "Ada", "contents": ["likes tulips"]}]}, "tulips"),
    ("memory", "read_graph", {}, r"(?s)Ada.*programs"),
    ("memory", "search_nodes", {"query": "tulips"}, "Ada"),
    ("memory", "open_nodes", {"names": ["Engine"]}, "machine"),
    ("memory", "delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["likes tulips"]}]}, "."),
    ("memory", "delete_relations", {"relations": [{"from": "Ada", "to": "Engine", "relationType": "programs"}]}, "."),
    ("memory", "delete_entities", {"entityNames": ["Engine"]}, "."),
    ("sequential-thinking", "sequentialthinking", THOUGHT, "thoughtNumber"),
]
# Those that need a person on the other end are in test_mcp_everything.py.
ELSEWHERE = {"everything": {"get-roots-list", "simulate-research-query", "trigger-elicitation-request",
                            "trigger-url-elicitation", "trigger-sampling-request"}}
SERVERS = ["everything", "filesystem", "memory", "sequential-thinking"]
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6364f8cf"
                    "500f0003860180 5a347d6b0000000049454e44ae426082".replace(" ", ""))


@pytest.fixture
def servers(gantry, mcp, rig, tmp_path):
    box = tmp_path / "box"
    box.mkdir()
    (box / "a.txt").write_text("alpha\n")
    (box / "p.png").write_bytes(PNG)
    for name in SERVERS:
        args = [rig.server(name)] + ([str(box)] if name == "filesystem" else [])
        env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")} if name == "memory" else {}
        mcp.command(name, rig.node, args, tee=True, env=env, timeout=60)
    return box


def fill(value, box):
    return json.loads(json.dumps(value).replace("{dir}", str(box)))


def listed_by(mcp, name):
    """The tool names that a server listed, from the record of its traffic."""
    from harness import mcp_check
    names = set()
    for r in mcp_check.read_log(mcp.logs[name]):
        try:
            msg = json.loads(r["raw"])
        except ValueError:
            continue
        if isinstance(msg, dict) and "tools" in (msg.get("result") or {}):
            names |= {t["name"] for t in msg["result"]["tools"]}
    return names


def test_every_tool_is_listed(gantry, mcp, servers):
    out = gantry.run("tools", "list", seconds=120).out
    for name in SERVERS:
        tools = listed_by(mcp, name)
        assert tools, name
        for tool in tools:
            assert "%s__%s" % (name, re.sub(r"[^A-Za-z0-9_-]", "_", tool)) in out
        covered = {t for s, t, _, _ in CALLS if s == name} | ELSEWHERE.get(name, set())
        assert tools <= covered, "tools without a call in this test: %s" % (tools - covered)


@pytest.mark.parametrize("name", SERVERS)
def test_every_tool_is_called_from_the_command_line(gantry, mcp, servers, name):
    mcp.servers = [s for s in mcp.servers if s["name"] == name]
    mcp.write()
    for server, tool, arguments, words in CALLS:
        if server != name:
            continue
        r = gantry.run("tools", "call", "%s__%s" % (server, tool), json.dumps(fill(arguments, servers)), seconds=120)
        assert re.search(words.replace("{dir}", re.escape(str(servers))), r.out), (tool, r)


def test_every_tool_is_called_in_whole_turns_and_the_model_can_read_each_result(gantry, model, mcp, servers):
    todo = list(CALLS)
    for server, tool, arguments, _ in todo:
        model.reply(calls=[call("%s__%s" % (server, tool), _raw=json.dumps(fill(arguments, servers)))])
        model.reply("ok")
    r = gantry.talk(*["call %d" % n for n in range(len(todo))], seconds=300)
    assert r.out.splitlines() == ["ok"] * len(todo)
    for n, (server, tool, _, words) in enumerate(todo):
        (result,) = model.requests[2 * n + 1].results
        assert re.search(words.replace("{dir}", re.escape(str(servers))), result), (tool, result)
        assert not result.lower().startswith("tool error"), (tool, result)
        assert "iVBORw0KGgo" not in result


def test_a_batch_over_all_four_comes_back_in_order(gantry, model, mcp, servers):
    picks = [CALLS[0], next(c for c in CALLS if c[1] == "list_allowed_directories"),
             next(c for c in CALLS if c[1] == "read_graph"), CALLS[-1]]
    model.reply(calls=[call("%s__%s" % (s, t), _raw=json.dumps(fill(a, servers))) for s, t, a, _ in picks])
    model.reply("done")
    assert gantry.talk("all", seconds=120).out == "done\n"
    first, second, third, fourth = model.last.results
    assert "hello there" in first and str(servers) in second and "entities" in third and "thoughtNumber" in fourth


def test_an_error_of_a_real_server_is_a_marked_result(gantry, model, mcp, servers):
    model.answer(lambda r: Reply("sorry") if r.results else Reply(
        calls=[call("filesystem__read_text_file", path="/etc/shadow"), call("everything__get-sum", a="x", b="y")]))
    assert gantry.talk("go", seconds=120).out == "sorry\n"
    for result in model.last.results:
        assert "error" in result.lower() or "denied" in result.lower()
