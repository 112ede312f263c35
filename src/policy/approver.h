/*
 * policy/approver: whoever can say yes.  Implementations: deny-all (pipes), the terminal
 * (chan/terminal), the stdio channel, the person behind a host of gantry mcp (cli/serve_person), and
 * the chat's face (cli/face), which makes room on the screen and asks another one.
 */
#ifndef POLICY_APPROVER_H
#define POLICY_APPROVER_H

#include "base/arena.h"
#include "base/err.h"

struct cancel;

struct approval_ask {
	str tool, display, reason; /* display: the arguments, redacted and made visible */
	int64_t timeout_ms;
};

/* text: several lines, the last one without its end; nothing in it controls a terminal. */
struct line_ask {
	str text;
	size_t max;
	int64_t timeout_ms; /* 0: as long as it takes */
};

struct approver {
	/* OK with *yes decided; E_DENIED nobody can answer; E_TIMEOUT; E_CANCELED. */
	int (*ask)(struct approver *self, const struct approval_ask *ask, bool *yes,
		   const struct cancel *c, struct err *e);
	/* Show text and take the next line as its reply, in a and without its end; more than max
	 * bytes are E_LIMIT.  Else as ask().  NULL: nobody can be asked anything here. */
	int (*line)(struct approver *self, const struct line_ask *ask, struct arena *a,
		    str *line, const struct cancel *c, struct err *e);
	const char *decider; /* "terminal", "none": for the audit row */
};

/* Answers E_DENIED at once. */
extern struct approver approver_deny_all;

#endif
