/*
 * The end of an answer: identifiers, arguments, and the wire message.
 */
#include "model/reply.h"

#include "model/think.h"
#include "os/clock.h"

#define NAME_MAX_BYTES 64
#define ID_MAX_BYTES 16384 /* proxies put whole thought signatures into them */

/* Nine letters or digits: the one form of id that every endpoint takes. */
static str fresh_id(struct arena *a)
{
	static const char alphabet[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	unsigned char raw[9];
	char id[9];

	random_bytes(raw, sizeof raw);
	for (size_t i = 0; i < sizeof id; i++)
		id[i] = alphabet[raw[i] % (sizeof alphabet - 1)];
	return arena_dup(a, (str){ id, sizeof id });
}

/* As it came, so that its maker knows it again; one that would be a burden to every later
 * request, or could not be read in a log, becomes ours on the call and on its result alike. */
static str usable_id(struct arena *a, str id)
{
	bool fine = id.n > 0 && id.n <= ID_MAX_BYTES;

	for (size_t i = 0; i < id.n && fine; i++)
		fine = (unsigned char)id.p[i] >= ' ' && id.p[i] != 0x7f;
	return fine ? arena_dup(a, id) : fresh_id(a);
}

static str joined(const struct buf *b)
{
	return (str){ b->p, b->n };
}

static str normal_args(struct arena *a, const struct buf *args)
{
	str s = str_trim(joined(args));

	return s.n == 0 || str_eq(s, S("null")) || str_eq(s, S("\"\"")) ? S("{}")
									: arena_dup(a, s);
}

/* What an endpoint takes back as arguments: the same, if it is a JSON object. */
static str wire_args(str args)
{
	SCOPED(arena_free) struct arena scratch = { 0 };
	struct json *v = NULL;

	if (json_read(&v, &scratch, args, NULL) == OK && v->type == JSON_OBJECT)
		return args;
	return S("{}");
}

static str wire_name(struct arena *a, str name)
{
	struct buf b = buf_in(a, NAME_MAX_BYTES);

	if (!name.n || (name.p[0] >= '0' && name.p[0] <= '9') || name.p[0] == '-')
		buf_addc(&b, '_');
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '_' || c == '-';
		buf_addc(&b, fine ? c : '_');
	}
	return buf_str(&b);
}

static void write_opaque(struct buf *b, const struct opaque *o, const struct opaque_key *keys,
			 size_t n, bool has_calls)
{
	for (size_t i = 0; i < n; i++) {
		if (keys[i].with_calls && !has_calls)
			continue;
		if (o[i].v) {
			buf_json_key(b, keys[i].name);
			json_write(b, o[i].v);
		} else if (o[i].text.n) {
			buf_json_member(b, keys[i].name, joined(&o[i].text));
		}
	}
}

static void write_call(struct buf *b, struct arena *a, const struct model_call *c,
		       const struct answer_call *from)
{
	buf_add(b, S("{"));
	buf_json_member(b, "id", c->id);
	buf_json_member(b, "type", S("function"));
	buf_json_key(b, "function");
	buf_add(b, S("{"));
	buf_json_member(b, "name", wire_name(a, c->name));
	buf_json_member(b, "arguments", wire_args(c->args));
	buf_add(b, S("}"));
	if (from)
		write_opaque(b, from->opaque, opaque_call, OPAQUE_CALL_N, true);
	buf_add(b, S("}"));
}

/* from and s may be NULL: a message of our own making. */
static str write_message(struct arena *a, str text, const struct model_call *calls, size_t n,
			 struct answer_call *const *from, const struct answer *s)
{
	struct buf b = buf_in(a, SIZE_MAX - 1);

	buf_add(&b, S("{"));
	buf_json_member(&b, "role", S("assistant"));
	if (text.n || n == 0)
		buf_json_member(&b, "content", text);
	if (n) {
		buf_json_key(&b, "tool_calls");
		buf_add(&b, S("["));
		for (size_t i = 0; i < n; i++) {
			if (i)
				buf_add(&b, S(","));
			write_call(&b, a, &calls[i], from ? from[i] : NULL);
		}
		buf_add(&b, S("]"));
	}
	if (s)
		write_opaque(&b, s->opaque, opaque_message, OPAQUE_MESSAGE_N, n > 0);
	buf_add(&b, S("}"));
	return buf_str(&b);
}

/* The calls that are worth keeping, by index; as many as have the same one in the order in
 * which they came. */
static size_t sorted(const struct answer *s, struct answer_call **out)
{
	size_t n = 0;

	for (size_t i = 0; i < s->calls_n; i++) {
		struct answer_call *c = s->calls[i];
		size_t k = n;
		if (!c->id.n && !c->name.n)
			continue;
		for (; k > 0 && out[k - 1]->order > c->order; k--)
			out[k] = out[k - 1];
		out[k] = c;
		n++;
	}
	return n;
}

static enum model_finish finish_of(str reason, size_t calls_n)
{
	static const struct {
		const char *reason;
		enum model_finish finish;
	} rows[] = {
		{ "length", MODEL_LENGTH },
		{ "max_tokens", MODEL_LENGTH },
		{ "model_length", MODEL_LENGTH },
		{ "max_output_tokens", MODEL_LENGTH },
		{ "content_filter", MODEL_FILTER },
		{ "safety", MODEL_FILTER },
		{ "prohibited_content", MODEL_FILTER },
		{ "recitation", MODEL_FILTER },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (str_ieq(reason, str_of(rows[i].reason)))
			return rows[i].finish;
	return calls_n ? MODEL_TOOLS : MODEL_STOP;
}

void reply_make(const struct answer *s, struct arena *a, struct model_reply *out)
{
	struct answer_call *from[CALLS_MAX];
	size_t n = sorted(s, from);
	struct model_call *calls = NEWN(a, struct model_call, n + 1);
	str block, refusal = str_trim(joined(&s->refusal));

	for (size_t i = 0; i < n; i++)
		calls[i] = (struct model_call){
			.id = usable_id(a, from[i]->id),
			.name = arena_dup(a, str_trim(joined(&from[i]->name))),
			.args = normal_args(a, &from[i]->args),
		};
	out->text = arena_dup(a, think_answer(joined(&s->content), &block));
	out->refused = refusal.n > 0;
	if (!out->text.n && out->refused)
		out->text = arena_dup(a, refusal);
	out->reasoning = arena_dup(a, str_trim(s->reasoning.n ? joined(&s->reasoning) : block));
	out->calls = calls;
	out->calls_n = n;
	out->wire = write_message(a, out->text, calls, n, from, s);
	out->finish = finish_of(s->finish, n);
	out->usage = s->usage;
}

/* ---- messages of our own making ----------------------------------------------------- */

static str plain(struct arena *a, const char *role, const char *key, str value, str content)
{
	struct buf b = buf_in(a, SIZE_MAX - 1);

	buf_add(&b, S("{"));
	buf_json_member(&b, "role", str_of(role));
	if (key)
		buf_json_member(&b, key, value);
	buf_json_member(&b, "content", content);
	buf_add(&b, S("}"));
	return buf_str(&b);
}

str model_user_wire(struct arena *a, str text)
{
	return plain(a, "user", NULL, (str){ 0 }, text);
}

str model_user_images_wire(struct arena *a, str text, const str *urls, size_t n)
{
	size_t all = 6 * text.n + 128;

	for (size_t i = 0; i < n; i++)
		all += 6 * urls[i].n + 64;
	struct buf b = buf_in(a, all);
	buf_add(&b, S("{\"role\":\"user\",\"content\":[{\"type\":\"text\""));
	buf_json_member(&b, "text", text);
	buf_addc(&b, '}');
	for (size_t i = 0; i < n; i++) {
		buf_add(&b, S(",{\"type\":\"image_url\",\"image_url\":{\"url\":"));
		buf_json(&b, urls[i]);
		buf_add(&b, S("}}"));
	}
	buf_add(&b, S("]}"));
	return buf_str(&b);
}

str model_assistant_wire(struct arena *a, str text)
{
	return plain(a, "assistant", NULL, (str){ 0 }, text);
}

str model_tool_wire(struct arena *a, str call_id, str content)
{
	return plain(a, "tool", "tool_call_id", call_id, content);
}

str model_calls_wire(struct arena *a, str text, const struct model_call *calls, size_t n)
{
	return write_message(a, text, calls, n, NULL, NULL);
}
