/*
 * Answers as endpoints really send them, from tests/cases/sse: NAME.sse is the body,
 * NAME.txt what it must become, whatever the pieces it arrives in.
 *
 * With CASES_WRITE set in the environment the .txt files are written instead of compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/refusal.h"
#include "model/reply.h"
#include "model/stream.h"

#define DIR_CASES "tests/cases/sse"
#define FILE_MAX_BYTES (1 << 20)

static str file_bytes(struct arena *a, str path)
{
	char *p = arena_alloc(a, 1, FILE_MAX_BYTES);
	FILE *f = fopen(path.p, "rb");
	size_t n;

	if (!f)
		fail_msg("cannot open %s", path.p);
	n = fread(p, 1, FILE_MAX_BYTES, f);
	(void)fclose(f);
	return (str){ p, n };
}

struct pieces {
	struct buf text, reasoning;
};

static void on_piece(void *arg, enum model_event ev, str piece)
{
	struct pieces *p = arg;

	assert_true(piece.n > 0);
	buf_add(ev == MODEL_TEXT ? &p->text : &p->reasoning, piece);
}

/* The text with every identifier that we made up as NEW1, NEW2, ... */
static str tame(struct arena *a, str s, const struct model_reply *r, str body)
{
	int made = 0;

	for (size_t i = 0; i < r->calls_n; i++) {
		str id = r->calls[i].id;
		size_t at;
		if (str_has(body, arena_fmt(a, "\"%.*s\"", STRF(id))))
			continue;
		assert_int_equal(id.n, 9);
		made++;
		while ((at = str_find(s, id)) != SIZE_MAX)
			s = arena_fmt(a, "%.*sNEW%d%.*s", STRF(str_sub(s, 0, at)), made,
				      STRF(str_sub(s, at + id.n, s.n)));
	}
	return s;
}

static const char *finish_word(enum model_finish f)
{
	static const char *const words[] = { "stop", "length", "filter", "tools" };

	return words[f];
}

static str describe(struct arena *a, const struct model_reply *r, str body)
{
	struct buf b = buf_in(a, 1 << 20);

	buf_add(&b, S("text: "));
	buf_json(&b, r->text);
	if (r->reasoning.n) {
		buf_add(&b, S("\nreasoning: "));
		buf_json(&b, r->reasoning);
	}
	if (r->refused)
		buf_add(&b, S("\nrefused"));
	for (size_t i = 0; i < r->calls_n; i++)
		buf_fmt(&b, "\ncall: %.*s %.*s %.*s", STRF(r->calls[i].id),
			STRF(r->calls[i].name), STRF(r->calls[i].args));
	buf_fmt(&b, "\nfinish: %s\n", finish_word(r->finish));
	if (r->usage.prompt >= 0 || r->usage.completion >= 0 || r->usage.cached >= 0)
		buf_fmt(&b, "usage: %lld %lld %lld\n", (long long)r->usage.prompt,
			(long long)r->usage.completion, (long long)r->usage.cached);
	buf_fmt(&b, "wire: %.*s\n", STRF(r->wire));
	return tame(a, buf_str(&b), r, body);
}

static str describe_failure(struct arena *a, const struct stream *s, const struct err *e)
{
	struct refusal r;

	if (!s->answer.error.n)
		return arena_fmt(a, "failed: %s: %s\n", err_word(e->code), e->msg);
	refusal_read(&r, a, 0, s->answer.error, NULL, 0);
	return arena_fmt(a, "failed: %s %d: %.*s\n", model_kind_word(r.kind), r.status,
			 STRF(r.message));
}

/* Feed the body in the given sizes (0: whole; else random up to that many bytes). */
static str run(struct arena *a, str body, size_t most, uint32_t seed)
{
	struct pieces p = { buf_in(a, 1 << 20), buf_in(a, 1 << 20) };
	struct model_reply r = { 0 };
	struct err e = { 0 };
	struct stream *s = NEW(a, struct stream);
	int rc = OK;

	stream_init(s, a, 1 << 20, on_piece, &p);
	for (size_t i = 0, n; i < body.n && rc >= 0; i += n) {
		seed = seed * 1664525u + 1013904223u;
		n = most ? 1 + (seed >> 16) % most : body.n;
		/* A copy of exactly that size, so that a sanitizer sees an overrun. */
		str chunk = str_sub(body, i, i + n);
		char *copy = malloc(chunk.n);
		memcpy(copy, chunk.p, chunk.n);
		rc = stream_feed(s, (str){ copy, chunk.n }, &e);
		free(copy);
	}
	if (rc >= 0)
		rc = stream_end(s, str_has(body, S("<html>")), &e);
	if (rc < 0)
		return describe_failure(a, s, &e);
	reply_make(&s->answer, a, &r);
	if (!r.refused) {
		if (!str_eq(buf_str(&p.text), r.text))
			fail_msg("shown \"%.*s\", answered \"%.*s\"", STRF(buf_str(&p.text)),
				 STRF(r.text));
	}
	return describe(a, &r, body);
}

static void check_case(const char *file, bool write)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str stem = str_sub(str_of(file), 0, strlen(file) - 4);
	str body = file_bytes(&a, arena_fmt(&a, DIR_CASES "/%s", file));
	str expected_path = arena_fmt(&a, DIR_CASES "/%.*s.txt", STRF(stem));
	str expected = { 0 };

	if (write) {
		FILE *f = fopen(expected_path.p, "wb");
		str got = run(&a, body, 0, 0);
		assert_non_null(f);
		assert_int_equal(fwrite(got.p, 1, got.n, f), got.n);
		assert_int_equal(fclose(f), 0);
	}
	expected = file_bytes(&a, expected_path);
	for (uint32_t round = 0; round < 12; round++) {
		size_t most = round == 0 ? 0 : round == 1 ? 1 : round < 6 ? 7 : 90;
		str got = run(&a, body, most, round * 7919u + 1u);
		if (!str_eq(got, expected))
			fail_msg("%s in pieces of at most %zu: got\n%.*sexpected\n%.*s", file,
				 most, STRF(got), STRF(expected));
	}
}

static void every_stream_of_the_cases_becomes_what_its_text_says(void **state)
{
	DIR *d = opendir(DIR_CASES);
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *f; (f = readdir(d));) {
		if (!str_ends(str_of(f->d_name), S(".sse")))
			continue;
		check_case(f->d_name, getenv("CASES_WRITE") != NULL);
		n++;
	}
	(void)closedir(d);
	assert_true(n >= 70);
}

static int feed(struct stream *s, const char *text)
{
	struct err e = { 0 };

	return stream_feed(s, str_of(text), &e);
}

static void only_events_that_bring_something_count_as_progress(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct stream s;

	stream_init(&s, &a, 1 << 20, NULL, NULL);
	assert_int_equal(feed(&s, "\n"), 0);
	assert_int_equal(feed(&s, ": waiting\n\n"), 0);
	assert_int_equal(feed(&s, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\","
				  "\"content\":\"\"}}]}\n\n"),
			 0);
	assert_int_equal(feed(&s, "data: {\"choices\":[]}\n\n"), 0);
	assert_int_equal(feed(&s, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}"), 0);
	assert_int_equal(feed(&s, "\n\n"), 1);
	assert_int_equal(feed(&s, "data: {\"choices\":[{\"delta\":{}}]}\n\n"), 0);
	assert_int_equal(
		feed(&s, "data: {\"choices\":[{\"delta\":{\"reasoning\":\"a\"}}]}\n\n"), 1);
	assert_int_equal(feed(&s,
			      "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,"
			      "\"function\":{\"arguments\":\"{\"}}]}}]}\n\n"),
			 1);
	/* Once it is complete the rest is only waited for so long. */
	assert_true(feed(&s, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}"
			     "\n\n") > 1000);
	assert_true(feed(&s, ": more\n") > 1000);
	assert_in_range(feed(&s, "data: [DONE]\n\n"), 2, 500);
}

static void an_event_without_end_is_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct stream s;
	struct err e = { 0 };
	int rc = OK;

	stream_init(&s, &a, 4096, NULL, NULL);
	for (int i = 0; i < 10000 && rc >= 0; i++)
		rc = stream_feed(&s, S("data: {\"choices\": "), &e);
	assert_int_equal(rc, E_LIMIT);
	stream_init(&s, &a, 4096, NULL, NULL);
	for (int i = 0; i < 10000 && (rc >= 0 || !i); i++)
		rc = stream_feed(&s, S("data: {\"choices\": \n"), &e);
	assert_int_equal(rc, E_LIMIT);
	assert_true(a.used < 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_stream_of_the_cases_becomes_what_its_text_says),
		cmocka_unit_test(only_events_that_bring_something_count_as_progress),
		cmocka_unit_test(an_event_without_end_is_refused),
	};

	return cmocka_run_group_tests_name("model/stream", tests, NULL, NULL);
}
