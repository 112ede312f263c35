/*
 * The rules by which a refusal turns into a changed request.  Each rule needs something that
 * was in the request, takes it out or changes its shape, and so cannot apply twice.
 */
#include "model/quirks.h"

#include "base/buf.h"

/* Words for "I do not take that". */
static bool refuses(const struct refusal *r)
{
	return SAYS(r, "unsupported", "not support", "n't support", "unrecognized",
		    "unrecognised", "unknown", "unexpected", "extra inputs", "extra_forbidden",
		    "not permitted", "not allowed", "forbidden", "invalid",
		    "additional propert", "only the default", "deprecated", "too large",
		    "too high", "must be", "cannot be", "less than or equal", "not available",
		    "no such");
}

static bool names(const struct refusal *r, const char *param)
{
	return str_eq(r->param, str_of(param)) || str_has(r->words, str_of(param));
}

static bool about_max_tokens(const struct refusal *r)
{
	return names(r, "max_tokens") && refuses(r);
}

static bool about_max_completion(const struct refusal *r)
{
	return names(r, "max_completion_tokens") && refuses(r);
}

static bool other_name_wanted(const struct refusal *r)
{
	return about_max_tokens(r) && str_has(r->words, S("max_completion_tokens"));
}

static bool about_temperature(const struct refusal *r)
{
	return names(r, "temperature") && refuses(r);
}

static bool about_stream_options(const struct refusal *r)
{
	return (names(r, "stream_options") || names(r, "include_usage")) && refuses(r);
}

static bool about_stream(const struct refusal *r)
{
	return str_eq(r->param, S("stream")) ||
	       SAYS(r, "does not support stream", "streaming is not supported",
		    "stream is not supported", "verified to stream",
		    "'stream' does not support");
}

static bool about_effort(const struct refusal *r)
{
	return names(r, "reasoning_effort") && refuses(r);
}

static bool about_tools(const struct refusal *r)
{
	return SAYS(r, "not support tool", "n't support tool", "support tool use",
		    "support tool call", "tools are not supported", "tools is not supported",
		    "not support function", "function calling is not", "tool use is not",
		    "tool calling is not", "tool calls are not supported",
		    "'tools' is not supported");
}

static bool about_system(const struct refusal *r)
{
	return SAYS(r, "system role not supported", "system role is not supported",
		    "developer instruction is not enabled", "does not support system",
		    "system messages are not supported", "system message is not supported");
}

static bool about_ids(const struct refusal *r)
{
	return SAYS(r, "tool call id", "tool_call_id", "tool_calls") &&
	       SAYS(r, "length of 9", "maximum length", "too long", "a-z, a-z, 0-9");
}

static bool reasoning_missing(const struct refusal *r)
{
	return str_has(r->words, S("reasoning_content")) &&
	       SAYS(r, "missing", "must be passed", "must be provided", "required");
}

static bool about_opaque(const struct refusal *r)
{
	return SAYS(r, "reasoning_content", "reasoning_details", "extra_content",
		    "thought_signature", "provider_specific_fields", "reasoning", "thinking") &&
	       refuses(r) && !SAYS(r, "missing", "must be passed");
}

/* Some argument is refused, but which? */
static bool about_some_field(const struct refusal *r)
{
	return SAYS(r, "unrecognized", "unrecognised", "unknown", "unexpected key",
		    "unexpected field", "unexpected param", "unexpected arg", "unexpected prop",
		    "extra inputs", "extra_forbidden", "additional propert", "not permitted");
}

static bool about_schema(const struct refusal *r)
{
	return SAYS(r, "schema", "function_declarations", "functiondeclaration",
		    "parameters.properties", "function.parameters", "tools[", "tools.",
		    "additionalproperties", "$ref", "$schema", "$defs", "exclusiveminimum",
		    "any_of", "anyof");
}

static const struct rule {
	uint32_t sent; /* one of these was in the request */
	uint32_t unless; /* these quirks are not known yet */
	uint32_t set;
	bool (*about)(const struct refusal *r);
} rules[] = {
	{ SENT_MAX_TOKENS, QUIRK_MAX_COMPLETION, QUIRK_MAX_COMPLETION, other_name_wanted },
	{ SENT_MAX_TOKENS, 0, QUIRK_NO_MAX_TOKENS, about_max_tokens },
	{ SENT_MAX_COMPLETION, 0, QUIRK_NO_MAX_TOKENS, about_max_completion },
	{ SENT_TEMPERATURE, 0, QUIRK_NO_TEMPERATURE, about_temperature },
	{ SENT_STREAM_OPTIONS, 0, QUIRK_NO_STREAM_OPTIONS, about_stream_options },
	{ SENT_EFFORT, 0, QUIRK_NO_EFFORT, about_effort },
	{ SENT_STREAM, 0, QUIRK_NO_STREAM, about_stream },
	{ SENT_TOOLS, 0, QUIRK_NO_TOOLS, about_tools },
	{ SENT_SYSTEM, 0, QUIRK_NO_SYSTEM, about_system },
	{ SENT_CALLS, QUIRK_SHORT_IDS, QUIRK_SHORT_IDS, about_ids },
	{ SENT_CALLS, QUIRK_EMPTY_REASONING, QUIRK_EMPTY_REASONING, reasoning_missing },
	{ SENT_OPAQUE, 0, QUIRK_NO_OPAQUE, about_opaque },
};

static const struct rule last_rules[] = {
	{ SENT_TOOLS, QUIRK_PLAIN_SCHEMA, QUIRK_PLAIN_SCHEMA, about_schema },
	{ SENT_TOOLS, QUIRK_BARE_SCHEMA, QUIRK_BARE_SCHEMA, about_schema },
	{ SENT_OPAQUE, 0, QUIRK_NO_OPAQUE, about_some_field },
};

static bool apply(struct model_quirks *q, const struct refusal *r, uint32_t sent,
		  const struct rule *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((sent & list[i].sent) && !(q->flags & list[i].unless) && list[i].about(r)) {
			q->flags |= list[i].set;
			return true;
		}
	return false;
}

static bool about_content(const struct refusal *r)
{
	return str_has(r->words, S("content")) &&
	       SAYS(r, "null", "nil", "none", "at least 1 character", "too_short", "too short",
		    "missing", "required", "string", "empty", "must be", "must have", "blank",
		    "invalid");
}

/* content left out, "", null: the next shape that was not refused yet. */
static bool learn_shape(struct model_quirks *q, struct lesson *l)
{
	static const uint32_t shapes[] = { 0, QUIRK_CONTENT_EMPTY, QUIRK_CONTENT_NULL };
	uint32_t now = q->flags & (QUIRK_CONTENT_EMPTY | QUIRK_CONTENT_NULL);

	for (size_t i = 0; i < COUNT(shapes); i++)
		if (shapes[i] == now)
			l->shapes_tried |= 1u << i;
	for (size_t i = 0; i < COUNT(shapes); i++)
		if (!(l->shapes_tried & 1u << i)) {
			q->flags = (q->flags & ~now) | shapes[i];
			return true;
		}
	return false;
}

bool quirks_learn(struct model_quirks *q, const struct refusal *r, struct lesson *l)
{
	if (r->kind != MODEL_BAD_REQUEST || r->no_images)
		return false;
	if (apply(q, r, l->sent, rules, COUNT(rules)))
		return true;
	if ((l->sent & SENT_BARE_CALLS) && about_content(r))
		return learn_shape(q, l);
	return apply(q, r, l->sent, last_rules, COUNT(last_rules));
}

str quirks_words(struct arena *a, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *word;
	} rows[] = {
		{ QUIRK_MAX_COMPLETION, "max_completion_tokens" },
		{ QUIRK_NO_MAX_TOKENS, "no_max_tokens" },
		{ QUIRK_NO_TEMPERATURE, "no_temperature" },
		{ QUIRK_NO_STREAM_OPTIONS, "no_stream_options" },
		{ QUIRK_NO_STREAM, "no_stream" },
		{ QUIRK_NO_EFFORT, "no_reasoning_effort" },
		{ QUIRK_CONTENT_EMPTY, "content_empty" },
		{ QUIRK_CONTENT_NULL, "content_null" },
		{ QUIRK_NO_OPAQUE, "no_opaque_fields" },
		{ QUIRK_EMPTY_REASONING, "empty_reasoning" },
		{ QUIRK_SHORT_IDS, "short_ids" },
		{ QUIRK_PLAIN_SCHEMA, "plain_schema" },
		{ QUIRK_BARE_SCHEMA, "bare_schema" },
		{ QUIRK_NO_TOOLS, "no_tools" },
		{ QUIRK_NO_SYSTEM, "no_system" },
	};
	struct buf b = buf_in(a, 512);

	for (size_t i = 0; i < COUNT(rows); i++)
		if (flags & rows[i].flag)
			buf_fmt(&b, "%s%s", b.n ? " " : "", rows[i].word);
	return b.n ? buf_str(&b) : S("none");
}
