/*
 * config/yaml: one YAML document as a tree, read strictly.
 *
 * Scalars stay text: what they mean is decided by the option they are for, so `off`, `010`
 * and `-1001234567890` are what was written.  Repeated keys, anchors, aliases, tags and a
 * second document are problems, with the place they stand at.
 *
 * Limits  1 MiB of text, 32 levels, 20000 nodes.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include "base/arena.h"
#include "config/problems.h"

#define YAML_TEXT_MAX (1u << 20)

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml {
	enum yaml_kind kind;
	str text; /* of a scalar; NUL-terminated, holds no NUL */
	bool null; /* nothing, ~ or null, without quotes */
	str key; /* when a member of a map */
	int line, column; /* where it, or its key, begins; from 1 */
	struct yaml *child, *next;
	size_t n;
};

/* The document, or NULL when it cannot be read at all or holds nothing (a problem says
 * why).  Lesser faults are problems too, and the tree is returned without what is wrong. */
struct yaml *yaml_read(struct arena *a, str text, struct problems *p);

const struct yaml *yaml_get(const struct yaml *map, str key);

#endif
