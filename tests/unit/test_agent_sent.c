/*
 * Records of requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/sent.h"

static struct message row(int64_t seq, const char *role, bool collapsed)
{
	return (struct message){ .seq = seq, .role = str_of(role), .collapsed = collapsed };
}

static const struct model_sent body = { .digest = UINT64_C(0xfedcba9876543210),
					.bytes = 1234,
					.quirks = 5,
					.gemini = true,
					.has_temperature = true,
					.max_tokens = 99,
					.temperature = 0.1,
					.effort = { "low", 3 } };

/* A long conversation stays a few ranges. */
static void what_is_written_is_read_again(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message rows[] = {
		row(3, "user", true),   row(4, "assistant", false),
		row(5, "tool", true),   row(6, "assistant", false),
		row(9, "user", false),  row(10, "assistant", false),
		row(11, "tool", true),  row(12, "tool", false),
		row(20, "user", false), row(INT64_MAX, "user", false),
	};
	struct model_msg msgs[] = { { .wire = S("a") },
				    { .wire = S("b") },
				    { .wire = S("c") } };
	struct sent_of of = { .sent = &body,
			      .rows = rows,
			      .rows_n = COUNT(rows),
			      .msgs = msgs,
			      .msgs_n = COUNT(msgs),
			      .system = S("sys"),
			      .tools = S("[]"),
			      .no_images = true,
			      .note = S("[note: \"go on\"]") };
	struct sent_parts parts = { 0 }, read = { 0 };
	struct sent_record r;
	str first = sent_write(&a, &of, &parts, &a);

	assert_int_equal(sent_read(&r, &a, first, &read, NULL), OK);
	assert_true(r.sent.digest == body.digest && r.sent.bytes == 1234 && r.sent.quirks == 5);
	assert_true(r.sent.gemini && r.sent.has_temperature && r.no_images);
	assert_true(r.sent.temperature == 0.1 && r.sent.max_tokens == 99);
	assert_string_equal(r.sent.effort.p, "low");
	assert_string_equal(r.note.p, "[note: \"go on\"]");
	assert_string_equal(r.rows.p, "3-6,9-12,20");
	assert_string_equal(r.thin.p, "3-6,11");
	assert_int_equal(r.first, 3);
	assert_int_equal(r.last, 20);
	assert_int_equal(r.system, sent_head(S("sys")));
	assert_int_equal(r.tools, sent_head(S("[]")));
	assert_int_equal(read.n, 3);
	assert_int_equal(read.v[2], sent_part(&msgs[2]));

	/* The next one says only what is new. */
	msgs[1].wire = S("B");
	str second = sent_write(&a, &of, &parts, &a);
	assert_non_null(strstr(second.p, "\"same\":1,"));
	assert_int_equal(sent_read(&r, &a, second, &read, NULL), OK);
	assert_int_equal(read.n, 3);
	assert_int_equal(read.v[0], sent_part(&msgs[0]));
	assert_int_equal(read.v[1], sent_part(&msgs[1]));
	assert_int_equal(read.v[2], sent_part(&msgs[2]));
}

static void what_was_never_sent_has_no_record(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_sent none = { 0 };
	struct sent_parts parts = { 0 };
	struct sent_record r;

	assert_int_equal(sent_write(&a, &(struct sent_of){ .sent = &none }, &parts, &a).n, 0);
	assert_int_equal(sent_read(&r, &a, S(""), &parts, NULL), E_NOENT);
}

static const struct {
	const char *list;
	int64_t seq;
	bool in;
} members[] = {
	{ "3-6,9", 3, true }, { "3-6,9", 6, true }, { "3-6,9", 7, false },
	{ "3-6,9", 9, true }, { "", 1, false },     { "3-x,4", 4, false },
	{ "7", 7, true },
};

static void a_range_has_both_its_ends(void **state)
{
	for (size_t i = 0; i < COUNT(members); i++)
		if (sent_has(str_of(members[i].list), members[i].seq) != members[i].in)
			fail_msg("%s has %lld", members[i].list, (long long)members[i].seq);
}

#define RECORD(digest, rows, rest)                                                             \
	"{\"digest\":\"" digest "\",\"bytes\":5,\"head\":\"00010002\",\"rows\":\"" rows        \
	"\",\"same\":" rest "}"

static const char *const damaged[] = {
	"{",
	"[]",
	"null",
	"{}",
	RECORD("", "1-2", "0,\"parts\":\"\""),
	RECORD("xyz", "1-2", "0,\"parts\":\"\""),
	RECORD("12", "", "0,\"parts\":\"\""),
	RECORD("12", "2-1", "0,\"parts\":\"\""),
	RECORD("12", "5,3", "0,\"parts\":\"\""),
	RECORD("12", "1-2,2", "0,\"parts\":\"\""),
	RECORD("12", "a", "0,\"parts\":\"\""),
	RECORD("12", "1-99999999999999999999", "0,\"parts\":\"\""),
	RECORD("12", "1-2", "1,\"parts\":\"\""),
	RECORD("12", "1-2", "-1,\"parts\":\"\""),
	RECORD("12", "1-2", "0,\"parts\":\"123\""),
	RECORD("12", "1-2", "0,\"parts\":\"12g4\""),
	"{\"digest\":7,\"rows\":[1],\"head\":\"00\",\"same\":0,\"parts\":\"\"}",
};

static void a_damaged_record_is_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct sent_record r;

	for (size_t i = 0; i < COUNT(damaged); i++) {
		struct sent_parts parts = { 0 };
		if (sent_read(&r, &a, str_of(damaged[i]), &parts, NULL) != E_PROTO)
			fail_msg("taken: %s", damaged[i]);
	}
	struct sent_parts parts = { 0 };
	str fine = S(RECORD("12", "1-2", "0,\"parts\":\"12a4\""));
	assert_int_equal(sent_read(&r, &a, fine, &parts, NULL), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(what_was_never_sent_has_no_record),
		cmocka_unit_test(a_range_has_both_its_ends),
		cmocka_unit_test(a_damaged_record_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
