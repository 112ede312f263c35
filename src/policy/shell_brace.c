/*
 * Brace expansion: {a,b} makes two words of one.  Sequences ({1..9}) are not made: a word with
 * one is dynamic.
 */
#include "policy/shell_internal.h"

#define WORDS_MAX 256

struct braced {
	struct lexer *s;
	const struct shell_word *like;
	struct shell_word *v;
	size_t n;
};

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
	b->v = arena_grow(b->s->a, b->v, b->n * sizeof w, (b->n + 1) * sizeof w);
	b->v[b->n++] = w;
}

/* Where the brace that opens at i closes; *list: a comma of its own is in it. */
static size_t closing(str text, str marks, size_t i, bool *list, bool *range)
{
	int open = 0;

	*list = *range = false;
	for (; i < text.n; i++) {
		if (marks.p[i] != MARK_PLAIN)
			continue;
		char c = text.p[i];
		open += (c == '{') - (c == '}');
		if (open == 0)
			return i;
		*list |= c == ',' && open == 1;
		*range |= c == '.' && open == 1 && i + 1 < text.n && text.p[i + 1] == '.';
	}
	return SIZE_MAX;
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
	bool list = false, range = false;
	size_t i = 0, end = SIZE_MAX;

	for (; i < text.n; i++) {
		if (text.p[i] != '{' || marks.p[i] != MARK_PLAIN)
			continue;
		end = closing(text, marks, i, &list, &range);
		if (end != SIZE_MAX && (list || range))
			break;
	}
	if (depth > 16)
		(void)lex_trouble(b->s, "braces make too many words of it");
	if (i == text.n || depth > 16) {
		add(b, text);
		return;
	}
	if (!list) {
		struct shell_word w = *b->like;
		w.text = text;
		w.dynamic = w.split = true;
		w.leading |= i == 0 || text.p[0] == '-';
		b->v = arena_grow(b->s->a, b->v, b->n * sizeof w, (b->n + 1) * sizeof w);
		b->v[b->n++] = w;
		return;
	}
	int open = 0;
	size_t from = i + 1;
	for (size_t j = i + 1; j <= end && b->n < WORDS_MAX && !b->s->out->trouble; j++) {
		if (marks.p[j] != MARK_PLAIN)
			continue;
		char c = text.p[j];
		if ((c == ',' && open == 0) || j == end) {
			part(b, text, marks, (size_t[4]){ i, from, j, end }, depth);
			from = j + 1;
		}
		open += (c == '{') - (c == '}');
	}
}

struct shell_word *lex_braces(struct lexer *s, const struct shell_word *w, size_t *n)
{
	struct braced b = { .s = s, .like = w };

	expand(&b, w->text, s->marks, 0);
	*n = b.n;
	return b.v;
}
