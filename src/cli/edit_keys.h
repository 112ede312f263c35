/*
 * cli/edit_keys: the bytes that a terminal sends, as keys.
 */
#ifndef CLI_EDIT_KEYS_H
#define CLI_EDIT_KEYS_H

#include "base/str.h"

enum key {
	KEY_NONE, /* understood as nothing: unknown sequences, bad bytes */
	KEY_TEXT, /* one character, in .text */
	KEY_ENTER,
	KEY_NEWLINE, /* Alt-Enter */
	KEY_LEFT,
	KEY_RIGHT,
	KEY_UP,
	KEY_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_WORD_LEFT,
	KEY_WORD_RIGHT,
	KEY_BACKSPACE,
	KEY_DELETE,
	KEY_DELETE_OR_END, /* Ctrl-D */
	KEY_KILL_TO_END,
	KEY_KILL_TO_START,
	KEY_KILL_WORD,
	KEY_KILL_WORD_RIGHT,
	KEY_YANK,
	KEY_CLEAR,
	KEY_INTERRUPT,
	KEY_PASTE_BEGIN,
	KEY_PASTE_END,
};

struct key_press {
	enum key key;
	str text; /* of KEY_TEXT, in the input */
};

/* The first key in s; how many bytes it took, 0 when its end has not come yet. */
size_t key_next(str s, struct key_press *out);

/* Within a paste: how many bytes of s belong to it for certain.  *end: then its end follows,
 * KEY_PASTE_END_BYTES long. */
#define KEY_PASTE_END_BYTES 6
size_t key_paste(str s, bool *end);

#endif
