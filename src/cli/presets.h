/*
 * cli/presets: what onboarding offers: endpoints of models, and tool servers.
 */
#ifndef CLI_PRESETS_H
#define CLI_PRESETS_H

#include "base/attr.h"

struct provider {
	const char *name, *title; /* as one types it; as one reads it */
	const char *base_url; /* "": to be told */
	const char *key_env; /* the variable its key is usually in */
	const char *key_page; /* where keys are made; NULL */
	bool keyless; /* wants no key unless told otherwise */
	const char *model; /* offered first when the endpoint has it; NULL: the first one */
	const char *hint; /* when it cannot be reached or has no model; NULL */
};

extern const struct provider providers[];
extern const size_t providers_n;

struct server_preset {
	const char *name, *title;
	const char *command; /* looked for in PATH */
	const char *args[4]; /* "@WORKSPACE" stands for the agent's directory */
};

extern const struct server_preset server_presets[];
extern const size_t server_presets_n;

#endif
