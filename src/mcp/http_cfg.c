/*
 * The keys of a server behind a URL: one table by which they are read; they are copied and
 * compared field by field.
 */
#include "mcp/http_cfg.h"

#include "config/value.h"
#include "mcp/oauth_url.h"
#include "os/url.h"

#include <string.h>

enum kind { URL, TRANSPORT, HEADERS, VARIABLES, FILES, PATH, PROXY, FLAG };

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset;
} keys[] = {
	{ "url", URL, offsetof(struct mcp_http_cfg, url) },
	{ "transport", TRANSPORT, 0 },
	{ "type", TRANSPORT, 0 },
	{ "headers", HEADERS, offsetof(struct mcp_http_cfg, headers) },
	{ "headers_env", VARIABLES, offsetof(struct mcp_http_cfg, headers_env) },
	{ "headers_file", FILES, offsetof(struct mcp_http_cfg, headers_file) },
	{ "ca", PATH, offsetof(struct mcp_http_cfg, ca) },
	{ "proxy", PROXY, offsetof(struct mcp_http_cfg, proxy) },
	{ "allow_http", FLAG, offsetof(struct mcp_http_cfg, allow_http) },
};

static const struct {
	const char *word;
	enum mcp_transport transport;
} words[] = {
	{ "http", MCP_TRANSPORT_HTTP },
	{ "streamable-http", MCP_TRANSPORT_HTTP },
	{ "streamableHttp", MCP_TRANSPORT_HTTP },
	{ "streamable_http", MCP_TRANSPORT_HTTP },
	{ "sse", MCP_TRANSPORT_SSE },
	{ "remote", MCP_TRANSPORT_AUTO },
	{ "auto", MCP_TRANSPORT_AUTO },
	{ "stdio", MCP_TRANSPORT_STDIO },
	{ "local", MCP_TRANSPORT_STDIO },
};

static const struct key *key_find(str name)
{
	for (size_t i = 0; i < COUNT(keys); i++)
		if (str_is(name, keys[i].name))
			return &keys[i];
	return NULL;
}

bool mcp_http_variable(str *rest, str *before, str *name)
{
	size_t at = str_find(*rest, S("${")), end;

	if (at == SIZE_MAX || (end = str_find(str_sub(*rest, at, rest->n), S("}"))) == SIZE_MAX)
		return false;
	*before = str_sub(*rest, 0, at);
	*name = str_sub(*rest, at + 2, at + end);
	if (str_starts(*name, S("env:")))
		*name = str_sub(*name, 4, name->n);
	*rest = str_sub(*rest, at + end + 1, rest->n);
	return true;
}

bool mcp_http_name(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || memchr("!#$%&'*+-.^_`|~", c, 15)))
			return false;
	}
	return s.n > 0;
}

bool mcp_http_cfg_has(str key)
{
	return key_find(key) != NULL;
}

bool mcp_http_cfg_places(str key)
{
	const struct key *k = key_find(key);

	return k && (k->kind == URL || k->kind == TRANSPORT);
}

static int mistaken(const struct toml *v, const char *want, struct err *e)
{
	return err_set(e, E_INVAL, "\"%.*s\" should be %s, not %s", STRF(v->key), want,
		       toml_type_text(v->type));
}

static int read_text(const struct toml *v, struct arena *a, str *out, struct err *e)
{
	if (v->type != TOML_STRING)
		return mistaken(v, "a string", e);
	*out = arena_dup(a, str_trim(v->s));
	if (!out->n || memchr(out->p, 0, out->n))
		return err_set(e, E_INVAL, "\"%.*s\" is empty or has a NUL in it",
			       STRF(v->key));
	return OK;
}

static int read_transport(const struct toml *v, struct arena *a, enum mcp_transport *out,
			  struct err *e)
{
	str word;
	int rc = read_text(v, a, &word, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < COUNT(words); i++)
		if (str_ieq(word, str_of(words[i].word))) {
			*out = words[i].transport;
			return OK;
		}
	return err_set(e, E_INVAL,
		       "\"%.*s\" should be one of: http, streamable-http, sse, stdio",
		       STRF(v->key));
}

/* Those that the protocol sets itself. */
static bool is_ours(str name)
{
	static const char *const ours[] = {
		"accept",     "content-type",  "content-length",       "host",
		"connection", "last-event-id", "mcp-protocol-version", "mcp-session-id",
		"mcp-method", "mcp-name",      "transfer-encoding",
	};

	for (size_t i = 0; i < COUNT(ours); i++)
		if (str_ieq(name, str_of(ours[i])))
			return true;
	return false;
}

static int header_value(const struct toml *v, enum kind kind, str *out, struct err *e)
{
	str s = str_trim(v->s);

	if (v->type != TOML_STRING)
		return err_set(e, E_INVAL, "header \"%.*s\" should be a string, not %s",
			       STRF(v->key), toml_type_text(v->type));
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7F)
			return err_set(e, E_INVAL,
				       "header \"%.*s\" has a control character in it",
				       STRF(v->key));
	/* What stands there instead may be the secret itself, so it stays unnamed. */
	if (kind == VARIABLES && !value_variable(s))
		return err_set(e, E_INVAL,
			       "\"headers_env\" should name an environment variable for "
			       "\"%.*s\", not hold a secret",
			       STRF(v->key));
	if (kind == FILES && !str_starts(s, S("/")))
		return err_set(e, E_INVAL,
			       "\"headers_file\" should have an absolute path for \"%.*s\"",
			       STRF(v->key));
	*out = s;
	return OK;
}

static int read_headers(const struct toml *v, enum kind kind, struct arena *a,
			struct str_list *out, struct err *e)
{
	str *items = NEWN(a, str, v->n);
	size_t n = 0;
	int rc;

	if (v->type != TOML_TABLE)
		return mistaken(v, "a table", e);
	for (const struct toml *c = v->child; c; c = c->next) {
		str value = { 0 };

		if (!mcp_http_name(c->key))
			return err_set(e, E_INVAL, "\"%.*s\" has a name that is no header's",
				       STRF(v->key));
		if (is_ours(c->key))
			return err_set(e, E_INVAL,
				       "\"%.*s\": the header %.*s is set by the protocol",
				       STRF(v->key), STRF(c->key));
		if ((rc = header_value(c, kind, &value, e)) < 0)
			return rc;
		items[n++] = arena_fmt(a, "%.*s=%.*s", STRF(c->key), STRF(value));
	}
	*out = (struct str_list){ items, n };
	return OK;
}

static int read_proxy(const struct toml *v, struct arena *a, str *out, struct err *e)
{
	int rc = read_text(v, a, out, e);

	/* libcurl knows more kinds than http; what it does not know it says. */
	if (rc == OK && !str_is(*out, "none") && !str_has(*out, S("://")))
		return err_set(e, E_INVAL,
			       "\"proxy\" should be a URL, or \"none\" for no proxy");
	return rc;
}

int mcp_http_cfg_read(struct mcp_http_cfg *out, struct arena *a, const struct toml *v,
		      struct err *e)
{
	const struct key *k = key_find(v->key);
	void *field = (char *)out + k->offset;
	int rc;

	switch (k->kind) {
	case TRANSPORT:
		return read_transport(v, a, &out->transport, e);
	case HEADERS:
	case VARIABLES:
	case FILES:
		return read_headers(v, k->kind, a, field, e);
	case PROXY:
		return read_proxy(v, a, field, e);
	case FLAG:
		if (v->type != TOML_BOOL)
			return mistaken(v, "true or false", e);
		*(bool *)field = v->b;
		return OK;
	case PATH:
		rc = read_text(v, a, field, e);
		if (rc == OK && !str_starts(*(str *)field, S("/")))
			return err_set(e, E_INVAL, "\"%s\" should be an absolute path",
				       k->name);
		return rc;
	case URL:
		break;
	}
	return read_text(v, a, field, e);
}

int mcp_http_cfg_check(const struct mcp_http_cfg *cfg, struct arena *a, struct err *e)
{
	struct url url;
	int rc = url_parse(&url, a, S(""), cfg->url, e);

	if (rc < 0)
		return err_wrap(e, E_INVAL, "\"url\"");
	if (url.user)
		return err_set(e, E_INVAL,
			       "\"url\" has a name or password in it: use \"headers_env\" or "
			       "\"auth\"");
	if (!url.tls && !oauth_url_loopback(&url) && !str_ends(url.host, S(".localhost")) &&
	    !cfg->allow_http)
		return err_set(e, E_INVAL,
			       "\"url\" is http:// to %.*s, and anybody in between could read "
			       "along: use https://, or set allow_http = true",
			       STRF(url.host));
	return OK;
}

void mcp_http_cfg_copy(struct arena *a, struct mcp_http_cfg *to,
		       const struct mcp_http_cfg *from)
{
	*to = *from;
	to->url = arena_dup(a, from->url);
	to->ca = arena_dup(a, from->ca);
	to->proxy = arena_dup(a, from->proxy);
	to->headers = str_list_copy(a, from->headers);
	to->headers_env = str_list_copy(a, from->headers_env);
	to->headers_file = str_list_copy(a, from->headers_file);
}

bool mcp_http_cfg_same(const struct mcp_http_cfg *x, const struct mcp_http_cfg *y)
{
	return str_eq(x->url, y->url) && x->transport == y->transport && str_eq(x->ca, y->ca) &&
	       str_eq(x->proxy, y->proxy) && x->allow_http == y->allow_http &&
	       str_list_eq(x->headers, y->headers) &&
	       str_list_eq(x->headers_env, y->headers_env) &&
	       str_list_eq(x->headers_file, y->headers_file);
}
