/*
 * From the text of a line to the list of what it runs.
 */
#include "policy/line.h"

#include "base/buf.h"

#include <string.h>

#define DEPTH_MAX 8
#define BYTES_MAX (4 * SHELL_MAX)

void line_doubt(struct line *l, const char *why)
{
	if (!l->doubt)
		l->doubt = why;
}

bool line_full(struct line *l)
{
	bool full = l->depth > DEPTH_MAX || l->n > LINE_MANY || l->bytes > BYTES_MAX ||
		    l->scripts >= LINE_TEXTS;

	if (full)
		line_doubt(l, "it runs too much to look at");
	return full;
}

str line_base_name(str path)
{
	for (size_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/')
			return str_sub(path, i, path.n);
	return path;
}

/* "" when it cannot be known. */
static str name_of(struct line *l, const struct shell_word *w)
{
	if (w->dynamic || (w->glob && !str_eq(w->text, S("[")) && !str_eq(w->text, S("[[")))) {
		line_doubt(l, "which command runs is known only when it does");
		return S("");
	}
	/* Another shell would look it up. */
	if (str_starts(w->raw, S("=")))
		line_doubt(l, "which command runs is known only when it does");
	return line_base_name(w->text);
}

static struct line_cmd *add(struct line *l, struct line_cmd *parent, enum line_how how)
{
	struct line_cmd *c = NEW(l->a, struct line_cmd);

	c->parent = parent;
	c->how = how;
	if (parent)
		parent->kids++;
	*l->tail = c;
	l->tail = &c->next;
	l->n++;
	return c;
}

static void look(struct line *l, struct line_cmd *c, const struct shell_word *w, size_t n)
{
	c->words = w;
	c->n = n;
	c->text = shell_plain(l->a, w, n);
	if (n == 0)
		return;
	c->name = name_of(l, &w[0]);
	if (l->n > LINE_MANY || l->depth > DEPTH_MAX) {
		line_doubt(l, "it runs too much to look at");
		return;
	}
	l->depth++;
	line_open(l, c);
	l->depth--;
}

void line_run(struct line *l, struct line_cmd *parent, const struct shell_word *w, size_t n)
{
	struct line_cmd *c = add(l, parent, LINE_RUN);

	c->own = parent->own;
	c->script = parent->script;
	look(l, c, w, n);
}

/* Values that change what other commands do, or are run by them. */
static bool telling(str set)
{
	static const char *const names[] = {
		"BASH_ENV",     "ENV",       "PROMPT_COMMAND", "PS4",           "IFS",
		"PATH",         "SHELLOPTS", "BASHOPTS",       "EDITOR",        "VISUAL",
		"PAGER",        "LESSOPEN",  "MANPAGER",       "PYTHONSTARTUP", "PERL5OPT",
		"NODE_OPTIONS", "RUBYOPT",
	};
	str value = set, name = str_cut(&value, '=');

	for (size_t i = 0; i < COUNT(names); i++)
		if (str_is(name, names[i]))
			return true;
	return str_starts(name, S("LD_")) || str_starts(name, S("GIT_")) ||
	       str_has(value, S("$(")) || str_has(value, S("`"));
}

static void check_sets(struct line *l, const struct shell_cmd *cmd)
{
	for (size_t i = 0; i < cmd->sets_n; i++)
		if (telling(cmd->sets[i].text))
			line_doubt(l, "it sets a variable that other commands obey");
}

static size_t add_script(struct line *l, struct line_cmd *parent, str text,
			 struct shell_line *read)
{
	size_t script = parent ? ++l->scripts : 0;

	shell_read(read, l->a, text);
	if (read->trouble)
		line_doubt(l, read->trouble);
	for (struct shell_cmd *s = read->first; s; s = s->next) {
		struct line_cmd *c = add(l, parent, parent ? LINE_SCRIPT : LINE_OWN);
		c->own = s;
		c->script = script;
		c->raw = s->raw;
		c->sole = read->n == 1 && !read->substitution && read->ops.n == 0;
		check_sets(l, s);
		look(l, c, s->words, s->n);
	}
	return script;
}

void line_script(struct line *l, struct line_cmd *parent, str text, bool dynamic)
{
	struct shell_line read;

	if (dynamic)
		line_doubt(l, "what it runs is known only when it does");
	l->bytes += text.n;
	if (line_full(l))
		return;
	l->depth++;
	(void)add_script(l, parent, text, &read);
	l->depth--;
	l->substitution |= read.substitution;
}

/* As it would be written plainly: the operators are not where they were, but in their order. */
static str whole(struct line *l)
{
	struct buf b = buf_in(l->a, 8 * SHELL_MAX);

	for (const struct line_cmd *c = l->first; c; c = c->next) {
		if (c->how != LINE_OWN || c->n == 0)
			continue;
		if (b.n)
			buf_add(&b, c->own->fed ? S(" | ") : S("; "));
		buf_add(&b, c->text);
		for (const struct shell_redir *r = c->own->redirs; r; r = r->next)
			if (r->kind == SHELL_OUT)
				buf_fmt(&b, " > %.*s", STRF(r->to.text));
	}
	return buf_str(&b);
}

void line_read(struct line *out, struct arena *a, str text)
{
	struct shell_line read;

	*out = (struct line){ .a = a, .raw = str_trim(text) };
	out->tail = &out->first;
	(void)add_script(out, NULL, out->raw, &read);
	out->ops = read.ops;
	out->compound = read.compound;
	out->substitution |= read.substitution;
	out->text = whole(out);
}

bool line_fetches(const struct line *l, size_t script, size_t from, size_t to)
{
	static const char *const names[] = { "curl", "wget", "fetch", "aria2c", "lynx" };

	for (const struct line_cmd *c = from < to ? l->first : NULL; c; c = c->next)
		for (size_t i = 0; i < COUNT(names); i++)
			if (c->script == script && c->own->no >= from && c->own->no < to &&
			    str_is(c->name, names[i]))
				return true;
	return false;
}
