"""A note the agent may not write: the model is told why, nothing is written, and the turn goes on."""

import pytest

from fakes.model import call


def noting(gantry, model, said="Fine."):
    gantry.set(GANTRY_AGENT_SELF_NOTES="true")
    model.reply(calls=[call("self_note", note="be dry")])
    model.reply(said)
    return gantry.persona / "SELF.md"


def test_a_note_is_written_where_nothing_is_in_its_way(gantry, model):
    file = noting(gantry, model)
    assert gantry.talk("you joke too much").out == "Fine.\n"
    assert file.read_text() == "- be dry\n"
    assert model.last.results == ["noted; it is part of your persona from the next conversation on"]


@pytest.mark.parametrize("action,says", [("deny", "deni"), ("ask", "")])
def test_a_rule_that_denies_or_nobody_to_ask_keeps_it_from_writing(gantry, model, action, says):
    file = noting(gantry, model)
    gantry.set(GANTRY_POLICY_RULES="[{tool: self_note, action: %s}]" % action)
    r = gantry.run("prompt", "you joke too much")          # no terminal: nobody can be asked
    assert r.out == "Fine.\n"
    assert not file.exists()
    assert says in model.last.results[0].lower() and "noted" not in model.last.results[0]
    (decision,), = gantry.sql("select decision from tool_calls")
    assert decision not in ("", "allowed", "allowed_rule")


def test_full_notes_stay_as_they_are(gantry, model):
    file = noting(gantry, model)
    gantry.persona.mkdir(exist_ok=True)
    full = "- x\n" * 1023
    file.write_text(full)
    assert gantry.talk("you joke too much").out == "Fine.\n"
    assert "the notes are full" in model.last.results[0]
    assert file.read_text() == full


def test_where_nothing_can_be_written_there_is_no_such_tool(gantry, model):
    noting(gantry, model)
    assert gantry.talk("you joke too much", PERSONA_DIR="/proc/self").out == "Fine.\n"
    assert "self_note" not in model.requests[0].tools
    assert "no tool" in model.last.results[0]


def test_a_directory_that_becomes_unwritable_is_said(gantry, model):
    file = noting(gantry, model)
    gantry.persona.mkdir(exist_ok=True)
    file.mkdir()
    assert gantry.talk("you joke too much").out == "Fine.\n"
    assert model.last.results[0].startswith("error: ")
    assert file.is_dir() and not list(file.iterdir())
