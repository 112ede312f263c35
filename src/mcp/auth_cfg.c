/*
 * The table "auth": one table of its keys, by which it is read, copied and compared.
 */
#include "mcp/auth_cfg.h"

#include "base/buf.h"
#include "config/value.h"

#include <string.h>

#define GRANTS "code client_credentials assertion"
#define SCOPES_MAX 4096

enum kind { TEXT, VARIABLE, PATH, URL, GRANT, WORDS };

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset;
} keys[] = {
	{ "bearer_env", VARIABLE, offsetof(struct mcp_auth_cfg, bearer_env) },
	{ "bearer_file", PATH, offsetof(struct mcp_auth_cfg, bearer_file) },
	{ "grant", GRANT, offsetof(struct mcp_auth_cfg, grant) },
	{ "issuer", URL, offsetof(struct mcp_auth_cfg, issuer) },
	{ "client_id", TEXT, offsetof(struct mcp_auth_cfg, client_id) },
	{ "client_secret_env", VARIABLE, offsetof(struct mcp_auth_cfg, client_secret_env) },
	{ "client_secret_file", PATH, offsetof(struct mcp_auth_cfg, client_secret_file) },
	{ "key_env", VARIABLE, offsetof(struct mcp_auth_cfg, key_env) },
	{ "key_file", PATH, offsetof(struct mcp_auth_cfg, key_file) },
	{ "client_metadata", URL, offsetof(struct mcp_auth_cfg, client_metadata) },
	{ "redirect_uri", URL, offsetof(struct mcp_auth_cfg, redirect_uri) },
	{ "scopes", WORDS, offsetof(struct mcp_auth_cfg, scopes) },
	{ "assertion_env", VARIABLE, offsetof(struct mcp_auth_cfg, assertion_env) },
	{ "assertion_file", PATH, offsetof(struct mcp_auth_cfg, assertion_file) },
	{ "assertion_exchange", URL, offsetof(struct mcp_auth_cfg, assertion_exchange) },
	{ "assertion_client", TEXT, offsetof(struct mcp_auth_cfg, assertion_client) },
};

/* A list of scopes, or all of them in one text. */
static int read_words(str *out, struct arena *a, const struct key *k, const struct toml *v,
		      struct err *e)
{
	struct buf b = buf_in(a, SCOPES_MAX);

	if (v->type == TOML_STRING)
		buf_add(&b, str_trim(v->s));
	for (const struct toml *c = v->type == TOML_ARRAY ? v->child : NULL; c; c = c->next) {
		if (c->type != TOML_STRING || str_has(c->s, S(" ")))
			return err_set(e, E_INVAL, "\"auth.%s\" should hold words", k->name);
		buf_fmt(&b, "%s%.*s", b.n ? " " : "", STRF(c->s));
	}
	*out = buf_str(&b);
	for (size_t i = 0; i < out->n; i++)
		if ((unsigned char)out->p[i] < 0x20 || (unsigned char)out->p[i] >= 0x7F)
			b.full = true;
	if (b.full || !out->n)
		return err_set(e, E_INVAL, "\"auth.%s\" should be scopes, such as [\"read\"]",
			       k->name);
	return OK;
}

static int read_text(struct mcp_auth_cfg *out, struct arena *a, const struct key *k,
		     const struct toml *v, struct err *e)
{
	str *field = (str *)((char *)out + k->offset);

	if (v->type != TOML_STRING)
		return err_set(e, E_INVAL, "\"auth.%s\" should be a string, not %s", k->name,
			       toml_type_text(v->type));
	*field = arena_dup(a, str_trim(v->s));
	if (memchr(v->s.p ? v->s.p : "", 0, v->s.n) || !field->n)
		return err_set(e, E_INVAL, "\"auth.%s\" is empty or has a NUL in it", k->name);
	/* What stands there instead may be the secret itself, so it stays unnamed. */
	if (k->kind == VARIABLE && !value_variable(*field))
		return err_set(e, E_INVAL,
			       "\"auth.%s\" should be the name of an environment variable, not "
			       "a secret",
			       k->name);
	if (k->kind == PATH && field->p[0] != '/')
		return err_set(e, E_INVAL, "\"auth.%s\" should be an absolute path", k->name);
	if (k->kind == URL && !str_starts(*field, S("https://")) &&
	    !str_starts(*field, S("http://")))
		return err_set(e, E_INVAL, "\"auth.%s\" should be a URL", k->name);
	if (k->kind == GRANT && value_word(a, *field, GRANTS, field))
		return err_set(e, E_INVAL, "\"auth.%s\" should be one of: %s", k->name, GRANTS);
	return OK;
}

/* The server says who signs in to it; a secret of ours goes to nobody whom only it names. */
static int check_issuer(const struct mcp_auth_cfg *cfg, struct err *e)
{
	const char *secret = cfg->client_secret_env.n    ? "client_secret_env"
			     : cfg->client_secret_file.n ? "client_secret_file"
			     : cfg->key_env.n            ? "key_env"
			     : cfg->key_file.n           ? "key_file"
			     : cfg->assertion_env.n      ? "assertion_env"
			     : cfg->assertion_file.n     ? "assertion_file"
							 : NULL;

	if (secret && !cfg->issuer.n)
		return err_set(
			e, E_INVAL,
			"\"auth.%s\" needs auth.issuer: the authorization server that may "
			"see it",
			secret);
	return OK;
}

/* Do the keys fit each other? */
static int check(const struct mcp_auth_cfg *cfg, struct err *e)
{
	bool bearer = cfg->bearer_env.n || cfg->bearer_file.n;
	bool code = !cfg->grant.n || str_eq(cfg->grant, S("code"));
	bool assertion = cfg->assertion_env.n || cfg->assertion_file.n;

	if ((cfg->bearer_env.n && cfg->bearer_file.n) ||
	    (cfg->client_secret_env.n && cfg->client_secret_file.n) ||
	    (cfg->assertion_env.n && cfg->assertion_file.n) ||
	    (cfg->key_env.n && cfg->key_file.n))
		return err_set(e, E_INVAL,
			       "\"auth\" has a secret both in a variable and in a file; one of "
			       "them");
	if (bearer && (cfg->grant.n || cfg->client_id.n || cfg->client_metadata.n || assertion))
		return err_set(e, E_INVAL,
			       "\"auth\" has a token and says how to get one; one of them");
	if (!code && !cfg->client_id.n)
		return err_set(e, E_INVAL, "\"auth.grant\" = \"%.*s\" needs auth.client_id",
			       STRF(cfg->grant));
	if (str_eq(cfg->grant, S("assertion")) != assertion)
		return err_set(e, E_INVAL,
			       "\"auth.grant\" = \"assertion\" goes with auth.assertion_env or "
			       "auth.assertion_file");
	return check_issuer(cfg, e);
}

int mcp_auth_cfg_read(struct mcp_auth_cfg *out, struct arena *a, const struct toml *v,
		      struct err *e)
{
	struct mcp_auth_cfg cfg = { 0 };
	int rc;

	if (v->type != TOML_TABLE)
		return err_set(e, E_INVAL, "\"auth\" should be a table, not %s",
			       toml_type_text(v->type));
	for (const struct toml *c = v->child; c; c = c->next) {
		size_t i = 0;

		while (i < COUNT(keys) && !str_is(c->key, keys[i].name))
			i++;
		if (i == COUNT(keys))
			return err_set(e, E_INVAL, "\"auth\" has no key \"%.*s\"",
				       STRF(c->key));
		rc = keys[i].kind == WORDS ? read_words(&cfg.scopes, a, &keys[i], c, e)
					   : read_text(&cfg, a, &keys[i], c, e);
		if (rc < 0)
			return rc;
	}
	if ((rc = check(&cfg, e)) < 0)
		return rc;
	*out = cfg;
	return OK;
}

void mcp_auth_cfg_copy(struct arena *a, struct mcp_auth_cfg *to,
		       const struct mcp_auth_cfg *from)
{
	for (size_t i = 0; i < COUNT(keys); i++)
		*(str *)((char *)to + keys[i].offset) =
			arena_dup(a, *(const str *)((const char *)from + keys[i].offset));
}

bool mcp_auth_cfg_same(const struct mcp_auth_cfg *x, const struct mcp_auth_cfg *y)
{
	for (size_t i = 0; i < COUNT(keys); i++)
		if (!str_eq(*(const str *)((const char *)x + keys[i].offset),
			    *(const str *)((const char *)y + keys[i].offset)))
			return false;
	return true;
}
