/*
 * config/store_cfg: where the database is, and how long things stay in it.
 */
#ifndef CONFIG_STORE_CFG_H
#define CONFIG_STORE_CFG_H

#include "base/str.h"

struct store_cfg {
	str dsn; /* path of the database */
	str data_dir; /* its directory: lock files, wake FIFO, blobs */
	int64_t audit_days, messages_days; /* 0: for ever */
};

#endif
