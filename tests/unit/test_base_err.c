/*
 * Errors: the code for the caller, the sentence for a person.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf.h"

static void a_sentence_is_built_and_wrapped(void **state)
{
	struct err e = { 0 };

	assert_int_equal(err_set(&e, E_INVAL, "line %d: no command", 4), E_INVAL);
	assert_int_equal(e.code, E_INVAL);
	assert_string_equal(e.msg, "line 4: no command");
	assert_int_equal(err_wrap(&e, E_PROTO, "manifest %s", "mcp.toml"), E_PROTO);
	assert_int_equal(e.code, E_PROTO);
	assert_string_equal(e.msg, "manifest mcp.toml: line 4: no command");
}

static void nobody_needs_to_care(void **state)
{
	errno = ENOENT;
	assert_int_equal(err_set(NULL, E_LIMIT, "x"), E_LIMIT);
	assert_int_equal(err_wrap(NULL, E_IO, "x"), E_IO);
	assert_int_equal(err_sys(NULL, "x"), E_NOENT);
}

static void errno_gives_the_code_and_the_reason(void **state)
{
	static const struct {
		int errnum, code;
		const char *reason;
	} rows[] = {
		{ ENOENT, E_NOENT, "No such file or directory" },
		{ EACCES, E_DENIED, "Permission denied" },
		{ EROFS, E_DENIED, "Read-only file system" },
		{ ENOSPC, E_FULL, "No space left on device" },
		{ EISDIR, E_INVAL, "Is a directory" },
		{ EAGAIN, E_BUSY, "Resource temporarily unavailable" },
		{ ETIMEDOUT, E_TIMEOUT, "Connection timed out" },
		{ E2BIG, E_LIMIT, "Argument list too long" },
		{ EIO, E_IO, "Input/output error" },
		{ ECONNREFUSED, E_IO, "Connection refused" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };
		char want[128] = "open x: ";

		errno = rows[i].errnum;
		assert_int_equal(err_sys(&e, "open %s", "x"), rows[i].code);
		assert_string_equal(e.msg, strcat(want, rows[i].reason));
	}
}

static void a_long_sentence_is_cut_and_stays_a_string(void **state)
{
	struct err e = { 0 };
	char big[600];

	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	(void)err_set(&e, E_IO, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
	(void)err_wrap(&e, E_IO, "front");
	assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
	assert_memory_equal(e.msg, "front: xxx", 10);
	(void)err_wrap(&e, E_IO, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
	errno = EIO;
	(void)err_sys(&e, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
}

static void a_sentence_is_cut_between_characters(void **state)
{
	struct err e = { 0 };
	char text[sizeof e.msg + 8] = "";

	for (int before = 0; before < 3; before++) {
		(void)snprintf(text, sizeof text, "%*s", before, "");
		while (strlen(text) + 4 < sizeof text)
			(void)strncat(text, "\xe2\x82\xac", 4);
		(void)err_set(&e, E_IO, "%s", text);
		assert_true(utf_valid(str_of(e.msg)));
		assert_true(strlen(e.msg) + 3 >= sizeof e.msg);
		(void)err_wrap(&e, E_IO, "x");
		assert_true(utf_valid(str_of(e.msg)));
		errno = ENOENT;
		(void)err_sys(&e, "%s", text);
		assert_true(utf_valid(str_of(e.msg)));
	}
}

static void every_code_has_its_word(void **state)
{
	assert_string_equal(err_word(OK), "ok");
	assert_string_equal(err_word(E_INVAL), "invalid");
	assert_string_equal(err_word(E_TIMEOUT), "timeout");
	assert_string_equal(err_word(E_CORRUPT), "corrupt");
	assert_string_equal(err_word(E_CORRUPT - 1), "unknown");
	assert_string_equal(err_word(1), "unknown");
	for (int code = OK; code > E_CORRUPT; code--)
		assert_string_not_equal(err_word(code), err_word(code - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sentence_is_built_and_wrapped),
		cmocka_unit_test(nobody_needs_to_care),
		cmocka_unit_test(errno_gives_the_code_and_the_reason),
		cmocka_unit_test(a_long_sentence_is_cut_and_stays_a_string),
		cmocka_unit_test(a_sentence_is_cut_between_characters),
		cmocka_unit_test(every_code_has_its_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
