/*
 * Asking at a terminal.  What an answer means is the business of who asked.
 */
#include "cli/ask.h"

#include "config/value.h"
#include "os/tty.h"
#include "os/wait.h"
#include "text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096

static str tamed(const struct ask *q, str text)
{
	return q->tame ? q->tame(q->arg, q->a, text) : text;
}

static void put(const struct ask *q, const char *mark, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];

	(void)vsnprintf(line, sizeof line, fmt, ap);
	(void)printf("%s%s\n", mark, text_visible(q->a, tamed(q, str_of(line)), false).p);
	(void)fflush(stdout);
}

void ask_say(const struct ask *q, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(q, "", fmt, ap);
	va_end(ap);
}

void ask_note(const struct ask *q, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!q->automatic)
		put(q, "", fmt, ap);
	va_end(ap);
}

static bool goes_back(str answer)
{
	return str_ieq(answer, S("back")) || str_eq(answer, S("<"));
}

static int missed(struct ask *q, int rc, struct err *e)
{
	if (rc != E_NOENT)
		return rc;
	q->over = true;
	return err_set(e, E_CANCELED, "end of input");
}

int ask_line(struct ask *q, const char *label, str def, str *out, struct err *e)
{
	str prompt = def.n ? arena_fmt(q->a, "%s [%.*s]: ", label, STRF(def))
			   : arena_fmt(q->a, "%s: ", label);
	str answer;
	int rc;

	if (q->automatic) {
		*out = def;
		return OK;
	}
	rc = edit_line(q->edit, text_visible(q->a, tamed(q, prompt), true).p, q->a, &answer,
		       q->leave, e);
	if (rc < 0)
		return missed(q, rc, e);
	answer = str_trim(answer);
	if (goes_back(answer))
		return ASK_BACK;
	*out = answer.n ? answer : def;
	return OK;
}

int ask_secret(struct ask *q, const char *label, str *out, struct err *e)
{
	str prompt = arena_fmt(q->a, "%s (not shown): ", label);
	str answer;
	int rc;

	if (q->automatic)
		return err_set(e, E_INVAL, "%s: nobody is here to type it", label);
	rc = edit_secret(q->edit, prompt.p, q->a, &answer, q->leave, e);
	if (rc < 0)
		return missed(q, rc, e);
	answer = str_trim(answer);
	if (goes_back(answer))
		return ASK_BACK;
	*out = answer;
	return OK;
}

int ask_yes(struct ask *q, const char *label, bool def, bool *yes, struct err *e)
{
	str prompt = arena_fmt(q->a, "%s [%s]", label, def ? "Y/n" : "y/N");
	str answer;
	int rc;

	for (;;) {
		if ((rc = ask_line(q, prompt.p, S(""), &answer, e)) != OK)
			return rc;
		*yes = def;
		if (!answer.n || !value_bool(answer, yes))
			return OK;
		if ((rc = ask_again(q, e, "say yes or no (or back)")) < 0)
			return rc;
	}
}

int ask_again(const struct ask *q, struct err *e, const char *fmt, ...)
{
	va_list ap;
	char line[256];

	va_start(ap, fmt);
	if (q->automatic)
		(void)vsnprintf(line, sizeof line, fmt, ap);
	else
		put(q, "  ! ", fmt, ap);
	va_end(ap);
	return q->automatic ? err_set(e, E_INVAL, "%s", line) : OK;
}

bool ask_interrupted(const struct ask *q)
{
	bool pressed = !q->automatic && wait_fd(STDIN_FILENO, POLLIN, 1, NULL, NULL) == OK;

	if (pressed)
		tty_drop_input(STDIN_FILENO);
	return pressed;
}
