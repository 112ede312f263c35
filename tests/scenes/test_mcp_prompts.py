"""Prompts of tool servers as commands: /SERVER:PROMPT becomes the text of the turn."""

import pytest

pytestmark = pytest.mark.concurrency


def said(model):
    """What the model was sent for the last message of the user."""
    return [m["content"] for m in model.last.messages if m["role"] == "user"][-1]


def test_a_prompt_is_filled_in_and_asked(gantry, model, mcp):
    mcp.add("srv", "prompts", "page=1", tools=["echo"])
    for _ in range(3):
        model.reply("fine")
    r = gantry.talk("/srv:greet Ada style=warmly", "/SRV:review int main(void); // x", "/srv:plain")
    assert r.out.count("fine") == 3
    texts = [[m["content"] for m in q.messages if m["role"] == "user"][-1] for q in model.requests]
    assert texts[0].startswith("/srv:greet Ada style=warmly\n\n[filled in by tool server srv]\nSay hello to Ada, warmly.\n")
    assert texts[1].startswith("/SRV:review int main(void); // x\n\n[filled in by tool server srv]\n[user]\nReview this: int main(void); // x\n\n[assistant]\nWhich language?\n\n[user]\nBe kind.")
    assert texts[2].startswith("/srv:plain\n\n[filled in by tool server srv]\nJust plain.\n")
    assert mcp.received("prompts/get")[0]["params"]["arguments"] == {"name": "Ada", "style": "warmly"}
    # What was sent is sent again.
    first = [m["content"] for m in model.last.messages if m["role"] == "user"][0]
    assert first == texts[0]


def test_what_cannot_be_filled_in_is_answered_without_the_model(gantry, model, mcp):
    mcp.add("srv", "prompts", tools=["echo"]).add("other", tools=["echo"])
    r = gantry.talk("/srv:greet", "/srv:nothing x", "/prompts")
    assert "Missing: name.\n/srv:greet name=… [style=…]: Greet somebody.\n  name: whom\n  style: how" in r.out
    assert 'Server srv has no prompt "nothing"; it has: greet, review, plain' in r.out
    assert "/srv:review code=…: Review code.\n/srv:plain" in r.out
    assert not model.requests
    model.reply("text for the model")
    model.reply("text for the model")
    assert gantry.talk("/other:greet x", "/nobody:greet x").out.count("text for the model") == 2
    assert said(model).startswith("/nobody:greet x")


def test_a_prompt_that_its_server_refuses_is_told(gantry, model, mcp):
    mcp.add("srv", "prompts", "die-at=prompts/get", tools=["echo"])
    r = gantry.talk("/srv:plain")
    assert r.out.startswith("Tool server srv:\n") and "\nThat did not work: " in r.out and not model.requests
