/*
 * Values as a schema compares them: numbers exactly, whatever they are written as, objects
 * whatever the order of their members.
 */
#include "text/schema_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf.h"

const char *schema_kind(const struct json *v)
{
	switch (v->type) {
	case JSON_NULL:
		return "null";
	case JSON_FALSE:
	case JSON_TRUE:
		return "a boolean";
	case JSON_INT:
		return "an integer";
	case JSON_REAL:
		return "a number";
	case JSON_STRING:
		return "a string";
	case JSON_ARRAY:
		return "an array";
	case JSON_OBJECT:
		break;
	}
	return "an object";
}

/* A type that nobody knows is any. */
bool schema_has_type(const struct json *v, str type)
{
	if (str_is(type, "string"))
		return v->type == JSON_STRING;
	if (str_is(type, "integer"))
		return v->type == JSON_INT || (v->type == JSON_REAL && v->d == trunc(v->d));
	if (str_is(type, "number"))
		return v->type == JSON_INT || v->type == JSON_REAL;
	if (str_is(type, "boolean"))
		return v->type == JSON_TRUE || v->type == JSON_FALSE;
	if (str_is(type, "object"))
		return v->type == JSON_OBJECT;
	if (str_is(type, "array"))
		return v->type == JSON_ARRAY;
	return !str_is(type, "null") || v->type == JSON_NULL;
}

/* Can its text be that short?  Looks no further than that. */
static bool brief(const struct json *v, size_t *room)
{
	size_t n = 1 + v->s.n + v->key.n;

	if (n > *room)
		return false;
	*room -= n;
	for (const struct json *m = v->child; m; m = m->next)
		if (!brief(m, room))
			return false;
	return true;
}

str schema_shown(struct schema_run *k, const struct json *v, size_t max)
{
	size_t most = max * 4 + 64, room = most + v->key.n;
	struct buf b = buf_in(k->a, most);
	str text = json_text(v);

	if (k->quiet)
		return S("");
	if (!json_is(v, JSON_STRING)) {
		b.full = !brief(v, &room);
		if (!b.full)
			json_write(&b, v);
		text = b.full ? S("something long") : buf_str(&b);
	} else if (!text.n) {
		return S("\"\"");
	}
	if (text.n <= max)
		return arena_dup(k->a, text);
	return arena_cat(k->a, utf_head(text, max), S("…"));
}

/* ---- numbers ------------------------------------------------------------------------ */

static int compare_mixed(int64_t i, double d)
{
	if (d >= 0x1p63)
		return -1;
	if (d < -0x1p63)
		return 1;
	int64_t whole = (int64_t)d;
	if (i != whole)
		return i < whole ? -1 : 1;
	double rest = d - (double)whole;
	return rest > 0 ? -1 : rest < 0;
}

int schema_compare(const struct json *x, const struct json *y)
{
	if (x->type == JSON_INT && y->type == JSON_INT)
		return x->i < y->i ? -1 : x->i > y->i;
	if (x->type == JSON_INT)
		return compare_mixed(x->i, y->d);
	if (y->type == JSON_INT)
		return -compare_mixed(y->i, x->d);
	return x->d < y->d ? -1 : x->d > y->d;
}

/* digits times ten to the power of exp, as a person would write the number. */
struct decimal {
	uint64_t digits;
	int exp;
};

static struct decimal decimal_of(const struct json *v)
{
	char text[40], *point;
	struct decimal d = { 0 };
	int64_t exp = 0;

	if (v->type == JSON_INT) {
		d.digits = v->i < 0 ? -(uint64_t)v->i : (uint64_t)v->i;
		return d;
	}
	for (int digits = 0; digits <= 16; digits++) {
		(void)snprintf(text, sizeof text, "%.*e", digits, fabs(v->d));
		if (strtod(text, NULL) == fabs(v->d))
			break;
	}
	point = strchr(text, 'e');
	for (char *p = text; p < point; p++) {
		if (*p == '.')
			continue;
		d.digits = d.digits * 10 + (uint64_t)(*p - '0');
		d.exp -= p > text + 1;
	}
	(void)str_i64(str_of(point + (point[1] == '+' ? 2 : 1)), &exp);
	d.exp += (int)exp;
	return d;
}

bool schema_multiple(const struct json *x, const struct json *of)
{
	const struct json zero = { .type = JSON_INT };

	if (schema_compare(of, &zero) <= 0 || !isfinite(x->d) || !isfinite(of->d))
		return true; /* the keyword makes no sense */
	struct decimal n = decimal_of(x), m = decimal_of(of);
	if (n.digits == 0)
		return true;
	for (; m.exp > n.exp; n.exp++) { /* then the digits of n have to bring the zeros */
		if (n.digits % 10)
			return false;
		n.digits /= 10;
	}
	unsigned __int128 rest = n.digits % m.digits;
	for (; n.exp > m.exp && rest; n.exp--)
		rest = rest * 10 % m.digits;
	return rest == 0;
}

/* ---- equality ----------------------------------------------------------------------- */

static bool equal_members(struct schema_run *k, const struct json *x, const struct json *y)
{
	for (const struct json *m = x->child; m; m = m->next) {
		const struct json *other = schema_member(k, y, m->key);
		if (!other || !schema_equal(k, m, other))
			return false;
	}
	return true;
}

bool schema_equal(struct schema_run *k, const struct json *x, const struct json *y)
{
	const struct json *p, *q;

	if (!schema_spend(k, 1))
		return false;
	if ((x->type == JSON_INT || x->type == JSON_REAL) &&
	    (y->type == JSON_INT || y->type == JSON_REAL))
		return schema_compare(x, y) == 0;
	if (x->type != y->type || x->n != y->n)
		return false;
	if (x->type == JSON_OBJECT)
		return equal_members(k, x, y);
	if (x->type == JSON_STRING)
		return x->s.n == y->s.n && schema_spend(k, x->s.n / 256) && str_eq(x->s, y->s);
	for (p = x->child, q = y->child; p && q; p = p->next, q = q->next)
		if (!schema_equal(k, p, q))
			return false;
	return true;
}

/* Equal values have equal ones. */
static uint64_t hash_of(struct schema_run *k, const struct json *v)
{
	uint64_t h = STR_HASH + v->type;
	double d = v->d;

	if (!schema_spend(k, 1 + (v->s.n + v->key.n) / 256))
		return 0;
	if (v->type == JSON_INT || v->type == JSON_REAL) {
		d = d == 0 ? 0 : d; /* there are two zeros */
		return str_hash(STR_HASH, (str){ (const char *)&d, sizeof d });
	}
	if (v->type == JSON_STRING)
		return str_hash(h, v->s);
	for (const struct json *m = v->child; m; m = m->next)
		h = v->type == JSON_OBJECT
			    ? h + str_hash(hash_of(k, m), m->key) * 0x9e3779b97f4a7c15u
			    : (h ^ hash_of(k, m)) * 0x9e3779b97f4a7c15u;
	return h;
}

bool schema_unique(struct schema_run *k, const struct json *list, size_t *first, size_t *again)
{
	size_t cap = 8, i = 0;
	struct slot {
		const struct json *v;
		uint64_t hash;
		size_t i;
	} * slots;

	while (cap < list->n * 2)
		cap *= 2;
	if (list->n < 2 || !schema_spend(k, list->n))
		return true;
	slots = NEWN(k->a, struct slot, cap);
	for (const struct json *v = list->child; v; v = v->next, i++) {
		uint64_t h = hash_of(k, v);
		size_t at = (h ^ h >> 32) & (cap - 1);
		for (; slots[at].v; at = (at + 1) & (cap - 1)) {
			if (!schema_spend(k, 1))
				return true;
			if (slots[at].hash != h || !schema_equal(k, slots[at].v, v))
				continue;
			*first = slots[at].i;
			*again = i;
			return false;
		}
		slots[at] = (struct slot){ v, h, i };
	}
	return true;
}
