/*
 * Printed tool calls, narrowly: after an optional fence or tag the whole answer has to be
 * one JSON object that names a tool we know.  A wrong salvage runs a tool nobody asked for,
 * a missed one only shows a line of JSON; so the rule is strict.
 */
#include "agent/salvage.h"

#include "text/json.h"

#define CALL_MAX (64u << 10)

/* The text between <tag> and </tag> when that is all there is. */
static str untag(str s, str open, str close)
{
	if (str_starts(s, open) && str_ends(s, close) && s.n >= open.n + close.n)
		return str_trim(str_sub(s, open.n, s.n - close.n));
	return s;
}

static str unfence(str s)
{
	if (!str_starts(s, S("```")) || !str_ends(s, S("```")) || s.n < 7)
		return s;
	str body = str_sub(s, 3, s.n - 3);
	str lang = str_trim(str_cut(&body, '\n'));
	return lang.n <= 10 && !str_has(lang, S("{")) ? str_trim(body) : s;
}

static str strip(str s)
{
	s = str_trim(s);
	s = untag(s, S("<tool_call>"), S("</tool_call>"));
	s = untag(s, S("<function_call>"), S("</function_call>"));
	return unfence(s);
}

static str first_of(const struct json *v, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (json_str(v, keys[i]).n)
			return json_str(v, keys[i]);
	return (str){ 0 };
}

/* The arguments as JSON text; false when there is something else in their place. */
static bool arguments(const struct json *v, struct arena *a, str *out)
{
	static const char *const keys[] = { "arguments", "parameters", "args", "input" };
	const struct json *args = NULL;
	struct json *inner;

	for (size_t i = 0; i < COUNT(keys) && !args; i++)
		args = json_get(v, keys[i]);
	*out = S("{}");
	if (!args)
		return true;
	if (json_is(args, JSON_STRING)) {
		*out = args->s;
		return json_read(&inner, a, args->s, NULL) == OK && json_is(inner, JSON_OBJECT);
	}
	if (!json_is(args, JSON_OBJECT))
		return false;
	struct buf b = buf_in(a, CALL_MAX);
	json_write(&b, args);
	*out = buf_str(&b);
	return !b.full;
}

static bool published(const struct toolset *set, str name)
{
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->v[i].name, name))
			return true;
	return false;
}

bool salvage_call(str answer, const struct toolset *set, struct arena *a, str *name, str *args)
{
	static const char *const keys[] = { "name", "tool", "tool_name", "function" };
	str s = strip(answer);
	struct json *v;

	if (s.n > CALL_MAX || !str_starts(s, S("{")) || json_read(&v, a, s, NULL) < 0)
		return false;
	const struct json *fn = json_get(v, "function");
	if (json_is(fn, JSON_OBJECT))
		v = (struct json *)fn; /* {"type":"function","function":{...}} */
	str found = first_of(v, keys, COUNT(keys));
	size_t sep = str_find(found, S("__"));
	bool named = found.n && (published(set, found) || (sep != SIZE_MAX && sep > 0));
	if (!named || !arguments(v, a, args))
		return false;
	*name = found;
	return true;
}

bool salvage_hold(str so_far)
{
	static const char *const starts[] = { "{", "```", "<tool_call>", "<function_call>" };

	so_far = str_trim(so_far);
	for (size_t i = 0; i < COUNT(starts); i++) {
		str lead = str_of(starts[i]);
		size_t n = so_far.n < lead.n ? so_far.n : lead.n;
		if (n && str_eq(str_sub(so_far, 0, n), str_sub(lead, 0, n)))
			return so_far.n < CALL_MAX;
	}
	return false;
}
