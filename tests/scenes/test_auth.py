"""Signing in to servers behind a URL: pasted, renewed, refused, and never shown to anybody else."""

import json
import os
import re
import signal
import stat
import struct
import termios
import threading
import time

import pytest

from fakes.auth_server import ODD, AuthServer
from fakes.mcp_http import Far
from fakes.model import call
from fakes.telegram import ALLOWED
from harness.watch import wait_until

LINK = re.compile(r"^http://127\.0\.0\.1:\d+/authorize\S+$", re.M)
ASKED = "server far: %s; sign in with: gantry auth far"


@pytest.fixture
def auth(gantry, mcp):
    """auth("rotate", ...) starts an authorization server and the server "far" behind it; at the end
    nothing of its secrets may stand anywhere but in the one file that is for them."""
    open_ones = []

    def start(*tricks, name="far", server=(), **keys):
        a, far = AuthServer(*tricks).start(), Far(*server)
        far.guard = a.guard(far)
        a.far = far
        open_ones.extend([a, far])
        mcp.servers.append({"name": name, "url": far.url, **keys})
        mcp.write()
        return a
    yield start
    for x in open_ones:
        x.close()
    for a in open_ones[::2]:
        assert not a.violations, a.violations
        for s in a.secrets:
            for p in gantry.procs:
                assert s.encode() not in bytes(p.out.data) + bytes(p.err.data), (s, p.name)
            for f in gantry.data.rglob("*"):
                if f.is_file() and s.encode() in f.read_bytes():
                    assert f.parent.name == "auth" and f.suffix == ".json", (s, f)
                    assert stat.S_IMODE(f.stat().st_mode) == 0o600
                    assert stat.S_IMODE(f.parent.stat().st_mode) == 0o700


def sign_in(gantry, a, change=lambda address: address, code=0, **kw):
    """gantry auth far, and what comes of the address that a browser ends at."""
    p = gantry.start("auth", "far", **kw)
    p.out.wait(r"Paste that address here")
    p.send(change(a.browse(LINK.search(p.out.text)[0])))
    p.wait(20, code)
    return p


def use(gantry, code=0, **kw):
    return gantry.run("tools", "call", "far__echo", json.dumps({"text": "hi"}), code=code, **kw)


def state_of(gantry):
    files = list((gantry.data / "auth").glob("far-*.json"))
    assert len(files) <= 1
    return json.loads(files[0].read_text()) if files else {}


def test_a_pasted_address_signs_in_and_the_server_is_used(gantry, auth):
    a = auth("iss", "scope=read,write")
    r = gantry.run("tools", "list", code=1)
    assert ASKED % "it wants to know who you are" in r.err
    p = sign_in(gantry, a)
    assert "signed in to far" in p.out.text
    assert use(gantry).out == "hi\n"
    asked = a.of("/authorize")[0]
    assert asked["scope"] == "read write" and asked["resource"] == a.far.url
    assert "read write" in gantry.run("auth", "--status").out
    row, = json.loads(gantry.run("auth", "far", "--status", "--json").out)
    assert (row["state"], row["kind"], row["issuer"], row["renewable"]) == ("signed in", "code", a.url, True)


def test_nobody_has_to_be_refused_first(gantry, auth):
    a = auth()
    sign_in(gantry, a)
    assert use(gantry).out == "hi\n"


def test_a_code_alone_may_be_pasted_where_the_answer_names_nobody(gantry, auth):
    a = auth()
    sign_in(gantry, a, lambda address: re.search(r"code=([^&]+)", address)[1])
    assert use(gantry).out == "hi\n"


WRONG = {
    "state": ([], lambda x: re.sub(r"state=\w+", "state=" + "0" * 32, x), "belongs to another sign-in"),
    "issuer": (["iss=https://evil.example"], lambda x: x, "another authorization server"),
    "no issuer": (["iss"], lambda x: re.sub(r"&iss=[^&]+", "", x), "who sent that cannot be told"),
    "bare code": (["iss"], lambda x: re.search(r"code=([^&]+)", x)[1], "who sent that cannot be told"),
    "elsewhere": ([], lambda x: x.replace("127.0.0.1:33418", "evil.example"), "not the address you were sent to"),
    "refused": (["deny"], lambda x: x, "refused: access_denied"),
    "nothing": ([], lambda x: "", "there is no code in that"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_address_is_refused_before_anything_is_sent(gantry, auth, name):
    tricks, change, said = WRONG[name]
    a = auth(*tricks)
    p = sign_in(gantry, a, change, code=1)
    line, = [x for x in p.err.text.splitlines() if "gantry:" in x]
    assert said in line and "IGNORE" not in line
    assert not a.of("/token") and "access" not in state_of(gantry)


def test_the_link_can_be_taken_again_after_a_wrong_paste(gantry, auth):
    a = auth()
    sign_in(gantry, a, lambda x: re.sub(r"state=\w+", "state=0", x), code=1)
    sign_in(gantry, a)
    assert use(gantry).out == "hi\n"
    assert len(a.clients) == 1      # registered once


def test_a_code_that_was_used_up_needs_a_new_sign_in(gantry, auth):
    a = auth()
    p = sign_in(gantry, a, lambda x: (a.codes.clear(), x)[1], code=1)
    assert "invalid_grant" in p.err.text and "IGNORE" not in p.err.text
    assert "pending_state" not in state_of(gantry)


SAID = {"huge": "over", "redirect": "status 307", "created": "status 201", "another kind": "of a kind that nobody asked for",
        "no kind": "of a kind that nobody asked for", "words": "gives no token: status 400"}


def test_what_is_no_token_signs_nobody_in_and_is_one_line(gantry, auth):
    a = auth()
    for how in ODD:
        a.do["odd"] = how
        p = sign_in(gantry, a, code=1)
        line, = [x for x in p.err.text.splitlines() if "gantry:" in x]
        assert SAID.get(how, "sent no token") in line and len(line) < 300, how
        assert "IGNORE" not in line and "\x1b" not in line and "access" not in state_of(gantry), how
    del a.do["odd"]
    sign_in(gantry, a)
    assert use(gantry).out == "hi\n"


def test_what_is_no_token_takes_nothing_from_who_is_signed_in(gantry, auth):
    a, clock = auth("expires=3600"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    before = state_of(gantry)
    clock.set(3575)
    for how in ODD:
        a.do["odd"] = how
        began = time.monotonic()
        assert use(gantry, **clock.env).out == "hi\n", how
        assert state_of(gantry) == before, how
        clock.set(-int(time.monotonic() - began))       # it does not come any nearer to its end
    assert len(a.of("/token")) == 1 + len(ODD)      # not with each request of a call


def test_an_authorization_server_that_hangs_costs_a_call_nothing_while_the_token_lasts(gantry, auth):
    a, clock = auth("expires=3600"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    clock.set(3572)
    a.do["hold"] = None
    assert use(gantry, seconds=60, **clock.env).out == "hi\n"
    assert len(a.of("/token")) == 2


HOSTILE = {
    "resource": (["resource=https://evil.example/mcp"], "another resource"),
    "issuer": (["issuer=https://evil.example"], "another one"),
    "token endpoint": (["endpoint=http://evil.example/token"], "token_endpoint is not https"),
    "file": (["endpoint=file:///etc/passwd"], "token_endpoint"),
    "redirect": (["redirect"], "authorization server metadata"),
    "huge": (["big"], "answer over"),
    "no PKCE": (["no-pkce"], "PKCE"),
    "nobody registered": (["no-register"], "auth.client_id"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_metadata_that_cannot_be_trusted_ask_nobody_to_sign_in(gantry, auth, name):
    tricks, said = HOSTILE[name]
    a = auth(*tricks)
    r = gantry.run("auth", "far", code=1)
    assert r.out == "" and said in r.err and r.err.count("\n") == 1
    assert not a.of("/authorize") and not a.of("/token") and not a.of("/elsewhere")


def test_more_rights_are_asked_for_beside_those_that_are_there(gantry, auth):
    a = auth("scope=read", "step-up=echo:write")
    sign_in(gantry, a)
    assert ASKED % "it wants more rights than were granted" in use(gantry, code=1).out
    sign_in(gantry, a)
    assert a.of("/authorize")[-1]["scope"] == "read write"
    assert use(gantry).out == "hi\n"


# Renewal ------------------------------------------------------------------------------------


class Clock:
    """The clock of the test build, which a scene moves."""

    def __init__(self, gantry):
        self.path = gantry.dir / "clock"
        self.path.write_bytes(struct.pack("=qq", 0, 0))
        self.env = {"seam": True, "GANTRY_CLOCK": str(self.path)}

    def _add(self, both, wall):
        ms = struct.unpack("=qq", self.path.read_bytes())
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=qq", ms[0] + both * 1000, ms[1] + wall * 1000))

    def step(self, seconds):
        self._add(seconds, 0)

    def set(self, seconds):
        """The clock is set forward: a token is old, and no wait is over."""
        self._add(0, seconds)


def test_a_token_is_renewed_before_it_ends_and_a_new_refresh_token_takes_over(gantry, auth):
    a, clock = auth("expires=3600", "rotate"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    for n in range(3):
        assert use(gantry, **clock.env).out == "hi\n"
        assert len(a.tokens) == n + 1
        clock.step(3580)
    assert [f["grant_type"] for f in a.of("/token")] == ["authorization_code"] + ["refresh_token"] * 2


def test_many_calls_at_once_renew_once(gantry, model, auth):
    a, clock = auth("expires=3600", "rotate"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    model.reply(calls=[call("far__echo", text=str(i)) for i in range(6)])
    model.reply("done")
    d = gantry.daemon(**clock.env)
    d.err.wait('"msg":"mcp.connected"')
    clock.set(3590)
    d.send("go")
    d.out.wait("done")
    d.finish()
    assert model.last.results == [str(i) for i in range(6)]
    assert len(a.tokens) == 2


def test_a_token_that_is_dead_early_is_renewed_when_the_server_says_so(gantry, auth):
    a, clock = auth("rotate"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    clock.step(60)
    a.dead |= set(a.tokens)
    assert use(gantry, **clock.env).out == "hi\n"
    assert len(a.tokens) == 2


def test_a_refresh_that_is_refused_asks_in_one_line_and_a_new_sign_in_helps(gantry, auth):
    a, clock = auth("expires=60", "refuse-refresh"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    clock.step(120)
    r = use(gantry, code=1, **clock.env)
    assert ASKED % "the sign-in has ended" in r.err and "IGNORE" not in r.err
    refused = len(a.of("/token"))
    use(gantry, code=1, **clock.env)
    assert len(a.of("/token")) == refused       # it is not tried again and again
    sign_in(gantry, a, **clock.env)
    assert use(gantry, **clock.env).out == "hi\n"


def test_an_authorization_server_that_is_away_does_not_end_the_sign_in(gantry, auth):
    a, clock = auth("expires=60", "fail-refresh"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    clock.step(120)
    assert "status 503" in use(gantry, code=1, **clock.env).err
    del a.do["fail-refresh"]
    assert use(gantry, **clock.env).out == "hi\n"


def test_a_client_that_was_forgotten_there_is_registered_anew_by_the_next_sign_in(gantry, auth):
    a, clock = auth("expires=60", "forget"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    a.clients.clear()
    clock.step(120)
    assert ASKED % "the sign-in has ended" in use(gantry, code=1, **clock.env).err
    assert "client_id" not in state_of(gantry)
    sign_in(gantry, a, **clock.env)
    assert use(gantry, **clock.env).out == "hi\n" and len(a.clients) == 1


def test_a_refusal_right_after_the_sign_in_costs_no_refresh_token(gantry, auth):
    a, clock = auth("rotate"), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    a.dead |= set(a.tokens)
    assert ASKED % "it does not take a token that has just come" in use(gantry, code=1, **clock.env).err
    clock.step(60)
    assert use(gantry, **clock.env).out == "hi\n"
    assert a.of("/token")[-1]["grant_type"] == "refresh_token"


def test_goodbye_to_a_server_renews_nothing(gantry, model, auth):
    a, clock = auth("expires=3600", server=["session"]), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    model.reply("done")
    d = gantry.daemon(**clock.env)
    d.err.wait('"msg":"mcp.connected"')
    d.send("go")
    d.out.wait("done")
    a.do["hold"] = None
    clock.set(3590)
    d.finish()
    assert "DELETE" in a.far.methods()
    assert len(a.of("/token")) == 1


def test_goodbye_is_said_though_a_renewal_hung_at_the_stop(gantry, auth):
    """The one that is begun is not broken off, as it may have used up what it was begun with."""
    a, clock = auth("expires=3600", "rotate", server=["session"]), Clock(gantry)
    sign_in(gantry, a, **clock.env)
    d = gantry.daemon(**clock.env)
    a.far.wait(lambda: a.far.streams, "its own stream")
    a.do["hold"] = None
    clock.set(3590)
    a.far.streams[0].put(None)      # it is asked for again, with a token that ends soon
    a.board.wait(lambda: len(a.of("/token")) == 2, "a renewal")
    d.term()
    d.err.wait("stopping")
    assert "DELETE" not in a.far.methods()
    a.gate.set()
    d.wait(30, 0)
    assert "DELETE" in a.far.methods()
    assert use(gantry, **clock.env).out == "hi\n" and len(a.of("/token")) == 2


# By device ----------------------------------------------------------------------------------


def test_a_code_is_typed_on_another_device(gantry, auth):
    a = auth("pending=3", "slow", "scope=read")
    clock = Clock(gantry)
    p = gantry.start("auth", "far", "--device", **clock.env)
    p.out.wait(r"Open http://127\.0\.0\.1:\d+/type on any device, and type the code WDJB-MJHT")
    while a.polls < 4:
        n = a.polls

        def another():      # in small steps: the wait for the next one begins when the last answer was read
            clock.step(1)
            return a.polls > n or threading.Event().wait(0.05)
        wait_until(another, "another poll", 25)
    p.wait(20, 0)
    assert a.of("/device")[0]["resource"] == a.far.url
    assert use(gantry).out == "hi\n"


# Whose it is --------------------------------------------------------------------------------


def test_the_token_of_one_server_is_never_sent_to_another(gantry, auth):
    a = auth()
    b = auth(name="other")
    sign_in(gantry, a)
    gantry.run("tools", "list", code=1)         # the other one wants a sign-in of its own
    assert any(s in (r.headers.get("Authorization") or "") for r in a.far.requests for s in a.secrets)
    for r in b.far.requests:
        assert r.headers.get("Authorization") is None
    assert all(s not in json.dumps(b.requests) for s in a.secrets)


def test_an_entry_with_another_url_has_no_part_in_the_token(gantry, auth, mcp):
    a = auth()
    sign_in(gantry, a)
    b = Far()
    try:
        mcp.servers[0]["url"] = b.url
        mcp.write()
        assert use(gantry).out == "hi\n"
        assert all(r.headers.get("Authorization") is None for r in b.requests)
    finally:
        b.close()


def test_forgetting_leaves_nothing(gantry, auth):
    a = auth()
    sign_in(gantry, a)
    assert "forgot" in gantry.run("auth", "far", "--remove").out
    assert state_of(gantry) == {}
    assert ASKED % "it wants to know who you are" in use(gantry, code=1).err
    gantry.run("auth", "far", "--remove")       # twice is fine


def test_a_bearer_token_is_hidden_from_every_other_server(gantry, model, auth, mcp):
    secret = "Zq9vPlainBearer0123456789"
    a = auth(auth={"bearer_env": "FAR_TOKEN"})
    a.tokens[secret] = set()
    gantry.secrets.add(secret)
    mcp.add("near", tools=["env"], inherit_env=True)
    model.reply(calls=[call("near__env"), call("far__echo", text="hi")])
    model.reply("done")
    gantry.talk("go", FAR_TOKEN=secret)
    assert model.last.results[1] == "hi"
    assert secret not in model.last.results[0] and "PATH" in model.last.results[0]
    assert "nobody signs in" in gantry.run("auth", "far", code=1, FAR_TOKEN=secret).err


def test_a_variable_that_a_header_names_is_hidden_from_every_other_server(gantry, model, auth, mcp):
    secret = "Zq9vInAHeader0123456789"
    auth(headers={"X-Key": "Key ${env:FAR_KEY}"})
    gantry.secrets.add(secret)
    mcp.add("near", tools=["env"], inherit_env=True)
    model.reply(calls=[call("near__env")])
    model.reply("done")
    gantry.talk("go", FAR_KEY=secret)
    assert secret not in model.last.results[0] and "PATH" in model.last.results[0]


def test_a_bearer_token_from_a_file_may_be_exchanged(gantry, auth):
    path = gantry.dir / "token"
    a = auth(auth={"bearer_file": str(path)})
    a.tokens["first-token"], a.tokens["second-token"] = set(), set()
    path.write_text("first-token\n")
    assert use(gantry).out == "hi\n"
    a.dead.add("first-token")
    assert "does not take the token in " + str(path) in use(gantry, code=1).err
    path.write_text("second-token\n")
    assert use(gantry).out == "hi\n"


# Death --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["kill:rename:2", "kill:fsync:3"])
def test_death_between_token_and_file_leaves_a_whole_file_and_a_new_sign_in_works(gantry, auth, fault):
    a = auth()
    p = gantry.start("auth", "far", seam=True, GANTRY_FAULT=fault)
    p.out.wait(r"Paste that address here")
    p.expect_signal = signal.SIGKILL
    p.send(a.browse(LINK.search(p.out.text)[0]))
    p.wait(20, None)
    assert p.popen.returncode == -signal.SIGKILL and a.of("/token")
    assert "access" not in state_of(gantry)     # read as JSON: whole
    assert ASKED % "it wants to know who you are" in use(gantry, code=1).err
    sign_in(gantry, a)
    assert use(gantry).out == "hi\n"
    assert not [f for f in os.listdir(gantry.data / "auth") if not f.endswith((".json", ".lock"))]


# In the chat --------------------------------------------------------------------------------


def test_in_a_chat_the_address_is_sent_as_a_message_that_nobody_keeps(gantry, model, auth):
    a = auth("scope=read")
    d = gantry.daemon()
    d.send("/auth")
    d.out.wait("far: not signed in")
    d.send("/auth far")
    d.out.wait(r"Send me that address, whole")
    d.send(a.browse(LINK.search(d.out.text)[0]))
    d.out.wait("Signed in to far")
    d.send("/auth")
    d.out.wait("far: signed in, for read")
    d.send("/auth far remove")
    d.out.wait("Forgot how to sign in to far")
    d.send("/auth nowhere")
    d.out.wait('there is no tool server "nowhere"')
    d.finish()
    assert not model.requests                   # the model saw none of it


def test_of_two_sign_ins_under_way_each_takes_its_own_address(gantry, model, auth):
    a = auth()
    b = auth(name="other")
    d = gantry.daemon()
    d.send("/auth far")
    d.out.wait(r"Send me that address, whole")
    first = LINK.search(d.out.text)[0]
    d.send("/auth other")
    d.out.wait(r"Send me that address, whole")
    second = [x for x in LINK.findall(d.out.text) if x != first][0]
    address = b.browse(second)
    d.send(re.sub(r"state=\w+", "state=" + "0" * 32, address))
    d.out.wait("belongs to no sign-in that is under way")
    d.send(address)
    d.out.wait("Signed in to other")
    d.send(a.browse(first))
    d.out.wait("Signed in to far")
    d.finish()
    assert not model.requests
    assert [len(x.of("/token")) for x in (a, b)] == [1, 1]


def test_an_address_where_the_name_should_be_is_never_said_back(gantry, model, auth):
    a = auth()
    d = gantry.daemon()
    d.send("/auth http://127.0.0.1:33418/callback?code=" + a.secret("code"))
    d.out.wait("does not begin with the name of a tool server")
    d.send("/auth far")
    d.out.wait(r"Send me that address, whole")
    d.send("/auth " + a.browse(LINK.search(d.out.text)[0]))     # the fixture looks for the code everywhere
    d.out.wait("Signed in to far")
    d.finish()
    assert not model.requests


def test_a_late_address_is_refused_and_still_kept_from_the_model(gantry, model, auth):
    a, clock = auth(), Clock(gantry)
    d = gantry.daemon(**clock.env)
    d.send("/auth far")
    d.out.wait(r"Send me that address, whole")
    address = a.browse(LINK.search(d.out.text)[0])
    clock.step(3600)
    d.send(address)
    d.out.wait("no sign-in is under way")
    d.finish()
    assert not model.requests and not a.of("/token")


def test_the_history_of_the_chat_keeps_no_code(gantry, model, auth):
    a = auth()
    t = gantry.terminal()
    t.see(r">")
    t.keys("/auth far\r")
    t.see("Send me that address, whole")
    t.keys("/auth far wrong-code-0123456789\r")
    t.see("That did not work")
    t.keys("/quit\r")
    t.wait(20, 0)
    history = (gantry.data / "chat_history").read_text()
    assert "/auth far\n" in history and "wrong-code" not in history
    assert a.of("/token")



LOGIN = """#!/usr/bin/python3
import getpass, json, os, sys
if "ask" in sys.argv:
    print("got", len(getpass.getpass("password: ")), "letters", flush=True)
if "wait" in sys.argv:
    print("waiting", flush=True)
    sys.stdin.readline()
print("args", json.dumps(sys.argv[1:]))
print("env", json.dumps(dict(os.environ)))
print("cwd", os.getcwd())
for path in sys.argv[1:]:
    if path.startswith("/"):
        try:
            open(path, "w").close()
            print("wrote", path)
        except OSError as e:
            print("refused", path, e.errno)
sys.exit(int(os.environ.get("LOGIN_EXIT", "0")))
"""


@pytest.fixture
def login(gantry, mcp):
    """login(**keys): the manifest has a server that is a program, with these keys; the path of a
    command by which one could sign in to it."""
    path = gantry.dir / "login"
    path.write_text(LOGIN, encoding="utf-8")
    path.chmod(0o755)

    def write(**keys):
        mcp.servers[:] = [{"name": "near", "command": "/nowhere/server", **keys}]
        mcp.write()
        return str(path)
    return write


def said(text, word):
    return [x[len(word) + 1:] for x in text.splitlines() if x.startswith(word + " ")]


def test_a_server_that_is_a_program_is_signed_in_to_by_its_own_command(gantry, login):
    """Its auth_command, where and as the server is run, and of ours nothing that is secret."""
    login(auth_command=login(), env={"PLACE": "here"}, cwd=str(gantry.home), args=["--stdio"],
          auth_args=["login", "--at=$PLACE", "${HOME}/x y", "$NOT_THERE", "$LLM_API_KEY"])
    out = gantry.run("auth", "near", "--", "more", "--device").out
    assert json.loads(said(out, "args")[0]) == [
        "login", "--at=here", str(gantry.home) + "/x y", "", "", "more", "--device"]
    env = json.loads(said(out, "env")[0])
    assert env["PLACE"] == "here" and not [k for k in env if k.startswith(("LLM_", "GANTRY_", "TELEGRAM_"))]
    assert said(out, "cwd") == [str(gantry.home)]
    assert "ended well (exit 0)" in out


def test_arguments_alone_are_for_the_command_of_the_server(gantry, login):
    login(command=login(), args=["--stdio"], auth_args=["login"], inherit_env=False)
    out = gantry.run("auth", "near", SOME_VARIABLE="x").out
    assert json.loads(said(out, "args")[0]) == ["login"]
    assert "SOME_VARIABLE" not in json.loads(said(out, "env")[0])


def test_the_exit_code_of_such_a_command_is_told(gantry, login):
    login(auth_command=login(), env={"LOGIN_EXIT": "7"})
    assert "the command that signs in to near ended with exit 7" in gantry.run("auth", "near", code=1).err
    login(auth_command="/nowhere/login")
    assert "the command that signs in to near: " in gantry.run("auth", "near", code=1).err
    login()
    assert "or with an auth_command in its entry" in gantry.run("auth", "near", code=1).err
    login(auth_command="x")
    for option in ("--device", "--remove", "--status"):
        assert "for servers behind a URL" in gantry.run("auth", "near", option, code=1).err


def test_a_chat_says_where_such_a_command_is_run(gantry, login):
    login(auth_args=["login"])
    assert "signed in to at a terminal: gantry auth near" in gantry.talk("/auth near").out
    login()
    assert "it signs in by itself" in gantry.talk("/auth near").out


def test_such_a_command_has_the_terminal_and_leaves_it_as_it_was(gantry, login):
    login(auth_command=login(), auth_args=["ask"])
    t = gantry.terminal("auth", "near")
    t.out.wait(r"password: ")
    t.keys("secret words\r")
    t.out.wait(r"ended well")
    assert "got 12 letters" in t.out.text and "secret words" not in t.out.text
    t.wait(20, 0)
    t = gantry.terminal("auth", "near")
    t.out.wait(r"password: ")
    t.keys("\x03")        # while nothing is echoed
    t.wait(20, 1)
    assert t.mode[3] & termios.ECHO


def test_a_signal_ends_such_a_command(gantry, login):
    login(auth_command=login(), auth_args=["wait"])
    p = gantry.start("auth", "near")
    p.out.wait(r"waiting")
    p.popen.send_signal(signal.SIGINT)
    p.wait(20, 1)
    assert "ended with" in p.err.text and "args" not in p.out.text


def test_such_a_command_is_held_to_the_sandbox_of_the_server(gantry, login):
    work, inside, beside = gantry.dir / "work", gantry.dir / "work" / "token", gantry.data / "token"
    work.mkdir()
    login(auth_command=login(), auth_args=[str(inside), str(beside)],
          sandbox={"profile": "compat", "write": [str(work)]})
    out = gantry.run("auth", "near", GANTRY_AGENT_WORKSPACE=str(work)).out
    assert said(out, "wrote") == [str(inside)]
    assert len(said(out, "refused")) == 1 and not beside.exists()


def test_what_stands_behind_a_server_with_a_url_is_refused(gantry, auth):
    auth()
    assert "nothing may stand behind its name" in gantry.run("auth", "far", "--", "x", code=1).err


OTHER = 4711


def hanging(bot, auth):
    """The person's address was sent, and the authorization server says nothing to it."""
    a = auth("hold")
    bot.user(OTHER)
    bot.run(TELEGRAM_ALLOWED_USERS="%d,%d" % (ALLOWED, OTHER))
    bot.say("/auth far")
    bot.wait_text("Send me that address, whole")
    bot.say(a.browse(LINK.search("\n".join(bot.seen()))[0]))
    a.board.wait(lambda: a.of("/token"), "the request that hangs")
    return a


def test_while_a_server_hangs_at_a_sign_in_others_are_heard_and_stop_ends_it(bot, model, auth):
    a = hanging(bot, auth)
    model.reply("I hear you")
    bot.say("hi", OTHER, OTHER)
    bot.wait_text("I hear you", OTHER)
    bot.say("/status")
    bot.wait_text("uptime=")
    bot.say("/stop", OTHER, OTHER)              # not theirs
    bot.wait_text("^nothing is running", OTHER)
    bot.say("/stop")
    bot.wait_text("^stopping…$")
    bot.say("/auth")                            # comes after it
    bot.wait_text("^far: ")
    assert not [x for x in bot.seen() if "did not work" in x or "Signed in" in x]
    a.gate.set()


def test_commands_of_one_chat_wait_for_each_other_and_a_stop_drops_them_all(bot, model, auth):
    a = hanging(bot, auth)
    bot.say("/auth")
    bot.say("/auth", OTHER, OTHER)
    bot.wait_text("far: waiting for the address", OTHER)
    a.gate.set()
    bot.wait_text("Signed in to far")
    bot.wait_text("^far: signed in")
    a.gate.clear()
    bot.say("/auth far")
    bot.wait_text("Send me that address, whole", n=2)
    bot.say(a.browse(LINK.findall("\n".join(bot.seen()))[-1]))
    a.board.wait(lambda: len(a.of("/token")) == 2, "the request that hangs")
    bot.say("/auth nowhere")
    bot.say("/stop")
    bot.wait_text("^stopping…$")
    bot.say("/auth")
    bot.wait_text("^far: signed in", n=2)
    assert not [x for x in bot.seen() if "nowhere" in x and "there is no tool server" in x]


def test_a_daemon_that_ends_says_that_the_sign_in_did_not_work(gantry, bot, model, auth):
    a = hanging(bot, auth)
    bot.stop_gantry(gantry.procs[-1])
    bot.run(TELEGRAM_ALLOWED_USERS="%d,%d" % (ALLOWED, OTHER))
    bot.wait_text("That did not work: ")
    a.gate.set()


def test_at_a_terminal_an_interrupt_ends_the_command_and_not_the_chat(gantry, model, auth):
    a = auth("hold")
    t = gantry.terminal()
    t.see(r">")
    t.keys("/auth far\r")
    t.see("Send me that address, whole")
    t.keys("/auth far some-code\r")
    a.board.wait(lambda: a.of("/token"), "the request that hangs")
    t.keys("\x03")
    t.see(r"\(stopped\)")
    t.keys("/whoami\r")
    t.see("session: ")
    t.keys("/quit\r")
    t.wait(20, 0)
    a.gate.set()

