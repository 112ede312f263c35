/*
 * The keywords of a schema that look at one value alone.
 */
#include "text/schema_parts.h"

#include "base/utf.h"

#define LISTED_MAX 120 /* bytes of what is allowed */
#define SHOWN_MAX 40
#define DECIMAL_COST 32 /* reals are spelled out, some of them in many digits */

static bool number(const struct json *v)
{
	return json_is(v, JSON_INT) || json_is(v, JSON_REAL);
}

bool schema_kw_type(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	struct buf b = buf_in(k->a, LISTED_MAX);
	const struct json *t = json_is(kw, JSON_ARRAY) ? kw->child : kw;

	if (!t)
		return true;
	for (; t; t = json_is(kw, JSON_ARRAY) ? t->next : NULL) {
		str type = json_text(t);
		if (!type.n || schema_has_type(at->value, type))
			return true;
		if (!k->quiet)
			buf_fmt(&b, "%s%s%.*s", b.n ? " or " : "",
				str_is(type, "null")            ? ""
				: memchr("aeiou", type.p[0], 5) ? "an "
								: "a ",
				STRF(type));
	}
	(void)schema_fault(k, at->spot, "must be %.*s", (int)b.n, b.p ? b.p : "");
	if (k->quiet || k->spent)
		return k->spent;
	k->fault.instead = arena_fmt(k->a, ", not %s", schema_kind(at->value));
	k->fault.type = true;
	return false;
}

bool schema_kw_enum(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	struct buf b = buf_in(k->a, LISTED_MAX);

	if (!json_is(kw, JSON_ARRAY))
		return true;
	for (const struct json *v = kw->child; v; v = v->next)
		if (schema_equal(k, v, at->value))
			return true;
	for (const struct json *v = k->quiet ? NULL : kw->child; v && !b.full; v = v->next)
		buf_fmt(&b, "%s%.*s", b.n ? ", " : "", STRF(schema_shown(k, v, SHOWN_MAX)));
	(void)schema_fault(k, at->spot, "must be %s%.*s%s", kw->n > 1 ? "one of " : "",
			   (int)b.n, b.p ? b.p : "", b.full ? ", …" : "");
	if (!k->quiet && !k->spent)
		k->fault.constant = true;
	return k->spent;
}

bool schema_kw_const(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	if (schema_equal(k, kw, at->value))
		return true;
	(void)schema_fault(k, at->spot, "must be %.*s", STRF(schema_shown(k, kw, LISTED_MAX)));
	if (!k->quiet && !k->spent)
		k->fault.constant = true;
	return k->spent;
}

/* minimum, maximum and the exclusive ones; "exclusiveMinimum": true is draft-04. */
bool schema_kw_limit(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	bool low = str_ends(kw->key, S("inimum")), exclusive = str_starts(kw->key, S("exclus"));
	int c;

	if (!number(at->value) || !number(kw))
		return true;
	if (json_is(json_get(at->schema, low ? "exclusiveMinimum" : "exclusiveMaximum"),
		    JSON_TRUE))
		exclusive = true;
	c = schema_compare(at->value, kw);
	if (low ? c > 0 : c < 0)
		return true;
	if (c == 0 && !exclusive)
		return true;
	return schema_fault(k, at->spot, "must be %s %.*s",
			    low && exclusive ? "more than"
			    : low            ? "at least"
			    : exclusive      ? "less than"
					     : "at most",
			    STRF(schema_shown(k, kw, SHOWN_MAX)));
}

bool schema_kw_multiple(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	if (!number(at->value) || !number(kw))
		return true;
	if ((json_is(at->value, JSON_REAL) || json_is(kw, JSON_REAL)) &&
	    !schema_spend(k, DECIMAL_COST))
		return true;
	if (schema_multiple(at->value, kw))
		return true;
	return schema_fault(k, at->spot, "must be a multiple of %.*s",
			    STRF(schema_shown(k, kw, SHOWN_MAX)));
}

/* Does n keep to a min… or max… keyword? */
static bool within(const struct json *kw, size_t n)
{
	const struct json count = { .type = JSON_INT, .i = (int64_t)n, .d = (double)n };

	if (!number(kw))
		return true;
	int c = schema_compare(&count, kw);
	return str_starts(kw->key, S("min")) ? c >= 0 : c <= 0;
}

static bool count_fault(struct schema_run *k, const struct schema_at *at, const struct json *kw,
			const char *what, size_t n)
{
	return schema_fault(k, at->spot, "must have %s %.*s %s, not %zu",
			    str_starts(kw->key, S("min")) ? "at least" : "at most",
			    STRF(schema_shown(k, kw, SHOWN_MAX)), what, n);
}

bool schema_kw_length(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	if (!json_is(at->value, JSON_STRING) || !schema_spend(k, at->value->s.n / 256))
		return true;
	size_t n = utf_count(at->value->s);
	return within(kw, n) || count_fault(k, at, kw, "characters", n);
}

bool schema_kw_count(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	return !json_is(at->value, JSON_ARRAY) || within(kw, at->value->n) ||
	       count_fault(k, at, kw, "elements", at->value->n);
}

bool schema_kw_members(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	return !json_is(at->value, JSON_OBJECT) || within(kw, at->value->n) ||
	       count_fault(k, at, kw, "properties", at->value->n);
}

bool schema_kw_pattern(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	if (!json_is(at->value, JSON_STRING) || !json_is(kw, JSON_STRING) ||
	    schema_matches(k, kw->s, at->value->s))
		return true;
	return schema_fault(k, at->spot, "must match the pattern %.*s",
			    STRF(schema_shown(k, kw, LISTED_MAX)));
}

bool schema_kw_format(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	if (!k->opt || !k->opt->formats || !json_is(at->value, JSON_STRING))
		return true;
	if (str_is(json_text(kw), "regex"))
		return regex_check(at->value->s, false, NULL) == OK ||
		       schema_fault(k, at->spot, "must be a regular expression");
	const char *wanted = schema_format_wanted(json_text(kw), at->value->s);
	return !wanted || schema_fault(k, at->spot, "must be %s", wanted);
}

bool schema_kw_unique(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	size_t first = 0, again = 0;

	if (!json_is(at->value, JSON_ARRAY) || !json_is(kw, JSON_TRUE) ||
	    schema_unique(k, at->value, &first, &again))
		return true;
	return schema_fault(k, at->spot, "must have no element twice, as [%zu] and [%zu] are",
			    first, again);
}

/* What of the names is no member of the value. */
static str missing(struct schema_run *k, const struct json *value, const struct json *names,
		   size_t *n)
{
	struct buf b = buf_in(k->a, LISTED_MAX);

	*n = 0;
	for (const struct json *m = names->child; m; m = m->next) {
		if (!json_is(m, JSON_STRING) || schema_member(k, value, m->s))
			continue;
		if (!k->quiet)
			buf_fmt(&b, "%s%.*s", b.n ? ", " : "",
				STRF(schema_shown(k, m, SHOWN_MAX)));
		++*n;
	}
	return b.full ? arena_cat(k->a, buf_str(&b), S(", …")) : buf_str(&b);
}

bool schema_kw_required(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	size_t n;

	if (!json_is(at->value, JSON_OBJECT) || !json_is(kw, JSON_ARRAY))
		return true;
	str names = missing(k, at->value, kw, &n);
	return n == 0 || k->spent ||
	       schema_fault(k, at->spot, "%.*s %s missing", STRF(names), n > 1 ? "are" : "is");
}

bool schema_kw_dependent_required(struct schema_run *k, const struct schema_at *at,
				  const struct json *kw)
{
	size_t n;

	if (!json_is(at->value, JSON_OBJECT) || !json_is(kw, JSON_OBJECT))
		return true;
	for (const struct json *d = kw->child; d; d = d->next) {
		if (!json_is(d, JSON_ARRAY) || !schema_member(k, at->value, d->key))
			continue;
		str names = missing(k, at->value, d, &n);
		if (n && !k->spent)
			return schema_fault(k, at->spot, "%.*s %s missing, needed with %.*s",
					    STRF(names), n > 1 ? "are" : "is", STRF(d->key));
	}
	return true;
}
