"""
What must hold after a run, whatever befell it: read from the database file, the logs of the
fakes and the ledger of effects alone, with no code of gantry's.  Each function gives sentences
about what does not hold.
"""

import collections
import re
import sqlite3

NUMBER = re.compile(r"msg (\d+) (\w+)")


def rows(db, query, *args):
    return db.execute(query, args).fetchall()


def whole(db):
    """The file, and what may not be left open in it."""
    bad = ["integrity: " + r[0] for r in rows(db, "pragma integrity_check") if r[0] != "ok"]
    bad += ["broken reference: %s" % (tuple(r),) for r in rows(db, "pragma foreign_key_check")]
    for what, query in (("turn", "select id, state from turns where state in ('ready', 'running', 'parked')"),
                        ("inbox row", "select id, state from inbox where state in ('ready', 'claimed')"),
                        ("outbox row", "select id, state from outbox where state in ('raw', 'ready')"),
                        ("piece", "select p.id, p.state from pieces p join outbox o on o.id = p.outbox_id "
                                  "where p.state in ('ready', 'sending') and o.state <> 'dropped'"),
                        ("call", "select c.id, c.state from tool_calls c join turns t on t.id = c.turn_id "
                                 "where c.state in ('planned', 'running')"),
                        ("question", "select a.id, a.state from approvals a join turns t on t.id = a.turn_id "
                                     "where a.state = 'pending'")):
        bad += ["%s %s is still %s" % (what, r[0], r[1]) for r in rows(db, query)]
    return bad


def nothing_lost(db, said):
    """Each message is one row, handled; dropped or ended early only where somebody said so."""
    bad = []
    stops = [(chat, thread, update) for update, chat, thread, _, text in said if text in ("/stop", "/new")]
    for update, chat, thread, message, text in said:
        if not text.startswith("msg "):
            continue
        found = rows(db, "select i.state, i.turn_id, t.state as turn, t.error from inbox i left join turns t "
                         "on t.id = i.turn_id where i.text like ? and i.kind = 'message'", "%" + text + "%")
        if len(found) != 1:
            bad.append("%r is in %d rows" % (text, len(found)))
            continue
        row = found[0]
        excused = any((c, t) == (chat, thread) and u > update for c, t, u in stops)
        if row["state"] == "dropped" or row["turn"] == "canceled":
            if not excused:
                bad.append("%r was %s and nobody said stop" % (text, row["turn"] or row["state"]))
        elif row["turn"] not in ("done", "given_up", "failed"):
            bad.append("%r ended as %s" % (text, row["turn"]))
        elif not rows(db, "select 1 from outbox where turn_id = ? and kind <> 'approval' and state in ('done', 'dead')",
                      row["turn_id"]):
            bad.append("%r is %s and has no answer" % (text, row["turn"]))
    return bad


def nothing_twice(db, ledger, done):
    """No effect twice; what is told as done happened, what was refused did not."""
    effects = collections.Counter(ledger) + collections.Counter(done)
    bad = ["%s happened %d times" % (label, n) for label, n in effects.items() if n > 1]
    for c in rows(db, "select name, args, state, decision from tool_calls where name like '%count' or name = 'exec'"):
        label = re.search(r"(\d+\.[a-z])", c["args"])
        n = effects[label[1]] if label else 0
        if c["state"] == "done" and n != 1:
            bad.append("%s is done and happened %d times" % (c["args"], n))
        if c["state"] in ("denied", "planned") and n and not others(db, label[1], c):
            bad.append("%s is %s and happened" % (c["args"], c["state"]))
    for f in rows(db, "select content, count(*) as n from memory where superseded_by is null group by content having n > 1"):
        bad.append("remembered %d times: %s" % (f["n"], f["content"]))
    for j in rows(db, "select prompt, count(*) as n from jobs group by prompt having n > 1"):
        bad.append("scheduled %d times: %s" % (j["n"], j["prompt"]))
    for r in rows(db, "select j.prompt, count(*) as n from job_runs r join jobs j on j.id = r.job_id "
                      "where r.state = 'ok' group by r.job_id, r.scheduled_at_ms having n > 1"):
        bad.append("ran %d times for one time: %s" % (r["n"], r["prompt"]))
    return bad


def others(db, label, c):
    """Is there another call of that label that ran?  (A model may ask again.)"""
    return rows(db, "select 1 from tool_calls where args like ? and state in ('done', 'failed', 'in_doubt')",
                "%" + label + "%")


def approved(db):
    """What a person was to be asked about ran only with a yes, once a yes."""
    bad = []
    for c in rows(db, "select c.id, c.args, c.state, c.decision, (select count(*) from approvals a where a.call_id = c.id and "
                      "a.state = 'used') as used from tool_calls c where c.name like 'ask__%'"):
        wanted = 0 if c["decision"] == "granted" else 1     # "always" was said to exactly this
        if c["state"] in ("done", "failed", "in_doubt") and c["used"] != wanted:
            bad.append("%s is %s with %d answers used" % (c["args"], c["state"], c["used"]))
    return bad


def delivered(db, bot, places, deaths):
    """What is told as sent stands in its chat; no more copies than tries; in order."""
    bad = []
    for p in rows(db, "select p.*, o.address, o.kind from pieces p join outbox o on o.id = p.outbox_id "
                      "where p.state = 'sent' and o.channel = 'telegram' and p.remote_id <> ''"):
        chat = int(p["address"].split(":")[0])
        if not any(str(m.id) == p["remote_id"] for m in bot.chats[chat].messages):
            bad.append("piece %d is sent as %s and stands nowhere" % (p["id"], p["remote_id"]))
    for chat, thread in places:
        texts = [t for t in bot.seen(chat, thread) if re.match(r"answer \d+", t)]
        keys = [(int(m[1]), int(m[2] or 0)) for m in (re.match(r"answer (\d+)(?: part (\d+))?\.", t) for t in texts) if m]
        for key, n in collections.Counter(keys).items():
            if n > 1 + deaths:
                bad.append("the answer %s stands there %d times" % (key, n))
    return bad


def stopped(db):
    """A turn that was stopped says nothing afterwards but that it was."""
    return ["turn %s is canceled and answered: %.60s" % (r["id"], r["text"]) for r in rows(
        db, "select t.id, o.text from turns t join outbox o on o.turn_id = t.id where t.state = 'canceled' "
            "and o.kind = 'reply' and o.text like 'answer %' and o.state = 'done'")]


def opened(w):
    con = sqlite3.connect("file:%s?mode=ro" % w.g.db_path, uri=True)
    con.row_factory = sqlite3.Row
    return con


def of_database(w):
    """All of it that is no chat's."""
    con = opened(w)
    done = (w.work / "done").read_text().split() if (w.work / "done").exists() else []
    try:
        return whole(con) + nothing_lost(con, w.said) + nothing_twice(con, w.mcp.ledger_lines(), done) + approved(con) + stopped(con)
    finally:
        con.close()


def judge(w, places):
    """All of it."""
    con = opened(w)
    try:
        return of_database(w) + delivered(con, w.bot, places, w.deaths)
    finally:
        con.close()
