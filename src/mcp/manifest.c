/*
 * The manifest.  Both forms become one tree (that of the TOML reader; a JSON text is
 * translated), which one table of keys then reads.  Whether a command exists is not asked
 * here: that is found out, and retried, when the server is started.
 */
#include "mcp/manifest.h"

#include "mcp/manifest_value.h"
#include "os/file.h"
#include "text/json.h"
#include "text/toml.h"

#include <string.h>

#define MANIFEST_MAX ((size_t)1 << 20)
#define SERVERS_MAX 100
#define NAME_MAX_BYTES 64
#define LEVELS "debug info notice warning error critical alert emergency"

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
enum side { BOTH, CHILD, REMOTE };

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset; /* in struct mcp_server_cfg */
	enum side side; /* which servers have use for it */
} keys[] = {
	{ "name", TEXT, offsetof(struct mcp_server_cfg, name), BOTH },
	{ "command", TEXT, offsetof(struct mcp_server_cfg, command), BOTH },
	{ "args", LIST, offsetof(struct mcp_server_cfg, args), CHILD },
	{ "env", ENV, offsetof(struct mcp_server_cfg, env), CHILD },
	{ "tools", LIST, offsetof(struct mcp_server_cfg, tools), BOTH },
	{ "exclude", LIST, offsetof(struct mcp_server_cfg, exclude), BOTH },
	{ "tools_prefix", TEXT, offsetof(struct mcp_server_cfg, tools_prefix), BOTH },
	{ "timeout", TIME, offsetof(struct mcp_server_cfg, timeout_ms), BOTH },
	{ "trusted", FLAG, offsetof(struct mcp_server_cfg, trusted), BOTH },
	{ "inherit_env", FLAG, offsetof(struct mcp_server_cfg, inherit_env), CHILD },
	{ "cwd", TEXT, offsetof(struct mcp_server_cfg, cwd), CHILD },
	{ "sandbox", BOX, 0, CHILD },
	{ "auth", AUTH, 0, REMOTE },
	{ "sampling", ASKS, 0, BOTH },
	{ "log_level", LEVEL, 0, BOTH },
	{ "roots", ROOTS, 0, BOTH },
	{ "disabled", OTHER, 0, BOTH },
	{ "enabled", OTHER, 0, BOTH },
	{ "description", SKIP, 0, BOTH },
	{ "auth_command", TEXT, offsetof(struct mcp_server_cfg, auth_command), CHILD },
	{ "auth_args", LIST, offsetof(struct mcp_server_cfg, auth_args), CHILD },
	{ "dynamic_tools", UNUSED, 0, BOTH },
	{ "force", UNUSED, 0, BOTH },
	{ "download_url", UNUSED, 0, BOTH },
	{ "download_tag", UNUSED, 0, BOTH },
};

static const char *where(struct reading *r, const struct toml *at, str name)
{
	return mcp_value_where(&(struct mcp_at){ r->a, name }, at);
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

static int read_other(struct reading *r, struct entry *en, const struct toml *v, struct err *e)
{
	bool on = false;
	int rc = mcp_value_flag(&(struct mcp_at){ r->a, en->cfg.name }, v, &on, e);

	if (rc == OK)
		en->disabled = str_eq(v->key, S("disabled")) ? on : !on;
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
	const struct mcp_at at = { r->a, en->cfg.name };

	if (mcp_http_cfg_has(v->key))
		return read_http(r, en, v, e);
	if (!k) {
		warn(r, arena_fmt(r->a, "%s: unknown key \"%.*s\"", where(r, v, en->cfg.name),
				  STRF(v->key)));
		return OK;
	}
	switch (k->kind) {
	case TEXT:
		return mcp_value_text(&at, v, field, e);
	case LIST:
		return mcp_value_list(&at, v, field, e);
	case ENV:
		return mcp_value_env(&at, v, field, e);
	case FLAG:
		en->cfg.has_inherit_env |= str_eq(v->key, S("inherit_env"));
		return mcp_value_flag(&at, v, field, e);
	case TIME:
		return mcp_value_time(&at, v, field, e);
	case OTHER:
		return read_other(r, en, v, e);
	case SKIP:
		return OK;
	case BOX:
		return mcp_value_box(&at, v, &en->cfg.box, e);
	case AUTH:
		return read_auth(r, en, v, e);
	case ASKS:
		return read_sampling(r, en, v, e);
	case LEVEL:
		return mcp_value_word(&at, v, LEVELS, &en->cfg.log_level, e);
	case ROOTS:
		return mcp_value_paths(&at, v, &en->cfg.roots, e);
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

/* Which servers have use for a key that is known? */
static enum side side_of(str name)
{
	const struct key *k = key_find(name);

	if (!mcp_http_cfg_has(name))
		return k ? k->side : BOTH;
	return mcp_http_cfg_places(name) ? BOTH : REMOTE;
}

/* Keys that say nothing here might have been meant to. */
static void warn_idle(struct reading *r, const struct entry *en, enum side idle)
{
	for (const struct toml *v = en->at->child; v; v = v->next)
		if (side_of(v->key) == idle)
			warn(r, arena_fmt(r->a, "%s: \"%.*s\" is not used: it has a %s",
					  where(r, v, en->cfg.name), STRF(v->key),
					  idle == CHILD ? "url" : "command"));
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
		warn_idle(r, en, REMOTE);
		cfg->http = (struct mcp_http_cfg){ 0 };
		cfg->auth = (struct mcp_auth_cfg){ 0 };
		return OK;
	}
	if (cfg->command.n)
		warn(r, arena_fmt(r->a, "%s: \"command\" is not used: it has a url",
				  where(r, en->at, cfg->name)));
	warn_idle(r, en, CHILD);
	cfg->command = cfg->cwd = cfg->auth_command = (str){ 0 };
	cfg->args = cfg->env = cfg->auth_args = (struct str_list){ 0 };
	cfg->inherit_env = cfg->has_inherit_env = false;
	cfg->box = (struct sandbox_cfg){ 0 };
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
