/*
 * build/test/mcp-probe [--client-metadata URL] URL: connect to one server behind a URL, call each of
 * its tools once with the simplest arguments that its schema allows, read its resources and
 * prompts, and leave.  Its questions are answered with the defaults of their schemas, and where it
 * has to be signed in to the link is followed: for servers that ask nobody.  Tools may have effects.
 *
 * It is how the public conformance suite drives the client (make conformance).
 */
#include "probe_auth.h"

#include "mcp/host.h"
#include "mcp/rpc.h"
#include "os/clock.h"
#include "os/proc.h"
#include "os/signals.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READY_MS 20000
#define CALL_MS 20000
#define ROUNDS_MAX 5
#define ITEMS_MAX 20
#define TEXT_MAX ((size_t)1 << 20)

struct probe {
	struct cli *cli;
	struct probe_auth auth;
	struct mcp_host *host;
	const struct mcp_catalog *catalog;
	int failed;
};

static void say(struct probe *p, const char *what, str name, str text)
{
	(void)printf("%s %.*s: %.*s\n", what, STRF(text_visible(p->cli->a, name, true)),
		     STRF(text_line(p->cli->a, text, 200)));
}

static void fail(struct probe *p, const char *what, str name, const struct err *e)
{
	(void)fprintf(stderr, "mcp-probe: %s %.*s: %s\n", what, STRF(name), e->msg);
	p->failed++;
}

static int give_up(const struct err *e)
{
	(void)fprintf(stderr, "mcp-probe: %s\n", e->msg);
	return EXIT_FAILED;
}

/* ---- values for schemas ---------------------------------------------------------------- */

static const struct json *schema_of(struct probe *p, const struct mcp_tool *t)
{
	struct json *v;

	return json_read(&v, p->cli->a, t->schema, NULL) == OK ? v : NULL;
}

/* What a schema asks for, most simply.  An object is answered with the schema of the server's
 * first tool, so that it can see what came of that here. */
static void add_value(struct probe *p, struct buf *b, const struct json *schema)
{
	const struct json *one = json_get(schema, "default");
	str type = json_str(schema, "type");

	if (!one)
		one = json_at(json_get(schema, "enum"), 0);
	if (!one)
		one = json_get(json_at(json_get(schema, "oneOf"), 0), "const");
	if (one)
		json_write(b, one);
	else if (str_is(type, "integer") || str_is(type, "number"))
		buf_add(b, S("1"));
	else if (str_is(type, "boolean"))
		buf_add(b, S("true"));
	else if (str_is(type, "array"))
		buf_add(b, S("[]"));
	else if (str_is(type, "object") && p->catalog && p->catalog->n)
		buf_add(b, p->catalog->tools[0].schema);
	else
		buf_add(b, S("\"x\""));
}

static bool is_required(const struct json *schema, str key)
{
	const struct json *list = json_get(schema, "required");

	for (const struct json *v = list ? list->child : NULL; v; v = v->next)
		if (str_eq(json_text(v), key))
			return true;
	return false;
}

/* An object with what is required of the schema, and what has a default. */
static str object_for(struct probe *p, const struct json *schema)
{
	struct buf b = buf_in(p->cli->a, TEXT_MAX);
	const struct json *properties = json_get(schema, "properties");

	buf_add(&b, S("{"));
	for (const struct json *v = properties ? properties->child : NULL; v; v = v->next) {
		if (!is_required(schema, v->key) && !json_get(v, "default"))
			continue;
		buf_json_key(&b, arena_cstr(p->cli->a, v->key));
		add_value(p, &b, v);
	}
	buf_add(&b, S("}"));
	return buf_str(&b);
}

/* ---- questions ------------------------------------------------------------------------- */

static str answer_to(struct probe *p, const struct mcp_question *q)
{
	str content;

	if (q->kind == MCP_ROOTS)
		return S("{\"roots\":[]}");
	if (q->kind != MCP_ELICIT)
		return S("");
	if (str_is(json_str(q->params, "mode"), "url"))
		return S("{\"action\":\"decline\"}");
	content = object_for(p, json_get(q->params, "requestedSchema"));
	return arena_fmt(p->cli->a, "{\"action\":\"accept\",\"content\":%.*s}", STRF(content));
}

static int on_question(void *arg, const struct mcp_question *q, struct arena *a,
		       struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	str answer = answer_to(arg, q);

	(void)c;
	(void)e;
	*out = (struct mcp_answer){ .result = arena_dup(a, answer) };
	if (!answer.n)
		*out = (struct mcp_answer){ .code = MCP_METHOD_NOT_FOUND,
					    .message = S("not served") };
	return OK;
}

/* {key: answer} of all of them. */
static str answers_to(struct probe *p, const struct mcp_result *r)
{
	struct buf b = buf_in(p->cli->a, TEXT_MAX);

	buf_add(&b, S("{"));
	for (size_t i = 0; i < r->questions_n; i++) {
		str answer = answer_to(p, &r->questions[i]);

		buf_json_key(&b, arena_cstr(p->cli->a, r->questions[i].key));
		buf_add(&b, answer.n ? answer : S("{}"));
	}
	buf_add(&b, S("}"));
	return buf_str(&b);
}

/* ---- everything once ------------------------------------------------------------------- */

static void call_tool(struct probe *p, const struct mcp_tool *t, str args)
{
	struct mcp_call call = { .server = t->server,
				 .tool = t->tool,
				 .args = args,
				 .on_question = on_question,
				 .arg = p };
	struct mcp_result r = { 0 };
	struct err e = { 0 };

	for (int i = 0; i < ROUNDS_MAX; i++) {
		int rc = mcp_host_call(p->host, &call, p->cli->a, &r, NULL, &e);

		if (rc < 0 && probe_auth_again(&p->auth)) {
			i--;
			continue;
		}
		if (rc < 0) {
			fail(p, "tool", t->tool, &e);
			return;
		}
		if (!r.needs_input)
			break;
		call.state = r.state;
		call.answers = answers_to(p, &r);
	}
	say(p, r.failed ? "failed tool" : "tool", t->tool, r.text);
}

static const struct mcp_tool *tool_named(const struct probe *p, str name)
{
	for (size_t i = 0; i < p->catalog->n; i++)
		if (str_eq(p->catalog->tools[i].tool, name))
			return &p->catalog->tools[i];
	return NULL;
}

/* As the environment says, else each with the simplest arguments. */
static void call_tools(struct probe *p)
{
	struct json *context = NULL;
	const struct json *calls;

	str text = env_get(&p->cli->env, "MCP_CONFORMANCE_CONTEXT");

	if (json_read(&context, p->cli->a, text, NULL) < 0)
		context = NULL;
	calls = json_get(context, "toolCalls");
	for (const struct json *v = calls ? calls->child : NULL; v; v = v->next) {
		const struct mcp_tool *t = tool_named(p, json_str(v, "name"));
		struct buf b = buf_in(p->cli->a, TEXT_MAX);

		json_write(&b, json_get(v, "arguments"));
		if (t)
			call_tool(p, t, buf_str(&b));
	}
	for (size_t i = 0; !calls && i < p->catalog->n; i++)
		call_tool(p, &p->catalog->tools[i],
			  object_for(p, schema_of(p, &p->catalog->tools[i])));
}

static int ask(struct probe *p, const char *method, str params, const struct json **out)
{
	const struct mcp_request rq = {
		.server = S("probe"), .method = method, .params = params, .timeout_ms = CALL_MS
	};
	struct err e = { 0 };
	int rc;

	do
		rc = mcp_host_request(p->host, &rq, p->cli->a, out, NULL, &e);
	while (rc < 0 && probe_auth_again(&p->auth));
	if (rc < 0)
		fail(p, "request", str_of(method), &e);
	return rc;
}

/* List, and then use what is listed. */
static void use_each(struct probe *p, const char *list, const char *array, const char *use,
		     const char *key)
{
	const struct json *result, *items;
	int n = 0;

	if (ask(p, list, S(""), &result) < 0)
		return;
	items = json_get(result, array);
	for (const struct json *v = items ? items->child : NULL; v && n < ITEMS_MAX;
	     v = v->next, n++) {
		struct buf b = buf_in(p->cli->a, TEXT_MAX);
		const struct json *ignored;

		buf_add(&b, S("{"));
		buf_json_member(&b, key, json_str(v, key));
		buf_add(&b, S("}"));
		if (ask(p, use, buf_str(&b), &ignored) == OK)
			say(p, use, json_str(v, key), S("ok"));
	}
}

/* The server, as it is once it is ready; with as many lives as the sign-in takes. */
static int come_in(struct probe *p, const struct mcp_host_opt *opt,
		   const struct mcp_manifest *m, struct mcp_server_status **v, struct err *e)
{
	size_t n = 0;
	int rc;

	do {
		mcp_host_stop(p->host);
		p->host = NULL;
		if ((rc = mcp_host_start(&p->host, opt, m, e)) < 0 ||
		    (rc = mcp_host_ready(p->host, clock_mono_ms() + READY_MS, NULL, e)) < 0)
			return rc;
		mcp_host_status(p->host, p->cli->a, v, &n);
		if (n == 1 && (*v)[0].state == MCP_READY)
			return OK;
	} while (probe_auth_again(&p->auth));
	return err_set(e, E_IO, "%s",
		       n ? text_visible(p->cli->a, (*v)[0].note, true).p : "no server");
}

static int use_all(struct probe *p, const struct mcp_host_opt *opt,
		   const struct mcp_manifest *m)
{
	struct mcp_catalog catalog;
	struct mcp_server_status *v;
	struct err e = { 0 };

	if (come_in(p, opt, m, &v, &e) < 0)
		return give_up(&e);
	mcp_host_catalog(p->host, p->cli->a, &catalog);
	(void)printf("%.*s\n", STRF(text_visible(p->cli->a, v[0].note, true)));
	p->catalog = &catalog;
	call_tools(p);
	if (v[0].caps.resources)
		use_each(p, "resources/list", "resources", "resources/read", "uri");
	if (v[0].caps.prompts)
		use_each(p, "prompts/list", "prompts", "prompts/get", "name");
	return p->failed ? EXIT_FAILED : EXIT_OK;
}

static int probe(struct cli *cli, str url, str metadata)
{
	struct probe p = { .cli = cli };
	struct mcp_server_cfg server = { .name = S("probe"),
					 .http = { .url = url },
					 .timeout_ms = CALL_MS };
	const struct mcp_manifest m = { .servers = &server, .n = 1 };
	struct config_problems problems = { 0 };
	struct config *config = NULL;
	struct err e = { 0 };
	int code;

	if (mcp_http_cfg_check(&server.http, cli->a, &e) < 0 ||
	    cli_inspect(cli, 0, &config, &problems, &e) < 0 ||
	    probe_auth_begin(&p.auth, cli, config, &server, &e) < 0)
		return give_up(&e);
	const struct mcp_host_opt opt = { .config = config,
					  .env = &p.auth.env,
					  .offer = { .form = true } };
	server.auth.client_metadata = metadata;
	code = use_all(&p, &opt, &m);
	mcp_host_stop(p.host);
	probe_auth_end(&p.auth);
	config_free(config);
	return code;
}

/* The first steps are those of src/cli/main.c, but for what holds the program to a sandbox. */
int main(int argc, char **argv)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const struct cmd named = { .name = "mcp-probe" };
	struct cli cli = { .a = &a, .cmd = &named };
	bool about = argc == 4 && strcmp(argv[1], "--client-metadata") == 0;
	struct err e = { 0 };
	int code;

	if (argc != 2 && !about) {
		(void)fputs("usage: mcp-probe [--client-metadata URL] URL\n", stderr);
		return EXIT_USAGE;
	}
	if (signals_spare(&e) < 0 || spawner_start(&e) < 0)
		return give_up(&e);
	cli.env = env_copy(&a, environ);
	code = spawner_hide(&e) < 0
		       ? give_up(&e)
		       : probe(&cli, str_of(argv[argc - 1]), str_of(about ? argv[2] : ""));
	spawner_stop();
	return code;
}
