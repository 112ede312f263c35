/*
 * History: a list in memory and a file that is appended to, and written anew when it has
 * grown to twice what is kept.
 */
#include "cli/edit_history.h"

#include "base/buf.h"
#include "base/utf.h"
#include "os/file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_MAX ((size_t)64 << 10)
#define FILE_MAX ((size_t)8 << 20)

static void add_escaped(struct buf *b, str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n')
			buf_add(b, S("\\n"));
		else if (text.p[i] == '\\')
			buf_add(b, S("\\\\"));
		else
			buf_addc(b, text.p[i]);
	}
	buf_addc(b, '\n');
}

static str unescaped(struct arena *a, str line)
{
	char *p = arena_alloc(a, 1, line.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < line.n; i++) {
		char c = line.p[i];
		if (c == '\\' && i + 1 < line.n) {
			c = line.p[++i];
			c = c == 'n' ? '\n' : c;
		}
		p[n++] = c;
	}
	return utf_repair(a, (str){ p, n });
}

/* Into the list; false when it is left out. */
static bool keep(struct edit_history *h, str text)
{
	if (str_trim(text).n == 0 || text.n > ENTRY_MAX ||
	    (h->n && str_eq(h->v[h->n - 1], text)))
		return false;
	if (h->n == HISTORY_MAX) {
		memmove(h->v, h->v + 1, (HISTORY_MAX - 1) * sizeof *h->v);
		h->n--;
	}
	h->v[h->n++] = arena_dup(&h->a, text);
	return true;
}

static void rewrite(const struct edit_history *h)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, FILE_MAX);

	for (size_t i = 0; i < h->n; i++)
		add_escaped(&b, h->v[i]);
	if (!b.full)
		(void)!file_write_atomic(h->path, buf_str(&b), 0600, NULL);
}

void edit_history_open(struct edit_history *h, const char *path)
{
	SCOPED(arena_free) struct arena a = { 0 };
	size_t lines = 0;
	str text;

	*h = (struct edit_history){ .path = path };
	if (!path)
		return;
	int rc = file_read(&text, &a, path, FILE_MAX, NULL);
	if (rc < 0)
		text = S("");
	while (text.n) {
		str line = str_cut(&text, '\n');
		(void)keep(h, unescaped(&a, line));
		lines++;
	}
	if (lines > 2 * HISTORY_MAX || rc == E_LIMIT)
		rewrite(h);
}

void edit_history_close(struct edit_history *h)
{
	arena_free(&h->a);
	h->n = 0;
}

void edit_history_add(struct edit_history *h, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 2 * ENTRY_MAX + 1);

	if (!keep(h, text) || !h->path)
		return;
	add_escaped(&b, text);
	SCOPED(fd_drop)
	int fd = open(h->path,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd >= 0 && !b.full)
		(void)!write(fd, b.p, b.n);
}
