"""`gantry onboard`: a person at a terminal is led from nothing to an assistant that answers."""

import os
import re
import stat
import subprocess

import pytest

from fakes.model import Reply
from fakes.telegram import ALLOWED, TOKEN
from harness.fixtures import KEY, TREE
from harness.newcomer import Newcomer
from harness.tls import Front, certificate
from harness.watch import Gate

ROOT = os.getuid() == 0
AS_NOBODY = ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups", "--"]
# Name, address and variable of each preset: what people rely on, written down a second time.
PRESETS = [
    ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    ("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    ("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    ("ollama", "http://localhost:11434/v1", None),
    ("lmstudio", "http://localhost:1234/v1", None),
    ("llamacpp", "http://localhost:8080/v1", None),
]


@pytest.fixture
def newcomer(gantry):
    gantry.secrets.add(KEY)
    return Newcomer(gantry)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_newcomer_gets_an_assistant_that_answers(newcomer, model):
    n = newcomer.start()
    n.provider(model)
    n.see("It has 1 model")
    n.answer("Model").rest()
    n.see("gantry chat")
    n.end()
    text = n.config.read_text()
    assert KEY not in text and "api_key_file: secrets/custom-key" in text
    assert (n.dir / "secrets" / "custom-key").read_text() == KEY + "\n"
    assert KEY not in n.t.out.text
    r = n.gantry("config", "validate")
    assert r.out == "OK: %s\n" % n.config and not r.err
    model.reply("Hello, newcomer.")
    r = n.gantry("prompt", "hi")
    assert r.out == "Hello, newcomer.\n"
    assert "personal assistant" in model.last.system


def test_everything_written_is_for_its_owner_alone(newcomer, model):
    newcomer.start().provider(model).answer("Model").rest().end()
    for p in [newcomer.dir, *newcomer.dir.rglob("*"), newcomer.g.home / "gantry-workspace"]:
        assert mode(p) == (0o700 if p.is_dir() else 0o600), p


@pytest.mark.parametrize("name, url, variable", PRESETS, ids=[p[0] for p in PRESETS])
def test_each_preset_knows_its_address_and_the_name_of_its_key(newcomer, name, url, variable):
    key = {variable: KEY} if variable else {}
    newcomer.run("--yes", "--provider", name, "--model", "m-1", "--no-check", **key)
    r = newcomer.gantry("config", "show", **key)
    assert re.search(r"^ *base_url: \"?%s\"?( |$)" % re.escape(url), r.out, re.M), r.out
    assert re.search(r"^ *model: m-1\b", r.out, re.M)
    if variable:
        assert "<set:env:%s>" % variable in r.out
    else:
        assert re.search(r"^ *no_key: true", r.out, re.M)
    assert newcomer.gantry("config", "validate", **key).out.startswith("OK")


# --- the endpoint, and what is wrong with it --------------------------------------------------

def test_a_wrong_key_is_told_apart_and_another_one_taken(newcomer, model):
    n = newcomer.start()
    n.g.secrets.add("wrong-key-0123456789")
    n.provider(model, key="wrong-key-0123456789")
    n.see(r"! http://127.0.0.1:\d+/v1: the key was refused, HTTP 401 \(it says: Incorrect API key provided\)")
    n.answer("again, another key", "key").answer("API key", KEY)
    n.see("It has 1 model")
    n.answer("Model").rest().end()
    assert (n.dir / "secrets" / "custom-key").read_text() == KEY + "\n"


BAD_ENDPOINTS = {
    "web page": (Reply(body=b"<!doctype html><title>Login</title>", headers={"Content-Type": "text/html"}),
                 "it answers with a web page, not with a list of models"),
    "no list": (Reply(body={"models": "none"}), "its answer holds no list of models"),
    "no model": (Reply(body={"object": "list", "data": []}), "it answers, and has no model"),
    "null": (Reply(body={"object": "list", "data": None}), "it answers, and has no model"),
    "not JSON": (Reply(body=b"\x1b]0;owned\x07 hello"), "something that is no list of models"),
    "not here": (Reply(status=404, body={"error": "nope"}), r"no list of models at this address, HTTP 404 \(it says: nope\)"),
    "elsewhere": (Reply(status=301, body=b"", headers={"Location": "https://example.org/v1/models"}),
                  "sends us elsewhere, HTTP 301 to https://example.org/v1/models"),
    "trouble": (Reply(status=503, body=b"overloaded"), "has trouble of its own, HTTP 503"),
    "too many": (Reply(status=429, body={"error": {"message": "slow\x1b[2J down"}}),
                 r"takes no more requests now, HTTP 429 \(it says: slow\\x1b\[2J down\)"),
    "forbidden": (Reply(status=403, body={"error": {"message": "key %s is not allowed" % KEY}}),
                  r"the key was refused, HTTP 403 \(it says: key \[REDACTED\] is not allowed\)"),
    "odd names": (Reply(body={"data": [{"id": "a\x1b[31mb"}, {"id": "two words"}, {"id": "\u202eevil"}, {}, {"id": 7},
                                       {"id": "x" * 300}]}), "none of the names in its list is usable"),
    "too large": (Reply(body=b'{"data":[' + b'{"id":"m"},' * 900000 + b'{"id":"m"}]}'), "MiB|bytes|larger|limit"),
}


@pytest.mark.parametrize("name", BAD_ENDPOINTS)
def test_each_bad_answer_of_an_endpoint_has_a_sentence_of_its_own(newcomer, model, name):
    model.listing, sentence = BAD_ENDPOINTS[name]
    n = newcomer.start().provider(model)
    n.see("! http://127.0.0.1:[0-9]+/v1: [^\n]*(" + sentence + ")")
    # The person can go on all the same.
    n.answer("again, another key", "skip").answer("Model, as the endpoint", "test-model").rest().end()
    assert "\x1b]0;" not in n.t.out.text and "\x1b[31m" not in n.t.out.text
    assert "model: test-model" in n.config.read_text()


def test_an_endpoint_that_is_not_there_says_so_and_is_asked_again(newcomer, model):
    n = newcomer.start()
    n.answer("Provider", "8").answer("address", "http://127.0.0.1:1/v1")
    n.see("! http://127.0.0.1:1/v1: [^\n]*(onnect|refused)")
    n.see("is it running \\(ollama serve\\)")
    n.answer("again, another key", "what?")
    n.see("! say again, key, address or skip")
    n.answer("again, another key", "address").answer("address", model.url)
    n.see("! .*it wants a key, HTTP 401")        # the fake does, whatever the preset says
    n.answer("again, another key", "key").answer("API key", KEY)
    n.see("It has 1 model")
    n.answer("Model").rest().end()
    assert "no_key" not in n.config.read_text()
    model.reply("ok")
    assert n.gantry("prompt", "hi").out == "ok\n"


def test_a_certificate_nobody_vouches_for_is_told_apart(newcomer, model, tmp_path_factory):
    front = Front(model.url, *certificate(tmp_path_factory.mktemp("tls"), "ours", "IP:127.0.0.1"))
    try:
        r = newcomer.run("--yes", "--base-url", front.url, "--model", "test-model", code=1, LLM_API_KEY=KEY)
    finally:
        front.close()
    assert "certificate" in r.err and "name it in SSL_CERT_FILE" in r.err and "--no-check" in r.err
    newcomer.nothing_written()


def test_a_hung_endpoint_is_left_with_ctrl_c(newcomer, model):
    model.listing = Reply(gate=Gate())
    n = newcomer.start().provider(model)
    n.see("Asking http")
    model.board.wait(lambda: model.listed, "the request")
    n.t.keys("\x03")
    n.end(130)
    n.nothing_written()


def test_a_long_list_is_searched_by_part_of_a_name(newcomer, model):
    model.models = ["vendor-%d/model-%05d" % (i % 7, i) for i in range(20000)]
    n = newcomer.start().provider(model)
    n.see("It has 20000 models")
    n.see("and 19985 more")
    n.answer("Model", "MODEL-1234")
    n.see("vendor-1/model-12342")
    n.answer("Model", "model-01234")
    n.see("vendor-2/model-01234")
    n.answer("Model")                    # the only one found is now the default
    n.rest().end()
    assert "model: vendor-2/model-01234\n" in n.config.read_text()


def test_an_endpoint_that_says_the_key_back_does_not_show_it(newcomer, model):
    model.models = ["one", "models-of-" + KEY]
    n = newcomer.start().provider(model)
    n.see("models-of-[^\n]*REDACTED")
    n.answer("Model", "one").rest().end()
    assert KEY not in n.t.out.text


def test_a_model_that_is_not_listed_is_taken_only_when_insisted_on(newcomer, model):
    n = newcomer.start().provider(model)
    n.answer("Model", "secret-preview").answer("not in the list").answer("Model", "secret-preview")
    n.answer("not in the list", "y").rest().end()
    assert "model: secret-preview\n" in n.config.read_text()


def test_names_as_resources_and_bare_lists_are_understood(newcomer, model):
    model.listing = Reply(body=[{"name": "models/test-model"}, {"id": "other"}, "third"])
    n = newcomer.start().provider(model)
    n.see("It has 3 models")
    n.answer("Model", "test-model").rest().end()
    model.reply("ok")
    assert n.gantry("prompt", "hi").out == "ok\n"


# --- answering --------------------------------------------------------------------------------

def test_wrong_answers_are_asked_again_with_one_clear_line(newcomer, model):
    n = newcomer.start()
    n.answer("Provider", "99")
    n.see('! there is no provider "99"; say a number from 1 to 11')
    n.answer("Provider", "custom").answer("address", "ftp://x")
    n.see("! the address must [^\n]*, as in http://127.0.0.1:8080/v1")
    n.answer("address", "http://me:secret@127.0.0.1/v1")
    n.see("must not hold a name or password")
    n.answer("address", model.url + "/chat/completions")
    n.see("must end before /chat/completions")
    n.answer("address", model.url).answer("key\\?", "maybe")
    n.see("! say yes or no")
    n.answer("key\\?").answer("Variable", "sk-not-a-name")
    n.see("! a variable has letters")
    n.answer("Variable", "MY_KEY").answer("API key", "two words")
    n.see("! that has blanks")
    n.answer("API key", "")
    n.see("! nothing came")
    n.answer("API key", KEY).answer("Model").answer("Telegram\\?", "n")
    n.answer("Workspace", str(n.g.home / ".config"))
    n.see("! [^\n]*would hold gantry's own files")
    n.answer("Workspace", "/etc/passwd/below")
    n.see("! /etc/passwd/below is not a directory; choose another directory")
    n.answer("Workspace", "~/work").answer("Read and write").answer("Fetch").answer("Run commands", "y")
    n.answer("Remember", "n").answer("Reminders", "n").answer("Servers", "1 9")
    n.see('! there is no server "9"')
    n.answer("Servers", "fetch, 1").answer("Time zone", "Mars/Olympus")
    n.see('! there is no time zone "Mars/Olympus"')
    n.answer("Time zone", "Europe/Berlin").answer("Write this").end()
    text = n.config.read_text()
    for line in ("api_key_env: MY_KEY", "workspace: %s/work" % n.g.home, "profile: strict", "timezone: Europe/Berlin"):
        assert line in text, text
    assert "sk-not-a-name" not in text
    manifest = (n.dir / "mcp.toml").read_text()
    assert re.findall(r'^name    = "(\w+)"', manifest, re.M) == ["filesystem", "fetch"]
    assert "disabled = true # until uvx is installed" in manifest and "until npx" not in manifest


def test_each_question_can_be_gone_back_from(newcomer, model):
    n = newcomer.start()
    n.answer("Provider", "back")
    n.see("This is the first question")
    n.answer("Provider", "openai").answer("API key", "back").answer("Provider", "ollama").answer("address", model.url)
    n.see("it wants a key")
    n.answer("again, another key", "back")       # over the key, which a keyless endpoint has none of
    n.answer("Provider", "custom").answer("address", model.url).answer("key\\?").answer("Variable").answer("API key", KEY)
    n.answer("Model").answer("Telegram\\?", "n").answer("Workspace", "<").answer("Telegram\\?", "n").answer("Workspace")
    n.answer("Read and write").answer("Fetch", "back").answer("Workspace").answer("Read and write", "n").answer("Fetch")
    n.answer("Run commands").answer("Remember").answer("Reminders").answer("Servers").answer("Time zone")
    n.answer("Write this", "back").answer("Time zone", "UTC").answer("Write this").end()
    assert "timezone: UTC\n" in n.config.read_text()


QUESTIONS = [("Provider", "custom"), ("address", None), ("key\\?", ""), ("Variable", ""), ("API key", KEY), ("Model", ""),
             ("Telegram\\?", "n"), ("Workspace", ""), ("Read and write", ""), ("Fetch", ""), ("Run commands", ""),
             ("Remember", ""), ("Reminders", ""), ("Servers", ""), ("Time zone", ""), ("Write this", "")]


def test_answers_and_flags_are_the_defaults_when_asked_again(newcomer, model):
    n = newcomer.start("--tools", "exec").provider(model)
    n.answer("Model").answer("Telegram\\?", "n").answer("Workspace")
    n.answer(r"Read and write[^\n]*\[y/N\]", "y").answer("Fetch").answer(r"Run commands[^\n]*\[Y/n\]").answer("Remember", "back").answer("Workspace")
    n.answer(r"Read and write[^\n]*\[Y/n\]").answer("Fetch").answer("Run commands").answer("Remember").answer("Reminders")
    n.answer("Servers", "thinking").answer("Time zone", "back").answer(r"Servers[^\n]*\[thinking\]").answer("Time zone")
    n.answer("Write this").end()
    text = n.config.read_text()
    assert re.search(r"filesystem:\n    enabled: true", text) and re.search(r"exec:\n    enabled: true", text)
    assert 'name    = "thinking"' in (n.dir / "mcp.toml").read_text()


@pytest.mark.parametrize("stop, key, code", [(i, "\x04", 1) for i in range(len(QUESTIONS))] +
                         [(i, "\x03", 130) for i in (0, 4, 8, 15)])
def test_leaving_at_any_question_writes_nothing(newcomer, model, stop, key, code):
    n = newcomer.start()
    for question, text in QUESTIONS[:stop]:
        n.answer(question, model.url if text is None else text)
    n.see(QUESTIONS[stop][0] + r"[^\n]*: $")
    n.t.keys(key)
    n.see("Stopped; nothing was written")
    n.end(code)
    n.nothing_written()


def test_saying_no_at_the_end_writes_nothing(newcomer, model):
    n = newcomer.start().provider(model)
    n.answer("Model").answer("Telegram\\?", "n").answer("Workspace")
    for q in ("Read and write", "Fetch", "Run commands", "Remember", "Reminders", "Servers", "Time zone"):
        n.answer(q)
    n.answer("Write this", "n").end(1)
    n.nothing_written()


def test_a_window_that_changes_its_size_keeps_the_question_whole(newcomer, model):
    n = newcomer.start(cols=100)
    n.answer("Provider", "custom")
    n.see("address[^\n]*: $")
    n.t.keys("http://127.0.0.1:9/a-rather-long-path/that-does-not-fit")
    n.see("does-not-fit")
    n.t.resize(24, 40)
    n.t.see("(?s)Its address, up to /v1: http://127.0.0.1\n?:9/a-rather-long-path/that-does-not-fit")
    n.t.keys("\x15" + model.url + "\r")
    n.answer("key\\?")
    n.t.see(r"^EY\]: *$")
    n.t.keys("\r")
    n.see("API key[^\n]*: $")
    n.t.keys(KEY)
    n.t.resize(50, 180)
    n.t.keys("\r")
    n.answer("Model").rest().end()
    assert (n.dir / "secrets" / "custom-key").read_text() == KEY + "\n"


def test_a_key_is_not_shown_on_a_terminal_that_cannot_edit_either(newcomer, model):
    n = newcomer.start(TERM="dumb")
    n.provider(model)
    n.see("It has 1 model")
    n.answer("Model").rest().end()
    assert KEY not in n.t.out.text
    assert (n.dir / "secrets" / "custom-key").read_text() == KEY + "\n"


def test_a_key_of_the_environment_is_named_and_not_copied(newcomer, model):
    n = newcomer.start("--base-url", model.url, OPENAI_API_KEY=KEY)
    n.answer("Provider").answer("address").answer("OPENAI_API_KEY is set. Use it\\?")
    n.see("It has 1 model")
    n.answer("Model").rest().end()
    assert "api_key_env: OPENAI_API_KEY" in n.config.read_text() and not (n.dir / "secrets").exists()


OTHER = "another-key-0123456789"


def test_a_typed_key_wins_over_a_variable_that_was_declined(newcomer, model):
    newcomer.g.secrets.add(OTHER)
    model.key = KEY
    n = newcomer.start("--base-url", model.url, OPENAI_API_KEY=OTHER)
    n.answer("Provider").answer("address").answer("OPENAI_API_KEY is set. Use it\\?", "n").answer("API key", KEY)
    n.see("It has 1 model")
    n.answer("Model").rest().end()
    assert n.gantry("config", "show", OPENAI_API_KEY=OTHER).out.count("<set:file:%s/secrets/openai-key>" % n.dir) == 1
    model.reply("Hello.")
    assert n.gantry("prompt", "hi", OPENAI_API_KEY=OTHER).out == "Hello.\n"


def test_a_file_that_a_flag_names_wins_over_the_variable(newcomer, bot, model):
    newcomer.g.secrets.add(OTHER)
    model.key = KEY
    for name, text in (("key", KEY), ("token", TOKEN)):
        (newcomer.g.dir / name).write_text(text + "\n")
        (newcomer.g.dir / name).chmod(0o600)
    args = ["--yes", "--base-url", model.url, "--provider", "openai", "--key-file", newcomer.g.dir / "key", "--telegram-id", "111",
            "--telegram-api", bot.url, "--telegram-token-file", newcomer.g.dir / "token"]
    env = {"OPENAI_API_KEY": OTHER, "TELEGRAM_BOT_TOKEN": "123456:" + OTHER}
    r = newcomer.run(*args, code=1, GANTRY_OPENAI_API_KEY=OTHER, **env)
    assert "API key: the variable GANTRY_OPENAI_API_KEY is set to another one and wins over any file: unset it" in r.err
    newcomer.nothing_written()
    r = newcomer.run(*args, code=None, **env)
    assert r.out.startswith("This is @test_bot."), r.out
    shown = newcomer.gantry("config", "show", **env).out
    assert "<set:file:%s/key>" % newcomer.g.dir in shown and "<set:file:%s/token>" % newcomer.g.dir in shown
    model.reply("Hello.")
    assert newcomer.gantry("prompt", "hi", **env).out == "Hello.\n"


@pytest.mark.parametrize("flag, value", [("--telegram-token-env", TOKEN), ("--key-env", "gsk_" + "aB3dE5fG" * 6)])
def test_a_secret_in_the_place_of_a_name_is_refused_and_not_repeated(newcomer, flag, value):
    newcomer.g.secrets.add(value)
    args = ["--provider", "openai", "--model", "x", flag, value]
    r = newcomer.run("--yes", "--no-check", "--telegram-id", "111", *args, code=1, OPENAI_API_KEY=KEY)
    assert "gantry: onboard: %s: a variable has letters" % flag in r.err and r.err.count("\n") == 1
    n = newcomer.start(*args, OPENAI_API_KEY=KEY)
    n.see("onboard: %s: a variable has letters" % flag)
    n.end(1)
    assert value not in r.out + r.err + n.t.out.text
    newcomer.nothing_written()


def test_what_could_be_a_name_or_a_secret_is_not_repeated(newcomer):
    value = "deadbeef00112233"
    newcomer.g.secrets.add(value)
    r = newcomer.run("--yes", "--no-check", "--provider", "openai", "--model", "x", "--key-env", value, code=1)
    assert "API key: the variable that was named is not set" in r.err and value not in r.out + r.err
    newcomer.nothing_written()


# --- what is there already --------------------------------------------------------------------

def test_an_existing_configuration_is_kept(newcomer, model):
    newcomer.dir.mkdir(parents=True)
    newcomer.config.write_text("version: 1\nagent: {model: mine}\nopenai: {no_key: true, base_url: %s}\n" % model.url)
    n = newcomer.start()
    n.see("config.yaml exists already. It is not changed.")
    n.answer("keep it and stop").end()
    assert n.config.read_text().startswith("version: 1\nagent: {model: mine}")
    assert [p.name for p in n.dir.iterdir()] == ["config.yaml"]
    r = newcomer.run("--yes", "--provider", "ollama", "--model", "x", "--no-check", code=1)
    assert "exists already and is left as it is; say another place with --config FILE" in r.err


def test_a_new_configuration_goes_beside_and_replaces_nothing(newcomer, model):
    n = newcomer.start().provider(model)
    n.answer("Model").rest().end()
    before = {p: p.read_bytes() for p in n.dir.rglob("*") if p.is_file()}
    (n.dir / "persona" / "SOUL.md").write_text("# Mine\n")
    before[n.dir / "persona" / "SOUL.md"] = b"# Mine\n"
    n = newcomer.start()
    n.answer("keep it and stop", "beside")
    n.see("config-2.yaml; start it with --config")
    n.provider(model)
    n.answer("Model").answer("Telegram\\?", "n").answer("Workspace")
    for q in ("Read and write", "Fetch", "Run commands", "Remember", "Reminders"):
        n.answer(q)
    n.answer("Servers", "thinking").answer("Time zone").answer("Write this").end()
    assert {p: p.read_bytes() for p in before} == before
    text = (n.dir / "config-2.yaml").read_text()
    assert "api_key_file: secrets/custom-key-2\n" in text and "manifest: mcp-2.toml\n" in text
    assert "kept  %s/persona/SOUL.md" % n.dir in n.text
    assert n.gantry("--config", n.dir / "config-2.yaml", "config", "validate").out.startswith("OK")


def test_a_name_that_a_link_or_a_directory_has_is_taken(newcomer, model):
    newcomer.dir.mkdir(parents=True)
    (newcomer.dir / "mcp.toml").mkdir()
    os.symlink("/nonexistent", newcomer.dir / "mcp-2.toml")
    newcomer.run("--yes", "--provider", "ollama", "--model", "x", "--no-check", "--mcp", "filesystem", code=None)
    assert "manifest: mcp-3.toml" in newcomer.config.read_text()
    assert "filesystem" in (newcomer.dir / "mcp-3.toml").read_text()


def test_a_manifest_that_is_a_directory_is_not_kept(newcomer):
    (newcomer.dir / "mcp.toml").mkdir(parents=True)
    r = newcomer.run("--yes", "--provider", "ollama", "--model", "x", "--no-check", code=1)
    assert "mcp.toml: not a regular file" in r.err
    assert not newcomer.config.exists()


def test_a_failed_write_takes_back_what_was_written(newcomer, model):
    newcomer.dir.mkdir(parents=True)
    (newcomer.dir / "persona").write_text("a file where the directory should be\n")
    n = newcomer.start().provider(model)
    n.answer("Model").answer("Telegram\\?", "n").answer("Workspace")
    for q in ("Read and write", "Fetch", "Run commands", "Remember", "Reminders", "Servers", "Time zone"):
        n.answer(q)
    n.answer("Write this")
    n.see("! [^\n]*persona[^\n]*; nothing was written. Mend that, or go back.")
    n.see("Write this[^\n]*: $")
    assert [p.name for p in n.dir.rglob("*")] == ["persona"]
    assert not (n.g.home / "gantry-workspace").exists()
    (n.dir / "persona").unlink()
    n.t.keys("\r")
    n.see("wrote [^\n]*config.yaml")
    n.end()


@pytest.fixture
def nobody(gantry):
    """The same person without root's rights."""
    import shutil
    import tempfile
    root = tempfile.mkdtemp(prefix="gantry-onboard-")
    os.chmod(root, 0o755)
    gantry.__init__(root, gantry.model)
    gantry.secrets.add(KEY)
    if ROOT:
        subprocess.run(["chown", "-R", "65532:65532", root], check=True)
    yield Newcomer(gantry)
    gantry.stop()
    shutil.rmtree(root, ignore_errors=True)


def test_uid_65532_is_led_through_as_anybody_else(nobody, model):
    n = nobody.start(prefix=AS_NOBODY if ROOT else ())
    n.provider(model).answer("Model").rest().end()
    assert mode(n.config) == 0o600
    n.g.prefix = AS_NOBODY if ROOT else []
    model.reply("Hello")
    assert n.gantry("prompt", "hi").out == "Hello\n"


@pytest.mark.parametrize("home, sentence", [
    ("sealed", "cannot be written to: say another place with --config FILE"),
    (None, "HOME is not set: say where with --config FILE"),
    ("/dev/null", "cannot be written to: say another place with --config FILE")], ids=["unwritable", "unset", "no directory"])
def test_a_home_that_takes_nothing_is_said_before_the_first_question(nobody, home, sentence):
    if home == "sealed":
        home = str(nobody.g.home)
        os.chmod(home, 0o555)
    r = nobody.run("--yes", "--provider", "ollama", "--model", "x", "--no-check", code=1,
                   prefix=AS_NOBODY if ROOT else (), HOME=home)
    assert sentence in r.err and r.err.count("\n") == 1, r.err
    nobody.nothing_written()


# --- Telegram ---------------------------------------------------------------------------------

def to_telegram(n, bot, model, token=TOKEN):
    n.start("--telegram-api", bot.url).provider(model).answer("Model").answer("Telegram\\?")
    return n.answer("Bot token", token)


def finish(n):
    n.answer("Workspace")
    for q in ("Read and write", "Fetch", "Run commands", "Remember", "Reminders", "Servers", "Time zone"):
        n.answer(q)
    return n.answer("Write this").end()


def code_of(n):
    n.see("This is @test_bot")
    return n.see(r"https://t\.me/test_bot\?start=(\d{6}) and press Start,\nor send it this code: \1")[1]


def test_the_owner_is_who_sends_the_code_and_nobody_else(newcomer, bot, model):
    n = to_telegram(newcomer, bot, model)
    code = code_of(n)
    bot.user(999)
    bot.say("hello, is anybody there?", chat=999, user=999)
    n.see(r"\(U999, id 999, wrote without the code: not you\)")
    bot.say(code.translate(str.maketrans("0123456789", "1234567890")), chat=999, user=999)
    n.see(r"\(U999, id 999, wrote without the code: not you\)")
    group = bot.group()
    bot.say(code, chat=group, user=999)          # in a group everybody reads it
    bot.say("/start " + code)
    n.see("The code came from id 111, who is called: U111\n")
    n.answer(r"Is that you\?")
    finish(n)
    text = n.config.read_text()
    assert "allow_from: [111]" in text and TOKEN not in text and "channel: telegram" in text
    assert (n.dir / "secrets" / "telegram-token").read_text() == TOKEN + "\n"
    assert TOKEN not in n.t.out.text
    # The daemon that is started with it answers the owner, and never saw the code.
    model.reply("Good morning")
    p = n.g.start("run", env=n.env(), stdin=subprocess.DEVNULL)
    bot.say("good morning")
    bot.wait_text("Good morning")
    assert len(model.requests) == 1
    p.term()
    p.wait(30, 0)


def test_messages_that_wait_at_a_bot_in_use_are_not_taken_unasked(newcomer, bot, model):
    bot.say("for the other program")
    n = to_telegram(newcomer, bot, model)
    n.see("! 1 update waits at this bot")
    n.answer("Take it\\?").answer("numeric Telegram id", "111")
    finish(n)
    assert not bot.of("getUpdates")


def test_an_answer_that_names_no_bot_is_told(newcomer, bot, model):
    bot.fail("getMe", http=200, body=b'{"ok":true,"result":[[[]]]}', kind="application/json")
    n = to_telegram(newcomer, bot, model)
    n.see("! Telegram: the answer of getMe names no bot")


def test_an_update_of_the_last_number_there_is_ends_nothing(newcomer, bot, model):
    n = to_telegram(newcomer, bot, model)
    code = code_of(n)
    bot.next_update = 2**63 - 1
    bot.say(code)
    n.see("The code came from id 111")
    n.answer(r"Is that you\?")
    finish(n)


def test_a_name_made_of_control_characters_shows_as_what_it_is(newcomer, bot, model):
    n = to_telegram(newcomer, bot, model)
    code = code_of(n)
    bot.say(code, user={"id": ALLOWED, "is_bot": False, "first_name": "\x1b[2J\u202eevil\n  Is that you? [Y/n]:",
                        "last_name": "x" * 5000, "username": "a" * 32})
    n.see(r"The code came from id 111, who is called: \\x1b\[2J\\u202eevil Is that you[^\n]*\(@a{32}\)\n")
    n.answer(r"^Is that you\?")
    finish(n)
    assert "\x1b[2J" not in n.t.out.text.replace("\x1b[2J\x1b[H", "")
    assert "\u202e" not in n.t.out.text


def test_a_code_from_somebody_else_s_hand_is_refused_and_the_id_typed(newcomer, bot, model):
    n = to_telegram(newcomer, bot, model)
    bot.user(999)
    bot.say(code_of(n), chat=999, user=999)
    n.see("from id 999")
    n.answer(r"^Is that you\?", "n")
    n.answer("numeric Telegram id", "me")
    n.see("! --telegram-id: a person's id is a number above zero")
    n.answer("numeric Telegram id", "-5").see("! --telegram-id")
    n.answer("numeric Telegram id", "111")
    finish(n)
    assert "allow_from: [111]" in n.config.read_text()


def test_enter_ends_the_wait_for_the_code(newcomer, bot, model):
    n = to_telegram(newcomer, bot, model)
    code_of(n)
    bot.wait_calls("getUpdates")
    n.t.keys("\r")
    n.answer("numeric Telegram id", "none")
    finish(n)
    text = n.config.read_text()
    assert "channel: stdio" in text and "allow_from" not in text and not (n.dir / "secrets" / "telegram-token").exists()


def test_a_wrong_token_is_told_apart_and_another_one_taken(newcomer, bot, model):
    wrong = "123456789:AAwrong-T0ken_0123456789abcdefghijkl"
    newcomer.g.secrets.add(wrong)
    n = to_telegram(newcomer, bot, model, token=wrong)
    n.see("! Telegram does not know this token")
    n.answer("again, another token", "token").answer("Bot token", TOKEN)
    bot.say(code_of(n))
    n.answer(r"Is that you\?")
    finish(n)
    assert (n.dir / "secrets" / "telegram-token").read_text() == TOKEN + "\n"


def test_telegram_that_cannot_be_reached_can_be_left_out(newcomer, bot, model):
    n = newcomer.start("--telegram-api", "http://127.0.0.1:1").provider(model).answer("Model").answer("Telegram\\?")
    n.answer("Bot token", TOKEN)
    n.see("! Telegram: ")
    n.answer("again, another token", "none")
    finish(n)
    assert "enabled: false" in n.config.read_text()


def test_another_program_that_polls_is_named(newcomer, bot, model):
    bot.fail("getUpdates", error=(409, "Conflict: terminated by other getUpdates request; make sure that only one "
                                       "bot instance is running"))
    n = to_telegram(newcomer, bot, model)
    n.see("! another program polls this bot: stop it first")
    n.answer("numeric Telegram id", "111")
    finish(n)


@pytest.mark.parametrize("where, key, code", [("Telegram\\?", "\x04", 1), ("Bot token", "\x04", 1), ("Bot token", "\x03", 130),
                                              ("Is that you", "\x04", 1), ("numeric Telegram id", "\x04", 1)])
def test_leaving_telegram_s_questions_writes_nothing(newcomer, bot, model, where, key, code):
    n = newcomer.start("--telegram-api", bot.url).provider(model).answer("Model")
    if where != "Telegram\\?":
        n.answer("Telegram\\?")
    if where in ("Is that you", "numeric Telegram id"):
        n.answer("Bot token", TOKEN)
        number = code_of(n)
        if where == "Is that you":
            bot.say(number)
        else:
            bot.wait_calls("getUpdates")
            n.t.keys("\r")
    n.see(where + r"[^\n]*: $")
    n.t.keys(key)
    n.end(code)
    n.nothing_written()


def test_ctrl_c_ends_the_wait_for_the_code_and_all_of_it(newcomer, bot, model):
    n = to_telegram(newcomer, bot, model)
    code_of(n)
    bot.wait_calls("getUpdates")
    n.t.keys("\x03")
    n.end(130)
    n.nothing_written()


# --- without questions ------------------------------------------------------------------------

def test_flags_alone_make_a_telegram_deployment(newcomer, bot, model):
    (newcomer.g.dir / "key").write_text(KEY + "\n")
    os.chmod(newcomer.g.dir / "key", 0o600)
    r = newcomer.run("--yes", "--base-url", model.url, "--key-file", newcomer.g.dir / "key", "--telegram-id", "111",
                     "--telegram-api", bot.url, "--tools", "files,exec", "--mcp", "filesystem", "--zone", "UTC",
                     "--workspace", "work", TELEGRAM_BOT_TOKEN=TOKEN)
    assert "This is @test_bot." in r.out
    text = newcomer.config.read_text()
    assert "api_key_file: %s/key" % newcomer.g.dir in text and "workspace: %s/work" % newcomer.g.home in text
    assert "model: test-model\n" in text         # the only one there is
    assert re.search(r"filesystem:\n    enabled: true", text) and re.search(r"web_fetch:\n    enabled: false", text)
    assert newcomer.gantry("config", "validate", TELEGRAM_BOT_TOKEN=TOKEN).out.startswith("OK")


@pytest.mark.parametrize("args, env, sentence", [
    (["--provider", "nimbus"], {}, 'there is no provider "nimbus"'),
    (["--provider", "openai"], {}, "API key: set the variable OPENAI_API_KEY, or name a file"),
    (["--provider", "ollama", "--no-check"], {}, "--model: a model's name is one word"),
    (["--provider", "ollama", "--model", "x", "--no-check", "--tools", "files,rockets"], {}, "--tools: there is no rockets"),
    (["--provider", "ollama", "--model", "x", "--no-check", "--mcp", "rockets"], {}, 'there is no server "rockets"'),
    (["--provider", "ollama", "--model", "x", "--no-check", "--zone", "Mars"], {}, 'there is no time zone "Mars"'),
    (["--provider", "ollama", "--model", "x", "--no-check", "--telegram-id", "me"], {"TELEGRAM_BOT_TOKEN": TOKEN},
     "--telegram-id: a person's id is a number"),
    (["--provider", "ollama", "--model", "x", "--no-check", "--workspace", ".config/gantry"], {}, "gantry's own files"),
    (["--provider", "openai", "--model", "x", "--no-check", "--key-file", "/nonexistent"], {}, "API key: /nonexistent"),
    (["--provider", "openai", "--model", "x", "--no-check", "--key-env", KEY], {}, "a variable has letters"),
], ids=lambda v: " ".join(v[-2:])[:40] if isinstance(v, list) else "")
def test_what_flags_cannot_mean_is_one_line_and_nothing_is_written(newcomer, args, env, sentence):
    r = newcomer.run("--yes", *args, code=1, **env)
    assert r.err.startswith("gantry: onboard: ") and sentence in r.err and r.err.count("\n") == 1, r.err
    newcomer.nothing_written()


def test_an_endpoint_that_does_not_run_comes_with_its_hint(newcomer):
    r = newcomer.run("--yes", "--provider", "ollama", "--base-url", "http://127.0.0.1:1/v1", "--model", "x", code=1)
    assert "is it running (ollama serve)" in r.err and r.err.count("\n") == 1, r.err


def test_a_configuration_in_the_home_directory_works_with_the_defaults(newcomer):
    home = newcomer.g.home
    r = newcomer.run("--config", "other.yaml", "--yes", "--provider", "ollama", "--model", "x", "--no-check", code=None)
    assert "workspace: %s/gantry-workspace" % home in (home / "other.yaml").read_text()
    assert not r.out.startswith("\n") and "gantry --config %s/other.yaml chat" % home in r.out
    r = newcomer.run("--config", "third.yaml", "--yes", "--provider", "ollama", "--model", "x", "--no-check",
                     "--workspace", ".local/share/gantry/work", code=1)
    assert "lies inside a directory of gantry's own files" in r.err


def test_the_command_that_is_suggested_starts_this_configuration(newcomer):
    (newcomer.g.home / "mtclaw.yaml").write_text("version: 1\n")
    r = newcomer.run("--yes", "--provider", "ollama", "--model", "x", "--no-check", code=None,
                     MTCLAW_CONFIG=newcomer.g.home / "mtclaw.yaml")
    assert "  gantry --config %s chat" % newcomer.config in r.out, r.out


@pytest.mark.parametrize("words", [["run"], ["chat"], ["prompt", "hi"], []])
def test_without_any_configuration_the_last_line_names_this(newcomer, words):
    r = newcomer.gantry(*words, code=1)
    assert "LLM_MODEL: must be set" in r.err and r.err.endswith("\ngantry: gantry onboard sets this up\n")
    r = newcomer.gantry(*words, code=1, LLM_MODEL="x")      # somebody sets it up by variables, and is not done
    assert "LLM_BASE_URL: must be set" in r.err and "onboard" not in r.err


def test_doctor_without_any_configuration_names_this_and_hides_no_advice(newcomer):
    r = newcomer.gantry("doctor", code=1)
    assert "set LLM_NO_KEY to true" in r.out and r.out.endswith("gantry onboard sets this up\n")


def test_help_begins_with_this(newcomer):
    names = re.findall(r"^  (\w+) ", newcomer.gantry("--help").out, re.M)
    readme = re.findall(r"`gantry (\w+)", (TREE / "README.md").read_text().split("| --- | --- |", 1)[1])
    assert names[:4] == ["onboard", "chat", "run", "import"]
    first = [n for i, n in enumerate(readme) if n in names and n not in readme[:i]]
    assert [n for n in names if n in first] == first


def test_without_a_terminal_it_says_how_to_go_on(newcomer):
    r = newcomer.run(code=2)
    assert "this is no terminal: say --yes and flags" in r.err
    newcomer.nothing_written()


def test_among_several_models_a_flag_has_to_choose(newcomer, model):
    model.models = ["a-model", "test-model"]
    r = newcomer.run("--yes", "--base-url", model.url, code=1, LLM_API_KEY=KEY)
    assert "--model: say which one; the endpoint has 2, such as a-model" in r.err
    r = newcomer.run("--yes", "--base-url", model.url, "--model", "b", code=1, LLM_API_KEY=KEY)
    assert "the endpoint has no model b; --no-check takes it all the same" in r.err
    newcomer.nothing_written()
