/*
 * The walk over a schema and a value, and the keywords that lead to other schemas.  Those that
 * look at a value alone are in schema_assert, those that offer a choice in schema_choice.
 *
 * What does not fit is found first by kind, then by content, since a message about content
 * helps nobody where the kind is wrong; unevaluated… come last, as they have to.
 */
#include "text/schema_parts.h"

#include <stdarg.h>
#include <stdio.h>

#define WORK_MAX 200000
#define REGEX_MAX 400000
#define MEMORY_MAX ((size_t)32 << 20) /* a large list of unique elements takes half of it */
#define DEPTH_MAX 128
#define KNOWN_MAX 100 /* bytes of names that are listed */

bool schema_spend(struct schema_run *k, size_t n)
{
	k->left -= (int64_t)n;
	if (k->left < 0 || (k->memory && k->a->used > k->memory))
		k->spent = true;
	return !k->spent;
}

const struct json *schema_member(struct schema_run *k, const struct json *v, str key)
{
	if (!schema_spend(k, 1) || !json_is(v, JSON_OBJECT) ||
	    !schema_spend(k, v->n / 8 + v->n * key.n / 1024))
		return NULL;
	for (v = v->child; v; v = v->next)
		if (str_eq(v->key, key))
			return v;
	return NULL;
}

/* ---- faults ------------------------------------------------------------------------- */

static bool plain_name(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i], lower = (char)(c | 32);
		bool plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
			     memchr("_-$", c, 3);
		if (!plain)
			return false;
	}
	return s.n > 0;
}

static void write_spot(struct buf *b, const struct schema_spot *s)
{
	if (!s->up)
		return;
	write_spot(b, s->up);
	if (!s->member) {
		buf_fmt(b, "[%zu]", s->at);
	} else if (plain_name(s->key)) {
		buf_fmt(b, "%s%.*s", b->n ? "." : "", STRF(s->key));
	} else {
		buf_addc(b, '[');
		buf_json(b, s->key);
		buf_addc(b, ']');
	}
}

/* What it costs to say where. */
static size_t spot_cost(const struct schema_spot *s)
{
	size_t n = 4;

	for (; s->up; s = s->up)
		n += s->key.n / 64;
	return n;
}

bool schema_fault(struct schema_run *k, const struct schema_spot *spot, const char *fmt, ...)
{
	struct buf where = buf_in(k->a, SCHEMA_SAID_MAX);
	char text[SCHEMA_SAID_MAX];
	va_list ap;

	if (k->quiet || !schema_spend(k, spot_cost(spot)))
		return false;
	if (k->opt && k->opt->name)
		buf_add(&where, str_of(k->opt->name));
	write_spot(&where, spot);
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	k->fault = (struct schema_fault){
		.where = buf_str(&where),
		.what = arena_dup(k->a, str_of(text)),
		.depth = spot->depth,
	};
	return false;
}

/* ---- going down --------------------------------------------------------------------- */

static bool seen(const uint64_t *bits, size_t i)
{
	return bits && bits[i / 64] >> i % 64 & 1;
}

static void see(uint64_t *bits, size_t i)
{
	if (bits)
		bits[i / 64] |= UINT64_C(1) << i % 64;
}

static uint64_t *blank(struct schema_run *k, const struct json *value)
{
	size_t n = value->n / 64 + 1;

	return schema_spend(k, n) ? NEWN(k->a, uint64_t, n) : NULL;
}

static bool member_fits(struct schema_run *k, const struct schema_at *at,
			const struct json *schema, const struct json *m, size_t i)
{
	const struct schema_spot spot = {
		.up = at->spot,
		.key = m->key,
		.at = i,
		.member = json_is(at->value, JSON_OBJECT),
		.depth = at->spot->depth + 1,
	};

	see(at->seen, i);
	return schema_eval(k, schema, m, &spot, NULL);
}

bool schema_here(struct schema_run *k, const struct schema_at *at, const struct json *schema)
{
	return schema_eval(k, schema, at->value, at->spot, at->seen);
}

/* The same, when only the answer counts. */
static bool quietly(struct schema_run *k, const struct schema_at *at, const struct json *schema,
		    uint64_t *bits)
{
	k->quiet++;
	bool fits = schema_eval(k, schema, at->value, at->spot, bits);
	k->quiet--;
	return fits;
}

/* ---- objects ------------------------------------------------------------------------ */

static bool kw_properties(struct schema_run *k, const struct schema_at *at,
			  const struct json *kw)
{
	size_t i = 0;

	if (!json_is(at->value, JSON_OBJECT))
		return true;
	for (const struct json *m = at->value->child; m; m = m->next, i++) {
		const struct json *p = schema_member(k, kw, m->key);
		if (p && !member_fits(k, at, p, m, i))
			return false;
	}
	return true;
}

static bool kw_patterns(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	if (!json_is(at->value, JSON_OBJECT) || !json_is(kw, JSON_OBJECT))
		return true;
	for (const struct json *p = kw->child; p; p = p->next) {
		size_t i = 0;
		for (const struct json *m = at->value->child; m; m = m->next, i++)
			if (schema_matches(k, p->key, m->key) && !member_fits(k, at, p, m, i))
				return false;
	}
	return true;
}

static bool named(struct schema_run *k, const struct schema_at *at, str key)
{
	const struct json *patterns = json_get(at->schema, "patternProperties");

	if (!schema_spend(k, at->schema->n / 16))
		return true;
	if (schema_member(k, json_get(at->schema, "properties"), key))
		return true;
	if (json_is(patterns, JSON_OBJECT))
		for (const struct json *p = patterns->child; p; p = p->next)
			if (schema_matches(k, p->key, key))
				return true;
	return false;
}

static str names_of(struct schema_run *k, const struct json *properties)
{
	struct buf b = buf_in(k->a, KNOWN_MAX);

	if (!json_is(properties, JSON_OBJECT))
		return S("");
	for (const struct json *p = properties->child; p; p = p->next)
		buf_fmt(&b, "%s%.*s", b.n ? ", " : "", STRF(p->key));
	return b.full ? arena_cat(k->a, buf_str(&b), S(", …")) : buf_str(&b);
}

static bool unknown_member(struct schema_run *k, const struct schema_at *at,
			   const struct json *m, size_t i)
{
	const struct schema_spot spot = {
		.up = at->spot,
		.key = m->key,
		.at = i,
		.member = true,
		.depth = at->spot->depth + 1,
	};
	str names = k->quiet ? S("") : names_of(k, json_get(at->schema, "properties"));

	if (names.n)
		return schema_fault(k, &spot, "is not known there, only %.*s", STRF(names));
	return schema_fault(k, &spot, "is not known there");
}

static bool kw_additional(struct schema_run *k, const struct schema_at *at,
			  const struct json *kw)
{
	size_t i = 0;

	if (!json_is(at->value, JSON_OBJECT) || (json_is(kw, JSON_TRUE) && !at->seen))
		return true;
	for (const struct json *m = at->value->child; m; m = m->next, i++) {
		if (named(k, at, m->key))
			continue;
		if (json_is(kw, JSON_FALSE))
			return k->spent || unknown_member(k, at, m, i);
		if (!member_fits(k, at, kw, m, i))
			return false;
	}
	return true;
}

static bool kw_unevaluated_members(struct schema_run *k, const struct schema_at *at,
				   const struct json *kw)
{
	size_t i = 0;

	if (!json_is(at->value, JSON_OBJECT) || !at->seen)
		return true;
	for (const struct json *m = at->value->child; m; m = m->next, i++) {
		if (seen(at->seen, i))
			continue;
		if (json_is(kw, JSON_FALSE))
			return k->spent || unknown_member(k, at, m, i);
		if (!member_fits(k, at, kw, m, i))
			return false;
	}
	return true;
}

static bool kw_names(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	if (!json_is(at->value, JSON_OBJECT))
		return true;
	for (const struct json *m = at->value->child; m; m = m->next) {
		const struct json name = { .type = JSON_STRING, .s = m->key, .key = m->key };
		if (!member_fits(k, &(struct schema_at){ .value = at->value, .spot = at->spot },
				 kw, &name, 0)) {
			if (!k->quiet && !k->spent)
				k->fault.what =
					arena_cat(k->a, S("as a name, "), k->fault.what);
			return false;
		}
	}
	return true;
}

static bool kw_dependent_schemas(struct schema_run *k, const struct schema_at *at,
				 const struct json *kw)
{
	if (!json_is(at->value, JSON_OBJECT) || !json_is(kw, JSON_OBJECT))
		return true;
	for (const struct json *d = kw->child; d; d = d->next)
		if (!json_is(d, JSON_ARRAY) && schema_member(k, at->value, d->key) &&
		    !schema_here(k, at, d))
			return false;
	return true;
}

/* The older word for dependentRequired and dependentSchemas at once. */
static bool kw_dependencies(struct schema_run *k, const struct schema_at *at,
			    const struct json *kw)
{
	return schema_kw_dependent_required(k, at, kw) && kw_dependent_schemas(k, at, kw);
}

/* ---- arrays ------------------------------------------------------------------------- */

static bool elements_fit(struct schema_run *k, const struct schema_at *at, size_t from,
			 const struct json *schema)
{
	size_t i = 0;

	for (const struct json *m = at->value->child; m; m = m->next, i++)
		if (i >= from && !member_fits(k, at, schema, m, i))
			return false;
	return true;
}

static bool kw_prefix(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	size_t i = 0;

	if (!json_is(at->value, JSON_ARRAY) || !json_is(kw, JSON_ARRAY))
		return true;
	const struct json *m = at->value->child;
	for (const struct json *p = kw->child; p && m; p = p->next, m = m->next, i++)
		if (!member_fits(k, at, p, m, i))
			return false;
	return true;
}

static bool kw_items(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	const struct json *prefix = json_get(at->schema, "prefixItems");

	if (json_is(kw, JSON_ARRAY)) /* as older drafts have it */
		return kw_prefix(k, at, kw);
	return !json_is(at->value, JSON_ARRAY) ||
	       elements_fit(k, at, json_is(prefix, JSON_ARRAY) && !k->old ? prefix->n : 0, kw);
}

static bool kw_more_items(struct schema_run *k, const struct schema_at *at,
			  const struct json *kw)
{
	const struct json *items = json_get(at->schema, "items");

	return !json_is(at->value, JSON_ARRAY) || !json_is(items, JSON_ARRAY) ||
	       elements_fit(k, at, items->n, kw);
}

static bool kw_unevaluated_items(struct schema_run *k, const struct schema_at *at,
				 const struct json *kw)
{
	size_t i = 0;

	if (!json_is(at->value, JSON_ARRAY) || !at->seen)
		return true;
	for (const struct json *m = at->value->child; m; m = m->next, i++)
		if (!seen(at->seen, i) && !member_fits(k, at, kw, m, i))
			return false;
	return true;
}

static bool kw_contains(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	const struct json *min = json_get(at->schema, "minContains");
	const struct json *max = json_get(at->schema, "maxContains");
	struct json n = { .type = JSON_INT };
	const struct json one = { .type = JSON_INT, .i = 1, .d = 1 };
	size_t i = 0;

	if (!json_is(at->value, JSON_ARRAY))
		return true;
	k->quiet++;
	for (const struct json *m = at->value->child; m; m = m->next, i++) {
		if (!schema_eval(k, kw, m, at->spot, NULL))
			continue;
		n.d = (double)++n.i;
		see(at->seen, i);
	}
	k->quiet--;
	if (!min || k->old)
		min = &one;
	if (schema_compare(&n, min) < 0)
		return schema_fault(k, at->spot,
				    "has %lld of the elements it has to have, not %.*s",
				    (long long)n.i, STRF(schema_shown(k, min, 40)));
	if (max && !k->old && schema_compare(&n, max) > 0)
		return schema_fault(k, at->spot,
				    "has %lld of the elements of which %.*s may be",
				    (long long)n.i, STRF(schema_shown(k, max, 40)));
	return true;
}

/* ---- at the same value -------------------------------------------------------------- */

static bool kw_all(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	if (json_is(kw, JSON_ARRAY))
		for (const struct json *s = kw->child; s; s = s->next)
			if (!schema_here(k, at, s))
				return false;
	return true;
}

static bool kw_not(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	/* What is looked at within counts for nothing outside, but it does there. */
	if (!quietly(k, at, kw, NULL) || k->spent)
		return true;
	return schema_fault(k, at->spot, "is what must not be there");
}

static bool kw_if(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	const struct json *then = json_get(at->schema, "then");
	const struct json *otherwise = json_get(at->schema, "else");

	if (!then && !otherwise && !at->seen)
		return true;
	if (quietly(k, at, kw, at->seen))
		return !then || schema_here(k, at, then);
	return !otherwise || schema_here(k, at, otherwise);
}

static bool kw_ref(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	const struct json *base = k->base, *before = k->base, *target;

	if (!json_is(kw, JSON_STRING))
		return true;
	if (str_is(kw->key, "$dynamicRef"))
		target = schema_resolve_dynamic(k, json_text(kw), &base);
	else if (str_is(kw->key, "$recursiveRef"))
		target = schema_resolve_recursive(k, json_text(kw), &base);
	else
		target = schema_resolve(k, json_text(kw), &base);

	if (!target)
		return true;
	k->base = base;
	bool fits = schema_here(k, at, target);
	k->base = before;
	return fits;
}

/* ---- the table ---------------------------------------------------------------------- */

static const struct keyword {
	const char *name;
	int pass;
	schema_keyword_fn *fn;
} keywords[] = {
	{ "type", 0, schema_kw_type },
	{ "enum", 0, schema_kw_enum },
	{ "const", 0, schema_kw_const },
	{ "$ref", 0, kw_ref },
	{ "properties", 1, kw_properties },
	{ "required", 1, schema_kw_required },
	{ "items", 1, kw_items },
	{ "prefixItems", 1, kw_prefix },
	{ "additionalProperties", 1, kw_additional },
	{ "minimum", 1, schema_kw_limit },
	{ "maximum", 1, schema_kw_limit },
	{ "exclusiveMinimum", 1, schema_kw_limit },
	{ "exclusiveMaximum", 1, schema_kw_limit },
	{ "multipleOf", 1, schema_kw_multiple },
	{ "minLength", 1, schema_kw_length },
	{ "maxLength", 1, schema_kw_length },
	{ "minItems", 1, schema_kw_count },
	{ "maxItems", 1, schema_kw_count },
	{ "minProperties", 1, schema_kw_members },
	{ "maxProperties", 1, schema_kw_members },
	{ "pattern", 1, schema_kw_pattern },
	{ "format", 1, schema_kw_format },
	{ "uniqueItems", 1, schema_kw_unique },
	{ "patternProperties", 1, kw_patterns },
	{ "propertyNames", 1, kw_names },
	{ "additionalItems", 1, kw_more_items },
	{ "contains", 1, kw_contains },
	{ "dependentRequired", 1, schema_kw_dependent_required },
	{ "dependentSchemas", 1, kw_dependent_schemas },
	{ "dependencies", 1, kw_dependencies },
	{ "allOf", 1, kw_all },
	{ "anyOf", 1, schema_kw_any },
	{ "oneOf", 1, schema_kw_one },
	{ "not", 1, kw_not },
	{ "if", 1, kw_if },
	{ "$dynamicRef", 1, kw_ref },
	{ "$recursiveRef", 1, kw_ref },
	{ "unevaluatedItems", 2, kw_unevaluated_items },
	{ "unevaluatedProperties", 2, kw_unevaluated_members },
};

static const struct keyword *keyword_of(str name)
{
	for (size_t i = 0; i < COUNT(keywords); i++)
		if (str_is(name, keywords[i].name))
			return &keywords[i];
	return NULL;
}

/* Most keywords look at others beside them, and pass over what they do not understand. */
static size_t keyword_cost(const struct json *schema, const struct json *kw)
{
	return 1 + schema->n / 16 + kw->n / 16;
}

static bool holds(struct schema_run *k, const struct schema_at *at)
{
	const struct json *ref = k->old ? json_get(at->schema, "$ref") : NULL;

	unsigned passes = 1; /* those in which there is something to do */

	if (json_is(ref, JSON_STRING))
		return kw_ref(k, at, ref);
	for (int pass = 0; pass < 3; pass++) {
		if (!(passes >> pass & 1))
			continue;
		for (const struct json *m = at->schema->child; m; m = m->next) {
			const struct keyword *w = keyword_of(m->key);
			if (!w)
				continue;
			passes |= 1u << w->pass;
			if (w->pass == pass && schema_spend(k, keyword_cost(at->schema, m)) &&
			    !w->fn(k, at, m))
				return false;
		}
	}
	return true;
}

static bool looks_at_rest(const struct json *schema)
{
	return json_get(schema, "unevaluatedProperties") ||
	       json_get(schema, "unevaluatedItems");
}

bool schema_eval(struct schema_run *k, const struct json *schema, const struct json *value,
		 const struct schema_spot *spot, uint64_t *bits)
{
	const struct json *base = k->base;
	struct schema_scope scope = { .up = k->scope };

	if (!schema_spend(k, 1 + schema->n / 4))
		return true;
	if (json_is(schema, JSON_FALSE))
		return schema_fault(k, spot, "is not allowed there");
	if (!json_is(schema, JSON_OBJECT))
		return true;
	if (k->depth == DEPTH_MAX) {
		k->spent = true;
		return true;
	}
	struct schema_at at = { .schema = schema, .value = value, .spot = spot };
	if (bits || looks_at_rest(schema))
		at.seen = blank(k, value);
	if (schema_is_resource(k, schema))
		k->base = schema;
	scope.resource = k->base;
	if (!scope.up || scope.up->resource != scope.resource)
		k->scope = &scope;
	k->depth++;
	bool fits = holds(k, &at);
	k->depth--;
	k->base = base;
	k->scope = scope.up;
	for (size_t i = 0; fits && bits && at.seen && i <= value->n / 64; i++)
		bits[i] |= at.seen[i];
	return fits;
}

/* ---- the door ----------------------------------------------------------------------- */

static void run_done(struct schema_run *k)
{
	for (struct schema_pattern *p = k->patterns; p; p = p->next)
		regex_close(p->re);
	regex_room_free(k->room);
}

int schema_check_as(const struct schema_opt *opt, const struct json *schema,
		    const struct json *value, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(run_done)
	struct schema_run k = {
		.root = schema,
		.base = schema,
		.opt = opt,
		.a = &a,
		.memory = MEMORY_MAX,
		.left = WORK_MAX,
		.regex_left = REGEX_MAX,
		.old = str_has(json_str(schema, "$schema"), S("/draft-0")),
	};
	const struct schema_spot spot = { 0 };
	bool fits = schema_eval(&k, schema, value, &spot, NULL);

	if (k.spent)
		return err_set(e, E_LIMIT, "holding it against its schema takes too long");
	if (fits)
		return OK;
	return err_set(e, E_INVAL, "%.*s%s%.*s%.*s", STRF(k.fault.where),
		       k.fault.where.n ? ": " : "", STRF(k.fault.what), STRF(k.fault.instead));
}
