/*
 * cli/server_secrets: which variables and files hold secrets of tool servers.
 */
#ifndef CLI_SERVER_SECRETS_H
#define CLI_SERVER_SECRETS_H

#include "config/load.h"

/* Add to cfg's secrets what the manifest says stands in a variable: tokens, secrets of clients,
 * headers.  So the log and the database hide them, and children that inherit the environment do
 * not get them.  Files of secrets become cfg's secret_files, which sandboxes hide.  A manifest that
 * cannot be read adds none: whoever needs it says why. */
void server_secrets_add(struct config *cfg, const struct env *env);

#endif
