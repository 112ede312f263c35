/*
 * The sandbox as its child feels it: each thing that is refused is first done without it.
 */
#include "children.h"

#include "os/file.h"
#include "os/path.h"
#include "os/sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define SYSTEM_RULES                                                                           \
	{ "/usr", SANDBOX_READ | SANDBOX_EXEC }, { "/bin", SANDBOX_READ | SANDBOX_EXEC },      \
		{ "/lib", SANDBOX_READ | SANDBOX_EXEC },                                       \
		{ "/lib64", SANDBOX_READ | SANDBOX_EXEC }, { "/etc", SANDBOX_READ },           \
		{ "/proc", SANDBOX_READ },                                                     \
	{                                                                                      \
		"/dev/null", SANDBOX_READ | SANDBOX_WRITE                                      \
	}

#define ALL (SANDBOX_READ | SANDBOX_EXEC | SANDBOX_WRITE)

/* box/ with in/ that is given, out/ that is not, and a file in each. */
static char top[] = "/tmp/gantry-sandbox-XXXXXX";
static char in[64], out[64];

/* All it says, run in in/. */
static str shell(struct arena *a, const struct sandbox *box, const char *script, int *status)
{
	SCOPED(proc_drop) struct proc *p = NULL;
	struct proc_opt opt = { .argv = ARGV("bash", "-c", script),
				.env = ARGV(PATH_ENV, "LC_ALL=C", arena_fmt(a, "IN=%s", in).p,
					    arena_fmt(a, "OUT=%s", out).p),
				.cwd = in,
				.out = PROC_PIPE,
				.box = box };
	struct err e = { 0 };

	if (proc_start(&p, &opt, NULL, &e) < 0)
		fail_msg("%s", e.msg);
	str text = read_until(a, proc_fd(p, 1), NULL);
	assert_int_equal(proc_wait(p, status, soon(), NULL, NULL), OK);
	return text;
}

static int fresh(void **state)
{
	char cmd[512];

	(void)state;
	(void)snprintf(cmd, sizeof cmd,
		       "rm -rf %s/* && mkdir %s %s && echo inner >%s/f && echo outer >%s/f && "
		       "cp /bin/true %s/prog && mkdir %s/d %s/d",
		       top, in, out, in, out, out, in, out);
	int status;
	SCOPED(arena_free) struct arena a = { 0 };
	(void)run(&a, SH(cmd), &status);
	return status;
}

static bool has_landlock(int abi)
{
	if (sandbox_kernel().landlock >= abi)
		return true;
	print_message("no Landlock of ABI %d here\n", abi);
	return false;
}

static void only_what_the_rules_give_can_be_touched(void **state)
{
	static const struct {
		const char *script;
		bool inside; /* allowed in the sandbox too */
	} rows[] = {
		{ "cat f", true },
		{ "echo x >g && cat g && rm g", true },
		{ "echo x >>f && : >f", true },
		{ "mkdir e && mv f e/ && ln e/f f && ln -s f l && rmdir d", true },
		{ "cp /bin/true t && ./t", true },
		{ "cat $OUT/f", false },
		{ "ls $OUT", false },
		{ "echo x >$OUT/g", false },
		{ "echo x >>$OUT/f", false },
		{ ": >$OUT/f", false },
		{ "rm $OUT/f", false },
		{ "rmdir $OUT/d", false },
		{ "mkdir $OUT/e", false },
		{ "mkfifo $OUT/fifo", false },
		{ "mv f $OUT/", false },
		{ "mv $OUT/f .", false },
		{ "ln $OUT/f stolen && cat stolen", false },
		{ "ln -s $OUT/f link && cat link", false },
		{ "ln -s $OUT/f link && echo x >link", false },
		{ "ln -s $OUT dir && cat dir/f", false },
		{ "truncate -s 0 $OUT/f", false },
		{ "$OUT/prog", false },
		{ "cd $OUT && cat f", false },
		{ "cat /proc/self/root$OUT/f", false },
	};
	const struct sandbox_rule rules[] = { SYSTEM_RULES, { in, ALL } };
	const struct sandbox box = { .flags = SANDBOX_FILES | SANDBOX_ESCAPES,
				     .rules = rules,
				     .rules_n = COUNT(rules) };

	if (!has_landlock(3))
		return;
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int status;
		(void)fresh(state);
		(void)shell(&a, NULL, rows[i].script, &status);
		if (status != 0)
			fail_msg("fails without a sandbox: %s", rows[i].script);
		(void)fresh(state);
		(void)shell(&a, &box, rows[i].script, &status);
		if ((status == 0) != rows[i].inside)
			fail_msg("%s: %s", rows[i].inside ? "refused" : "done", rows[i].script);
		str left;
		assert_int_equal(file_read(&left, &a, arena_fmt(&a, "%s/f", out).p, 64, NULL),
				 OK);
		assert_true(rows[i].inside || str_eq(left, S("outer\n")));
	}
}

static void what_is_hidden_stays_so_and_what_is_beside_it_does_not(void **state)
{
	static const struct {
		const char *script;
		bool works;
	} rows[] = {
		{ "cat $IN/f && echo x >$IN/g", true },
		{ "cat $OUT/f", false },
		{ "echo x >$OUT/f", false },
		{ "rm $OUT/f", false },
		{ "mv $OUT $OUT.moved", false },
		{ "cat $OUT/d/given && echo x >$OUT/d/made", true },
		{ "cat $OUT/d/secret", false },
		{ "ls $OUT/..", true }, /* names on the way, by the flag */
		{ "echo x >$OUT/../new", false }, /* nothing new on the way */
	};
	SCOPED(arena_free) struct arena a = { 0 };
	const char *given = arena_fmt(&a, "%s/d", out).p;
	const char *secret = arena_fmt(&a, "%s/d/secret", out).p;
	const struct sandbox_rule rules[] = {
		{ "/", ALL | SANDBOX_DEVICE },
		{ out, SANDBOX_HIDE | SANDBOX_SURE },
		{ secret, SANDBOX_HIDE | SANDBOX_SURE },
		{ given, ALL | SANDBOX_SURE },
	};
	const struct sandbox box = { .flags = SANDBOX_FILES | SANDBOX_LIST_WAYS,
				     .rules = rules,
				     .rules_n = COUNT(rules) };

	if (!has_landlock(3))
		return;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int status;
		(void)fresh(state);
		(void)shell(&a, NULL,
			    "echo a >$OUT/d/given; echo b >$OUT/d/secret; echo c >$OUT/d/made",
			    &status);
		assert_int_equal(status, 0);
		(void)shell(&a, &box, rows[i].script, &status);
		if ((status == 0) != rows[i].works)
			fail_msg("%s: %s", rows[i].works ? "refused" : "done", rows[i].script);
	}
}

static void a_rule_below_what_is_hidden_needs_the_owners_word(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct sandbox_rule rules[] = { SYSTEM_RULES, { top, SANDBOX_HIDE }, { in, ALL } };
	const struct sandbox box = { .flags = SANDBOX_FILES,
				     .rules = rules,
				     .rules_n = COUNT(rules) };
	int status;

	if (!has_landlock(1))
		return;
	(void)fresh(state);
	(void)shell(&a, &box, "cat f", &status);
	assert_int_not_equal(status, 0);
	rules[COUNT(rules) - 1].access |= SANDBOX_SURE;
	(void)shell(&a, &box, "cat f", &status);
	assert_int_equal(status, 0);
}

static void the_network_can_be_closed(void **state)
{
	static const struct {
		const char *script;
		unsigned flags; /* that refuse it */
	} rows[] = {
		{ "exec 3<>/dev/udp/127.0.0.1/9", SANDBOX_NO_NETWORK },
		{ "python3 -c 'import socket; socket.socket(socket.AF_INET, "
		  "socket.SOCK_STREAM)'",
		  SANDBOX_NO_NETWORK },
		{ "python3 -c 'import socket; socket.socket(socket.AF_INET6, "
		  "socket.SOCK_DGRAM)'",
		  SANDBOX_NO_NETWORK },
		{ "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, "
		  "socket.SOCK_RAW)'",
		  SANDBOX_NO_NETWORK },
		{ "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'",
		  SANDBOX_NO_SOCKETS },
		{ "python3 -c 'import socket; socket.socketpair()'", 0 },
		{ "python3 -c 'import socket; socket.socketpair(type=socket.SOCK_DGRAM)'",
		  SANDBOX_NO_SOCKETS },
		{ "python3 -c 'import socket; socket.socketpair(type=socket.SOCK_RAW)'",
		  SANDBOX_NO_SOCKETS },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		static const unsigned flags[] = { SANDBOX_NO_NETWORK, SANDBOX_NO_SOCKETS };
		int status;
		(void)fresh(state);
		(void)shell(&a, NULL, rows[i].script, &status);
		assert_int_equal(status, 0);
		for (size_t k = 0; k < COUNT(flags); k++) {
			const struct sandbox box = { .flags = flags[k] };
			(void)shell(&a, &box, rows[i].script, &status);
			if ((status == 0) == ((rows[i].flags & flags[k]) != 0))
				fail_msg("flags %u, status %d: %s", flags[k], status,
					 rows[i].script);
		}
	}
}

/* By number, with arguments that a kernel without the filter answers otherwise. */
static void calls_that_lead_out_are_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct sandbox box = { .flags = SANDBOX_ESCAPES };
	int status;

	(void)fresh(state);
	static const char *const probe =
		"python3 - <<'E'\n"
		"import ctypes, platform, os, sys\n"
		"nr = {'x86_64': dict(ptrace=101, process_vm_readv=310, mount=165, "
		"umount2=166,\n"
		"  pivot_root=155, setns=308, unshare=272, kexec_load=246, init_module=175, "
		"bpf=321,\n"
		"  perf_event_open=298, userfaultfd=323, keyctl=250, add_key=248, "
		"request_key=249,\n"
		"  open_by_handle_at=304, open_tree=428, move_mount=429, fsopen=430,\n"
		"  pidfd_getfd=438, chroot=161, io_uring_setup=425, clone3=435, x32=0x40000000 "
		"+ 39),\n"
		"  'aarch64': dict(ptrace=117, process_vm_readv=270, mount=40, umount2=39,\n"
		"  pivot_root=41, setns=268, unshare=97, kexec_load=104, init_module=105, "
		"bpf=280,\n"
		"  perf_event_open=241, userfaultfd=282, keyctl=219, add_key=217, "
		"request_key=218,\n"
		"  open_by_handle_at=265, open_tree=428, move_mount=429, fsopen=430,\n"
		"  pidfd_getfd=438, chroot=51, io_uring_setup=425, "
		"clone3=435)}[platform.machine()]\n"
		"libc = ctypes.CDLL(None, use_errno=True)\n"
		"for name, n in sorted(nr.items()):\n"
		"  a = 0x10000000 if name == 'unshare' else -1\n"
		"  r = libc.syscall(ctypes.c_long(n), ctypes.c_long(a), *([ctypes.c_long(-1)] "
		"* 5))\n"
		"  want = (38,) if name in ('io_uring_setup', 'clone3', 'x32') else (1,)\n"
		"  if r != -1 or ctypes.get_errno() not in want:\n"
		"    print(name, r, ctypes.get_errno())\n"
		"E";
	assert_string_equal(shell(&a, &box, probe, &status).p, "");
	assert_int_equal(status, 0);
	(void)shell(&a, &box, "unshare -r true 2>&1 || exit 9; exit 0", &status);
	assert_int_not_equal(status, 0);
	/* And what programs need goes on. */
	(void)shell(&a, &box,
		    "(true & wait) && python3 -c 'import threading as t\n"
		    "x = t.Thread(target=print); x.start(); x.join()'",
		    &status);
	assert_int_equal(status, 0);
}

static void owners_and_set_id_bits_stay(void **state)
{
	static const struct {
		const char *script;
		bool works;
	} rows[] = {
		{ "chmod 755 f", true },
		{ "chmod u+s f", false },
		{ "chmod 2755 f", false },
		{ "chown $(id -u) f", false },
		{ "python3 -c 'import os; os.setxattr(\"f\", \"user.x\", b\"1\")'", false },
	};
	const struct sandbox box = { .flags = SANDBOX_NO_OWNER };

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int status;
		(void)fresh(state);
		(void)shell(&a, &box, rows[i].script, &status);
		if ((status == 0) != rows[i].works)
			fail_msg("%s", rows[i].script);
	}
}

static void modes_change_only_where_writing_is_given(void **state)
{
#define PY(code) "python3 -c 'import os, threading as t; o = os.environ[\"OUT\"]; " code "'"
	static const struct {
		const char *script;
		bool works;
	} rows[] = {
		{ "chmod 640 f && test $(stat -c %a f) = 640", true },
		{ "chmod 640 $IN/f && chmod -R go-r d && mkdir -m 700 e && chmod 711 e", true },
		{ "ln -s f l && chmod 600 l && test $(stat -c %a f) = 600", true },
		{ PY("os.fchmod(os.open(\"f\", os.O_RDONLY), 0o600)"), true },
		{ PY("f = os.open(\"f\", os.O_RDONLY); os.chmod(f\"/proc/self/fd/{f}\", "
		     "0o600)"),
		  true },
		{ PY("os.chmod(\"f\", 0o600, dir_fd=os.open(\".\", os.O_RDONLY))"), true },
		{ PY("x = t.Thread(target=os.chmod, args=(\"f\", 0o600)); x.start(); x.join(); "
		     "assert os.stat(\"f\").st_mode & 0o777 == 0o600"),
		  true },
		{ "cp -p f copy && install -m 755 f prog && tar cf t.tar f && tar xpf t.tar",
		  true },
		{ "chmod 600 $OUT/f", false },
		{ "chmod 600 $OUT", false },
		{ "cd $OUT && chmod 600 f", false },
		{ "ln -s $OUT/f l && chmod 600 l", false },
		{ "ln -s $OUT dir && chmod 600 dir/f", false },
		{ "chmod 600 /proc/self/root$OUT/f", false },
		{ "cd $OUT && chmod 600 /proc/self/cwd/f", false },
		{ PY("os.fchmod(os.open(o + \"/f\", os.O_RDONLY), 0o600)"), false },
		{ PY("f = os.open(o + \"/f\", os.O_RDONLY); os.chmod(f\"/proc/self/fd/{f}\", "
		     "0o600)"),
		  false },
		{ PY("os.chmod(\"f\", 0o600, dir_fd=os.open(o, os.O_RDONLY))"), false },
		{ "chmod 600 nothing", false },
		{ PY("os.fchmod(77, 0o600)"), false },
	};
#undef PY
	SCOPED(arena_free) struct arena a = { 0 };
	const struct sandbox_rule rules[] = { { in, ALL } };
	const struct sandbox box = { .flags = SANDBOX_MODES,
				     .rules = rules,
				     .rules_n = COUNT(rules) };
	struct stat before, after;

	for (size_t i = 0; i < COUNT(rows); i++) {
		int status;
		(void)fresh(state);
		const char *f = arena_fmt(&a, "%s/f", out).p;
		assert_int_equal(stat(f, &before), 0);
		(void)shell(&a, &box, rows[i].script, &status);
		if ((status == 0) != rows[i].works)
			fail_msg("%s: %s", rows[i].works ? "refused" : "done", rows[i].script);
		assert_int_equal(stat(f, &after), 0);
		assert_int_equal(before.st_mode, after.st_mode);
	}
}

static void limits_are_set(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct sandbox box = { .max_file_bytes = 12345678,
				     .max_memory_bytes = INT64_C(1) << 30,
				     .max_procs = 100 };
	int64_t procs = 0;
	int status;

	(void)fresh(state);
	str text = shell(&a, &box, "ulimit -f; ulimit -d; ulimit -c; ulimit -Hu", &status);
	assert_true(str_eq(str_cut(&text, '\n'), S("12056")));
	str memory = str_cut(&text, '\n');
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_true(str_eq(memory, S("1048576")));
#else
	assert_true(str_eq(memory, S("unlimited"))); /* what a sanitizer keeps would count */
#endif
	assert_true(str_eq(str_cut(&text, '\n'), S("0")));
	/* Beside those that run. */
	assert_true(str_i64(str_trim(text), &procs));
	assert_in_range(procs, 100, 20000);
}

static void no_capability_is_left_that_leads_out(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct sandbox box = { .flags = SANDBOX_NO_POWER };
	int status;

	(void)fresh(state);
	/* CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID at most. */
	(void)shell(&a, &box,
		    "c=$(sed -n 's/^CapEff:\\t*//p' /proc/self/status); "
		    "test $((0x$c & ~0xdb)) = 0",
		    &status);
	assert_int_equal(status, 0);
}

static void the_temporary_directory_goes_whatever_is_in_it(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *tmp = arena_fmt(&a, "%s/private", top).p;
	const struct sandbox box = { .tmp = tmp };
	int status;

	(void)fresh(state);
	const char *script =
		arena_fmt(
			&a,
			"set -e; cd %s; test $(stat -c %%a .) = 700; ln -s $OUT out; echo x "
			">f; "
			"mkdir a 'b c'; mkfifo a/fifo; ln $OUT/f a/hard; "
			"(for i in $(seq 300); do mkdir dir.; cd dir.; done; echo deep >file); "
			"mkdir -p locked/inner/most; chmod 0 locked/inner/most locked/inner "
			"locked; "
			"for i in $(seq 50); do mkdir a/$i; echo $i >a/$i/$i; done",
			tmp)
			.p;
	(void)shell(&a, &box, script, &status);
	assert_int_equal(status, 0);
	assert_false(path_exists(tmp));
	str left;
	assert_int_equal(file_read(&left, &a, arena_fmt(&a, "%s/f", out).p, 64, NULL), OK);
	assert_true(str_eq(left, S("outer\n")));
}

static void a_temporary_directory_that_is_there_is_not_taken(void **state)
{
	SCOPED(proc_drop) struct proc *p = NULL;
	const struct sandbox box = { .tmp = out };
	const struct proc_opt opt = { .argv = ARGV("true"),
				      .env = ARGV(PATH_ENV),
				      .box = &box };

	(void)fresh(state);
	assert_true(proc_start(&p, &opt, NULL, NULL) < 0);
	assert_true(path_exists(out));
}

static void what_the_kernel_lacks_is_said(void **state)
{
	static const struct {
		unsigned flags;
		struct sandbox_kernel kernel;
		const char *want;
	} rows[] = {
		{ SANDBOX_FILES | SANDBOX_SCOPE | SANDBOX_ESCAPES, { 7, true }, "" },
		{ SANDBOX_FILES, { 0, true }, "files are not confined (no Landlock)" },
		{ SANDBOX_SCOPE,
		  { 5, true },
		  "signals and abstract sockets are not confined (Landlock below ABI 6)" },
		{ SANDBOX_NO_NETWORK, { 3, true }, "" },
		{ SANDBOX_NO_NETWORK,
		  { 3, false },
		  "the network is not closed (no seccomp filters)" },
		{ SANDBOX_NO_NETWORK, { 4, false }, "only TCP is closed (no seccomp filters)" },
		{ SANDBOX_FILES,
		  { 4, true },
		  "controls of readable devices are not confined (Landlock below ABI 5)" },
		{ SANDBOX_FILES | SANDBOX_ESCAPES,
		  { 1, false },
		  "files cannot be moved between directories; files that may be read can be "
		  "emptied (Landlock below ABI 3); controls of readable devices are not "
		  "confined "
		  "(Landlock below ABI 5); system calls are not filtered (no seccomp "
		  "filters)" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const struct sandbox box = { .flags = rows[i].flags };
		str got = sandbox_missing(&a, &box, rows[i].kernel);
		assert_string_equal(got.n ? got.p : "", rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_the_rules_give_can_be_touched),
		cmocka_unit_test(what_is_hidden_stays_so_and_what_is_beside_it_does_not),
		cmocka_unit_test(a_rule_below_what_is_hidden_needs_the_owners_word),
		cmocka_unit_test(the_network_can_be_closed),
		cmocka_unit_test(calls_that_lead_out_are_refused),
		cmocka_unit_test(owners_and_set_id_bits_stay),
		cmocka_unit_test(modes_change_only_where_writing_is_given),
		cmocka_unit_test(limits_are_set),
		cmocka_unit_test(no_capability_is_left_that_leads_out),
		cmocka_unit_test(the_temporary_directory_goes_whatever_is_in_it),
		cmocka_unit_test(a_temporary_directory_that_is_there_is_not_taken),
		cmocka_unit_test(what_the_kernel_lacks_is_said),
	};
	struct err e = { 0 };

	if (spawner_start(&e) < 0 || !mkdtemp(top)) {
		(void)fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	(void)snprintf(in, sizeof in, "%s/in", top);
	(void)snprintf(out, sizeof out, "%s/out", top);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	SCOPED(arena_free) struct arena a = { 0 };
	int status;
	(void)run(&a, ARGV("rm", "-rf", top), &status);
	spawner_stop();
	return failed;
}
