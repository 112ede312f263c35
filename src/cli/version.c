/*
 * What the build stamped in.
 */
#include "cli/cli.h"

const char *const gantry_version = GANTRY_VERSION;
const char *const gantry_commit = GANTRY_COMMIT;
const char *const gantry_date = GANTRY_COMMIT_DATE;
