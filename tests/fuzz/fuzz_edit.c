/*
 * The line editor without its terminal: any bytes are keys, any keys leave a valid text with
 * the cursor in it, and it can be drawn.
 */
#include "base/utf.h"
#include "cli/edit_text.h"
#include "cli/screen.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct edit_text t = { .a = &a, .max = 300 };
	str in = { (const char *)data, size };

	if (size < 2 || size > 1024)
		return 0;
	struct screen s = { .columns = data[0] % 40u + 1, .rows = data[1] % 10u + 1 };
	in = str_sub(in, 2, in.n);
	while (in.n) {
		struct key_press k;
		size_t n = key_next(in, &k);
		assert(n <= in.n);
		if (n == 0)
			break;
		if (k.key == KEY_TEXT)
			(void)edit_text_insert(&t, k.text);
		else if (k.key == KEY_UP || k.key == KEY_DOWN)
			(void)edit_text_line(&t, k.key == KEY_UP ? -1 : 1);
		else
			(void)edit_text_key(&t, k.key);
		str text = edit_text_str(&t);
		assert(t.n <= t.max && t.cursor <= t.n && utf_valid(text));
		assert(utf_valid(str_sub(text, 0, t.cursor)));
		str drawn = screen_draw(&s, &a, S("> "), text, t.cursor);
		assert(drawn.n > 0 && s.cursor_row < s.rows);
		in = str_sub(in, n, in.n);
	}
	return 0;
}
