/*
 * model/schema: a JSON Schema in the words that the pickiest endpoints know.  Pure.
 */
#ifndef MODEL_SCHEMA_H
#define MODEL_SCHEMA_H

#include "text/json.h"

/*
 * Write root as an object schema of the OpenAPI 3.0 subset: references resolved (to a fixed
 * depth), allOf merged, null as nullable, const as enum, arrays with items, nothing else.
 * bare: types, descriptions, enums, items, properties and required only, and of several
 * alternatives the first.  At most SCHEMA_NODES sub-schemas are written; what is beyond
 * becomes a string.
 */
#define SCHEMA_NODES 2000
void schema_write_plain(struct buf *b, const struct json *root, bool bare);

#endif
