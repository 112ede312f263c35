/*
 * agent/asks: what tool servers ask in the midst of calls, and how it is answered.
 *
 * A person is asked where one is: at a terminal by lines (asks_line.c), in a channel with rows by
 * a row that outlives this process (asks_rows.c); elsewhere the question is cancelled.
 */
#ifndef AGENT_ASKS_H
#define AGENT_ASKS_H

#include "agent/run.h"
#include "text/form.h"

/* As mcp_call.on_question, for a call of the run.  From any thread of it. */
int asks_answer(struct run *r, str call_id, const struct mcp_question *q, struct arena *a,
		struct mcp_answer *out, const struct cancel *c, struct err *e) MUSTUSE;

/* Fill x in, by lines.  OK: x->end says how it ended.  E_TIMEOUT, E_CANCELED, E_DENIED nobody is
 * there (any more). */
int asks_by_line(struct approver *by, const struct form *f, str server, int64_t timeout_ms,
		 struct arena *a, struct form_fill *x, const struct cancel *c,
		 struct err *e) MUSTUSE;

#endif
