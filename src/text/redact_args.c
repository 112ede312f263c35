/*
 * Secrets in the arguments of a tool call.  They are looked for in the texts themselves:
 * in JSON a quote or a line end before one is written as an escape, which would hide it.
 */
#include "text/json.h"
#include "text/text.h"

struct redaction {
	struct arena *a;
	const str *values;
	size_t n;
	bool any; /* something was hidden */
};

/* "api_key", "Token", "dbPassword"; a "key" alone names anything. */
static bool names_secret(str key)
{
	static const str ends[] = { { "token", 5 },
				    { "secret", 6 },
				    { "passwd", 6 },
				    { "password", 8 },
				    { "key", 3 } };

	for (size_t i = 0; i < COUNT(ends); i++)
		if (key.n >= ends[i].n &&
		    str_ieq(str_sub(key, key.n - ends[i].n, key.n), ends[i]))
			return key.n > 3;
	return str_ieq(key, S("authorization"));
}

static str hide(struct redaction *r, str s)
{
	str out = text_redact(r->a, text_redact_values(r->a, s, r->values, r->n));

	r->any = r->any || !str_eq(out, s);
	return out;
}

/* named: something called like a secret holds it.  Depth is bounded by the reader. */
static void walk(struct redaction *r, struct json *v, bool named)
{
	bool value = v->type == JSON_INT || v->type == JSON_REAL ||
		     (v->type == JSON_STRING && v->s.n);

	named = named || names_secret(v->key);
	if (value && named) {
		v->type = JSON_STRING;
		v->s = S("[REDACTED]");
		r->any = true;
	} else if (v->type == JSON_STRING) {
		v->s = hide(r, v->s);
	}
	for (struct json *c = v->child; c; c = c->next)
		walk(r, c, named && v->type == JSON_ARRAY);
}

str text_redact_args(struct arena *a, str args, const str *values, size_t n)
{
	struct redaction r = { .a = a, .values = values, .n = n };
	struct json *v;

	if (json_read(&v, a, args, NULL) < 0)
		return hide(&r, args);
	walk(&r, v, false);
	if (!r.any)
		return args;
	struct buf b = buf_in(a, 64 + args.n * 12);
	json_write(&b, v);
	return buf_str(&b);
}
