// lib.mjs - what the tests in JavaScript are told in: a box (a home of its own), a gateway in it, TAP.
import { spawn, execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const PROGRAM = path.join(process.env.HOLDFAST_BUILD ?? path.join(ROOT, "build-asan"), "holdfast");
export const MODULES = path.join(ROOT, "tests", "node_modules");

export const installed = (name) => fs.existsSync(path.join(MODULES, name, "package.json"));

// Wait for something another process does; polling, because there is nothing to wait on.
export async function until(condition, what, seconds = 20) {
	for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
		const value = await condition();
		if (value) return value;
		await new Promise((r) => setTimeout(r, 20));
	}
	throw new Error(`did not happen within ${seconds} s: ${what}`);
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
			headers: { Authorization: `Bearer ${this.gateway.token}`, ...(body && { "Content-Type": "application/json" }) },
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

// Runs [name, function] one after the other, each in a box of its own, and prints TAP.
export async function runTests(tests, skip) {
	let failed = 0;
	for (const [number, [name, test]] of tests.entries()) {
		const why = skip?.();
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
		if (trouble) console.log(String(trouble.stack ?? trouble).replace(/^/gm, "    "));
	}
	console.log(`1..${tests.length}`);
	process.exit(failed ? 1 : 0);
}
