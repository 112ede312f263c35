/*
 * Server-sent events, a byte at a time.  What an event means is not decided here.
 */
#include "text/sse.h"

#include <string.h>

#define RETRY_MAX_MS (INT64_C(24) * 3600 * 1000)

struct sse sse_in(struct arena *a, size_t max,
		  int (*on_event)(void *arg, str name, str data, struct err *e), void *arg)
{
	return (struct sse){
		.line = buf_in(a, max),
		.data = buf_in(a, max),
		.name = buf_in(a, 64),
		.new_id = buf_in(a, SSE_ID_MAX),
		.last_id = buf_in(a, SSE_ID_MAX),
		.max = max,
		.retry_ms = -1,
		.on_event = on_event,
		.arg = arg,
	};
}

static void add_data(struct sse *s, str value)
{
	if (s->has_data)
		buf_addc(&s->data, '\n');
	s->has_data = true;
	buf_add(&s->data, value);
}

static int dispatch(struct sse *s, struct err *e)
{
	int rc = OK;

	if (s->has_id) {
		buf_reset(&s->last_id);
		buf_add(&s->last_id, buf_str(&s->new_id));
		s->has_id = false;
	}
	if (s->has_data)
		rc = s->on_event(s->arg, buf_str(&s->name), buf_str(&s->data), e);
	s->has_data = false;
	buf_reset(&s->data);
	buf_reset(&s->name);
	return rc;
}

/* One with a NUL in it is none; of one that is too long nothing is left to name. */
static void take_id(struct sse *s, str value)
{
	if (value.n && memchr(value.p, 0, value.n))
		return;
	buf_reset(&s->new_id);
	buf_add(&s->new_id, value);
	s->has_id = true;
}

/* Digits alone, as the standard says. */
static void take_retry(struct sse *s, str value)
{
	int64_t ms;

	if (str_i64(value, &ms) && ms >= 0 && value.p[0] != '-')
		s->retry_ms = ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}

static void take_field(struct sse *s, str field, str value)
{
	if (str_is(field, "data")) {
		add_data(s, value);
	} else if (str_is(field, "event")) {
		buf_reset(&s->name);
		buf_add(&s->name, str_sub(value, 0, 64));
	} else if (str_is(field, "id")) {
		take_id(s, value);
	} else if (str_is(field, "retry")) {
		take_retry(s, value);
	} else if (s->lenient && str_is(field, "error")) {
		buf_reset(&s->name);
		buf_add(&s->name, field);
		add_data(s, value);
	}
}

static int end_line(struct sse *s, struct err *e)
{
	str line = buf_str(&s->line), value = line, field;

	if (line.n == 0)
		return dispatch(s, e);
	if (s->lenient && line.p[0] == '{') {
		add_data(s, line);
	} else {
		field = str_cut(&value, ':');
		if (value.n && value.p[0] == ' ')
			value = str_sub(value, 1, value.n);
		take_field(s, field, value);
	}
	buf_reset(&s->line);
	if (s->data.full)
		return err_set(e, E_LIMIT, "event over %zu bytes", s->max);
	return OK;
}

/* Before the first line is three bytes long it may be a byte order mark. */
static void skip_mark(struct sse *s)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (memcmp(s->line.p, mark, s->line.n)) {
		s->begun = true;
	} else if (s->line.n == 3) {
		buf_reset(&s->line);
		s->begun = true;
	}
}

int sse_feed(struct sse *s, str chunk, struct err *e)
{
	int rc;

	while (chunk.n) {
		char c = *chunk.p;
		if (c == '\n' && s->skip_lf) {
			s->skip_lf = false;
			chunk = str_sub(chunk, 1, chunk.n);
			continue;
		}
		s->skip_lf = c == '\r';
		if (c == '\n' || c == '\r') {
			s->begun = true;
			chunk = str_sub(chunk, 1, chunk.n);
			if ((rc = end_line(s, e)) < 0)
				return rc;
			continue;
		}
		size_t n = 1; /* up to the end of the line, in one piece */
		while (s->begun && n < chunk.n && chunk.p[n] != '\n' && chunk.p[n] != '\r')
			n++;
		buf_add(&s->line, str_sub(chunk, 0, n));
		if (s->line.full)
			return err_set(e, E_LIMIT, "event over %zu bytes", s->max);
		chunk = str_sub(chunk, n, chunk.n);
		if (!s->begun)
			skip_mark(s);
	}
	return OK;
}

int sse_end(struct sse *s, struct err *e)
{
	int rc = OK;

	if (s->line.n)
		rc = end_line(s, e);
	return rc < 0 ? rc : dispatch(s, e);
}
