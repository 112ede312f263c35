/*
 * cli/templates: the texts `gantry init` writes.
 */
#ifndef CLI_TEMPLATES_H
#define CLI_TEMPLATES_H

#include "base/attr.h"

struct seed_file {
	const char *name, *text;
};

extern const struct seed_file template_persona[];
extern const size_t template_persona_n;
extern const char template_manifest[];
extern const char template_env[];

#endif
