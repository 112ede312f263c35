/*
 * tools/gate: what the files of the gate share.
 */
#ifndef TOOLS_GATE_H
#define TOOLS_GATE_H

#include "tools/builtin.h"

/* Lives in its own arena. */
struct tools {
	struct arena arena;
	struct tools_opt opt;
	struct tool_env env;
	struct tool_source builtin;
};

#endif
