/*
 * mcp/manifest_value: reads the value of one key of a server's entry: its type, its limits, and
 * the sentence that says where it stands and what is wrong with it.  Pure.
 *
 * All return E_INVAL with that sentence; *out is in the arena.
 */
#ifndef MCP_MANIFEST_VALUE_H
#define MCP_MANIFEST_VALUE_H

#include "base/arena.h"
#include "base/err.h"
#include "config/config.h"
#include "text/toml.h"

struct mcp_at {
	struct arena *a;
	str server; /* whose entry it is; "" as long as that is not known */
};

/* "line 4: server "garmin"", without the line where it is not known (JSON). */
const char *mcp_value_where(const struct mcp_at *at, const struct toml *v);

int mcp_value_text(const struct mcp_at *at, const struct toml *v, str *out,
		   struct err *e) MUSTUSE;
int mcp_value_flag(const struct mcp_at *at, const struct toml *v, bool *out,
		   struct err *e) MUSTUSE;
int mcp_value_list(const struct mcp_at *at, const struct toml *v, struct str_list *out,
		   struct err *e) MUSTUSE;

/* ["K=V"] or a table; out has "K=V". */
int mcp_value_env(const struct mcp_at *at, const struct toml *v, struct str_list *out,
		  struct err *e) MUSTUSE;

/* Seconds as a number, or a duration like "1m30s". */
int mcp_value_time(const struct mcp_at *at, const struct toml *v, int64_t *out,
		   struct err *e) MUSTUSE;

/* One of words, which have blanks between. */
int mcp_value_word(const struct mcp_at *at, const struct toml *v, const char *words, str *out,
		   struct err *e) MUSTUSE;

/* Absolute ones. */
int mcp_value_paths(const struct mcp_at *at, const struct toml *v, struct str_list *out,
		    struct err *e) MUSTUSE;

/* "strict", or { profile = "strict", network = "deny", ... }. */
int mcp_value_box(const struct mcp_at *at, const struct toml *v, struct sandbox_cfg *box,
		  struct err *e) MUSTUSE;

#endif
