/*
 * From bytes to keys.  Pure.  Of the many sequences there are it knows those of terminals
 * in use; others are taken whole and mean nothing.
 */
#include "cli/edit_keys.h"

#include "base/utf.h"

#include <string.h>

#define SEQUENCE_MAX 64 /* longer is none */

static enum key control_key(unsigned char c)
{
	static const enum key keys[32] = {
		[1] = KEY_HOME,         [2] = KEY_LEFT,
		[3] = KEY_INTERRUPT,    [4] = KEY_DELETE_OR_END,
		[5] = KEY_END,          [6] = KEY_RIGHT,
		[8] = KEY_BACKSPACE,    ['\n'] = KEY_ENTER,
		[11] = KEY_KILL_TO_END, [12] = KEY_CLEAR,
		['\r'] = KEY_ENTER,     [14] = KEY_DOWN,
		[16] = KEY_UP,          [21] = KEY_KILL_TO_START,
		[23] = KEY_KILL_WORD,   [25] = KEY_YANK,
	};

	return c == 127 ? KEY_BACKSPACE : keys[c];
}

static enum key letter_key(char c, bool modified)
{
	switch (c) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return modified ? KEY_WORD_RIGHT : KEY_RIGHT;
	case 'D':
		return modified ? KEY_WORD_LEFT : KEY_LEFT;
	case 'F':
		return KEY_END;
	case 'H':
		return KEY_HOME;
	default:
		return KEY_NONE;
	}
}

static enum key number_key(str parameter)
{
	static const struct {
		str number;
		enum key key;
	} keys[] = {
		{ S("1"), KEY_HOME },        { S("3"), KEY_DELETE },
		{ S("4"), KEY_END },         { S("7"), KEY_HOME },
		{ S("8"), KEY_END },         { S("200"), KEY_PASTE_BEGIN },
		{ S("201"), KEY_PASTE_END },
	};

	for (size_t i = 0; i < COUNT(keys); i++)
		if (str_eq(parameter, keys[i].number))
			return keys[i].key;
	return KEY_NONE;
}

/* ESC [ parameters final */
static size_t csi(str s, struct key_press *out)
{
	size_t i = 2;

	while (i < s.n && s.p[i] >= 0x20 && s.p[i] < 0x40)
		i++;
	if (i >= s.n)
		return i < SEQUENCE_MAX ? 0 : i;
	str rest = str_sub(s, 2, i), first = str_cut(&rest, ';');
	if (s.p[i] == '~')
		out->key = number_key(first);
	else
		out->key = letter_key(s.p[i], rest.n > 0);
	/* A control character cannot end a sequence: it is a key of its own. */
	return (unsigned char)s.p[i] < 0x20 ? i : i + 1;
}

static size_t escape(str s, struct key_press *out)
{
	if (s.n < 2)
		return 0;
	switch (s.p[1]) {
	case '[':
		return csi(s, out);
	case 'O':
		if (s.n < 3)
			return 0;
		out->key = letter_key(s.p[2], false);
		return 3;
	case '\r':
	case '\n':
		out->key = KEY_NEWLINE;
		return 2;
	case 'b':
		out->key = KEY_WORD_LEFT;
		return 2;
	case 'f':
		out->key = KEY_WORD_RIGHT;
		return 2;
	case 'd':
		out->key = KEY_KILL_WORD_RIGHT;
		return 2;
	case 127:
	case 8:
		out->key = KEY_KILL_WORD;
		return 2;
	case '\x1b':
		return 1;
	default:
		return 2;
	}
}

size_t key_next(str s, struct key_press *out)
{
	size_t len;

	*out = (struct key_press){ .key = KEY_NONE };
	if (s.n == 0)
		return 0;
	unsigned char c = (unsigned char)s.p[0];
	if (c == '\x1b')
		return escape(s, out);
	if (c < 0x20 || c == 127) {
		out->key = control_key(c);
		return 1;
	}
	if (s.n < 4 && utf_whole(s).n == 0)
		return 0;
	uint32_t cp = utf_next(s, &len);
	str text = str_sub(s, 0, len);
	if (utf_valid(text) && !(cp >= 0x80 && cp < 0xa0)) {
		out->key = KEY_TEXT;
		out->text = text;
	}
	return len;
}

size_t key_paste(str s, bool *end)
{
	static const str mark = { "\x1b[201~", KEY_PASTE_END_BYTES };
	size_t at = str_find(s, mark);

	*end = at != SIZE_MAX;
	if (*end)
		return at;
	/* What may be the beginning of the mark waits for the rest. */
	for (size_t n = mark.n - 1; n > 0; n--)
		if (str_ends(s, str_sub(mark, 0, n)))
			return s.n - n;
	return s.n;
}
