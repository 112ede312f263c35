/*
 * config/web_cfg: what web_fetch may reach, as plain data.  Part of config/config.h.
 */
#ifndef CONFIG_WEB_CFG_H
#define CONFIG_WEB_CFG_H

#include "config/exec_cfg.h"

struct web_cfg {
	bool enabled;
	int64_t timeout_ms, max_bytes;
	struct str_list allow_hosts; /* that need not be public */
};

#endif
