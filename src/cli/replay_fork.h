/*
 * cli/replay_fork: gantry replay TURN --model NAME.
 */
#ifndef CLI_REPLAY_FORK_H
#define CLI_REPLAY_FORK_H

#include "cli/cli.h"

/* Ask the turn again, print what was said then and now; exit code.  cfg is changed: its model's
 * name is the one that is asked. */
int replay_fork(struct cli *cli, struct config *cfg, str model, bool json);

#endif
