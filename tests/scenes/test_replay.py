"""A turn made again from the journal is the same, byte for byte, or the first difference is shown."""

import json
import sqlite3

from fakes.model import Reply, call

TURNS = 104


def decide(request):
    """Answers of every kind, by the number in what was said."""
    said = [m for m in request.messages if m["role"] == "user"][-1]["content"]
    after = request.messages[-1]["role"] == "tool"
    number = int(said.split()[1]) if said.startswith("turn ") else 0
    if after or number % 8 == 0:
        return Reply("answer %d \u00e9 \U0001f600 \"quoted\"" % number)
    if number % 8 == 1:
        return Reply(calls=[call("srv__echo", text="x" * 900), call("srv__echo", text="\u00fc\n\t")])
    if number % 8 == 2:
        return Reply("I look", calls=[call("no_such_tool", a=number)])
    if number % 8 == 3:
        return Reply("") if "[note:" not in said else Reply("after all")
    if number % 8 == 4:
        return Reply(reasoning="hm", text="thought")
    return Reply("plain %d" % number)


def replay(gantry, what="all", code=0, **more):
    return gantry.run("replay", what, "--json", code=code, **more).out


def test_a_hundred_turns_are_made_again_byte_for_byte(gantry, model, mcp):
    mcp.add("srv")
    model.answer(decide)
    gantry.set(GANTRY_AGENT_MAX_HISTORY_TOKENS="9000", GANTRY_AGENT_MAX_HISTORY_TURNS="30")
    half = TURNS // 2
    gantry.talk(*("turn %d please" % i for i in range(half)))
    # Another persona, other settings, a killed process between the two.
    (gantry.persona / "PERSONA.md").write_text("You are another one.\n", encoding="utf-8")
    gantry.talk(*("turn %d please" % i for i in range(half, TURNS)),
                LLM_MAX_TOKENS="777", GANTRY_AGENT_TEMPERATURE="0.3")
    seen = json.loads(replay(gantry))
    assert seen["turns"] >= TURNS
    assert seen["turns_same"] == seen["turns"], gantry.run("replay", "all", code=1).out
    assert seen["same"] == seen["requests"] > TURNS
    # Short forms, cuts and nudges were among them.
    rows = gantry.sql("SELECT sum(request LIKE '%\"thin\"%'), sum(params LIKE '%note:%'), "
                      "sum(request LIKE '%\"same\":0%') FROM model_calls")[0]
    assert all(rows), tuple(rows)


def test_a_changed_row_is_the_first_difference(gantry, model, mcp):
    mcp.add("srv")
    model.answer(decide)
    gantry.talk("turn 1 please", "turn 5 please")
    one = json.loads(replay(gantry, "last"))
    assert [r["compared"] for r in one["requests"]] == ["same"]

    def change(sql):
        con = sqlite3.connect(gantry.db_path)
        con.execute(sql)
        con.commit()
        con.close()

    change("UPDATE turn_messages SET wire = replace(wire, 'xxx', 'xxy') WHERE role = 'tool' AND idx = 1")
    out = gantry.run("replay", "last", code=1).out
    assert "message 3 of " in out and "(tool) is not what was sent; it is now:" in out and "xxy" in out
    assert "0 of 1 request is the same, byte for byte" in out
    change("UPDATE model_calls SET request = ''")
    out = gantry.run("replay", "last", code=1).out
    assert "kept no record of its requests" in out
    change("DELETE FROM turns")
    for what in "zz", "last":
        assert gantry.run("replay", what, code=1).err == gantry.run("trace", what, code=1).err
    assert "there is no turn yet" in gantry.run("replay", "last", code=1).err


def test_a_turn_that_was_killed_and_went_on_is_made_again(gantry, model, mcp):
    mcp.add("srv")
    model.reply("", calls=[call("srv__echo", text="first")])
    model.reply(status=200, text="half", close_after=40)
    first = gantry.daemon()
    first.send("work\n")
    model.wait(2)
    first.kill()
    first.wait()
    model.answer(lambda request: Reply("whole"))
    assert "whole" in gantry.talk().out
    seen = json.loads(replay(gantry, "last"))
    assert [r["compared"] for r in seen["requests"]] == ["same"] * len(seen["requests"])
    assert len(seen["requests"]) >= 2
