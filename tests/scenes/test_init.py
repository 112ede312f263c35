"""`gantry init`: what a deployment by variables and mounts begins with."""

import os
import stat

import pytest

KEPT = {"LLM_BASE_URL": None, "LLM_API_KEY": None, "LLM_MODEL": None, "PERSONA_DIR": None, "DATA_DIR": None,
        "MCP_MANIFEST": None, "CHANNEL": None}
FILES = ["deploy/persona/SOUL.md", "deploy/persona/USER.md", "deploy/persona/AGENTS.md", "deploy/mcp.toml", "./.env.example"]


def tree(top):
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


@pytest.fixture
def place(gantry):
    d = gantry.dir / "place"
    d.mkdir()
    return d


def init(gantry, place, code=0, **more):
    p = gantry.start("init", cwd=place, **dict(KEPT, **more))
    p.wait(30, code)
    return p


def test_a_first_run_says_each_file_and_how_many_there_are(gantry, place):
    p = init(gantry, place)
    assert p.out.text == "".join("wrote %s\n" % f for f in FILES) + "5 written, 0 left as they were\n"
    assert sorted(tree(place)) == sorted(f.replace("./", "") for f in FILES)
    for f in FILES:
        assert stat.S_IMODE(os.stat(place / f).st_mode) == 0o644
    assert stat.S_IMODE(os.stat(place / "deploy" / "persona").st_mode) == 0o755
    assert stat.S_IMODE(os.stat(place / "deploy" / "data").st_mode) == 0o700


def test_a_second_run_overwrites_nothing_and_says_so(gantry, place):
    init(gantry, place)
    (place / "deploy" / "persona" / "SOUL.md").write_text("custom-soul\n")
    (place / "deploy" / "mcp.toml").unlink()
    before = tree(place)
    p = init(gantry, place)
    assert "skip  deploy/persona/SOUL.md\n" in p.out.text and "wrote deploy/mcp.toml\n" in p.out.text
    assert p.out.text.endswith("1 written, 4 left as they were\n")
    after = tree(place)
    after.pop("deploy/mcp.toml")
    assert after == before


def test_places_are_taken_from_the_variables_without_blanks_around_them(gantry, place):
    init(gantry, place, PERSONA_DIR="  who  ", MCP_MANIFEST=" etc/tools.toml\t", DATA_DIR="d")
    assert (place / "who" / "SOUL.md").exists() and (place / "etc" / "tools.toml").exists() and (place / "d").is_dir()
    assert not (place / "deploy").exists()


@pytest.mark.parametrize("variable", ["PERSONA_DIR", "MCP_MANIFEST", "DATA_DIR"])
def test_a_place_below_a_file_fails_with_its_name(gantry, place, variable):
    (place / "file").write_text("")
    p = init(gantry, place, code=1, **{variable: "file/x/y"})
    assert "gantry: init: file" in p.err.text and p.err.text.count("\n") == 1


def test_what_it_writes_starts_once_the_model_is_named(gantry, place, model):
    """The example of variables as it is, with the two blanks filled in, as `make run` reads it."""
    init(gantry, place)
    env = dict(KEPT)
    for line in (place / ".env.example").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            env[name] = value
    assert env["LLM_API_KEY"] == env["LLM_MODEL"] == ""
    env.update(LLM_BASE_URL=model.url, LLM_API_KEY=gantry.env()["LLM_API_KEY"], LLM_MODEL="test-model")
    model.reply("Hello")
    p = gantry.start("run", cwd=place, **env)
    p.send("hi")
    p.out.wait("Hello")
    p.finish()
    assert "personal assistant" in model.last.system
