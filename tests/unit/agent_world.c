/*
 * The fixture of the tests of agent/ and gateway/.
 */
#include "agent_world.h"

#include "os/clock.h"
#include "text/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOOL_MS 20000

static const char *const names[] = { "echo", "look", "bad", "wait", "first", "second",
				     "stop", "grow", "odd", "keep", "shell" };

static void list(const struct tool_source *self, struct arena *a,
		 void (*add)(void *arg, const struct tool_spec *spec), void *arg)
{
	struct agent_world *k = self->arg;

	for (size_t i = 0; i < COUNT(names); i++) {
		const struct tool_spec spec = {
			.name = str_of(names[i]),
			.description = S("a tool"),
			.schema = S("{\"type\":\"object\"}"),
			.safe = (!strcmp(names[i], "look") || !strcmp(names[i], "keep")) &&
				!k->unsafe,
			.shell = !strcmp(names[i], "shell"),
			.source = self,
			.impl = names[i],
		};
		str word = arena_fmt(a, " %s ", names[i]);
		if (k->only && !str_has(str_of(k->only), word))
			continue;
		if (!k->none && (!k->without || strcmp(k->without, names[i])))
			add(arg, &spec);
	}
}

/* A row in our own database, with a name of its own for each time. */
static int keep(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	struct agent_world *k = arg;
	char name[] = { 'k', (char)('0' + atomic_fetch_add(&k->effects, 1)), '\0' };
	int rc = k->on_effect ? k->on_effect(k, e) : OK;

	if (rc == OK)
		rc = store_tools_set(tx, str_of(name), S("[]"), e);
	out->text = S("kept for good");
	return rc;
}

static int call(const struct tool_source *self, const struct tool_spec *spec, str args,
		const struct tool_ctx *ctx, struct arena *a, struct tool_result *out,
		const struct cancel *c, struct err *e)
{
	struct agent_world *k = self->arg;
	const char *name = spec->impl;
	int64_t until = clock_mono_ms() + TOOL_MS;

	atomic_fetch_add(&k->ran, 1);
	out->text = arena_fmt(a, "%s says %.*s", name, STRF(args));
	out->failed = !strcmp(name, "bad");
	if (!strcmp(name, "wait"))
		return wait_fd(-1, 0, until, c, e);
	if (!strcmp(name, "first"))
		return wait_fd(k->second.fd, POLLIN, until, c, e);
	if (!strcmp(name, "second"))
		bell_ring(&k->second);
	if (!strcmp(name, "stop"))
		cancel_fire(&k->token, k->why);
	if (!strcmp(name, "odd") || (!strcmp(name, "keep") && k->on_odd))
		k->on_odd();
	if (!strcmp(name, "keep")) {
		out->effect = keep;
		out->effect_arg = k;
	}
	if (!strcmp(name, "grow")) {
		char *p = arena_alloc(a, 1, 3001);
		memset(p, 'g', 3000);
		out->text = (str){ p, 3000 };
	}
	return OK;
}

static int ask(struct approver *self, const struct approval_ask *what, bool *yes,
	       const struct cancel *c, struct err *e)
{
	struct agent_world *k = (void *)((char *)self - offsetof(struct agent_world, approver));
	char answer = k->answers[atomic_fetch_add(&k->asked, 1)];

	assert_true(answer != '\0');
	*yes = answer == 'y';
	return answer == 't' ? err_set(e, E_TIMEOUT, "nobody came") : OK;
}

static void on_trace(void *arg, str line)
{
	struct agent_world *k = arg;

	assert_int_equal(permit_take(k->tracing, NULL, NULL), OK);
	buf_fmt(&k->trace, "%.*s\n", STRF(line));
	permit_give(k->tracing);
}

int agent_world_setup(void **state)
{
	struct agent_world *k = calloc(1, sizeof *k);

	(void)world_setup((void **)&k->w);
	k->cfg.limits = (struct limits_cfg){
		.history_max_messages = 200,
		.history_max_tokens = 100000,
		.tool_result_max_chars = 20000,
		.tool_max_iterations = 20,
		.turn_max_ms = 60000,
	};
	k->cfg.agent.tool_trace = S("compact");
	k->cfg.policy.rules = k->rules;
	k->cfg.policy.approval_timeout_ms = 1000;
	k->cfg.model = (struct model_cfg){ .name = S("m"), .no_key = true, .total_ms = 30000 };
	k->source =
		(struct tool_source){ .name = "test", .list = list, .call = call, .arg = k };
	k->approver = (struct approver){ .ask = ask, .decider = "tester" };
	k->answers = "";
	k->why = CANCEL_USER;
	k->trace = buf_in(&k->w->a, 1 << 16);
	k->tracing = calloc(1, sizeof *k->tracing);
	k->io = (struct turn_io){ .arg = k, .on_trace = on_trace, .approver = &k->approver };
	assert_int_equal(permit_init(k->tracing, NULL), OK);
	assert_int_equal(bell_init(&k->second, NULL), OK);
	assert_int_equal(cancel_init(&k->token, NULL, 0, NULL), OK);
	assert_int_equal(http_pool_open(&k->pool, &(struct http_opt){ 0 }, NULL), OK);
	*state = k;
	return 0;
}

static void stop_serving(struct agent_world *k)
{
	if (k->agent && !k->served)
		lb_stop(&k->lb);
	k->served = true;
}

int agent_world_teardown(void **state)
{
	struct agent_world *k = *state;

	agent_close(k->agent);
	tools_close(k->tools);
	model_close(k->model);
	http_pool_close(k->pool);
	stop_serving(k);
	lb_free(&k->lb);
	cancel_done(&k->token);
	bell_done(&k->second);
	permit_done(k->tracing);
	free(k->tracing);
	(void)world_teardown((void **)&k->w);
	free(k);
	return 0;
}

static void step(struct agent_world *k, enum lb_op op, str data)
{
	assert_true(k->steps_n < COUNT(k->steps) - 1);
	k->steps[k->steps_n++] = (struct lb_step){ op, data.p, data.n };
}

static void send_body(struct agent_world *k, const char *head, str body)
{
	step(k, LB_READ, S(""));
	step(k, LB_SEND,
	     arena_fmt(&k->w->a, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%.*s", head, body.n,
		       STRF(body)));
}

static str calls_of(struct agent_world *k, str spec)
{
	struct buf b = buf_in(&k->w->a, 1 << 16);
	int n = 0;

	buf_add(&b, S("\"content\":\"on it\",\"tool_calls\":["));
	while (spec.n) {
		str args = str_cut(&spec, '|'), name = str_cut(&args, ' ');
		buf_fmt(&b, "%s{\"id\":\"call%zu_%d\",\"type\":\"function\",\"function\":{",
			n ? "," : "", k->steps_n, n);
		n++;
		buf_json_member(&b, "name", name);
		buf_json_member(&b, "arguments", args.n ? args : S("{}"));
		buf_add(&b, S("}}"));
	}
	buf_addc(&b, ']');
	return buf_str(&b);
}

void aw_says(struct agent_world *k, const char *reply)
{
	struct buf b = buf_in(&k->w->a, 1 << 20);
	str text = str_of(reply + 2);
	const char *finish = "stop";

	if (reply[0] == 'h') {
		step(k, LB_READ, S(""));
		step(k, LB_HOLD, S(""));
		return;
	}
	if (reply[0] == 'x' || reply[0] == '4' || reply[0] == '5') {
		send_body(k, reply[0] == '5' ? "503 Service Unavailable" : "400 Bad Request",
			  arena_fmt(&k->w->a,
				    "{\"error\":{\"message\":\"%.*s\",\"code\":\"%s\"}}",
				    STRF(text),
				    reply[0] == 'x' ? "context_length_exceeded" : "bad"));
		return;
	}
	buf_add(&b, S("{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","));
	if (reply[0] == 'c') {
		buf_add(&b, calls_of(k, text));
		finish = "tool_calls";
	} else {
		buf_json_member(&b, reply[0] == 'r' ? "reasoning_content" : "content", text);
		if (reply[0] == 'r')
			buf_add(&b, S(",\"content\":\"\""));
	}
	finish = reply[0] == 'l' ? "length" : reply[0] == 'f' ? "content_filter" : finish;
	buf_fmt(&b,
		"},\"finish_reason\":\"%s\"}],\"usage\":{\"prompt_tokens\":100,"
		"\"completion_tokens\":10}}",
		finish);
	send_body(k, "200 OK", buf_str(&b));
}

void aw_fires(struct agent_world *k)
{
	step(k, LB_READ, S(""));
	step(k, LB_FIRE, S(""));
	step(k, LB_HOLD, S(""));
}

void aw_open(struct agent_world *k)
{
	struct agent_opt opt = { .cfg = &k->cfg, .store = k->w->s };
	struct tools_opt tools = { .store = k->w->s,
				   .policy = &k->cfg.policy,
				   .limits = &k->cfg.limits,
				   .mcp = &k->source };

	if (k->agent)
		return;
	step(k, LB_HOLD, S(""));
	lb_start(&k->lb, k->steps, &k->token);
	k->cfg.model.base_url = lb_url(&k->lb, &k->w->a, "/v1");
	ok(k->w, model_open(&k->model, &k->cfg.model, k->pool, &k->w->e));
	ok(k->w, tools_open(&k->tools, &tools, &k->w->e));
	opt.model = opt.classifier = k->model;
	opt.tools = k->tools;
	ok(k->w, agent_open(&k->agent, &opt, &k->w->e));
}

void aw_claim(struct agent_world *k)
{
	struct tx tx = world_begin(k->w);

	aw_open(k);
	ok(k->w, store_turn_claim(&tx, S(""), &k->w->a, &k->t, &k->w->e));
	if (!k->t.resumed)
		ok(k->w, agent_turn_begin(k->agent, &tx, &k->t, &zone_utc, &k->w->a, &k->w->e));
	world_commit(k->w, &tx);
}

void aw_hear(struct agent_world *k, const char *text)
{
	(void)world_add(k->w, "1", text);
	aw_claim(k);
}

int aw_run(struct agent_world *k)
{
	k->e = (struct err){ 0 };
	return agent_turn_run(k->agent, &k->t, &k->io, &k->token, &k->e);
}

const char *aw_request(struct agent_world *k, int i)
{
	stop_serving(k);
	if (i < 0)
		i += k->lb.requests;
	assert_true(i >= 0 && i < k->lb.requests);
	return strstr(k->lb.request[i], "\r\n\r\n");
}

str aw_state(struct agent_world *k)
{
	return world_text(k->w, arena_fmt(&k->w->a, "SELECT state FROM turns WHERE id = '%.*s'",
					  STRF(k->t.id))
					.p);
}

str aw_told(struct agent_world *k)
{
	return world_text(
		k->w, arena_fmt(&k->w->a,
				"SELECT text FROM outbox WHERE turn_id = '%.*s' ORDER BY id",
				STRF(k->t.id))
			      .p);
}

void aw_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void aw_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in \"%s\"", part, text);
}
