/*
 * The manifest.  Both forms become one tree (that of the TOML reader; a JSON text is
 * translated), which one table of keys then reads.  Whether a command exists is not asked
 * here: that is found out, and retried, when the server is started.
 */
#include "mcp/manifest.h"

#include "config/options.h"
#include "config/value.h"
#include "os/file.h"
#include "text/json.h"
#include "text/toml.h"

#include <string.h>

#define MANIFEST_MAX ((size_t)1 << 20)
#define SERVERS_MAX 100
#define NAME_MAX_BYTES 64
#define LEVELS "debug info notice warning error critical alert emergency"
#define PROFILES "strict compat off"
#define TIMEOUT_MAX_MS (INT64_C(7) * 24 * 3600 * 1000)

struct reading {
	struct arena *a;
	struct mcp_server_cfg *servers;
	size_t n;
	str *warnings;
	size_t warnings_n, warnings_cap;
};

/* What is known of one server while its keys are read. */
struct entry {
	struct mcp_server_cfg cfg;
	const struct toml *at;
	bool disabled;
};

enum kind { TEXT, LIST, ENV, FLAG, TIME, OTHER, SKIP, BOX, AUTH, ASKS, LEVEL, ROOTS, UNUSED };

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset; /* in struct mcp_server_cfg */
} keys[] = {
	{ "name", TEXT, offsetof(struct mcp_server_cfg, name) },
	{ "command", TEXT, offsetof(struct mcp_server_cfg, command) },
	{ "args", LIST, offsetof(struct mcp_server_cfg, args) },
	{ "env", ENV, offsetof(struct mcp_server_cfg, env) },
	{ "tools", LIST, offsetof(struct mcp_server_cfg, tools) },
	{ "exclude", LIST, offsetof(struct mcp_server_cfg, exclude) },
	{ "tools_prefix", TEXT, offsetof(struct mcp_server_cfg, tools_prefix) },
	{ "timeout", TIME, offsetof(struct mcp_server_cfg, timeout_ms) },
	{ "trusted", FLAG, offsetof(struct mcp_server_cfg, trusted) },
	{ "inherit_env", FLAG, offsetof(struct mcp_server_cfg, inherit_env) },
	{ "cwd", TEXT, offsetof(struct mcp_server_cfg, cwd) },
	{ "sandbox", BOX, 0 },
	{ "auth", AUTH, 0 },
	{ "sampling", ASKS, 0 },
	{ "log_level", LEVEL, 0 },
	{ "roots", ROOTS, 0 },
	{ "disabled", OTHER, 0 },
	{ "enabled", OTHER, 0 },
	{ "description", SKIP, 0 },
	{ "auth_command", UNUSED, 0 },
	{ "auth_args", UNUSED, 0 },
	{ "dynamic_tools", UNUSED, 0 },
	{ "force", UNUSED, 0 },
	{ "download_url", UNUSED, 0 },
	{ "download_tag", UNUSED, 0 },
};

/* "line 4: server "garmin"", without the line where it is not known (JSON). */
static const char *where(struct reading *r, const struct toml *at, str name)
{
	str line = at->line ? arena_fmt(r->a, "line %d: ", at->line) : (str){ 0 };

	if (!name.n)
		return arena_fmt(r->a, "%.*sa server", STRF(line)).p;
	return arena_fmt(r->a, "%.*sserver \"%.*s\"", STRF(line), STRF(name)).p;
}

static void warn(struct reading *r, str text)
{
	if (r->warnings_n == r->warnings_cap) {
		size_t cap = r->warnings_cap ? r->warnings_cap * 2 : 8;

		r->warnings = arena_grow(r->a, r->warnings, r->warnings_cap * sizeof(str),
					 cap * sizeof(str));
		r->warnings_cap = cap;
	}
	r->warnings[r->warnings_n++] = text;
}

static int mistaken(struct reading *r, const struct entry *en, const struct toml *v,
		    const char *want, struct err *e)
{
	return err_set(e, E_INVAL, "%s: \"%.*s\" should be %s, not %s",
		       where(r, v, en->cfg.name), STRF(v->key), want, toml_type_text(v->type));
}

static int check_text(struct reading *r, const struct entry *en, const struct toml *v, str key,
		      struct err *e)
{
	if (memchr(v->s.p ? v->s.p : "", 0, v->s.n))
		return err_set(e, E_INVAL, "%s: \"%.*s\" has a NUL in it",
			       where(r, v, en->cfg.name), STRF(key));
	return OK;
}

static int read_list(struct reading *r, const struct entry *en, const struct toml *v,
		     struct str_list *out, struct err *e)
{
	str *items;
	size_t n = 0;
	int rc;

	if (v->type != TOML_ARRAY)
		return mistaken(r, en, v, "an array of strings", e);
	items = NEWN(r->a, str, v->n);
	for (const struct toml *c = v->child; c; c = c->next) {
		if (c->type != TOML_STRING)
			return err_set(e, E_INVAL, "%s: \"%.*s\" holds %s, not a string",
				       where(r, c, en->cfg.name), STRF(v->key),
				       toml_type_text(c->type));
		if ((rc = check_text(r, en, c, v->key, e)) < 0)
			return rc;
		items[n++] = arena_dup(r->a, c->s);
	}
	*out = (struct str_list){ items, n };
	return OK;
}

/* Lists of tool names: blank entries do not count. */
static struct str_list without_blanks(struct str_list l)
{
	str *v = (str *)(uintptr_t)l.v;
	size_t n = 0;

	for (size_t i = 0; i < l.n; i++)
		if (str_trim(l.v[i]).n)
			v[n++] = str_trim(l.v[i]);
	return (struct str_list){ v, n };
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
static int read_env(struct reading *r, const struct entry *en, const struct toml *v,
		    struct str_list *out, struct err *e)
{
	str *items = NEWN(r->a, str, v->n);
	size_t n = 0;
	int rc;

	if (v->type != TOML_ARRAY && v->type != TOML_TABLE)
		return mistaken(r, en, v, "a table or an array of \"NAME=value\"", e);
	for (const struct toml *c = v->child; c; c = c->next) {
		str item = scalar_text(r->a, c);

		if (!item.p || (v->type == TOML_ARRAY && c->type != TOML_STRING))
			return err_set(e, E_INVAL, "%s: \"env\" holds %s, not a string",
				       where(r, c, en->cfg.name), toml_type_text(c->type));
		if ((rc = check_text(r, en, c, S("env"), e)) < 0)
			return rc;
		if (v->type == TOML_TABLE &&
		    (str_has(c->key, S("=")) || strlen(c->key.p) < c->key.n))
			return err_set(e, E_INVAL,
				       "%s: \"env\" has a name with \"=\" or NUL in it",
				       where(r, c, en->cfg.name));
		if (v->type == TOML_TABLE)
			item = arena_fmt(r->a, "%.*s=%.*s", STRF(c->key), STRF(item));
		/* The value stays unnamed: it may be a secret. */
		if (!str_has(item, S("=")) || item.p[0] == '=')
			return err_set(e, E_INVAL,
				       "%s: an entry of \"env\" is no \"NAME=value\"",
				       where(r, c, en->cfg.name));
		items[n++] = item;
	}
	*out = (struct str_list){ items, n };
	return OK;
}

/* Seconds as a number, or a duration like "1m30s". */
static int read_time(struct reading *r, const struct entry *en, const struct toml *v,
		     int64_t *out, struct err *e)
{
	int64_t ms = 0;

	if (v->type == TOML_INT && v->i > 0 && v->i <= TIMEOUT_MAX_MS / 1000)
		ms = v->i * 1000;
	else if (v->type == TOML_FLOAT && v->d > 0 && v->d <= (double)TIMEOUT_MAX_MS / 1e3)
		ms = (int64_t)(v->d * 1e3);
	else if (v->type == TOML_STRING)
		(void)value_ms(r->a, v->s, 1, TIMEOUT_MAX_MS, &ms);
	if (ms < 1)
		return err_set(e, E_INVAL,
			       "%s: \"%.*s\" should be seconds or a duration like \"1m30s\", "
			       "up to 7 days",
			       where(r, v, en->cfg.name), STRF(v->key));
	*out = ms;
	return OK;
}

static int read_text(struct reading *r, const struct entry *en, const struct toml *v, str *out,
		     struct err *e)
{
	int rc;

	if (v->type != TOML_STRING)
		return mistaken(r, en, v, "a string", e);
	if ((rc = check_text(r, en, v, v->key, e)) < 0)
		return rc;
	*out = arena_dup(r->a, str_trim(v->s));
	return OK;
}

static int read_flag(struct reading *r, const struct entry *en, const struct toml *v, bool *out,
		     struct err *e)
{
	if (v->type != TOML_BOOL)
		return mistaken(r, en, v, "true or false", e);
	*out = v->b;
	return OK;
}

static int read_other(struct reading *r, struct entry *en, const struct toml *v, struct err *e)
{
	bool on = false;
	int rc = read_flag(r, en, v, &on, e);

	if (rc == OK)
		en->disabled = str_eq(v->key, S("disabled")) ? on : !on;
	return rc;
}

static int read_word(struct reading *r, const struct entry *en, const struct toml *v,
		     const char *words, str *out, struct err *e)
{
	str text;
	int rc = read_text(r, en, v, &text, e);

	if (rc == OK && value_word(r->a, text, words, out))
		return err_set(e, E_INVAL, "%s: \"%.*s\" should be one of: %s",
			       where(r, v, en->cfg.name), STRF(v->key), words);
	return rc;
}

static int read_paths(struct reading *r, const struct entry *en, const struct toml *v,
		      struct str_list *out, struct err *e)
{
	int rc = read_list(r, en, v, out, e);

	for (size_t i = 0; rc == OK && i < out->n; i++)
		if (!str_starts(out->v[i], S("/")))
			rc = err_set(e, E_INVAL, "%s: the paths in \"%.*s\" must be absolute",
				     where(r, v, en->cfg.name), STRF(v->key));
	return rc;
}

static int read_grants(struct reading *r, const struct entry *en, const struct toml *v,
		       struct str_list *out, struct err *e)
{
	const char *words = options[option_find(S("tools.exec.sandbox.grants"))].words;
	struct str_list given = { 0 };
	int rc = read_list(r, en, v, &given, e);
	str *known = NEWN(r->a, str, given.n);

	*out = (struct str_list){ known, given.n };
	for (size_t i = 0; rc == OK && i < given.n; i++)
		if (value_word(r->a, given.v[i], words, &known[i]))
			rc = err_set(e, E_INVAL, "%s: \"grants\" should have some of: %s",
				     where(r, v, en->cfg.name), words);
	return rc;
}

/* "strict", or { profile = "strict", network = "deny", ... }. */
static int read_box(struct reading *r, struct entry *en, const struct toml *v, struct err *e)
{
	struct sandbox_cfg *box = &en->cfg.box;
	int rc = OK;

	if (v->type != TOML_TABLE)
		return read_word(r, en, v, PROFILES, &box->profile, e);
	box->profile = S("strict");
	for (const struct toml *c = v->child; c && rc == OK; c = c->next) {
		if (str_eq(c->key, S("profile")))
			rc = read_word(r, en, c, PROFILES, &box->profile, e);
		else if (str_eq(c->key, S("network")))
			rc = read_word(r, en, c, "allow deny", &box->network, e);
		else if (str_eq(c->key, S("require")))
			rc = read_flag(r, en, c, &box->require, e);
		else if (str_eq(c->key, S("read")))
			rc = read_paths(r, en, c, &box->read, e);
		else if (str_eq(c->key, S("write")))
			rc = read_paths(r, en, c, &box->write, e);
		else if (str_eq(c->key, S("grants")))
			rc = read_grants(r, en, c, &box->grants, e);
		else
			/* Unlike elsewhere: what is not understood could be a limit. */
			rc = err_set(e, E_INVAL, "%s: \"sandbox\" has no key \"%.*s\"",
				     where(r, c, en->cfg.name), STRF(c->key));
	}
	return rc;
}

static int read_auth(struct reading *r, struct entry *en, const struct toml *v, struct err *e)
{
	int rc = mcp_auth_cfg_read(&en->cfg.auth, r->a, v, e);

	return rc < 0 ? err_wrap(e, rc, "%s", where(r, v, en->cfg.name)) : OK;
}

static int read_http(struct reading *r, struct entry *en, const struct toml *v, struct err *e)
{
	int rc = mcp_http_cfg_read(&en->cfg.http, r->a, v, e);

	return rc < 0 ? err_wrap(e, rc, "%s", where(r, v, en->cfg.name)) : OK;
}

static int read_sampling(struct reading *r, struct entry *en, const struct toml *v,
			 struct err *e)
{
	int rc = mcp_sampling_cfg_read(&en->cfg.sampling, r->a, v, e);

	return rc < 0 ? err_wrap(e, rc, "%s", where(r, v, en->cfg.name)) : OK;
}

static const struct key *key_find(str name)
{
	for (size_t i = 0; i < COUNT(keys); i++)
		if (str_eq(name, str_of(keys[i].name)))
			return &keys[i];
	return NULL;
}

static int read_key(struct reading *r, struct entry *en, const struct toml *v, struct err *e)
{
	const struct key *k = key_find(v->key);
	void *field = (char *)&en->cfg + (k ? k->offset : 0);

	if (mcp_http_cfg_has(v->key))
		return read_http(r, en, v, e);
	if (!k) {
		warn(r, arena_fmt(r->a, "%s: unknown key \"%.*s\"", where(r, v, en->cfg.name),
				  STRF(v->key)));
		return OK;
	}
	switch (k->kind) {
	case TEXT:
		return read_text(r, en, v, field, e);
	case LIST:
		return read_list(r, en, v, field, e);
	case ENV:
		return read_env(r, en, v, field, e);
	case FLAG:
		en->cfg.has_inherit_env |= str_eq(v->key, S("inherit_env"));
		return read_flag(r, en, v, field, e);
	case TIME:
		return read_time(r, en, v, field, e);
	case OTHER:
		return read_other(r, en, v, e);
	case SKIP:
		return OK;
	case BOX:
		return read_box(r, en, v, e);
	case AUTH:
		return read_auth(r, en, v, e);
	case ASKS:
		return read_sampling(r, en, v, e);
	case LEVEL:
		return read_word(r, en, v, LEVELS, &en->cfg.log_level, e);
	case ROOTS:
		return read_paths(r, en, v, &en->cfg.roots, e);
	case UNUSED:
		warn(r, arena_fmt(r->a, "%s: \"%s\" is not used", where(r, v, en->cfg.name),
				  k->name));
	}
	return OK;
}

static bool is_name(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7F || s.p[i] == '"')
			return false;
	return s.n > 0 && s.n <= NAME_MAX_BYTES;
}

/* A command or a URL: where there are both, the command is meant unless the transport says
 * otherwise. */
static int check_place(struct reading *r, struct entry *en, struct err *e)
{
	struct mcp_server_cfg *cfg = &en->cfg;
	bool far = cfg->http.transport != MCP_TRANSPORT_STDIO &&
		   (!cfg->command.n || cfg->http.transport != MCP_TRANSPORT_AUTO);
	int rc;

	if (!(far && cfg->http.url.n) && !cfg->command.n)
		return err_set(e, E_INVAL, "%s has no command%s", where(r, en->at, cfg->name),
			       far ? " and no url" : "");
	if (!(far && cfg->http.url.n)) {
		if (cfg->http.url.n)
			warn(r, arena_fmt(r->a, "%s: \"url\" is not used: it has a command",
					  where(r, en->at, cfg->name)));
		cfg->http = (struct mcp_http_cfg){ 0 };
		return OK;
	}
	if (cfg->command.n)
		warn(r, arena_fmt(r->a, "%s: \"command\" is not used: it has a url",
				  where(r, en->at, cfg->name)));
	cfg->command = (str){ 0 };
	if (cfg->box.profile.n)
		warn(r, arena_fmt(r->a, "%s: \"sandbox\" is not used: it has a url",
				  where(r, en->at, cfg->name)));
	rc = mcp_http_cfg_check(&cfg->http, r->a, e);
	return rc < 0 ? err_wrap(e, rc, "%s", where(r, en->at, cfg->name)) : OK;
}

/* The whole entry is read: does it hold together, and is it to be run? */
static int add_server(struct reading *r, struct entry *en, struct err *e)
{
	struct mcp_server_cfg *cfg = &en->cfg;
	int rc;

	if (!cfg->name.n)
		return err_set(e, E_INVAL, "%s has no name", where(r, en->at, cfg->name));
	if (!is_name(cfg->name))
		return err_set(
			e, E_INVAL,
			"%s: a name has 1 to %d bytes, without quotes and control characters",
			where(r, en->at, (str){ 0 }), NAME_MAX_BYTES);
	for (size_t i = 0; i < r->n; i++)
		if (str_eq(r->servers[i].name, cfg->name))
			return err_set(e, E_INVAL, "%s is there already",
				       where(r, en->at, cfg->name));
	if (en->disabled) {
		warn(r, arena_fmt(r->a, "%s is skipped: it is disabled",
				  where(r, en->at, cfg->name)));
		return OK;
	}
	if ((rc = check_place(r, en, e)) < 0)
		return rc;
	if (r->n == SERVERS_MAX)
		return err_set(e, E_LIMIT, "%s: more than %d servers",
			       where(r, en->at, cfg->name), SERVERS_MAX);
	cfg->tools = without_blanks(cfg->tools);
	cfg->exclude = without_blanks(cfg->exclude);
	r->servers[r->n++] = *cfg;
	return OK;
}

/* name is given where the key of the entry is its name. */
static int read_server(struct reading *r, const struct toml *v, str name, struct err *e)
{
	struct entry en = { .at = v, .cfg.name = arena_dup(r->a, str_trim(name)) };
	int rc;

	if (v->type != TOML_TABLE)
		return err_set(e, E_INVAL, "%s should be a table, not %s", where(r, v, name),
			       toml_type_text(v->type));
	/* The name first, wherever it stands: messages about the other keys need it. */
	for (const struct toml *c = v->child; c && !name.n; c = c->next)
		if (str_eq(c->key, S("name")) && (rc = read_key(r, &en, c, e)) < 0)
			return rc;
	for (const struct toml *c = v->child; c; c = c->next)
		if (!str_eq(c->key, S("name")) && (rc = read_key(r, &en, c, e)) < 0)
			return rc;
	return add_server(r, &en, e);
}

/* Keys beside the servers. */
static void warn_toml(struct reading *r, const struct toml *v)
{
	const struct key *k = key_find(v->key);
	bool unused = k && k->kind == UNUSED;

	warn(r, arena_fmt(r->a, "line %d: %s \"%.*s\"%s", v->line,
			  unused ? "the key" : "unknown key", STRF(v->key),
			  unused ? " is not used" : ""));
}

static int read_toml(struct reading *r, str text, struct err *e)
{
	const struct toml *servers;
	struct toml *root;
	int rc = toml_read(&root, r->a, text, e);

	if (rc < 0)
		return rc;
	servers = toml_get(root, "server");
	for (const struct toml *v = root->child; v; v = v->next)
		if (v != servers)
			warn_toml(r, v);
	if (!servers)
		return OK;
	if (servers->type != TOML_ARRAY)
		return err_set(e, E_INVAL,
			       "line %d: a server is written as [[server]], in two brackets",
			       servers->line);
	r->servers = NEWN(r->a, struct mcp_server_cfg, servers->n);
	for (const struct toml *c = servers->child; c; c = c->next)
		if ((rc = read_server(r, c, (str){ 0 }, e)) < 0)
			return rc;
	return OK;
}

/* The tree of a JSON text as the TOML reader would have built it (without lines); a null
 * is as if it were not there. */
static struct toml *from_json(struct arena *a, const struct json *j)
{
	static const enum toml_type types[] = {
		[JSON_NULL] = TOML_STRING, [JSON_FALSE] = TOML_BOOL,
		[JSON_TRUE] = TOML_BOOL,   [JSON_INT] = TOML_INT,
		[JSON_REAL] = TOML_FLOAT,  [JSON_STRING] = TOML_STRING,
		[JSON_ARRAY] = TOML_ARRAY, [JSON_OBJECT] = TOML_TABLE,
	};
	struct toml *v = NEW(a, struct toml), **tail = &v->child;

	v->type = types[j->type];
	v->s = j->s;
	v->i = j->i;
	v->d = j->d;
	v->b = j->type == JSON_TRUE;
	v->key = j->key;
	for (const struct json *c = j->child; c; c = c->next) {
		if (c->type == JSON_NULL)
			continue;
		*tail = from_json(a, c);
		tail = &(*tail)->next;
		v->n++;
	}
	return v;
}

static int read_json(struct reading *r, str text, struct err *e)
{
	const struct json *servers;
	struct json *root;
	int rc = json_read(&root, r->a, text, e);

	if (rc < 0)
		return rc;
	servers = json_get(root, "mcpServers");
	if (!json_is(servers, JSON_OBJECT))
		return err_set(e, E_INVAL, "there is no object \"mcpServers\" in it");
	for (const struct json *c = root->child; c; c = c->next)
		if (c != servers)
			warn(r, arena_fmt(r->a, "unknown key \"%.*s\"", STRF(c->key)));
	r->servers = NEWN(r->a, struct mcp_server_cfg, servers->n);
	for (const struct json *c = servers->child; c; c = c->next) {
		if (!str_trim(c->key).n)
			return err_set(e, E_INVAL, "a server has no name");
		if ((rc = read_server(r, from_json(r->a, c), c->key, e)) < 0)
			return rc;
	}
	return OK;
}

static int parse(struct mcp_manifest *out, struct arena *a, str text, struct err *e)
{
	struct reading r = { .a = a };
	str inner = str_starts(text, S("\xEF\xBB\xBF")) ? str_sub(text, 3, text.n) : text;
	int rc = str_starts(str_trim(inner), S("{")) ? read_json(&r, inner, e)
						     : read_toml(&r, text, e);

	if (rc < 0)
		return rc;
	*out = (struct mcp_manifest){ .servers = r.servers,
				      .n = r.n,
				      .warnings = { r.warnings, r.warnings_n } };
	return OK;
}

int mcp_manifest_load(struct mcp_manifest *out, struct arena *a, const char *path,
		      bool optional, struct err *e)
{
	str text;
	int rc = file_read(&text, a, path, MANIFEST_MAX, e);

	if (rc == E_NOENT && optional) {
		*out = (struct mcp_manifest){ 0 };
		return OK;
	}
	if (rc < 0)
		return err_wrap(e, rc, "manifest");
	rc = parse(out, a, text, e);
	return rc < 0 ? err_wrap(e, rc, "manifest %s", path) : OK;
}
