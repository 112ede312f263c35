/*
 * text/entity: &amp; and its like as the text they stand for, and text written with them.
 */
#ifndef TEXT_ENTITY_H
#define TEXT_ENTITY_H

#include "base/buf.h"

/* entity is one whole entity, & and ; included; what is unknown comes back as it is.  The
 * result may be any character, control characters included, but U+0000. */
str text_entity(struct arena *a, str entity);

/* Text as it stands in HTML, also between double quotes. */
void text_escape(struct buf *out, str s);

#endif
