// upstreams.test.mjs - servers people use, behind the gateway, with the official clients of both eras in front (issue 5).
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { FIXTURE, MODULES, NODE, beside, missing, runTests, until } from "../lib.mjs";

const node = NODE ?? process.execPath;
const from = (name, ...args) => ({ command: node, args: [path.join(MODULES, "@modelcontextprotocol", name, "dist", "index.js"), ...args], trust: true });
const why = missing("@modelcontextprotocol/sdk", "@modelcontextprotocol/client", "@modelcontextprotocol/server",
	"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory");
const modern = why ? {} : await import("@modelcontextprotocol/client");
const legacy = why ? {} : { ...(await import("@modelcontextprotocol/sdk/client/index.js")), ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
	...(await import("@modelcontextprotocol/sdk/types.js")) };

const CAPABILITIES = { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } };
const ROOTS = { roots: [{ uri: "file:///home/ann", name: "home" }] };
const SAID = (params) => ({ role: "assistant", model: "a-model", content: { type: "text", text: `model says: ${[params.messages[0].content].flat()[0].text}` } });

// The two official clients, made alike: { call, on, client }. on(kind, function) hears notifications.
const ERAS = {
	legacy: async (url, answers) => {
		const { Client, StreamableHTTPClientTransport, ...schemas } = legacy;
		const client = new Client({ name: "old", version: "1.0.0" }, { capabilities: CAPABILITIES });
		client.setRequestHandler(schemas.ElicitRequestSchema, ({ params }) => answers.elicit(params));
		client.setRequestHandler(schemas.CreateMessageRequestSchema, ({ params }) => answers.sample(params));
		client.setRequestHandler(schemas.ListRootsRequestSchema, () => answers.roots());
		await client.connect(new StreamableHTTPClientTransport(new URL(url)));
		return { client, call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
			on: (kind, hear) => client.setNotificationHandler(schemas[kind], ({ params }) => hear(params)) };
	},
	modern: async (url, answers) => {
		const { Client, StreamableHTTPClientTransport } = modern;
		const client = new Client({ name: "new", version: "1.0.0" }, { capabilities: CAPABILITIES, versionNegotiation: { mode: "auto" },
			listChanged: { tools: { onChanged: () => answers.changed?.() } } });
		client.setRequestHandler("elicitation/create", ({ params }) => answers.elicit(params));
		client.setRequestHandler("sampling/createMessage", ({ params }) => answers.sample(params));
		client.setRequestHandler("roots/list", () => answers.roots());
		await client.connect(new StreamableHTTPClientTransport(new URL(url)));
		assert.equal(client.getProtocolEra(), "modern");
		return { client, call: (name, args, options) => client.callTool({ name, arguments: args }, options),
			on: (kind, hear) => client.setNotificationHandler(kind, ({ params }) => hear(params)) };
	},
};

async function connected(box, era, surface, use, answers = {}) {
	const made = await ERAS[era](`${box.gateway.url}${surface}`, {
		elicit: async () => ({ action: "accept", content: { name: "Ann", check: true } }), sample: async (params) => SAID(params), roots: async () => ROOTS, ...answers });
	try {
		return await use(made);
	} finally {
		await made.client.close();
	}
}

const text = (result) => result.content.map((block) => block.text).join("\n");
const everything = () => ({ everything: from("server-everything", "stdio") });
// Its tools that ask the client come only after it has heard what the client can do.
const whole = (box) => until(async () => (await box.ask("GET", "/servers")).servers[0].tools >= 16, "all tools of server-everything are known");
const freePort = () => new Promise((give) => {
	const probe = net.createServer().listen(0, "127.0.0.1", () => { const { port } = probe.address(); probe.close(() => give(port)); });
});
async function everythingOverHttp(way, port, words) {
	const server = beside(node, ["--require", path.join(FIXTURE, "loopback.cjs"), ...from("server-everything", way).args],
		{ env: { PATH: process.env.PATH, PORT: String(port) } });
	await until(() => server.log().includes(words), "server-everything listens", 60).catch(async (e) => {
		await server.end();
		throw e;
	});
	return server;
}
const inEachEra = (name, test) => Object.keys(ERAS).map((era) => [`${name}, ${era}`, (box) => test(box, era)]);

await runTests([
	["files, memory and everything are one list, browsed and executed", async (box) => {
		box.write("a.txt", "alpha\n");
		await box.serveWith({ ...everything(), files: from("server-filesystem", box.workspace),
			memory: { ...from("server-memory"), env: { MEMORY_FILE_PATH: path.join(box.dir, "memory.jsonl") } } }, { workspace: box.workspace });
		for (const era of Object.keys(ERAS)) {
			await connected(box, era, "/mcp/all", async ({ client, call }) => {
				const names = (await client.listTools()).tools.map((tool) => tool.name);
				for (const name of ["everything__echo", "files__read_text_file", "memory__read_graph", "read_file"]) assert.ok(names.includes(name), name);
				assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), names);
				assert.equal(text(await call("files__read_text_file", { path: path.join(box.workspace, "a.txt") })), "alpha\n");
				assert.equal(text(await call("everything__get-sum", { a: 2, b: 3 })), "The sum of 2 and 3 is 5.");
				const made = await call("memory__create_entities", { entities: [{ name: `ann-${era}`, entityType: "person", observations: ["likes red"] }] });
				assert.equal(made.isError ?? false, false, text(made));
				assert.match(text(await call("memory__search_nodes", { query: "red" })), new RegExp(`ann-${era}`));
				const weather = await call("everything__get-structured-content", { location: "Chicago" });
				assert.equal(typeof weather.structuredContent.temperature, "number");
				const outside = await call("files__read_text_file", { path: "/etc/passwd" });
				assert.equal(outside.isError, true);
			});
			await connected(box, era, "/mcp", async ({ client, call }) => {
				assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), ["tool_browse", "tool_execute", "tool_view"]);
				const found = await call("tool_browse", { query: "search nodes in the knowledge graph" });
				const [id] = text(found).match(/memory:[\w.:#-]*search_nodes[\w.:#-]*/) ?? assert.fail(text(found));
				const done = await call("tool_execute", { tool_id: id, args: { query: "red" } });
				assert.match(text(done), new RegExp(`ann-${era}`));
				const wrong = await call("tool_execute", { tool_id: id, args: { query: 7 } });
				assert.match(text(wrong), /ARGS_INVALID/);
			});
		}
	}],
	...inEachEra("server-everything asks a person through the gateway", async (box, era) => {
		await box.serveWith(everything());
		await whole(box);
		const asked = [];
		const elicit = async (params) => (asked.push(params), { action: "accept", content: { name: "Ann", check: true } });
		await connected(box, era, "/mcp/all", async ({ call }) => {
			const result = await call("everything__trigger-elicitation-request", {});
			assert.match(text(result), /Ann/);
			assert.equal(asked.length, 1);
			assert.equal(asked[0].requestedSchema.properties.name.type, "string");
		}, { elicit });
		await connected(box, era, "/mcp/all", async ({ call }) => assert.match(text(await call("everything__trigger-elicitation-request", {})), /declined/i),
			{ elicit: async () => ({ action: "decline" }) });
	}),
	...inEachEra("server-everything asks a model and for the roots", async (box, era) => {
		await box.serveWith(everything());
		await whole(box);
		await connected(box, era, "/mcp/all", async ({ call }) => {
			assert.match(text(await call("everything__trigger-sampling-request", { prompt: "hello there", maxTokens: 10 })), /model says: .*hello there/);
			assert.match(text(await call("everything__get-roots-list", {})), /home/);
		});
	}),
	...inEachEra("progress comes with the caller's token", async (box, era) => {
		await box.serveWith(everything());
		await connected(box, era, "/mcp/all", async ({ call }) => {
			const heard = [[], []];
			const results = await Promise.all(heard.map((list, i) => call("everything__trigger-long-running-operation", { duration: 0.4, steps: 4 + i },
				// Without a total it is the client's own word: it was asked for the roots in between.
				{ onprogress: ({ progress, total }) => total !== undefined && list.push([progress, total]) })));
			assert.deepEqual(results.map((result) => /Steps: (\d)/.exec(text(result))[1]), ["4", "5"]);
			assert.deepEqual(heard, [4, 5].map((total) => Array.from({ length: total }, (_, i) => [i + 1, total])), JSON.stringify(heard));
		});
	}),
	...inEachEra("a call is cancelled at the server too", async (box, era) => {
		await box.serveWith({ slow: { command: node, args: [path.join(FIXTURE, "slow.mjs"), box.dir] } });
		await connected(box, era, "/mcp/all", async ({ call }) => {
			const stop = new AbortController();
			const going = call("slow__wait", { seconds: 600 }, { signal: stop.signal });
			going.catch(() => {});
			await until(() => fs.existsSync(path.join(box.dir, "began")), "the server has begun");
			stop.abort("enough");
			await assert.rejects(going);
			await until(() => fs.existsSync(path.join(box.dir, "cancelled")), "the server has heard of it");
			assert.equal(text(await call("slow__wait", { seconds: 0 })), "waited");
		});
	}),
	["log messages come at the level that was asked for", async (box) => {
		await box.serveWith({ fixture: { command: node, args: [path.join(FIXTURE, "server.mjs"), "stdio"], trust: true } });
		await connected(box, "legacy", "/mcp/all", async ({ client, call, on }) => {
			const heard = [];
			on("LoggingMessageNotificationSchema", (params) => heard.push(params.data));
			await client.setLoggingLevel("warning");
			await call("fixture__test_logging_tool", {});
			assert.deepEqual(heard, []);
			await client.setLoggingLevel("info");
			await call("fixture__test_tool_with_logging", {});
			assert.deepEqual(heard, ["Tool execution started", "Tool processing data", "Tool execution completed"]);
		});
	}],
	...inEachEra("a list that changes is told, and is another then", async (box, era) => {
		await box.serveWith({ fixture: { command: node, args: [path.join(FIXTURE, "server.mjs"), "stdio"], trust: true } });
		let changed = 0;
		await connected(box, era, "/mcp/all", async ({ client, call, on }) => {
			if (era === "legacy") on("ToolListChangedNotificationSchema", () => changed++);
			const has = async () => (await client.listTools()).tools.some((tool) => tool.name === "fixture__test_extra_tool");
			assert.equal(await has(), false);
			await call("fixture__test_trigger_tool_change", {});
			await until(() => changed > 0, "the client is told");
			await until(has, "the tool is listed");
			assert.equal(text(await call("fixture__test_extra_tool", {})), "I was not there before.");
		}, { changed: () => changed++ });
	}),
	// A legacy server on a pipe does not say in whose call it asks. Nobody is asked then rather than somebody else.
	...inEachEra("what a server asks in one client's call is not shown to another client", async (box, era) => {
		await box.serveWith({ fixture: { command: node, args: [path.join(FIXTURE, "server.mjs"), "stdio", "--legacy"], trust: true, timeout: 3, max_timeout: 3 } });
		const asked = { ann: 0, bob: 0 };
		const as = (name, use) => connected(box, era, "/mcp/all", use, { elicit: async () => (asked[name]++, { action: "accept", content: { name } }) });
		await as("ann", ({ call: ann }) => as("bob", async ({ call: bob }) => {
			let begun;
			const beginning = new Promise((resolve) => (begun = resolve));
			const hers = ann("fixture__test_streaming_elicitation", {}, { onprogress: () => begun() }).catch(() => {});
			await beginning;
			assert.equal(text(await bob("fixture__test_tool_with_progress", {})), "Tool with progress executed");
			await hers;
		}));
		assert.equal(asked.bob, 0);
	}),
	["a server over HTTP that was started again is used as before", async (box) => {
		const port = await freePort();
		let server = await everythingOverHttp("streamableHttp", port, "listening on port");
		try {
			await box.serveWith({ everything: { url: `http://127.0.0.1:${port}/mcp`, trust: true } });
			await connected(box, "legacy", "/mcp/all", async ({ call }) => {
				assert.equal(text(await call("everything__get-sum", { a: 2, b: 3 })), "The sum of 2 and 3 is 5.");
				await server.end();
				server = await everythingOverHttp("streamableHttp", port, "listening on port");
				assert.equal(text(await call("everything__get-sum", { a: 2, b: 4 })), "The sum of 2 and 4 is 6.");
			});
		} finally {
			await server.end();
		}
	}],
	["a server of 2024-11-05 over HTTP+SSE is one as any other", async (box) => {
		const port = await freePort();
		const server = await everythingOverHttp("sse", port, "running on port");
		try {
			await box.serveWith({ everything: { url: `http://127.0.0.1:${port}/sse`, trust: true } });
			await whole(box);
			for (const era of Object.keys(ERAS)) {
				await connected(box, era, "/mcp/all", async ({ call }) => {
					assert.equal(text(await call("everything__get-sum", { a: 2, b: 3 })), "The sum of 2 and 3 is 5.");
					assert.match(text(await call("everything__trigger-sampling-request", { prompt: "hello there", maxTokens: 10 })), /model says: .*hello there/);
				});
			}
		} finally {
			await server.end();
		}
	}],
	["what a server is given of the environment is little, and what the configuration says", async (box) => {
		process.env.HOLDFAST_TEST_CANARY = box.env.HOLDFAST_TEST_CANARY = "canary-secret";
		await box.serveWith({ everything: { ...from("server-everything", "stdio"), env: { GIVEN: "${HOLDFAST_TEST_CANARY}", PLAIN: "yes" } } });
		await connected(box, "legacy", "/mcp/all", async ({ call }) => {
			const env = JSON.parse(text(await call("everything__get-env", {})));
			assert.equal(env.PLAIN, "yes");
			assert.equal(env.HOLDFAST_TEST_CANARY, undefined);
			assert.equal(env.GIVEN, "canary-secret");
			assert.deepEqual(Object.keys(env).filter((name) => /SAN_OPTIONS|TOKEN|SECRET|KEY/.test(name)), []);
		});
		const shown = JSON.stringify(await box.ask("GET", "/servers")) + box.run("servers");
		assert.doesNotMatch(shown, /canary-secret/);
	}],
], () => why);
