/*
 * config/memory_cfg: the options of memory.
 */
#ifndef CONFIG_MEMORY_CFG_H
#define CONFIG_MEMORY_CFG_H

#include "base/str.h"

struct memory_cfg {
	bool enabled;
	str backend; /* builtin, or mcp:<server>; see memory_server() */
	int64_t consolidate_minutes; /* 0: never */
};

/* Which server remembers; "" none, our own memory does. */
static inline str memory_server(const struct memory_cfg *m)
{
	return str_starts(m->backend, S("mcp:"))
		       ? str_trim(str_sub(m->backend, 4, m->backend.n))
		       : S("");
}

#endif
