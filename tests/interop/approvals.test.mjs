// approvals.test.mjs - a person is asked inside the client: a form for the legacy era, input_required for the modern one (issue 5).
import assert from "node:assert/strict";
import { PROGRAM, missing, runTests, until } from "../lib.mjs";

const why = missing("@modelcontextprotocol/sdk", "@modelcontextprotocol/client");
const old = why ? {} : { ...(await import("@modelcontextprotocol/sdk/client/index.js")), ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
	...(await import("@modelcontextprotocol/sdk/client/stdio.js")), ...(await import("@modelcontextprotocol/sdk/types.js")) };
const fresh = why ? {} : { ...(await import("@modelcontextprotocol/client")), ...(await import("@modelcontextprotocol/client/stdio")) };

const CLIENTS = {
	legacy: (elicit) => {
		const client = new old.Client({ name: "old", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
		client.setRequestHandler(old.ElicitRequestSchema, ({ params }) => elicit(params));
		return client;
	},
	modern: (elicit) => {
		const client = new fresh.Client({ name: "new", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } });
		client.setRequestHandler("elicitation/create", ({ params }) => elicit(params));
		return client;
	},
};

const WAYS = {
	stdio: async (box, kit) => new kit.StdioClientTransport({ command: PROGRAM, args: ["mcp", "--surface", "all", "--workspace", box.workspace], env: box.env }),
	http: async (box, kit) => new kit.StreamableHTTPClientTransport(new URL(`${box.gateway.url}/mcp/all`)),
};

// The result of one call by a client that answers forms so; forms: what it was shown.
async function called(box, era, way, name, args, answer) {
	const forms = [];
	const client = CLIENTS[era](async (params) => (forms.push(params), answer(params)));
	await client.connect(await WAYS[way](box, era === "legacy" ? old : fresh));
	try {
		return { result: await client.callTool({ name, arguments: args }), forms };
	} finally {
		await client.close();
	}
}

const serve = (box) => box.serve("--no-auth", "--config", box.config({ workspace: box.workspace }));
const decide = (decision) => async () => ({ action: "accept", content: { decision } });
const text = (result) => result.content.map((block) => block.text).join("\n");
const everyWay = (name, test) => Object.keys(CLIENTS).flatMap((era) => Object.keys(WAYS).map((way) =>
	[`${name}, ${era} over ${way}`, async (box) => (await serve(box), test(box, (...args) => called(box, era, way, ...args)))]));

// By hand, for what no proper client does.
const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
let number = 0;
async function post(box, params) {
	const answer = await fetch(`${box.gateway.url}/mcp/all`, { method: "POST",
		headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": params.name },
		body: JSON.stringify({ jsonrpc: "2.0", id: ++number, method: "tools/call", params: { ...params, _meta: META } }) });
	const body = await answer.text();
	return JSON.parse(body.startsWith("{") ? body : body.match(/^data: (\{.*"id".*)$/m)[1]);
}

await runTests([
	...everyWay("a form shows the change, and a yes makes it", async (box, call) => {
		box.write("conf.txt", "port 8080\n");
		const { result, forms } = await call("write_file", { path: "conf.txt", content: "port 9090\n" }, (params) => {
			assert.equal(box.read("conf.txt"), "port 8080\n");
			return decide("allow once")(params);
		});
		assert.equal(result.isError ?? false, false, text(result));
		assert.equal(forms.length, 1);
		assert.match(forms[0].message, /write_file[\s\S]*-port 8080[\s\S]*\+port 9090/);
		assert.equal(box.read("conf.txt"), "port 9090\n");
	}),
	...everyWay("a no is a no", async (box, call) => {
		for (const answer of [decide("deny"), async () => ({ action: "decline" })]) {
			const { result } = await call("write_file", { path: "never.txt", content: "x" }, answer);
			assert.equal(result.isError, true);
			assert.match(text(result), /denied/);
		}
		assert.equal(box.exists("never.txt"), false);
	}),
	...everyWay("who answers first elsewhere has answered", async (box, call) => {
		const { result } = await call("write_file", { path: "first.txt", content: "x" }, async () => {
			box.run("approve");
			await until(() => box.exists("first.txt"), "it was done without the form");
			return { action: "decline" };
		});
		assert.equal(result.isError ?? false, false, text(result));
	}),
	["an answer counts once, for the call it was asked about", async (box) => {
		await serve(box);
		const call = { name: "shell", arguments: { command: "echo once >> log; true" } };
		const asked = (await post(box, call)).result;
		assert.equal(asked.resultType, "input_required");
		const [key] = Object.keys(asked.inputRequests);
		const answer = { inputResponses: { [key]: { action: "accept", content: { decision: "allow once" } } }, requestState: asked.requestState };
		const other = await post(box, { ...call, arguments: { command: "echo other >> log; true" }, ...answer });
		assert.ok(other.error ?? other.result.isError, JSON.stringify(other));
		const forged = await post(box, { ...call, ...answer, requestState: `${asked.requestState.slice(0, -2)}AA` });
		assert.ok(forged.error, JSON.stringify(forged));
		assert.equal(box.exists("log"), false);
		const done = await post(box, { ...call, ...answer });
		assert.equal(done.result?.isError ?? false, false, JSON.stringify(done));
		const again = await post(box, { ...call, ...answer });
		assert.ok(again.error ?? again.result, JSON.stringify(again));
		assert.equal(box.read("log"), "once\n");
	}],
	["a tool call cannot answer for the person", async (box) => {
		await serve(box);
		// The first command is allowed; from within it a client of its own asks for a second and says yes to itself.
		const script = `import json,os,urllib.request
M=${JSON.stringify(JSON.stringify(META))}
def post(p):
    p["_meta"]=json.loads(M)
    r=urllib.request.Request("${box.gateway.url}/mcp/all",json.dumps({"jsonrpc":"2.0","id":1,"method":"tools/call","params":p}).encode(),{"Content-Type":"application/json","Accept":"application/json, text/event-stream","MCP-Protocol-Version":"2026-07-28","Mcp-Method":"tools/call","Mcp-Name":"shell"})
    try: t=urllib.request.urlopen(r,timeout=5).read().decode()
    except Exception as e: return {"error":str(e)}
    return json.loads(t if t[0]=="{" else [l for l in t.split("\\n") if l.startswith("data: ")][-1][6:])
call={"name":"shell","arguments":{"command":"touch stolen; true"}}
a=post(dict(call)).get("result") or {}
k=list(a.get("inputRequests") or {"approval":0})[0]
print(json.dumps(post({**call,"inputResponses":{k:{"action":"accept","content":{"decision":"allow once"}}},"requestState":a.get("requestState","")})))
`;
		box.write("attack.py", script);
		const call = { name: "shell", arguments: { command: "python3 attack.py; true" } };
		const asked = (await post(box, call)).result;
		const [key] = Object.keys(asked.inputRequests);
		const done = await post(box, { ...call, inputResponses: { [key]: { action: "accept", content: { decision: "allow once" } } }, requestState: asked.requestState });
		assert.ok(done.result, JSON.stringify(done));
		assert.equal(box.exists("stolen"), false, JSON.stringify(done));
	}],
], () => why);
