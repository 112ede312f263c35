/*
 * text/entity: &amp; and its like as the text they stand for.
 */
#ifndef TEXT_ENTITY_H
#define TEXT_ENTITY_H

#include "base/arena.h"

/* entity is one whole entity, & and ; included; what is unknown comes back as it is.  The
 * result may be any character, control characters included, but U+0000. */
str text_entity(struct arena *a, str entity);

#endif
