/*
 * text/link: a link from somebody else, as a person has to see it before it is opened: plain
 * ASCII throughout, so that no letter looks like another one, and its host by itself.  Pure.
 */
#ifndef TEXT_LINK_H
#define TEXT_LINK_H

#include "base/arena.h"
#include "base/err.h"

#define LINK_MAX 2048 /* bytes, as it comes and as it is shown */

struct link_seen {
	str url; /* the host as xn-- where it is not ASCII, other bytes percent-encoded */
	str host; /* lower case, without port */
	bool named; /* the host has letters beyond ASCII: it may look like another one */
	bool plain; /* http: anybody on the way can read along */
	bool login; /* what stands before an @ is no host, and may look like one */
};

/* E_INVAL: no http or https URL with a host, or control characters in it; E_LIMIT too long. */
int link_read(struct link_seen *out, str url, struct arena *a, struct err *e) MUSTUSE;

#endif
