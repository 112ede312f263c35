"""What server-everything has of revision 2025-11-25 alone: a tool that is a task, a link before a call."""

from test_mcp_everything import everything, result, scripted  # noqa: F401


def test_a_tool_that_is_a_task_asks_the_person_and_ends_with_its_report(bot, gantry, model, mcp, everything):
    everything()
    scripted(model, "everything__simulate-research-query", topic="python", ambiguous=True)
    bot.say("look into it")
    asked = bot.wait_text("The tool server everything asks")
    assert "multiple interpretations" in asked.text
    bot.press(asked, "Python snake species")
    bot.wait_text("^over$", seconds=60)
    assert "# Research Report: python (snake)" in result(model)
    assert mcp.received("tools/call", "everything")[0]["params"]["task"] == {}


def test_a_link_before_a_call_is_shown_and_the_call_made_again(bot, gantry, model, mcp, everything):
    everything()
    scripted(model, "everything__trigger-url-elicitation", url="https://sign-in.example.com/start", errorPath=True)
    bot.say("sign me in")
    first = bot.wait_text("made again when you say that this is done")
    bot.press(first, "I opened it")
    second = bot.board.wait(lambda: next((m for m in bot.messages() if m.buttons and m is not first), None),
                            "the question of the call itself", None, bot.view)
    assert "sign-in.example.com/start" in second.text
    bot.press(second, "I opened it")
    bot.wait_text("^over$")
    assert "accept" in result(model).lower() and len(mcp.received("tools/call", "everything")) == 2
