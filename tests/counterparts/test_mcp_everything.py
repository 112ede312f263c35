"""All that server-everything can do, with a person on the other end, in a Telegram chat."""

import json
import re
import signal

import pytest

from fakes.model import Reply, call


@pytest.fixture
def everything(bot, gantry, model, mcp, rig):
    """everything(settings): the daemon with the server in its manifest; keys go there."""
    def start(keys=None, bent=None, **settings):
        """bent: a sed(1) script that what the server says goes through."""
        command = [rig.node, rig.server("everything")]
        if bent:
            command = ["/bin/sh", "-c", '"$1" "$2" | sed -u "$3"', "sh", *command, bent]
        mcp.command("everything", command[0], command[1:], tee=True, timeout=60, **(keys or {}))
        # The trace of tools is shown, as a person has it who did not switch it off.
        d = bot.run(**{"TOOL_TRACE": "compact", "STREAM_REPLIES": "true", "LOG_LEVEL": "info", **settings})
        d.err.wait('"msg":"mcp.connected","server":"everything"', 120)      # Node takes its time on a busy machine
        return d
    return start


def scripted(model, tool, said="over", **arguments):
    """The next turn calls this tool once, and then answers."""
    model.reply(calls=[call(tool, **arguments)])
    model.reply(said)


def result(model):
    return [m["content"] for m in model.last.messages if m["role"] == "tool"][-1]


def test_a_form_is_filled_in_by_the_person_field_by_field(bot, model, everything):
    everything()
    scripted(model, "everything__trigger-elicitation-request")
    bot.say("ask me")
    asked = bot.wait_text("The tool server everything asks")
    assert "Please provide inputs" in asked.text and "Your full, legal name" in asked.text
    bot.say("Ada Lovelace")
    bot.press(bot.wait_text(r"\(2 of 13"), "Yes")
    for n in range(3, 14):
        field = bot.wait_text(r"\(%d of 13" % n)
        choices = [text for text, _ in field.buttons]
        bot.press(field, next(t for word in ("Default", "Skip", "Done") for t in choices if t.startswith(word)))
    bot.wait_text("^over$")
    text = result(model)
    for words in ("Ada Lovelace", "Agreed to terms: true", "It was a dark and stormy night.", "Monica"):
        assert words in text, text


@pytest.mark.parametrize("button, words", [("Decline", "declined"), ("Cancel", "cancelled")])
def test_a_form_is_refused(bot, model, everything, button, words):
    everything()
    scripted(model, "everything__trigger-elicitation-request")
    bot.say("ask me")
    bot.press(bot.wait_text("The tool server everything asks"), button)
    bot.wait_text("^over$")
    assert words in result(model)


def test_a_link_is_shown_with_its_host_and_what_the_person_says_of_it_is_answered(bot, model, everything):
    everything()
    scripted(model, "everything__trigger-url-elicitation", url="https://sign-in.example.com/start?x=1")
    bot.say("sign me in")
    asked = bot.wait_text("The tool server everything asks")
    assert "sign-in.example.com" in asked.text
    bot.press(asked, "I opened it")
    bot.wait_text("^over$")
    assert "accept" in result(model).lower()


def test_sampling_is_refused_and_then_granted(bot, model, everything):
    """By the person, each time it is asked for."""
    everything({"sampling": "ask"})
    sampled = []

    def answer(request):
        if not request.tools:
            sampled.append(request)
            return Reply("a completion")
        return Reply("over") if request.messages[-1]["role"] == "tool" else Reply(
            calls=[call("everything__trigger-sampling-request", prompt="write a line", maxTokens=50)])
    model.answer(answer)
    bot.say("first")
    asked = bot.wait_text("write a line")
    bot.press(asked, "No")
    bot.wait_text("^over$")
    assert not sampled and "a completion" not in result(model)
    bot.say("second")
    bot.press(bot.wait_text("write a line", n=2), "Yes")
    bot.wait_text("^over$", n=2)
    (request,) = sampled
    assert "write a line" in json.dumps(request.messages) and request.body["max_tokens"] == 50
    assert "a completion" in result(model)


def test_sampling_is_not_offered_unless_the_manifest_grants_it(bot, model, mcp, everything):
    everything()
    model.reply("hello")
    bot.say("hi")
    bot.wait_text("^hello$")
    assert "everything__get-sum" in model.last.tools and "everything__trigger-sampling-request" not in model.last.tools
    assert "sampling" not in mcp.received("initialize", "everything")[0]["params"]["capabilities"]


def test_the_logging_level_is_that_of_the_manifest_also_when_it_changes(bot, gantry, model, mcp, everything):
    d = everything({"log_level": "error"})

    def levels():
        return [m["params"]["level"] for m in mcp.received("logging/setLevel", "everything")]
    scripted(model, "everything__toggle-simulated-logging")
    bot.say("log")
    bot.wait_text("^over$")
    assert levels() == ["error"]
    mcp.servers[0]["log_level"] = "debug"
    mcp.write()
    d.popen.send_signal(signal.SIGHUP)
    mcp.wait(lambda: levels() == ["error", "debug"], "the new level", 60)
    scripted(model, "everything__toggle-simulated-logging", "over again")
    bot.say("log more")
    bot.wait_text("^over again$")
    # At this level whatever it picks is sent.
    mcp.wait(lambda: mcp.received("logging/setLevel", "everything") and re.search(
        r"notifications/message", mcp.logs["everything"].read_text()), "a message of the server's log", 60)


def test_prompts_are_commands_with_their_arguments(bot, model, everything):
    everything()
    model.answer(lambda r: Reply("answered: " + r.user.replace("\n", " ")))
    bot.say("/prompts")
    listed = bot.wait_text("/everything:args-prompt").text
    assert "city" in listed and "/everything:simple-prompt" in listed
    bot.say("/everything:simple-prompt")
    bot.wait_text("answered: .*This is a simple prompt without arguments")
    bot.say("/everything:args-prompt city=Paris state=Texas")
    bot.wait_text(r"answered: .*What's weather in Paris, Texas\?")
    bot.say("/everything:args-prompt")
    bot.wait_text("Missing: city")
    bot.say("/everything:resource-prompt resourceType=Text resourceId=3")
    bot.wait_text("answered: .*This prompt includes the Text resource with id: 3.*Resource 3")


def test_progress_is_seen_in_the_chat(bot, model, everything):
    everything()
    scripted(model, "everything__trigger-long-running-operation", duration=4, steps=4)
    bot.say("take your time")
    bot.board.wait(lambda: [c for c in bot.calls if "%" in str(c.params.get("text", ""))], "progress", 30, bot.view)
    bot.wait_text("^over$")
    assert "completed" in result(model).lower()


def test_resources_are_read_and_a_change_of_one_reaches_the_chat(bot, gantry, model, mcp, everything):
    everything(GANTRY_MCP_RESOURCES="true")
    uri = "demo://resource/dynamic/text/1"
    scripted(model, "mcp_resources", "listed")
    bot.say("what is there?")
    bot.wait_text("^listed$")
    assert "demo://resource/static" in result(model)
    scripted(model, "mcp_read_resource", "read", uri=uri)
    bot.say("read it")
    bot.wait_text("^read$")
    assert "Resource 1" in result(model)
    scripted(model, "mcp_resources", "subscribed", action="subscribe", uri=uri)
    bot.say("tell me when it changes")
    bot.wait_text("^subscribed$")
    model.reply(calls=[call("everything__toggle-subscriber-updates")])
    model.reply("waiting")
    bot.say("let it change")
    bot.wait_text("^waiting$")
    model.reply("it has changed")
    bot.wait_text("it has changed", seconds=60)
    assert mcp.received("resources/subscribe", "everything")[0]["params"]["uri"] == uri
    assert uri in model.last.user


def test_structured_output_is_checked_and_the_workspace_is_its_root(bot, gantry, model, everything):
    everything()
    scripted(model, "everything__get-structured-content", "known", location="Chicago")
    bot.say("weather?")
    bot.wait_text("^known$")
    seen = json.loads(result(model))
    assert set(seen) == {"temperature", "conditions", "humidity"}
    model.reply(calls=[call("everything__get-roots-list")])
    model.reply("rooted")
    bot.say("where?")
    bot.wait_text("^rooted$")
    assert str(gantry.data / "workspace") in result(model)


def test_structured_output_that_is_not_what_was_promised_is_told(bot, model, everything):
    d = everything(bent=r's/"temperature":\([0-9][0-9]*\)/"temperature":"\1"/')
    scripted(model, "everything__get-structured-content", "doubtful", location="Chicago")
    bot.say("weather?")
    bot.wait_text("^doubtful$")
    assert "[the result is not what the tool's output schema promises: " \
        "structuredContent.temperature: must be a number, not a string]" in result(model)
    assert d.err.text.count("mcp.mismatch") == 1


def test_a_research_that_is_a_task_asks_the_person_in_the_midst_of_it(bot, model, everything):
    everything()
    scripted(model, "everything__simulate-research-query", topic="python", ambiguous=True)
    bot.say("look into it")
    asked = bot.wait_text("The tool server everything asks", seconds=60)
    assert "could have multiple interpretations" in asked.text
    bot.press(asked, asked.buttons[0][0])
    bot.wait_text("^over$", seconds=60)
    assert "Research Report" in result(model)


def test_a_link_in_a_result_is_followed_by_the_model(bot, model, everything):
    everything(GANTRY_MCP_RESOURCES="true")
    scripted(model, "everything__get-resource-links", "linked", count=2)
    bot.say("which?")
    bot.wait_text("^linked$")
    uri = re.search(r"demo://resource/dynamic/text/\d+", result(model))[0]
    scripted(model, "mcp_read_resource", "followed", uri=uri)
    bot.say("and what is in it?")
    bot.wait_text("^followed$")
    assert "Resource " + uri.rsplit("/", 1)[1] in result(model)
