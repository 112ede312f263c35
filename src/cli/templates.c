/*
 * First drafts, short on purpose: they are there to be rewritten by their owner.
 */
#include "cli/templates.h"

const struct seed_file template_persona[] = {
	{ "SOUL.md",
	  "# Who you are\n"
	  "\n"
	  "You are a personal assistant with a steady, friendly manner. You say what you "
	  "know, say\n"
	  "so when you do not, and keep answers as short as the question allows.\n"
	  "\n"
	  "- Answer in the language you are spoken to in.\n"
	  "- Use a tool rather than guess; never claim to have done what you did not do.\n"
	  "- Ask before anything that cannot be undone.\n" },
	{ "USER.md",
	  "# Whom you work for\n"
	  "\n"
	  "<!-- Facts about yourself. What stands here outranks what the agent remembers. "
	  "-->\n"
	  "\n"
	  "- Name:\n"
	  "- Where, and which time zone:\n"
	  "- What matters to me:\n"
	  "- What I do not want:\n" },
	{ "AGENTS.md",
	  "# How you work\n"
	  "\n"
	  "- Plan first when a task takes several steps, then do it step by step.\n"
	  "- Read a file before you change it.\n"
	  "- When a tool fails, say what failed and try one other way at most.\n"
	  "- When there is nothing to say, answer exactly `NO_REPLY`.\n" },
};

const size_t template_persona_n = COUNT(template_persona);

const char template_manifest[] =
	"# The tool servers: programs that speak MCP over standard input and output.\n"
	"# Each server's tools are published as <name>__<tool>. Try one without a model:\n"
	"#   gantry tools list\n"
	"#   gantry tools call files__list_directory '{\"path\": \"/srv/files\"}'\n"
	"\n"
	"# [[server]]\n"
	"# name    = \"files\"\n"
	"# command = \"npx\"\n"
	"# args    = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/srv/files\"]\n"
	"# tools   = [\"read_text_file\", \"list_directory\"]   # only these; default all\n"
	"# exclude = [\"write_*\"]                             # all but these\n"
	"# tools_prefix = \"fs\"                               # instead of the name\n"
	"# timeout = \"600s\"                                  # longest time for one call\n"
	"# env     = { LOG = \"warn\" }                         # added to the environment\n"
	"# inherit_env = false                               # else all but our own secrets\n"
	"# trusted = true                                    # believe its read-only hints\n";

const char template_env[] =
	"# Copy to .env and fill in. `gantry config docs` explains every variable.\n"
	"\n"
	"# The model: any OpenAI-compatible endpoint.\n"
	"LLM_BASE_URL=https://api.openai.com/v1\n"
	"LLM_API_KEY=\n"
	"LLM_MODEL=\n"
	"# A local endpoint without keys:\n"
	"#LLM_NO_KEY=true\n"
	"\n"
	"# stdio is this terminal; telegram needs the token and your numeric user id.\n"
	"CHANNEL=stdio\n"
	"#TELEGRAM_BOT_TOKEN=\n"
	"#TELEGRAM_ALLOWED_USERS=123456789\n"
	"\n"
	"PERSONA_DIR=deploy/persona\n"
	"DATA_DIR=deploy/data\n"
	"MCP_MANIFEST=deploy/mcp.toml\n"
	"\n"
	"#STREAM_REPLIES=true\n"
	"#LOG_LEVEL=info\n"
	"# Built-in tools beyond the servers' ones:\n"
	"#TOOLS=fs\n";
