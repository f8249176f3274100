// app.js - the status page: what waits for a person, what runs, what is behind, what happens.
//
// Everything an agent or a tool wrote goes into the page as text, never as markup, and with the
// characters made visible that could hide or turn it round.

const EVENTS_SHOWN = 200;
const EVENTS_AT_LOAD = 50;
const CALLS_SHOWN = 12;
const LIVE_CALLS_SHOWN = 100;
const $ = (id) => document.getElementById(id);

// ---- the token -------------------------------------------------------------------------------

// The token alone, or an address that ends in #token=...
const tokenIn = (text) => new URLSearchParams(text.split("#")[1]).get("token") ?? text;

if (location.hash.includes("token=")) {
	sessionStorage.setItem("token", tokenIn(location.hash));
	history.replaceState(null, "", location.pathname);
}
addEventListener("hashchange", () => location.reload()); // the address was pasted over this one

// Encoded, because a header with other letters in it cannot even be sent and refused.
function headers(more) {
	const token = sessionStorage.getItem("token");
	return token ? { ...more, Authorization: `Bearer ${encodeURIComponent(token)}` } : { ...more };
}

class Refused extends Error {}

// Answers {status, body}; a missing or wrong token becomes Refused.
async function ask(method, path, body) {
	const answer = await fetch(path, {
		method,
		headers: headers(body ? { "Content-Type": "application/json" } : {}),
		body: body && JSON.stringify(body),
	});
	if (answer.status === 401) throw new Refused();
	return { status: answer.status, body: await answer.json() };
}

// ---- putting text on the page ----------------------------------------------------------------

// Control, bidirectional and invisible characters, but not tab and line feed.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
const visible = (text) =>
	String(text ?? "").replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

function el(tag, className, text) {
	const node = document.createElement(tag);
	if (className) node.className = className;
	if (text !== undefined) node.textContent = visible(text);
	return node;
}

function button(text, className, act, label) {
	const b = el("button", className, text);
	b.type = "button";
	if (label) b.setAttribute("aria-label", visible(label));
	b.addEventListener("click", act);
	return b;
}

const count = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
const calls = (n) => count(n, "call");
const short = (id) => (id ? "…" + id.slice(-6) : "");

// The time of day, for other days the date.
function when(stamp) {
	const date = new Date(stamp);
	const today = date.toDateString() === new Date().toDateString();
	const t = el("time", "", today ? date.toLocaleTimeString([], { hour12: false })
		: date.toLocaleDateString([], { day: "numeric", month: "short" }));
	t.dateTime = stamp;
	t.title = date.toLocaleString([], { hour12: false });
	return t;
}

// One line that may be cut; the whole is told where the pointer rests.
function line(className, text) {
	const node = el("span", className, text ?? "");
	node.title = node.textContent;
	return node;
}

// ---- counts ----------------------------------------------------------------------------------

function showCounts(s) {
	const alive = Object.values(s.calls).reduce((a, b) => a + b, 0);
	const counts = [
		["sessions", s.sessions],
		["waiting for you", s.questions],
		["calls alive", alive],
		["completed", s.totals.completed],
		["failed", s.totals.failed],
	];
	$("counts").replaceChildren(...counts.map(([name, n]) => {
		const pair = el("div");
		pair.append(el("dt", "", name), el("dd", "", n));
		return pair;
	}));
	document.title = s.questions ? `(${s.questions}) Holdfast` : "Holdfast";
}

// ---- questions -------------------------------------------------------------------------------

const ANSWERS = [
	["Allow once", "yes", "allow", "once"],
	["Allow for session", "", "allow", "session"],
	["Always in this workspace", "", "allow", "workspace"],
	["Always “…” in this workspace", "", "allow", "workspace_prefix"], // where a prefix is safe
	["Deny", "no", "deny", "once"],
	["Never in this workspace", "quiet", "deny", "workspace"],
];
const COVERS = {
	session: (q) => `every ${q.tool_name} call of this session`,
	workspace: (q) => `every ${q.tool_name} call in ${q.workspace_path}, from now on`,
	workspace_prefix: (q) => `commands beginning ${q.prefix} in ${q.workspace_path}, from now on`,
};

const DIFF_CLASS = { "+": "added", "-": "removed", "@": "where" };

function diffBlock(diff) {
	const pre = el("pre");
	let head = true; // names the file; further down "--- x" is the removed line "-- x"
	for (const text of diff.replace(/\n$/, "").split("\n")) {
		head &&= text[0] !== "@";
		pre.append(el("span", `line ${head ? "where" : DIFF_CLASS[text[0]] ?? ""}`, text));
	}
	return pre;
}

function block(pre, label) {
	pre.tabIndex = 0; // long ones scroll, also by keyboard
	pre.setAttribute("aria-label", label);
	return pre;
}

// All of it: who sees a part cannot say yes to the whole. So behind a cut diff the input stands, too.
function whatWouldHappen(q) {
	if (q.command) return [block(el("pre", "", q.command), "The command")];
	const text = JSON.stringify(q.input, null, 2);
	const input = block(el("pre", "", text), "The arguments");
	if (!q.diff) return [input];
	const change = block(diffBlock(q.diff), "The change");
	if (!q.diff_cut) return [change];
	return [change, el("p", "about", `The diff does not show all. The whole input, ${text.length} characters:`), input];
}

let answered; // the card that was last answered by keyboard: the focus moves on when it goes

async function answer(card, q, decision, scope, click) {
	const buttons = card.querySelectorAll("button");
	const byKeyboard = click.detail === 0;
	if (byKeyboard) answered = card;
	buttons.forEach((b) => (b.disabled = true));
	try {
		const { status, body } = await ask("POST", `/confirmations/${q.confirmation_request_id}`, {
			decision, scope, by: "status page", ...(scope === "workspace_prefix" && { prefix: q.prefix }),
		});
		if (status === 200) return refreshSoon();
		card.querySelector(".said").textContent = visible(body.error.message);
		if (status === 409 || status === 404) return setTimeout(refreshSoon, 2500);
	} catch (e) {
		if (e instanceof Refused) return askToken();
		card.querySelector(".said").textContent = "The gateway could not be reached.";
	}
	buttons.forEach((b) => (b.disabled = false));
	if (byKeyboard && document.activeElement === document.body) click.target.focus();
}

// Who holds Enter down has answered one question, not all of them.
$("questions").addEventListener("keydown", (e) => e.repeat && e.key === "Enter" && e.preventDefault());

function questionCard(q) {
	const card = el("article", "question");
	const title = el("h3", "", q.tool_name);
	const left = el("span", "left");
	left.setAttribute("role", "timer"); // not read out every second
	title.append(el("span", "effect", q.side_effects), left);
	const who = el("p", "about");
	who.append(el("b", "who", clients.get(q.session_id) || "a client without a name"), " asks · session ",
		el("span", "mono", short(q.session_id)));
	const prompt = q.confirmation_prompt ? [el("p", "prompt", q.confirmation_prompt)] : [];
	const paths = q.projected_modifications?.length ? `changes ${q.projected_modifications.join(", ")} · ` : "";
	const stranger = q.untrusted_server
		? ` · the server ${q.untrusted_server} is not trusted: what its tools do is not known, so they may reach the network` : "";
	const about = el("p", "about", `${paths}in ${q.workspace_path} · asked because of ${q.rule}${stranger}`);
	const buttons = el("div", "buttons");
	for (const [text, className, decision, scope] of ANSWERS) {
		if ((scope === "workspace_prefix" && !q.prefix) || (scope !== "once" && q.once_only)) continue;
		const name = text.replace("…", q.prefix);
		const covers = COVERS[scope]?.(q) ?? `${q.tool_name}, ${q.command ?? q.input_summary}`;
		const b = button(name, className, (click) => answer(card, q, decision, scope, click),
			`${name}: ${covers}`.slice(0, 300));
		b.title = visible(covers);
		buttons.append(b);
	}
	card.append(title, who, ...prompt, about, ...whatWouldHappen(q), buttons, el("p", "said"));
	card.dataset.id = q.confirmation_request_id;
	card.dataset.expires = Date.parse(q.expires_at);
	return card;
}

let clients = new Map(); // session id: who opened it

async function learnClients(list) {
	if (list.every((q) => clients.has(q.session_id))) return;
	const { body } = await ask("GET", "/sessions");
	clients = new Map(body.sessions?.map((s) => [s.session_id, s.client]));
}

// Cards stay as they are while their question is open: nothing moves under a finger.
function showQuestions(list) {
	const box = $("questions");
	const open = new Set(list.map((q) => q.confirmation_request_id));
	const there = new Set();
	const cards = [...box.children];
	const next = cards.slice(cards.indexOf(answered) + 1).find((card) => open.has(card.dataset.id));
	for (const card of cards)
		open.has(card.dataset.id) ? there.add(card.dataset.id) : card.remove();
	for (const q of list)
		if (!there.has(q.confirmation_request_id)) box.append(questionCard(q));
	$("no-questions").hidden = list.length > 0;
	countDown();
	if (answered && !answered.isConnected) moveFocus(next ?? box.firstElementChild);
}

function moveFocus(card) {
	answered = undefined;
	if (document.activeElement !== document.body) return; // it is somewhere else by now
	(card?.querySelector("button") ?? $("h-questions")).focus();
}

function countDown() {
	for (const card of $("questions").children) {
		const s = Math.max(0, Math.round((card.dataset.expires - Date.now()) / 1000));
		card.querySelector(".left").textContent = `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")} left`;
	}
}
setInterval(countDown, 1000);

// ---- calls -----------------------------------------------------------------------------------

// What a call is about: its command, else its path, else all of its input. A long input is kept
// as the text of its beginning, which is no JSON.
function aboutCall(c) {
	let input = c.input ?? c.input_summary ?? "";
	try {
		if (typeof input === "string") input = JSON.parse(input);
	} catch {
		return c.command ?? input;
	}
	const said = [c.command, input?.command, input?.path].find((text) => typeof text === "string");
	return said ?? JSON.stringify(input);
}

function callRow(c, alive) {
	const li = el("li");
	// A tool that came back with an error (exit code 3) has completed, but is no success.
	const state = c.state === "completed" && c.success === false ? "error" : c.state;
	li.dataset.state = state;
	const about = el("span", "about-call");
	about.append(line("gist mono", aboutCall(c)));
	if (c.message) about.append(line("why", c.message));
	const end = el("span", "state", c.error_class ?? state);
	if (alive)
		end.append(" ", button("cancel", "small", () => ask("POST", `/calls/${c.call_id}/cancel`).catch(failed),
			`Cancel ${c.tool_name}`));
	li.append(when(c.opened_at), el("span", "what", c.tool_name), about, end);
	return li;
}

const newestFirst = (a, b) => (a.call_id < b.call_id ? 1 : -1); // the ids sort by time

function showCalls(alive, kept) {
	const ids = new Set(alive.map((c) => c.call_id));
	const live = alive.sort(newestFirst).slice(0, LIVE_CALLS_SHOWN);
	const over = kept.filter((c) => !ids.has(c.call_id)).sort(newestFirst)
		.slice(0, Math.max(0, CALLS_SHOWN - live.length));
	$("calls").replaceChildren(...live.map((c) => callRow(c, true)), ...over.map((c) => callRow(c, false)));
	$("no-calls").hidden = live.length + over.length > 0;
}

// ---- servers ---------------------------------------------------------------------------------

function serverRow(s) {
	const li = el("li");
	li.dataset.state = s.state;
	const about = el("span", "about-call");
	const some = s.offered < s.tools ? `${s.offered} of ${s.tools} tools` : count(s.tools, "tool");
	about.append(line("gist mono", s.changed ? `${some}, ${s.changed} changed: holdfast pins` : some));
	if (s.problem) about.append(line("why", s.problem));
	li.append(el("span", "what", s.name), about, el("span", "state", s.state));
	return li;
}

function showServers(body) {
	const list = body.servers ?? [];
	$("servers").replaceChildren(...list.map(serverRow));
	$("config-error").textContent = body.config_error
		? visible(`The configuration was changed and is not used: ${body.config_error}`) : "";
	$("servers-part").hidden = !list.length && !body.config_error;
}

// ---- events ----------------------------------------------------------------------------------

const GISTS = {
	"session.created": (p) => `${p.client} in ${p.workspace_path}`,
	"session.ended": (p) => `after ${p.duration_seconds} s and ${count(p.turn_count, "turn")}`,
	"turn.started": (p) => calls(p.tool_call_count),
	"turn.completed": (p) => `${calls(p.tool_call_count)}, ${p.failed} failed`,
	"turn.cancelled": (p) => p.reason,
	"tool.called": (p) => `${p.tool_name} (${p.side_effects})`,
	"tool.completed": (p) => `${p.tool_name}${p.success === false ? ", with an error" : ""}, ${p.latency_ms} ms`,
	"tool.failed": (p) => `${p.tool_name}: ${p.error_message}`,
	"tool.input_invalid": (p) => `${p.tool_name}: ${p.validation_errors?.join("; ")}`,
	"tool.confirmation_requested": (p) => `${p.tool_name}: ${p.command_summary ?? p.projected_modifications?.join(", ") ?? p.input_summary}${p.command_cut ? "…" : ""}`,
	"tool.confirmation_resolved": (p) => `${p.tool_name}: ${p.decision}${p.by ? ` by ${p.by}` : ""}`,
	"tool.output_delta": (p) => p.text,
	"tool.definition_changed": (p) => `${p.server}: ${p.tool}, refused until somebody accepts it (holdfast pins)`,
	"server.tools_changed": (p) => `${p.server}: ${["added", "removed", "changed"].filter((what) => p[what]?.length)
		.map((what) => `${what} ${p[what].join(", ")}`).join("; ")}`,
	inbound_message: (p) => p.content,
	"supersede.decision": (p) => p.decision,
	gap: (p) => `${p.missed} events were missed`,
};

// Of all others: what it is about, and what is with it.
const gist = (p) => [p.server ?? p.tool_name ?? p.title ?? p.file ?? p.path, p.tool, p.state,
	p.reason ?? p.error ?? p.error_message ?? p.message].filter(Boolean).join(": ");

function showEvent(type, ev) {
	const list = $("events");
	const p = ev.payload ?? ev;
	const call = type === "tool.output_delta" ? p.call_id : undefined;
	// Output of one call stays one line, otherwise it would push all else out.
	if (call && list.firstChild?.dataset.call === call) list.firstChild.remove();
	const li = el("li");
	if (call) li.dataset.call = call;
	li.append(when(ev.timestamp ?? new Date().toISOString()), el("span", "what", type), line("gist mono", (GISTS[type] ?? gist)(p)),
		el("span", "state mono", short(ev.session_id)));
	list.prepend(li);
	while (list.childElementCount > EVENTS_SHOWN) list.lastChild.remove();
	$("no-events").hidden = true;
}

// ---- keeping up ------------------------------------------------------------------------------

let refreshing;

// However many events come, the lists are fetched a few times a second at most.
function refreshSoon() {
	refreshing ??= setTimeout(() => {
		refreshing = undefined;
		refresh().catch(failed);
	}, 200);
}

async function refresh() {
	const [status, questions, alive, kept, servers] = await Promise.all([
		ask("GET", "/status"), ask("GET", "/confirmations"), ask("GET", "/calls"),
		ask("GET", `/calls?all=1&limit=${CALLS_SHOWN}`), ask("GET", "/servers"),
	]);
	await learnClients(questions.body.confirmations); // after them: a question's session is older
	showCounts(status.body);
	showQuestions(questions.body.confirmations);
	showCalls(alive.body.calls, kept.body.calls ?? []); // a gateway without a journal has none
	showServers(servers.body);
}

// One event stream; the browser's own EventSource cannot send the token.
let lastId; // of the last event shown; "" when there was none yet

async function showLastEvents() {
	const { status, body } = await ask("GET", `/events?newest=1&limit=${EVENTS_AT_LOAD}`);
	if (status !== 200) return; // a gateway without a journal has none
	for (const ev of body.events) showEvent(ev.type, ev);
	lastId = body.last_id ?? "";
}

function takeBlock(block) {
	const fields = { event: "message", data: [] };
	for (const line of block.split("\n")) {
		const at = line.indexOf(": ");
		if (at < 1) continue; // a comment
		const [name, value] = [line.slice(0, at), line.slice(at + 2)];
		name === "data" ? fields.data.push(value) : (fields[name] = value);
	}
	if (!fields.data.length) return;
	if (fields.id) lastId = fields.id;
	showEvent(fields.event, JSON.parse(fields.data.join("\n")));
	refreshSoon();
}

async function follow() {
	if (lastId === undefined) await showLastEvents();
	const since = lastId === undefined ? "" : `&since=${lastId}`;
	const stream = await fetch(`/events?watch=1${since}`, { headers: headers({ Accept: "text/event-stream" }) });
	if (stream.status === 401) throw new Refused();
	if (!stream.ok) throw new Error((await stream.json()).error.message);
	tell("on", "live");
	await refresh();
	const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader();
	for (let text = "";;) {
		const { done, value } = await reader.read();
		if (done) throw new Error("the gateway ended the stream");
		const blocks = (text + value).split("\n\n");
		text = blocks.pop();
		blocks.forEach(takeBlock);
	}
}

function tell(state, text) {
	$("link").dataset.state = state;
	$("link").textContent = text;
}

function failed(e) {
	e instanceof Refused ? askToken() : tell("off", "not connected, trying again");
}

function askToken() {
	$("refused").textContent = sessionStorage.getItem("token") ? "This token is not accepted." : "";
	sessionStorage.removeItem("token");
	$("main").hidden = true;
	$("entry").hidden = false;
	tell("off", "a token is needed");
	$("token").focus();
}

$("entry").addEventListener("submit", (e) => {
	e.preventDefault();
	sessionStorage.setItem("token", tokenIn($("token").value.trim()));
	$("token").value = "";
	run();
});

async function run() {
	$("entry").hidden = true;
	$("main").hidden = false;
	for (let wait = 1000;; wait = Math.min(wait * 2, 15000)) {
		const began = Date.now();
		try {
			await follow();
		} catch (e) {
			failed(e);
			if (e instanceof Refused) return;
		}
		if (Date.now() - began > 10000) wait = 1000;
		await new Promise((r) => setTimeout(r, wait));
	}
}

run();
