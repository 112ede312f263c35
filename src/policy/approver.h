/*
 * policy/approver: whoever can say yes.  Implementations: deny-all (pipes), the terminal, and
 * the stdio channel.
 */
#ifndef POLICY_APPROVER_H
#define POLICY_APPROVER_H

#include "base/err.h"
#include "base/str.h"

struct cancel;

struct approval_ask {
	str tool, display, reason; /* display: the arguments, redacted and made visible */
	int64_t timeout_ms;
};

struct approver {
	/* OK with *yes decided; E_DENIED nobody can answer; E_TIMEOUT; E_CANCELED. */
	int (*ask)(struct approver *self, const struct approval_ask *ask, bool *yes,
		   const struct cancel *c, struct err *e);
	const char *decider; /* "terminal", "none": for the audit row */
};

/* Answers E_DENIED at once. */
extern struct approver approver_deny_all;

#endif
