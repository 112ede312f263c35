/*
 * Commands that run other commands: which of their words are a command, and which are a text
 * that a shell will read.  An option that is not known here is taken to have no value; then
 * its value is looked at as if it were the command, and the rules that look at every word
 * see what follows.
 */
#include "policy/line.h"

#include "base/buf.h"

#include <string.h>

enum {
	PASSES = 1, /* adds nothing of its own */
	SETS = 2, /* NAME=VALUE may stand before the command */
	INPUT = 4, /* words from its input follow */
	JOINED = 8, /* the words together are a script */
	DASH_C = 16, /* -c gives a script */
};

struct wrapper {
	const char *name;
	const char *takes; /* short options with a value */
	const char *longs; /* long ones, with a blank at both ends */
	size_t skip; /* operands before the command */
	unsigned flags;
};

static const struct wrapper wrappers[] = {
	{ "env", "uC", " unset chdir ", 0, SETS },
	{ "timeout", "ks", " kill-after signal ", 1, PASSES },
	{ "nice", "n", " adjustment ", 0, PASSES },
	{ "nohup", "", "", 0, PASSES },
	{ "setsid", "", "", 0, PASSES },
	{ "time", "fo", " format output ", 0, PASSES },
	{ "stdbuf", "ioe", " input output error ", 0, PASSES },
	{ "ionice", "cnpPu", " class classdata ", 0, PASSES },
	{ "chrt", "TPD", "", 1, PASSES },
	{ "taskset", "", "", 1, PASSES },
	{ "command", "", "", 0, PASSES },
	{ "builtin", "", "", 0, PASSES },
	{ "exec", "a", "", 0, PASSES },
	{ "busybox", "", "", 0, PASSES },
	{ "toybox", "", "", 0, PASSES },
	{ "eval", "", "", 0, PASSES | JOINED },
	{ "sudo", "ugpCRTDhrtUc",
	  " user group prompt chdir host role type close-from "
	  "other-user chroot command-timeout login-class ",
	  0, SETS },
	{ "doas", "uC", "", 0, 0 },
	{ "pkexec", "u", " user ", 0, 0 },
	{ "run0", "u", " user unit property ", 0, 0 },
	{ "xargs", "adEILnPs",
	  " arg-file delimiter max-args max-procs max-chars "
	  "process-slot-var ",
	  0, INPUT },
	{ "watch", "nq", " interval equexit ", 0, JOINED },
	{ "parallel", "jaCSNIL", " jobs arg-file colsep sshlogin max-args ", 0,
	  JOINED | INPUT },
	{ "chroot", "", " userspec groups ", 1, 0 },
	{ "unshare", "SGRw", " setuid setgid root wd ", 0, 0 },
	{ "nsenter", "tSGrw", " target setuid setgid root wd ", 0, 0 },
	{ "setpriv", "", "", 0, 0 },
	{ "prlimit", "p", "", 0, 0 },
	{ "strace", "abeEIoOPpsSuUX", "", 0, 0 },
	{ "ltrace", "aAeFlnopsSuwx", "", 0, 0 },
	{ "flock", "wE", " wait timeout conflict-exit-code ", 1, DASH_C },
	{ "script", "EImoOTBc", " log-in log-out log-io log-timing echo output-limit ", 1,
	  DASH_C },
	{ "su", "gGsw", " group supp-group shell whitelist-environment ", 1, DASH_C },
	{ "runuser", "ugGsw", " user group supp-group shell ", 0, DASH_C },
	{ "sg", "", "", 1, DASH_C },
	{ "systemd-run", "putHM", " property unit slice uid gid working-directory ", 0, SETS },
	{ "systemd-inhibit", "", " what who why mode ", 0, 0 },
	{ "dbus-run-session", "", "", 0, 0 },
	{ "xvfb-run", "efnpsw", "", 0, 0 },
	{ "faketime", "", "", 1, 0 },
	{ "firejail", "", "", 0, 0 },
	{ "fakeroot", "lisb", "", 0, 0 },
	{ "unbuffer", "", "", 0, 0 },
	{ "rlwrap", "bcfHlOPpqSsw", "", 0, 0 },
	{ "proxychains", "f", "", 0, 0 },
	{ "proxychains4", "f", "", 0, 0 },
	{ "torsocks", "", "", 0, 0 },
	{ "torify", "", "", 0, 0 },
	{ "numactl", "", "", 0, 0 },
	{ "linux32", "", "", 0, 0 },
	{ "linux64", "", "", 0, 0 },
	{ "setarch", "", "", 1, 0 },
	{ "ssh", "BbcDEeFIiJLlmOopQRSWw", "", 1, JOINED },
	{ "entr", "", "", 0, INPUT },
	{ "chpst", "uUbedfrmcot/", "", 0, 0 },
	{ "catchsegv", "", "", 0, 0 },
	{ "start-stop-daemon", "", "", 0, 0 },
};

static const struct wrapper *find_wrapper(str name)
{
	for (size_t i = 0; i < COUNT(wrappers); i++)
		if (str_is(name, wrappers[i].name))
			return &wrappers[i];
	return NULL;
}

bool line_is_shell(str name)
{
	static const char *const names[] = { "sh",   "bash",  "dash",  "zsh",   "ash",  "ksh",
					     "mksh", "pdksh", "rbash", "yash",  "fish", "csh",
					     "tcsh", "posh",  "rzsh",  "ksh93", "lksh" };

	for (size_t i = 0; i < COUNT(names); i++)
		if (str_is(name, names[i]))
			return true;
	return false;
}

/* Words with a blank between them, as the shells of eval, watch and ssh get them. */
static str joined(struct arena *a, const struct shell_word *w, size_t n, bool *dynamic)
{
	struct buf b = buf_in(a, 2 * SHELL_MAX);

	*dynamic = false;
	for (size_t i = 0; i < n; i++) {
		buf_add(&b, i ? S(" ") : S(""));
		buf_add(&b, w[i].text);
		*dynamic |= w[i].dynamic;
	}
	return buf_str(&b);
}

static const struct shell_word unknown_word = {
	.text = { "$*", 2 }, .raw = { "$*", 2 }, .dynamic = true, .split = true, .leading = true
};

/* What follows comes from elsewhere: one more word, or with a mark those that hold it. */
static const struct shell_word *with_input(struct line *l, const struct shell_word *w,
					   size_t *n, str mark)
{
	struct shell_word *v = NEWN(l->a, struct shell_word, *n + 1);

	for (size_t i = 0; i < *n; i++) {
		v[i] = w[i];
		if (mark.n && str_has(w[i].text, mark)) {
			v[i].dynamic = v[i].split = true;
			v[i].leading |= str_starts(w[i].text, mark);
		}
	}
	if (!mark.n)
		v[(*n)++] = unknown_word;
	return v;
}

struct operands {
	size_t at; /* the first word that is no option */
	bool plain; /* neither options nor values that were set */
	str mark; /* of xargs -I */
};

/* A cluster of short options: does its last one take the next word? */
static bool cluster(const struct wrapper *w, str t, struct operands *o)
{
	for (size_t k = 1; k < t.n; k++) {
		if (!strchr(w->takes, t.p[k]))
			continue;
		if (t.p[k] == 'I')
			o->mark = str_sub(t, k + 1, t.n);
		return k + 1 == t.n;
	}
	return false;
}

static bool long_takes(struct line *l, const struct wrapper *w, str t)
{
	return !str_has(t, S("=")) &&
	       str_has(str_of(w->longs), arena_fmt(l->a, " %.*s ", STRF(str_sub(t, 2, t.n))));
}

static bool sets(str t)
{
	size_t i = 0;

	while (i < t.n && t.p[i] != '=' && t.p[i] != '/')
		i++;
	return i > 0 && i < t.n && t.p[i] == '=';
}

static void skip_options(struct line *l, const struct wrapper *w, const struct line_cmd *c,
			 struct operands *o)
{
	size_t skip = w->skip, i = 1;

	*o = (struct operands){ .plain = true };
	for (; i < c->n; i++) {
		str t = c->words[i].text;
		if (c->words[i].leading)
			line_doubt(l, "which command runs is known only when it does");
		if (str_eq(t, S("--")) && skip == 0) {
			i++;
			break;
		}
		if (t.n > 2 && t.p[0] == '-' && t.p[1] == '-') {
			i += long_takes(l, w, t);
			if (str_starts(t, S("--replace")))
				o->mark = S("{}");
		} else if (t.n > 1 && t.p[0] == '-') {
			if (str_starts(t, S("-i")) && (w->flags & INPUT))
				o->mark = t.n > 2 ? str_sub(t, 2, t.n) : S("{}");
			bool takes = cluster(w, t, o);
			if (takes && t.p[t.n - 1] == 'I' && i + 1 < c->n)
				o->mark = c->words[i + 1].text;
			i += takes;
		} else if ((w->flags & SETS) && sets(t)) {
			o->plain = false;
		} else if (skip > 0) {
			skip--;
			continue;
		} else {
			break;
		}
	}
	o->at = i < c->n ? i : c->n;
}

/* env -S and --split-string: words in a word. */
static bool env_split(struct line *l, struct line_cmd *c)
{
	size_t from = 0, i = 1;
	bool dynamic;

	for (; i < c->n && from == 0; i++) {
		str t = c->words[i].text;
		if (t.n < 2 || t.p[0] != '-') {
			if (!sets(t))
				return false;
			continue;
		}
		if (str_starts(t, S("--split-string")))
			from = t.n > 14 ? 15 : t.n;
		else if (str_eq(t, S("--unset")) || str_eq(t, S("--chdir")))
			i++;
		for (size_t k = 1; k < t.n && t.p[1] != '-' && from == 0; k++) {
			if (t.p[k] == 'S')
				from = k + 1;
			if (t.p[k] == 'u' || t.p[k] == 'C') {
				i += k + 1 == t.n;
				break;
			}
		}
	}
	if (from == 0)
		return false;
	str rest = joined(l->a, &c->words[i - 1], c->n - i + 1, &dynamic);
	line_script(l, c, str_sub(rest, from, rest.n), dynamic);
	return true;
}

/* -c and --command, wherever they stand. */
static bool dash_c(struct line *l, struct line_cmd *c)
{
	for (size_t i = 1; i < c->n; i++) {
		const struct shell_word *w = &c->words[i], *next = i + 1 < c->n ? w + 1 : NULL;
		str t = w->text;
		if (str_starts(t, S("--command=")))
			line_script(l, c, str_sub(t, 10, t.n), w->dynamic);
		else if (str_starts(t, S("-c")) && t.n > 2)
			line_script(l, c, str_sub(t, 2, t.n), w->dynamic);
		else if (next &&
			 (str_eq(t, S("--command")) ||
			  (t.n > 1 && t.p[0] == '-' && t.p[1] != '-' && t.p[t.n - 1] == 'c')))
			line_script(l, c, next->text, next->dynamic);
		else
			continue;
		return true;
	}
	return false;
}

static void open_wrapper(struct line *l, struct line_cmd *c, const struct wrapper *w)
{
	struct operands o;
	bool dynamic;

	if (str_eq(c->name, S("env")) && env_split(l, c))
		return;
	if (str_eq(c->name, S("command")) && c->n > 1 &&
	    (str_eq(c->words[1].text, S("-v")) || str_eq(c->words[1].text, S("-V"))))
		return;
	if ((w->flags & DASH_C) && dash_c(l, c))
		return;
	for (size_t i = 1; i < c->n && str_eq(c->name, S("ssh")); i++)
		if (str_has(c->words[i].text, S("Command")))
			line_doubt(l, "it tells ssh what to run");
	skip_options(l, w, c, &o);
	size_t n = c->n - o.at;
	const struct shell_word *rest = c->words + o.at;
	if (n == 0)
		return;
	if (w->flags & INPUT)
		rest = with_input(l, rest, &n, o.mark);
	c->passes = (w->flags & PASSES) && o.plain;
	if (w->flags & JOINED) {
		str text = joined(l->a, rest, n, &dynamic);
		line_script(l, c, text, dynamic);
	} else {
		line_run(l, c, rest, n);
	}
}

/* --- shells --------------------------------------------------------------------------- */

/* A text that is written in the line and goes to the shell's input. */
static void from_input(struct line *l, struct line_cmd *c)
{
	const struct shell_cmd *own = c->own;
	bool known = false;

	c->input = true;
	if (l->n > LINE_MANY)
		return;
	for (const struct shell_redir *r = own->redirs; r && !line_full(l); r = r->next) {
		if (r->kind == SHELL_HERE)
			line_script(l, c, r->to.text, r->to.dynamic);
		else if (r->kind == SHELL_IN)
			line_doubt(l, "a shell reads its commands from a file");
		known |= r->kind == SHELL_HERE || r->kind == SHELL_IN;
	}
	if (known)
		return;
	if (own->fed || own->function.n)
		line_doubt(l, "a shell reads its commands from what another command writes");
	for (struct line_cmd *p = l->first; p && own->fed && !line_full(l); p = p->next) {
		bool dynamic;
		if (p->script != c->script || p->own->no < own->feeder || p->own->no >= own->no)
			continue;
		if (str_eq(p->name, S("echo")) || str_eq(p->name, S("printf")))
			line_script(l, c, joined(l->a, p->words + 1, p->n - 1, &dynamic), true);
		for (const struct shell_redir *r = p->own->redirs; r && !line_full(l);
		     r = r->next)
			if (r->kind == SHELL_HERE)
				line_script(l, c, r->to.text, true);
	}
}

static bool is_input(const struct shell_word *w)
{
	return str_eq(w->text, S("-")) || str_starts(w->text, S("/dev/stdin")) ||
	       str_starts(w->text, S("/dev/fd/")) || str_starts(w->text, S("/proc/"));
}

/* A file with commands; one that is made by a command cannot be looked at. */
static void from_file(struct line *l, struct line_cmd *c, const struct shell_word *w)
{
	if (is_input(w)) {
		from_input(l, c);
		if (w->text.n > 1 && !c->kids)
			line_doubt(l, "a shell reads its commands from what is open");
	} else if (w->dynamic) {
		line_doubt(l, "a shell reads its commands from what another command writes");
	}
}

static void open_shell(struct line *l, struct line_cmd *c)
{
	bool script = false, input = false;
	size_t i = 1, values = 0;

	if (str_ends(c->name, S("csh")) || str_eq(c->name, S("fish")))
		line_doubt(l, "that shell's language is not known here");
	for (; i < c->n; i++) {
		str t = c->words[i].text;
		if (c->words[i].leading)
			line_doubt(l, "what a shell runs is known only when it does");
		if (str_eq(t, S("--"))) {
			i++;
			break;
		}
		if (t.n < 2 || (t.p[0] != '-' && t.p[0] != '+'))
			break;
		if (t.p[1] == '-') {
			i += str_eq(t, S("--rcfile")) || str_eq(t, S("--init-file"));
			continue;
		}
		values = 0;
		for (size_t k = 1; k < t.n; k++) {
			script |= t.p[k] == 'c' && t.p[0] == '-';
			input |= t.p[k] == 's';
			values += t.p[k] == 'o' || t.p[k] == 'O';
		}
		i += values;
	}
	if (script && i < c->n) {
		c->passes = true;
		line_script(l, c, c->words[i].text, c->words[i].dynamic);
	} else if (!script && i < c->n && !input) {
		from_file(l, c, &c->words[i]);
	} else {
		from_input(l, c);
	}
}

/* --- others --------------------------------------------------------------------------- */

/* What stands between -exec and its end. */
static void open_find(struct line *l, struct line_cmd *c)
{
	static const char *const verbs[] = { "-exec", "-execdir", "-ok", "-okdir" };

	for (size_t i = 1; i < c->n; i++) {
		bool runs = false;
		for (size_t k = 0; k < COUNT(verbs); k++)
			runs |= str_eq(c->words[i].text, str_of(verbs[k]));
		size_t from = i + 1, n;
		if (!runs)
			continue;
		for (i = from; i < c->n && !str_eq(c->words[i].text, S(";")); i++)
			if (str_eq(c->words[i].text, S("+")) && i > from &&
			    str_eq(c->words[i - 1].text, S("{}")))
				break;
		n = i - from;
		if (n)
			line_run(l, c, with_input(l, &c->words[from], &n, S("{}")), n);
	}
}

static void open_fd(struct line *l, struct line_cmd *c)
{
	static const char *const verbs[] = { "-x", "-X", "--exec", "--exec-batch" };

	for (size_t i = 1; i < c->n; i++) {
		str t = c->words[i].text;
		if (str_starts(t, S("--exec=")) || str_starts(t, S("--exec-batch=")) ||
		    (t.n > 2 && (str_starts(t, S("-x")) || str_starts(t, S("-X")))))
			line_doubt(l, "it tells fd what to run");
		for (size_t k = 0; k < COUNT(verbs); k++) {
			size_t n = c->n - i - 1;
			if (!str_eq(c->words[i].text, str_of(verbs[k])) || n == 0)
				continue;
			line_run(l, c, with_input(l, &c->words[i + 1], &n, S("{}")), n);
			return;
		}
	}
}

/* Texts that git gives to a shell. */
static void open_git(struct line *l, struct line_cmd *c)
{
	bool dynamic;

	for (size_t i = 1; i + 1 < c->n; i++) {
		str t = c->words[i].text, value = c->words[i + 1].text;
		bool set = str_eq(t, S("-c")) || str_eq(t, S("--config-env"));
		str key = arena_lower(l->a, str_cut(&value, '='));
		if (set && (str_starts(key, S("alias.")) || str_ends(key, S("editor")) ||
			    str_ends(key, S(".pager")) || str_ends(key, S(".fsmonitor")) ||
			    str_ends(key, S(".hookspath")) || str_ends(key, S("askpass")) ||
			    str_ends(key, S("proxy")) || str_ends(key, S(".helper")) ||
			    str_ends(key, S("cmd")) || str_ends(key, S("command")) ||
			    str_ends(key, S(".program")) || str_starts(key, S("pager.")) ||
			    str_starts(key, S("filter.")) || str_starts(key, S("diff."))))
			line_doubt(l, "it tells git what to run");
		if (set && str_starts(value, S("!")))
			line_script(l, c, str_sub(value, 1, value.n), true);
		bool each = str_eq(t, S("foreach")) || str_eq(t, S("--exec")) ||
			    (str_eq(t, S("-x")) && !str_eq(c->words[1].text, S("clean"))) ||
			    (i > 1 && str_eq(t, S("run")) &&
			     str_eq(c->words[i - 1].text, S("bisect")));
		if (!each)
			continue;
		str text = joined(l->a, &c->words[i + 1], c->n - i - 1, &dynamic);
		line_script(l, c, text, dynamic);
		return;
	}
}

static void open_trap(struct line *l, struct line_cmd *c)
{
	size_t i = c->n > 1 && str_eq(c->words[1].text, S("--")) ? 2 : 1;

	if (i + 1 < c->n && c->words[i].text.n > 1)
		line_script(l, c, c->words[i].text, c->words[i].dynamic);
}

static void open_source(struct line *l, struct line_cmd *c)
{
	if (c->n > 1)
		from_file(l, c, &c->words[1]);
}

/* From here on a name means something else. */
static void open_names(struct line *l, struct line_cmd *c)
{
	bool path = str_eq(c->name, S("hash")) || str_eq(c->name, S("enable"));

	for (size_t i = 1; i < c->n; i++) {
		str value = c->words[i].text, first = str_cut(&value, '=');
		if (path ? str_starts(first, S("-p")) || str_starts(first, S("-f"))
			 : value.n > 0 || c->words[i].dynamic)
			line_doubt(l, "it gives a command another name");
		if (!path && value.n)
			line_script(l, c, value, c->words[i].dynamic);
	}
}

/* A program that reads its own language from its input. */
static void open_interpreter(struct line *l, struct line_cmd *c)
{
	bool operand = false;

	for (size_t i = 1; i < c->n; i++)
		operand |= !str_eq(c->words[i].text, S("-"));
	if (!operand && c->own->fed)
		line_doubt(l, "a program is read from what another command writes");
}

static const struct opener {
	const char *name;
	void (*open)(struct line *l, struct line_cmd *c);
} openers[] = {
	{ "find", open_find },          { "fd", open_fd },
	{ "fdfind", open_fd },          { "git", open_git },
	{ "trap", open_trap },          { ".", open_source },
	{ "source", open_source },      { "alias", open_names },
	{ "hash", open_names },         { "enable", open_names },
	{ "python", open_interpreter }, { "python3", open_interpreter },
	{ "perl", open_interpreter },   { "ruby", open_interpreter },
	{ "node", open_interpreter },   { "php", open_interpreter },
	{ "lua", open_interpreter },
};

void line_open(struct line *l, struct line_cmd *c)
{
	const struct wrapper *w = find_wrapper(c->name);

	if (c->name.n == 0)
		return;
	if (w) {
		open_wrapper(l, c, w);
		return;
	}
	if (line_is_shell(c->name)) {
		open_shell(l, c);
		return;
	}
	for (size_t i = 0; i < COUNT(openers); i++)
		if (str_is(c->name, openers[i].name))
			openers[i].open(l, c);
}
