/*
 * The manifest: each file of tests/cases/manifest is read and shown as text, which has to be
 * what stands beside it in NAME.expect: the servers and warnings, or the one error line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "mcp/manifest.h"
#include "os/file.h"

#define CASE_MAX 65536

static void show_list(struct buf *b, const char *name, struct str_list l)
{
	for (size_t i = 0; i < l.n; i++)
		buf_fmt(b, "  %s: %.*s\n", name, STRF(l.v[i]));
}

static void show_http(struct buf *b, const struct mcp_http_cfg *h)
{
	if (!h->url.n)
		return;
	buf_fmt(b, "  url: %.*s\n  transport: %d%s\n", STRF(h->url), h->transport,
		h->allow_http ? " allow_http" : "");
	show_list(b, "header", h->headers);
	show_list(b, "header_env", h->headers_env);
	show_list(b, "header_file", h->headers_file);
	if (h->ca.n)
		buf_fmt(b, "  ca: %.*s\n", STRF(h->ca));
	if (h->proxy.n)
		buf_fmt(b, "  proxy: %.*s\n", STRF(h->proxy));
}

static void show_server(struct buf *b, const struct mcp_server_cfg *s)
{
	buf_fmt(b, "server: %.*s\n", STRF(s->name));
	if (s->command.n)
		buf_fmt(b, "  command: %.*s\n", STRF(s->command));
	show_http(b, &s->http);
	show_list(b, "arg", s->args);
	if (s->auth_command.n)
		buf_fmt(b, "  auth_command: %.*s\n", STRF(s->auth_command));
	show_list(b, "auth_arg", s->auth_args);
	show_list(b, "env", s->env);
	show_list(b, "tool", s->tools);
	show_list(b, "exclude", s->exclude);
	if (s->tools_prefix.n)
		buf_fmt(b, "  prefix: %.*s\n", STRF(s->tools_prefix));
	if (s->cwd.n)
		buf_fmt(b, "  cwd: %.*s\n", STRF(s->cwd));
	if (s->timeout_ms)
		buf_fmt(b, "  timeout_ms: %lld\n", (long long)s->timeout_ms);
	if (s->trusted)
		buf_fmt(b, "  trusted\n");
	if (s->has_inherit_env)
		buf_fmt(b, "  inherit_env: %d\n", s->inherit_env);
	if (s->box.profile.n)
		buf_fmt(b, "  sandbox: %.*s%s%.*s%s\n", STRF(s->box.profile),
			s->box.network.n ? " network " : "", STRF(s->box.network),
			s->box.require ? " required" : "");
	if (s->auth.bearer_env.n)
		buf_fmt(b, "  bearer_env: %.*s\n", STRF(s->auth.bearer_env));
	if (s->auth.bearer_file.n)
		buf_fmt(b, "  bearer_file: %.*s\n", STRF(s->auth.bearer_file));
	show_list(b, "read", s->box.read);
	show_list(b, "write", s->box.write);
	show_list(b, "grant", s->box.grants);
}

static str shown(struct arena *a, const char *path)
{
	struct buf b = buf_in(a, 1 << 20);
	struct mcp_manifest m = { 0 };
	struct err e = { 0 };

	if (mcp_manifest_load(&m, a, path, false, &e) < 0) {
		str before = arena_fmt(a, "manifest %s: ", path);

		assert_true(str_starts(str_of(e.msg), before));
		buf_fmt(&b, "error: %s\n", e.msg + before.n);
		assert_null(m.servers);
		return buf_str(&b);
	}
	for (size_t i = 0; i < m.n; i++)
		show_server(&b, &m.servers[i]);
	for (size_t i = 0; i < m.warnings.n; i++)
		buf_fmt(&b, "warning: %.*s\n", STRF(m.warnings.v[i]));
	return buf_str(&b);
}

static void each_file_is_read_as_the_text_beside_it_says(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	size_t n, cases = 0, wrong = 0;
	str *names;

	assert_int_equal(dir_list(&names, &n, &a, "tests/cases/manifest", 1000, &e), OK);
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_fmt(&a, "tests/cases/manifest/%.*s", STRF(names[i])).p;
		str want = { 0 }, got;

		if (str_ends(names[i], S(".expect")))
			continue;
		cases++;
		got = shown(&a, path);
		if (file_read(&want, &a, arena_fmt(&a, "%s.expect", path).p, CASE_MAX, &e) < 0)
			want = S("nothing");
		if (str_eq(got, want))
			continue;
		wrong++;
		print_error("%s reads as\n%.*s", path, STRF(got));
	}
	assert_int_equal(wrong, 0);
	assert_true(cases >= 20);
}

static void a_missing_file_is_an_error_only_where_it_was_asked_for(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_manifest m = { .n = 7 };
	struct err e = { 0 };

	assert_int_equal(mcp_manifest_load(&m, &a, "tests/cases/manifest/none", false, &e),
			 E_NOENT);
	assert_int_equal(m.n, 7);
	assert_true(str_starts(str_of(e.msg), S("manifest: tests/cases/manifest/none: ")));
	assert_int_equal(mcp_manifest_load(&m, &a, "tests/cases/manifest/none", true, &e), OK);
	assert_int_equal(m.n, 0);
}

static void an_error_names_the_file_the_line_and_the_server(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_manifest m;
	struct err e = { 0 };

	assert_int_equal(
		mcp_manifest_load(&m, &a, "tests/cases/manifest/no-command.toml", false, &e),
		E_INVAL);
	assert_string_equal(e.msg, "manifest tests/cases/manifest/no-command.toml: line 5: "
				   "server \"garmin\" has no command and no url");
}

static void more_than_a_hundred_servers_are_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char path[] = "/tmp/manifest-XXXXXX";
	SCOPED(fd_drop) int fd = mkstemp(path);
	struct buf b = buf_in(&a, 1 << 20);
	struct mcp_manifest m;
	struct err e = { 0 };

	for (int i = 0; i < 100; i++)
		buf_fmt(&b, "[[server]]\nname='s%d'\ncommand='c'\n", i);
	assert_int_equal(fd_write_all(fd, buf_str(&b), NULL, &e), OK);
	assert_int_equal(mcp_manifest_load(&m, &a, path, false, &e), OK);
	assert_int_equal(m.n, 100);
	assert_int_equal(
		fd_write_all(fd, S("[[server]]\nname='more'\ncommand='c'\n"), NULL, &e), OK);
	assert_int_equal(mcp_manifest_load(&m, &a, path, false, &e), E_LIMIT);
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_is_read_as_the_text_beside_it_says),
		cmocka_unit_test(a_missing_file_is_an_error_only_where_it_was_asked_for),
		cmocka_unit_test(an_error_names_the_file_the_line_and_the_server),
		cmocka_unit_test(more_than_a_hundred_servers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
