// sdk.test.mjs - the official TypeScript SDK's client over stdio against `holdfast mcp`.
import assert from "node:assert/strict";
import { PROGRAM, installed, runTests, until } from "../lib.mjs";

const here = installed("@modelcontextprotocol/sdk");
const { Client } = here ? await import("@modelcontextprotocol/sdk/client/index.js") : {};
const { StdioClientTransport } = here ? await import("@modelcontextprotocol/sdk/client/stdio.js") : {};

async function connected(box, use, ...args) {
	const client = new Client({ name: "interop", version: "1.0.0" });
	await client.connect(new StdioClientTransport({
		command: PROGRAM, args: ["mcp", "--surface", "all", "--workspace", box.workspace, ...args], env: box.env, stderr: "inherit" }));
	try {
		await use(client);
	} finally {
		await client.close();
	}
}

const text = (result) => result.content.map((block) => block.text).join("\n");

await runTests([
	["the SDK's client connects, lists the tools and reads a file", async (box) => {
		box.write("a.txt", "alpha\n");
		await connected(box, async (client) => {
			assert.equal(client.getServerVersion().name, "holdfast");
			assert.deepEqual(client.getServerCapabilities().tools, { listChanged: true });
			assert.ok(client.getInstructions());
			const { tools } = await client.listTools();
			assert.deepEqual(tools.map((t) => t.name), ["list_dir", "patch_file", "read_file", "shell", "tool_view", "write_file"]);
			const result = await client.callTool({ name: "read_file", arguments: { path: "a.txt" } });
			assert.deepEqual(result, { content: [{ type: "text", text: "alpha\n" }], isError: false });
			await client.ping();
		});
	}],
	["it gets failures as results and unknown tools as errors", (box) => connected(box, async (client) => {
		const missing = await client.callTool({ name: "read_file", arguments: { path: "none.txt" } });
		assert.equal(missing.isError, true);
		assert.match(text(missing), /no such file: none\.txt/);
		const invalid = await client.callTool({ name: "read_file", arguments: {} });
		assert.equal(invalid.isError, true);
		await assert.rejects(client.callTool({ name: "nothing_like_it", arguments: {} }), { code: -32602 });
		assert.deepEqual((await client.listResources()).resources, []);
	})],
	["it waits while a person answers", (box) => connected(box, async (client) => {
		const write = client.callTool({ name: "write_file", arguments: { path: "b.txt", content: "beta" } });
		await until(() => JSON.parse(box.run("approve", "--list", "--json")).confirmations.length === 1, "a question");
		assert.equal(box.exists("b.txt"), false);
		box.run("approve");
		assert.equal((await write).isError, false);
		assert.equal(box.read("b.txt"), "beta");
	})],
	["its abort cancels the call", (box) => connected(box, async (client) => {
		const stop = new AbortController();
		const call = client.callTool({ name: "write_file", arguments: { path: "c.txt", content: "x" } }, undefined, { signal: stop.signal });
		const open = () => JSON.parse(box.run("approve", "--list", "--json")).confirmations.length;
		await until(() => open() === 1, "a question");
		stop.abort("changed my mind");
		await assert.rejects(call);
		await until(() => open() === 0, "the question is withdrawn");
		await client.ping();
		assert.equal(box.exists("c.txt"), false);
	})],
	["many calls at once come back each to its own", async (box) => {
		for (let i = 0; i < 50; i++) box.write(`f${i}`, `content ${i}`);
		await connected(box, async (client) => {
			const results = await Promise.all(Array.from({ length: 50 }, (_, i) =>
				client.callTool({ name: "read_file", arguments: { path: `f${i}` } })));
			results.forEach((result, i) => assert.equal(text(result), `content ${i}`));
		}, "--standalone");
	}],
], () => !here && "@modelcontextprotocol/sdk is not installed");
