/*
 * base/version: what was built, for those that have to name it.
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

const char *version_text(void); /* "1.2.3" */
const char *version_commit(void); /* abbreviated hash, or "unknown" */
const char *version_date(void); /* of that commit, "2026-11-30", or "unknown" */

#endif
