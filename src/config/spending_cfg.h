/*
 * config/spending_cfg: how much may be spent.
 */
#ifndef CONFIG_SPENDING_CFG_H
#define CONFIG_SPENDING_CFG_H

#include "base/str.h"

struct spending_limit {
	int64_t tokens, nano; /* 0: no limit; nano: money, as in config/price.h */
};

struct spending_cfg {
	struct spending_limit turn, job, day, month; /* job: in a day */
	int64_t answer_tokens; /* an answer is taken for so long when its length has no limit */
};

#endif
