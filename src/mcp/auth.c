/*
 * Bearer tokens.  A variable is read once, at start, like the rest of the environment; a file
 * whenever a token is needed, so that one that is exchanged there is taken at once.
 */
#include "mcp/auth.h"

#include "os/file.h"

#define TOKEN_MAX ((size_t)64 << 10)

struct mcp_auth {
	struct arena a; /* owns this */
	str server; /* its name */
	struct mcp_auth_cfg cfg;
	str token; /* from the variable */
};

int mcp_auth_new(struct mcp_auth **out, const struct mcp_auth_opt *opt, struct err *e)
{
	struct arena a = { 0 };
	struct mcp_auth *au = NEW(&a, struct mcp_auth);

	(void)e;
	au->server = arena_dup(&a, opt->server->name);
	mcp_auth_cfg_copy(&a, &au->cfg, &opt->server->auth);
	if (au->cfg.bearer_env.n)
		au->token = arena_dup(&a, str_trim(env_get(opt->env, au->cfg.bearer_env.p)));
	au->a = a;
	*out = au;
	return OK;
}

void mcp_auth_free(struct mcp_auth *au)
{
	struct arena a;

	if (!au)
		return;
	a = au->a;
	arena_free(&a);
}

/* b64token of RFC 6750, or anything else that fits a header. */
static bool is_token(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7F)
			return false;
	return s.n > 0;
}

static int from_file(const struct mcp_auth *au, struct arena *a, str *token, struct err *e)
{
	int rc = file_read(token, a, au->cfg.bearer_file.p, TOKEN_MAX, e);

	if (rc < 0)
		return err_wrap(e, E_DENIED, "server %.*s: auth.bearer_file", STRF(au->server));
	*token = str_trim(*token);
	return OK;
}

int mcp_auth_show(struct mcp_auth *au, const char *method, struct arena *a,
		  struct mcp_auth_show *out, const struct cancel *c, struct err *e)
{
	str token = au->token;
	bool file = au->cfg.bearer_file.n > 0;
	str from = file ? au->cfg.bearer_file : au->cfg.bearer_env;
	int rc = cancel_check(c, e);

	(void)method;
	if (rc == OK && file)
		rc = from_file(au, a, &token, e);
	if (rc < 0)
		return rc;
	if (from.n && !is_token(token))
		return err_set(e, E_DENIED, "server %.*s: %s %.*s %s", STRF(au->server),
			       file ? "the file" : "the variable", STRF(from),
			       token.n ? "holds no token: it has blanks or control characters"
				       : "is not there or empty; put the token into it");
	*out = (struct mcp_auth_show){ 0 };
	if (from.n)
		out->v[out->n++] =
			(struct http_header){ S("Authorization"),
					      arena_fmt(a, "Bearer %.*s", STRF(token)) };
	return OK;
}

int mcp_auth_challenge(struct mcp_auth *au, const struct http_resp *resp,
		       const struct mcp_auth_show *used, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str from = au->cfg.bearer_file.n ? au->cfg.bearer_file : au->cfg.bearer_env;
	struct mcp_auth_show now;

	if (!from.n)
		return err_set(e, E_DENIED,
			       "server %.*s wants a token: give it one in the manifest "
			       "(auth.bearer_env or auth.bearer_file)",
			       STRF(au->server));
	/* Another one may have been put there since. */
	if (mcp_auth_show(au, "POST", &a, &now, c, NULL) == OK &&
	    (!used->n || !str_eq(now.v[0].value, used->v[0].value)))
		return OK;
	return err_set(e, E_DENIED, "server %.*s %s the token in %.*s; put a valid one there",
		       STRF(au->server),
		       resp->status == 403 ? "does not let in" : "does not take", STRF(from));
}
