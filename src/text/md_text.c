/*
 * Attributes of md4c.  They are not escaped for anything: that is for who shows them.
 */
#include "text/md_text.h"

#include "base/buf.h"
#include "text/entity.h"

str md_entity(struct arena *a, str s)
{
	s = text_entity(a, s);
	return s.n == 1 && (unsigned char)s.p[0] < ' ' ? S(" ") : s;
}

str md_attribute(struct arena *a, const MD_ATTRIBUTE *at, md_entity_fn *entity)
{
	struct buf b = buf_in(a, (size_t)at->size * 6);

	for (size_t i = 0; at->size && at->substr_offsets[i] < at->size; i++) {
		str part = str_sub((str){ at->text, at->size }, at->substr_offsets[i],
				   at->substr_offsets[i + 1]);
		buf_add(&b, at->substr_types[i] == MD_TEXT_ENTITY ? entity(a, part) : part);
	}
	return buf_str(&b);
}
