/*
 * cli/relay: a command sends what it put into the outbox itself, whether a daemon runs or not.
 */
#ifndef CLI_RELAY_H
#define CLI_RELAY_H

#include "cli/cli.h"
#include "gateway/engine.h"

/* Send all rows of this process to Telegram, for up to two minutes.  E_IO with a sentence:
 * it was refused, or it may or may not have arrived; and what opening the channel can say. */
int relay_send(struct engine *g, struct cli *cli, const struct config *cfg,
	       struct err *e) MUSTUSE;

#endif
