/*
 * tools/gate: what the files of the gate share.
 */
#ifndef TOOLS_GATE_H
#define TOOLS_GATE_H

#include "policy/policy.h"
#include "tools/builtin.h"

/* Lives in its own arena. */
struct tools {
	struct arena arena;
	struct tools_opt opt;
	struct tool_env env;
	struct tool_source builtin;
	struct policy *policy;
	const struct str_list *_Atomic secrets; /* in the arena, as earlier ones are */
};

/* What the policy says to a call whose arguments are an object. */
void tools_judge(const struct tools *t, const struct tool_spec *spec, const struct call *call,
		 struct arena *a, struct policy_decision *out);

/* Would the call still do what its approver was shown (call->shown)? */
bool tools_as_shown(const struct tools *t, const struct tool_spec *spec,
		    const struct call *call, struct arena *a);

#endif
