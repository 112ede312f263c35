/*
 * policy/classify: what a classifier is asked about a command, and what its answer is worth.
 * Pure.  It sees the command, the directory and the shell, and nothing of the conversation.
 */
#ifndef POLICY_CLASSIFY_H
#define POLICY_CLASSIFY_H

#include "base/arena.h"

extern const char policy_classify_system[];

str policy_classify_question(struct arena *a, str command, str cwd, str shell);

struct classified {
	bool run; /* false: ask a person */
	str reason;
};

/* Run only for one JSON object (a fence around it is fine) that says risk none or low, and
 * names no kind that is in confirm_on; everything else asks. */
void policy_classify_read(struct classified *out, struct arena *a, str reply,
			  const str *confirm_on, size_t n);

#endif
