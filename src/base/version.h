/*
 * base/version: what was built.  Set by the Makefile, for this file alone.
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

const char *version_text(void); /* "1.2.3" */
const char *version_commit(void); /* twelve hex digits, or "unknown" */
const char *version_date(void); /* of the commit, "2026-11-30", or "unknown" */

#endif
