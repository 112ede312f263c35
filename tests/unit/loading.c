/*
 * Loading a configuration in a test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/options.h"
#include "os/file.h"
#include "unit/loading.h"

#define ENV_MAX 16

char home[64];

int make_home(void **state)
{
	(void)snprintf(home, sizeof(home), "/tmp/gantry-config-XXXXXX");
	return mkdtemp(home) ? 0 : -1;
}

int remove_home(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str *names;
	size_t n;

	static const char *const dirs[] = { "xdg/gantry", "xdg", ".mtclaw", "sub", "" };

	for (size_t d = 0; d < COUNT(dirs); d++) {
		str dir = arena_fmt(&a, "%s/%s", home, dirs[d]);

		if (dir_list(&names, &n, &a, dir.p, 1000, NULL) == OK)
			for (size_t i = 0; i < n; i++)
				(void)unlink(arena_fmt(&a, "%s/%s", dir.p, names[i].p).p);
		(void)rmdir(dir.p);
	}
	return 0;
}

void loaded_free(struct loaded *l)
{
	config_free(l->c);
	arena_free(&l->a);
}

static void load_with(struct loaded *l, const struct config_opt *opt, const char *const *vars,
		      char *more)
{
	char *block[ENV_MAX + 2];
	size_t n = 0;

	*l = (struct loaded){ 0 };
	block[n++] = (char *)arena_fmt(&l->a, "HOME=%s", home).p;
	for (; vars && *vars; vars++) {
		const char *mark = strstr(*vars, "$H");

		assert_true(n < ENV_MAX);
		block[n++] = mark ? (char *)arena_fmt(&l->a, "%.*s%s%s", (int)(mark - *vars),
						      *vars, home, mark + 2)
					     .p
				  : (char *)*vars;
	}
	if (more)
		block[n++] = more;
	block[n] = NULL;
	struct env env = env_copy(&l->a, block);
	l->rc = config_load(&l->c, opt, &env, &l->a, &l->problems, &l->e);
}

void load(struct loaded *l, const struct config_opt *opt, const char *const *vars)
{
	load_with(l, opt, vars, NULL);
}

void load_stdio(struct loaded *l, const struct config_opt *opt, const char *const *vars)
{
	load_with(l, opt, vars, (char *)"GANTRY_GATEWAY_CHANNEL=stdio");
}

str setting(const struct config *c, const char *key)
{
	size_t i = option_find(str_of(key));

	assert_true(i < options_n);
	return c->settings[i].text;
}
