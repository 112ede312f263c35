/*
 * The approver for places where nobody sits: pipes.
 */
#include "policy/approver.h"

static int deny_all(struct approver *self, const struct approval_ask *ask, bool *yes,
		    const struct cancel *c, struct err *e)
{
	(void)self;
	(void)yes;
	(void)c;
	return err_set(e, E_DENIED, "nobody is here to approve %.*s", STRF(ask->tool));
}

struct approver approver_deny_all = { .ask = deny_all, .decider = "none" };
