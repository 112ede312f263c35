/*
 * The structure of a TOML text: tables, dotted keys, arrays, and the rules that say which
 * of them may be extended where.  Each table remembers how it came to be, which is all the
 * rules ask for.  The words are in toml_scan.c.
 */
#include "text/toml.h"

#include "base/map.h"
#include "base/utf.h"
#include "text/toml_scan.h"

#define TEXT_MAX ((size_t)16 << 20)
#define DEPTH_MAX 64
#define PARTS_MAX 64

enum origin {
	PLAIN, /* a value, an array in brackets */
	IMPLIED, /* a table that only the header of a deeper one named */
	HEADER, /* [table] or an element of [[tables]] */
	DOTTED, /* made by a dotted key: open as long as the table it was written in */
	CLOSED, /* an inline table */
	TABLES, /* the array of [[tables]] */
};

struct node {
	struct toml v; /* first, so that a struct toml is its node */
	enum origin origin;
	struct node *last; /* child */
	struct map index;
};

struct reader {
	struct toml_scan scan;
	int depth;
	/* Lines are counted as far as counted_pos, for struct toml.line. */
	size_t counted_pos;
	int counted_line;
};

struct path {
	str part[PARTS_MAX];
	size_t at[PARTS_MAX];
	size_t n;
};

static int line_here(struct reader *r)
{
	for (; r->counted_pos < r->scan.pos; r->counted_pos++)
		r->counted_line += r->scan.text.p[r->counted_pos] == '\n';
	return r->counted_line;
}

static struct node *node_new(struct reader *r, enum toml_type type, enum origin origin)
{
	struct node *n = NEW(r->scan.a, struct node);

	n->v.type = type;
	n->v.line = line_here(r);
	n->origin = origin;
	return n;
}

static void append(struct node *parent, struct node *child)
{
	if (parent->last)
		parent->last->v.next = &child->v;
	else
		parent->v.child = &child->v;
	parent->last = child;
	parent->v.n++;
}

static void insert(struct reader *r, struct node *table, str key, struct node *child)
{
	child->v.key = key;
	append(table, child);
	(void)map_set(&table->index, r->scan.a, key, child);
}

/* part . part . part */
static int read_path(struct reader *r, struct path *p, struct err *e)
{
	struct toml_scan *s = &r->scan;

	for (p->n = 0;;) {
		int rc;

		if (p->n == PARTS_MAX)
			return toml_scan_fail(s, s->pos, e, "more than %d parts in a key",
					      PARTS_MAX);
		toml_scan_blank(s);
		p->at[p->n] = s->pos;
		if ((rc = toml_scan_key(s, &p->part[p->n], e)) < 0)
			return rc;
		p->n++;
		toml_scan_blank(s);
		if (!toml_scan_take(s, "."))
			return OK;
	}
}

static int read_value(struct reader *r, struct node **out, struct err *e);

/* The table in which the last part of a dotted key is to be set. */
static int walk_dotted(struct reader *r, struct node *table, const struct path *p,
		       struct node **out, struct err *e)
{
	for (size_t i = 0; i + 1 < p->n; i++) {
		struct node *next = map_get(&table->index, p->part[i]);

		if (!next) {
			next = node_new(r, TOML_TABLE, DOTTED);
			insert(r, table, p->part[i], next);
		} else if (next->origin == IMPLIED) {
			next->origin = DOTTED;
		} else if (next->origin != DOTTED) {
			return toml_scan_fail(
				&r->scan, p->at[i], e,
				"\"%.*s\" is complete and cannot be extended here",
				STRF(p->part[i]));
		}
		table = next;
	}
	*out = table;
	return OK;
}

/* key = value, without the end of the line. */
static int read_pair(struct reader *r, struct node *table, struct err *e)
{
	struct path p;
	struct node *value;
	int rc;

	if ((rc = read_path(r, &p, e)) < 0)
		return rc;
	if (!toml_scan_take(&r->scan, "="))
		return toml_scan_fail(&r->scan, r->scan.pos, e, "a \"=\" should stand here");
	if ((rc = walk_dotted(r, table, &p, &table, e)) < 0)
		return rc;
	if (map_get(&table->index, p.part[p.n - 1]))
		return toml_scan_fail(&r->scan, p.at[p.n - 1], e, "\"%.*s\" is there already",
				      STRF(p.part[p.n - 1]));
	toml_scan_blank(&r->scan);
	if ((rc = read_value(r, &value, e)) < 0)
		return rc;
	insert(r, table, p.part[p.n - 1], value);
	return OK;
}

static int read_array(struct reader *r, struct node *array, struct err *e)
{
	struct toml_scan *s = &r->scan;
	size_t start = s->pos - 1;
	int rc;

	for (;;) {
		struct node *value;

		if ((rc = toml_scan_space(s, e)) < 0)
			return rc;
		if (toml_scan_take(s, "]"))
			return OK;
		if (toml_scan_peek(s) < 0)
			break;
		if ((rc = read_value(r, &value, e)) < 0)
			return rc;
		append(array, value);
		if ((rc = toml_scan_space(s, e)) < 0)
			return rc;
		if (toml_scan_take(s, "]"))
			return OK;
		if (toml_scan_peek(s) >= 0 && !toml_scan_take(s, ","))
			return toml_scan_fail(s, s->pos, e,
					      "a \",\" or \"]\" should stand here");
	}
	return toml_scan_fail(s, start, e, "this array has no end");
}

static int read_inline(struct reader *r, struct node *table, struct err *e)
{
	struct toml_scan *s = &r->scan;
	int rc;

	toml_scan_blank(s);
	if (!toml_scan_take(s, "}")) {
		do {
			if ((rc = read_pair(r, table, e)) < 0)
				return rc;
			toml_scan_blank(s);
		} while (toml_scan_take(s, ","));
		if (!toml_scan_take(s, "}"))
			return toml_scan_fail(s, s->pos, e,
					      "a \",\" or \"}\" should stand here");
	}
	return OK;
}

static int read_value(struct reader *r, struct node **out, struct err *e)
{
	struct node *v = node_new(r, TOML_STRING, PLAIN);
	size_t start = r->scan.pos;
	int rc;

	if (++r->depth > DEPTH_MAX)
		return toml_scan_fail(&r->scan, start, e, "nested deeper than %d", DEPTH_MAX);
	if (toml_scan_take(&r->scan, "[")) {
		v->v.type = TOML_ARRAY;
		rc = read_array(r, v, e);
	} else if (toml_scan_take(&r->scan, "{")) {
		v->v.type = TOML_TABLE;
		v->origin = CLOSED;
		rc = read_inline(r, v, e);
	} else {
		rc = toml_scan_scalar(&r->scan, &v->v, e);
	}
	r->depth--;
	if (rc < 0)
		return rc;
	*out = v;
	return OK;
}

/* alike: a header and a dotted key may go on through other tables, and both mark them */
/* The table that holds the last part of a header; of an array of tables the last element
 * counts. */
static int walk_header(struct reader *r, struct node *root, const struct path *p,
		       struct node **out, struct err *e)
{
	struct node *table = root;

	for (size_t i = 0; i + 1 < p->n; i++) {
		struct node *next = map_get(&table->index, p->part[i]);

		if (!next) {
			next = node_new(r, TOML_TABLE, IMPLIED);
			insert(r, table, p->part[i], next);
		} else if (next->origin == TABLES) {
			next = next->last;
		} else if (next->origin == PLAIN || next->origin == CLOSED) {
			return toml_scan_fail(&r->scan, p->at[i], e,
					      "\"%.*s\" is a value and cannot be extended here",
					      STRF(p->part[i]));
		}
		table = next;
	}
	*out = table;
	return OK;
}

/* [a.b] with many false, [[a.b]] with many true; *table becomes the one that is open. */
static int open_table(struct reader *r, struct node *root, const struct path *p, bool many,
		      struct node **table, struct err *e)
{
	struct node *parent = NULL, *old, *fresh;
	str key = p->part[p->n - 1];
	int rc;

	if ((rc = walk_header(r, root, p, &parent, e)) < 0)
		return rc;
	old = map_get(&parent->index, key);
	if (old && !(many && old->origin == TABLES) && !(!many && old->origin == IMPLIED))
		return toml_scan_fail(&r->scan, p->at[p->n - 1], e, "\"%.*s\" is there already",
				      STRF(key));
	if (!many && old) {
		old->origin = HEADER;
		old->v.line = line_here(r);
		*table = old;
		return OK;
	}
	fresh = node_new(r, TOML_TABLE, HEADER);
	if (many && !old) {
		old = node_new(r, TOML_ARRAY, TABLES);
		insert(r, parent, key, old);
	}
	if (many)
		append(old, fresh);
	else
		insert(r, parent, key, fresh);
	*table = fresh;
	return OK;
}

static int read_header(struct reader *r, struct node *root, struct node **table, struct err *e)
{
	bool many = toml_scan_take(&r->scan, "[[");
	struct path p;
	int rc;

	if (!many)
		r->scan.pos++;
	if ((rc = read_path(r, &p, e)) < 0)
		return rc;
	if (!toml_scan_take(&r->scan, many ? "]]" : "]"))
		return toml_scan_fail(&r->scan, r->scan.pos, e, "\"%s\" should stand here",
				      many ? "]]" : "]");
	return open_table(r, root, &p, many, table, e);
}

static int read_document(struct reader *r, struct node *root, struct err *e)
{
	struct node *table = root;
	int rc;

	for (;;) {
		if ((rc = toml_scan_space(&r->scan, e)) < 0)
			return rc;
		if (toml_scan_peek(&r->scan) < 0)
			return OK;
		rc = toml_scan_peek(&r->scan) == '[' ? read_header(r, root, &table, e)
						     : read_pair(r, table, e);
		if (rc < 0 || (rc = toml_scan_eol(&r->scan, e)) < 0)
			return rc;
	}
}

/* Where the first byte is that is not UTF-8. */
static size_t bad_utf(str text)
{
	size_t at = 0, len;

	while (at < text.n) {
		str rest = str_sub(text, at, text.n);

		(void)utf_next(rest, &len);
		if (!utf_valid(str_sub(rest, 0, len)))
			break;
		at += len;
	}
	return at;
}

int toml_read(struct toml **out, struct arena *a, str text, struct err *e)
{
	struct reader r = { .scan = { .text = text, .a = a }, .counted_line = 1 };
	struct node *root;
	int rc;

	if (text.n > TEXT_MAX)
		return err_set(e, E_LIMIT, "more than %zu bytes", TEXT_MAX);
	if (!utf_valid(text))
		return toml_scan_fail(&r.scan, bad_utf(text), e, "this is not UTF-8");
	if (str_starts(text, S("\xEF\xBB\xBF")))
		r.scan.text = str_sub(text, 3, text.n);
	root = node_new(&r, TOML_TABLE, HEADER);
	if ((rc = read_document(&r, root, e)) < 0)
		return rc;
	*out = &root->v;
	return OK;
}

const struct toml *toml_get(const struct toml *v, const char *key)
{
	if (!v || v->type != TOML_TABLE)
		return NULL;
	return (const struct toml *)map_get(&((const struct node *)v)->index, str_of(key));
}

const char *toml_type_text(enum toml_type type)
{
	static const char *const text[] = {
		[TOML_STRING] = "a string",
		[TOML_INT] = "an integer",
		[TOML_FLOAT] = "a float",
		[TOML_BOOL] = "a boolean",
		[TOML_DATETIME] = "a date with time and offset",
		[TOML_DATETIME_LOCAL] = "a date with time",
		[TOML_DATE_LOCAL] = "a date",
		[TOML_TIME_LOCAL] = "a time of day",
		[TOML_ARRAY] = "an array",
		[TOML_TABLE] = "a table",
	};

	return text[type];
}
