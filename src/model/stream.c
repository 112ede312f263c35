/*
 * From bytes to an assembled answer.
 */
#include "model/stream.h"

#define LINGER_FINISH_MS 2000 /* after the finish reason: the usage may follow */
#define LINGER_DONE_MS 250 /* after [DONE]: the end of the body keeps the connection warm */

static str so_far(const struct buf *b)
{
	return (str){ b->p, b->n };
}

static void tell(struct stream *s, enum model_event ev, str piece)
{
	if (piece.n && s->on_piece)
		s->on_piece(s->arg, ev, piece);
}

static void show(struct stream *s, bool end)
{
	str reasoning = so_far(&s->answer.reasoning);

	tell(s, MODEL_REASONING, str_sub(reasoning, s->reasoning_shown, reasoning.n));
	s->reasoning_shown = reasoning.n;
	tell(s, MODEL_TEXT, think_more(&s->think, so_far(&s->answer.content), end));
}

static bool finished(const struct stream *s)
{
	return s->done || s->answer.finish.n;
}

static int reported(struct stream *s, str data, struct err *e)
{
	s->answer.error = arena_dup(s->answer.a, data);
	return err_set(e, E_PROTO, "the provider reported an error");
}

static int on_event(void *arg, str name, str data, struct err *e)
{
	struct stream *s = arg;
	SCOPED(arena_free) struct arena scratch = { 0 };
	bool error = str_eq(name, S("error"));
	struct json *chunk;
	int rc;

	data = str_trim(data);
	if (str_eq(data, S("[DONE]"))) {
		s->done = true;
		return OK;
	}
	if (!data.n || (data.p[0] != '{' && data.p[0] != '[' && !error))
		return OK; /* pings and the like */
	if (json_read(&chunk, &scratch, data, NULL) < 0) {
		if (error)
			return reported(s, data, e);
		if (s->ending || name.n)
			return OK; /* cut off, or not for us */
		return err_set(e, E_PROTO, "broken event in the answer");
	}
	if (error && !json_get(chunk, "error"))
		return reported(s, data, e);
	if ((rc = answer_chunk(&s->answer, chunk, false, e)) < 0)
		return rc;
	show(s, false);
	return OK;
}

void stream_init(struct stream *s, struct arena *a, size_t max,
		 void (*on_piece)(void *arg, enum model_event ev, str piece), void *arg)
{
	*s = (struct stream){
		.sse = sse_in(a, max, on_event, s),
		.answer = answer_in(a, max),
		.json = buf_in(a, max),
		.on_piece = on_piece,
		.arg = arg,
	};
	s->sse.lenient = true;
}

int stream_feed(struct stream *s, str chunk, struct err *e)
{
	int rc;

	if (!s->sniffed) {
		str begin = str_trim(chunk);
		s->sniffed = begin.n > 0;
		s->is_json = begin.n && (begin.p[0] == '{' || begin.p[0] == '[');
		if (!s->sniffed || s->is_json) /* blank so far: it may become either */
			buf_add(&s->json, chunk);
	} else if (s->is_json) {
		buf_add(&s->json, chunk);
	}
	if (s->is_json)
		return s->json.full ? err_set(e, E_LIMIT, "answer too long") : 1;
	s->answer.progress = false;
	if ((rc = sse_feed(&s->sse, chunk, e)) < 0)
		return rc;
	if (s->done)
		return LINGER_DONE_MS;
	return finished(s) ? LINGER_FINISH_MS : s->answer.progress;
}

/* A complete JSON body, asked for or not. */
static int take_json(struct stream *s, struct err *e)
{
	struct json *root;
	int rc;

	if (json_read(&root, s->answer.a, buf_str(&s->json), NULL) < 0)
		return err_set(e, E_PROTO, "the answer is not sound JSON");
	if ((rc = answer_chunk(&s->answer, root, true, e)) < 0)
		return rc;
	if (!s->answer.choices)
		return err_set(e, E_INVAL, "the answer has no choices");
	s->done = true;
	return OK;
}

int stream_end(struct stream *s, bool html, struct err *e)
{
	int rc;

	s->ending = true;
	rc = s->is_json ? take_json(s, e) : sse_end(&s->sse, e);
	if (rc < 0)
		return rc;
	if (!s->answer.choices && html)
		return err_set(e, E_INVAL, "a web page came back: is the base URL right?");
	if (!finished(s) || !s->answer.choices)
		return err_set(e, E_PROTO, "the answer ended early");
	show(s, true);
	return OK;
}
