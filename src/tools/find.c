/*
 * Tool names as models write them.  A mistake is repaired only when exactly one tool can be
 * meant; otherwise the answer names the nearest few, never the whole catalogue.
 */
#include "text/text.h"
#include "tools/tools.h"

#include <string.h>

#define NAME_MAX_BYTES 256 /* longer is no name at all */
#define SHOWN 80 /* characters of a wrong name in an answer */
#define NEAREST_MAX 5
#define LISTED_MAX 12
#define TOKENS_MAX 16
#define HINT_MAX 8192

static int fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 'a';
	return c == '-' || c == ' ' ? '_' : (unsigned char)c;
}

static size_t skip_underscores(str s, size_t i)
{
	while (i < s.n && fold(s.p[i]) == '_')
		i++;
	return i;
}

/* The same but for case, - for _, and how many of them in a row. */
static bool alike(str x, str y)
{
	size_t i = 0, j = 0;

	while (i < x.n && j < y.n) {
		int c = fold(x.p[i]);
		if (c != fold(y.p[j]))
			return false;
		i = c == '_' ? skip_underscores(x, i) : i + 1;
		j = c == '_' ? skip_underscores(y, j) : j + 1;
	}
	return i == x.n && j == y.n;
}

/* The name cut at its first separator: "__", or one that models invent.  No separator: all
 * of it is base. */
static bool split(str name, str *prefix, str *base)
{
	for (size_t i = 1; i < name.n; i++) {
		bool twice = i + 1 < name.n && name.p[i] == '_' && name.p[i + 1] == '_';
		if (!twice && !memchr(".:/", name.p[i], 3))
			continue;
		*prefix = str_sub(name, 0, i);
		*base = str_sub(name, i + 1 + twice, name.n);
		return true;
	}
	*prefix = S("");
	*base = name;
	return false;
}

static str base_of(const struct tool_spec *t)
{
	str prefix, base = t->name;

	if (t->server.n)
		(void)split(t->name, &prefix, &base);
	return base;
}

/* What a tool's name begins with, "" for one of ours. */
static str prefix_of(const struct tool_spec *t)
{
	str prefix = S(""), base;

	if (t->server.n)
		(void)split(t->name, &prefix, &base);
	return prefix;
}

/* What to compare a wrong name with. */
enum part { WHOLE, BASE };

struct query {
	const struct toolset *set;
	str prefix; /* only tools with this prefix; "" all */
};

static bool asked(const struct query *q, const struct tool_spec *t)
{
	return !q->prefix.n || alike(prefix_of(t), q->prefix);
}

/* The tools alike; *one is the first of them. */
static size_t matches(const struct query *q, enum part part, str want,
		      const struct tool_spec **one)
{
	size_t n = 0;

	for (size_t i = 0; i < q->set->n; i++) {
		const struct tool_spec *t = &q->set->v[i];
		if (!asked(q, t) || !alike(part == WHOLE ? t->name : base_of(t), want))
			continue;
		if (n++ == 0)
			*one = t;
	}
	return n;
}

static const struct tool_spec *exact(const struct toolset *set, str name)
{
	size_t lo = 0, hi = set->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = str_cmp(set->v[mid].name, name);
		if (c == 0)
			return &set->v[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static bool real_prefix(const struct toolset *set, str prefix)
{
	for (size_t i = 0; prefix.n && i < set->n; i++)
		if (set->v[i].server.n && alike(prefix_of(&set->v[i]), prefix))
			return true;
	return false;
}

struct tokens {
	str v[TOKENS_MAX];
	size_t n;
};

/* The words of a base name that say something. */
static struct tokens tokens_of(str base)
{
	static const str empty_words[] = {
		S("get"),    S("list"),   S("set"),  S("search"), S("create"),
		S("update"), S("delete"), S("add"),  S("and"),    S("or"),
		S("my"),     S("the"),    S("data"), S("info"),
	};
	struct tokens t = { .n = 0 };

	for (size_t i = 0, from = 0; i <= base.n && t.n < TOKENS_MAX; i++) {
		if (i < base.n && fold(base.p[i]) != '_')
			continue;
		str word = str_sub(base, from, i);
		bool empty = word.n == 0;
		from = i + 1;
		for (size_t k = 0; k < COUNT(empty_words); k++)
			empty |= str_ieq(word, empty_words[k]);
		for (size_t k = 0; k < t.n; k++)
			empty |= str_ieq(word, t.v[k]);
		if (!empty)
			t.v[t.n++] = word;
	}
	return t;
}

static size_t shared(const struct tokens *x, const struct tokens *y)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		for (size_t k = 0; k < y->n; k++)
			n += str_ieq(x->v[i], y->v[k]);
	return n;
}

/* The tools that share most words with base, best first, ties by name (the set's order). */
static size_t nearest(const struct query *q, str base, const struct tool_spec *out[NEAREST_MAX])
{
	struct tokens want = tokens_of(base);
	size_t score[NEAREST_MAX] = { 0 }, n = 0;

	for (size_t i = 0; i < q->set->n; i++) {
		const struct tool_spec *t = &q->set->v[i];
		struct tokens have = tokens_of(base_of(t));
		size_t points = asked(q, t) ? shared(&want, &have) : 0, at = n;
		while (at > 0 && score[at - 1] < points)
			at--;
		if (points == 0 || at == NEAREST_MAX)
			continue;
		n += n < NEAREST_MAX;
		for (size_t k = n - 1; k > at; k--) {
			out[k] = out[k - 1];
			score[k] = score[k - 1];
		}
		out[at] = t;
		score[at] = points;
	}
	return n;
}

static void add_name(struct buf *b, size_t already, str name)
{
	buf_add(b, already ? S(", ") : S(" "));
	buf_add(b, name);
}

static void add_more(struct buf *b, size_t n)
{
	if (n > LISTED_MAX)
		buf_fmt(b, " (+%zu more)", n - LISTED_MAX);
}

/* The names that q asks for and that are alike, or all of them when want is empty. */
static void list_names(struct buf *b, const struct query *q, str want)
{
	size_t n = 0;

	for (size_t i = 0; i < q->set->n; i++) {
		const struct tool_spec *t = &q->set->v[i];
		if (!asked(q, t) ||
		    (want.n && !alike(base_of(t), want) && !alike(t->name, want)))
			continue;
		if (n < LISTED_MAX)
			add_name(b, n, t->name);
		n++;
	}
	add_more(b, n);
}

/* The way names are made, and the prefixes there are. */
static void list_prefixes(struct buf *b, const struct toolset *set)
{
	str last = S("");
	size_t ours = 0, servers = 0;

	for (size_t i = 0; i < set->n; i++)
		if (!set->v[i].server.n && ours++ < LISTED_MAX) {
			buf_add(b, ours == 1 ? S("; there are") : S(","));
			add_name(b, 0, set->v[i].name);
		}
	for (size_t i = 0; i < set->n; i++) {
		str prefix = prefix_of(&set->v[i]);
		if (!prefix.n || str_eq(prefix, last))
			continue;
		last = prefix;
		if (servers == 0)
			buf_add(b, S("; other names begin with"));
		if (servers < LISTED_MAX)
			buf_fmt(b, "%s %.*s__", servers ? "," : "", STRF(prefix));
		servers++;
	}
	add_more(b, servers);
}

static str hint_for(const struct toolset *set, str name, struct arena *a)
{
	struct buf b = buf_in(a, HINT_MAX);
	const struct tool_spec *near[NEAREST_MAX], *one;
	struct query q = { .set = set };
	str prefix, base;

	str shown = text_line(a, name, SHOWN);
	buf_fmt(&b, "there is no tool \"%.*s\"", STRF(shown));
	name = name.n > NAME_MAX_BYTES ? S("") : name;
	(void)split(name, &prefix, &base);
	if (real_prefix(set, prefix))
		q.prefix = prefix;
	if (set->n == 0) {
		buf_add(&b, S("; no tools are available"));
		return buf_str(&b);
	}
	str alike_to = matches(&q, WHOLE, name, &one) ? name : base;
	if (matches(&q, BASE, alike_to, &one) || matches(&q, WHOLE, alike_to, &one)) {
		buf_add(&b, S("; it could be one of:"));
		list_names(&b, &q, alike_to);
		return buf_str(&b);
	}
	size_t n = nearest(&q, base, near);
	if (n || q.prefix.n)
		buf_add(&b, S("; did you mean one of:"));
	for (size_t i = 0; i < n; i++)
		add_name(&b, i, near[i]->name);
	if (!n && q.prefix.n)
		list_names(&b, &q, S(""));
	if (!n && !q.prefix.n)
		list_prefixes(&b, set);
	return buf_str(&b);
}

/* The one tool that a mistaken name can mean. */
static const struct tool_spec *repair(const struct toolset *set, str name)
{
	const struct tool_spec *one = NULL;
	struct query all = { .set = set }, server = { .set = set };
	str rest = name, base;
	size_t n = matches(&all, WHOLE, name, &one);

	if (n)
		return n == 1 ? one : NULL;
	bool cut = split(name, &server.prefix, &base);
	if (cut && real_prefix(set, server.prefix))
		return matches(&server, BASE, base, &one) == 1 ? one : NULL;
	/* An invented prefix before a whole name: mcp__mail__send, functions.read_file. */
	while (split(rest, &server.prefix, &base) && base.n) {
		n = matches(&all, WHOLE, base, &one);
		if (n)
			return n == 1 ? one : NULL;
		rest = base;
	}
	(void)split(name, &server.prefix, &base);
	return base.n && matches(&all, BASE, base, &one) == 1 ? one : NULL;
}

const struct tool_spec *toolset_find(const struct toolset *set, str name, struct arena *a,
				     str *hint)
{
	const struct tool_spec *t = exact(set, name);
	str trimmed = str_trim(name);

	if (!t && trimmed.n && trimmed.n <= NAME_MAX_BYTES)
		t = repair(set, trimmed);
	if (!t)
		*hint = hint_for(set, trimmed, a);
	return t;
}
