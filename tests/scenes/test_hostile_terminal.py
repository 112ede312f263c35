"""Careless fingers on a terminal: what was typed is seen, and nothing ends that was not ended."""


def test_lines_that_came_at_once_are_all_seen_with_their_prompts(gantry, model):
    model.answer(lambda request: "about " + request.user.split("\n")[0])
    t = gantry.terminal()
    t.see(r"^>")
    t.keys("one\rtwo\rthree\r")
    shown = t.see(r"about three\n>").text
    assert [line for line in shown.split("\n") if line.startswith("> ")][:3] == ["> one", "> two", "> three"]
    t.keys("\x04")
    t.wait(code=0)


def test_a_nul_as_the_first_key_ends_nothing(gantry, model):
    """Ctrl-Space.  Only what was typed while a turn ran may hold an end that became a NUL."""
    model.reply("still here")
    t = gantry.terminal()
    t.see(r"^>")
    t.keys("\0hello\r")
    t.see("still here")
    t.keys("\x04")
    t.wait(code=0)
