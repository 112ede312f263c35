/*
 * mcp/rpc: JSON-RPC 2.0, one message a line: cutting a stream of bytes into lines, telling
 * what a line is, and writing messages.  Pure.
 *
 * A line ends with the byte 0x0A and nothing else; a CR before it is dropped.
 *
 * Limits  one line at most max bytes.  Of a longer one the begin and the end are kept, which
 *         is where its id is found, and the stream goes on with the next line.
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include "text/json.h"

#define MCP_HEAD_MAX 4096
#define MCP_TAIL_MAX 256

/* What an error says that it is about: in JSON-RPC, and from -32000 on in MCP. */
enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
	MCP_TOO_MANY = -32000, /* a word of ours: more calls than are taken at a time */
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_VERSION = -32022,
	MCP_LINKS_REQUIRED = -32042, /* of 2025-11-25: links are to be seen through first */
};

struct mcp_line {
	struct arena a; /* owns the text, and what is made of it; the taker frees it */
	str text;
	bool cut; /* over max: text is the begin of it, and tail its end */
	str tail;
};

struct mcp_lines {
	struct arena a; /* of the line that is being collected */
	struct buf b;
	size_t max;
	bool cut;
	char tail[MCP_TAIL_MAX];
	size_t tail_n;
};

void mcp_lines_init(struct mcp_lines *l, size_t max);
void mcp_lines_done(struct mcp_lines *l);

/* Take bytes from the front of *chunk.  True: a line is complete and now belongs to *out;
 * call again with what is left.  False: all of the chunk was taken. */
bool mcp_lines_take(struct mcp_lines *l, str *chunk, struct mcp_line *out);

enum mcp_kind {
	MCP_FOREIGN, /* no JSON-RPC message */
	MCP_REQUEST,
	MCP_NOTICE,
	MCP_ANSWER,
	MCP_BATCH, /* an array of messages: the elements of .batch */
	MCP_DEEP, /* JSON that is nested too deeply, or of too many values (half a
		   * million), to be read: what was lost is told by its ends */
};

struct mcp_msg {
	enum mcp_kind kind;
	const struct json *id; /* of a request or an answer: a string or an integer */
	str method;
	const struct json *params; /* NULL when absent */
	/* Of an answer: at least one of the two; the error may be of any type. */
	const struct json *result, *error;
	const struct json *batch;
};

void mcp_rpc_read(struct mcp_msg *out, struct arena *a, str line);

/* The id of a request of ours, also written as 7.0; false when it is not of the kind that we
 * send. */
bool mcp_rpc_own_id(const struct json *id, int64_t *out);

/* Whose answer was a line that was cut, or too deep? */
enum mcp_lost {
	MCP_LOST_NOTHING, /* it was no answer */
	MCP_LOST_ONE, /* that of *id */
	MCP_LOST_UNKNOWN, /* it may be that of any call */
};
enum mcp_lost mcp_rpc_lost(const struct mcp_line *line, int64_t *id);

/* The same from the other side: was such a line a request, and with which id?  Only
 * integers are found. */
bool mcp_rpc_asked(const struct mcp_line *line, int64_t *id);

/* Each appends one whole line.  params and result are JSON text on one line; params may be
 * empty, and is left out then.  id is echoed as it came. */
void mcp_rpc_request(struct buf *b, int64_t id, const char *method, str params);
void mcp_rpc_notice(struct buf *b, const char *method, str params);
void mcp_rpc_answer(struct buf *b, const struct json *id, str result);
void mcp_rpc_refuse(struct buf *b, const struct json *id, int code, str message);

#endif
