/*
 * mcp/http_marks: the parameters of a tool that its schema marks with "x-mcp-header", and which
 * are shown as headers Mcp-Param-NAME beside the message, from revision 2026-07-28 on.  Pure.
 *
 * Limits  64 marks in a tool, 16 levels deep.
 */
#ifndef MCP_HTTP_MARKS_H
#define MCP_HTTP_MARKS_H

#include "os/http.h"
#include "text/json.h"

struct mcp_mark {
	struct mcp_mark *next;
	str header; /* Mcp-Param-NAME */
	const str *path; /* names of members, from the outermost on */
	size_t depth;
};

/* *out: the marks of a tool with this input schema, NULL for none.  E_PROTO: a mark is not
 * allowed as it is, and the tool must not be used. */
int mcp_marks_read(struct mcp_mark **out, struct arena *a, str schema, struct err *e) MUSTUSE;

struct mcp_mark *mcp_marks_copy(struct arena *a, const struct mcp_mark *list);

/* The headers for a call with these arguments; how many, at most max. */
size_t mcp_marks_headers(const struct mcp_mark *list, struct arena *a, const struct json *args,
			 struct http_header *v, size_t max);

/* A text as the value of a header: as it is, or as =?base64?...?= where it
 * would not survive. */
str mcp_marks_value(struct arena *a, str text);

#endif
