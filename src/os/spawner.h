/*
 * os/spawner: what proc.c, spawner.c and supervisor.c say to each other.  Internal to os/.
 *
 * A start request goes from the daemon to the spawner with four descriptors: the control
 * socket of the new child, then its stdin, stdout and stderr.  From then on the daemon and
 * the child's supervisor speak over that control socket alone:
 *
 *   daemon to supervisor   a signal number for the child's group; the end of the stream
 *                          (shut down, closed, or the daemon died) kills all descendants
 *   supervisor to daemon   FAILED, or STARTED and then EXITED
 *   spawner to daemon      FAILED or FULL when no supervisor came to be; LOST in place of
 *                          EXITED when the supervisor was killed and its brood is swept up
 *
 * The spawner keeps a copy of each control socket until its supervisor is gone and nothing
 * is left of it, so the daemon never sees the end of the stream earlier than that.
 */
#ifndef OS_SPAWNER_H
#define OS_SPAWNER_H

#include "base/err.h"
#include "os/sandbox.h"

#include <sys/types.h>

#define SPAWNER_CHILDREN 128
#define SPAWNER_TEXT ((size_t)96 * 1024)
#define SPAWNER_STRINGS 4096
#define SPAWNER_FDS 4
#define SPAWNER_TMP 256 /* bytes of the name of a temporary directory */

/* Followed in the message by the strings, each with its NUL: cwd, argv, env; the temporary
 * directory of the sandbox ("" none) and its rules, each a path behind a byte of access. */
struct spawner_request {
	uint32_t argc, envc, rules_n;
	bool confined;
	uint64_t cwd_dev, cwd_ino; /* what cwd has to be; both 0: anything */
	struct sandbox box; /* its pointers count for nothing */
};

struct spawner_message {
	struct spawner_request head;
	char text[SPAWNER_TEXT];
};

/* A checked request, in the memory of the spawner and of the supervisor forked from it. */
struct spawner_plan {
	const struct spawner_request *head;
	char *cwd;
	char *strings[SPAWNER_STRINGS + 2]; /* argv, NULL, env, NULL */
	char **argv, **env;
	struct sandbox_rule rules[SANDBOX_RULES];
	struct sandbox box;
	int ctl, stdio[3];
};

enum spawner_event_type {
	SPAWNER_STARTED, /* value: process id */
	SPAWNER_FAILED, /* value: errno; stage: where */
	SPAWNER_FULL, /* SPAWNER_CHILDREN run already */
	SPAWNER_EXITED, /* value: wait status; stage: 1 when it left processes behind */
	SPAWNER_LOST,
	SPAWNER_GONE, /* never sent: what the daemon reads at the end of the stream */
};

enum spawner_stage { STAGE_SETUP, STAGE_CWD, STAGE_SANDBOX, STAGE_EXEC, STAGE_INTERPRETER };

struct spawner_event {
	int32_t type; /* enum spawner_event_type */
	int32_t stage; /* enum spawner_stage */
	int32_t value;
};

/* The daemon's socket to the spawner; -1 when there is none. */
int spawner_socket(void);

/* Send without blocking.  What cannot be said ends the connection, so that nobody waits for
 * it; a peer that is gone shows when reading. */
void spawner_tell(int sock, int type, int stage, int value);

/* Wipe the request from this process's memory: its environment may hold secrets of the one
 * child it was for.  In the spawner and in the supervisor, once each has forked. */
void spawner_forget(void);

/* Kill our direct children that are not spared (spare NULL: none are).  How many were
 * signalled, dead ones not yet reaped included, or -1 without /proc.  Only direct children:
 * nobody else reaps them, so no process id is taken by a stranger on the way, and those
 * of a killed one are ours as soon as it is dead. */
int supervisor_kill_children(bool (*spare)(pid_t pid));

/* Take descendants over whose parents die.  False: it failed.  An emulator that does not know the
 * call goes without, and only the group of a child can be ended then. */
bool spawner_adopt(void);

/* Run the plan's child, follow it, end what it leaves.  life is at its end when the spawner
 * is gone. */
NORETURN void supervisor_main(const struct spawner_plan *plan, int life);

#endif
