/*
 * tools/builtin: the tools that are part of the program.
 *
 * One file each, one row in registry.c.  A tool reports what went wrong in words the model
 * can act on (tool_fail) and returns OK; an error code is for what the model cannot help:
 * E_CANCELED and E_TIMEOUT when c ended, E_IO when it is unknown what happened.
 */
#ifndef TOOLS_BUILTIN_H
#define TOOLS_BUILTIN_H

#include "os/beneath.h"
#include "text/json.h"
#include "tools/tools.h"

struct tool_env {
	const struct tools_opt *opt;
	struct beneath files; /* what the file tools may touch */
	const struct tools *tools;
	const struct tool_ctx *ctx; /* of the call; NULL outside of turns */
	struct http_pool *web; /* for web_fetch, NULL none */
};

struct tool {
	const char *name, *title, *description, *schema;
	bool safe; /* read-only, may be repeated after a crash */
	bool own_time; /* has a time limit of its own instead of the general one */
	bool shell; /* args.command is a shell command line */
	bool (*enabled)(const struct tools_opt *opt);
	/* args is an object.  The text may hold anything; the gate mends it. */
	int (*run)(const struct tool_env *env, const struct json *args, struct arena *a,
		   struct tool_result *out, const struct cancel *c, struct err *e);
	/* As tool_source.preview; NULL: the arguments are shown. */
	str (*preview)(const struct tool_env *env, const struct json *args, size_t max,
		       struct arena *a);
};

#define TOOL_SELF_MAX 4096 /* bytes of the notes of self_note */

/* Whoever changes the notes holds this lock file, waiting under c; path "" there is none, and *fd
 * is -1. */
int tool_self_lock(int *fd, str path, const struct cancel *c, struct err *e) MUSTUSE;

extern const struct tool tool_read_file;
extern const struct tool tool_write_file;
extern const struct tool tool_list_dir;
extern const struct tool tool_exec;
extern const struct tool tool_web_fetch;
extern const struct tool tool_edit_file;
extern const struct tool tool_watch_add;
extern const struct tool tool_watch_list;
extern const struct tool tool_watch_cancel;
extern const struct tool tool_cron_schedule;
extern const struct tool tool_cron_list;
extern const struct tool tool_cron_cancel;
extern const struct tool tool_memory_store;
extern const struct tool tool_memory_recall;
extern const struct tool tool_memory_forget;
extern const struct tool tool_self_note;
extern const struct tool tool_tools_enable;
extern const struct tool tool_mcp_resources;
extern const struct tool tool_mcp_read_resource;

/* The built-in tools as a source: env is borrowed for its life. */
void tools_builtin_source(struct tool_source *out, const struct tool_env *env);

/* The file tools are on when they have a directory to work in. */
bool tools_fs_enabled(const struct tools_opt *opt);

/* Memory is on, and is our own rather than a server's. */
bool tools_memory_enabled(const struct tools_opt *opt);

struct memory;
/* "id=N (kind) subject: content", one a line. */
str tool_memories(struct arena *a, const struct memory *list, size_t n);

/* Is the call made where an answer can be sent later?  The terminal of gantry chat and of a single
 * prompt has nobody when the time comes. */
bool tools_in_a_chat(const struct tool_env *env);

/* Something of a chat that ends by its number. */
struct tool_cancel {
	const char *what, *list; /* "job", and the tool that lists the numbers */
	/* In the transaction of the result; E_NOENT: the chat has none of that number. */
	int (*cancel)(struct tx *tx, int64_t id, str channel, str address, struct err *e);
};

/* The whole of such a tool's run: args.id of this chat, as an effect. */
int tool_cancel_in_chat(const struct tool_env *env, const struct json *args, struct arena *a,
			struct tool_result *out, const struct tool_cancel *how);

/* A failure for the model; OK. */
int tool_fail(struct tool_result *out, struct arena *a, const char *fmt, ...) PRINTF(3, 4);

/* An integer argument, def when absent or null; numbers written as text are taken too.
 * False when it is something else. */
bool tool_arg_i64(const struct json *args, const char *key, int64_t def, int64_t *out);

#endif
