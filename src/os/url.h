/*
 * os/url: http and https URLs taken apart, by the same parser that will connect to them, so
 * that what is checked and what is used cannot differ (numbers for addresses, for example,
 * are normalised: http://0x7f.1/ has the host 127.0.0.1).
 */
#ifndef OS_URL_H
#define OS_URL_H

#include "base/arena.h"
#include "base/err.h"

struct url {
	str text; /* absolute, without a fragment */
	str scheme, host; /* lower case; of IPv6 with its brackets */
	str path; /* encoded, begins with "/" */
	str query; /* encoded, "" none */
	int64_t port; /* the scheme's own when none is given */
	bool tls;
	bool user; /* there is a name or password in it */
};

/* ref on its own (base ""), or as seen from base.  E_INVAL: no URL; a scheme that is
 * neither http nor https (the message names it). */
int url_parse(struct url *out, struct arena *a, str base, str ref, struct err *e) MUSTUSE;

#endif
