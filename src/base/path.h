/*
 * base/path: names of files as text.  Nothing here looks at a file system, so what a name
 * means when links are in the way is not decided here.
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/arena.h"
#include "base/err.h"

/* The absolute name that path stands for: a leading ~ or ~/ is home, a relative path is below
 * base, then . and .. and repeated slashes are taken out.  E_INVAL: empty, holds a NUL, is
 * longer than 4095 bytes, ~ without a home, ~name.  *out is NUL-terminated. */
int path_absolute(str *out, struct arena *a, str path, str home, str base,
		  struct err *e) MUSTUSE;

/* Is path, clean and absolute, root or below it?  *rel is then what is left, "." for root
 * itself.  root is clean and absolute too. */
bool path_below(str root, str path, str *rel);

#endif
