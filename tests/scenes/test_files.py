"""The file tools: inside their roots they work, outside there is nothing, and never our own database."""

import os

import pytest

from fakes.model import call


@pytest.fixture
def box(gantry):
    d = gantry.dir / "box"
    d.mkdir()
    gantry.set(TOOLS="fs", GANTRY_AGENT_WORKSPACE=str(d), GANTRY_TOOLS_FILESYSTEM_ROOTS=str(d))
    return d


def use(gantry, model, *calls):
    """One turn with these calls; their results."""
    model.reply(calls=list(calls))
    model.reply("done")
    assert gantry.talk("go").out == "done\n"
    return model.last.results


def test_write_list_and_read(gantry, model, box):
    (wrote,) = use(gantry, model, call("write_file", path="sub/note.txt", content="buy milk\n"))
    assert "9" in wrote and (box / "sub" / "note.txt").read_text() == "buy milk\n"
    listed, read = use(gantry, model, call("list_dir", path=".", depth=2), call("read_file", path="sub/note.txt"))
    assert "note.txt" in listed and "buy milk" in read


def test_append_and_create_new(gantry, model, box):
    use(gantry, model, call("write_file", path="a", content="1\n"))
    use(gantry, model, call("write_file", path="a", content="2\n", mode="append"))
    assert (box / "a").read_text() == "1\n2\n"
    (refused,) = use(gantry, model, call("write_file", path="a", content="3", mode="create_new"))
    assert "exists" in refused and (box / "a").read_text() == "1\n2\n"


def test_without_the_setting_there_are_no_file_tools(gantry, model):
    model.reply("none")
    gantry.talk("go")
    assert not {"read_file", "write_file", "list_dir"} & set(model.last.tools)


@pytest.fixture
def traps(gantry, box):
    outside = gantry.dir / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("TOP-SECRET")
    (box / "link-out").symlink_to(outside)
    (box / "file-link-out").symlink_to(outside / "secret.txt")
    (box / "dir").mkdir()
    (box / "dir" / "in.txt").write_text("inside")
    (box / "link-in").symlink_to("dir")
    (box / "abs-in").symlink_to(box / "dir" / "in.txt")
    (box / "loop").symlink_to("loop")
    os.mkfifo(box / "fifo")
    return outside


@pytest.mark.parametrize("path", ["../outside/secret.txt", "link-out/secret.txt", "file-link-out", "/etc/hostname",
                                  "dir/../../outside/secret.txt", "loop", "fifo", "a\x00b", "", "/proc/self/environ",
                                  "link-in/../../outside/secret.txt"])
def test_nothing_outside_is_read_or_written(gantry, model, box, traps, path):
    read, wrote = use(gantry, model, call("read_file", path=path), call("write_file", path=path, content="x"))
    assert "TOP-SECRET" not in read and "error" in read.lower()
    assert (traps / "secret.txt").read_text() == "TOP-SECRET" and sorted(os.listdir(traps)) == ["secret.txt"]
    assert "error" in wrote.lower()


@pytest.mark.parametrize("path", ["link-in/in.txt", "abs-in", "dir/in.txt", "./dir//in.txt", "dir/../dir/in.txt"])
def test_links_that_stay_inside_work(gantry, model, box, traps, path):
    (read,) = use(gantry, model, call("read_file", path=path))
    assert "inside" in read


def test_our_own_database_is_never_opened(gantry, model, box):
    gantry.set(GANTRY_TOOLS_FILESYSTEM_ROOTS="%s,%s" % (box, gantry.data))
    for suffix in ("", "-wal", "-shm"):
        os.symlink(str(gantry.db_path) + suffix, box / ("db" + suffix))
    model.reply("make it")
    gantry.talk("hi")
    calls = []
    for suffix in ("", "-wal", "-shm"):
        path = str(gantry.db_path) + suffix
        calls += [call("read_file", path=path), call("write_file", path=path, content="x"),
                  call("read_file", path="db" + suffix)]
    for result in use(gantry, model, *calls):
        assert "error" in result.lower() and "SQLite format" not in result
    assert gantry.sql("pragma integrity_check")[0][0] == "ok"


def test_big_and_binary_files(gantry, model, box):
    (box / "big").write_text("あ" * 200_000)
    (box / "bin").write_bytes(b"\x7fELF\0\0\0")
    big, binary, far = use(gantry, model, call("read_file", path="big"), call("read_file", path="bin"),
                           call("read_file", path="big", offset=10_000_000))
    assert big.startswith("あ") and "600000" in big
    assert "binary" in binary and "past" in far


def test_a_policy_rule_denies_by_name(gantry, model, box):
    config = gantry.dir / "config.yaml"
    config.write_text("""
agent: {model: test-model}
openai: {api_key_env: MY_KEY, base_url: %s}
storage: {dsn: %s}
tools: {filesystem: {roots: [%s]}}
policy: {rules: [{tool: "write_*", action: deny}]}
""" % (model.url, gantry.db_path, box))
    model.reply(calls=[call("write_file", path="a", content="x"), call("list_dir", path=".")])
    model.reply("done")
    r = gantry.run("prompt", "--config", str(config), "go", MY_KEY=gantry.env()["LLM_API_KEY"])
    assert r.out == "done\n"
    denied, listed = model.last.results
    assert "refused" in denied
    assert "error" not in listed.lower() and not (box / "a").exists()
    rows = {row["name"]: row["decision"] for row in gantry.sql("select name, decision from tool_calls")}
    assert rows["write_file"] == "deny" and rows["list_dir"] == "allow"


def test_an_edit_shows_what_it_changed_and_keeps_line_ends(gantry, model, box):
    (box / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    edited, wrong = use(gantry, model, call("edit_file", path="a.txt", old_string="two", new_string="2\nII"),
                        call("edit_file", path="a.txt", old_string="four", new_string="x"))
    assert "-two\n+2\n+II\n" in edited and "not in a.txt" in wrong
    assert (box / "a.txt").read_bytes() == b"one\r\n2\r\nII\r\nthree\r\n"
    assert len(gantry.sql("select 1 from tool_calls where name = 'edit_file'")) == 2


HOSTILE = "2\x1b[2J\u202eII\n"


def test_at_a_terminal_a_person_sees_what_an_edit_would_change(gantry, model, box):
    gantry.set(GANTRY_POLICY_RULES="[{tool: edit_file, action: ask}]")
    new = HOSTILE + "".join("line %d\n" % i for i in range(30))
    (box / "a.txt").write_text("one\ntwo\nthree\n")
    model.reply(calls=[call("edit_file", path="a.txt", old_string="two\n", new_string=new)])
    model.reply("done")
    t = gantry.terminal("chat", rows=60)
    t.see(">")
    t.keys("go\r")
    t.see(r"Allow it.*\? \[y/N\]")
    shown = t.screen.text
    assert "--- a.txt" in shown and " one\n" in shown and "-two\n" in shown and "+2\\x1b[2J\\u202eII\n" in shown
    assert all("+line %d\n" % i in shown for i in range(30)) and "old_string" not in shown
    assert (box / "a.txt").read_text() == "one\ntwo\nthree\n"
    t.keys("y\r")
    t.see("done")
    assert (box / "a.txt").read_text() == "one\n" + new + "three\n"
    t.keys("/quit\r")
    t.wait(20, code=0)


@pytest.mark.parametrize("lines, messages", [(30, 1), (1000, 4), (3000, 2)])
def test_on_telegram_all_of_an_edit_is_read_before_its_buttons(bot, gantry, model, box, lines, messages):
    """In one message, in several, or as a file; only the last has buttons."""
    new = HOSTILE + "".join("line %d\n" % i for i in range(lines))
    gantry.set(GANTRY_POLICY_RULES="[{tool: edit_file, action: ask}]")
    (box / "a.txt").write_text("one\ntwo\nthree\n")
    model.reply(calls=[call("edit_file", path="a.txt", old_string="two\n", new_string=new)])
    model.reply("finished")
    bot.run()
    bot.say("go")
    prompt = bot.wait_text("May I run")
    ours = [m for m in bot.messages() if m.text != "go"]
    assert len(ours) >= messages and prompt is ours[-1] and not any(m.buttons for m in ours[:-1])
    files = [bot.files[m.document["file_id"]]["data"].decode() for m in ours if m.document]
    shown = "\n".join([m.text or "" for m in ours] + files)
    assert "--- a.txt" in shown and "-two" in shown and "+2\\x1b[2J\\u202eII" in shown and "old_string" not in shown
    assert "\x1b" not in shown and all("+line %d\n" % i in shown + "\n" for i in range(lines))
    bot.press(prompt, "Yes")
    bot.wait_text("^finished$")
    assert (box / "a.txt").read_bytes().decode() == "one\n" + new + "three\n"
