/*
 * Recognising the few words that mean something to us: slash commands, a reply that asks
 * for silence, and reasoning printed before an answer.
 */
#include "text/text.h"

#include "base/ascii.h"
/* --- slash commands ----------------------------------------------------------------- */

static bool space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool text_slash(struct arena *a, str message, str bot, str *word, str *args)
{
	str s = str_trim(message), name, to;
	size_t i = 1, end;

	if (!str_starts(s, S("/")))
		return false;
	for (end = 1; end < s.n && !space(s.p[end]);)
		end++;
	while (i < end && ascii_word(s.p[i]))
		i++;
	name = str_sub(s, 1, i);
	to = str_sub(s, i, end);
	if (name.n == 0)
		return false;
	if (to.n && (to.p[0] != '@' || to.n == 1))
		return false;
	if (to.n && bot.n && !str_ieq(str_sub(to, 1, to.n), bot))
		return false;
	*word = arena_lower(a, name);
	*args = str_trim(str_sub(s, end, s.n));
	return true;
}

/* --- silence ------------------------------------------------------------------------ */

bool text_silent(str reply)
{
	str s = str_trim(reply), rest = s;

	return str_eq(s, S("NO_REPLY")) ||
	       str_ieq(str_trim(str_cut(&rest, '\n')), S("[silent]"));
}

bool text_silent_so_far(str begun)
{
	str s = str_trim(begun), word = S("[silent]");

	return text_silent(begun) || str_starts(S("NO_REPLY"), s) ||
	       (s.n < word.n && str_ieq(s, str_sub(word, 0, s.n)));
}

/* --- reasoning ---------------------------------------------------------------------- */

static const str tags[] = {
	{ "think", 5 }, { "thinking", 8 }, { "thought", 7 }, { "reasoning", 9 }
};

static str trim_left(str s)
{
	str t = str_trim(s);

	return t.n ? str_sub(s, (size_t)(t.p - s.p), s.n) : t;
}

/* "<name>" or "</name>" at the start of s: its length, else 0. */
static size_t tag_at(str s, bool closing, str name)
{
	size_t lead = closing ? 2 : 1;

	if (!str_starts(s, closing ? S("</") : S("<")))
		return 0;
	if (!str_ieq(str_sub(s, lead, lead + name.n), name))
		return 0;
	return lead + name.n < s.n && s.p[lead + name.n] == '>' ? lead + name.n + 1 : 0;
}

/* Take one leading block, or stray closing tag, off *s. */
static bool take_block(str *s, str *inside)
{
	for (size_t t = 0; t < COUNT(tags); t++) {
		size_t open = tag_at(*s, false, tags[t]), close = tag_at(*s, true, tags[t]), i;

		*inside = (str){ 0 };
		if (close) {
			*s = str_sub(*s, close, s->n);
			return true;
		}
		if (!open)
			continue;
		for (i = open; i < s->n; i++)
			if ((close = tag_at(str_sub(*s, i, s->n), true, tags[t])))
				break;
		*inside = str_trim(str_sub(*s, open, i));
		*s = str_sub(*s, i + close, s->n);
		return true;
	}
	return false;
}

str text_strip_think(str s, str *reasoning)
{
	str rest = trim_left(s), inside;
	bool any = false;

	*reasoning = (str){ 0 };
	while (take_block(&rest, &inside)) {
		any = true;
		if (!reasoning->n)
			*reasoning = inside;
		rest = trim_left(rest);
	}
	return any ? rest : s;
}
