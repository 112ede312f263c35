// The official TypeScript SDK's client against a server: mcp_bench.mjs RIG SERVER_BINARY|URL CALLS
// Prints what tests/bench/bench_mcp prints of ours.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [rig, where, count] = process.argv.slice(2);
const need = createRequire(rig + "/package.json");
const load = (name) => import(pathToFileURL(need.resolve(name)).href);
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
const AT_ONCE = 8;
const n = Number(count);
const http = where.startsWith("http://");
const way = http ? "http_" : "";
const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: "legacy" } });
await client.connect(http ? new StreamableHTTPClientTransport(new URL(where)) : new StdioClientTransport({ command: where }));

async function call() {
	const r = await client.callTool({ name: "echo", arguments: { text: "hello" } });
	if (r.content[0].text !== "hello")
		throw new Error("the echo was " + JSON.stringify(r));
}

const us = [];
let began = process.hrtime.bigint();
for (let i = 0; i < n; i++) {
	const then = process.hrtime.bigint();
	await call();
	us.push(Number(process.hrtime.bigint() - then) / 1e6);
}
const all = Number(process.hrtime.bigint() - began) / 1e9;
us.sort((a, b) => a - b);
began = process.hrtime.bigint();
const each = Math.floor(n / AT_ONCE);
await Promise.all(Array.from({ length: AT_ONCE }, async () => { for (let i = 0; i < each; i++) await call(); }));
const rate = each * AT_ONCE / (Number(process.hrtime.bigint() - began) / 1e9);
console.log(`mcp_${way}call_p50 ${us[Math.floor(n / 2)].toFixed(3)} ms`);
console.log(`mcp_${way}call_p99 ${us[Math.floor(n * 99 / 100)].toFixed(3)} ms`);
console.log(`mcp_${way}calls,_one_after_the_other ${(n / all).toFixed(0)} / s`);
console.log(`mcp_${way}calls,_${AT_ONCE}_at_once ${rate.toFixed(0)} / s`);
await client.close();
process.exit(0);
