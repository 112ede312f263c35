/*
 * config/render: the option table as text for people.
 */
#ifndef CONFIG_RENDER_H
#define CONFIG_RENDER_H

#include "base/buf.h"
#include "config/config.h"

/* The effective configuration as YAML; secrets only say where they come from. */
void config_show(struct buf *b, const struct config *c);

/* docs/configuration.md */
void config_docs(struct buf *b);

#endif
