/*
 * The question whether a tool may run.  Pure.
 */
#include "chan/question.h"

#include "base/buf.h"
#include "text/text.h"

#define INDENT S("    ")

str question_text(struct arena *a, const struct approval_ask *ask)
{
	str tool = text_visible(a, ask->tool, true);
	str reason = text_visible(a, ask->reason, true);
	str rest = text_visible(a, ask->display, false);
	struct buf b = buf_in(a, 1024 + tool.n + reason.n + rest.n * (INDENT.n + 1));

	buf_add(&b, S("\nThe agent wants to run "));
	buf_add(&b, tool);
	buf_addc(&b, '\n');
	while (rest.n) {
		buf_add(&b, INDENT);
		buf_add(&b, str_cut(&rest, '\n'));
		buf_addc(&b, '\n');
	}
	if (reason.n)
		buf_fmt(&b, "Why you are asked: %.*s\n", STRF(reason));
	buf_add(&b, S("Allow it"));
	if (ask->timeout_ms > 0)
		buf_fmt(&b, " (no answer within %lld s is a no)",
			(long long)((ask->timeout_ms + 999) / 1000));
	buf_add(&b, S("? [y/N] "));
	return buf_str(&b);
}

bool question_yes(str answer)
{
	answer = str_trim(answer);
	return str_ieq(answer, S("y")) || str_ieq(answer, S("yes"));
}
