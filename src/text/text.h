/*
 * text/text: small pure transformations used all over: cutting tool results, estimating
 * tokens, making text safe to show, hiding secrets, recognising what the user typed.
 */
#ifndef TEXT_TEXT_H
#define TEXT_TEXT_H

#include "base/buf.h"

/* Estimated tokens: ASCII bytes / 4, other scripts about one per character (CJK) or one
 * per two bytes; rounded up.  Always an estimate; label it so wherever it is shown. */
int64_t text_tokens(str s);

/* s when it has at most max characters, else its head and its tail around a line that
 * says how many characters were left out; the result has at most max characters and cuts
 * none.  max 0 means no limit; below 64 there is no room for the line and only the head
 * stays. */
str text_cut(struct arena *a, str s, size_t max);

/* Control characters made visible: C0 but \n and \t, DEL, C1 and bytes that are no UTF-8 as
 * \xNN; bidi overrides and isolates (U+202A to 202E, U+2066 to 2069) as \uNNNN.  one_line:
 * \n and \t too. */
str text_visible(struct arena *a, str s, bool one_line);

/* One line of at most max characters: white space folded, visible, cut with "…". */
str text_line(struct arena *a, str s, size_t max);

/* Secrets by shape (bearer tokens, key=value, URL passwords, sk-… and the like) become
 * [REDACTED]; the structure of a shell line stays visible: as many quotes, blanks and
 * characters of ;|&$()<>` as before.  Doing it again changes nothing. */
str text_redact(struct arena *a, str s);

/* Our own secrets by value: each listed value of at least 6 bytes, also percent-encoded,
 * becomes [REDACTED]. */
str text_redact_values(struct arena *a, str s, const str *values, size_t n);

/* Both, in each text of a JSON value (the arguments of a tool call); a member called like a
 * secret is hidden whole.  args itself when there is nothing to hide; what is no JSON is
 * taken as text. */
str text_redact_args(struct arena *a, str args, const str *values, size_t n);

/* Does the message begin with a slash word: "/new", "/New@MyBot" (when bot is that name in
 * any case, or empty)?  *word is the lower-cased name without slash and bot, *args what
 * follows it ("" nothing).  Whether that word may have arguments is the command table's
 * business: "/new please" is no command where it may not. */
bool text_slash(struct arena *a, str message, str bot, str *word, str *args);

/* The reply asks for silence: trimmed text equal to NO_REPLY, or a first line equal to
 * [silent] in any case. */
bool text_silent(str reply);
/* Could a reply that begins like this still become one, or is it one?  True of an empty one. */
bool text_silent_so_far(str begun);

/* A leading <think>, <thinking>, <thought> or <reasoning> block, or a stray leading closing
 * tag: *reasoning gets it, the rest is returned.  Text that merely mentions a tag is left alone. */
str text_strip_think(str s, str *reasoning);

#endif
