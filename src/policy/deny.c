/*
 * Deny: the built-in rules on each command, a user's patterns on the text as written, on the
 * line written plainly, and on each command.
 */
#include "policy/internal.h"

#include "policy/builtin.h"

static bool refuse(struct judging *j, struct policy_part *part, str rule, str reason)
{
	j->out->rule = rule;
	j->out->reason = reason;
	if (part) {
		part->verdict = VERDICT_DENY;
		part->rule = rule;
		part->reason = reason;
	}
	return true;
}

static bool by_builtin(struct judging *j, const struct line_cmd *c, struct policy_part *part)
{
	for (size_t i = 0; i < builtin_rules_n; i++) {
		const struct builtin_rule *r = &builtin_rules[i];
		enum builtin_hit hit = r->hit(&j->line, c);
		if (hit == HIT_NO)
			continue;
		str rule = arena_fmt(j->a, "builtin:%s", r->name);
		if (hit == HIT_YES)
			return refuse(j, part, rule, str_of(r->what));
		part->rule = rule;
		part->reason = S("whether this rule forbids it is known only when it runs");
		line_doubt(&j->line, part->reason.p);
	}
	return false;
}

/* A pattern that works too long denies. */
static bool hits(const struct judging *j, const struct pattern *d, str text)
{
	return regex_find(d->re, j->room, text) != REGEX_NO;
}

static bool by_pattern(struct judging *j, const struct pattern *d)
{
	struct policy_part *part = j->parts;
	str reason = S("a deny rule matches it"), raw = j->line.raw, plain = j->line.text;

	if (hits(j, d, raw) || (!str_eq(raw, plain) && hits(j, d, plain)))
		return refuse(j, j->line.n == 1 ? part : NULL, d->text, reason);
	for (const struct line_cmd *c = j->line.first; c; c = c->next, part++)
		if (c->n && !str_eq(c->text, raw) && hits(j, d, c->text))
			return refuse(j, part, d->text, reason);
	return false;
}

bool policy_denied(struct judging *j)
{
	struct policy_part *part = j->parts;
	bool denied = false;

	/* All of them, so that each part is told. */
	for (struct line_cmd *c = j->line.first; c && j->p->opt.builtin; c = c->next, part++)
		denied |= by_builtin(j, c, part);
	for (size_t i = 0; i < j->p->opt.deny_n && !denied; i++)
		denied = by_pattern(j, &j->p->deny[i]);
	return denied;
}
