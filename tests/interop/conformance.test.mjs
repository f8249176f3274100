// conformance.test.mjs - the official conformance suite, both sides, both eras (issue 5).
//
// As a server: the gateway with the fixture server behind it, so that it is the relay that is tested.
// As a client: the suite's servers behind the gateway (fixture/conformance-client.mjs).
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { FIXTURE, MODULES, NODE, beside, finished, missing, oldNode, runTests } from "../lib.mjs";

const SUITE = path.join(MODULES, "@modelcontextprotocol", "conformance", "dist", "index.js");
const SERVER = path.join(FIXTURE, "server.mjs");
const REVISIONS = ["2026-07-28", "2025-11-25"];
const why = missing("@modelcontextprotocol/conformance", "@modelcontextprotocol/server", "@modelcontextprotocol/client", "@modelcontextprotocol/node") ?? oldNode();
const { Client, StreamableHTTPClientTransport } = why ? {} : await import("@modelcontextprotocol/client");

// What failed and was not expected to: the checks, and the last words of the driver.
function complaints(folder) {
	const files = fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith("checks.json") && !/^(auth\/|server-tasks-)/.test(name));
	return files.flatMap((name) => {
		const failed = JSON.parse(fs.readFileSync(path.join(folder, name))).filter((check) => check.status === "FAILURE");
		const words = path.join(folder, path.dirname(name), "stderr.txt");
		const last = failed.length && fs.existsSync(words) ? [fs.readFileSync(words, "utf8").slice(-2000)] : [];
		return [...failed.map((check) => `${name.split("/")[0]}: ${check.id}: ${check.errorMessage ?? ""} ${JSON.stringify(check.details ?? null).slice(0, 500)}`), ...last];
	}).join("\n");
}

async function suite(box, side, ...args) {
	const folder = fs.mkdtempSync(path.join(box.dir, "suite-"));
	const done = await finished(NODE, ["--require", path.join(FIXTURE, "loopback.cjs"), SUITE, side, ...args, "-o", folder],
		{ cwd: box.dir, env: { ...process.env, NO_COLOR: "1" }, timeout: 150000 });
	const summary = (done.stdout + done.stderr).split("\n").filter((line) => /^ *✗ (?!tasks-|auth\/)|^Total|Unexpected|Stale/.test(line)).join("\n");
	assert.equal(done.code, 0, `${summary}\n${complaints(folder)}`);
}

const behind = (...args) => ({ command: NODE, args: [SERVER, ...args], prefix: false, trust: true });

async function fixtureOverHttp(box, use) {
	const server = beside(NODE, [SERVER, "http"], { cwd: box.dir });
	try {
		const [, url] = await server.said(/listening on (\S+)/);
		await use({ url, prefix: false, trust: true });
	} finally {
		await server.end();
	}
}

async function serverLeg(box, fixture, revisions) {
	const { url } = await box.serveWith({ fixture });
	for (const revision of revisions) await suite(box, "server", "--url", `${url}/mcp/s/fixture`, "--requirements", revision);
	await contents(url);
}

// The suite takes any text for an answer, also "no such tool": what must be in them is looked at here.
const EXPECTED = {
	test_simple_text: [{}, [{ type: "text", text: "This is a simple text response for testing." }]],
	test_embedded_resource: [{}, [{ type: "resource",
		resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." } }]],
	test_sampling: [{ prompt: "Say hello" }, [{ type: "text", text: "LLM response: I was asked: Say hello" }]],
	test_elicitation: [{ message: "Who?" }, [{ type: "text", text: 'User response: action=accept, content={"username":"Ann","email":"ann@example.org","name":"Ann","color":"red","ok":true}' }]],
	test_input_required_result_list_roots: [{}, [{ type: "text", text: "roots: file:///home/ann" }]],
	test_input_required_result_request_state: [{}, [{ type: "text", text: "state-ok" }]],
	test_input_required_result_multi_round: [{}, [{ type: "text", text: "Ann likes red." }]],
	test_custom_headers: [{ region: "Köln ✓", count: 7, query: "x" }, [{ type: "text", text: '{"region":"Köln ✓","count":7,"query":"x"}' }]],
};

async function connected(url, era, use) {
	const client = new Client({ name: "conformance", version: "1.0.0" }, { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
		...(era === "modern" && { versionNegotiation: { mode: "auto" } }) });
	client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { username: "Ann", email: "ann@example.org", name: "Ann", color: "red", ok: true } }));
	client.setRequestHandler("sampling/createMessage", async ({ params }) => ({ role: "assistant", model: "none",
		content: { type: "text", text: `I was asked: ${[params.messages[0].content].flat()[0].text}` } }));
	client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///home/ann" }] }));
	await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp/s/fixture`)));
	try {
		assert.equal(client.getProtocolEra(), era);
		await use(client);
	} finally {
		await client.close();
	}
}

async function contents(url) {
	for (const era of ["modern", "legacy"])
		await connected(url, era, async (client) => {
			const { tools } = await client.listTools();
			assert.ok(tools.length >= 28, `${tools.length} tools`);
			assert.equal(tools.find((tool) => tool.name === "json_schema_2020_12_tool").inputSchema.$defs.address.$anchor, "addressDef");
			for (const [name, [args, content]] of Object.entries(EXPECTED)) {
				const result = await client.callTool({ name, arguments: args });
				assert.deepEqual([name, result.content, result.isError ?? false], [name, content, false]);
			}
			const failure = await client.callTool({ name: "test_error_handling", arguments: {} });
			assert.deepEqual([failure.isError, failure.content[0].text], [true, "This tool intentionally returns an error for testing"]);
			assert.equal((await client.readResource({ uri: "test://template/7/data" })).contents[0].text, '{"id":"7","templateTest":true,"data":"Data for ID: 7"}');
			assert.equal((await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } })).messages[0].content.text,
				"Prompt with arguments: arg1='a', arg2='b'");
			assert.deepEqual((await client.complete({ ref: { type: "ref/prompt", name: "test_prompt_with_arguments" }, argument: { name: "arg1", value: "teste" } })).completion.values, ["tester"]);
			await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });
		});
}

const clientLeg = (revision) => (box) => suite(box, "client", "--command", `${NODE} ${path.join(FIXTURE, "conformance-client.mjs")}`,
	"--requirements", revision, "--expected-failures", path.join(FIXTURE, "expected-failures.yml"), "--timeout", "60000");

await runTests([
	["the server side conforms, with a server of both eras behind it over stdio", (box) => serverLeg(box, behind("stdio"), REVISIONS)],
	["the server side conforms, with the same over HTTP", (box) => fixtureOverHttp(box, (fixture) => serverLeg(box, fixture, REVISIONS))],
	// The keys of what a legacy server asks for are ours, so that the modern set cannot find its own.
	["the server side conforms, with a legacy server behind it", (box) => serverLeg(box, behind("stdio", "--legacy"), ["2025-11-25"])],
	...REVISIONS.map((revision) => [`the client side conforms to ${revision}, but for authorization`, clientLeg(revision)]),
], () => why);
