/*
 * mcp/sampling_cfg: may a server ask our model for completions, and how much: the key
 * "sampling" of its entry in the manifest, as plain data.  Pure.
 */
#ifndef MCP_SAMPLING_CFG_H
#define MCP_SAMPLING_CFG_H

#include "base/err.h"
#include "text/toml.h"

struct mcp_sampling_cfg {
	str policy; /* "ask", "allow"; "" and "off": it may not */
	bool tools; /* its own tools may be passed to the model */
	int64_t per_minute, per_call; /* requests */
	int64_t max_tokens; /* of an answer */
};

/* A word, or a table.  E_INVAL: the sentence names the key. */
int mcp_sampling_cfg_read(struct mcp_sampling_cfg *out, struct arena *a, const struct toml *v,
			  struct err *e) MUSTUSE;

bool mcp_sampling_cfg_on(const struct mcp_sampling_cfg *c);
bool mcp_sampling_cfg_same(const struct mcp_sampling_cfg *x, const struct mcp_sampling_cfg *y);

/* What was asked for lately, per server. */
struct mcp_sampled {
	int64_t minute_at_ms; /* when the minute that is counted began */
	int64_t n;
};

/* One more, with so many before it in its call: false when that is more than a limit. */
bool mcp_sampled_add(struct mcp_sampled *s, const struct mcp_sampling_cfg *c, size_t before,
		     int64_t now_ms);

#endif
