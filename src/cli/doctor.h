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
#include "cli/model_list.h"
#include "mcp/host.h"
#include "model/model.h"
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
	bool reachable; /* the model's endpoint answers ... */
	str refused; /* ... and why asking it more is of no use; "" it is */
	bool asked; /* the plain question was asked */
	bool bot; /* the Telegram bot answers */
	struct model_list models; /* which models it has */
	int64_t date_at_ms, date_local_ms; /* its Date, and when that came; 0 none */
	struct model_usage usage; /* of the first answers */
	const struct mcp_catalog *catalog; /* NULL: not known */
	/* Private to doctor.c. */
	const char *row;
	int64_t since_ms;
	bool json, any, failed, said;
};

/* What the row found.  advice: what to do about it, NULL nothing.  Secrets of the configuration
 * are hidden in both. */
void doctor_say(struct doctor *d, enum doctor_status s, const char *advice, const char *fmt,
		...) PRINTF(4, 5);

/* The rows. */
/* doctor_files.c */
void doctor_permissions(struct doctor *d);
void doctor_workspace(struct doctor *d);
void doctor_roots(struct doctor *d);
void doctor_prompts(struct doctor *d);
/* doctor_mcp.c */
void doctor_destructive(struct doctor *d);
void doctor_servers(struct doctor *d);
/* doctor_model.c */
void doctor_answer(struct doctor *d);
void doctor_stream(struct doctor *d);
void doctor_calls(struct doctor *d);
void doctor_usage(struct doctor *d);
void doctor_vision(struct doctor *d);
/* doctor_net.c */
void doctor_network(struct doctor *d);
void doctor_key(struct doctor *d);
void doctor_model(struct doctor *d);
/* doctor_store.c */
void doctor_storage(struct doctor *d);
void doctor_disk(struct doctor *d);
void doctor_sync(struct doctor *d);
void doctor_database(struct doctor *d);
void doctor_integrity(struct doctor *d);
void doctor_memory(struct doctor *d);
void doctor_daemon(struct doctor *d);
/* doctor_telegram.c */
void doctor_token(struct doctor *d);
void doctor_bot(struct doctor *d);
void doctor_webhook(struct doctor *d);
void doctor_allowed(struct doctor *d);
/* doctor_time.c */
void doctor_clock(struct doctor *d);
void doctor_zone(struct doctor *d);
void doctor_schedules(struct doctor *d);
/* doctor_tools.c */
void doctor_cwd(struct doctor *d);
void doctor_shell(struct doctor *d);
void doctor_deny(struct doctor *d);
void doctor_mode(struct doctor *d);
void doctor_sandbox(struct doctor *d);

#endif
