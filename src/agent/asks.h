/*
 * agent/asks: what tool servers ask in the midst of calls, and how it is answered.
 *
 * A person is asked where one is: at a terminal by lines (asks_line.c), in a channel with rows by
 * a row that outlives this process (asks_rows.c); elsewhere the question is cancelled.
 */
#ifndef AGENT_ASKS_H
#define AGENT_ASKS_H

#include "agent/run.h"
#include "store/question.h"
#include "text/form.h"

/* As mcp_call.on_question, for a call of the run.  From any thread of it. */
int asks_answer(struct run *r, str call_id, const struct mcp_question *q, struct arena *a,
		struct mcp_answer *out, const struct cancel *c, struct err *e) MUSTUSE;

/* What a link was for was done without anybody's word here: then this is the answer. */
#define ASKS_ACCEPT "{\"action\":\"accept\"}"
static inline bool asks_done(const struct mcp_question *q)
{
	return q->done && *q->done;
}

/* Fill x in, by lines.  OK: x->end says how it ended.  E_TIMEOUT, E_CANCELED, E_DENIED nobody is
 * there (any more). */
int asks_by_line(struct approver *by, const struct form *f, str server, int64_t timeout_ms,
		 struct arena *a, struct form_fill *x, const struct cancel *c,
		 struct err *e) MUSTUSE;

/* By a row that the call waits for.  E_CANCELED, E_TIMEOUT when c ended first: it is void; E_LIMIT
 * the call asked too often. */
struct asks_end {
	str result; /* for the server */
	enum question_state state;
	str by; /* who decided, "" nobody */
};
int asks_by_row(struct run *r, str call_id, const struct mcp_question *asked, struct arena *a,
		struct asks_end *end, const struct cancel *c, struct err *e) MUSTUSE;

/* A running call came back for input: true, it is planned again, and its questions are rows.
 * Else it ends here, with a result. */
bool asks_leave(struct run *r, struct call *call, const struct tool_result *res,
		struct arena *a);

/* What became of the questions of a planned call that had run. */
struct asks_answers {
	bool asked; /* there are any */
	bool waits; /* some are open */
	str state, answers; /* with which it is made again */
};
int asks_resume(struct run *r, const struct call *call, struct arena *a,
		struct asks_answers *out, struct err *e) MUSTUSE;

#endif
