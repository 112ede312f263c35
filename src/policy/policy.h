/*
 * policy/policy: may this tool be run with these arguments?  Pure: neither files nor clocks
 * nor variables are looked at.
 *
 * A tool: the first rule whose glob matches its name and whose patterns match its arguments
 * decides; none: allow, or what was configured for tools that call themselves destructive.
 *
 * A command line (of a shell tool): deny, then allow, then a person.  Deny rules look at the
 * text and at each command it would run.  Allow rules count when each command is allowed, and
 * nothing of the line becomes known only when it runs.  A rule for the tool can make it
 * stricter, not laxer.  args.cwd, when it is there, is where the line starts.
 *
 * Threads  a policy may be used by many at once.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/arena.h"
#include "base/err.h"
#include "policy/rules.h"

struct json;
struct policy;

struct policy_opt {
	const struct policy_rule *rules;
	size_t rules_n;
	const str *deny, *allow; /* patterns */
	size_t deny_n, allow_n;
	bool builtin; /* the rules that come with the program */
	bool classify; /* a classifier may be asked instead of a person */
	bool foreign; /* the shell is none whose language is known here: nothing is allowed */
	enum policy_verdict destructive;
	const str *roots; /* a line that reads or writes outside of these by redirections, or
			   * goes elsewhere by cd, is asked about; clean and absolute */
	size_t roots_n;
	str cwd, home;
};

/* All of opt is copied.  E_INVAL names the pattern that is none. */
int policy_open(struct policy **out, const struct policy_opt *opt, struct err *e) MUSTUSE;
void policy_close(struct policy *p);

struct policy_call {
	str tool;
	const struct json *args; /* an object */
	bool shell; /* args.command is a command line */
	bool destructive;
};

/* One command of a line, and what is thought of it. */
struct policy_part {
	str command; /* written plainly */
	unsigned depth; /* 0: the line's own; more: run by the one before it */
	enum policy_verdict verdict;
	str rule; /* "" none */
	str reason;
};

struct policy_decision {
	enum policy_verdict verdict;
	str rule; /* that decided, "" none did */
	str reason;
	bool classify; /* ASK: a classifier may be asked instead */
	const struct policy_part *parts; /* of a command line */
	size_t parts_n;
};

/* In a. */
void policy_judge(const struct policy *p, const struct policy_call *call, struct arena *a,
		  struct policy_decision *out);

const char *policy_word(enum policy_verdict v);

#endif
