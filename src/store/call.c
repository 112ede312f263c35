/*
 * Tool calls from plan to result.  Their rows are the audit as well: they outlive turns and
 * sessions, so they hold arguments and decision, while the result's text lives in the tool
 * message alone.
 *
 *	planned -> running -> done | failed | denied | in_doubt | canceled
 *	   |          |
 *	   |          +-> planned (interrupted and safe)
 *	   +-> done | failed | denied | canceled
 */
#include "store/rows.h"

#include "os/proc.h"
#include "text/json.h"
#include "text/text.h"

#define IN_DOUBT_TEXT                                                                          \
	"[interrupted: the program stopped while this tool was running. It may or may not "    \
	"have taken effect; check before repeating it.]"
#define CANCELED_TEXT "[canceled: this tool was not run.]"

static const char *const state_names[] = {
	[CALL_PLANNED] = "planned",   [CALL_RUNNING] = "running", [CALL_DONE] = "done",
	[CALL_FAILED] = "failed",     [CALL_DENIED] = "denied",   [CALL_IN_DOUBT] = "in_doubt",
	[CALL_CANCELED] = "canceled",
};

static const char *call_state_name(enum call_state state)
{
	return state_names[state];
}

enum call_state call_state_of(str name)
{
	size_t i = 0;

	while (i < COUNT(state_names) - 1 && !str_eq(name, str_of(state_names[i])))
		i++;
	return (enum call_state)i;
}

static bool has_result(enum call_state state)
{
	return state != CALL_PLANNED && state != CALL_RUNNING;
}

static str tool_wire(struct arena *a, str provider_id, str result)
{
	struct buf b = buf_in(a, 128 + 6 * (provider_id.n + result.n));

	buf_add(&b, S("{\"role\":\"tool\""));
	buf_json_member(&b, "tool_call_id", provider_id);
	buf_json_member(&b, "content", result);
	buf_addc(&b, '}');
	return buf_str(&b);
}

/* The tool message of a call that has its result. */
static int insert_result(struct tx *tx, str turn_id, const struct turn_row *t, int64_t seq,
			 const struct call *call, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message_new m = {
		.seq = seq,
		.round = call->round,
		.index = call->index,
		.role = "tool",
		.wire = call->result_wire,
		.text = call->result,
		.tool_name = call->name.n ? call->name : call->requested,
	};

	if (!m.wire.n)
		m.wire = tool_wire(&a, call->provider_id, call->result);
	int rc = message_insert(tx, turn_id, t, &m, e);
	if (rc == OK && (call->state == CALL_DONE || call->state == CALL_FAILED))
		rc = usage_count(tx, USAGE_TOOL_CALL, e);
	return rc;
}

/* What is kept of the arguments once they are not needed to run the call. */
static str audited(const struct tx *tx, struct arena *a, str args)
{
	const struct str_list *hidden = atomic_load(&tx->s->secrets);

	return text_redact_args(a, args, hidden ? hidden->v : NULL, hidden ? hidden->n : 0);
}

/* A call without a turn is its owner's, and numbered after those that are there. */
static int insert_row(struct tx *tx, str turn_id, str session_id, str owner, int64_t seq,
		      const struct call *call, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	bool finished = has_result(call->state);
	bool runs = turn_id.n && !finished; /* maybe from this row, after a restart */
	int64_t now = clock_now_ms();

	return db_run(
		tx_db(tx),
		"INSERT INTO tool_calls (id, session_id, turn_id, round, idx, seq, "
		"provider_id, "
		"requested, name, args, safe, state, decision, rule, decider, requester, "
		"truncated, exit_code, duration_ms, boot_id, pid, start_time, created_at_ms, "
		"started_at_ms, finished_at_ms, owner) VALUES (?1, ?2, ?3, ?4, iif(?5 > 0, ?5, "
		"(SELECT coalesce(max(idx), 0) + 1 FROM tool_calls WHERE turn_id = ?3 AND "
		"round = ?4)), ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
		"?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)",
		DB_ARGS(db_text(str_of(call->id)), db_text(session_id), db_text(turn_id),
			db_i64(call->round), db_i64(call->index), db_i64(seq),
			db_text(call->provider_id), db_text(call->requested),
			db_text(call->name),
			db_text(runs ? call->args : audited(tx, &a, call->args)),
			db_i64(call->safe), db_text(str_of(call_state_name(call->state))),
			db_text(call->decision), db_text(call->rule), db_text(call->decider),
			db_text(call->requester), db_i64(call->truncated),
			db_when(call->has_exit, db_i64(call->exit_code)),
			db_when(finished, db_i64(call->duration_ms)),
			db_text(call->pid ? proc_boot_id(&a) : S("")), db_i64(call->pid),
			db_i64(call->start_time), db_i64(now),
			db_when(call->state == CALL_RUNNING, db_i64(now)),
			db_when(finished, db_i64(now)), db_text(owner)),
		NULL, e);
}

int call_insert(struct tx *tx, str turn_id, const struct turn_row *t, int64_t seq,
		const struct call *call, struct err *e)
{
	bool finished = has_result(call->state);
	int rc = insert_row(tx, turn_id, str_of(t->session_id), S(""), seq, call, e);

	if (rc == OK && finished)
		rc = insert_result(tx, turn_id, t, seq, call, e);
	return rc;
}

int store_call_start(struct tx *tx, str turn_id, const struct call *call, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct turn_row t;
	int64_t changed = 0;
	int rc = turn_row_live(&t, tx, turn_id, e);

	if (rc < 0)
		return rc;
	rc = db_run(tx_db(tx),
		    "UPDATE tool_calls SET state = 'running', safe = ?3, "
		    "decision = iif(?4 = '', decision, ?4), rule = iif(?5 = '', rule, ?5), "
		    "decider = iif(?6 = '', decider, ?6), "
		    "requester = iif(?7 = '', requester, ?7), boot_id = ?8, pid = ?9, "
		    "start_time = ?10, started_at_ms = ?11 WHERE id = ?1 AND turn_id = ?2 "
		    "AND (state = 'planned' OR (state = 'running' AND ?9 <> 0))",
		    DB_ARGS(db_text(str_of(call->id)), db_text(turn_id), db_i64(call->safe),
			    db_text(call->decision), db_text(call->rule),
			    db_text(call->decider), db_text(call->requester),
			    db_text(call->pid ? proc_boot_id(&a) : S("")), db_i64(call->pid),
			    db_i64(call->start_time), db_i64(clock_now_ms())),
		    &changed, e);
	if (rc == OK && changed == 0)
		return tx_refuse(tx, e, E_INVAL, "call %s is not planned", call->id);
	return rc == OK ? turn_progressed(tx, turn_id, e) : rc;
}

/* What finishing takes over from the journal. */
struct open_call {
	struct call call;
	int64_t seq;
};

#define OPEN_COLUMNS "id, round, idx, seq, provider_id, requested, name, state, safe, args"

static void read_open(struct open_call *out, const struct rows *r, struct arena *a)
{
	*out = (struct open_call){
		.seq = rows_i64(r, 3),
		.call = {
			.round = rows_i64(r, 1),
			.index = rows_i64(r, 2),
			.provider_id = rows_text(r, 4, a),
			.requested = rows_text(r, 5, a),
			.name = rows_text(r, 6, a),
			.state = call_state_of(rows_peek(r, 7)),
			.safe = rows_i64(r, 8) != 0,
			.args = rows_text(r, 9, a),
		},
	};
	rows_id(r, 0, out->call.id);
}

/* State and figures.  Decision fields and arguments are kept unless call brings them. */
static int end_row(struct tx *tx, const struct call *call, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };

	return db_run(tx_db(tx),
		      "UPDATE tool_calls SET state = ?2, "
		      "decision = iif(?3 = '', decision, ?3), rule = iif(?4 = '', rule, ?4), "
		      "decider = iif(?5 = '', decider, ?5), "
		      "requester = iif(?6 = '', requester, ?6), truncated = ?7, "
		      "exit_code = ?8, duration_ms = ?9, finished_at_ms = ?10, "
		      "args = iif(?11 = '', args, ?11) WHERE id = ?1",
		      DB_ARGS(db_text(str_of(call->id)),
			      db_text(str_of(call_state_name(call->state))),
			      db_text(call->decision), db_text(call->rule),
			      db_text(call->decider), db_text(call->requester),
			      db_i64(call->truncated),
			      db_when(call->has_exit, db_i64(call->exit_code)),
			      db_i64(call->duration_ms), db_i64(clock_now_ms()),
			      db_text(audited(tx, &a, call->args))),
		      NULL, e);
}

/* And the tool message. */
static int end_call(struct tx *tx, str turn_id, const struct turn_row *t, int64_t seq,
		    const struct call *call, struct err *e)
{
	int rc = end_row(tx, call, e);

	if (rc == OK)
		rc = questions_forget(tx, turn_id, str_of(call->id), e);
	return rc == OK ? insert_result(tx, turn_id, t, seq, call, e) : rc;
}

static int load_open(struct open_call *out, struct tx *tx, str turn_id, str id, struct arena *a,
		     struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT " OPEN_COLUMNS " FROM tool_calls "
			  "WHERE id = ?1 AND turn_id = ?2",
			  DB_ARGS(db_text(id), db_text(turn_id)), e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		read_open(out, &r, a);
		return OK;
	}
	return rc < 0 ? rc : tx_refuse(tx, e, E_INVAL, "no call %.*s", STRF(id));
}

int store_call_finish(struct tx *tx, str turn_id, const struct call *call, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct open_call was;
	struct turn_row t;
	int rc = load_open(&was, tx, turn_id, str_of(call->id), &a, e);

	if (rc == OK && !has_result(call->state))
		return tx_refuse(tx, e, E_INVAL, "\"%s\" is no end of a call",
				 call_state_name(call->state));
	if (rc < 0 || has_result(was.call.state))
		return rc;
	rc = turn_row(&t, tx, turn_id, e);
	if (rc == OK && !t.ours)
		return tx_refuse(tx, e, E_CANCELED, "the turn was taken over");
	if (rc < 0)
		return rc;
	/* What the plan says about the call stands; the caller adds how it ended. */
	struct call end = *call;
	end.round = was.call.round;
	end.index = was.call.index;
	end.provider_id = was.call.provider_id;
	end.requested = was.call.requested;
	end.name = was.call.name;
	end.args = was.call.args;
	rc = end_call(tx, turn_id, &t, was.seq, &end, e);
	return rc == OK ? turn_progressed(tx, turn_id, e) : rc;
}

int store_call_live(struct tx *tx, str turn_id, str call_id, bool *live, struct err *e)
{
	struct turn_row t;
	int64_t running = 0;
	int rc = turn_row(&t, tx, turn_id, e);

	if (rc == OK)
		rc = db_number(tx_db(tx),
			       "SELECT count(*) FROM tool_calls WHERE id = ?1 "
			       "AND turn_id = ?2 AND state = 'running'",
			       DB_ARGS(db_text(call_id), db_text(turn_id)), &running, e);
	if (rc == OK)
		*live = t.live && running;
	return rc;
}

/* All calls of a turn that have no result. */
static int list_open(struct open_call **out, size_t *n, struct tx *tx, str turn_id,
		     struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT " OPEN_COLUMNS " FROM tool_calls WHERE turn_id = ?1 "
			  "AND state IN ('planned', 'running') ORDER BY round, idx",
			  DB_ARGS(db_text(turn_id)), e);

	*out = NULL;
	*n = 0;
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		read_open(&(*out)[(*n)++], &r, a);
		rc = OK;
	}
	return rc;
}

static int in_doubt(struct tx *tx, str turn_id, const struct turn_row *t, struct open_call *o,
		    struct err *e)
{
	o->call.state = CALL_IN_DOUBT;
	o->call.result = S(IN_DOUBT_TEXT);
	return end_call(tx, turn_id, t, o->seq, &o->call, e);
}

int calls_close(struct tx *tx, str turn_id, const struct turn_row *t, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct open_call *open;
	size_t n;
	int rc = list_open(&open, &n, tx, turn_id, &a, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		if (open[i].call.state == CALL_RUNNING) {
			rc = in_doubt(tx, turn_id, t, &open[i], e);
			continue;
		}
		open[i].call.state = CALL_CANCELED;
		open[i].call.result = S(CANCELED_TEXT);
		rc = end_call(tx, turn_id, t, open[i].seq, &open[i].call, e);
	}
	return rc;
}

/* alike: the walk is, what becomes of a call is not */
int calls_interrupted(struct tx *tx, str turn_id, const struct turn_row *t, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct open_call *open;
	size_t n;
	int rc = list_open(&open, &n, tx, turn_id, &a, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		if (open[i].call.state != CALL_RUNNING)
			continue;
		/* What it waited for is over; what it came back with stays. */
		rc = questions_void(tx, turn_id, str_of(open[i].call.id), e);
		if (rc < 0)
			break;
		if (!open[i].call.safe)
			rc = in_doubt(tx, turn_id, t, &open[i], e);
		else
			/* started_at_ms stays: it says that it ran before. */
			rc = db_run(tx_db(tx),
				    "UPDATE tool_calls SET state = 'planned', boot_id = '', "
				    "pid = 0, start_time = 0 WHERE id = ?1",
				    DB_ARGS(db_text(str_of(open[i].call.id))), NULL, e);
	}
	return rc;
}

static int count_alone(struct tx *tx, const struct call *call, struct err *e)
{
	bool ran = call->state == CALL_DONE || call->state == CALL_FAILED;

	return ran ? usage_count(tx, USAGE_TOOL_CALL, e) : OK;
}

static int begin_alone(struct tx *tx, const struct call *call, struct err *e)
{
	int rc = insert_row(tx, S(""), S(""), store_owner(tx->s), 0, call, e);

	return rc == OK ? count_alone(tx, call, e) : rc;
}

static int end_alone(struct tx *tx, const struct call *call, struct err *e)
{
	int rc = end_row(tx, call, e);

	return rc == OK ? count_alone(tx, call, e) : rc;
}

int store_call_record(struct store *s, const struct call *call, bool ended,
		      const struct cancel *c, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, s, c, e);

	if (rc == OK)
		rc = ended ? end_alone(&tx, call, e) : begin_alone(&tx, call, e);
	return rc < 0 ? rc : store_commit(&tx, e);
}

int calls_abandoned(struct tx *tx, str owner, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE tool_calls SET state = 'in_doubt', finished_at_ms = ?2 "
		      "WHERE turn_id = '' AND state = 'running' AND owner = ?1",
		      DB_ARGS(db_text(owner), db_i64(clock_now_ms())), NULL, e);
}
