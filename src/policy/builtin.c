/*
 * The built-in deny rules.  They look at words, not at text: what stands in quotes, in
 * another order or behind another command is the same to them.
 */
#include "policy/builtin.h"

#include "base/path.h"

#include <string.h>

static bool among(str s, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(s, v[i]))
			return true;
	return false;
}

/* Could the word be an option, or several words?  A path cannot. */
static bool may_be_option(const struct shell_word *w)
{
	str t = w->text;
	size_t open = 0;

	if (w->split)
		return true;
	if (!w->leading)
		return w->dynamic && t.n && t.p[0] == '-';
	for (size_t i = 0; i < t.n; i++) {
		open += t.p[i] == '{' || t.p[i] == '(';
		open -= (t.p[i] == '}' || t.p[i] == ')') && open > 0;
		if (t.p[i] == '/' && open == 0)
			return false;
	}
	return true;
}

/* -abc with one of these letters. */
static bool has_flag(str t, const char *letters)
{
	if (t.n < 2 || t.p[0] != '-' || t.p[1] == '-')
		return false;
	for (size_t i = 1; i < t.n; i++)
		if (t.p[i] && strchr(letters, t.p[i]))
			return true;
	return false;
}

/* --name, as short as programs take it. */
static bool has_long(str t, str name)
{
	str first = str_cut(&t, '=');

	return first.n > 2 && str_starts(name, first);
}

/* --- rm ------------------------------------------------------------------------------- */

/* These only read or write what they are given. */
static bool only_reads(str name)
{
	static const char *const names[] = {
		"grep",   "egrep", "fgrep",   "rg",      "ag",      "ack",       "echo",
		"printf", "man",   "type",    "whereis", "which",   "whatis",    "tldr",
		"help",   "info",  "apropos", "apt",     "apt-get", "apt-cache", "dpkg",
		"git",    "cat",   "less",    "head",    "tail",    "wc",        "stat",
		"file",   "touch", "ls",      "mkdir",   "cd",      "diff",      "cmp",
		"sort",   "test",  "[",       "[[",      "command", "hash",      "cp",
		"mv",     "ln",    "tee",     "vim",     "nano",    "read",
	};

	return among(name, names, COUNT(names));
}

/* The word behind git's own options; 0 none. */
static size_t git_verb(const struct line_cmd *c)
{
	static const char *const takes[] = { "-c",          "-C",          "--git-dir",
					     "--work-tree", "--namespace", "--config-env" };

	for (size_t i = 1; i < c->n; i++) {
		str t = c->words[i].text;
		if (among(t, takes, COUNT(takes)))
			i++;
		else if (!str_starts(t, S("-")))
			return i;
	}
	return 0;
}

/* How rm is told: by letters or by names. */
struct telling {
	const char *letters;
	str names[2];
};

/* Behind it rm reads no options. */
static bool rm_ends(str t)
{
	return str_eq(t, S("--")) || str_eq(t, S(";"));
}

static enum builtin_hit rm_words(const struct shell_word *w, size_t n,
				 const struct telling *how)
{
	enum builtin_hit hit = HIT_NO;

	for (size_t i = 0; i < n; i++) {
		str t = w[i].text;
		if (rm_ends(t))
			break;
		if (has_flag(t, how->letters) || has_long(t, how->names[0]) ||
		    has_long(t, how->names[1]))
			return HIT_YES;
		if (may_be_option(&w[i]))
			hit = HIT_MAYBE;
	}
	return hit;
}

static enum builtin_hit rm(const struct line_cmd *c, const struct telling *how)
{
	static const struct telling force = { "f", { S("--force"), S("") } };
	size_t verb = str_eq(c->name, S("git")) ? git_verb(c) : 0, i = 1;
	bool behind = false;

	if (str_eq(c->name, S("rm")))
		return rm_words(c->words + 1, c->n - 1, how);
	if (verb && str_eq(c->words[verb].text, S("rm")))
		return rm_words(c->words + verb + 1, c->n - verb - 1, &force) == HIT_YES
			       ? HIT_YES
			       : HIT_NO;
	while (i < c->n && !str_eq(line_base_name(c->words[i].text), S("rm")))
		i++;
	if (i >= c->n || only_reads(c->name))
		return HIT_NO;
	/* Behind a command that nobody knows to run others. */
	for (; i < c->n; i++) {
		if (behind && rm_words(&c->words[i], 1, how) == HIT_YES)
			return HIT_YES;
		behind = !rm_ends(c->words[i].text) &&
			 (behind || str_eq(line_base_name(c->words[i].text), S("rm")));
	}
	return HIT_NO;
}

static enum builtin_hit rm_short(const struct line *l, const struct line_cmd *c)
{
	static const struct telling how = { "rRf", { S(""), S("") } };

	(void)l;
	return rm(c, &how);
}

static enum builtin_hit rm_long(const struct line *l, const struct line_cmd *c)
{
	static const struct telling how = { "", { S("--recursive"), S("--force") } };

	(void)l;
	return rm(c, &how);
}

static enum builtin_hit find_delete(const struct line *l, const struct line_cmd *c)
{
	enum builtin_hit hit = HIT_NO;

	(void)l;
	if (!str_eq(c->name, S("find")))
		return HIT_NO;
	for (size_t i = 1; i < c->n; i++) {
		if (str_eq(c->words[i].text, S("-delete")))
			return HIT_YES;
		if (may_be_option(&c->words[i]))
			hit = HIT_MAYBE;
	}
	return hit;
}

/* --- disks ---------------------------------------------------------------------------- */

/* path without . and .. and repeated slashes; a relative one stays as it is. */
static str clean(struct arena *a, str path)
{
	str out;

	if (!str_starts(path, S("/")) || path_absolute(&out, a, path, S(""), S("/"), NULL) < 0)
		return path;
	return out;
}

static bool is_disk(struct arena *a, str path)
{
	static const char *const kinds[] = { "sd",     "hd",     "vd", "xvd", "nvme", "disk",
					     "mmcblk", "mapper", "md", "dm-", "loop", "rdisk" };

	path = clean(a, path);
	if (!str_starts(path, S("/dev/")))
		return false;
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (str_starts(str_sub(path, 5, path.n), str_of(kinds[i])))
			return true;
	return false;
}

static enum builtin_hit mkfs(const struct line *l, const struct line_cmd *c)
{
	(void)l;
	return str_eq(c->name, S("mkfs")) || str_starts(c->name, S("mkfs.")) ? HIT_YES : HIT_NO;
}

static enum builtin_hit dd(const struct line *l, const struct line_cmd *c)
{
	static const char *const harmless[] = { "/dev/null", "/dev/stdout", "/dev/stderr" };
	enum builtin_hit hit = HIT_NO;

	if (!str_eq(c->name, S("dd")))
		return HIT_NO;
	for (size_t i = 1; i < c->n; i++) {
		const struct shell_word *w = &c->words[i];
		str to = clean(l->a, str_sub(w->text, 3, w->text.n));
		if (str_starts(w->text, S("of=")) && str_starts(to, S("/dev/")) &&
		    !among(to, harmless, COUNT(harmless)))
			return HIT_YES;
		if (w->dynamic && (w->split || w->leading || str_starts(w->text, S("of="))))
			hit = HIT_MAYBE;
	}
	return hit;
}

static enum builtin_hit to_disk(const struct line *l, const struct line_cmd *c)
{
	if (c->how == LINE_RUN)
		return HIT_NO;
	for (const struct shell_redir *r = c->own->redirs; r; r = r->next)
		if (r->kind != SHELL_IN && r->kind != SHELL_HERE && is_disk(l->a, r->to.text))
			return HIT_YES;
	return HIT_NO;
}

/* --- the machine and its users -------------------------------------------------------- */

/* A function that calls itself more than once, or beside itself. */
static enum builtin_hit fork_bomb(const struct line *l, const struct line_cmd *c)
{
	size_t calls = 0;

	if (!c->own->function.n || !str_eq(c->name, c->own->function))
		return HIT_NO;
	if (l->n > LINE_MANY)
		return HIT_MAYBE;
	for (const struct line_cmd *p = l->first; p; p = p->next)
		if (p->script == c->script && str_eq(p->own->function, c->own->function) &&
		    str_eq(p->name, c->name))
			if ((calls += p->own->background ? 2 : 1) > 1)
				return HIT_YES;
	return HIT_NO;
}

static enum builtin_hit power(const struct line *l, const struct line_cmd *c)
{
	static const char *const words[] = { "shutdown", "reboot", "halt", "poweroff" };

	(void)l;
	if (among(c->name, words, COUNT(words)))
		return HIT_YES;
	if (!str_eq(c->name, S("systemctl")) && !str_eq(c->name, S("loginctl")))
		return HIT_NO;
	for (size_t i = 1; i < c->n; i++)
		if (among(c->words[i].text, words, COUNT(words)))
			return HIT_YES;
	return HIT_NO;
}

static bool opens_all(str mode)
{
	static const char *const modes[] = { "a+rwx", "a=rwx", "ugo+rwx", "ugo=rwx", "+rwx" };
	size_t i = 0;

	while (i < mode.n && mode.p[i] >= '0' && mode.p[i] <= '7')
		i++;
	return (i == mode.n && str_ends(mode, S("777"))) || among(mode, modes, COUNT(modes));
}

/* The root, or a directory directly below it. */
static bool is_top(struct arena *a, str path)
{
	path = clean(a, path);
	if (!str_starts(path, S("/")))
		return false;
	return !memchr(path.p + 1, '/', path.n - 1) && !str_eq(path, S("/tmp"));
}

static enum builtin_hit chmod_root(const struct line *l, const struct line_cmd *c)
{
	bool all = false, top = false, unknown = false;

	if (!str_eq(c->name, S("chmod")))
		return HIT_NO;
	for (size_t i = 1; i < c->n; i++) {
		all |= opens_all(c->words[i].text);
		top |= is_top(l->a, c->words[i].text);
		unknown |= c->words[i].dynamic;
	}
	return all && top ? HIT_YES : unknown && (all || top) ? HIT_MAYBE : HIT_NO;
}

static enum builtin_hit users(const struct line *l, const struct line_cmd *c)
{
	static const char *const names[] = { "userdel", "groupdel", "passwd" };

	(void)l;
	return among(c->name, names, COUNT(names)) ? HIT_YES : HIT_NO;
}

static enum builtin_hit history(const struct line *l, const struct line_cmd *c)
{
	(void)l;
	if (!str_eq(c->name, S("history")))
		return HIT_NO;
	for (size_t i = 1; i < c->n; i++)
		if (has_flag(c->words[i].text, "c"))
			return HIT_YES;
	return HIT_NO;
}

/* --- what comes from elsewhere -------------------------------------------------------- */

static enum builtin_hit fetched(const struct line *l, const struct line_cmd *c)
{
	static const char *const readers[] = { "eval", "source", "." };

	if (l->n > LINE_MANY)
		return HIT_MAYBE;
	if (c->input && c->own->fed && line_fetches(l, c->script, c->own->feeder, c->own->no))
		return HIT_YES;
	if (!line_is_shell(c->name) && !among(c->name, readers, COUNT(readers)))
		return HIT_NO;
	for (size_t i = 1; i < c->n; i++)
		if (line_fetches(l, c->script, c->words[i].sub_from, c->words[i].sub_to))
			return HIT_YES;
	for (const struct shell_redir *r = c->own->redirs; r; r = r->next)
		if (line_fetches(l, c->script, r->to.sub_from, r->to.sub_to))
			return HIT_YES;
	return HIT_NO;
}

/* --- git ------------------------------------------------------------------------------ */

static enum builtin_hit git_push(const struct line *l, const struct line_cmd *c)
{
	enum builtin_hit hit = HIT_NO;
	size_t verb;

	(void)l;
	if (!str_eq(c->name, S("git")) || (verb = git_verb(c)) == 0)
		return HIT_NO;
	if (c->words[verb].dynamic)
		return HIT_MAYBE;
	if (!str_eq(c->words[verb].text, S("push")))
		return HIT_NO;
	for (size_t i = verb + 1; i < c->n; i++) {
		str t = c->words[i].text;
		if (has_flag(t, "f") || str_starts(t, S("+")) || str_starts(t, S("--forc")))
			return HIT_YES;
		if (c->words[i].split || c->words[i].leading)
			hit = HIT_MAYBE;
	}
	return hit;
}

const struct builtin_rule builtin_rules[] = {
	{ "rm", "rm with -r, -R or -f", rm_short },
	{ "rm-long", "rm with --recursive or --force", rm_long },
	{ "find-delete", "find with -delete", find_delete },
	{ "mkfs", "making a file system", mkfs },
	{ "dd", "dd onto a device", dd },
	{ "fork-bomb", "a function that calls itself without end", fork_bomb },
	{ "power", "shutdown, reboot, halt, poweroff", power },
	{ "disk", "a redirection onto a disk", to_disk },
	{ "chmod-root", "chmod 777 onto / or a directory in it", chmod_root },
	{ "fetch-run", "what was fetched (curl, wget) given to a shell", fetched },
	{ "git-push-force", "git push with force, or of a +refspec", git_push },
	{ "users", "userdel, groupdel, passwd", users },
	{ "history", "history -c", history },
};
const size_t builtin_rules_n = COUNT(builtin_rules);
