/*
 * Brace expansion: {a,b} makes two words of one.  Sequences ({1..9}) are not made: a word with
 * one is dynamic.
 */
#include "policy/shell_internal.h"

#define WORDS_MAX 256
#define BYTES_MAX (2 * SHELL_MAX)

struct braced {
	struct lexer *s;
	const struct shell_word *like;
	struct shell_word *v;
	size_t n;
};

/* A brace that is open, or that which is made words of. */
struct brace {
	size_t at, end;
	bool list, range; /* a comma of its own is in it; two dots are */
};

static void append(struct braced *b, const struct shell_word *w)
{
	if (b->n == 0 || (b->n >= 4 && (b->n & (b->n - 1)) == 0))
		b->v = arena_grow(b->s->a, b->v, b->n * sizeof *w,
				  (b->n ? b->n * 2 : 4) * sizeof *w);
	b->v[b->n++] = *w;
}

static void add(struct braced *b, str text)
{
	struct shell_word w = *b->like;

	if (text.n == 0 && !w.quoted)
		return; /* nothing is left of it */
	if (b->n + 1 == WORDS_MAX) {
		(void)lex_trouble(b->s, "braces make too many words of it");
		return;
	}
	w.text = text;
	/* What was in front may be gone. */
	w.leading |= w.dynamic && (text.n == 0 || text.p[0] == '$' || text.p[0] == '`');
	append(b, &w);
}

/* The first brace that closes and holds a list or a range; each byte is looked at once. */
static bool first_brace(struct arena *a, str text, str marks, struct brace *out)
{
	size_t most = 0, n = 0;
	bool found = false;

	for (size_t i = 0; i < text.n; i++)
		most += text.p[i] == '{' && marks.p[i] == MARK_PLAIN;
	struct brace *open = NEWN(a, struct brace, most + 1);
	for (size_t i = 0; i < text.n && !(found && n == 0); i++) {
		char c = text.p[i];
		if (marks.p[i] != MARK_PLAIN)
			continue;
		if (c == '{')
			open[n++] = (struct brace){ .at = i };
		if (n == 0)
			continue;
		struct brace *b = &open[n - 1];
		b->list |= c == ',';
		b->range |= c == '.' && i + 1 < text.n && text.p[i + 1] == '.';
		if (c != '}')
			continue;
		b->end = i;
		if ((b->list || b->range) && (!found || b->at < out->at)) {
			*out = *b;
			found = true;
		}
		n--;
	}
	return found;
}

static str join(struct arena *a, str x, str y, str z)
{
	return arena_cat(a, arena_cat(a, x, y), z);
}

static void expand(struct braced *b, str text, str marks, unsigned depth);

/* One of the parts between the commas, with what is around the braces. */
static void part(struct braced *b, str text, str marks, const size_t at[4], unsigned depth)
{
	struct arena *a = b->s->a;

	expand(b,
	       join(a, str_sub(text, 0, at[0]), str_sub(text, at[1], at[2]),
		    str_sub(text, at[3] + 1, text.n)),
	       join(a, str_sub(marks, 0, at[0]), str_sub(marks, at[1], at[2]),
		    str_sub(marks, at[3] + 1, marks.n)),
	       depth + 1);
}

static void expand(struct braced *b, str text, str marks, unsigned depth)
{
	struct brace in = { 0 };

	b->s->braced += text.n;
	if (depth > 16 || b->s->braced > BYTES_MAX) {
		(void)lex_trouble(b->s, "braces make too many words of it");
		return;
	}
	if (!first_brace(b->s->a, text, marks, &in)) {
		add(b, text);
		return;
	}
	if (!in.list) {
		struct shell_word w = *b->like;
		w.text = text;
		w.dynamic = w.split = true;
		w.leading |= in.at == 0 || text.p[0] == '-';
		append(b, &w);
		return;
	}
	int open = 0;
	size_t from = in.at + 1;
	for (size_t j = from; j <= in.end && b->n < WORDS_MAX && !b->s->out->trouble; j++) {
		if (marks.p[j] != MARK_PLAIN)
			continue;
		char c = text.p[j];
		if ((c == ',' && open == 0) || j == in.end) {
			part(b, text, marks, (size_t[4]){ in.at, from, j, in.end }, depth);
			from = j + 1;
		}
		open += (c == '{') - (c == '}');
	}
}

struct shell_word *lex_braces(struct lexer *s, const struct shell_word *w, size_t *n)
{
	struct braced b = { .s = s, .like = w };

	expand(&b, w->text, lex_marks(s, w->text.n), 0);
	*n = b.n;
	return b.v;
}
