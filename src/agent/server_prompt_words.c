/*
 * Commands and their arguments, and messages as one text.
 */
#include "agent/server_prompt_words.h"

#include "base/utf.h"
#include "mcp/result.h"
#include "text/text.h"

#define TEXT_MAX 65536
#define USAGE_MAX 4000
#define NAME_CHARS 100

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool server_prompt_parse(str text, str *server, str *prompt, str *args)
{
	size_t end = 0, colon;

	text = str_trim(text);
	while (end < text.n && !blank(text.p[end]))
		end++;
	str word = str_sub(text, 1, end);
	colon = str_find(word, S(":"));
	if (!str_starts(text, S("/")) || colon == SIZE_MAX || colon == 0 ||
	    colon + 1 >= word.n || str_has(word, S("/")))
		return false;
	*server = str_sub(word, 0, colon);
	*prompt = str_sub(word, colon + 1, word.n);
	*args = str_trim(str_sub(text, end, text.n));
	return true;
}

/* ---- arguments ---------------------------------------------------------------------- */

/* The next word of *rest: up to a blank, a quote keeping blanks together. */
static str next_word(struct arena *a, str *rest)
{
	struct buf b = buf_in(a, rest->n + 1);
	char quote = 0;
	size_t i = 0;

	for (; i < rest->n && (quote || !blank(rest->p[i])); i++) {
		char c = rest->p[i];
		if (quote ? c == quote : c == '"')
			quote = quote ? 0 : c;
		else
			buf_addc(&b, c);
	}
	*rest = str_trim(str_sub(*rest, i, rest->n));
	return buf_str(&b);
}

static size_t argument_at(const struct json *list, str name)
{
	size_t i = 0;

	for (const struct json *p = json_at(list, 0); p; p = p->next, i++)
		if (str_eq(json_str(p, "name"), name))
			return i;
	return SIZE_MAX;
}

static str name_of(const struct json *named, struct arena *a)
{
	return text_line(a, json_str(named, "name"), NAME_CHARS);
}

str server_prompt_told(str server, str text, struct arena *a)
{
	str seen = text_visible(a, text, false);
	char *p = NEWN(a, char, seen.n + 1);

	for (size_t i = 0; i < seen.n; i++)
		p[i] = seen.p[i] == '`' ? '\'' : seen.p[i];
	return arena_fmt(a, "Tool server %.*s:\n```\n%.*s\n```", STRF(text_line(a, server, 64)),
			 STRF(((str){ p, seen.n })));
}

str server_prompt_usage(const struct json *prompt, str server, struct arena *a)
{
	struct buf b = buf_in(a, USAGE_MAX);
	const struct json *list = json_get(prompt, "arguments");

	buf_fmt(&b, "/%.*s:%.*s", STRF(server), STRF(name_of(prompt, a)));
	for (const struct json *p = json_at(list, 0); p; p = p->next)
		buf_fmt(&b, json_bool(p, "required", false) ? " %.*s=…" : " [%.*s=…]",
			STRF(name_of(p, a)));
	str about = json_str(prompt, "description");
	if (about.n)
		buf_fmt(&b, ": %.*s", STRF(text_line(a, about, 200)));
	for (const struct json *p = json_at(list, 0); p; p = p->next)
		if (json_str(p, "description").n)
			buf_fmt(&b, "\n  %.*s: %.*s", STRF(name_of(p, a)),
				STRF(text_line(a, json_str(p, "description"), 200)));
	return buf_str(&b);
}

/* A named one, or the next that is free. */
static void take_words(const struct json *list, str *values, str args, struct arena *a)
{
	size_t n = list->n, at;

	while (args.n) {
		str before = args, word = next_word(a, &args), value = word;
		size_t free_n = 0, first = SIZE_MAX;
		at = argument_at(list, str_cut(&value, '='));
		if (at != SIZE_MAX && str_has(word, S("=")) && !values[at].p) {
			values[at] = value.n ? value : S("");
			continue;
		}
		for (size_t i = n; i-- > 0;)
			if (!values[i].p) {
				free_n++;
				first = i;
			}
		if (!free_n)
			return;
		values[first] = free_n == 1 && args.n ? before : word;
		if (free_n == 1)
			return;
	}
}

bool server_prompt_args(const struct json *prompt, str server, str args, struct arena *a,
			str *json)
{
	const struct json *list = json_get(prompt, "arguments");
	struct buf b = buf_in(a, 4 * args.n + USAGE_MAX), missing = buf_in(a, 300);
	size_t i = 0;

	*json = S("{}");
	if (!json_is(list, JSON_ARRAY))
		return true;
	str *values = NEWN(a, str, list->n + 1);
	take_words(list, values, args, a);
	buf_addc(&b, '{');
	for (const struct json *p = list->child; p; p = p->next, i++) {
		str name = json_str(p, "name");
		if (values[i].p)
			buf_json_member(&b, arena_cstr(a, name), values[i]);
		else if (json_bool(p, "required", false))
			buf_fmt(&missing, "%s%.*s", missing.n ? ", " : "", STRF(name_of(p, a)));
	}
	buf_addc(&b, '}');
	*json = buf_str(&b);
	if (missing.n)
		*json = arena_fmt(a, "Missing: %.*s.\n%.*s", STRF(buf_str(&missing)),
				  STRF(server_prompt_usage(prompt, server, a)));
	return missing.n == 0;
}

/* ---- results ------------------------------------------------------------------------ */

static void add_message(struct buf *b, const struct json *m, bool named, struct arena *a)
{
	const struct json *content = json_get(m, "content");

	if (b->n)
		buf_add(b, S("\n\n"));
	if (named)
		buf_fmt(b, "[%s]\n",
			str_is(json_str(m, "role"), "assistant") ? "assistant" : "user");
	if (json_is(content, JSON_OBJECT))
		buf_add(b, mcp_result_part(a, content));
	for (const struct json *part = json_is(content, JSON_ARRAY) ? content->child : NULL;
	     part; part = part->next) {
		buf_add(b, mcp_result_part(a, part));
		buf_add(b, part->next ? S("\n") : S(""));
	}
}

str server_prompt_text(const struct json *result, struct arena *a)
{
	const struct json *list = json_get(result, "messages");
	struct buf b = buf_in(a, TEXT_MAX);

	for (const struct json *m = json_at(list, 0); m; m = m->next)
		add_message(&b, m, list->n > 1, a);
	if (b.full)
		return arena_cat(a, utf_head(buf_str(&b), TEXT_MAX),
				 S("\n[the rest was longer than fits here]"));
	return utf_repair(a, buf_str(&b));
}
