/*
 * The log: what a line looks like, whatever goes into it.
 */
#include "base/buf.h"
#include "os/file.h"
#include "os/log.h"
#include "os/thread.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define LINE_MAX_BYTES 4096

static char path[] = "/tmp/gantry-log-XXXXXX";

static void open_log(bool json, enum log_level level, str (*redact)(struct arena *a, str line))
{
	struct log_opt opt = { .level = level, .json = json, .file = path, .redact = redact };
	struct err e = { 0 };

	assert_int_equal(truncate(path, 0), 0);
	if (log_open(&opt, &e) < 0)
		fail_msg("%s", e.msg);
}

static str logged(struct arena *a)
{
	str s;

	assert_int_equal(file_read(&s, a, path, 1 << 20, NULL), OK);
	return s;
}

/* The one line that was logged, as JSON. */
static struct json *logged_json(struct arena *a)
{
	struct json *v = NULL;
	struct err e = { 0 };
	str s = logged(a), line = str_cut(&s, '\n');

	assert_int_equal(s.n, 0);
	assert_true(line.n < LINE_MAX_BYTES);
	if (json_read(&v, a, line, &e) < 0)
		fail_msg("%s: %.*s", e.msg, STRF(line));
	return v;
}

static void a_text_line_has_time_level_event_and_pairs(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	open_log(false, LOG_INFO, NULL);
	log_info("turn.done", "session=%s rounds=%d", "abc", 3);
	str s = logged(&a);
	assert_true(s.n > 30);
	assert_int_equal(s.p[10], 'T');
	assert_int_equal(s.p[23], 'Z');
	assert_string_equal(s.p + 24, " INFO  turn.done session=abc rounds=3\n");
}

static void a_json_line_has_the_pairs_as_members(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	open_log(true, LOG_INFO, NULL);
	log_warn("mcp.exit",
		 "server=%s ms=%d neg=-5 id=0042 long=1234567890123456 err=%s x= odd", "fs", 12,
		 log_q(&a, S("a \"b\" = c\\d\n\x1b[1m\xff")).p);
	const struct json *v = logged_json(&a);
	assert_int_equal(json_str(v, "time").n, 24);
	assert_string_equal(json_str(v, "level").p, "WARN");
	assert_string_equal(json_str(v, "msg").p, "mcp.exit");
	assert_string_equal(json_str(v, "server").p, "fs");
	assert_true(json_is(json_get(v, "ms"), JSON_INT));
	assert_int_equal(json_i64(v, "ms", 0), 12);
	assert_int_equal(json_i64(v, "neg", 0), -5);
	assert_string_equal(json_str(v, "id").p, "0042");
	assert_string_equal(json_str(v, "long").p, "1234567890123456");
	assert_string_equal(json_str(v, "err").p, "a \"b\" = c\\d\n\x1b[1m\xEF\xBF\xBD");
	assert_string_equal(json_str(v, "x").p, "");
	assert_string_equal(json_str(v, "text").p, "odd");
	assert_null(json_get(v, "turn"));
	assert_null(json_get(v, "cut"));
}

static void levels_below_the_chosen_one_are_silent(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	open_log(false, LOG_WARN, NULL);
	log_debug("a", "x");
	log_info("b", "x");
	log_warn("c", "x");
	log_error("d", "x");
	str s = logged(&a);
	assert_false(str_has(s, S(" a ")) || str_has(s, S(" b ")));
	assert_true(str_has(s, S(" WARN  c x\n")) && str_has(s, S(" ERROR d x\n")));
	open_log(false, LOG_DEBUG, NULL);
	log_debug("a", "x");
	assert_true(str_has(logged(&a), S(" DEBUG a x\n")));
}

static void nothing_breaks_out_of_a_text_line(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	open_log(false, LOG_INFO, NULL);
	log_info("in", "%s", "one\ntwo\r\x1b[2J\x7f\t\xC2\x9B\xE2\x80\xAE\xff end");
	str s = logged(&a);
	assert_true(str_ends(s, S(" in one\\ntwo\\x0d\\x1b[2J\\x7f\\t\\x9b\\u202e\xEF\xBF\xBD"
				  " end\n")));
	assert_int_equal(str_find(s, S("\n")), s.n - 1);
}

static void every_byte_gives_valid_json(void **state)
{
	for (int c = 1; c < 256; c++) {
		SCOPED(arena_free) struct arena a = { 0 };
		char raw[] = { 'k', '=', '"', (char)c, '\\', (char)c, '"', (char)c, '=', 0 };
		open_log(true, LOG_INFO, NULL);
		log_info("x", "%s %s=%s", raw, raw, log_q(&a, str_of(raw)).p);
		assert_true(json_is(logged_json(&a), JSON_OBJECT));
	}
}

static void a_long_line_is_cut_and_stays_whole(void **state)
{
	static const char *const units[] = { "x", "\x01", "\"", "\xF0\x9F\x98\x80", "\xff" };
	static char big[20001];

	for (size_t i = 0; i < COUNT(units); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		big[0] = '\0';
		for (size_t n = 0, len = strlen(units[i]); n + len < sizeof big; n += len)
			memcpy(big + n, units[i], len + 1);
		open_log(true, LOG_INFO, NULL);
		log_info("big", "a=1 v=%s", big);
		const struct json *v = logged_json(&a);
		assert_int_equal(json_i64(v, "a", 0), 1);
		assert_true(json_str(v, "v").n > 300);
		open_log(false, LOG_INFO, NULL);
		log_info("big", "v=%s", big);
		str s = logged(&a);
		assert_true(s.n > 1000 && s.n <= LINE_MAX_BYTES);
		assert_true(str_ends(s, S("\xE2\x80\xA6\n")));
	}
}

static void a_quoted_value_is_bounded(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static char big[1000];

	memset(big, '"', sizeof big - 1);
	assert_string_equal(log_q(&a, S("")).p, "\"\"");
	assert_string_equal(log_q(&a, S("a b\n")).p, "\"a b\\n\"");
	str q = log_q(&a, str_of(big));
	assert_int_equal(q.n, 1 + 2 * 200 + 3 + 1);
	assert_true(str_ends(q, S("\xE2\x80\xA6\"")));
}

static str hide_secret(struct arena *a, str line)
{
	size_t at = str_find(line, S("s3cret\"x"));

	if (at == SIZE_MAX)
		return line;
	str head = arena_cat(a, str_sub(line, 0, at), S("[REDACTED]"));
	return arena_cat(a, head, str_sub(line, at + 8, line.n));
}

static void the_redactor_sees_the_text_before_it_is_escaped(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	open_log(true, LOG_INFO, hide_secret);
	log_info("http", "key=s3cret\"x n=1");
	assert_false(str_has(logged(&a), S("s3cret")));
	const struct json *v = logged_json(&a);
	assert_string_equal(json_str(v, "key").p, "[REDACTED]");
	assert_int_equal(json_i64(v, "n", 0), 1);
	open_log(false, LOG_INFO, hide_secret);
	log_info("http", "key=s3cret\"x n=1");
	assert_true(str_ends(logged(&a), S(" http key=[REDACTED] n=1\n")));
}

static bool waits(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void lines_of_a_level_are_kept_for_who_tells_them_on(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	unsigned left_out = 1;
	int fd = -1;

	open_log(true, LOG_ERROR, hide_secret);
	log_error("before", "x=1");
	assert_int_equal(log_keep(LOG_WARN, &fd, NULL), OK);
	assert_false(waits(fd));
	log_info("not.this", "x=1");
	log_keep_none(true);
	log_error("nor.this", "x=2");
	log_keep_none(false);
	assert_false(waits(fd));
	/* Also below the level of the log itself, without its secrets, on a line each. */
	log_warn("one", "key=s3cret\"x a=\n\x1b[2J");
	log_error("two", "b=%s", "2");
	assert_true(waits(fd));
	assert_string_equal(log_kept(&a, &left_out).p,
			    "WARN one key=[REDACTED] a=\\n\\x1b[2J\nERROR two b=2\n");
	assert_int_equal(left_out, 0);
	assert_false(waits(fd));
	assert_int_equal(log_kept(&a, &left_out).n, 0);
	/* As many as there is room for, each at most so long. */
	char big[2000];
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	for (int i = 0; i < 20; i++)
		log_warn("big", "x=%s", big);
	str lines = log_kept(&a, &left_out);
	assert_true(lines.n > 1500 && lines.n <= 3000);
	assert_true(str_ends(lines, S("x\xe2\x80\xa6\n")));
	assert_int_equal(left_out, 20 - lines.n / 600);
	assert_int_equal(log_keep(LOG_ERROR, &fd, NULL), OK);
	log_warn("no more", "x=1");
	assert_false(waits(fd));
}

static void *log_from_thread(void *arg)
{
	const char *id = arg;

	log_turn(id);
	for (int i = 0; i < 200; i++)
		log_info("x", "n=%d", i);
	log_turn(NULL);
	log_info("x", "of=%s", id);
	return NULL;
}

static void each_thread_has_its_own_turn_and_lines_do_not_mix(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static char ids[4][8] = { "t0", "t1", "t2", "t3" };
	struct thread t[4] = { 0 };
	int lines = 0;

	open_log(true, LOG_INFO, NULL);
	for (size_t i = 0; i < COUNT(t); i++)
		assert_int_equal(thread_start(&t[i], "log", log_from_thread, ids[i], NULL), OK);
	for (size_t i = 0; i < COUNT(t); i++)
		thread_join(&t[i]);
	str s = logged(&a);
	for (; s.n; lines++) {
		struct json *v = NULL;
		assert_int_equal(json_read(&v, &a, str_cut(&s, '\n'), NULL), OK);
		assert_true(json_get(v, "of") ? !json_get(v, "turn")
					      : str_starts(json_str(v, "turn"), S("t")));
	}
	assert_int_equal(lines, 4 * 201);
}

static void a_log_file_is_private_and_a_bad_one_is_an_error(void **state)
{
	struct log_opt bad = { .file = "/no/such/dir/log" };
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(unlink(path), 0);
	assert_int_equal(log_open(&(struct log_opt){ .level = LOG_INFO, .file = path }, &e),
			 OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(log_open(&bad, &e), E_NOENT);
	assert_non_null(strstr(e.msg, "log file /no/such/dir/log"));
	errno = ENOTTY;
	log_info("still", "here=1"); /* the old one goes on */
	assert_int_equal(errno, ENOTTY);
	SCOPED(arena_free) struct arena a = { 0 };
	assert_true(str_has(logged(&a), S("here=1")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_line_has_time_level_event_and_pairs),
		cmocka_unit_test(a_json_line_has_the_pairs_as_members),
		cmocka_unit_test(levels_below_the_chosen_one_are_silent),
		cmocka_unit_test(nothing_breaks_out_of_a_text_line),
		cmocka_unit_test(every_byte_gives_valid_json),
		cmocka_unit_test(a_long_line_is_cut_and_stays_whole),
		cmocka_unit_test(a_quoted_value_is_bounded),
		cmocka_unit_test(the_redactor_sees_the_text_before_it_is_escaped),
		cmocka_unit_test(lines_of_a_level_are_kept_for_who_tells_them_on),
		cmocka_unit_test(each_thread_has_its_own_turn_and_lines_do_not_mix),
		cmocka_unit_test(a_log_file_is_private_and_a_bad_one_is_an_error),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	(void)close(fd);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	return failed;
}
