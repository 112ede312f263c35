/*
 * Questions of tool servers by their kind.  What cannot be asked, or asked of nobody, is answered
 * at once, with one line in the log.
 */
#include "agent/asks.h"

#include "agent/sampling.h"
#include "mcp/rpc.h"
#include "os/log.h"
#include "text/text.h"

static int refuse(struct mcp_answer *out, int code, str why)
{
	*out = (struct mcp_answer){ .code = code, .message = why };
	return OK;
}

static void log_end(const struct mcp_question *q, const char *end, struct arena *a)
{
	log_info("question.ended", "server=%.*s end=%s", STRF(log_q(a, q->server)), end);
}

static const char *end_word(enum form_end end)
{
	static const char *const words[] = { "open", "accepted", "declined", "cancelled" };

	return words[end];
}

/* At a terminal.  Whoever is not there cancels. */
static int by_line(struct run *r, const struct form *f, const struct mcp_question *q,
		   struct arena *a, struct mcp_answer *out, const struct cancel *c,
		   struct err *e)
{
	struct approver *by = r->io ? r->io->approver : NULL;
	struct form_fill x = { 0 };
	struct err why = { 0 };
	int rc = E_DENIED;

	if (by && by->line) {
		log_info("question.asked", "server=%.*s", STRF(log_q(a, q->server)));
		rc = asks_by_line(by, f, q->server, r->snap->cfg->mcp.question_timeout_ms, a,
				  &x, c, &why);
	}
	if (rc < 0 && asks_done(q)) {
		out->result = S(ASKS_ACCEPT);
		log_end(q, end_word(FORM_ACCEPTED), a);
		return OK;
	}
	if (rc == E_CANCELED || (rc == E_TIMEOUT && cancel_reason(c) != CANCEL_NONE))
		return err_set(e, rc, "%s", why.msg);
	out->result = form_result(f, &x, a);
	log_end(q,
		rc == E_TIMEOUT  ? "expired"
		: rc == E_DENIED ? "nobody_there"
		: rc < 0         ? "failed"
				 : end_word(x.end),
		a);
	return OK;
}

/* In a channel that asks by rows. */
static int by_row(struct run *r, str call_id, const struct mcp_question *q, struct arena *a,
		  struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	struct asks_end end = { 0 };
	struct err why = { 0 };
	int rc = asks_by_row(r, call_id, q, a, &end, c, &why);

	out->result = end.result;
	if (rc == E_LIMIT)
		return refuse(out, MCP_INVALID_PARAMS, arena_dup(a, str_of(why.msg)));
	return rc < 0 ? err_set(e, rc, "%s", why.msg) : OK;
}

static int ask_person(struct run *r, str call_id, const struct mcp_question *q, struct arena *a,
		      struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	struct err why = { 0 };
	struct form f;

	if (form_read(&f, q->params, a, &why) < 0) {
		log_warn("question.refused", "server=%.*s err=%.*s", STRF(log_q(a, q->server)),
			 STRF(log_q(a, str_of(why.msg))));
		return refuse(out, MCP_INVALID_PARAMS, arena_dup(a, str_of(why.msg)));
	}
	if (r->io && r->io->parks)
		return by_row(r, call_id, q, a, out, c, e);
	return by_line(r, &f, q, a, out, c, e);
}

int asks_answer(struct run *r, str call_id, const struct mcp_question *q, struct arena *a,
		struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	*out = (struct mcp_answer){ 0 };
	switch (q->kind) {
	case MCP_ELICIT:
		return ask_person(r, call_id, q, a, out, c, e);
	case MCP_SAMPLE:
		return sampling_answer(r, call_id, q, a, out, c, e);
	case MCP_ROOTS:
		break;
	}
	return refuse(out, MCP_METHOD_NOT_FOUND, S("this is not offered here"));
}
