/*
 * What servers say of prompts and parameters: arguments that a person wrote become an object or
 * words that say what is missing, messages become whole text, and what a schema marks to be shown
 * as a header is one that can be sent.
 *
 * Four lines, the last to the end: a prompt, what was written behind it, a schema, and a result
 * that is also the arguments of the tool with the schema.
 */
#include "agent/server_prompt_words.h"
#include "mcp/http_marks.h"

#include <stdlib.h>

#include "base/utf.h"

#define HEADERS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool sendable(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || (unsigned char)s.p[i] > '~')
			return false;
	return true;
}

static void check_marks(str schema, const struct json *args, struct arena *a)
{
	struct http_header v[HEADERS];
	struct mcp_mark *marks = NULL;
	struct err e = { 0 };
	size_t n;

	if (mcp_marks_read(&marks, a, schema, &e) < 0) {
		if (!e.msg[0])
			abort();
		return;
	}
	n = mcp_marks_headers(mcp_marks_copy(a, marks), a, args, v, HEADERS);
	if (n > HEADERS)
		abort();
	for (size_t i = 0; i < n; i++)
		if (!str_starts(v[i].name, S("Mcp-Param-")) || !sendable(v[i].name) ||
		    !sendable(v[i].value))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = utf_repair(&a, (str){ (const char *)data, size });
	str prompt_text = str_cut(&in, '\n'), args = str_cut(&in, '\n'),
	    schema = str_cut(&in, '\n');
	struct json *prompt, *result, *object;
	str server, name, rest, json;
	struct err e = { 0 };

	if (server_prompt_parse(args, &server, &name, &rest) &&
	    (server.n + name.n + rest.n > args.n || !server.n || !name.n))
		abort();
	if (json_read(&prompt, &a, prompt_text, &e) == OK) {
		bool all = server_prompt_args(prompt, S("s"), args, &a, &json);

		if (!utf_valid(json) || !utf_valid(server_prompt_usage(prompt, S("s"), &a)) ||
		    (all &&
		     (json_read(&object, &a, json, &e) < 0 || !json_is(object, JSON_OBJECT))) ||
		    (!all && !json.n))
			abort();
	}
	if (json_read(&result, &a, in, &e) == OK) {
		if (!utf_valid(server_prompt_text(result, &a)))
			abort();
		check_marks(schema, result, &a);
	}
	if (!utf_valid(server_prompt_told(S("s"), in, &a)))
		abort();
	return 0;
}
