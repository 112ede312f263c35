/*
 * mcp/serve: the protocol from a server's side, for gantry mcp: it is told what a host sends,
 * answers what the protocol alone answers, and says what is left to do.  Both ways of
 * beginning: initialize (2024-11-05 to 2025-11-25), and requests that each say their revision
 * (2026-07-28). Pure.
 *
 * Threads  one.
 */
#ifndef MCP_SERVE_H
#define MCP_SERVE_H

#include "mcp/rpc.h"

#define MCP_SERVE_BATCH 64 /* messages in one batch, at most */
#define MCP_SERVE_ID 256 /* bytes of an id or a progress token, as JSON */

struct mcp_serve_tool {
	const char *name, *title, *description;
	const char *input, *output; /* JSON Schemas; output NULL: its result is text alone */
	bool read_only, destructive, idempotent, open_world;
};

struct mcp_serve_opt {
	const char *version; /* of ours */
	const char *instructions;
	const struct mcp_serve_tool *const *tools;
	size_t tools_n;
};

struct mcp_serve {
	const struct mcp_serve_opt *opt;
	const char *revision; /* that was agreed by initialize; NULL before, and without it */
	bool elicits; /* what was said with initialize */
	char host[MCP_SERVE_ID];
};

/* What an answer needs to know of its request. */
struct mcp_serve_to {
	str id; /* JSON text */
	const char *revision;
};

enum mcp_serve_kind {
	MCP_SERVE_NOTHING, /* it is answered, or needs no answer */
	MCP_SERVE_CALL,
	MCP_SERVE_CANCEL, /* of the call with .id */
	MCP_SERVE_ANSWER, /* to our question .question: result is NULL for an error */
	MCP_SERVE_ODD, /* nobody can be answered; .note says what it was */
};

struct mcp_serve_event {
	enum mcp_serve_kind kind;
	/* CALL */
	struct mcp_serve_to to;
	str host; /* what the host calls itself */
	bool elicits; /* the host can put a form to a person */
	str token; /* of progress, JSON text; "" none is wanted */
	const struct mcp_serve_tool *tool;
	const struct json *args; /* an object */
	str state; /* stateless: what an earlier result gave along; "" */
	const struct json *answers; /* and the answers to what it asked; NULL */
	str id; /* CANCEL, JSON text */
	int64_t question;
	const struct json *result;
	str note;
};

void mcp_serve_init(struct mcp_serve *s, const struct mcp_serve_opt *opt);

/* One message, which is not MCP_BATCH.  line is what it was read from.  At most one line is
 * appended to out; the event lives in a and in m. */
void mcp_serve_take(struct mcp_serve *s, const struct mcp_msg *m, const struct mcp_line *line,
		    struct arena *a, struct buf *out, struct mcp_serve_event *ev);

/* Are batches part of what was agreed?  Else one is refused. */
bool mcp_serve_batches(const struct mcp_serve *s);
void mcp_serve_refuse_batch(const struct mcp_serve *s, str why, struct buf *out);

/* --- what the host is told; each appends one line ----------------------------------------- */

/* Of a tool's call: text, and where the revision has it structured, a JSON object ("" none). */
void mcp_serve_result(const struct mcp_serve_to *to, str text, str structured, bool failed,
		      struct buf *out);
void mcp_serve_error(const struct mcp_serve_to *to, int code, str message, struct buf *out);

/* Only for a token; done grows. */
void mcp_serve_progress(const struct mcp_serve_to *to, str token, int64_t done, str message,
			struct buf *out);

/* What is asked of the person behind the host: may it?  Or for a line of text. */
struct mcp_serve_form {
	str message;
	bool text;
};

/* A request of ours with this id, which is answered with MCP_SERVE_ANSWER; and where requests
 * do not go that way, a result that asks: the call is made again with state and the answer. */
void mcp_serve_ask(int64_t id, const struct mcp_serve_form *form, struct buf *out);
void mcp_serve_ask_back(const struct mcp_serve_to *to, str state,
			const struct mcp_serve_form *form, struct buf *out);

/* The result among the answers to what asked back; NULL none. */
const struct json *mcp_serve_answer(const struct json *answers);

/* It is a yes; what the line says, or that it was declined or cancelled. */
bool mcp_serve_yes(const struct json *result);
enum mcp_serve_reply { MCP_SERVE_REPLIED, MCP_SERVE_DECLINED, MCP_SERVE_CANCELED };
enum mcp_serve_reply mcp_serve_reply(const struct json *result, str *text);

/* A request of ours needs no answer any more. */
void mcp_serve_unask(int64_t id, struct buf *out);

bool mcp_serve_stateless(const char *revision);

#endif
