/*
 * libyaml's events made into a tree.  What YAML has beyond maps, lists and scalars is
 * refused: it would only make a configuration file harder to read.
 */
#include "config/yaml.h"

#include "base/memory.h"

#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 32
#define NODES_MAX 20000

struct reader {
	yaml_parser_t *parser;
	str text;
	struct arena *a;
	struct problems *p;
	size_t nodes;
	bool broken; /* nothing further can be read */
};

static void fail(struct reader *r, const yaml_mark_t *at, const char *why)
{
	struct yaml place = { .line = (int)at->line + 1, .column = (int)at->column + 1 };

	if (!r->broken)
		problem_add(r->p, &place, S(""), "%s", why);
	r->broken = true;
}

/* Where the parser gave up: for bytes that are no text it only knows an offset. */
static yaml_mark_t broken_at(const struct reader *r)
{
	yaml_mark_t at = { 0 };
	str before;

	if (r->parser->error != YAML_READER_ERROR)
		return r->parser->problem_mark;
	before = str_sub(r->text, 0, r->parser->problem_offset);
	for (size_t i = 0; i < before.n; i++, at.column++)
		if (before.p[i] == '\n') {
			at.line++;
			at.column = (size_t)-1; /* the newline itself makes it 0 */
		}
	return at;
}

/* The next event, or false when the text is broken; the caller deletes it. */
static bool next_event(struct reader *r, yaml_event_t *ev)
{
	if (r->broken)
		return false;
	if (yaml_parser_parse(r->parser, ev))
		return true;
	if (r->parser->error == YAML_MEMORY_ERROR)
		memory_out("reading YAML");
	memset(ev, 0, sizeof(*ev));
	yaml_mark_t at = broken_at(r);
	fail(r, &at, r->parser->problem ? r->parser->problem : "not YAML");
	return false;
}

/* Anchors and tags: said once each, then ignored. */
static void refuse_extras(struct reader *r, const yaml_event_t *ev, const yaml_char_t *anchor,
			  const yaml_char_t *tag)
{
	struct yaml place = { .line = (int)ev->start_mark.line + 1,
			      .column = (int)ev->start_mark.column + 1 };

	if (anchor)
		problem_add(r->p, &place, S(""), "anchors are not supported");
	if (tag && strcmp((const char *)tag, "!") != 0)
		problem_add(r->p, &place, S(""), "tags are not supported");
}

static struct yaml *new_node(struct reader *r, enum yaml_kind kind, const yaml_event_t *ev)
{
	struct yaml *y = NEW(r->a, struct yaml);

	y->kind = kind;
	y->line = (int)ev->start_mark.line + 1;
	y->column = (int)ev->start_mark.column + 1;
	if (++r->nodes > NODES_MAX)
		fail(r, &ev->start_mark, "too many values");
	return y;
}

static struct yaml *scalar(struct reader *r, const yaml_event_t *ev)
{
	struct yaml *y = new_node(r, YAML_SCALAR, ev);
	str text = { (const char *)ev->data.scalar.value, ev->data.scalar.length };

	refuse_extras(r, ev, ev->data.scalar.anchor, ev->data.scalar.tag);
	if (text.n && memchr(text.p, 0, text.n)) {
		problem_add(r->p, y, S(""), "a NUL character is not allowed here");
		text = S("");
	}
	y->text = arena_dup(r->a, text);
	y->null = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		  (text.n == 0 || str_eq(text, S("~")) || str_ieq(text, S("null")));
	return y;
}

static struct yaml *node(struct reader *r, const yaml_event_t *ev, int depth);

static struct yaml *list(struct reader *r, const yaml_event_t *start, int depth)
{
	struct yaml *y = new_node(r, YAML_LIST, start), **tail = &y->child;
	yaml_event_t ev;

	refuse_extras(r, start, start->data.sequence_start.anchor,
		      start->data.sequence_start.tag);
	while (next_event(r, &ev)) {
		bool end = ev.type == YAML_SEQUENCE_END_EVENT;
		struct yaml *item = end ? NULL : node(r, &ev, depth + 1);

		yaml_event_delete(&ev);
		if (end)
			break;
		if (!item)
			continue;
		*tail = item;
		tail = &item->next;
		y->n++;
	}
	return y;
}

/* The value for a key that was read; NULL when the text is broken or the value refused. */
static struct yaml *member(struct reader *r, int depth)
{
	yaml_event_t ev;
	struct yaml *value;

	if (!next_event(r, &ev))
		return NULL;
	value = node(r, &ev, depth + 1);
	yaml_event_delete(&ev);
	return value;
}

static struct yaml *map(struct reader *r, const yaml_event_t *start, int depth)
{
	struct yaml *y = new_node(r, YAML_MAP, start), **tail = &y->child;
	yaml_event_t ev;

	refuse_extras(r, start, start->data.mapping_start.anchor,
		      start->data.mapping_start.tag);
	while (next_event(r, &ev)) {
		bool end = ev.type == YAML_MAPPING_END_EVENT;
		struct yaml *key = end ? NULL : node(r, &ev, depth + 1), *value;

		yaml_event_delete(&ev);
		if (end)
			break;
		value = member(r, depth);
		if (!key || !value)
			continue;
		if (key->kind != YAML_SCALAR) {
			problem_add(r->p, key, S(""), "a key must be a plain word");
			continue;
		}
		if (yaml_get(y, key->text)) {
			problem_add(r->p, key, key->text, "this key stands here twice");
			continue;
		}
		value->key = key->text;
		value->line = key->line;
		value->column = key->column;
		*tail = value;
		tail = &value->next;
		y->n++;
	}
	return y;
}

static struct yaml *node(struct reader *r, const yaml_event_t *ev, int depth)
{
	if (depth > DEPTH_MAX) {
		fail(r, &ev->start_mark, "nested too deeply");
		return NULL;
	}
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
		return scalar(r, ev);
	case YAML_SEQUENCE_START_EVENT:
		return list(r, ev, depth);
	case YAML_MAPPING_START_EVENT:
		return map(r, ev, depth);
	case YAML_ALIAS_EVENT:
		fail(r, &ev->start_mark, "aliases are not supported");
		return NULL;
	default:
		return NULL;
	}
}

static struct yaml *document(struct reader *r)
{
	struct yaml *root = NULL;
	yaml_event_t ev;
	int documents = 0;

	while (next_event(r, &ev)) {
		bool end = ev.type == YAML_STREAM_END_EVENT;

		if (ev.type == YAML_DOCUMENT_START_EVENT && ++documents > 1)
			fail(r, &ev.start_mark,
			     "a second document begins here; only one is read");
		else if (!end)
			root = root ? root : node(r, &ev, 0);
		yaml_event_delete(&ev);
		if (end)
			break;
	}
	return r->broken ? NULL : root;
}

struct yaml *yaml_read(struct arena *a, str text, struct problems *p)
{
	SCOPED(yaml_parser_delete) yaml_parser_t parser;
	struct reader r = { .parser = &parser, .text = text, .a = a, .p = p };
	struct yaml *root;

	memset(&parser, 0, sizeof(parser));
	if (text.n > YAML_TEXT_MAX) {
		problem_add(p, NULL, p->file, "larger than %u bytes", YAML_TEXT_MAX);
		return NULL;
	}
	if (!yaml_parser_initialize(&parser))
		memory_out("reading YAML");
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)(text.p ? text.p : ""),
				     text.n);
	root = document(&r);
	if (!r.broken && (!root || root->null)) {
		problem_add(p, NULL, p->file, "the file is empty");
		return NULL;
	}
	return root;
}

const struct yaml *yaml_get(const struct yaml *from, str key)
{
	if (!from || from->kind != YAML_MAP)
		return NULL;
	for (const struct yaml *m = from->child; m; m = m->next)
		if (str_eq(m->key, key))
			return m;
	return NULL;
}
