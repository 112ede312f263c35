/*
 * The rows about what the model can do: four short requests, made as a turn would make them, with
 * what was learnt of the endpoint before; nothing is learnt or kept here.
 */
#include "cli/doctor.h"

#include "model/model.h"
#include "model/quirks.h"
#include "store/state.h"

#define PROBE_MS 30000
#define PROBE_TOOL "gantry_probe"

/* 32 by 32 pixels, red. */
#define PICTURE                                                                                \
	"data:image/"                                                                          \
	"png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkA"          \
	"AAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC"

struct probe {
	const char *say;
	const char *picture; /* NULL none */
	bool stream, tool;
	/* What came of it. */
	struct model_reply reply;
	struct model_failure fail;
	struct err e;
	int pieces;
	int64_t first_ms;
};

static void on_event(void *arg, enum model_event ev, str piece)
{
	(void)piece;
	if (ev == MODEL_TEXT)
		((struct probe *)arg)->pieces++;
}

static bool useless(struct doctor *d)
{
	if (!d->reachable)
		doctor_say(d, DOCTOR_SKIP, NULL, "the endpoint does not answer");
	else if (d->refused.n)
		doctor_say(d, DOCTOR_SKIP, NULL, "%.*s", STRF(d->refused));
	return !d->reachable || d->refused.n;
}

/* One request without retries; the code of model_complete(). */
static int ask(struct doctor *d, struct probe *p)
{
	static const struct model_tool tool = {
		S(PROBE_TOOL), S("Answers with the text it is given."),
		S("{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},"
		  "\"required\":[\"text\"]}")
	};
	struct model_cfg cfg = d->cfg->model;
	const str urls[] = { str_of(p->picture) };
	const struct model_msg msg = {
		.role = S("user"),
		.wire = p->picture ? model_user_images_wire(d->a, str_of(p->say), urls, 1)
				   : model_user_wire(d->a, str_of(p->say)),
		.issuer = S(""),
	};
	struct model_req req = { .msgs = &msg,
				 .msgs_n = 1,
				 .tools = &tool,
				 .tools_n = p->tool ? 1 : 0,
				 .stream = p->stream,
				 .on_event = on_event,
				 .arg = p };
	struct model *m;
	int rc;

	cfg.max_retries = 0;
	cfg.total_ms = cfg.first_token_ms = PROBE_MS;
	if ((rc = model_open(&m, &cfg, d->pool, &p->e)) < 0)
		return rc;
	if (d->store)
		(void)!store_quirks_get(d->store, model_issuer(m), &req.quirks.flags,
					&req.quirks.context_window, NULL);
	rc = model_complete(m, &req, d->a, &p->reply, &p->fail, d->c, &p->e);
	model_close(m);
	return rc;
}

static const char *advice_of(const struct probe *p)
{
	switch (p->fail.kind) {
	case MODEL_AUTH:
		return "make a new key at the provider, or pay its bill";
	case MODEL_RATE_LIMIT:
		return "wait, or raise the limit at the provider";
	case MODEL_BAD_REQUEST:
		return "check the model's name and the options of agent: and openai:";
	default:
		return "try again later; the provider may be in trouble";
	}
}

static void say_failed(struct doctor *d, const struct probe *p, enum doctor_status s,
		       const char *what)
{
	if (p->fail.kind != MODEL_CANCELED)
		doctor_say(d, s, advice_of(p), "%s: %s", what, p->e.msg);
}

void doctor_answer(struct doctor *d)
{
	struct probe p = { .say = "Answer with the single word: pong" };

	if (useless(d))
		return;
	d->asked = true;
	if (ask(d, &p) < 0) {
		/* The further questions would fail alike. */
		d->refused =
			p.fail.kind == MODEL_AUTH
				? S("the endpoint refuses the key")
				: arena_fmt(d->a, "the first question failed: %s", p.e.msg);
		say_failed(d, &p, DOCTOR_FAIL, "no answer");
		return;
	}
	d->usage = p.reply.usage;
	if (p.reply.text.n)
		doctor_say(d, DOCTOR_OK, NULL, "it answered in %lld ms",
			   (long long)p.reply.total_ms);
	else
		doctor_say(d, DOCTOR_WARN,
			   "a reasoning model may need a larger agent.max_tokens",
			   "it answered with nothing");
}

void doctor_stream(struct doctor *d)
{
	struct probe p = { .say = "Count from 1 to 5, in digits.", .stream = true };

	if (useless(d))
		return;
	if (ask(d, &p) < 0) {
		say_failed(d, &p, d->cfg->agent.stream_replies ? DOCTOR_FAIL : DOCTOR_WARN,
			   "no streamed answer");
		return;
	}
	if (d->usage.prompt < 0)
		d->usage = p.reply.usage;
	if (p.reply.quirks.flags & QUIRK_NO_STREAM)
		doctor_say(d, DOCTOR_WARN, "answers appear at once; set STREAM_REPLIES=false",
			   "the endpoint refuses to stream");
	else if (p.pieces > 1)
		doctor_say(d, DOCTOR_OK, NULL, "%d pieces, the first after %lld ms", p.pieces,
			   (long long)p.reply.first_token_ms);
	else
		doctor_say(d, DOCTOR_WARN,
			   "answers appear at once; STREAM_REPLIES=false saves the edits",
			   "the answer came in one piece");
}

void doctor_calls(struct doctor *d)
{
	struct probe p = { .say = "Call the tool " PROBE_TOOL " with the text pong. Say "
				  "nothing yourself.",
			   .tool = true };

	if (useless(d))
		return;
	if (ask(d, &p) < 0)
		say_failed(d, &p, DOCTOR_FAIL, "a request with tools failed");
	else if (p.reply.quirks.flags & QUIRK_NO_TOOLS)
		doctor_say(d, DOCTOR_FAIL,
			   "choose a model that knows tools: without them it can only talk",
			   "the endpoint refuses requests with tools");
	else if (p.reply.calls_n && str_eq(p.reply.calls[0].name, S(PROBE_TOOL)))
		doctor_say(d, DOCTOR_OK, NULL, "it called the tool it was asked to");
	else
		doctor_say(
			d, DOCTOR_WARN,
			"use a model that is made for tools, or a server that passes them on",
			"it answered with words in place of the call it was asked for");
}

void doctor_usage(struct doctor *d)
{
	if (!d->asked) {
		doctor_say(d, DOCTOR_SKIP, NULL, "the model was not asked");
		return;
	}
	if (d->usage.prompt > 0 && d->usage.completion > 0)
		doctor_say(d, DOCTOR_OK, NULL,
			   "tokens are reported (%lld in, %lld out for the first question)",
			   (long long)d->usage.prompt, (long long)d->usage.completion);
	else if (d->refused.n)
		doctor_say(d, DOCTOR_SKIP, NULL, "there was no answer");
	else
		doctor_say(d, DOCTOR_WARN, "totals and limits of tokens rest on estimates",
			   "the endpoint does not say how many tokens a request took");
}

void doctor_vision(struct doctor *d)
{
	struct probe p = { .say = "Which colour is this picture? One word.",
			   .picture = PICTURE };

	if (useless(d))
		return;
	if (ask(d, &p) == OK)
		doctor_say(d, DOCTOR_OK, NULL, "it takes pictures");
	else if (p.fail.no_images || p.fail.kind == MODEL_BAD_REQUEST)
		doctor_say(d, DOCTOR_INFO, NULL,
			   "it takes no pictures: photos are told to it as [photo]");
	else
		say_failed(d, &p, DOCTOR_WARN, "a question with a picture failed");
}
