/*
 * Any bytes as a configuration file: a configuration or a list of problems, one a line.
 */
#include "config/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf.h"
#include "config/render.h"
#include "os/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void remove_file(void)
{
	(void)unlink(path);
}

static void write_file(const uint8_t *data, size_t size)
{
	FILE *f;

	if (!path[0]) {
		(void)snprintf(path, sizeof(path), "/tmp/gantry-fuzz-%d.yaml", (int)getpid());
		(void)atexit(remove_file);
	}
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const char *const vars[] = { "HOME=/tmp", "GANTRY_OPENAI_NO_KEY=1",
					    "GANTRY_AGENT_MODEL=m",
					    "GANTRY_GATEWAY_CHANNEL=stdio", NULL };
	struct config_opt opt = { .need = CONFIG_ALL };
	struct env env = { vars };
	struct config_problems problems;
	struct config *c = NULL;
	struct err e = { 0 };
	size_t lines = 0;

	write_file(data, size);
	opt.path = path;
	if (config_load(&c, &opt, &env, &a, &problems, &e) == OK) {
		struct buf b = buf_in(&a, 4 << 20);

		config_show(&b, c);
		config_free(c);
		return 0;
	}
	if (c || !e.msg[0] || !utf_valid(problems.text))
		abort();
	while (problems.text.n) {
		(void)str_cut(&problems.text, '\n');
		lines++;
	}
	if (problems.n <= 50 && lines != problems.n)
		abort();
	return 0;
}
