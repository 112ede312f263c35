/*
 * The corpus of command lines: files of what must be refused, must not be, and must run when
 * allowed; and spellings of refused commands, made from a seed (POLICY_SEED gives another,
 * POLICY_ROUNDS more of them).  `make mutants` breaks the lexer rule by rule
 * (tests/mutants/rules.py) and sees this fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "os/file.h"
#include "policy/policy.h"
#include "text/json.h"

#define CASES "tests/cases/policy/"
#define SEED 20261130
#define ROUNDS 4000

static const str everything[] = { S("") };
static const str workspace[] = { S("/workspace") };

static struct policy *open_policy(bool allow)
{
	struct policy_opt opt = {
		.builtin = true,
		.allow = everything,
		.allow_n = allow,
		.roots = workspace,
		.roots_n = 1,
		.cwd = S("/workspace"),
		.home = S("/home/me"),
	};
	struct policy *p = NULL;
	struct err e = { 0 };

	if (policy_open(&p, &opt, &e) < 0)
		fail_msg("%s", e.msg);
	return p;
}

static void judge(const struct policy *p, str command, struct arena *a,
		  struct policy_decision *out)
{
	struct json text = { .type = JSON_STRING, .s = command, .key = S("command") };
	struct json args = { .type = JSON_OBJECT, .child = &text, .n = 1 };
	struct policy_call call = { .tool = S("exec"), .args = &args, .shell = true };

	policy_judge(p, &call, a, out);
}

/* --- files ---------------------------------------------------------------------------- */

static str newlines(struct arena *a, str line)
{
	struct buf b = buf_in(a, 1 << 16);

	for (;;) {
		size_t at = str_find(line, S("<NL>"));
		buf_add(&b, str_sub(line, 0, at));
		if (at == SIZE_MAX)
			return buf_str(&b);
		buf_addc(&b, '\n');
		line = str_sub(line, at + 4, line.n);
	}
}

static size_t walk(const char *name, bool allow, bool (*fine)(const struct policy_decision *d))
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct policy *p = open_policy(allow);
	struct err e = { 0 };
	size_t n = 0, bad = 0;
	str all;

	if (file_read(&all, &a, arena_fmt(&a, CASES "%s", name).p, 1 << 20, &e) < 0)
		fail_msg("%s", e.msg);
	while (all.n) {
		str line = str_cut(&all, '\n');
		struct policy_decision d;
		if (line.n == 0 || str_starts(line, S("# ")))
			continue;
		n++;
		judge(p, newlines(&a, line), &a, &d);
		if (fine(&d))
			continue;
		bad++;
		print_message("%s: %.*s: %s by \"%.*s\": %.*s\n", name, STRF(line),
			      policy_word(d.verdict), STRF(d.rule), STRF(d.reason));
	}
	policy_close(p);
	assert_int_equal(bad, 0);
	return n;
}

static bool is_denied(const struct policy_decision *d)
{
	return d->verdict == VERDICT_DENY && str_starts(d->rule, S("builtin:"));
}

static bool is_asked(const struct policy_decision *d)
{
	return d->verdict == VERDICT_ASK;
}

static bool is_allowed(const struct policy_decision *d)
{
	return d->verdict == VERDICT_ALLOW;
}

static void what_is_forbidden_is_refused_also_where_all_is_allowed(void **state)
{
	assert_true(walk("denied.txt", true, is_denied) > 100);
	(void)walk("denied.txt", false, is_denied);
}

static void what_is_not_forbidden_is_asked_about(void **state)
{
	assert_true(walk("not-denied.txt", false, is_asked) > 30);
}

static void harmless_lines_run_when_their_commands_are_allowed(void **state)
{
	assert_true(walk("harmless.txt", true, is_allowed) >= 150);
	(void)walk("harmless.txt", false, is_asked);
}

static void what_is_not_clear_is_asked_about_also_where_all_is_allowed(void **state)
{
	assert_true(walk("unclear.txt", true, is_asked) > 40);
}

/* --- spellings ------------------------------------------------------------------------ */

static const char *const forbidden[][5] = {
	{ "rm", "-rf", "/srv/x" },
	{ "rm", "-r", "/srv/x" },
	{ "rm", "x", "-vf" },
	{ "rm", "--recursive", "/srv/x" },
	{ "rm", "--force", "x" },
	{ "find", "/srv", "-delete" },
	{ "mkfs.ext4", "/dev/sda1" },
	{ "dd", "if=/dev/zero", "of=/dev/sda" },
	{ "shutdown", "-h", "now" },
	{ "reboot" },
	{ "chmod", "-R", "777", "/" },
	{ "git", "push", "--force" },
	{ "git", "push", "-f", "origin" },
	{ "git", "push", "origin", "+main" },
	{ "userdel", "bob" },
	{ "passwd", "root" },
	{ "history", "-c" },
};

enum spelling {
	PLAIN,
	SINGLE,
	DOUBLE,
	ESCAPED,
	EMPTY_SINGLE,
	EMPTY_DOUBLE,
	HEX,
	OCTAL,
	UNICODE,
	CONTINUED,
	LOCALE,
	MIXED,
	BRACED,
	PATH, /* the command only; from here on not known before it runs */
	ECHOED,
	DEFAULTED,
	SPELLINGS
};

static void ansi(struct buf *b, const char *fmt, str w)
{
	buf_add(b, S("$'"));
	for (size_t i = 0; i < w.n; i++) {
		char one[16];
		(void)snprintf(one, sizeof one, fmt, (unsigned)(unsigned char)w.p[i]);
		buf_add(b, str_of(one));
	}
	buf_addc(b, '\'');
}

static void spell(struct buf *b, str w, enum spelling how, bool first)
{
	str head = str_sub(w, 0, 1), tail = str_sub(w, 1, w.n);
	const char *forms[SPELLINGS] = {
		[PLAIN] = "%.*s%.*s",           [SINGLE] = "'%.*s%.*s'",
		[DOUBLE] = "\"%.*s%.*s\"",      [ESCAPED] = "\\%.*s%.*s",
		[EMPTY_SINGLE] = "%.*s''%.*s",  [EMPTY_DOUBLE] = "%.*s\"\"%.*s",
		[CONTINUED] = "%.*s\\\n%.*s",   [LOCALE] = "$\"%.*s%.*s\"",
		[MIXED] = "\"%.*s\"'%.*s'",     [BRACED] = "{%.*s%.*s,}",
		[PATH] = "/usr/bin/%.*s%.*s",   [ECHOED] = "$(echo %.*s%.*s)",
		[DEFAULTED] = "${x:-%.*s%.*s}",
	};

	if (how == HEX)
		ansi(b, "\\x%02x", w);
	else if (how == OCTAL)
		ansi(b, "\\%03o", w);
	else if (how == UNICODE)
		ansi(b, "\\u%04x", w);
	else if (!first && how >= BRACED)
		buf_add(b, w);
	else
		buf_fmt(b, forms[how], STRF(head), STRF(tail));
}

/* @ is the command, ' the command as one quoted word. */
static const char *const wrappers[] = {
	"@",
	"@",
	"env @",
	"env -i A=1 @",
	"env -u X @",
	"timeout 5 @",
	"timeout -k 1 -s KILL 5 @",
	"nice @",
	"nice -n 5 @",
	"nohup @",
	"command @",
	"command -p @",
	"exec @",
	"sudo @",
	"sudo -u root -E @",
	"sudo A=1 @",
	"doas @",
	"time @",
	"time -p @",
	"stdbuf -oL @",
	"setsid -w @",
	"ionice -c 3 @",
	"busybox @",
	"xargs @",
	"xargs -0 -n 1 @",
	"xargs -I{} @",
	"sh -c '",
	"bash -lc '",
	"bash -o posix -c '",
	"zsh -c '",
	"eval @",
	"eval '",
	"find . -exec @ \\;",
	"find . -name x -execdir @ {} +",
	"watch -n 1 '",
	"su -c ' root",
	"ssh host '",
	"ssh -p 22 host @",
	"flock /tmp/l @",
	"trap ' EXIT",
	"echo ' | sh",
	"bash <<< '",
	"A=1 B='x y' @",
	"env -S '",
	"sudo env A=1 timeout 5 nice @",
	"sudo sh -c '",
	"sh -c ' _ a b",
	"chroot / @",
	"strace -f -o x @",
	"\\sudo @",
	"s'u'do @",
};

static const char *const places[] = {
	"@",
	"@",
	"true; @",
	"true;@",
	"true && @",
	"false || @",
	"ls | @",
	"ls |& @",
	"sleep 1 & @",
	"true\n@",
	"(@)",
	"( @ )",
	"{ @; }",
	"if true; then @; fi",
	"if @; then :; fi",
	"if a; then :; elif b; then :; else @; fi",
	"for i in 1; do @; done",
	"for i in 1\ndo @\ndone",
	"while @; do :; done",
	"until a; do @; done",
	"case x in x) @;; esac",
	"case x in (a|b) ls;; *) @; esac",
	"f() { @; }; f",
	"function f { @; }; f",
	"! @",
	"@ # comment",
	"# comment\n@",
	"@ >/dev/null 2>&1",
	">/dev/null @",
	"2>&1 @",
	"@ &",
	"echo 'a;b' && @",
	"echo \"it's\"; @",
	"echo it\\'s; @",
	"x=(1 2); @",
	"[[ a == b || c < d ]] || @",
	"((1)); @",
	"a=$((1+1)); @",
	"coproc @",
	"cat <<'E'\nit's\nE\n@",
	"cat <<E\nplain\nE\n@",
	"cat <<-E\n\tx\n\tE\n@",
	"cat <<A <<B\n1\nA\n2\nB\n@",
	"echo a \\\n b; @",
	"echo $'it\\'s'; @",
	"echo ${x#\\}}; @",
	"echo a#b; @",
	"ls *.c; @",
	"echo {a,b}; @",
	"a | b | c; @",
	"echo \"$(date)\"; @",
	"x=`date`; @",
	"echo \"a \\\" b\"; @",
	"diff <(a) <(b); @",
	"if [[ -f x ]]; then @; fi",
	"[ a ] && { ( @ ) }",
	"while read l; do @; done < x",
	"ls && ( ls; @ ) | cat",
	"echo $(( (1+2)*3 )); @",
	"\t @",
	"&>/dev/null @",
	"time { @; }",
};

static const char *const holders[] = {
	"@",
	"@",
	"@",
	"echo $(@)",
	"echo `@`",
	"echo \"$(@)\"",
	"echo \"`@`\"",
	"cat <(@)",
	"tee >(@)",
	"echo ${x:-$(@)}",
	"x=$(@)",
	"echo \"${x:-$(@)}\"",
	"cat <<E\n$(@)\nE\n",
	"cat <<E\n`@`\nE\n",
	"echo $((1+$(@)))",
	"for i in $(@); do :; done",
	"[[ -n $(@) ]]",
	"case $(@) in *) ;; esac",
	"ls > $(@)",
	"x[$(@)]=1",
	"$(@)",
	"cat <<< $(@)",
	"echo $[$(@)]",
	"echo \"a $(echo \"b $(@)\")\"",
	"x=($(@))",
	"true; (( $(@) ))",
};

static uint64_t state_of_dice;

static size_t dice(size_t n)
{
	/* xorshift64*: the same everywhere. */
	state_of_dice ^= state_of_dice >> 12;
	state_of_dice ^= state_of_dice << 25;
	state_of_dice ^= state_of_dice >> 27;
	return (size_t)((state_of_dice * UINT64_C(2685821657736338717)) >> 33) % n;
}

static str quoted(struct arena *a, str s)
{
	struct buf b = buf_in(a, 1 << 16);

	buf_addc(&b, '\'');
	for (size_t i = 0; i < s.n; i++)
		buf_add(&b, s.p[i] == '\'' ? S("'\\''") : str_sub(s, i, i + 1));
	buf_addc(&b, '\'');
	return buf_str(&b);
}

/* The form with the command where it says; *whole: as a quoted word. */
static str place(struct arena *a, const char *form, str command)
{
	str f = str_of(form);
	size_t at = str_find(f, S("@"));
	bool word = at == SIZE_MAX;

	if (word)
		at = str_find(f, S("'"));
	return arena_fmt(a, "%.*s%.*s%.*s", STRF(str_sub(f, 0, at)),
			 STRF(word ? quoted(a, command) : command),
			 STRF(str_sub(f, at + 1, f.n)));
}

struct spelled {
	str line;
	bool known; /* what it runs can be known before it does */
};

static struct spelled make(struct arena *a)
{
	const char *const *words = forbidden[dice(COUNT(forbidden))];
	struct buf b = buf_in(a, 1 << 12);
	enum spelling how = dice(2) ? (enum spelling)dice(SPELLINGS) : PLAIN;
	bool all = dice(2) == 0, known = how < ECHOED;
	const char *holder = holders[dice(COUNT(holders))];

	for (size_t i = 0; i < 5 && words[i]; i++) {
		if (i)
			buf_addc(&b, dice(8) ? ' ' : '\t');
		spell(&b, str_of(words[i]), i == 0 || all ? how : PLAIN, i == 0);
	}
	str line = place(a, wrappers[dice(COUNT(wrappers))], buf_str(&b));
	/* Backticks in backticks would have to be escaped, backslashes too. */
	if (strchr(holder, '`') &&
	    (memchr(line.p, '`', line.n) || memchr(line.p, '\\', line.n)))
		holder = "@";
	line = place(a, holder, line);
	/* A substitution of what is written in a quoted word. */
	line = place(a, places[dice(COUNT(places))], line);
	return (struct spelled){ line, known };
}

static void no_spelling_of_what_is_forbidden_runs_unasked(void **state)
{
	const char *seed = getenv("POLICY_SEED"), *rounds = getenv("POLICY_ROUNDS");
	struct policy *p = open_policy(true);
	int64_t n = ROUNDS, s = SEED;
	size_t bad = 0, denied = 0, different = 0;
	SCOPED(arena_free) struct arena keep = { 0 };
	struct map seen = { 0 };

	(void)(seed && str_i64(str_of(seed), &s));
	(void)(rounds && str_i64(str_of(rounds), &n));
	state_of_dice = (uint64_t)s * 2 + 1;
	for (int64_t i = 0; i < n; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct spelled sp = make(&a);
		struct policy_decision d;

		different += map_set(&seen, &keep, arena_dup(&keep, sp.line), &keep) == NULL;
		judge(p, sp.line, &a, &d);
		denied += d.verdict == VERDICT_DENY;
		if (d.verdict == VERDICT_DENY || (!sp.known && d.verdict == VERDICT_ASK))
			continue;
		if (bad++ < 20)
			print_message("%s (%.*s): %.*s\n", policy_word(d.verdict),
				      STRF(d.reason), STRF(sp.line));
	}
	policy_close(p);
	print_message("%zu different spellings of %lld, seed %lld: %zu refused, %lld asked\n",
		      different, (long long)n, (long long)s, denied,
		      (long long)n - (long long)denied - (long long)bad);
	assert_int_equal(bad, 0);
	assert_true(different >= 500 || n < ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_forbidden_is_refused_also_where_all_is_allowed),
		cmocka_unit_test(what_is_not_forbidden_is_asked_about),
		cmocka_unit_test(harmless_lines_run_when_their_commands_are_allowed),
		cmocka_unit_test(what_is_not_clear_is_asked_about_also_where_all_is_allowed),
		cmocka_unit_test(no_spelling_of_what_is_forbidden_runs_unasked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
