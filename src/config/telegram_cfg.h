/*
 * config/telegram_cfg: the Telegram channel, as configured.
 */
#ifndef CONFIG_TELEGRAM_CFG_H
#define CONFIG_TELEGRAM_CFG_H

#include "base/str.h"

struct i64_list {
	const int64_t *v;
	size_t n;
};

struct telegram_group_cfg {
	bool any; /* "*": what no other entry names */
	int64_t id;
	bool require_mention;
	struct i64_list allow_from; /* empty: the channel's */
};

struct telegram_cfg {
	bool enabled;
	str token, api_base_url; /* "": Telegram's own */
	struct i64_list allow_from;
	str error_reporting; /* "off", "error", "warn" */
	const struct telegram_group_cfg *groups;
	size_t groups_n;
};

#endif
