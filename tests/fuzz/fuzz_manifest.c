/*
 * Any bytes as a manifest of tool servers, in either of its forms: servers that have a name and one
 * way to be reached, or one sentence that says what is wrong; what is warned of is a line each.
 */
#include "mcp/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf.h"

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
		(void)snprintf(path, sizeof(path), "/tmp/gantry-fuzz-%d.toml", (int)getpid());
		(void)atexit(remove_file);
	}
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
		abort();
}

static void check_server(const struct mcp_server_cfg *s)
{
	if (!s->name.n || !utf_valid(s->name) || (s->command.n > 0) == (s->http.url.n > 0) ||
	    s->timeout_ms < 0)
		abort();
	for (size_t i = 0; i < s->env.n; i++)
		if (!memchr(s->env.v[i].n ? s->env.v[i].p : "", '=', s->env.v[i].n))
			abort();
	for (size_t i = 0; i < s->roots.n; i++)
		if (!str_starts(s->roots.v[i], S("/")))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_manifest m = { 0 };
	struct err e = { 0 };

	write_file(data, size);
	if (mcp_manifest_load(&m, &a, path, false, &e) < 0) {
		if (!e.msg[0] || strchr(e.msg, '\n') || !utf_valid(str_of(e.msg)))
			abort();
		return 0;
	}
	for (size_t i = 0; i < m.n; i++) {
		check_server(&m.servers[i]);
		for (size_t j = 0; j < i; j++)
			if (str_eq(m.servers[i].name, m.servers[j].name))
				abort();
	}
	for (size_t i = 0; i < m.warnings.n; i++)
		if (!m.warnings.v[i].n || !utf_valid(m.warnings.v[i]) ||
		    memchr(m.warnings.v[i].p, '\n', m.warnings.v[i].n))
			abort();
	return 0;
}
