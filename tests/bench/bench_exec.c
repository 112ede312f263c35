/*
 * What a sandbox adds to running a program: `true` by way of the spawner, without one and in
 * each profile, by turns.  The configuration is that of the environment it is started with.
 *
 * Prints "exec_true_PROFILE_p50|p99 value ms" and "exec_added_PROFILE value ms" lines.
 */
#include "config/confine.h"
#include "os/clock.h"
#include "os/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 300

static const char *const profiles[] = { "off", "compat", "strict" };

static int by_value(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

static int64_t once(const struct sandbox *plan)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const char *const given[] = { "PATH=/usr/bin:/bin", NULL };
	const char *const *env = given;
	SCOPED(proc_drop) struct proc *p = NULL;
	int64_t began = clock_mono_us();
	const struct proc_opt opt = { .argv = (const char *const[]){ "true", NULL },
				      .box = config_sandbox_child(&a, plan, &env),
				      .env = env };
	struct err e = { 0 };
	int status = -1;

	if (proc_start(&p, &opt, NULL, &e) < 0 ||
	    proc_wait(p, &status, clock_mono_ms() + 10000, NULL, &e) < 0 || status != 0) {
		(void)fprintf(stderr, "bench_exec: %s, status %d\n", e.msg, status);
		exit(1);
	}
	return clock_mono_us() - began;
}

int main(void)
{
	static int64_t us[COUNT(profiles)][ROUNDS];
	const struct sandbox *box[COUNT(profiles)];
	struct config_opt opt = { .terminal = true, .need = CONFIG_STORE | CONFIG_TOOLS };
	SCOPED(arena_free) struct arena a = { 0 };
	struct config_problems problems = { 0 };
	struct config *c = NULL;
	struct err e = { 0 };

	if (spawner_start(&e) < 0)
		return 1;
	const struct env env = env_copy(&a, environ);
	if (config_load(&c, &opt, &env, &a, &problems, &e) < 0) {
		(void)fprintf(stderr, "bench_exec: %s\n%.*s", e.msg, STRF(problems.text));
		return 1;
	}
	for (size_t i = 0; i < COUNT(profiles); i++) {
		struct sandbox_cfg s = c->exec.sandbox;
		s.profile = str_of(profiles[i]);
		box[i] = config_sandbox(&a, c, &env, &s, S(""));
	}
	for (int n = 0; n < ROUNDS; n++)
		for (size_t i = 0; i < COUNT(profiles); i++)
			us[i][n] = once(box[i]);
	for (size_t i = 0; i < COUNT(profiles); i++) {
		qsort(us[i], ROUNDS, sizeof us[i][0], by_value);
		(void)printf("exec_true_%s_p50 %.2f ms\n", profiles[i],
			     (double)us[i][ROUNDS / 2] / 1000);
		(void)printf("exec_true_%s_p99 %.2f ms\n", profiles[i],
			     (double)us[i][ROUNDS * 99 / 100] / 1000);
		if (i > 0)
			(void)printf("exec_added_%s %.2f ms\n", profiles[i],
				     (double)(us[i][ROUNDS / 2] - us[0][ROUNDS / 2]) / 1000);
	}
	config_free(c);
	spawner_stop();
	return 0;
}
