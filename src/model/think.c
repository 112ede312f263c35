/*
 * Showing an answer while it is written, without its reasoning.
 */
#include "model/think.h"

#include "text/text.h"

#include <string.h>

/* Could s become a tag that opens or closes a reasoning block when more of it comes? */
static bool may_become_tag(str s)
{
	static const char *const tags[] = { "<think>",     "</think>",    "<thinking>",
					    "</thinking>", "<thought>",   "</thought>",
					    "<reasoning>", "</reasoning>" };

	for (size_t i = 0; i < COUNT(tags); i++) {
		str tag = str_of(tags[i]);
		if (s.n < tag.n && str_ieq(s, str_sub(tag, 0, s.n)))
			return true;
	}
	return false;
}

/* Nothing but closed blocks: what comes next is the answer. */
static bool closed(str s)
{
	static const char *const tags[] = { "</think>", "</thinking>", "</thought>",
					    "</reasoning>" };

	for (size_t i = 0; i < COUNT(tags); i++) {
		str tag = str_of(tags[i]);
		if (s.n >= tag.n && str_ieq(str_sub(s, s.n - tag.n, s.n), tag))
			return true;
	}
	return false;
}

str think_answer(str content, str *reasoning)
{
	return str_trim(text_strip_think(content, reasoning));
}

static void settle(struct think *t, str content, bool end)
{
	str reasoning, rest;

	/* Inside an open block only a '>' can change anything. */
	if (!end && t->scanned && !memchr(content.p + t->scanned, '>', content.n - t->scanned))
		return;
	rest = think_answer(content, &reasoning);
	if (rest.n == 0) {
		str all = str_trim(content);
		t->scanned = closed(all) || may_become_tag(all) ? 0 : content.n;
	} else if (end || !may_become_tag(rest)) {
		t->settled = true;
		t->from = (size_t)(rest.p - content.p);
	}
}

str think_more(struct think *t, str content, bool end)
{
	str visible, piece;

	if (!t->settled && content.n)
		settle(t, content, end);
	if (!t->settled)
		return (str){ 0 };
	visible = str_trim(str_sub(content, t->from, content.n));
	piece = str_sub(visible, t->shown, visible.n);
	t->shown = visible.n;
	return piece;
}
