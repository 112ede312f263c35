/*
 * config/store_cfg: where the database is, and how long things stay in it.
 */
#ifndef CONFIG_STORE_CFG_H
#define CONFIG_STORE_CFG_H

#include "base/str.h"

struct store_cfg {
	str dsn; /* path of the database */
	str data_dir; /* its directory: lock files, wake FIFO, blobs */
	/* Days things are kept, 0: for ever. */
	int64_t audit_days, messages_days;
	int64_t ended_days; /* turns of conversations that /new ended */
	int64_t outbox_days; /* 0: as messages_days */
	int64_t runs_days, files_days, usage_days;
};

#endif
