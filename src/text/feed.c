/*
 * Feeds come in many shapes; ids are what is compared.
 */
#include "text/feed.h"

#include "base/map.h"
#include "text/json.h"
#include "text/text.h"

#define ID_CHARS 500
#define TITLE_CHARS 200
#define TEXT_CHARS 240

static str first_of(const struct json *item, const char *const *keys, struct arena *a,
		    size_t max)
{
	for (; *keys; keys++) {
		const struct json *v = json_get(item, *keys);

		if (json_is(v, JSON_INT))
			return arena_fmt(a, "%lld", (long long)v->i);
		str s = str_trim(json_text(v));
		if (s.n)
			return text_line(a, s, max);
	}
	return S("");
}

static bool read_item(struct feed_item *out, const struct json *v, struct arena *a)
{
	static const char *const ids[] = { "id", "guid", "ID", NULL };
	static const char *const urls[] = { "url", "link", "href", NULL };
	static const char *const titles[] = { "title", "name", "text", NULL };
	static const char *const texts[] = { "summary", "content", "body", "description",
					     NULL };

	*out = (struct feed_item){ .id = first_of(v, ids, a, ID_CHARS),
				   .url = first_of(v, urls, a, ID_CHARS),
				   .title = first_of(v, titles, a, TITLE_CHARS),
				   .text = first_of(v, texts, a, TEXT_CHARS) };
	if (!out->id.n)
		out->id = out->url;
	return out->id.n > 0;
}

int feed_read(struct feed_item **out, size_t *n, struct arena *a, str text, struct err *e)
{
	static const char *const lists[] = { "items", "entries", "data", "tweets", NULL };
	struct json *root;
	struct err why = { 0 };

	*out = NULL;
	*n = 0;
	if (str_trim(text).n == 0)
		return OK;
	if (json_read(&root, a, text, &why) < 0)
		return err_set(e, E_PROTO, "not JSON, or cut off (truncated): %s", why.msg);
	const struct json *list = json_is(root, JSON_ARRAY) ? root : NULL;
	for (const char *const *k = lists; !list && *k; k++)
		if (json_is(json_get(root, *k), JSON_ARRAY))
			list = json_get(root, *k);
	if (!list)
		return err_set(
			e, E_PROTO,
			"no list: an array is wanted, or an object with items, entries, data "
			"or tweets");
	*out = NEWN(a, struct feed_item, list->n + 1);
	for (const struct json *v = list->child; v; v = v->next)
		*n += read_item(&(*out)[*n], v, a);
	return OK;
}

size_t feed_merge(str *merged, const struct feed_item **fresh, struct arena *a, str seen,
		  const struct feed_item *items, size_t n, size_t max)
{
	struct map known = { 0 }, now = { 0 };
	size_t known_n = 0, now_n = 0, fresh_n = 0;
	static char mark;

	for (str rest = seen; rest.n;)
		if (!map_set(&known, a, str_cut(&rest, '\n'), &mark))
			known_n++;
	size_t room = seen.n + 1;
	for (size_t i = 0; i < n; i++) {
		room += items[i].id.n + 1;
		if (map_set(&now, a, items[i].id, &mark))
			continue;
		now_n++;
		if (!map_get(&known, items[i].id))
			fresh[fresh_n++] = &items[i];
	}
	/* What left the feed comes first, and goes first. */
	struct buf b = buf_in(a, room);
	size_t gone = 0, all = known_n + fresh_n;
	for (str rest = seen; rest.n;) {
		str id = str_cut(&rest, '\n');
		if (map_get(&now, id))
			continue;
		if (gone++ + max >= all)
			buf_fmt(&b, "%.*s\n", STRF(id));
	}
	struct map put = { 0 };
	size_t skip = now_n > max ? now_n - max : 0;
	for (size_t i = 0; i < n; i++) {
		if (map_set(&put, a, items[i].id, &mark))
			continue;
		if (skip)
			skip--;
		else
			buf_fmt(&b, "%.*s\n", STRF(items[i].id));
	}
	*merged = buf_str(&b);
	return fresh_n;
}
