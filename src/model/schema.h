/*
 * model/schema: a JSON Schema in the words that the pickiest endpoints know.  Pure.
 */
#ifndef MODEL_SCHEMA_H
#define MODEL_SCHEMA_H

#include "text/json.h"

/*
 * Write root as an object schema of the OpenAPI 3.0 subset: references resolved (what
 * contains itself is repeated once), allOf merged, null as nullable, const as enum, arrays
 * with items, nothing else.
 * bare: types, descriptions, enums, items, properties and required only, and of several
 * alternatives the first.  Of more than SCHEMA_NODES sub-schemas the rest is left out; what
 * is too deep becomes a string.
 */
#define SCHEMA_NODES 500
void schema_write_plain(struct buf *b, const struct json *root, bool bare);

#endif
