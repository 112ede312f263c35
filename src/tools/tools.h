/*
 * tools/tools: everything a model can call, from any source, behind one gate.
 *
 * A toolset is frozen for a turn: sorted by name, copied into the turn's arena.  The gate
 * is the only way to run a tool: name repair, policy, approval, limits, time-out; the
 * journal rows around it (one audit row per call) are written by the caller from the
 * struct call that the gate fills in.
 */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include "config/config.h"
#include "os/cancel.h"
#include "policy/approver.h"
#include "store/message.h"
#include "tools/source.h"

struct mcp_host;
struct sandbox;

struct tools_opt {
	struct store *store; /* for tools with effects in it, borrowed; NULL: they fail */
	const struct fs_cfg *fs;
	const struct exec_cfg *exec; /* NULL: no exec, nor without child_env */
	const char *const *child_env; /* whole environment of commands */
	const struct sandbox *box; /* of commands; NULL: none */
	const struct memory_cfg *memory; /* NULL: off */
	const struct web_cfg *web; /* NULL: no web_fetch; else http too */
	const struct http_cfg *http; /* of it the CA file counts; web_fetch uses no proxy */
	bool dynamic; /* tools are off until tools_enable (needs store) */
	str self_path; /* where self_note keeps its notes; "" it is off */
	str self_lock; /* the lock file of whoever changes them; "" none */
	const struct policy_cfg *policy;
	const struct limits_cfg *limits;
	const struct cron_cfg *cron; /* NULL: no schedules */
	const struct watch_cfg *watch; /* NULL: no watches */
	str workspace; /* where the file tools work when fs->roots is empty */
	str home; /* for ~ in paths; "" none */
	/* True when a file is our own database (by device and inode): never opened. */
	bool (*own_file)(void *arg, uint64_t dev, uint64_t ino);
	void *own_arg;
	str own_path; /* of the database: nothing is created at its name or with a suffix */
	const struct tool_source *mcp; /* NULL none */
	struct mcp_host *host; /* the servers behind it; NULL none */
	bool resources; /* of them, for the model */
	/* Was "always" answered for exactly this?  NULL: never.  *changed: it was for this call,
	 * but of the tool as it was then. */
	bool (*granted)(void *arg, str tool, str hash, bool *changed);
	void *granted_arg;
	const str *secrets; /* redacted from what is shown to an approver */
	size_t secrets_n;
};

struct tools;
struct policy;

/* The policy that a gate with these options has; policy_close() is the caller's.  E_INVAL a
 * pattern is none. */
int tools_policy(struct policy **out, const struct tools_opt *opt, struct err *e) MUSTUSE;

/* opt is copied; what it points to is borrowed.  E_IO: this kernel cannot keep the file
 * tools below their roots. */
int tools_open(struct tools **out, const struct tools_opt *opt, struct err *e) MUSTUSE;
void tools_close(struct tools *t);

/* Other secrets are to be kept out of what approvers see; they are copied.  From one thread at a
 * time. */
void tools_hide(struct tools *t, const str *secrets, size_t n);

/* The toolset as of now, in a. */
void tools_snapshot(const struct tools *t, struct arena *a, struct toolset *out);

/* What commands are held to, for people; "" where there is no exec. */
str tools_sandbox_text(const struct tools *t, struct arena *a);

/* Chars/4 over names, descriptions and schemas of what is not off: an estimate. */
int64_t toolset_tokens(const struct toolset *set);

/* Exact name, or an unambiguous mistake repaired (case, - for _, a missing or invented
 * prefix); else NULL and *hint names the nearest real tools, for the model. */
const struct tool_spec *toolset_find(const struct toolset *set, str name, struct arena *a,
				     str *hint);

/* The gate, part one, for one call of the model's: resolve call->requested, check that
 * call->args is a JSON object ("" and null become {}, what is none becomes {} beside the
 * error) and for a server's tool that it fits its schema (nulls for what may be left out are
 * taken out of it first), decide by policy and by what was granted for good.  Fills call->name, args, safe,
 * decision (allow, ask, granted, deny, unknown, invalid, off), rule, decider and state: PLANNED (must ask first), RUNNING (go), or
 * DENIED/FAILED with a result; then NULL is returned. */
const struct tool_spec *tools_admit(const struct tools *t, const struct toolset *set,
				    struct call *call, struct arena *a);

/* The same for a server that asks our model (call->name: sampling/SERVER): denied by a rule, asked
 * about where a rule or the manifest (ask) says so, else RUNNING. */
void tools_admit_sampling(const struct tools *t, bool ask, struct call *call, struct arena *a);

/* Why a PLANNED call is asked about, and whether a classifier may be: sets reason and classify,
 * which rows do not keep. */
void tools_explain(const struct tools *t, const struct tool_spec *spec, struct call *call,
		   struct arena *a);

/* Part two: ask, for a PLANNED call.  Afterwards it is RUNNING (decision approved) or DENIED
 * with a result (denied, expired, unanswered, too long).  When c ended first: its code
 * (E_CANCELED, E_TIMEOUT), and the call stays PLANNED. */
int tools_ask(const struct tools *t, const struct tool_spec *spec, struct call *call,
	      struct approver *by, struct arena *a, const struct cancel *c,
	      struct err *e) MUSTUSE;

/* Part two where asking outlives the process: what to show of a PLANNED call, for rows.  False:
 * the display is longer than max bytes, and the call is DENIED with a result. */
bool tools_question(const struct tools *t, const struct tool_spec *spec, struct call *call,
		    size_t max, struct arena *a, struct approval_ask *ask);

/* What an answer is bound to: a hash over tool, arguments and the directory it
 * works in: of a command line where commands start, else the workspace; for a server's tool
 * with "-" and the print of the tool as the server describes it now behind it. */
str tools_hash(const struct tools *t, const struct tool_spec *spec, const struct call *call,
	       struct arena *a);

/* A no, or no answer in time: DENIED with a result for the model. */
void tools_refuse(struct call *call, bool expired, str decider, struct arena *a);

/* Part three: run a RUNNING call under its limits; one that would do something else by now than
 * its approver was shown (call->shown) is not run, and FAILED.  Fills result (valid UTF-8, never blank,
 * cut to the limit), state DONE or FAILED, figures.  When c ended first: its code
 * (E_CANCELED, E_TIMEOUT), and *call is CANCELED with a result text that says whether it may
 * have happened.  A tool that finished all the same is OK.  For a call that is journaled:
 * when r->effect is set afterwards, tools_effect() is due; with r->asks_n (only where ctx->parks)
 * it is PLANNED, and to be made again when those are answered. */
int tools_run_journaled(const struct tools *t, const struct tool_spec *spec, struct call *call,
			const struct tool_ctx *ctx, struct arena *a, struct tool_result *r,
			const struct cancel *c, struct err *e) MUSTUSE;

/* Part four, inside the transaction that journals the result: carry out r's effect and put
 * what came of it into *call.  A code other than OK: the transaction is to be rolled back, and
 * *call is as it was. */
int tools_effect(const struct tools *t, const struct tool_spec *spec, struct call *call,
		 const struct tool_result *r, struct tx *tx, struct arena *a,
		 struct err *e) MUSTUSE;

/* The effect was not carried out: FAILED, or CANCELED when why is "", with a result that says
 * so. */
void tools_no_effect(struct call *call, const char *why, struct arena *a);

/* Parts three and four for a call that is in no journal: its effect is a commit of its own. */
int tools_run(const struct tools *t, const struct tool_spec *spec, struct call *call,
	      const struct tool_ctx *ctx, struct arena *a, const struct cancel *c,
	      struct err *e) MUSTUSE;

#endif
