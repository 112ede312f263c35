/*
 * base/version: what was built, for those that have to name it to others.
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

const char *version_text(void); /* "1.2.3" */

#endif
