/*
 * Any bytes from a model endpoint: as the body of an answer, fed whole and in pieces, which
 * must agree; as the body of a refusal; and, when they are JSON, as the schema of a tool.
 * The first byte chooses the size of the pieces.
 */
#include "model/quirks.h"
#include "model/reply.h"
#include "model/retry.h"
#include "model/schema.h"
#include "model/stream.h"

#include <stdlib.h>

#define MAX_BYTES 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
	int rc;
	struct model_reply reply;
	struct buf shown;
	str error;
};

static void on_piece(void *arg, enum model_event ev, str piece)
{
	struct result *r = arg;

	if (ev == MODEL_TEXT)
		buf_add(&r->shown, piece);
}

static void must(bool sound)
{
	if (!sound)
		abort();
}

/* Whatever came, what we store and send back is a sound message. */
static void check_wire(struct arena *a, const struct model_reply *r)
{
	struct json *v;

	must(json_read(&v, a, r->wire, NULL) == OK);
	must(str_eq(json_str(v, "role"), S("assistant")));
	const struct json *calls = json_get(v, "tool_calls");
	must((calls ? calls->n : 0) == r->calls_n);
	for (const struct json *c = calls ? calls->child : NULL; c; c = c->next) {
		SCOPED(arena_free) struct arena scratch = { 0 };
		struct json *args;
		str text = json_str(json_get(c, "function"), "arguments");
		must(json_str(c, "id").n > 0);
		must(json_str(json_get(c, "function"), "name").n > 0);
		must(json_read(&args, &scratch, text, NULL) == OK);
		must(json_is(args, JSON_OBJECT));
	}
}

static void run(struct arena *a, struct result *r, str body, size_t step)
{
	struct stream *s = NEW(a, struct stream);
	struct err e = { 0 };

	r->shown = buf_in(a, 1 << 20);
	stream_init(s, a, MAX_BYTES, on_piece, r);
	for (size_t i = 0; i < body.n && r->rc >= 0; i += step)
		r->rc = stream_feed(s, str_sub(body, i, i + step), &e);
	if (r->rc >= 0)
		r->rc = stream_end(s, false, &e);
	r->error = s->answer.error;
	if (r->rc < 0)
		return;
	reply_make(&s->answer, a, &r->reply);
	check_wire(a, &r->reply);
	if (!r->reply.refused)
		must(str_eq(buf_str(&r->shown), r->reply.text));
}

static void as_refusal(struct arena *a, str body, int status)
{
	struct model_quirks q = { 0 };
	struct lesson l = { .sent = 0xffff };
	struct refusal r;

	refusal_read(&r, a, status, body, NULL, 0);
	must(r.message.n > 0 && r.retry_after_ms >= 0 && r.context_window >= 0);
	must(!quirks_learn(&q, &r, &l) || q.flags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct result whole = { 0 }, pieces = { 0 };
	struct json *v;
	str body;

	if (size == 0)
		return 0;
	body = (str){ (const char *)data + 1, size - 1 };
	run(&a, &whole, body, body.n + 1);
	run(&a, &pieces, body, 1 + data[0] % 16);
	must((whole.rc < 0) == (pieces.rc < 0));
	must(whole.rc >= 0 || whole.rc == pieces.rc);
	must(str_eq(whole.reply.text, pieces.reply.text));
	must(str_eq(whole.reply.reasoning, pieces.reply.reasoning));
	must(whole.reply.calls_n == pieces.reply.calls_n);
	must(str_eq(whole.error, pieces.error));
	as_refusal(&a, body, 400);
	as_refusal(&a, body, 0);
	if (json_read(&v, &a, body, NULL) == OK) {
		struct buf b = buf_in(&a, 4 << 20);
		(void)retry_in_body(v);
		schema_write_plain(&b, v, data[0] & 1);
		must(json_read(&v, &a, buf_str(&b), NULL) == OK);
	}
	return 0;
}
