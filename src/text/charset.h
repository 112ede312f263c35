/*
 * text/charset: which character set bytes of the web are in.
 *
 * As browsers do it: a byte order mark decides, then what the server said, then what the
 * document says of itself in its first kilobyte, then a guess.  Names are the web's own, in
 * which latin1 means windows-1252 and gb2312 means gbk.
 */
#ifndef TEXT_CHARSET_H
#define TEXT_CHARSET_H

#include "base/buf.h"

struct charset {
	str label; /* as it was written, "" none was */
	const char *name; /* for iconv; "utf-8", "utf-16le", "utf-16be" and "windows-1252"
			   * need none.  NULL: the label is not known */
	size_t skip; /* bytes of a byte order mark */
	bool guessed; /* nothing said it */
};

/* header: the value of Content-Type.  markup: the document may name its own set. */
void charset_find(struct charset *out, str header, str bytes, bool markup);

/* The bytes as UTF-8, for the four sets that need no iconv; what is no character becomes
 * U+FFFD.  False: another set. */
bool charset_decode(struct arena *a, const char *name, str bytes, str *out);

#endif
