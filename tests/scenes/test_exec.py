"""exec: whatever a command does, the call ends with an honest result."""

import json
import re

import pytest

from fakes.model import call
from harness.process import wait_gone
from harness.watch import wait_files


@pytest.fixture(params=["off", "strict"])
def shell(request, gantry):
    """Run a script as the one command that is allowed; its result as `gantry tools call` prints it."""
    work = gantry.dir / "work"
    work.mkdir()
    gantry.set(TOOLS="exec", GANTRY_AGENT_WORKSPACE=work, GANTRY_TOOLS_EXEC_ALLOW=r"^bash run\.sh$",
               GANTRY_TOOLS_EXEC_SANDBOX_PROFILE=request.param)

    def run(script, code=0, seconds=60, cwd=None, **env):
        (work / "run.sh").write_text(script)
        args = {"command": "bash run.sh"}
        if cwd is not None:
            args["cwd"] = cwd
        return gantry.run("tools", "call", "exec", json.dumps(args), code=code, seconds=seconds, **env).out

    run.work, run.profile = work, request.param
    return run


def body(out):
    """What the command itself said."""
    return re.sub(r"\A(?:exit_code: .*\n|duration_ms: .*\n|status: .*\n|\[output truncated .*\]\n)*", "", out).strip()


def test_an_exit_code_is_a_result_and_no_error(shell):
    out = shell("echo out; echo err >&2; exit 3")
    assert re.match(r"exit_code: 3\nduration_ms: \d+\nout\nerr\n", out)


def test_a_signal_is_said(shell):
    assert re.match(r"exit_code: 137\nduration_ms: \d+\nstatus: killed by signal 9\n", shell("kill -9 $$"))


HANGS = {
    "background child": "sleep 300 & echo started",
    "ignores TERM": "(trap '' TERM; sleep 300) & echo started; wait",
    "pipe": "echo started; tail -f /dev/null | cat",
    "another session": "setsid sleep 300 & echo started",
    "sleeps": "echo started; sleep 300",
}


@pytest.mark.parametrize("name", HANGS)
def test_nothing_makes_the_call_hang(shell, name):
    out = shell(HANGS[name], code=None, seconds=30, GANTRY_TOOLS_EXEC_TIMEOUT="2s")
    assert body(out) == "started"
    if "&" in HANGS[name] and "wait" not in HANGS[name]:
        assert out.startswith("exit_code: 0") and "left in the background were ended" in out
    else:
        assert out.startswith("exit_code: -1") and "status: killed after exceeding tools.exec.timeout" in out


@pytest.mark.parametrize("script, said", [
    ("read x; echo got:$x", "got:"), ("cat; echo end", "end"), ("exec 3</dev/tty && read y <&3", None),
    ("test -t 0 || test -t 1 || test -t 2 || echo none", "none"), ("ps -o tty= $$ | tr -d ' '", "?")])
def test_there_is_no_input_and_no_terminal(shell, script, said):
    out = body(shell(script, seconds=30))
    assert out == said if said else "/dev/tty" in out


@pytest.mark.parametrize("script, last", [
    ("yes あ | head -c 20000000; echo the end", "the end"), ("seq 1 2000000", "2000000"),
    ("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the error >&2", "the error"),
    ("(seq 1 300000 >&2) & seq 1 300000; wait; echo both", "both")])
def test_a_flood_is_kept_within_its_bound(shell, script, last):
    out = shell(script, GANTRY_TOOLS_EXEC_MAX_OUTPUT_BYTES="10000")
    said = body(out)
    assert "[output truncated to 10000 bytes]" in out and re.search(r"\n\[\.\.\. \d+ bytes left out \.\.\.\]\n", said)
    assert said.endswith(last) and 9000 < len(said.encode()) <= 10000 and "\ufffd" not in said


def test_the_memory_of_the_program_stays_bounded(gantry, shell):
    (shell.work / "run.sh").write_text("yes あ | head -c 200000000")
    p = gantry.start("tools", "call", "exec", '{"command": "bash run.sh"}')
    peak = 0
    while p.popen.poll() is None:
        try:
            with open("/proc/%d/status" % p.pid) as f:
                peak = max(peak, int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)))
        except (OSError, AttributeError):
            break
    p.wait(60)
    assert 0 < peak < 80_000, "KiB"


def test_control_characters_are_harmless(shell):
    out = shell(r"printf '\033[2J\033]0;title\007\r\nline\r\nrest\b\n'")
    assert "\x1b" not in out and "\x07" not in out and "\\x1b[2J" in out and "\nline\nrest\\x08" in out


def test_the_environment_is_ours_without_our_secrets(gantry, shell):
    token = "123456789:AAExampleExampleExampleExample_tok-en"
    gantry.secrets.add(token)
    out = shell("env; printenv", TELEGRAM_BOT_TOKEN=token, MY_OWN="kept", COPY_OF_KEY=gantry.env()["LLM_API_KEY"],
                TZ="Europe/Berlin", LLM_MODEL="test-model", OPENAI_API_KEY="sk-of-another-program-123456")
    assert "MY_OWN=kept" in out and "TZ=Europe/Berlin" in out and "LANG=" in out and "HOME=" in out and "PATH=" in out
    for name in ("TELEGRAM", "LLM_", "GANTRY_", "DATA_DIR", "COPY_OF_KEY", "LOG_LEVEL"):
        assert not re.search("^" + name, out, re.M), name


def test_no_descriptor_is_inherited(gantry, shell):
    secret = gantry.dir / "secret"
    secret.write_text("open before the start")
    script = "for f in 3 4 5 6 7 8 9; do cat <&$f && echo leaked; done 2>/dev/null; ls /proc/self/fd | tr '\\n' ' '"
    gantry.prefix = ["bash", "-c", 'exec 7<"$0"; exec "$@"', str(secret)]
    assert "open before" not in shell(script) and "leaked" not in shell(script)


@pytest.mark.parametrize("cwd, below", [("sub", "sub"), (".", ""), ("", ""), ("sub/..", "")])
def test_a_command_can_start_below_the_working_directory(shell, cwd, below):
    sub = shell.work / "sub"
    sub.mkdir()
    (sub / "run.sh").write_text("pwd")
    assert body(shell("pwd -P", cwd=cwd)) == str((shell.work / below).resolve())


@pytest.mark.parametrize("cwd, below", [("~/work", ""), ("~/work/sub", "sub"), ("~/work/sub/../sub/.", "sub"), ("sub", "sub"),
                                        ("~", None), ("~/other", None), ("~/work/..", None), ("~/work/../other", None),
                                        ("~user/work", None), ("../other", None), ("~/work/none", None)])
def test_a_directory_may_be_named_from_home(gantry, shell, cwd, below):
    """Where home holds the working directory; a redirection is judged from the same place."""
    work = gantry.home / "work"
    (work / "sub").mkdir(parents=True)
    (gantry.home / "other").mkdir()
    for d in (work, work / "sub", gantry.home, gantry.home / "other"):
        (d / "run.sh").write_text("pwd -P")
    out = gantry.run("tools", "call", "exec", json.dumps({"command": "bash run.sh >out; cat out", "cwd": cwd}),
                     code=0 if below is not None else 1, GANTRY_AGENT_WORKSPACE=work,
                     GANTRY_TOOLS_EXEC_ALLOW=r"^bash run\.sh$,^cat out$").out
    if below is not None:
        assert body(out) == str((work / below).resolve()) and (work / below / "out").exists()
    else:
        assert "exit_code" not in out and not list(gantry.home.rglob("out"))


@pytest.mark.parametrize("cwd", ["..", "/", "~", "~/sub", "sub/../..", "link", "file", "missing"])
def test_and_nowhere_else(gantry, shell, cwd):
    (shell.work / "sub").mkdir()
    (shell.work / "link").symlink_to(gantry.dir)
    (shell.work / "file").write_text("")
    out = shell("pwd", cwd=cwd, code=1)
    assert "error: cwd" in out and "exit_code" not in out


@pytest.mark.parametrize("args, why", [({"command": " \n"}, "must not be empty"), ({}, "must not be empty"),
                                       ({"command": "a\0b"}, "NUL")])
def test_what_is_no_command_is_an_error_result(gantry, shell, args, why):
    gantry.set(GANTRY_TOOLS_EXEC_ALLOW=".*")
    out = gantry.run("tools", "call", "exec", json.dumps(args), code=1).out
    assert why in out or "refused" in out or "denied" in out.lower()


def test_a_shell_that_is_not_there_is_said(shell):
    out = shell("true", code=1, GANTRY_TOOLS_EXEC_SHELL="/no/such/shell,-c")
    assert "failed to run" in out and "no such program" in out and "exit_code" not in out


def test_another_shell_can_be_configured(shell):
    assert body(shell("readlink /proc/$PPID/exe", GANTRY_TOOLS_EXEC_SHELL="/bin/dash,-c")).endswith(("dash", "bash"))


def test_a_failed_command_has_its_exit_code_in_the_audit_row(gantry, model, shell):
    (shell.work / "run.sh").write_text("exit 7")
    model.reply(calls=[call("exec", command="bash run.sh")])
    model.reply("done")
    assert gantry.talk("go").out == "done\n"
    (row,) = gantry.sql("select * from tool_calls")
    assert row["exit_code"] == 7 and "exit_code: 7" in model.last.results[0]


def test_stop_ends_a_command_and_all_of_it(gantry, model, shell):
    (shell.work / "run.sh").write_text("setsid sleep 302 & echo $! >pid; sleep 302; echo survived >marker")
    model.reply(calls=[call("exec", command="bash run.sh")])
    model.reply("and on")
    d = gantry.daemon()
    d.send("go")
    wait_files(shell.work, lambda: (shell.work / "pid").exists() and (shell.work / "pid").read_text().strip(), "the command", 30)
    pid = int((shell.work / "pid").read_text())
    d.send("/stop")
    assert wait_gone(pid, 5)
    d.send("next")
    d.out.wait("and on")
    d.finish()
    assert not (shell.work / "marker").exists()


@pytest.mark.parametrize("settings", [{}, {"TOOLS": "exec", "GANTRY_TOOLS_EXEC_MODE": "off"}])
def test_without_the_setting_there_is_no_exec(gantry, model, settings):
    model.reply("none")
    gantry.talk("go", **settings)
    assert "exec" not in model.last.tools
