/*
 * Names of files as text: making them absolute and clean, and comparing them.
 */
#include "base/path.h"

#include "base/buf.h"

#include <string.h>

#define NAME_MAX_BYTES 4095

/* Add the components of path to b, which holds "" or "/a/b". */
static void add_clean(struct buf *b, str path)
{
	while (path.n) {
		str part = str_cut(&path, '/');
		if (part.n == 0 || str_eq(part, S(".")))
			continue;
		if (!str_eq(part, S(".."))) {
			buf_addc(b, '/');
			buf_add(b, part);
			continue;
		}
		while (b->n && b->p[b->n - 1] != '/')
			b->n--;
		b->n -= b->n > 0;
	}
}

int path_absolute(str *out, struct arena *a, str path, str home, str base, struct err *e)
{
	struct buf b = buf_in(a, (size_t)3 * NAME_MAX_BYTES);
	bool tilde = path.n && path.p[0] == '~';

	if (path.n == 0)
		return err_set(e, E_INVAL, "the path is empty");
	if (memchr(path.p, '\0', path.n))
		return err_set(e, E_INVAL, "the path holds a NUL byte");
	if (tilde && path.n > 1 && path.p[1] != '/')
		return err_set(e, E_INVAL, "only ~ and ~/ are understood, not ~name");
	if (tilde && home.n == 0)
		return err_set(e, E_INVAL, "there is no home directory for ~");
	if (tilde)
		add_clean(&b, home);
	else if (path.p[0] != '/')
		add_clean(&b, base);
	add_clean(&b, str_sub(path, tilde, path.n));
	if (b.full || b.n > NAME_MAX_BYTES)
		return err_set(e, E_INVAL, "the path is longer than %d bytes", NAME_MAX_BYTES);
	if (b.n == 0)
		buf_addc(&b, '/');
	*out = buf_str(&b);
	return OK;
}

bool path_below(str root, str path, str *rel)
{
	if (str_eq(root, path)) {
		*rel = S(".");
		return true;
	}
	if (root.n == 0 || !str_starts(path, root))
		return false;
	size_t from = root.n;
	if (root.p[root.n - 1] != '/' && path.p[from++] != '/')
		return false;
	*rel = str_sub(path, from, path.n);
	return true;
}
