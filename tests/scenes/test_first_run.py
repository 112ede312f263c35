"""What a newcomer sees: `make run` without a key, and `make init`."""

import shutil

import pytest

from harness.fixtures import TREE, binary
from harness.terminal import Terminal


@pytest.fixture
def tree(gantry):
    """A checkout, as far as scripts/run needs one."""
    top = gantry.dir / "checkout"
    (top / "build").mkdir(parents=True)
    shutil.copytree(TREE / "scripts", top / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (top / "build" / "gantry").symlink_to(binary())
    return top


def bare(gantry, **more):
    keep = ("PATH", "HOME", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
    return dict({k: v for k, v in gantry.env().items() if k in keep}, TERM="xterm-256color", **more)


def run(gantry, tree, **env):
    t = Terminal(["/bin/sh", str(tree / "scripts" / "run")], bare(gantry, **env), str(tree))
    gantry.procs.append(t)
    return t


def test_without_a_key_the_demo_shows_a_whole_turn(gantry, tree):
    t = run(gantry, tree)
    t.see("offline demo model")
    t.see("^> ?$")
    t.keys("hello\r")
    t.see("not a language model")
    t.keys("write a note: buy oat milk\r")
    t.see("the note is in note.md")
    t.keys("read note.md\r")
    t.see("note.md says(.|\n)*buy oat milk")
    t.keys("list the files\r")
    t.see("This is in the workspace(.|\n)*note.md")
    t.keys("\x04")
    t.wait(30, code=0)
    assert (tree / "deploy" / "workspace" / "note.md").read_text() == "buy oat milk\n"
    assert (tree / "deploy" / "mcp.toml").exists() and (tree / ".env.example").exists()
    assert list((tree / "deploy" / "persona").iterdir())


def test_with_a_key_in_dot_env_it_talks_to_that_model(gantry, tree, model):
    key = gantry.env()["LLM_API_KEY"]
    (tree / ".env").write_text('# mine\nexport LLM_BASE_URL=%s\nLLM_API_KEY="%s"\nLLM_MODEL=test-model\n' % (model.url, key))
    model.reply("A real answer.")
    t = run(gantry, tree)
    t.see("^> ?$")
    assert "demo" not in t.screen.text
    t.keys("hello\r")
    t.see("A real answer")
    t.keys("\x04")
    t.wait(30, code=0)


def test_a_second_start_keeps_what_is_there(gantry, tree, model):
    model.answer(lambda r: "ok")
    env = {k: v for k, v in gantry.env().items() if k.startswith("LLM_")}
    t = run(gantry, tree, **env)
    t.see("^> ?$")
    t.keys("\x04")
    t.wait(30, code=0)
    (tree / "deploy" / "mcp.toml").write_text("# mine\n")
    t = run(gantry, tree, **env)
    t.see("^> ?$")
    t.keys("\x04")
    t.wait(30, code=0)
    assert (tree / "deploy" / "mcp.toml").read_text() == "# mine\n"
