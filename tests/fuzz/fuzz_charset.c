/*
 * Any bytes as a document in any character set: what comes out is valid UTF-8 of bounded
 * size.  The first line is the header.
 */
#include "text/charset.h"

#include <stdlib.h>

#include "base/utf.h"
#include "os/iconv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str body = { (const char *)data, size }, header = str_cut(&body, '\n'), out = { 0 };
	struct charset cs;

	for (int markup = 0; markup < 2; markup++) {
		charset_find(&cs, header, body, markup);
		if (cs.skip > body.n || (!cs.name && !cs.label.n))
			abort();
		str bytes = str_sub(body, cs.skip, body.n);
		if (!cs.name || (!charset_decode(&a, cs.name, bytes, &out) &&
				 iconv_decode(&a, cs.name, bytes, &out, NULL) < 0))
			continue;
		if (!utf_valid(out) || out.n > bytes.n * 4 + 8)
			abort();
	}
	return 0;
}
