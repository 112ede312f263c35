/*
 * Noise of servers in our log: lines whatever the pieces, bounded length, bounded rate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcp/noise.h"
#include "os/file.h"
#include "os/log.h"

static char path[] = "/tmp/mcp-noise-XXXXXX";

/* What was logged since the last time. */
static str logged(struct arena *a)
{
	static size_t before;
	struct err e = { 0 };
	str all, fresh;

	assert_int_equal(file_read(&all, a, path, 1 << 20, &e), OK);
	fresh = str_sub(all, before, all.n);
	before = all.n;
	return fresh;
}

static size_t count(str text, const char *what)
{
	size_t n = 0, at;

	while ((at = str_find(text, str_of(what))) != SIZE_MAX) {
		text = str_sub(text, at + 1, text.n);
		n++;
	}
	return n;
}

static void lines_are_logged_whole_whatever_the_pieces(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str bytes = S("one\r\n\n  two words \nthree"), text;

	for (size_t step = 1; step <= bytes.n; step++) {
		struct mcp_noise n;

		mcp_noise_init(&n, "mcp.stderr", S("srv"));
		for (size_t i = 0; i < bytes.n; i += step)
			mcp_noise_feed(&n, str_sub(bytes, i, i + step), 1);
		text = logged(&a);
		assert_int_equal(count(text, "mcp.stderr server=srv line="), 2);
		assert_true(str_has(text, S("line=\"one\"")) &&
			    str_has(text, S("line=\"two words\"")));
		mcp_noise_end(&n, 1);
		assert_true(str_has(logged(&a), S("line=\"three\"")));
		assert_string_equal(n.last, "three");
	}
}

static void of_a_line_without_end_the_end_is_kept(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_noise n;
	str text;

	mcp_noise_init(&n, "mcp.stderr", S("srv"));
	for (int i = 0; i < 70000; i++)
		mcp_noise_feed(&n, S("\xE3\x81\x82xyz"), 1);
	assert_true(n.n <= MCP_NOISE_LINE);
	mcp_noise_feed(&n, S("the very end\n"), 1);
	text = logged(&a);
	assert_int_equal(count(text, "mcp.stderr"), 1);
	assert_true(str_has(text, S("the very end\"\n")) && str_has(text, S("line=\"...")));
	assert_true(text.n < 1000);
}

static void a_flood_is_counted_and_the_next_stretch_begins_anew(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_noise n;
	str text;

	mcp_noise_init(&n, "mcp.stderr", S("srv"));
	for (int i = 0; i < 1000; i++)
		mcp_noise_feed(&n, S("again\n"), 1000);
	assert_int_equal(count(logged(&a), "line="), 50);
	mcp_noise_feed(&n, S("later\n"), 11001);
	text = logged(&a);
	assert_int_equal(count(text, "line="), 1);
	assert_true(str_has(text, S("server=srv left_out=950")));
}

static void a_kind_stands_before_the_line_and_bad_bytes_are_mended(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_noise n;
	str text;

	mcp_noise_init(&n, "mcp.log", S("srv"));
	mcp_noise_line(&n, S("warning"), S("a\xFF\x1B[31mb"), 1);
	text = logged(&a);
	assert_true(str_has(text, S("mcp.log server=srv level=warning line=\"a\xEF\xBF\xBD")));
	assert_false(str_has(text, S("\x1B")));
}

static void secrets_of_the_server_are_not_shown(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const str secrets[] = { { "swordfish-7", 11 } };
	struct mcp_noise n;

	mcp_noise_init(&n, "mcp.stderr", S("srv"));
	n.secrets = secrets;
	n.secrets_n = 1;
	mcp_noise_feed(&n, S("using key swordfish-7 now\n"), 1);
	assert_true(str_has(logged(&a), S("line=\"using key [REDACTED] now\"")));
	assert_string_equal(n.last, "using key [REDACTED] now");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_logged_whole_whatever_the_pieces),
		cmocka_unit_test(of_a_line_without_end_the_end_is_kept),
		cmocka_unit_test(a_flood_is_counted_and_the_next_stretch_begins_anew),
		cmocka_unit_test(a_kind_stands_before_the_line_and_bad_bytes_are_mended),
		cmocka_unit_test(secrets_of_the_server_are_not_shown),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0 || log_open(&(struct log_opt){ .file = path, .level = LOG_INFO }, NULL) < 0)
		return 1;
	(void)close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	return failed;
}
