/*
 * mcp/result: what a tool answered, as text that a model can read.  Pure.
 *
 * Text is given whole; pictures, sounds and other bytes as a note of their kind and size;
 * structured data as JSON unless a text part says the same.  Never empty, always UTF-8.
 */
#ifndef MCP_RESULT_H
#define MCP_RESULT_H

#include "text/json.h"

/* The result of tools/call; *failed: the tool says that it failed. */
str mcp_result_text(struct arena *a, const struct json *result, bool *failed);

/* One part of a content as text. */
str mcp_result_part(struct arena *a, const struct json *part);

/* What is wrong with the structured content of a result, in one line, when the tool promised it
 * with an output schema; "" nothing, nor where that schema is "" or makes no sense. */
str mcp_result_mismatch(struct arena *a, str schema, const struct json *result);

/* Why an answer says that it failed: the message of its error, or the error itself when that
 * is only text; empty when there is no reason. */
str mcp_result_reason(const struct json *error);

/* The error of an answer, for the model. */
str mcp_result_error(struct arena *a, const struct json *error);

#endif
