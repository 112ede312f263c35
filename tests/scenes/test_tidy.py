"""Where no daemon runs, chat and prompt do themselves what its system worker would do."""

import json
import signal
import struct

from fakes.model import Reply
from harness.watch import Gate, wait_until

SUMMARY = "Facts: they count. Tone: dry."


def summaries(gantry):
    return [r["summary"] for r in gantry.sql("select summary from sessions") if r["summary"]]


def counting(gantry, model, **more):
    gantry.set(GANTRY_AGENT_MAX_HISTORY_MESSAGES="8", **more)
    model.answer(lambda r: Reply("I see."))
    model.aside = lambda r: Reply(SUMMARY)


def test_a_chat_folds_its_old_turns_when_it_ends(gantry, model):
    counting(gantry, model)
    lines = "".join("number %d\n" % n for n in range(6))
    r = gantry.run("chat", input=lines)
    assert r.out.count("I see.") == 6
    assert summaries(gantry) == [SUMMARY]
    assert not gantry.sql("select 1 from system_rows")
    gantry.run("chat", input="and you?\n")
    assert SUMMARY in model.last.messages[0]["content"]


def test_a_chat_folds_while_it_waits_and_leaves_it_when_somebody_writes(gantry, model):
    gate = Gate()
    counting(gantry, model)
    model.aside = lambda r: Reply(SUMMARY, gate=gate)
    p = gantry.start("chat")
    for n in range(6):
        p.send("number %d" % n)
        model.wait(n + 1)
        p.out.board.wait(lambda: p.out.text.count("I see.") > n, "the answer", detail=p.report)
    gate.wait_reached()
    assert not summaries(gantry)
    before = len(model.requests)
    p.send("are you there?")              # the answer waits for no summary
    model.wait(before + 1)
    p.out.board.wait(lambda: p.out.text.count("I see.") >= n + 2, "the answer", detail=p.report)
    gate.release()
    p.close_stdin()
    p.wait(code=0)
    assert summaries(gantry) == [SUMMARY]


def test_a_prompt_folds_after_its_answer_and_a_signal_leaves_at_once(gantry, model):
    gate = Gate()
    counting(gantry, model)
    model.aside = lambda r: Reply(SUMMARY, gate=gate)
    n = 0
    while not model.asides:
        p = gantry.start("prompt", "number %d" % n)
        p.out.wait("I see")
        n += 1
        wait_until(lambda: not p.running() or model.asides, "its end, or a fold")
        assert n < 9
    gate.wait_reached()
    p.popen.send_signal(signal.SIGINT)
    p.wait(code=0)                        # it was answered
    assert [r["owner"] for r in gantry.sql("select owner from system_rows")] == [""]
    gate.release()
    gantry.run("prompt", "once more")
    assert summaries(gantry) == [SUMMARY]


def test_beside_a_daemon_it_is_the_daemons(gantry, model):
    counting(gantry, model)
    d = gantry.daemon()
    d.err.wait('"msg":"ready"')
    for n in range(6):
        gantry.run("prompt", "number %d" % n)
    d.finish()
    rows = [r["what"] for r in gantry.sql("select what from system_rows")]
    assert (rows, summaries(gantry)) in ((["fold"], []), ([], [SUMMARY]))      # the daemon may have been at it already
    if rows:
        assert not model.asides
        gantry.run("prompt", "and now?")
        assert summaries(gantry) == [SUMMARY]


def test_memory_is_consolidated_without_a_daemon(gantry, model):
    model.answer(lambda r: Reply("I see."))
    model.aside = lambda r: Reply(json.dumps([{"kind": "fact", "subject": "trip", "content": "likes Rome"}]))
    gantry.set(MEMORY_CONSOLIDATE_MINUTES="30")
    gantry.run("prompt", "hello")
    gantry.run("memory", "store", "episode", "trip", "went to Rome and liked it")
    gantry.run("prompt", "hello again")
    assert not model.asides               # not yet
    clock = gantry.dir / "clock"
    clock.write_bytes(struct.pack("=qq", 31 * 60 * 1000, 0))
    gantry.run("prompt", "and again", seam=True, GANTRY_CLOCK=str(clock))
    assert len(model.asides) == 1
    assert [r["content"] for r in gantry.sql("select content from memory where source = 'consolidation'")] == ["likes Rome"]
