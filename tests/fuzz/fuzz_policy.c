/*
 * Any bytes as a command line: the judge comes to an end, what it says holds together, and a
 * line it calls allowed is one it could read, with a command that nobody denies.
 */
#include "policy/policy.h"
#include "policy/shell.h"
#include "text/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool fine)
{
	if (!fine)
		abort();
}

static struct policy *opened(bool classify)
{
	static const str deny[] = { S("^evil\\b"), S("drop.*table") }, allow[] = { S("") },
			 root[] = { S("/ws") };
	const struct policy_opt opt = {
		.builtin = true,
		.deny = deny,
		.deny_n = 2,
		.allow = allow,
		.allow_n = 1,
		.roots = root,
		.roots_n = 1,
		.cwd = root[0],
		.home = S("/home/me"),
		.classify = classify,
	};
	struct policy *p = NULL;

	must(policy_open(&p, &opt, NULL) == OK);
	return p;
}

static void judge(const struct policy *p, struct arena *a, str line, struct policy_decision *d)
{
	struct json text = { .type = JSON_STRING, .s = line, .key = S("command") };
	struct json args = { .type = JSON_OBJECT, .child = &text, .n = 1 };
	struct policy_call call = { .tool = S("exec"), .args = &args, .shell = true };

	policy_judge(p, &call, a, d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct policy *p;
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size };
	struct policy_decision d, twice;
	struct shell_line line;
	size_t n = 0;

	if (!p)
		p = opened(true);
	shell_read(&line, &a, str_trim(in));
	for (const struct shell_cmd *c = line.first; c; c = c->next, n++) {
		must(c->raw.n <= in.n);
		for (size_t i = 0; i < c->n; i++)
			must(c->words[i].sub_from <= c->words[i].sub_to &&
			     c->words[i].sub_to <= line.n);
	}
	must(n == line.n);
	judge(p, &a, in, &d);
	must(d.verdict == VERDICT_ASK || !d.classify);
	if (d.verdict == VERDICT_ALLOW && str_trim(in).n) {
		must(line.trouble == NULL);
		for (size_t i = 0; i < d.parts_n; i++)
			must(d.parts[i].verdict != VERDICT_DENY);
	}
	/* What is refused is refused behind another command too. */
	if (d.verdict == VERDICT_DENY && !line.trouble && in.n < 4096) {
		/* Trimmed, as it was judged: inside a line a vertical tab is part of a word. */
		judge(p, &a, arena_fmt(&a, "true; %.*s", STRF(str_trim(in))), &twice);
		must(twice.verdict != VERDICT_ALLOW);
	}
	return 0;
}
