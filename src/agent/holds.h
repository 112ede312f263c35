/*
 * agent/holds: the tools of a chat in words, and a person's own switching of them (tools.dynamic):
 * /tools, what /status says of them, /brief, /short and /off.
 */
#ifndef AGENT_HOLDS_H
#define AGENT_HOLDS_H

#include "agent/agent.h"
#include "store/tool_hold.h"

/* The tools as they are shown to the model in this chat: n of them with so many tokens of schema,
 * of all there are; with tools.dynamic what is off is in set.off, else there is none. */
struct holds {
	struct toolset set;
	bool dynamic;
	str *on; /* the prefixes that are */
	size_t on_n;
	size_t shown;
	int64_t shown_tokens, all_tokens;
};
int holds_of_chat(struct holds *out, struct agent *ag, str channel, str address,
		  struct arena *a, struct err *e) MUSTUSE;

/* The lines of /status, and the answer to /tools. */
str holds_status(const struct holds *h, struct arena *a);
str holds_list(const struct holds *h, struct arena *a);

/* Switch the prefixes of a text (up to eight, with commas between them) on for this chat, or
 * off; the answer.  What is not known is said, and the others are done. */
str holds_set(struct agent *ag, str channel, str address, str prefixes, enum tool_hold hold,
	      struct arena *a, const struct cancel *c);
str holds_off(struct agent *ag, str channel, str address, str prefixes, struct arena *a,
	      const struct cancel *c);

#endif
