/*
 * The probe's sign-ins.  The link is followed by one request, and where that redirects to is what a
 * person would have pasted.
 */
#include "probe_auth.h"

#include "mcp/auth.h"
#include "os/file.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TRIES_MAX 3
#define FOLLOW_MS 10000
#define FILES_MAX 100

/* Members of the context that are secrets: the variable that each is put in, and the key of "auth"
 * that names it. */
static const struct {
	const char *member, *variable;
	size_t offset;
} secrets[] = {
	{ "client_secret", "PROBE_SECRET", offsetof(struct mcp_auth_cfg, client_secret_env) },
	{ "private_key_pem", "PROBE_KEY", offsetof(struct mcp_auth_cfg, key_env) },
	{ "valid_jwt", "PROBE_ASSERTION", offsetof(struct mcp_auth_cfg, assertion_env) },
	{ "idp_id_token", "PROBE_ASSERTION", offsetof(struct mcp_auth_cfg, assertion_env) },
};

static void take_context(struct probe_auth *p, const struct json *context)
{
	struct mcp_auth_cfg *cfg = &p->server->auth;
	struct arena *a = p->cli->a;
	size_t n = 0;
	const char **v;

	while (p->cli->env.v[n])
		n++;
	v = NEWN(a, const char *, n + COUNT(secrets) + 1);
	for (size_t i = 0; i < n; i++)
		v[i] = p->cli->env.v[i];
	for (size_t i = 0; i < COUNT(secrets); i++) {
		str value = json_str(context, secrets[i].member);

		if (!value.n)
			continue;
		*(str *)((char *)cfg + secrets[i].offset) = str_of(secrets[i].variable);
		v[n++] = arena_fmt(a, "%s=%.*s", secrets[i].variable, STRF(value)).p;
	}
	p->env = (struct env){ v };
	cfg->client_id = json_str(context, "client_id");
	cfg->issuer = json_str(context, "issuer");
	cfg->assertion_exchange = json_str(context, "idp_token_endpoint");
	cfg->assertion_client = json_str(context, "idp_client_id");
	if (cfg->assertion_env.n)
		cfg->grant = S("assertion");
	/* A client that is given, with an issuer or without a person: the suite says which. */
	else if (cfg->client_id.n && !cfg->issuer.n &&
		 str_has(env_get(&p->cli->env, "MCP_CONFORMANCE_SCENARIO"),
			 S("client-credentials")))
		cfg->grant = S("client_credentials");
}

int probe_auth_begin(struct probe_auth *p, struct cli *cli, struct config *config,
		     struct mcp_server_cfg *server, struct err *e)
{
	str tmp = env_get(&cli->env, "TMPDIR"), text;
	str dir = arena_fmt(cli->a, "%.*s/gantry-probe-XXXXXX", STRF(tmp.n ? tmp : S("/tmp")));
	struct json *context = NULL;

	*p = (struct probe_auth){ .cli = cli, .config = config, .server = server };
	if (!mkdtemp((char *)(uintptr_t)dir.p))
		return err_sys(e, "make a directory in %.*s", STRF(tmp.n ? tmp : S("/tmp")));
	p->dir = dir;
	config->store.data_dir = dir;
	text = env_get(&cli->env, "MCP_CONFORMANCE_CONTEXT");
	if (json_read(&context, cli->a, text, NULL) < 0)
		context = NULL;
	take_context(p, context);
	return OK;
}

/* Where the link sends a browser to. */
static int follow(struct probe_auth *p, str link, str *to, struct err *e)
{
	struct http_resp resp;
	struct http_pool *pool;
	int rc = http_pool_open(&pool, &(struct http_opt){ 0 }, e);

	if (rc < 0)
		return rc;
	{
		SCOPED(http_return) struct http *h = http_borrow(pool);

		rc = http_do(h,
			     &(struct http_req){
				     .url = link, .label = "link", .total_ms = FOLLOW_MS },
			     p->cli->a, &resp, NULL, e);
	}
	http_pool_close(pool);
	if (rc < 0)
		return rc;
	*to = http_header(&resp, "location");
	if (resp.status / 100 != 3 || !to->n)
		return err_set(e, E_PROTO, "the link leads to a page (status %d), not back",
			       resp.status);
	return OK;
}

static int sign_in(struct probe_auth *p, struct mcp_auth *au, struct err *e)
{
	struct mcp_auth_step step;
	str to;
	int rc = mcp_auth_begin(au, false, p->cli->a, &step, NULL, e);

	if (rc < 0 || (rc = follow(p, step.link, &to, e)) < 0)
		return rc;
	return mcp_auth_finish(au, to, NULL, e);
}

bool probe_auth_again(struct probe_auth *p)
{
	struct mcp_auth_opt opt = { p->server, p->config, &p->env };
	struct mcp_auth_status st;
	struct mcp_auth *au;
	struct err e = { 0 };
	int rc = mcp_auth_new(&au, &opt, &e);

	if (rc == OK) {
		mcp_auth_status(au, p->cli->a, &st);
		if (!st.wanted || p->tries++ == TRIES_MAX) {
			mcp_auth_free(au);
			return false;
		}
		rc = sign_in(p, au, &e);
		mcp_auth_free(au);
	}
	if (rc < 0)
		(void)fprintf(stderr, "mcp-probe: %s\n",
			      text_visible(p->cli->a, str_of(e.msg), true).p);
	return rc == OK;
}

void probe_auth_end(struct probe_auth *p)
{
	str below = arena_cat(p->cli->a, p->dir, S("/auth")), *names;
	size_t n = 0;

	if (!p->dir.n)
		return;
	if (dir_list(&names, &n, p->cli->a, below.p, FILES_MAX, NULL) == OK)
		for (size_t i = 0; i < n; i++)
			(void)unlink(
				arena_fmt(p->cli->a, "%.*s/%.*s", STRF(below), STRF(names[i]))
					.p);
	(void)rmdir(below.p);
	(void)rmdir(p->dir.p);
}
