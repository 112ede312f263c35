/*
 * What reaches a service manager's socket, and what does not count as one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/notify.h"

#define PID 4711

static struct notify made(const char *socket, const char *usec, const char *pid)
{
	struct notify n;

	notify_init(&n, str_of(socket), str_of(usec), str_of(pid), PID);
	return n;
}

static int listener(const char *path, size_t n)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path, path, n);
	assert_int_equal(bind(fd, (struct sockaddr *)&at,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
			 0);
	return fd;
}

static void expect_message(int fd, const char *text)
{
	char got[256] = { 0 };

	assert_int_equal(recv(fd, got, sizeof got - 1, MSG_DONTWAIT), (int)strlen(text));
	assert_string_equal(got, text);
}

static void messages_reach_a_path(void **state)
{
	char dir[] = "/tmp/gantry-notify.XXXXXX", path[64];

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/s", dir);
	int fd = listener(path, strlen(path));
	struct notify n = made(path, "", "");
	notify_send(&n, S("READY=1\nSTATUS=fine"));
	expect_message(fd, "READY=1\nSTATUS=fine");
	(void)close(fd);
	notify_send(&n, S("STOPPING=1")); /* nobody is there any more */
	(void)unlink(path);
	(void)rmdir(dir);
}

static void messages_reach_an_abstract_name(void **state)
{
	char name[64];

	(void)snprintf(name, sizeof name, "@gantry-notify-%d", (int)getpid());
	struct notify n = made(name, "", "");
	name[0] = '\0';
	int fd = listener(name, 1 + strlen(name + 1));
	notify_send(&n, S("WATCHDOG=1"));
	expect_message(fd, "WATCHDOG=1");
	(void)close(fd);
}

static void a_manager_that_does_not_read_holds_nobody_up(void **state)
{
	char name[64];

	(void)snprintf(name, sizeof name, "@gantry-notify-full-%d", (int)getpid());
	struct notify n = made(name, "", "");
	name[0] = '\0';
	int fd = listener(name, 1 + strlen(name + 1));
	for (int i = 0; i < 10000; i++)
		notify_send(&n, S("STATUS=again"));
	expect_message(fd, "STATUS=again");
	(void)close(fd);
}

static void what_is_no_socket_is_none(void **state)
{
	char longer[200];

	memset(longer, 'x', sizeof longer);
	longer[0] = '/';
	longer[sizeof longer - 1] = '\0';
	assert_int_equal(made("", "1000000", "").n, 0);
	assert_int_equal(made("/", "1000000", "").n, 0);
	assert_int_equal(made("relative/path", "1000000", "").n, 0);
	assert_int_equal(made("vsock:2:1234", "1000000", "").n, 0);
	assert_int_equal(made(longer, "1000000", "").n, 0);
	struct notify none = made("", "1000000", "");
	assert_int_equal(none.watchdog_ms, 0);
	notify_send(&none, S("READY=1"));
}

static void the_watchdog_is_only_ours_when_it_says_so(void **state)
{
	static const struct {
		const char *usec, *pid;
		int64_t ms;
	} rows[] = {
		{ "30000000", "4711", 30000 },
		{ "30000000", "", 30000 },
		{ "30000000", "4712", 0 },
		{ "30000000", "me", 0 },
		{ "", "4711", 0 },
		{ "0", "4711", 0 },
		{ "-5", "", 0 },
		{ "soon", "", 0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(made("/run/s", rows[i].usec, rows[i].pid).watchdog_ms,
				 rows[i].ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_reach_a_path),
		cmocka_unit_test(messages_reach_an_abstract_name),
		cmocka_unit_test(a_manager_that_does_not_read_holds_nobody_up),
		cmocka_unit_test(what_is_no_socket_is_none),
		cmocka_unit_test(the_watchdog_is_only_ours_when_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
