// A host made of the official TypeScript SDK: mcp_host.mjs RIG VERSION MODE COMMAND ARGS...
// VERSION is v1 or v2 of the SDK, MODE what v2 does at the beginning (legacy, auto, 2026-07-28).
// It asks what the test wants, and prints one JSON object of what it saw.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [rig, version, mode, command, ...args] = process.argv.slice(2);
const need = createRequire(rig + "/package.json");
const load = (name) => import(pathToFileURL(need.resolve(name)).href);
const env = { ...process.env };
const info = { name: "ts " + version, version: "1.0" };
const options = { capabilities: { elicitation: {} } };
const seen = { questions: [], progress: [] };

const answer = (request) => {
	seen.questions.push(request.params.message);
	return { action: "accept", content: { approve: true } };
};

async function connect() {
	if (version === "v1") {
		const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
		const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
		const { ElicitRequestSchema } = await load("@modelcontextprotocol/sdk/types.js");
		const client = new Client(info, options);
		client.setRequestHandler(ElicitRequestSchema, answer);
		await client.connect(new StdioClientTransport({ command, args, env, stderr: "inherit" }));
		return client;
	}
	const { Client } = await load("@modelcontextprotocol/client");
	const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
	const versionNegotiation = { mode: mode === "auto" || mode === "legacy" ? mode : { pin: mode } };
	const client = new Client(info, { ...options, versionNegotiation });
	client.setRequestHandler("elicitation/create", answer);
	await client.connect(new StdioClientTransport({ command, args, env, stderr: "inherit" }));
	seen.era = client.getProtocolEra();
	return client;
}

const client = await connect();
const call = (name, args_, more) => version === "v1"
	? client.callTool({ name, arguments: args_ }, undefined, more)
	: client.callTool({ name, arguments: args_ }, more);

seen.server = client.getServerVersion();
seen.tools = (await client.listTools()).tools.map((t) => t.name);
seen.answer = await call("ask", { text: "run echo" }, { onprogress: (p) => seen.progress.push(p) });
seen.stored = await call("memory_store", { kind: "fact", subject: "sdk", content: "The SDK was here." });
seen.recalled = await call("memory_recall", { query: "sdk" });
const stop = new AbortController();
const hung = call("ask", { text: "hang" }, { signal: stop.signal, onprogress: () => stop.abort("enough") });
seen.cancelled = await hung.then(() => "answered", (e) => String(e.message ?? e));
seen.after = await call("ask", { text: "still there?" });
seen.bad = await call("no-such-tool", {}).then((r) => "answered", (e) => e.code);
await client.close();
console.log(JSON.stringify(seen));
