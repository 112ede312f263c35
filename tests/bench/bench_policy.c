/*
 * What the gate spends on one command line of 4 KiB, under the built-in rules and a dozen
 * patterns of somebody's own, and on the worst patterns and inputs that are known.
 *
 * Prints "policy_WHAT value unit" lines.
 */
#include "base/buf.h"
#include "os/clock.h"
#include "policy/policy.h"
#include "text/json.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE 4096
#define ROUNDS 2000

static const str deny[] = { S("\\bterraform\\s+destroy\\b"), S("^aws\\s+.*delete"),
			    S("DROP\\s+TABLE") };
static const str allow[] = { S("^ls\\b"),   S("^cat\\b"),  S("^git (status|log|diff)\\b"),
			     S("^echo\\b"), S("^grep\\b"), S("^npm run [\\w:.-]+$"),
			     S("^make\\b"), S("^wc\\b"),   S("^sort\\b") };
static const str root[] = { S("/workspace") };

static str filled(struct arena *a, str piece, size_t n)
{
	char *p = arena_alloc(a, 1, n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = piece.p[i % piece.n];
	return (str){ p, n };
}

static enum policy_verdict judge(const struct policy *p, str line)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json text = { .type = JSON_STRING, .s = line, .key = S("command") };
	struct json args = { .type = JSON_OBJECT, .child = &text, .n = 1 };
	struct policy_call call = { .tool = S("exec"), .args = &args, .shell = true };
	struct policy_decision d;

	policy_judge(p, &call, &a, &d);
	return d.verdict;
}

static int by_value(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

static int64_t median_us(const struct policy *p, str line, size_t rounds)
{
	int64_t us[ROUNDS];

	for (size_t i = 0; i < rounds; i++) {
		int64_t began = clock_mono_us();
		(void)judge(p, line);
		us[i] = clock_mono_us() - began;
	}
	qsort(us, rounds, sizeof *us, by_value);
	return us[rounds / 2];
}

static struct policy *opened(const str *no, size_t no_n, const str *yes, size_t yes_n)
{
	const struct policy_opt opt = {
		.builtin = true,
		.deny = no,
		.deny_n = no_n,
		.allow = yes,
		.allow_n = yes_n,
		.roots = root,
		.roots_n = 1,
		.cwd = root[0],
	};
	struct policy *p;

	if (policy_open(&p, &opt, NULL) < 0)
		abort();
	return p;
}

/* Lines as they are written, padded to the size. */
static void everyday(struct arena *a)
{
	static const struct {
		const char *what;
		str piece;
	} rows[] = {
		{ "heredoc",
		  S("some text in a file that is written, with 'quotes' now and then\n") },
		{ "chain", S("git status && grep -rn \"foo bar\" src | sort | wc -l; ") },
		{ "words", S("echo 'one word' \"and $another\" plain-and-long-enough ") },
	};
	struct policy *none = opened(NULL, 0, allow, 1),
		      *some = opened(deny, COUNT(deny), allow, COUNT(allow));

	for (size_t i = 0; i < COUNT(rows); i++) {
		str line = filled(a, rows[i].piece, LINE - 40);
		if (i == 0)
			line = arena_fmt(a, "cat > notes.txt <<'END'\n%.*s\nEND\n", STRF(line));
		(void)printf("policy_4k_%s %lld us\n", rows[i].what,
			     (long long)median_us(none, line, ROUNDS));
		(void)printf("policy_4k_%s_own_rules %lld us\n", rows[i].what,
			     (long long)median_us(some, line, ROUNDS / 4));
	}
	policy_close(none);
	policy_close(some);
}

static void worst(struct arena *a)
{
	static const str patterns[] = { S("(a+)+(b|c)"),           S("(a|aa)+(b|c)"),
					S(".*.*.*(=|!)"),          S("((a*)*)*(b|c)"),
					S("[^x]*\\d{9}"),          S("(.*a){20}(b|c)"),
					S("(?:x|a.{0,200})*(y|z)") };
	static const str pieces[] = { S("a"),     S("a "),    S("a;"),         S("echo a|sh|"),
				      S("sudo "), S("eval "), S("$(a) "),      S("{a,b}"),
				      S("a&"),    S("<<a "),  S("f(){ f;"),    S("sh -c '"),
				      S("$(("),   S("`a` "),  S("find -exec ") };
	int64_t most = 0, most_line = 0;

	for (size_t i = 0; i < COUNT(patterns); i++)
		for (size_t k = 0; k < 2; k++) {
			struct policy *p = opened(&patterns[i], k, &patterns[i], 1 - k);
			int64_t us = median_us(p, filled(a, S("a"), LINE), 9);
			most = us > most ? us : most;
			policy_close(p);
		}
	struct policy *p = opened(deny, COUNT(deny), allow, COUNT(allow));
	for (size_t i = 0; i < COUNT(pieces); i++) {
		int64_t us = median_us(p, filled(a, pieces[i], LINE), 9);
		most_line = us > most_line ? us : most_line;
	}
	policy_close(p);
	(void)printf("policy_worst_pattern %.2f ms\n", (double)most / 1000);
	(void)printf("policy_worst_line %.2f ms\n", (double)most_line / 1000);
}

int main(void)
{
	SCOPED(arena_free) struct arena a = { 0 };

	everyday(&a);
	worst(&a);
	return 0;
}
