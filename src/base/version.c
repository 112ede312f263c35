/*
 * The version, in a file of its own, so that a new one rebuilds nothing else.
 */
#include "base/version.h"

const char *version_text(void)
{
	return GANTRY_VERSION;
}
