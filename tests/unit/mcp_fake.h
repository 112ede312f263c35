/*
 * A scripted MCP server for the tests of mcp/: the test program runs itself as
 *
 *	test_mcp_x --mcp-fake [TRICK[=VALUE]]...
 *
 * Tricks: silent, exit=N, noise, flood, early-changed, ask-first, revision=R, page=N,
 * page-loop, read-only, changed=N, no-ping, ignore-eof, die-at=METHOD, crlf, trickle, init-error,
 * stateless (no handshake: 2026-07-28), deaf-to-unknown, dies-of-unknown, no-tools, twice, updates=N (of one resource, after initialized), log=FILE (every line it reads is appended), tools=a,b,c, many=N.
 *
 * Tools: echo{text} fail rpc_error hang seen{} (ids of cancelled calls, with reasons)
 * env big{n} huge{n,tail} progress{n} log{text} die die_once{flag} freeze pid replies raw{result} late
 * ask{message} (of the person; what came back)
 * deaf mute (answer, then close stdin or stdout and stay).
 */
#ifndef TESTS_UNIT_MCP_FAKE_H
#define TESTS_UNIT_MCP_FAKE_H

#define MCP_FAKE "--mcp-fake"

int mcp_fake_main(int argc, char **argv);

/* The path of this program, for the command of a server. */
const char *mcp_fake_self(void);

#endif
