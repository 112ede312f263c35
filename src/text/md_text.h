/*
 * text/md_text: what md4c hands over in parts, as text.
 */
#ifndef TEXT_MD_TEXT_H
#define TEXT_MD_TEXT_H

#include "base/arena.h"

#include <md4c.h>

/* An entity as the text it stands for; a control character is a blank. */
str md_entity(struct arena *a, str s);

/* An attribute (the target of a link, the language of a block), its entities read so. */
typedef str md_entity_fn(struct arena *a, str s);
str md_attribute(struct arena *a, const MD_ATTRIBUTE *at, md_entity_fn *entity);

#endif
