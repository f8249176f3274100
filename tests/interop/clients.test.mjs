// clients.test.mjs - programs people use, in front of the gateway: over stdio and over HTTP (issue 5).
//
// Each runs in a home of its own, with next to no environment, and without logging in anywhere.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { FIXTURE, MODULES, NODE, PROGRAM, beside, finished, installed, missing, oldNode, runTests, until } from "../lib.mjs";

const CLAUDE = path.join(MODULES, "@anthropic-ai", "claude-code-linux-x64", "claude");
const OPENCODE = path.join(MODULES, "opencode-linux-x64-baseline", "bin", "opencode");
const CODEX = path.join(MODULES, "@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex");
const INSPECTOR = path.join(MODULES, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js");
const META_TOOLS = ["tool_browse", "tool_execute", "tool_view"];

// The gateway with a server behind it, and how it is reached: both ways, the second with its token.
async function gateway(box) {
	const fixture = { command: NODE ?? process.execPath, args: [path.join(FIXTURE, "server.mjs"), "stdio"], trust: true };
	const config = box.config({ mcpServers: { fixture }, workspace: box.workspace, tool_confirmation: { default: { NETWORK: "auto" } } });
	const { url, token } = await box.serve("--config", config);
	await box.server("fixture", "started");
	return { command: PROGRAM, args: ["mcp", "--workspace", box.workspace], env: box.env, url: `${url}/mcp`, authorization: `Bearer ${token}` };
}

// What a client's child sees of our own environment, and what keeps it from calling home.
const bare = (box) => ({ HOME: box.env.HOME, PATH: process.env.PATH, TERM: "dumb", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
	DISABLE_AUTOUPDATER: "1", OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1" });

function inHome(box, name, text) {
	const file = path.join(box.env.HOME, name);
	fs.mkdirSync(path.dirname(file), { recursive: true });
	fs.writeFileSync(file, text);
}

const plain = (text) => text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "");

const toml = (value) => JSON.stringify(value);
const tomlTable = (entries) => `{ ${Object.entries(entries).map(([key, value]) => `${toml(key)} = ${toml(value)}`).join(", ")} }`;

// Codex as its editors run it: requests on a line each, and the answer to the last.
async function codexStatus(box) {
	const codex = beside(CODEX, ["app-server"], { cwd: box.workspace, env: bare(box) });
	const send = (message) => codex.child.stdin.write(`${JSON.stringify(message)}\n`);
	const answer = (id) => codex.out().split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"))
		.map((line) => JSON.parse(line)).find((message) => message.id === id && ("result" in message || "error" in message));
	try {
		send({ id: 0, method: "initialize", params: { clientInfo: { name: "interop", version: "1.0.0" } } });
		await until(() => answer(0), "Codex is there");
		send({ method: "initialized" });
		send({ id: 1, method: "mcpServerStatus/list", params: {} });
		return (await until(() => answer(1), "Codex tells its servers", 40)).result;
	} finally {
		await codex.end();
	}
}

const CLIENTS = [
	["Claude Code connects", CLAUDE, "@anthropic-ai/claude-code-linux-x64", async (box, { command, args, env, url, authorization }) => {
		inHome(box, ".claude.json", JSON.stringify({ mcpServers: {
			stdio: { type: "stdio", command, args, env }, http: { type: "http", url, headers: { Authorization: authorization } },
			denied: { type: "http", url, headers: { Authorization: "Bearer no" } } } }));
		const done = await finished(CLAUDE, ["mcp", "list"], { cwd: box.workspace, env: bare(box) });
		assert.equal(done.code, 0, done.stdout + done.stderr);
		assert.match(done.stdout, /^stdio: .*✔ Connected$/m);
		assert.match(done.stdout, /^http: .*✔ Connected$/m);
		assert.doesNotMatch(done.stdout, /^denied: .*✔ Connected$/m);
	}],
	["opencode connects", OPENCODE, "opencode-linux-x64-baseline", async (box, { command, args, env, url, authorization }) => {
		inHome(box, ".config/opencode/opencode.json", JSON.stringify({ autoupdate: false, mcp: {
			stdio: { type: "local", command: [command, ...args], environment: env, enabled: true },
			http: { type: "remote", url, headers: { Authorization: authorization }, oauth: false } } }));
		const done = await finished(OPENCODE, ["mcp", "list"], { cwd: box.workspace, env: bare(box) });
		assert.equal(done.code, 0, done.stdout + done.stderr);
		for (const name of ["stdio", "http"]) assert.match(plain(done.stdout + done.stderr), new RegExp(`✓ ${name} connected`));
	}],
	["Codex connects and sees the three tools", CODEX, "@openai/codex-linux-x64", async (box, { command, args, env, url, authorization }) => {
		inHome(box, ".codex/config.toml", `[mcp_servers.stdio]\ncommand = ${toml(command)}\nargs = ${toml(args)}\nenv = ${tomlTable(env)}\n`
			+ `[mcp_servers.http]\nurl = ${toml(url)}\nhttp_headers = ${tomlTable({ Authorization: authorization })}\n`);
		const { data } = await codexStatus(box);
		assert.deepEqual(data.map((server) => server.name).sort(), ["http", "stdio"]);
		for (const server of data) {
			assert.equal(server.serverInfo?.name, "holdfast", JSON.stringify(server));
			assert.deepEqual(Object.keys(server.tools).sort(), META_TOOLS);
		}
	}],
].map(([name, program, from, test]) => [name, async (box) => test(box, await gateway(box)), () => !fs.existsSync(program) && `${from} is not installed`]);

// The Inspector gives its servers next to no environment, so it is set by env.
async function inspect(box, { over, era, surface = "gateway" }, front, ...options) {
	const set = Object.entries(box.env).map(([name, value]) => `${name}=${value}`);
	const target = over === "stdio" ? ["env", ...set, front.command, ...front.args, "--surface", surface]
		: [surface === "gateway" ? front.url : `${front.url}/${surface}`, "--transport", "http", "--header", `Authorization: ${front.authorization}`];
	const done = await finished(NODE, [INSPECTOR, "--cli", ...target, "--protocol-era", era, ...options, "--format", "json", "-q"],
		{ cwd: box.workspace, env: { ...box.env, MCP_AUTO_OPEN_ENABLED: "false" } });
	return { ...done, result: () => (assert.equal(done.code, 0, done.stdout + done.stderr), JSON.parse(done.stdout).result) };
}

const VERSION = { modern: "2026-07-28", legacy: "2025-11-25" };
const inspected = (over, era) => [`the Inspector, ${era}, over ${over}`, async (box) => {
	const front = await gateway(box), ask = (...options) => inspect(box, { over, era }, front, ...options);
	const all = (...options) => inspect(box, { over, era, surface: "all" }, front, ...options);
	assert.equal((await ask("--method", "initialize")).result().protocolVersion, VERSION[era]);
	assert.deepEqual((await ask("--method", "tools/list", "--strict")).result().tools.map((tool) => tool.name), META_TOOLS);
	const call = (await ask("--method", "tools/call", "--tool-name", "tool_browse", "--tool-arg", "query=simple text")).result();
	assert.match(call.content[0].text, /test_simple_text/);
	assert.equal((await all("--method", "tools/call", "--tool-name", "fixture__test_simple_text")).result().content[0].text,
		"This is a simple text response for testing.");
	if (over === "stdio") return; // the rest is not the transport's
	const names = (await all("--method", "tools/list")).result().tools.map((tool) => tool.name);
	assert.ok(names.includes("fixture__test_simple_text") && names.includes("read_file"), names.join(" "));
	assert.equal((await all("--method", "tools/call", "--tool-name", "fixture__test_error_handling")).code, 5);
	assert.match((await all("--method", "resources/read", "--uri", "test://static-text")).result().contents[0].text, /static text resource/);
}, () => missing("@modelcontextprotocol/inspector") ?? oldNode()];

await runTests([
	...["stdio", "http"].flatMap((over) => Object.keys(VERSION).map((era) => inspected(over, era))),
	...CLIENTS,
], () => missing("@modelcontextprotocol/server"));
