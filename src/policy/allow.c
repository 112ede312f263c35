/*
 * Allow: each command by a pattern of its own, or the line by a pattern that names the line's
 * operators.
 */
#include "policy/internal.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/path.h"

#include <string.h>

/* --- patterns ------------------------------------------------------------------------- */

/* Does the pattern have the name, as a word? */
static bool names(const struct pattern *r, str name)
{
	for (size_t i = 0; name.n && i + name.n <= r->text.n; i++) {
		if (!str_eq(str_sub(r->text, i, i + name.n), name))
			continue;
		if ((i == 0 || !ascii_word(r->text.p[i - 1])) &&
		    (i + name.n == r->text.n || !ascii_word(r->text.p[i + name.n])))
			return true;
	}
	return false;
}

str policy_ops(struct arena *a, str pattern)
{
	struct buf b = buf_in(a, pattern.n + 1);

	for (size_t i = 0; i < pattern.n; i++) {
		char c = pattern.p[i], next = i + 1 < pattern.n ? pattern.p[i + 1] : 0;
		if (c == '[') {
			/* A class is no operator, unless it is one character. */
			size_t from = i + 1;
			while (++i < pattern.n && (pattern.p[i] != ']' || i == from))
				i += pattern.p[i] == '\\';
			if (i - from == 1 && strchr("|&;<>()`", pattern.p[from]))
				buf_addc(&b, pattern.p[from]);
		} else if (c == '(' && next == '?') {
			while (i + 1 < pattern.n && strchr("(?P<=!>:", pattern.p[i + 1]))
				i++;
		} else if (c == '\\') {
			i++;
			if (next == 'n')
				buf_addc(&b, '\n');
			else if (next && strchr("|&;<>()`$", next))
				buf_addc(&b, next);
		} else if (strchr("&;<>`\n", c)) {
			buf_addc(&b, c);
		}
	}
	return buf_str(&b);
}

/* --- redirections --------------------------------------------------------------------- */

static bool is_number(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

static bool below_roots(const struct judging *j, str path)
{
	const struct policy_opt *o = &j->p->opt;
	str abs, rel;

	if (path_absolute(&abs, j->a, path, o->home, j->cwd, NULL) < 0)
		return false;
	for (size_t i = 0; i < o->roots_n; i++)
		if (path_below(o->roots[i], abs, &rel))
			return true;
	return false;
}

/* Could the line have gone to another directory? */
static bool moves(const struct judging *j, bool *out)
{
	bool any = false;

	for (const struct line_cmd *c = j->line.first; c; c = c->next) {
		bool cd = str_eq(c->name, S("cd"));
		if (!cd && !str_eq(c->name, S("pushd")) && !str_eq(c->name, S("popd")))
			continue;
		any = true;
		if (!cd || c->n != 2 || c->words[1].dynamic || c->words[1].glob ||
		    str_starts(c->words[1].text, S("-")) ||
		    str_has(c->words[1].text, S("..")) || !below_roots(j, c->words[1].text))
			*out = true;
	}
	return any;
}

static bool leads_outside(const struct judging *j, const struct shell_redir *r, bool moved,
			  bool lost)
{
	static const char *const fine[] = { "/dev/null", "/dev/stdin", "/dev/stdout",
					    "/dev/stderr" };
	str to = r->to.text;

	if (r->kind == SHELL_HERE)
		return false;
	if (r->kind == SHELL_DUP && (is_number(to) || str_eq(to, S("-"))))
		return false;
	/* A host, whatever the roots are. */
	if (r->to.dynamic || r->to.glob || str_has(to, S("/dev/tcp")) ||
	    str_has(to, S("/dev/udp")))
		return true;
	for (size_t i = 0; i < COUNT(fine); i++)
		if (str_eq(to, str_of(fine[i])))
			return false;
	if (str_starts(to, S("~")) && !r->to.quoted)
		return !below_roots(j, to);
	if (!str_starts(to, S("/")) && (lost || (moved && str_has(to, S("..")))))
		return true;
	return !below_roots(j, str_starts(to, S("~")) ? arena_cat(j->a, S("./"), to) : to);
}

static bool redirects_outside(const struct judging *j)
{
	bool lost = j->cwd.n == 0, moved = moves(j, &lost);

	for (const struct line_cmd *c = j->line.first; c; c = c->next) {
		if (c->how == LINE_RUN)
			continue;
		for (const struct shell_redir *r = c->own->redirs; r; r = r->next)
			if (leads_outside(j, r, moved, lost))
				return true;
	}
	return false;
}

/* --- commands ------------------------------------------------------------------------- */

static bool matches(struct judging *j, size_t i, str text)
{
	if (j->gave_up[i] || text.n == 0)
		return false;
	enum regex_found f = regex_find(j->p->allow[i].re, j->room, text);
	j->gave_up[i] = f == REGEX_GIVEN_UP;
	return f == REGEX_YES;
}

static bool command_allowed(struct judging *j, struct line_cmd *c);

/* Is what a command runs allowed too?  A rule that names it speaks for it. */
static bool kids_allowed(struct judging *j, struct line_cmd *c, const struct pattern *r)
{
	for (struct line_cmd *k = c->next; k && c->kids; k = k->next) {
		if (k->parent != c)
			continue;
		bool named = r && names(r, k->name) && (k->how == LINE_RUN || k->sole) &&
			     kids_allowed(j, k, r);
		if (!named && !command_allowed(j, k))
			return false;
	}
	return true;
}

/* With what is set before it. */
static str with_sets(struct judging *j, const struct line_cmd *c)
{
	str sets;

	if (c->how == LINE_RUN || c->own->sets_n == 0)
		return c->text;
	sets = shell_plain(j->a, c->own->sets, c->own->sets_n);
	return c->n ? arena_fmt(j->a, "%.*s %.*s", STRF(sets), STRF(c->text)) : sets;
}

static bool look(struct judging *j, struct line_cmd *c)
{
	str plain = with_sets(j, c);

	/* Nothing but redirections. */
	if (c->n == 0 && c->own->sets_n == 0)
		return true;
	for (size_t i = 0; i < j->p->opt.allow_n; i++) {
		const struct pattern *r = &j->p->allow[i];
		if (!matches(j, i, plain) && (str_eq(plain, c->raw) || !matches(j, i, c->raw)))
			continue;
		c->allowed_by = r->text;
		if (kids_allowed(j, c, r))
			return true;
	}
	c->allowed_by = S("");
	if (!c->passes || !c->kids || (c->how != LINE_RUN && c->own->sets_n))
		return false;
	return kids_allowed(j, c, NULL);
}

static bool command_allowed(struct judging *j, struct line_cmd *c)
{
	if (c->allowed == 0)
		c->allowed = look(j, c) ? 1 : -1;
	return c->allowed > 0;
}

static bool each_allowed(struct judging *j)
{
	struct policy_part *part = j->parts;
	bool all = true;

	for (struct line_cmd *c = j->line.first; c; c = c->next, part++) {
		bool fine = command_allowed(j, c);
		if (fine && part->verdict != VERDICT_DENY) {
			part->verdict = VERDICT_ALLOW;
			part->rule = c->allowed_by;
			part->reason = S("an allow rule matches it");
		}
		if (c->parent)
			continue;
		if (!fine && all)
			j->out->reason = arena_fmt(j->a, "no rule allows \"%.*s\"",
						   STRF(str_sub(part->command, 0, 200)));
		if (j->out->rule.n == 0)
			j->out->rule = c->allowed_by;
		all &= fine;
	}
	return all;
}

/* A pattern that has the line's operators, all of them and in their order. */
static bool line_allowed(struct judging *j)
{
	str ops = j->line.ops;
	bool shown = str_has(ops, S("$(")) || str_has(ops, S("`")) || str_has(ops, S("<(")) ||
		     str_has(ops, S(">("));

	if (j->line.compound || ops.n == 0 || (j->line.substitution && !shown))
		return false;
	for (size_t i = 0; i < j->p->opt.allow_n; i++) {
		if (!str_eq(j->p->allow[i].ops, ops) || !matches(j, i, j->line.raw))
			continue;
		j->out->rule = j->p->allow[i].text;
		return true;
	}
	return false;
}

bool policy_allowed(struct judging *j)
{
	j->gave_up = NEWN(j->a, bool, j->p->opt.allow_n + 1);
	j->out->rule = S("");
	if (line_allowed(j)) {
		j->out->reason = S("an allow rule matches the line");
		return true;
	}
	if (!each_allowed(j))
		return false;
	if (j->line.substitution)
		j->out->reason = S("a substitution is in it");
	else if (redirects_outside(j))
		j->out->reason = S("it reads or writes outside of the workspace");
	else {
		j->out->reason = S("allow rules match all of it");
		return true;
	}
	return false;
}
