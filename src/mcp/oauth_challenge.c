/*
 * Challenges.  Their commas separate both parameters and challenges, so a word is a parameter
 * when a "=" with a value follows and a scheme otherwise; "scheme token68" is read over.
 */
#include "mcp/oauth_challenge.h"

struct scan {
	struct arena *a;
	str rest;
};

static bool is_tchar(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static void skip(struct scan *s, const char *set)
{
	size_t n = 0;

	while (n < s->rest.n && s->rest.p[n] && strchr(set, s->rest.p[n]))
		n++;
	s->rest = str_sub(s->rest, n, s->rest.n);
}

static str word(struct scan *s)
{
	str out = s->rest;
	size_t n = 0;

	while (n < s->rest.n && is_tchar(s->rest.p[n]))
		n++;
	s->rest = str_sub(s->rest, n, s->rest.n);
	return str_sub(out, 0, n);
}

static str quoted(struct scan *s)
{
	char *out = arena_alloc(s->a, 1, s->rest.n + 1);
	size_t n = 0, i = 1;

	for (; i < s->rest.n && s->rest.p[i] != '"'; i++) {
		if (s->rest.p[i] == '\\' && i + 1 < s->rest.n)
			i++;
		out[n++] = s->rest.p[i];
	}
	s->rest = str_sub(s->rest, i + 1, s->rest.n);
	return (str){ out, n };
}

/* After a word: "= value"?  Then *value, and the scan stands behind it. */
static bool value(struct scan *s, str *out)
{
	struct scan ahead = *s;

	skip(&ahead, " \t");
	if (!str_starts(ahead.rest, S("=")))
		return false;
	ahead.rest = str_sub(ahead.rest, 1, ahead.rest.n);
	skip(&ahead, " \t");
	*out = str_starts(ahead.rest, S("\"")) ? quoted(&ahead) : word(&ahead);
	*s = ahead;
	return true;
}

static void take(struct oauth_challenge *out, struct arena *a, str name, str v)
{
	static const struct {
		const char *name;
		size_t offset;
	} known[] = {
		{ "error", offsetof(struct oauth_challenge, error) },
		{ "scope", offsetof(struct oauth_challenge, scope) },
		{ "resource_metadata", offsetof(struct oauth_challenge, metadata) },
	};

	for (size_t i = 0; i < COUNT(known); i++) {
		str *field = (str *)((char *)out + known[i].offset);

		if (str_ieq(name, str_of(known[i].name)) && !field->n)
			*field = arena_dup(a, v);
	}
}

static void read_one(struct oauth_challenge *out, struct arena *a, str header)
{
	struct scan s = { a, header };
	bool ours = false;

	while (s.rest.n) {
		str name, v;

		skip(&s, " \t,");
		name = word(&s);
		if (!name.n) { /* nothing that could stand here */
			s.rest = str_sub(s.rest, 1, s.rest.n);
		} else if (value(&s, &v)) {
			if (ours)
				take(out, a, name, v);
		} else {
			bool bearer = str_ieq(name, S("Bearer"));
			bool dpop = str_ieq(name, S("DPoP"));

			out->bearer |= bearer;
			out->dpop |= dpop;
			ours = bearer || dpop;
		}
	}
}

void oauth_challenge_read(struct oauth_challenge *out, struct arena *a,
			  const struct http_resp *resp)
{
	*out = (struct oauth_challenge){ 0 };
	for (size_t i = 0; i < resp->headers_n; i++)
		if (str_is(resp->headers[i].name, "www-authenticate"))
			read_one(out, a, resp->headers[i].value);
}
