/*
 * The environment of a child: what it needs, and never a secret of ours.
 */
#include "config/load.h"

#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "config/options.h"

#define PATH_DEFAULT "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#define EXPANDED_MAX ((size_t)1 << 20)

static const char *const passed[] = { "PATH", "HOME", "LANG", "TZ", "TMPDIR" };

static str name_of(const char *entry)
{
	str rest = str_of(entry);

	return str_cut(&rest, '=');
}

/* Is it a variable of an option, one that belongs to the whole process (proxies,
 * certificates) or one of ours alone? */
static bool of_option(str name, bool process)
{
	for (size_t i = 0; i < options_n; i++) {
		str names = str_of(options[i].env);

		while (names.n && process == ((options[i].flags & OPT_PROCESS) != 0))
			if (str_eq(str_cut(&names, ' '), name))
				return true;
	}
	return false;
}

/* How the service manager is spoken to is for the daemon alone. */
static bool of_manager(str name)
{
	return str_eq(name, S("NOTIFY_SOCKET")) || str_starts(name, S("WATCHDOG_")) ||
	       str_starts(name, S("LISTEN_"));
}

static bool ours(str name)
{
	return str_starts(name, S("GANTRY_")) || str_starts(name, S("MTCLAW_")) ||
	       str_eq(name, S("LLM_API_KEY")) || str_eq(name, S("TELEGRAM_BOT_TOKEN")) ||
	       of_manager(name) || of_option(name, false);
}

static bool holds_secret(const struct config *c, str value)
{
	for (size_t i = 0; i < c->secrets_n; i++) {
		str s = c->secrets[i];

		if (str_eq(value, s) || (s.n >= 6 && str_has(value, s)))
			return true;
	}
	return false;
}

static bool always(str name)
{
	for (size_t i = 0; i < COUNT(passed); i++)
		if (str_eq(name, str_of(passed[i])))
			return true;
	return false;
}

static bool replaced(str name, const str *extra, size_t extra_n)
{
	for (size_t i = 0; i < extra_n; i++) {
		str rest = extra[i];

		if (str_eq(str_cut(&rest, '='), name))
			return true;
	}
	return false;
}

const char *const *config_child_env(struct arena *a, const struct config *c,
				    const struct env *env, bool inherit, const str *extra,
				    size_t extra_n)
{
	size_t n = 0, max = extra_n + 3;
	const char **v;
	bool path = replaced(S("PATH"), extra, extra_n);

	for (const char *const *p = env->v; p && *p; p++)
		max++;
	v = NEWN(a, const char *, max);
	for (const char *const *p = env->v; p && *p; p++) {
		str name = name_of(*p), entry = str_of(*p);

		if (!(inherit || always(name)) || ours(name) || !name.n || name.n == entry.n ||
		    replaced(name, extra, extra_n) ||
		    (holds_secret(c, str_sub(entry, name.n + 1, entry.n)) &&
		     !of_option(name, true)))
			continue;
		path = path || str_eq(name, S("PATH"));
		v[n++] = arena_cstr(a, entry);
	}
	if (!path)
		v[n++] = PATH_DEFAULT;
	/* Which agents are served above, so that gantry mcp does not start itself. */
	if (env_get(env, ENV_WITHIN).n)
		v[n++] = arena_fmt(a, ENV_WITHIN "=%.*s", STRF(env_get(env, ENV_WITHIN))).p;
	for (size_t i = 0; i < extra_n; i++) /* of a name given twice the last counts */
		if (!replaced(name_of(arena_cstr(a, extra[i])), extra + i + 1, extra_n - i - 1))
			v[n++] = arena_cstr(a, extra[i]);
	return v;
}

/* The name that a "$" before rest is followed by, and how many bytes that takes; 0: none. */
static size_t variable(str rest, str *name)
{
	bool braces = str_starts(rest, S("{"));
	size_t from = braces, to = from;

	while (to < rest.n && ascii_name(rest.p[to], to == from))
		to++;
	*name = str_sub(rest, from, to);
	if (!name->n || (braces && (to == rest.n || rest.p[to] != '}')))
		return 0;
	return to + braces;
}

str config_child_expand(struct arena *a, const char *const *env, str text)
{
	const struct env of = { env };
	struct buf b = buf_in(a, EXPANDED_MAX);
	str name;

	for (size_t i = 0, n; i < text.n; i += n + 1) {
		n = text.p[i] == '$' ? variable(str_sub(text, i + 1, text.n), &name) : 0;
		if (n)
			buf_add(&b, env_get(&of, arena_cstr(a, name)));
		else
			buf_addc(&b, text.p[i]);
	}
	return buf_str(&b);
}
