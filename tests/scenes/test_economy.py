"""What a long conversation costs: each request begins with the one before, as far as it can."""

import json
import random

import pytest

from fakes.model import Reply, call

TURNS = 100
WORDS = ("weather train ticket garden recipe budget meeting doctor holiday guitar bicycle "
         "window coffee market library river").split()


def say(rng, n):
    return " ".join(rng.choice(WORDS) for _ in range(n))


def common(a, b):
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    low, high = 0, n
    while high - low > 1:
        mid = (low + high) // 2
        low, high = (mid, high) if a[:mid] == b[:mid] else (low, mid)
    return low


class Person:
    """Plays the whole script: every third turn stores something, a third looks something up."""

    def __init__(self, memory):
        self.rng, self.memory = random.Random(7), memory
        self.stored, self.looked, self.asked = 0, 0, []

    def answer(self, request):
        self.asked.append(request)
        turn = sum(1 for r in self.asked if r.messages[-1]["role"] == "user")
        if request.messages[-1]["role"] == "user":
            if turn % 10 in (1, 4, 7):
                self.stored += 1
                if not self.memory:
                    return Reply(calls=[call("srv__t00", text=say(self.rng, 12))])
                return Reply(calls=[call("memory_store", kind="fact", subject=say(self.rng, 1),
                                         content="%s %d" % (say(self.rng, 8), turn))])
            if turn % 10 in (2, 5, 8, 9):
                self.looked += 1
                return Reply(calls=[call("srv__big", n=[256, 1024, 2048, 4864][turn % 4], char="x")])
        return Reply(say(self.rng, 40))


def reason(before, after):
    a, b = before.body, after.body
    if a.get("tools") != b.get("tools"):
        return "the tools changed"
    if before.system != after.system:
        x, y = before.system, after.system
        if x.partition("[session summary]")[2] != y.partition("[session summary]")[2]:
            return "fold: old turns became the summary"
        return "the memory snapshot or the persona changed"
    for x, y in zip(a["messages"], b["messages"]):
        if x != y:
            if x["role"] == "tool" and "truncated]" in y["content"]:
                return "old results and context blocks collapsed"
            if x["role"] == "user" and x["content"].startswith(y["content"]):
                return "old results and context blocks collapsed"
            return "another history: %s" % json.dumps(y)[:80]
    return "shorter"


@pytest.mark.long
def test_a_hundred_turns_are_sent_almost_only_once(gantry, model, mcp):
    (gantry.persona / "PERSONA.md").write_text("You are Tim. " + say(random.Random(1), 1300)[:8180])
    mcp.add("srv", tools=["big"] + ["t%02d" % i for i in range(19)])
    person = Person(memory=True)
    model.answer(person.answer)
    model.aside = lambda request: Reply("Facts: they talk about %s.\nTone: dry." % say(random.Random(len(model.asides)), 60))
    d = gantry.daemon()
    rng = random.Random(3)
    for i in range(TURNS):
        d.send("%d: %s" % (i, say(rng, 14)))
        d.out.line()
    d.close_stdin()
    d.wait(code=0)
    shares, again, breaks = [], 0, {}
    for before, after in zip(person.asked, person.asked[1:]):
        same = common(before.raw, after.raw)
        shares.append(same / len(after.raw))
        again += len(before.raw) - same if same < len(before.raw) - 2 else 0
        if same < len(before.raw) - 2:
            why = reason(before, after)
            breaks.setdefault(why, []).append((after.number, len(before.raw) - same))
    share = 100 * sum(shares) / len(shares)
    print("\n%d turns, %d requests, %d stored, %d looked up, %d folds" % (
        TURNS, len(person.asked), person.stored, person.looked, len(model.asides)))
    print("share of a request that is the beginning of the one before: %.2f %% (worst %.1f %%)" % (
        share, 100 * min(shares)))
    print("tokens sent again outside of it, per turn: %.0f (estimated)" % (again / 4 / TURNS))
    for why, where in sorted(breaks.items()):
        print("  %-45s %3d times, %6d bytes sent again" % (why, len(where), sum(n for _, n in where)))
    assert len(model.asides) == 3
    assert share >= 95
