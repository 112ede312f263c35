/*
 * Words for keywords that had to go.  Only what helps to write a value that fits: whoever writes
 * one that does not is told so by the check against the whole schema.
 */
#include "model/schema_words.h"

#include "base/utf.h"

#define SHOWN_MAX 60 /* bytes of a value */

static const char *between(const struct buf *b)
{
	return b->n ? "; " : "";
}

static str shown(struct arena *a, const struct json *v)
{
	struct buf b = buf_in(a, 4096);

	json_write(&b, v);
	str text = b.full ? S("…") : buf_str(&b);
	return text.n <= SHOWN_MAX ? text : arena_cat(a, utf_head(text, SHOWN_MAX), S("…"));
}

static void say(struct buf *b, const struct view *v, const char *words, const char *keyword)
{
	const struct json *k = view_keyword(v, keyword);

	if (k && !json_is(k, JSON_NULL))
		buf_fmt(b, "%s%s %.*s", between(b), words, STRF(shown(v->a, k)));
}

/* Strings are enumerated, all else is said. */
static void say_values(struct buf *b, const struct view *v, unsigned type)
{
	const struct json *first = v->values ? v->values->child : NULL;
	size_t n = 0, said = 0;

	if (type == VIEW_STRING)
		return;
	for (const struct json *m = first; m; m = m->next)
		n += view_value_is(m, type);
	for (const struct json *m = first; m; m = m->next) {
		if (!view_value_is(m, type))
			continue;
		buf_add(b, said ? S(", ") : str_of(between(b)));
		if (!said++)
			buf_add(b, n > 1 ? S("one of ") : S("must be "));
		buf_add(b, shown(v->a, m));
	}
}

bool schema_format_known(unsigned type, str format)
{
	static const struct {
		unsigned type;
		const char *format;
	} rows[] = {
		{ VIEW_STRING, "date-time" }, { VIEW_INTEGER, "int32" },
		{ VIEW_INTEGER, "int64" },    { VIEW_NUMBER, "float" },
		{ VIEW_NUMBER, "double" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (type == rows[i].type && str_is(format, rows[i].format))
			return true;
	return false;
}

static void say_format(struct buf *b, const struct view *v, unsigned type, bool bare)
{
	str format = json_text(view_keyword(v, "format"));

	if (format.n && !str_is(format, "enum") && (bare || !schema_format_known(type, format)))
		buf_fmt(b, "%sformat %.*s", between(b), STRF(utf_head(format, SHOWN_MAX)));
}

/* Older drafts have the exclusive ones as a yes or no to minimum and maximum. */
static void say_open_end(struct buf *b, const struct view *v, const char *words,
			 const char *exclusive, const char *limit)
{
	const struct json *k = view_keyword(v, exclusive);

	if (json_is(k, JSON_TRUE))
		say(b, v, words, limit);
	else if (json_is(k, JSON_INT) || json_is(k, JSON_REAL))
		say(b, v, words, exclusive);
}

static void say_map(struct buf *b, const struct view *v)
{
	const struct json *more = view_keyword(v, "additionalProperties");
	struct view m = view_of(v->root, v->a);
	unsigned bits;

	if (!json_is(more, JSON_OBJECT) || !more->n)
		return;
	view_add(&m, more);
	view_choose(&m);
	view_settle(&m);
	if (m.choices)
		return;
	buf_fmt(b, "%sany other names, each with", between(b));
	bits = view_types(&m);
	for (unsigned bit = 1, n = 0; bit <= VIEW_OBJECT; bit <<= 1)
		if (bits & bit)
			buf_fmt(b, "%s %s", n++ ? " or" : "", view_type_name(bit));
}

static void say_limit(struct buf *b, const struct view *v, const char *words,
		      const char *keyword, bool smallest)
{
	const struct json *n = view_tightest(v, keyword, smallest);

	if (n)
		buf_fmt(b, "%s%s %.*s", between(b), words, STRF(shown(v->a, n)));
}

static void say_limits(struct buf *b, const struct view *v, unsigned type)
{
	if (type & (VIEW_INTEGER | VIEW_NUMBER)) {
		say_limit(b, v, "at least", "minimum", false);
		say_limit(b, v, "at most", "maximum", true);
	}
	if (type == VIEW_STRING) {
		say_limit(b, v, "characters at least", "minLength", false);
		say_limit(b, v, "characters at most", "maxLength", true);
	}
	if (type == VIEW_ARRAY) {
		say_limit(b, v, "elements at least", "minItems", false);
		say_limit(b, v, "elements at most", "maxItems", true);
	}
}

static void say_types(struct buf *b, const struct view *v, unsigned type)
{
	for (unsigned bit = 1, bits = view_types(v); bit <= VIEW_OBJECT; bit <<= 1)
		if (bits & bit && bit != type)
			buf_fmt(b, "%sor %s", between(b), view_type_name(bit));
	if (v->nullable)
		buf_fmt(b, "%sor null", between(b));
}

str schema_words(const struct view *v, unsigned type, bool bare)
{
	struct buf b = buf_in(v->a, SCHEMA_WORDS_MAX);

	if (bare)
		say_types(&b, v, type);
	say_values(&b, v, type);
	say_format(&b, v, type, bare);
	if (type == VIEW_STRING)
		say(&b, v, "pattern", "pattern");
	if (type & (VIEW_INTEGER | VIEW_NUMBER))
		say(&b, v, "multiple of", "multipleOf");
	if (type == VIEW_NUMBER || (bare && type == VIEW_INTEGER)) {
		say_open_end(&b, v, "more than", "exclusiveMinimum", "minimum");
		say_open_end(&b, v, "less than", "exclusiveMaximum", "maximum");
	}
	if (bare)
		say_limits(&b, v, type);
	if (type == VIEW_ARRAY && json_is(view_keyword(v, "uniqueItems"), JSON_TRUE))
		buf_fmt(&b, "%sno element twice", between(&b));
	if (type == VIEW_OBJECT)
		say_map(&b, v);
	say(&b, v, "default", "default");
	return b.full ? arena_cat(v->a, buf_str(&b), S("…")) : buf_str(&b);
}
