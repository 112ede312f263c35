// Two cron libraries and the engine's own time zones, for test_cron.py: lines of JSON in, lines of
// JSON out.  {zone, at: [seconds...]} gives offsets; {expr, zone, from} gives [croner, cron-parser].
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/package.json");
const { Cron } = require("croner");
const { CronExpressionParser } = require("cron-parser");
const formats = new Map();

function offset(zone, at) {
	if (!formats.has(zone))
		formats.set(zone, new Intl.DateTimeFormat("en-US", {
			timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
			hour: "numeric", minute: "numeric", second: "numeric" }));
	const p = {};
	for (const { type, value } of formats.get(zone).formatToParts(new Date(at * 1000)))
		p[type] = Number(value);
	return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) / 1000 - at;
}

function attempt(f) {
	try {
		const at = f();
		return at ? at.getTime() / 1000 : null;
	} catch (e) {
		return String(e.message || e);
	}
}

function answer(q) {
	if (q.at)
		return q.at.map((at) => offset(q.zone, at));
	const from = new Date(q.from * 1000);
	return [attempt(() => new Cron(q.expr, { timezone: q.zone, paused: true }).nextRun(from)),
		attempt(() => CronExpressionParser.parse(q.expr, { tz: q.zone, currentDate: from }).next().toDate())];
}

for await (const line of createInterface({ input: process.stdin }))
	process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
