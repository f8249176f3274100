// inspector.test.mjs - the MCP Inspector's command line against `holdfast mcp`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { MODULES, NODE, PROGRAM, missing, oldNode, runTests } from "../lib.mjs";

const launcher = path.join(MODULES, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js");

// The Inspector gives its servers next to no environment, so it is set by env.
function inspect(box, ...options) {
	const set = Object.entries(box.env).map(([name, value]) => `${name}=${value}`);
	const args = [launcher, "--cli", "env", ...set, PROGRAM, "mcp", "--surface", "all", "--workspace", box.workspace, ...options, "--format", "json", "-q"];
	return new Promise((resolve) => execFile(NODE, args, { env: { ...box.env, MCP_AUTO_OPEN_ENABLED: "false" }, timeout: 60000 },
		(error, stdout, stderr) => resolve({ code: error ? error.code : 0, stdout, stderr })));
}

await runTests([
	["the Inspector lists the tools", async (box) => {
		const done = await inspect(box, "--method", "tools/list");
		assert.equal(done.code, 0, done.stderr);
		assert.deepEqual(JSON.parse(done.stdout).result.tools.map((t) => t.name),
			["list_dir", "patch_file", "read_file", "shell", "tool_view", "write_file"]);
	}],
	["the Inspector finds nothing to say about the schemas", async (box) => {
		const done = await inspect(box, "--method", "tools/list", "--strict");
		assert.equal(done.code, 0, done.stdout + done.stderr);
	}],
	["the Inspector calls read_file", async (box) => {
		box.write("a.txt", "alpha\n");
		const done = await inspect(box, "--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a.txt");
		assert.equal(done.code, 0, done.stderr);
		assert.deepEqual(JSON.parse(done.stdout).result, { content: [{ type: "text", text: "alpha\n" }], isError: false });
	}],
	["the Inspector sees a failure as one", async (box) => {
		const done = await inspect(box, "--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=none.txt");
		assert.equal(done.code, 5, done.stdout + done.stderr);
		assert.match(done.stdout, /no such file: none\.txt/);
	}],
], () => missing("@modelcontextprotocol/inspector") ?? oldNode());
