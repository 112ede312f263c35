/*
 * Reading what a consolidation gave.  Models wrap their JSON in fences and prose, write numbers
 * as text and invent ids; none of it may cost more than the one item it is in.
 */
#include "agent/distilled.h"

#include "text/json.h"
#include "text/text.h"

#include <string.h>

#define SUBJECT_MAX 200
#define CONTENT_MAX 2000

#define TRIES 8 /* brackets that may stand in the prose before and behind it */

/* Where the i-th bracket from the front, or from the back, stands. */
static size_t bracket(str s, char c, int i, bool back)
{
	for (size_t k = 0; k < s.n; k++) {
		size_t at = back ? s.n - 1 - k : k;
		if (s.p[at] == c && i-- == 0)
			return at;
	}
	return SIZE_MAX;
}

static struct json *array_in(str s, struct arena *a)
{
	for (int end = 0; end < TRIES; end++)
		for (int from = 0; from < TRIES; from++) {
			size_t x = bracket(s, '[', from, false), y = bracket(s, ']', end, true);
			struct json *v;
			if (x == SIZE_MAX || y == SIZE_MAX || x > y)
				break;
			if (json_read(&v, a, str_sub(s, x, y + 1), NULL) == OK &&
			    (v->n == 0 || json_is(v->child, JSON_OBJECT)))
				return v;
		}
	return NULL;
}

static str word(str s, struct arena *a)
{
	return arena_lower(a, str_trim(s));
}

static bool kind_of(const struct json *item, struct arena *a, str *out)
{
	static const str kinds[] = {
		{ "fact", 4 }, { "preference", 10 }, { "person", 6 }, { "insight", 7 }
	};
	str kind = word(json_str(item, "kind"), a);

	if (kind.n == 0)
		kind = S("fact");
	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (!str_eq(kind, kinds[i]))
			continue;
		*out = kinds[i];
		return true;
	}
	return false;
}

static bool id_of(const struct json *v, int64_t *id)
{
	if (json_is(v, JSON_STRING))
		return str_i64(str_trim(v->s), id);
	*id = v->i;
	return json_is(v, JSON_INT);
}

static void add_id(struct distilled *d, int64_t id, const int64_t *shown, size_t n)
{
	for (size_t i = 0; i < d->replaces_n; i++)
		if (d->replaces[i] == id)
			return;
	for (size_t i = 0; i < n && d->replaces_n < DISTILLED_REPLACES; i++) {
		if (shown[i] != id)
			continue;
		d->replaces[d->replaces_n++] = id;
		return;
	}
}

static bool read_item(const struct json *item, const int64_t *shown, size_t shown_n,
		      struct arena *a, struct distilled *d)
{
	const struct json *ids = json_get(item, "supersedes");
	int64_t id;

	*d = (struct distilled){
		.subject = text_line(a, str_trim(json_str(item, "subject")), SUBJECT_MAX),
		.content = text_line(a, str_trim(json_str(item, "content")), CONTENT_MAX + 1),
		.contradicts =
			text_line(a, str_trim(json_str(item, "contradicts")), CONTENT_MAX),
	};
	if (!json_is(item, JSON_OBJECT) || !kind_of(item, a, &d->kind) || !d->subject.n ||
	    !d->content.n || str_trim(json_str(item, "content")).n > CONTENT_MAX)
		return false;
	if (ids && !json_is(ids, JSON_ARRAY) && id_of(ids, &id))
		add_id(d, id, shown, shown_n);
	for (const struct json *v = json_is(ids, JSON_ARRAY) ? ids->child : NULL; v;
	     v = v->next)
		if (id_of(v, &id))
			add_id(d, id, shown, shown_n);
	return true;
}

int distilled_read(str answer, const int64_t *shown, size_t shown_n, struct arena *a,
		   struct distilled **out, size_t *n, struct err *e)
{
	const struct json *v = array_in(answer, a);

	if (!v)
		return err_set(e, E_PROTO, "the model gave no list");
	*out = NEWN(a, struct distilled, DISTILLED_MAX);
	*n = 0;
	for (const struct json *item = v->child; item && *n < DISTILLED_MAX; item = item->next)
		if (read_item(item, shown, shown_n, a, &(*out)[*n]))
			(*n)++;
	return OK;
}
