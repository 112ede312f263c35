/*
 * config/exec_cfg: the part of the configuration about commands and how children are held.
 */
#ifndef CONFIG_EXEC_CFG_H
#define CONFIG_EXEC_CFG_H

#include "base/str_list.h"

struct sandbox_cfg {
	str profile; /* strict, compat, off */
	str network; /* allow, deny */
	bool require;
	struct str_list read, write, grants;
	int64_t max_procs, max_file_bytes, max_memory_bytes; /* 0: none */
};

struct exec_cfg {
	bool enabled;
	struct str_list shell; /* empty: the default */
	str cwd;
	int64_t timeout_ms, max_output_bytes;
	struct sandbox_cfg sandbox;
};

#endif
