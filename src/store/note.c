/*
 * What later prompts are told of a turn that ran tools but came to no answer, whoever ends it:
 * the process that ran it, or the recovery after that one died.
 */
#include "store/rows.h"

#include "base/buf.h"
#include "text/json.h"
#include "text/text.h"

#define NOTE_MAX 8192
#define ARGS_SHOWN 160

static const char *outcome(enum call_state state)
{
	switch (state) {
	case CALL_DONE:
		return "done";
	case CALL_FAILED:
		return "failed";
	case CALL_DENIED:
		return "not permitted, not run";
	case CALL_CANCELED:
		return "cancelled, may have happened in part";
	case CALL_PLANNED:
		return "not run";
	default:
		return "interrupted, may or may not have happened";
	}
}

/* Did a tool see the call?  The gate keeps what is not permitted and what makes no sense. */
static bool has_run(enum call_state state, str decision)
{
	return state != CALL_PLANNED && state != CALL_DENIED &&
	       !str_eq(decision, S("unknown")) && !str_eq(decision, S("invalid"));
}

static str wire_of(struct arena *a, str text)
{
	struct buf b = buf_in(a, 6 * text.n + 64);

	buf_add(&b, S("{\"role\":\"assistant\""));
	buf_json_member(&b, "content", text);
	buf_addc(&b, '}');
	return buf_str(&b);
}

int store_turn_note(struct tx *tx, str turn_id, const char *why, struct arena *a, str *wire,
		    struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	struct buf b = buf_in(a, NOTE_MAX);
	bool ran = false;
	int rc = db_query(&r, tx_db(tx),
			  "SELECT requested, args, state, decision FROM tool_calls "
			  "WHERE turn_id = ?1 ORDER BY round, idx",
			  DB_ARGS(db_text(turn_id)), e);

	buf_fmt(&b, "[%s. Tool calls made before that:", why);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		enum call_state state = call_state_of(rows_peek(&r, 2));
		ran |= has_run(state, rows_peek(&r, 3));
		if (b.n < NOTE_MAX / 2)
			buf_fmt(&b, "\n- %.*s %.*s: %s", STRF(rows_peek(&r, 0)),
				STRF(text_line(a, rows_peek(&r, 1), ARGS_SHOWN)),
				outcome(state));
		rc = OK;
	}
	if (rc < 0)
		return rc;
	buf_add(&b, S("]"));
	*wire = ran ? wire_of(a, buf_str(&b)) : S("");
	return OK;
}
