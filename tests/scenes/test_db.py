"""The database is looked after: checked, copied beside a running daemon, compacted, printed."""

import json
import os
import sqlite3
import stat

import pytest

from harness.watch import Gate

as_user = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def copies(d):
    return sorted(f for f in os.listdir(d) if f.startswith("gantry-"))


def talked(gantry, model, *words):
    for w in words:
        model.reply("to " + w)
    gantry.talk(*words)
    return gantry


def count(path, table="turn_messages"):
    con = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        assert con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return con.execute("SELECT count(*) FROM %s" % table).fetchone()[0]
    finally:
        con.close()


def test_a_backup_beside_a_running_daemon_is_whole(gantry, model):
    gate = Gate()
    model.reply("first")
    model.reply("second", gate=gate)
    d = gantry.daemon()
    d.send("one")
    d.out.wait("first")
    d.send("two")
    gate.wait_reached()     # in the middle of a turn
    made = json.loads(gantry.run("db", "backup", "--json").out)
    gate.release()
    d.out.wait("second")
    d.close_stdin()
    d.wait(code=0)
    assert os.path.dirname(made["file"]) == str(gantry.data / "backups")
    assert stat.S_IMODE(os.stat(made["file"]).st_mode) == 0o600 and made["bytes"] == os.stat(made["file"]).st_size
    assert stat.S_IMODE(os.stat(gantry.data / "backups").st_mode) == 0o700
    assert count(made["file"]) == 3
    # Put back, the turn that was under way goes on.
    for f in gantry.data.glob("gantry.db*"):
        f.unlink()
    os.rename(made["file"], gantry.db_path)
    model.reply("second again")
    d = gantry.daemon()
    d.out.wait("second again")
    d.close_stdin()
    d.wait(code=0)


def test_old_copies_go_and_nothing_else(gantry, model):
    talked(gantry, model, "a")
    to = gantry.dir / "copies"
    to.mkdir()
    for other in ("gantry-mine.db", "notes.txt", "gantry-20200101-000000-000.db.gz"):
        (to / other).write_text("precious")
    (to / "gantry-20200101-000000-000.db").write_text("a copy of long ago")
    for _ in range(4):
        last = gantry.run("db", "backup", "--to", to, "--keep", 2).out.strip()
    left = [f for f in copies(to) if not f.endswith("mine.db") and not f.endswith(".gz")]
    assert len(left) == 2 and os.path.basename(last) == left[-1] and left[0] > "gantry-2026"
    assert (to / "gantry-mine.db").exists() and (to / "notes.txt").exists()
    assert (to / "gantry-20200101-000000-000.db.gz").exists()


def test_a_backup_overwrites_nothing(gantry, model):
    talked(gantry, model, "a")
    there = gantry.dir / "there.db"
    there.write_text("precious")
    assert "nothing is overwritten" in gantry.run("db", "backup", "--to", there, code=1).err
    assert there.read_text() == "precious"
    gantry.run("db", "backup", "--to", gantry.dir / "new.db")
    assert count(gantry.dir / "new.db") == 2
    assert "is none" in gantry.run("db", "backup", "--to", gantry.dir / "x.db", "--keep", 3, code=1).err


def test_a_full_disk_leaves_no_half_copy(gantry, model):
    talked(gantry, model, "a")
    to = gantry.dir / "copies"
    to.mkdir()
    for n in (1, 5):
        p = gantry.start("db", "backup", "--to", to, seam=True, GANTRY_FAULT="pwrite:%d+:ENOSPC" % n)
        p.wait(code=1)
        assert "no room" in p.err.text and len(p.err.text.strip().splitlines()) == 1
        assert os.listdir(to) == []
    p = gantry.start("db", "backup", "--to", to, seam=True, GANTRY_FAULT="fsync:1")
    p.wait(code=1)
    assert os.listdir(to) == []
    # What a death left is in nobody's way.
    p = gantry.start("db", "backup", "--to", to / "x.db", seam=True, GANTRY_FAULT="kill:pwrite:9")
    p.expect_signal = 9
    p.wait()
    assert not (to / "x.db").exists()
    gantry.run("db", "backup", "--to", to / "x.db")
    assert os.listdir(to) == ["x.db"]


@as_user
def test_missing_rights_are_named(gantry, model):
    talked(gantry, model, "a")
    os.chmod(gantry.dir, 0o755)
    to = gantry.dir / "locked"
    to.mkdir(mode=0o755)
    path = gantry.dir
    while str(path) != "/":
        os.chmod(path, os.stat(path).st_mode | 0o055)
        path = path.parent
    gantry.prefix = ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups", "--"]
    for args in (("check",), ("backup", "--to", to), ("vacuum",), ("export",)):
        err = gantry.run("db", *args, code=1).err
        assert "gantry.db" in err and len(err.strip().splitlines()) == 1, err


def test_a_file_of_another_program_is_left_alone(gantry):
    con = sqlite3.connect(gantry.db_path)
    con.execute("CREATE TABLE t (x)")
    con.commit()
    con.close()
    before = gantry.db_path.read_bytes()
    for verb in ("check", "backup", "vacuum", "export"):
        assert "another program" in gantry.run("db", verb, code=1).err
    assert gantry.db_path.read_bytes() == before
    gantry.db_path.unlink()
    for verb in ("check", "backup", "vacuum", "export"):
        assert "no database yet" in gantry.run("db", verb, code=1).err
    assert not gantry.db_path.exists()


def test_check_finds_damage(gantry, model):
    talked(gantry, model, "a", "b")
    r = gantry.run("db", "check")
    assert "sound" in r.out and str(gantry.db_path) in r.out
    row = json.loads(gantry.run("db", "check", "--json").out)
    assert row["sound"] is True and row["faults"] == [] and row["bytes"] == os.stat(gantry.db_path).st_size
    con = sqlite3.connect(gantry.db_path)
    con.execute("PRAGMA foreign_keys = OFF")
    con.execute("PRAGMA writable_schema = ON")
    con.execute("UPDATE turn_messages SET session_id = 'nobody'")
    con.commit()
    con.close()
    r = gantry.run("db", "check", "--json", code=1)
    assert not json.loads(r.out)["sound"] and "belongs to no row of sessions" in json.loads(r.out)["faults"][0]
    assert "restore a backup" in r.err


def test_vacuum_gives_room_back_and_needs_the_daemon_stopped(gantry, model):
    talked(gantry, model, "a")
    con = sqlite3.connect(gantry.db_path)
    con.execute("CREATE TABLE big AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
                "SELECT i, hex(randomblob(500)) FROM n")
    con.execute("DROP TABLE big")
    con.commit()
    con.close()
    d = gantry.daemon()
    d.err.wait("ready")
    assert "pid %d" % d.pid in gantry.run("db", "vacuum", code=1).err
    d.close_stdin()
    d.wait(code=0)
    before = os.stat(gantry.db_path).st_size
    gantry.run("db", "vacuum")
    assert os.stat(gantry.db_path).st_size < before / 2
    assert count(gantry.db_path) == 2


def test_export_prints_every_row_as_json(gantry, model):
    talked(gantry, model, 'say "hi" \u2764')
    gantry.run("memory", "store", "fact", "door", "the zephyr door")
    rows = [json.loads(line) for line in gantry.run("db", "export").out.splitlines()]
    tables = {r["table"] for r in rows}
    assert {"sessions", "turns", "turn_messages", "memory", "schema_migrations"} <= tables
    assert not any(t.startswith(("memory_fts", "memory_grams", "sqlite_")) for t in tables)
    said = [r["row"] for r in rows if r["table"] == "turn_messages"]
    assert said[0]["content"] == 'say "hi" \u2764' and said[0]["note"] == 0
    one = [json.loads(line) for line in gantry.run("db", "export", "memory").out.splitlines()]
    assert [r["row"]["content"] for r in one] == ["the zephyr door"] and one[0]["row"]["expires_at"] is None
    assert "no table" in gantry.run("db", "export", "nonsense", code=1).err


@pytest.mark.parametrize("args", [(), ("shred",), ("check", "x"), ("check", "--keep", "2"), ("backup", "--keep", "0"),
                                  ("backup", "--keep"), ("backup", "--hard")])
def test_wrong_use_is_said(gantry, args):
    assert "gantry db" in gantry.run("db", *args, code=2).err
