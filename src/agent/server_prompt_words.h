/*
 * agent/server_prompt_words: what is written and read of a prompt of a tool server.  Pure.
 */
#ifndef AGENT_SERVER_PROMPT_WORDS_H
#define AGENT_SERVER_PROMPT_WORDS_H

#include "text/json.h"

/* "/server:prompt args": is it of that form?  Whether there is such a server is not asked. */
bool server_prompt_parse(str text, str *server, str *prompt, str *args);

/* What a person wrote behind a prompt, as its "arguments": name=value, quoted where it has blanks,
 * in any order; other words go to the arguments that are left, in their order, and the last of
 * those gets all that remains.  prompt is one of prompts/list.  *json is an object; false: *json
 * says what is missing, and how it is used. */
bool server_prompt_args(const struct json *prompt, str server, str args, struct arena *a,
			str *json);

/* The messages of a prompts/get result as one text: a single one as it is, several with their
 * roles. */
str server_prompt_text(const struct json *result, struct arena *a);

/* What a server says in the place of an answer, as Markdown: whose words they are, and these as they
 * are, visible, with no markup of their own. */
str server_prompt_told(str server, str text, struct arena *a);

/* How a prompt is used: a line, and one for each argument that says something of itself. */
str server_prompt_usage(const struct json *prompt, str server, struct arena *a);

#endif
