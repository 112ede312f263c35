/*
 * The values of one server's entry.  Whether they fit each other is asked in mcp/manifest.
 */
#include "mcp/manifest_value.h"

#include "config/options.h"
#include "config/value.h"

#include <string.h>

#define PROFILES "strict compat off"
#define TIMEOUT_MAX_MS (INT64_C(7) * 24 * 3600 * 1000)

/* "line 4: server "garmin"", without the line where it is not known (JSON). */
const char *mcp_value_where(const struct mcp_at *at, const struct toml *v)
{
	str line = v->line ? arena_fmt(at->a, "line %d: ", v->line) : (str){ 0 };

	if (!at->server.n)
		return arena_fmt(at->a, "%.*sa server", STRF(line)).p;
	return arena_fmt(at->a, "%.*sserver \"%.*s\"", STRF(line), STRF(at->server)).p;
}

static int mistaken(const struct mcp_at *at, const struct toml *v, const char *want,
		    struct err *e)
{
	return err_set(e, E_INVAL, "%s: \"%.*s\" should be %s, not %s", mcp_value_where(at, v),
		       STRF(v->key), want, toml_type_text(v->type));
}

static int check_text(const struct mcp_at *at, const struct toml *v, str key, struct err *e)
{
	if (memchr(v->s.p ? v->s.p : "", 0, v->s.n))
		return err_set(e, E_INVAL, "%s: \"%.*s\" has a NUL in it",
			       mcp_value_where(at, v), STRF(key));
	return OK;
}

int mcp_value_list(const struct mcp_at *at, const struct toml *v, struct str_list *out,
		   struct err *e)
{
	str *items;
	size_t n = 0;
	int rc;

	if (v->type != TOML_ARRAY)
		return mistaken(at, v, "an array of strings", e);
	items = NEWN(at->a, str, v->n);
	for (const struct toml *c = v->child; c; c = c->next) {
		if (c->type != TOML_STRING)
			return err_set(e, E_INVAL, "%s: \"%.*s\" holds %s, not a string",
				       mcp_value_where(at, c), STRF(v->key),
				       toml_type_text(c->type));
		if ((rc = check_text(at, c, v->key, e)) < 0)
			return rc;
		items[n++] = arena_dup(at->a, c->s);
	}
	*out = (struct str_list){ items, n };
	return OK;
}

static str scalar_text(struct arena *a, const struct toml *v)
{
	switch (v->type) {
	case TOML_STRING:
		return arena_dup(a, v->s);
	case TOML_INT:
		return arena_fmt(a, "%lld", (long long)v->i);
	case TOML_BOOL:
		return v->b ? S("true") : S("false");
	default:
		return (str){ 0 };
	}
}

/* ["K=V"] or a table. */
int mcp_value_env(const struct mcp_at *at, const struct toml *v, struct str_list *out,
		  struct err *e)
{
	str *items = NEWN(at->a, str, v->n);
	size_t n = 0;
	int rc;

	if (v->type != TOML_ARRAY && v->type != TOML_TABLE)
		return mistaken(at, v, "a table or an array of \"NAME=value\"", e);
	for (const struct toml *c = v->child; c; c = c->next) {
		str item = scalar_text(at->a, c);

		if (!item.p || (v->type == TOML_ARRAY && c->type != TOML_STRING))
			return err_set(e, E_INVAL, "%s: \"env\" holds %s, not a string",
				       mcp_value_where(at, c), toml_type_text(c->type));
		if ((rc = check_text(at, c, S("env"), e)) < 0)
			return rc;
		if (v->type == TOML_TABLE &&
		    (str_has(c->key, S("=")) || strlen(c->key.p) < c->key.n))
			return err_set(e, E_INVAL,
				       "%s: \"env\" has a name with \"=\" or NUL in it",
				       mcp_value_where(at, c));
		if (v->type == TOML_TABLE)
			item = arena_fmt(at->a, "%.*s=%.*s", STRF(c->key), STRF(item));
		/* The value stays unnamed: it may be a secret. */
		if (!str_has(item, S("=")) || item.p[0] == '=')
			return err_set(e, E_INVAL,
				       "%s: an entry of \"env\" is no \"NAME=value\"",
				       mcp_value_where(at, c));
		items[n++] = item;
	}
	*out = (struct str_list){ items, n };
	return OK;
}

/* Seconds as a number, or a duration like "1m30s". */
int mcp_value_time(const struct mcp_at *at, const struct toml *v, int64_t *out, struct err *e)
{
	int64_t ms = 0;

	if (v->type == TOML_INT && v->i > 0 && v->i <= TIMEOUT_MAX_MS / 1000)
		ms = v->i * 1000;
	else if (v->type == TOML_FLOAT && v->d > 0 && v->d <= (double)TIMEOUT_MAX_MS / 1e3)
		ms = (int64_t)(v->d * 1e3);
	else if (v->type == TOML_STRING)
		(void)value_ms(at->a, v->s, 1, TIMEOUT_MAX_MS, &ms);
	if (ms < 1)
		return err_set(e, E_INVAL,
			       "%s: \"%.*s\" should be seconds or a duration like \"1m30s\", "
			       "up to 7 days",
			       mcp_value_where(at, v), STRF(v->key));
	*out = ms;
	return OK;
}

int mcp_value_text(const struct mcp_at *at, const struct toml *v, str *out, struct err *e)
{
	int rc;

	if (v->type != TOML_STRING)
		return mistaken(at, v, "a string", e);
	if ((rc = check_text(at, v, v->key, e)) < 0)
		return rc;
	*out = arena_dup(at->a, str_trim(v->s));
	return OK;
}

int mcp_value_flag(const struct mcp_at *at, const struct toml *v, bool *out, struct err *e)
{
	if (v->type != TOML_BOOL)
		return mistaken(at, v, "true or false", e);
	*out = v->b;
	return OK;
}

int mcp_value_word(const struct mcp_at *at, const struct toml *v, const char *words, str *out,
		   struct err *e)
{
	str text;
	int rc = mcp_value_text(at, v, &text, e);

	if (rc == OK && value_word(at->a, text, words, out))
		return err_set(e, E_INVAL, "%s: \"%.*s\" should be one of: %s",
			       mcp_value_where(at, v), STRF(v->key), words);
	return rc;
}

int mcp_value_paths(const struct mcp_at *at, const struct toml *v, struct str_list *out,
		    struct err *e)
{
	int rc = mcp_value_list(at, v, out, e);

	for (size_t i = 0; rc == OK && i < out->n; i++)
		if (!str_starts(out->v[i], S("/")))
			rc = err_set(e, E_INVAL, "%s: the paths in \"%.*s\" must be absolute",
				     mcp_value_where(at, v), STRF(v->key));
	return rc;
}

static int read_grants(const struct mcp_at *at, const struct toml *v, struct str_list *out,
		       struct err *e)
{
	const char *words = options[option_find(S("tools.exec.sandbox.grants"))].words;
	struct str_list given = { 0 };
	int rc = mcp_value_list(at, v, &given, e);
	str *known = NEWN(at->a, str, given.n);

	*out = (struct str_list){ known, given.n };
	for (size_t i = 0; rc == OK && i < given.n; i++)
		if (value_word(at->a, given.v[i], words, &known[i]))
			rc = err_set(e, E_INVAL, "%s: \"grants\" should have some of: %s",
				     mcp_value_where(at, v), words);
	return rc;
}

/* "strict", or { profile = "strict", network = "deny", ... }. */
int mcp_value_box(const struct mcp_at *at, const struct toml *v, struct sandbox_cfg *box,
		  struct err *e)
{
	int rc = OK;

	if (v->type != TOML_TABLE)
		return mcp_value_word(at, v, PROFILES, &box->profile, e);
	box->profile = S("strict");
	for (const struct toml *c = v->child; c && rc == OK; c = c->next) {
		if (str_eq(c->key, S("profile")))
			rc = mcp_value_word(at, c, PROFILES, &box->profile, e);
		else if (str_eq(c->key, S("network")))
			rc = mcp_value_word(at, c, "allow deny", &box->network, e);
		else if (str_eq(c->key, S("require")))
			rc = mcp_value_flag(at, c, &box->require, e);
		else if (str_eq(c->key, S("read")))
			rc = mcp_value_paths(at, c, &box->read, e);
		else if (str_eq(c->key, S("write")))
			rc = mcp_value_paths(at, c, &box->write, e);
		else if (str_eq(c->key, S("grants")))
			rc = read_grants(at, c, &box->grants, e);
		else
			/* Unlike elsewhere: what is not understood could be a limit. */
			rc = err_set(e, E_INVAL, "%s: \"sandbox\" has no key \"%.*s\"",
				     mcp_value_where(at, c), STRF(c->key));
	}
	return rc;
}
