// status.test.mjs - the status page in a real browser: seeing, answering, and pages that attack the gateway.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import { installed, runTests, until } from "../lib.mjs";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP evil.test 127.0.0.1"];
const here = installed("playwright-core") && fs.existsSync(CHROMIUM);
const { chromium } = here ? await import("playwright-core") : {};
const browser = here ? await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, headless: true }) : undefined;

// A tab of its own, that notes what must not happen in it.
async function withPage(use) {
	const context = await browser.newContext({ viewport: { width: 1100, height: 800 } });
	const page = await context.newPage();
	page.setDefaultTimeout(15000);
	page.bad = [];
	page.on("dialog", (dialog) => { page.bad.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
	page.on("pageerror", (error) => page.bad.push(`error: ${error.message}`));
	page.on("console", (message) => {
		if (/Content Security Policy|Refused to/i.test(message.text())) page.bad.push(`console: ${message.text()}`);
	});
	try {
		return await use(page);
	} finally {
		await context.close();
	}
}

async function onStatusPage(box, use, ...args) {
	const gateway = await box.serve(...args);
	await withPage(async (page) => {
		await page.goto(`${gateway.url}/#token=${gateway.token}`);
		await page.getByText("live", { exact: true }).waitFor();
		await use(page, gateway);
		assert.deepEqual(page.bad, []);
	});
}

const session = async (box, client) => (await box.ask("POST", "/sessions", { workspace: box.workspace, client })).session_id;
const start = (box, id, name, input) => box.ask("POST", `/sessions/${id}/turns`, { name, input, wait: false });
const outcome = async (box, turn) => (await until(async () => {
	const now = await box.ask("GET", `/sessions/${turn.session_id}/turns/${turn.turn_id}`);
	return now.state !== "open" && now;
}, "the turn ends")).calls[0];
const count = (page, name) => page.locator("#counts div", { hasText: name }).locator("dd");
const expectText = (locator, text) => until(async () => (await locator.textContent()) === text, `it reads ${text}`);

await runTests([
	["the page takes the token out of the address and shows counts", (box) => onStatusPage(box, async (page, gateway) => {
		assert.equal(page.url(), `${gateway.url}/`);
		assert.equal((await page.content()).includes(gateway.token), false);
		await expectText(count(page, "sessions"), "0");
		const id = await session(box, "web test");
		await expectText(count(page, "sessions"), "1");
		box.write("a.txt", "alpha");
		await box.ask("POST", `/sessions/${id}/turns`, { name: "read_file", input: { path: "a.txt" } });
		await expectText(count(page, "completed"), "1");
		await page.locator("#calls li", { hasText: "read_file" }).waitFor();
		await page.locator("#events li", { hasText: "tool.completed" }).waitFor();
	})],

	["without a token it asks for one, and takes only the right one", async (box) => {
		const gateway = await box.serve();
		await withPage(async (page) => {
			await page.goto(gateway.url);
			await page.getByLabel("Access token").fill("wrong");
			await page.keyboard.press("Enter");
			await page.getByText("This token is not accepted.").waitFor();
			assert.equal(await page.locator("#main").isVisible(), false);
			await page.getByLabel("Access token").fill(gateway.token);
			await page.getByRole("button", { name: "Open" }).click();
			await page.getByText("live", { exact: true }).waitFor();
			await page.reload();
			await page.getByText("live", { exact: true }).waitFor();
			assert.deepEqual(page.bad, []);
		});
	}],

	["the whole printed address is taken, too, in the field and in the address bar", async (box) => {
		const gateway = await box.serve();
		const address = `${gateway.url}/#token=${gateway.token}`;
		await withPage(async (page) => {
			await page.goto(gateway.url);
			await page.getByText("holdfast status").waitFor();
			await page.getByText("~/.local/state/holdfast/token").waitFor();
			await page.getByLabel("Access token").fill("tökén");
			await page.keyboard.press("Enter");
			await page.getByText("This token is not accepted.").waitFor();
			await page.getByLabel("Access token").fill(`  ${address}\n`);
			await page.keyboard.press("Enter");
			await page.getByText("live", { exact: true }).waitFor();
			assert.deepEqual(page.bad, []);
		});
		await withPage(async (page) => {
			await page.goto(gateway.url);
			await page.getByLabel("Access token").waitFor();
			await page.goto(address);
			await page.getByText("live", { exact: true }).waitFor();
			assert.equal(page.url(), `${gateway.url}/`);
		});
	}],

	["what happened before the page was opened is there, once", async (box) => {
		const gateway = await box.serve();
		const id = await session(box, "early");
		box.write("a.txt", "alpha");
		await box.ask("POST", `/sessions/${id}/turns`, { name: "read_file", input: { path: "a.txt" } });
		const kept = await until(async () => {
			const { events } = await box.ask("GET", "/events?newest=1&limit=50");
			return events.at(-1)?.type === "turn.completed" && events.map((ev) => ev.type);
		}, "the journal has the turn");
		await withPage(async (page) => {
			await page.goto(`${gateway.url}/#token=${gateway.token}`);
			await page.locator("#events li", { hasText: "early in" }).waitFor();
			await box.ask("DELETE", `/sessions/${id}`);
			await page.locator("#events li", { hasText: "session.ended" }).waitFor();
			assert.deepEqual(await page.locator("#events .what").allTextContents(), [...kept, "session.ended"].reverse());
		});
	}],

	["calls keep what they were about, with the reason beside it, newest first", (box) => onStatusPage(box, async (page) => {
		const id = await session(box);
		const call = async (name, input, answer) => {
			const turn = await start(box, id, name, input);
			if (answer) await page.getByRole("button", { name: answer }).click();
			await page.locator("article.question").waitFor({ state: "detached" });
			return turn;
		};
		await call("shell", { command: "sleep 1000" }, "Allow once");
		await outcome(box, await call("read_file", { path: "missing.txt" }));
		await outcome(box, await call("shell", { command: "rm precious" }, "Deny"));
		await outcome(box, await call("write_file", { path: "w.txt", content: "text" }, "Deny"));
		await outcome(box, await call("shell", { command: "exit 3" }, "Allow once"));
		const expected = [
			["sleep 1000", "", "running", "running cancel"],
			["exit 3", "", "error", "error"],
			["w.txt", "User denied this operation.", "failed", "user_denied"],
			["rm precious", "User denied this operation.", "failed", "user_denied"],
			["missing.txt", "no such file: missing.txt", "failed", "execution_error"],
		];
		const rows = () => page.locator("#calls li").evaluateAll((all) => all.map((li) =>
			[li.querySelector(".gist").textContent, li.querySelector(".why")?.textContent ?? "", li.dataset.state,
				li.querySelector(".state").textContent]));
		await until(async () => (await rows()).length === 5 && (await rows())[1][2] === "error", "five calls");
		assert.deepEqual(await rows(), expected);
		const colour = (state) => page.locator(`#calls li[data-state=${state}] .state`).first()
			.evaluate((node) => getComputedStyle(node).color);
		assert.equal(await colour("error"), await colour("failed"));
		await page.locator("#events li", { hasText: "shell, with an error" }).waitFor();
		for (const command of ["true 1", "true 2"]) {
			await start(box, id, "shell", { command });
			await until(async () => (await rows())[0][0] === command, "the newest of the live ones is first");
		}
	})],

	["a question says who asks, and what each answer covers", (box) => onStatusPage(box, async (page) => {
		const ids = { codex: await session(box, "codex"), "claude-code": await session(box, "claude-code") };
		for (const client of Object.keys(ids)) await start(box, ids[client], "shell", { command: `git push ${client}` });
		for (const client of Object.keys(ids)) {
			const card = page.locator("article.question", { hasText: `git push ${client}` });
			assert.equal(await card.locator(".who").textContent(), client);
			assert.match(await card.textContent(), new RegExp(`session …${ids[client].slice(-6)}`));
			assert.deepEqual(await card.getByRole("button").allTextContents(), ["Allow once", "Allow for session",
				"Always in this workspace", "Always “git push” in this workspace", "Deny", "Never in this workspace"]);
		}
	})],

	["Never in this workspace refuses now and from now on", (box) => onStatusPage(box, async (page) => {
		const turn = await start(box, await session(box), "shell", { command: "touch did-it; true" });
		await page.getByRole("button", { name: "Never in this workspace" }).click();
		assert.equal((await outcome(box, turn)).error_class, "user_denied");
		const [grant] = (await box.ask("GET", "/grants")).grants;
		assert.equal(grant.decision, "deny");
		const again = await outcome(box, await start(box, await session(box), "shell", { command: "touch did-it; true" }));
		assert.notEqual(again.error_class, null);
		assert.equal(box.exists("did-it"), false);
	})],

	["a question appears with its diff, and Allow lets the file be written", (box) => onStatusPage(box, async (page) => {
		box.write("conf.txt", "keep\nport 8080\n");
		const turn = await start(box, await session(box), "write_file", { path: "conf.txt", content: "keep\nport 9090\n" });
		const card = page.locator("article.question");
		await card.getByText("+port 9090").waitFor();
		assert.equal(await card.locator(".removed").textContent(), "-port 8080");
		assert.match(await card.textContent(), /write_file/);
		assert.match(await card.textContent(), new RegExp(box.workspace));
		assert.match(await card.locator(".left").textContent(), /\d:\d\d left/);
		assert.match(await page.title(), /^\(1\)/);
		assert.equal(box.read("conf.txt"), "keep\nport 8080\n");
		await card.getByRole("button", { name: "Allow once" }).click();
		assert.equal((await outcome(box, turn)).error_class, null);
		assert.equal(box.read("conf.txt"), "keep\nport 9090\n");
		await card.waitFor({ state: "detached" });
		await page.getByText("Nothing to decide.").waitFor();
	})],

	["behind a diff that is cut stands the whole input", (box) => onStatusPage(box, async (page) => {
		const content = `${"A".repeat(300000)}\nthe end\n`;
		await start(box, await session(box), "write_file", { path: "long.txt", content });
		const card = page.locator("article.question");
		await card.getByText("The diff does not show all.").waitFor();
		assert.match(await card.textContent(), /The whole input, 3000\d\d characters/);
		const input = card.getByLabel("The arguments");
		assert.deepEqual(JSON.parse(await input.textContent()), { path: "long.txt", content });
		assert.equal(await input.evaluate((pre) => getComputedStyle(pre).overflowY), "auto");
		await card.getByRole("button", { name: "Deny" }).click();
	})],

	["Deny refuses, and a command is shown in full", (box) => onStatusPage(box, async (page) => {
		const command = `touch did-it; : ${"word ".repeat(400)}; echo the end`;
		const turn = await start(box, await session(box), "shell", { command });
		assert.equal(await page.locator("article.question pre").textContent(), command);
		await page.getByRole("button", { name: "Deny" }).click();
		assert.equal((await outcome(box, turn)).error_class, "user_denied");
		assert.equal(box.exists("did-it"), false);
	})],

	["Allow for session and Always in this workspace are remembered as far as they say", (box) => onStatusPage(box, async (page) => {
		const first = await session(box);
		const turn = await start(box, first, "shell", { command: "echo 1; true" });
		await page.getByRole("button", { name: "Allow for session" }).click();
		assert.equal((await outcome(box, turn)).error_class, null);
		assert.equal((await outcome(box, await start(box, first, "shell", { command: "echo 2; true" }))).error_class, null);
		const other = await start(box, await session(box), "shell", { command: "echo 3; true" });
		await page.getByRole("button", { name: "Always in this workspace" }).click();
		assert.equal((await outcome(box, other)).error_class, null);
		assert.equal((await outcome(box, await start(box, await session(box), "shell", { command: "echo 4; true" }))).error_class, null);
	})],

	["what is asked each time has no answer for longer", (box) => onStatusPage(box, async (page) => {
		box.write(".env", "A=1\n");
		const turn = await start(box, await session(box), "read_file", { path: ".env" });
		await page.locator("article.question").waitFor();
		assert.deepEqual(await page.locator("article.question button").allTextContents(), ["Allow once", "Deny"]);
		await page.getByRole("button", { name: "Allow once" }).click();
		assert.equal((await outcome(box, turn)).error_class, null);
	})],

	["Tab and Enter are enough to allow", (box) => onStatusPage(box, async (page) => {
		const turn = await start(box, await session(box), "write_file", { path: "k.txt", content: "by keyboard" });
		await page.locator("article.question").waitFor();
		const focused = () => page.evaluate(() => document.activeElement?.textContent);
		for (let i = 0; i < 10 && (await focused()) !== "Allow once"; i++) await page.keyboard.press("Tab");
		assert.equal(await focused(), "Allow once");
		await page.keyboard.press("Enter");
		assert.equal((await outcome(box, turn)).error_class, null);
		assert.equal(box.read("k.txt"), "by keyboard");
	})],

	["after an answer by keyboard the focus is on the next question, at last on the heading", (box) => onStatusPage(box, async (page) => {
		const id = await session(box);
		const turns = [];
		for (const n of [1, 2, 3]) {
			turns.push(await start(box, id, "write_file", { path: `${n}.txt`, content: `${n}` }));
			await until(async () => (await page.locator("article.question").count()) === n, `${n} questions`);
		}
		const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.id);
		const first = (n) => page.locator("article.question", { hasText: `${n}.txt` }).getByRole("button", { name: "Allow once" });
		await first(2).focus();
		await page.keyboard.down("Enter");
		await until(async () => /^Allow once.*3\.txt/.test(await focused()), "the focus is on the third");
		await page.keyboard.down("Enter"); // held: a repeated key answers nothing
		assert.equal(await first(3).isEnabled(), true);
		await page.keyboard.up("Enter");
		await page.keyboard.press("Enter");
		await until(async () => /^Allow once.*1\.txt/.test(await focused()), "the focus is on the first");
		await page.keyboard.press("Enter");
		await until(async () => (await focused()) === "h-questions", "the focus is on the heading");
		for (const turn of turns) assert.equal((await outcome(box, turn)).error_class, null);
	})],

	["an answer given elsewhere takes the question away", (box) => onStatusPage(box, async (page) => {
		await start(box, await session(box), "shell", { command: "true" });
		const card = page.locator("article.question");
		await card.waitFor();
		box.run("deny");
		await card.waitFor({ state: "detached" });
	})],

	["a running call can be cancelled", (box) => onStatusPage(box, async (page) => {
		const turn = await start(box, await session(box), "shell", { command: "sleep 1000" });
		await page.getByRole("button", { name: "Allow once" }).click();
		await page.locator("#calls li[data-state=running]").getByRole("button").click();
		assert.equal((await outcome(box, turn)).error_class, "cancelled");
	})],

	["servers are there with what is wrong with them, and events say which it was", async (box) => {
		const file = box.config({ mcpServers: { "one": { command: "no-such-program" }, "two": { command: "x", env: { T: "${NOT_SET_HERE}" } } } });
		await onStatusPage(box, async (page) => {
			const row = (name) => page.locator("#servers li", { hasText: name });
			await row("one").getByText("no such program: no-such-program").waitFor();
			await row("two").getByText("env.T: the variable NOT_SET_HERE is not set").waitFor();
			await page.locator("#events li", { hasText: "one: failed" }).first().waitFor();
			fs.writeFileSync(file, "mcpServers: [");
			await page.getByText("The configuration was changed and is not used").waitFor();
			fs.writeFileSync(file, "{}");
			await page.locator("#servers-part").waitFor({ state: "hidden" });
			for (const event of await page.locator("#events li").all())
				assert.notEqual(await event.locator(".gist").textContent(), "", await event.textContent());
		}, "--config", file);
	}],

	["hostile text is text", (box) => onStatusPage(box, async (page) => {
		const evil = `"'><img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>`;
		const id = await session(box, evil);
		const questions = page.locator("article.question");
		const write = await start(box, id, "write_file", { path: `${evil.replaceAll("/", "")}.txt`, content: `${evil}\n` });
		const shell = await start(box, id, "shell", { command: `echo '${evil.replaceAll("'", "")}' \u202egnp.exe \u200b` });
		await until(async () => (await questions.count()) === 2, "two questions");
		assert.equal(await page.getByText(`+${evil}`).count(), 1);
		const shown = questions.filter({ hasText: "gnp.exe" });
		assert.match(await shown.locator("pre").textContent(), /\\u\{202e\}gnp\.exe \\u\{200b\}/);
		await shown.getByRole("button", { name: "Allow once" }).click();
		assert.equal((await outcome(box, shell)).error_class, null);
		await shown.waitFor({ state: "detached" });
		await questions.getByRole("button", { name: "Allow once" }).click();
		assert.equal((await outcome(box, write)).error_class, null);
		await box.ask("POST", `/sessions/${id}/turns`, { name: evil, input: { [evil]: evil } });
		await page.locator("#events li", { hasText: evil }).first().waitFor();
		await box.ask("DELETE", `/sessions/${id}`);
		await page.locator("#events li", { hasText: "session.ended" }).waitFor();
		assert.equal(await page.locator("img, svg, main script").count(), 0);
	})],

	["the page says when the gateway is gone, and comes back with it", (box) => onStatusPage(box, async (page, gateway) => {
		gateway.child.kill();
		await until(() => gateway.child.exitCode !== null, "the gateway ends");
		await page.getByText("not connected").waitFor();
		await box.serve("--listen", `127.0.0.1:${gateway.port}`);
		await page.getByText("live", { exact: true }).waitFor();
		await session(box);
		await expectText(count(page, "sessions"), "1");
	})],

	["it may not be framed, and loads nothing from elsewhere", async (box) => {
		const { url } = await box.serve();
		for (const target of ["/", "/assets/app.js", "/assets/style.css"]) {
			const headers = (await fetch(url + target)).headers;
			assert.match(headers.get("content-security-policy"), /default-src 'none'.*frame-ancestors 'none'/);
			assert.equal(headers.get("x-content-type-options"), "nosniff");
			assert.equal(headers.get("access-control-allow-origin"), null);
		}
	}],

	// The worst case: a gateway that asks nobody for a token, and a page on another port of this machine.
	["a page of another origin can do nothing", async (box) => {
		const gateway = await box.serve("--no-auth");
		const attack = await attacker();
		try {
			for (const host of ["127.0.0.1", "localhost"])
				await withPage(async (page) => {
					await page.goto(`http://${host}:${attack.port}/`);
					const got = await page.evaluate(tryEverything, { host, port: gateway.port, workspace: box.workspace });
					assert.deepEqual(got.filter((line) => line.reached), []);
					await page.evaluate(postForm, { host, port: gateway.port, workspace: box.workspace });
					await page.waitForURL(`http://${host}:${gateway.port}/sessions`);
					assert.match(await page.textContent("body"), /Origin/);
				});
			assert.deepEqual((await box.ask("GET", "/sessions?all=1")).sessions, []);
			assert.equal((await box.ask("GET", "/status")).watchers, 0);
		} finally {
			attack.close();
		}
	}],

	["a name that was made to point here gets nothing", async (box) => {
		const gateway = await box.serve("--no-auth");
		await withPage(async (page) => {
			const answer = await page.goto(`http://evil.test:${gateway.port}/`);
			assert.equal(answer.status(), 403);
			const status = await page.evaluate(async () => (await fetch("/status")).status);
			assert.equal(status, 403);
		});
	}],
], () => !here && (installed("playwright-core") ? `there is no browser at ${CHROMIUM}` : "playwright-core is not installed"));

function attacker() {
	return new Promise((resolve) => {
		const server = http.createServer((_, answer) => answer.end("<!doctype html><title>innocent</title>"));
		server.listen(0, "127.0.0.1", () => resolve({ port: server.address().port, close: () => server.closeAllConnections() || server.close() }));
	});
}

// In the attacker's page: every way to send something, and whether anything of the answer could be read.
async function tryEverything({ host, port, workspace }) {
	const base = `http://${host}:${port}`;
	const body = JSON.stringify({ workspace });
	const hello = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize",
		params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "evil", version: "1" } } });
	const read = async (name, promise) => {
		try {
			const answer = await promise;
			return { name, reached: answer.type !== "opaque" && answer.status !== 403 };
		} catch {
			return { name, reached: false };
		}
	};
	const event = (name, source, good, bad) => new Promise((resolve) => {
		source.addEventListener(good, () => resolve({ name, reached: true }));
		source.addEventListener(bad, () => resolve({ name, reached: false }));
	});
	const image = new Image();
	image.src = `${base}/status`;
	return Promise.all([
		read("text/plain", fetch(`${base}/sessions`, { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body })),
		read("no content type", fetch(`${base}/sessions`, { method: "POST", mode: "no-cors", body: new Blob([body]) })),
		read("JSON with preflight", fetch(`${base}/sessions`, { method: "POST", headers: { "Content-Type": "application/json" }, body })),
		read("GET", fetch(`${base}/status`)),
		read("any loopback", fetch(`http://0.0.0.0:${port}/sessions`, { method: "POST", mode: "no-cors", body })),
		...["/mcp", "/mcp/all", "/mcp/proxy", "/mcp/s/builtin"].flatMap((door) => [
			read(`${door} as text`, fetch(base + door, { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: hello })),
			read(`${door} as JSON`, fetch(base + door, { method: "POST", headers: { "Content-Type": "application/json" }, body: hello })),
			read(`${door} by any loopback`, fetch(`http://0.0.0.0:${port}${door}`, { method: "POST", mode: "no-cors", body: hello })),
			event(`${door} as a stream`, new EventSource(base + door), "open", "error"),
		]),
		event("EventSource", new EventSource(`${base}/events?watch=1`), "open", "error"),
		event("WebSocket", new WebSocket(`ws://${host}:${port}/mcp/stdio?workspace=${workspace}`), "open", "error"),
		event("image", image, "load", "error"),
	]);
}

function postForm({ host, port, workspace }) {
	const form = document.createElement("form");
	Object.assign(form, { method: "POST", action: `http://${host}:${port}/sessions`, enctype: "text/plain" });
	const field = document.createElement("input");
	Object.assign(field, { name: `{"workspace":"${workspace}","client":"`, value: `"}` });
	form.append(field);
	document.body.append(form);
	form.submit();
}
