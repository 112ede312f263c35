/*
 * cli/doctor: what the rows of `gantry doctor` share.  Internal to doctor*.c.
 *
 * A row is a name and a function that looks and says what it found, once or more.  It may wait
 * under d->c, which ends with the row's time; when that is over, or a person ends the program,
 * it returns, and doctor.c says so.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"
#include "os/http.h"
#include "store/store.h"

enum doctor_status { DOCTOR_OK, DOCTOR_INFO, DOCTOR_SKIP, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor {
	struct cli *cli;
	struct arena *a; /* the command's */
	const struct config *cfg;
	const struct cancel *c; /* of the row that runs */
	bool offline, fix;
	struct http_pool *pool;
	struct store *store; /* for reading; NULL: there is none, or it cannot be read */
	/* What an earlier row found, for those that come after it. */
	bool held; /* a daemon runs */
	bool reachable; /* the model's endpoint answers, and takes the key */
	bool telegram; /* the bot answers */
	/* Private to doctor.c. */
	const char *row;
	int64_t since_ms;
	bool json, any, failed, said;
};

/* What the row found.  advice: what to do about it, NULL nothing.  Secrets of the configuration
 * are hidden in both. */
void doctor_say(struct doctor *d, enum doctor_status s, const char *advice, const char *fmt,
		...) PRINTF(4, 5);

/* The rows, in the files named after them. */
void doctor_workspace(struct doctor *d);

#endif
