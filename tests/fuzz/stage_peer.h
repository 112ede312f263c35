/*
 * tests/fuzz/stage_peer: a tool server on the stage, behind pipes or a URL, in either era.  It
 * answers what it is asked when and as the fuzzer's bytes want it: well, twice, to somebody else,
 * with an error, with nonsense, or never; it asks back, floods, hangs and dies.
 *
 * An answer to tools/call says the id of the request it is for ("for-<id>."), and what it was
 * called with is noted: so a caller can see whose answer it was given.
 */
#ifndef FUZZ_STAGE_PEER_H
#define FUZZ_STAGE_PEER_H

#include "stage.h"

#define PEER_URL "http://mcp.test/mcp"
#define PEER_IDS 256

enum { PEER_PIPE, PEER_WEB, PEERS };

struct peer_note {
	int64_t id, call; /* of a request, and the number its caller gave it */
	int life;
	bool again; /* it may be made once more */
};

struct peer {
	int life; /* counts entries of the manifest that it was: ids begin anew */
	unsigned manner; /* how it begins: which era, which revision, how it lists */
	struct peer_note notes[PEER_IDS];
	size_t notes_n;
};

extern struct peer peers[PEERS];

void peer_begin(void);
void peer_end(void);
/* Take in what was written to the child since the last time. */
void peer_read(void);
/* One of them does something. */
void peer_act(void);
/* Both answer all that is open, as they should. */
void peer_behave(void);

#endif
