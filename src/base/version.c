/*
 * What the build stamped in, in a file of its own, so that a new commit rebuilds nothing else.
 */
#include "base/version.h"

const char *version_text(void)
{
	return GANTRY_VERSION;
}

const char *version_commit(void)
{
	return GANTRY_COMMIT;
}

const char *version_date(void)
{
	return GANTRY_COMMIT_DATE;
}
