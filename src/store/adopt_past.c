/*
 * A conversation of another program, written as turns.  What it kept may begin in the middle, lack
 * answers and results, or repeat them: here it becomes what a provider will take.  A turn begins
 * with what a user said; every call has one result; a message nobody answered says so.
 */
#include "store/adopt_past.h"

#include "base/map.h"
#include "base/utf.h"
#include "text/json.h"

#include <string.h>

#define TITLE_MAX 80
#define WIRE_MAX ((size_t)32 << 20)
#define CALLS_MAX 128
#define NAME_MAX_BYTES 64
#define NO_RESULT "[no result of this call was kept]"
#define NO_ANSWER "[This message was not answered.]"

struct past_call {
	str id, name;
	bool answered;
};

static bool is_id(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("0123456789abcdef", s.p[i]))
			return false;
	return s.n == ID_LEN;
}

static int find_session(struct db *db, str channel, str address, char id[ID_LEN + 1],
			struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, "SELECT id FROM sessions WHERE channel = ?1 AND address = ?2",
			  DB_ARGS(db_text(channel), db_text(address)), e);

	id[0] = 0;
	if (rc == OK && (rc = rows_next(&r, e)) > 0)
		rows_id(&r, 0, id);
	return rc < 0 ? rc : OK;
}

int past_begin(struct past *p, struct adopt *ad, const struct session *s, bool *known,
	       struct err *e)
{
	int64_t taken = 0;
	int rc = find_session(ad->to, s->channel, s->address, p->id, e);

	if (rc < 0)
		return rc;
	*known = p->id[0] != 0;
	p->ad = ad;
	p->channel = s->channel;
	p->address = s->address;
	p->next_seq = 1;
	if (*known) {
		ad->report->n[ADOPT_SESSIONS].known++;
		return OK;
	}
	id_new(p->id);
	if (is_id(s->id)) {
		rc = db_number(ad->to, "SELECT count(*) FROM sessions WHERE id = ?1",
			       DB_ARGS(db_text(s->id)), &taken, e);
		if (rc < 0)
			return rc;
		if (!taken)
			memcpy(p->id, s->id.p, ID_LEN);
	}
	ad->report->n[ADOPT_SESSIONS].taken++;
	return db_run(ad->to,
		      "INSERT INTO sessions (id, channel, address, title, model, summary, "
		      "prompt_tokens, completion_tokens, created_at_ms, updated_at_ms) "
		      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
		      DB_ARGS(db_text(str_of(p->id)), db_text(s->channel), db_text(s->address),
			      db_text(s->title), db_text(s->model), db_text(s->summary),
			      db_i64(s->prompt_tokens), db_i64(s->completion_tokens),
			      db_i64(s->created_at_ms), db_i64(s->updated_at_ms)),
		      NULL, e);
}

/* --- rows ------------------------------------------------------------------------------------ */

struct row {
	int64_t seq, round, index;
	const char *role;
	str wire, text, tool_name;
	bool note;
};

static int put(struct past *p, const struct row *r, struct err *e)
{
	p->rows++;
	return db_run(p->ad->to,
		      "INSERT INTO turn_messages (session_id, turn_id, seq, round, idx, role, "
		      "wire, content, tool_name, note, created_at_ms) "
		      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
		      DB_ARGS(db_text(str_of(p->id)), db_text(str_of(p->turn)), db_i64(r->seq),
			      db_i64(r->round), db_i64(r->index), db_text(str_of(r->role)),
			      db_text(r->wire), db_text(r->text), db_text(r->tool_name),
			      db_i64(r->note), db_i64(p->at_ms)),
		      NULL, e);
}

static str plain_wire(struct arena *a, const char *role, str text)
{
	struct buf b = buf_in(a, WIRE_MAX);

	buf_addc(&b, '{');
	buf_json_member(&b, "role", str_of(role));
	buf_json_member(&b, "content", text);
	buf_addc(&b, '}');
	return buf_str(&b);
}

static str result_wire(struct arena *a, str call_id, str text)
{
	struct buf b = buf_in(a, WIRE_MAX);

	buf_add(&b, S("{\"role\":\"tool\""));
	buf_json_member(&b, "tool_call_id", call_id);
	buf_json_member(&b, "content", text);
	buf_addc(&b, '}');
	return buf_str(&b);
}

static int put_result(struct past *p, size_t i, str text, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct past_call *call = &p->calls[i];
	const struct row r = { .seq = p->calls_seq + (int64_t)i,
			       .round = p->round,
			       .index = (int64_t)i + 1,
			       .role = "tool",
			       .wire = result_wire(&a, call->id, text),
			       .text = text,
			       .tool_name = call->name };

	call->answered = true;
	return put(p, &r, e);
}

/* --- turns ----------------------------------------------------------------------------------- */

/* No call stays without its result. */
static int close_round(struct past *p, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < p->calls_n; i++)
		if (!p->calls[i].answered) {
			p->ad->report->mended++;
			rc = put_result(p, i, S(NO_RESULT), e);
		}
	p->calls_n = 0;
	arena_free(&p->calls_arena);
	return rc;
}

static int open_turn(struct past *p, struct err *e)
{
	id_new(p->turn);
	p->first_seq = p->next_seq;
	p->round = p->users = p->rows = 0;
	p->answered = p->asked = false;
	return db_run(p->ad->to,
		      "INSERT INTO turns (id, session_id, state, epoch, history, first_seq, "
		      "started_at_ms, updated_at_ms, finished_at_ms) "
		      "VALUES (?1, ?2, 'done', 1, 'full', ?3, ?4, ?4, ?4)",
		      DB_ARGS(db_text(str_of(p->turn)), db_text(str_of(p->id)),
			      db_i64(p->first_seq), db_i64(p->at_ms)),
		      NULL, e);
}

/* History keeps what was asked and a word about the answer that is missing. */
static int put_no_answer(struct past *p, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct row r = { .seq = p->next_seq++,
			       .round = 1,
			       .role = "assistant",
			       .wire = plain_wire(&a, "assistant", S(NO_ANSWER)),
			       .text = S(NO_ANSWER),
			       .note = true };

	p->ad->report->mended++;
	return put(p, &r, e);
}

static int close_turn(struct past *p, struct err *e)
{
	int rc = close_round(p, e);

	if (rc < 0 || !p->turn[0])
		return rc;
	/* An answer to a question that is gone would be a prompt that begins in the middle. */
	const char *history = !p->asked ? "none" : p->answered ? "full" : "note";
	if (p->asked && !p->answered)
		rc = put_no_answer(p, e);
	if (!p->asked)
		p->ad->report->mended++;
	if (rc == OK)
		rc = db_run(p->ad->to,
			    "UPDATE turns SET state = ?2, history = ?3, prompt_n = ?4, "
			    "updated_at_ms = ?5, finished_at_ms = ?5 WHERE id = ?1",
			    DB_ARGS(db_text(str_of(p->turn)),
				    db_text(p->answered ? S("done") : S("interrupted")),
				    db_text(str_of(history)), db_i64(p->asked ? p->rows : 0),
				    db_i64(p->at_ms)),
			    NULL, e);
	p->turn[0] = 0;
	return rc;
}

int past_end(struct past *p, struct err *e)
{
	int rc = close_turn(p, e);

	return rc < 0 ? rc
		      : db_run(p->ad->to,
			       "UPDATE sessions SET next_seq = ?2, messages_n = ?2 - 1 "
			       "WHERE id = ?1",
			       DB_ARGS(db_text(str_of(p->id)), db_i64(p->next_seq)), NULL, e);
}

/* --- messages -------------------------------------------------------------------------------- */

/* Who began a turn, where that was no person: later prompts of its like leave it out. */
static int put_origin(struct past *p, const struct past_message *m, struct err *e)
{
	if (!m->kind[0])
		return OK;
	return db_run(p->ad->to,
		      "INSERT INTO inbox (session_id, turn_id, channel, address, kind, text, "
		      "message_seq, state, created_at_ms) "
		      "VALUES (?1, ?2, ?3, ?4, ?5, '', ?6, 'done', ?7)",
		      DB_ARGS(db_text(str_of(p->id)), db_text(str_of(p->turn)),
			      db_text(p->channel), db_text(p->address),
			      db_text(str_of(m->kind)), db_i64(p->first_seq), db_i64(m->at_ms)),
		      NULL, e);
}

static int set_title(struct past *p, str text, struct err *e)
{
	str rest = str_trim(text);
	str title = utf_head(str_trim(str_cut(&rest, '\n')), TITLE_MAX);

	return db_run(p->ad->to, "UPDATE sessions SET title = ?2 WHERE id = ?1 AND title = ''",
		      DB_ARGS(db_text(str_of(p->id)), db_text(title)), NULL, e);
}

static int add_user(struct past *p, const struct past_message *m, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	bool joins = p->turn[0] && p->asked && !p->answered;
	int rc = joins ? OK : close_turn(p, e);

	p->at_ms = m->at_ms;
	if (rc == OK && !joins && (rc = open_turn(p, e)) == OK)
		rc = put_origin(p, m, e);
	if (rc == OK && p->first_seq == 1)
		rc = set_title(p, m->text, e);
	p->asked = true;
	const struct row r = { .seq = p->next_seq++,
			       .index = p->users++,
			       .role = "user",
			       .wire = plain_wire(&a, "user", m->text),
			       .text = m->text };
	return rc < 0 ? rc : put(p, &r, e);
}

static bool is_tool_name(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && c != '_' && c != '-')
			return false;
	}
	return s.n > 0 && s.n <= NAME_MAX_BYTES;
}

/* Its id, or one of our own where it has none or one that was there already. */
static str call_id(struct past *p, str id, size_t n)
{
	bool fine = id.n > 0 && id.n <= 200;

	for (size_t i = 0; i < n && fine; i++)
		fine = !str_eq(p->calls[i].id, id);
	return fine ? arena_dup(&p->calls_arena, id)
		    : arena_fmt(&p->calls_arena, "call_%zu", n + 1);
}

/* The text of a JSON object, whatever stands there. */
static str arguments(struct past *p, const struct json *args)
{
	struct buf b = buf_in(&p->calls_arena, WIRE_MAX);
	struct json *v;
	str text = json_text(args);

	if (text.n && json_read(&v, &p->calls_arena, text, NULL) == OK &&
	    json_is(v, JSON_OBJECT))
		return text;
	if (json_is(args, JSON_OBJECT)) {
		json_write(&b, args);
		return buf_str(&b);
	}
	p->ad->report->mended += str_trim(text).n > 0;
	return S("{}");
}

static void add_call(struct past *p, struct buf *b, const struct json *c,
		     struct foreign_rows *f)
{
	str name = json_str(c, "name");

	if (!is_tool_name(name) || p->calls_n == CALLS_MAX) {
		adopt_note(p->ad, ADOPT_MESSAGES, 0, "message %.*s: a call of it is %s",
			   STRF(f->v[0].s),
			   p->calls_n == CALLS_MAX ? "one too many" : "without a name");
		p->ad->report->mended++;
		return;
	}
	struct past_call *call = &p->calls[p->calls_n];
	call->id = call_id(p, json_str(c, "id"), p->calls_n);
	call->name = arena_dup(&p->calls_arena, name);
	call->answered = false;
	buf_add(b, p->calls_n++ ? S(",{") : S("{"));
	buf_json_member(b, "id", call->id);
	buf_json_member(b, "type", S("function"));
	buf_json_key(b, "function");
	buf_addc(b, '{');
	buf_json_member(b, "name", call->name);
	buf_json_member(b, "arguments", arguments(p, json_get(c, "args")));
	buf_add(b, S("}}"));
}

/* The wire message; p->calls are those it asks for. */
static str assistant_wire(struct past *p, const struct past_message *m, struct arena *a,
			  struct foreign_rows *f)
{
	struct buf b = buf_in(a, WIRE_MAX), calls = buf_in(a, WIRE_MAX);

	p->calls = NEWN(&p->calls_arena, struct past_call, CALLS_MAX);
	for (const struct json *c = m->calls->child; c; c = c->next)
		add_call(p, &calls, c, f);
	if (p->calls_n == 0)
		return plain_wire(a, "assistant", m->text);
	buf_add(&b, S("{\"role\":\"assistant\",\"content\":"));
	buf_json(&b, m->text);
	buf_add(&b, S(",\"tool_calls\":["));
	buf_add(&b, buf_str(&calls));
	buf_add(&b, S("]}"));
	return buf_str(&b);
}

static int add_assistant(struct past *p, const struct past_message *m, struct foreign_rows *f,
			 struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int rc = close_round(p, e);

	p->at_ms = m->at_ms;
	if (rc == OK && !p->turn[0])
		rc = open_turn(p, e);
	if (rc < 0)
		return rc;
	struct row r = { .round = ++p->round, .role = "assistant", .text = m->text };
	r.wire = m->calls ? assistant_wire(p, m, &a, f) : plain_wire(&a, "assistant", m->text);
	r.seq = p->next_seq;
	p->calls_seq = r.seq + 1;
	p->next_seq += 1 + (int64_t)p->calls_n;
	p->answered = true;
	return put(p, &r, e);
}

static int add_result(struct past *p, const struct past_message *m, struct foreign_rows *f,
		      struct err *e)
{
	for (size_t i = 0; i < p->calls_n; i++)
		if (!p->calls[i].answered && str_eq(p->calls[i].id, m->call_id))
			return put_result(p, i, m->text, e);
	foreign_skip(f, "it answers no call");
	return E_NOENT;
}

int past_add(struct past *p, const struct past_message *m, struct foreign_rows *f,
	     struct err *e)
{
	bool called = m->calls && m->calls->n > 0;
	int rc;

	if (str_eq(m->role, S("tool"))) {
		rc = add_result(p, m, f, e);
	} else if (!str_eq(m->role, S("user")) && !str_eq(m->role, S("assistant"))) {
		foreign_skip(f, "its role is \"%.*s\"", STRF(utf_head(m->role, 40)));
		return OK;
	} else if (str_trim(m->text).n == 0 && !called) {
		foreign_skip(f, "it is empty");
		return OK;
	} else if (str_eq(m->role, S("user"))) {
		rc = add_user(p, m, e);
	} else {
		rc = add_assistant(p, m, f, e);
	}
	p->ad->report->n[ADOPT_MESSAGES].taken += rc == OK;
	return rc == E_NOENT ? OK : rc;
}
