/*
 * cli/show: how figures and foreign text are shown by the commands that look back.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli/cli.h"
#include "sched/zone.h"

/* Arguments of a tool call with secrets hidden; of a command line the command. */
str show_args(const struct config *cfg, str tool, str args, struct arena *a);

/* Any text out of the database on one line, secrets hidden. */
str show_line(const struct config *cfg, str text, size_t max, struct arena *a);

/* "7 ms", "1.2 s", "2 m 05 s", "3 h 20 m", "2 d 03 h". */
str show_ms(struct arena *a, int64_t ms);

/* "2026-11-30 17:02:14" in a zone; "no such time" before 1970 and after 9999. */
str show_time(const struct zone *z, struct arena *a, int64_t at_ms);

#endif
