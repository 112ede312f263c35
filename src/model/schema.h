/*
 * model/schema: a JSON Schema in the words that the pickiest endpoints know.  Pure.
 */
#ifndef MODEL_SCHEMA_H
#define MODEL_SCHEMA_H

#include "text/json.h"

/*
 * Write root as an object schema of the OpenAPI 3.0 subset: references within it resolved (what
 * contains itself is repeated once), allOf merged, null as nullable, constants as enums, several
 * types and alternatives as an anyOf that stands alone, arrays with items, nothing else.
 * Alternatives of one object are one with the properties of all, at the top always.  Whatever
 * fits root fits what is written, but for what was too much of it; what cannot be said of a
 * sub-schema (values that are no strings, formats, patterns, …) is put in words behind its
 * description.  The whole schema is for whoever checks the arguments.
 * bare: types, descriptions, enums, items, properties and required only, and of several
 * alternatives or types the first.  Of more than SCHEMA_NODES sub-schemas the rest is left out;
 * what is too deep becomes a string.
 */
#define SCHEMA_NODES 500
void schema_write_plain(struct buf *b, const struct json *root, bool bare);

#endif
