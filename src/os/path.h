/*
 * os/path: what is at a path, without opening it.
 */
#ifndef OS_PATH_H
#define OS_PATH_H

#include "base/arena.h"

enum path_kind { PATH_NONE, PATH_FILE, PATH_DIR, PATH_OTHER };

/* Links are followed; what cannot be looked at counts as PATH_NONE.  mode may be NULL, else
 * it gets the permission bits. */
enum path_kind path_kind(const char *path, unsigned *mode);

/* False when there is surely nothing.  What cannot be looked at is taken to be there, so that
 * whoever opens it hears why not, and nobody begins anew beside it. */
bool path_exists(const char *path);

/* Is something of this name there, if only a link that leads nowhere? */
bool path_taken(const char *path);
bool dir_writable(const char *path); /* files can be made in it */

/* The directory part: "/a/b" gives "/a", "/a" gives "/", "a" gives ".". */
str path_dir(struct arena *a, str path);

/* path, or its nearest parent that exists.  path is absolute. */
str path_existing(struct arena *a, str path);

/* The working directory; "/" when it is gone. */
str path_cwd(struct arena *a);

#endif
