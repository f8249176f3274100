"""The four surfaces of MCP, over HTTP and stdio, with servers behind (issue 5)."""
import functools
import http.client
import json
import os
import sys

from lib import until
from test_mcp import Client

MODERN = "2026-07-28"
AUTO = "tool_confirmation: {default: {READ: auto, WRITE: auto, EXECUTE: auto, NETWORK: auto}}\n"

# A server of the legacy era, by hand, so that nobody's library fills in what we must.
SERVER = r'''
import json, sys
name = sys.argv[1]
OBJECT = {"type": "object"}
LISTS = {
    "tools/list": {"tools": [
        {"name": "add", "description": "Add two numbers.", "inputSchema": {"type": "object",
         "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"], "$defs": {"x": {}}}},
        {"name": "say no", "description": "Refuse.", "inputSchema": OBJECT},
        {"name": "break", "description": "Answer with an error of the protocol.", "inputSchema": OBJECT},
        {"name": "hop", "description": "The same, of a hop.", "inputSchema": OBJECT},
        {"name": "long", "description": "Much text.", "inputSchema": OBJECT},
        {"name": "media", "description": "What older clients do not know.", "inputSchema": OBJECT},
        {"name": "structured", "description": "An object.", "inputSchema": OBJECT, "x-more": [1.0], "_meta": {"k": 1}},
    ]},
    "resources/list": {"resources": [{"uri": "mem://shared", "name": "shared"}, {"uri": "mem://%s/one" % name, "name": "one", "x": 1}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "mem://%s/t/{id}" % name, "name": "t"}]},
    "prompts/list": {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]},
}
def fail(code, message, data=None):
    return {"error": {"code": code, "message": message, **({} if data is None else {"data": data})}}
def call(params):
    tool, arguments = params["name"], params.get("arguments", {})
    if tool == "add":
        return {"result": {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}}
    if tool == "say no":
        return {"result": {"content": [{"type": "text", "text": "no"}], "isError": True}}
    if tool == "long":
        return {"result": {"content": [{"type": "text", "text": "begin" + "x" * 100000 + "end"}]}}
    if tool == "media":
        return {"result": {"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                                       {"type": "resource_link", "uri": "mem://x", "name": "linked"}]}}
    if tool == "structured":
        return {"result": {"content": [{"type": "text", "text": "{}"}], "structuredContent": {"from": name, "n": [1.0]},
                           "odd": [2.50], "_meta": {"trace": "t1"}}}
    return fail(-32022 if tool == "hop" else -32077 if tool == "never" else -31999, "it broke", {"why": "so"})
def answer(method, params):
    if method == "initialize":
        return {"result": {"protocolVersion": "2025-11-25", "serverInfo": {"name": name, "version": "1"}, "instructions": "Ask " + name,
                "capabilities": {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, **({"completions": {}} if name == "one" else {})}}}
    if method in LISTS:
        return {"result": LISTS[method]}
    if method == "tools/call":
        return call(params)
    if method == "resources/read":
        if "gone" in params["uri"]:
            return fail(-32002, "Resource not found", {"uri": params["uri"]})
        return {"result": {"contents": [{"uri": params["uri"], "text": "of " + name}], "x": params.get("x")}}
    if method == "prompts/get":
        if params["name"] != "greet":
            return fail(-32602, "no such prompt")
        return {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello %s from %s" % (params["arguments"]["who"], name)}}],
                           "saw": sorted(params)}}
    if method == "completion/complete":
        return {"result": {"completion": {"values": [json.dumps(params["ref"], sort_keys=True)], "hasMore": False}}}
    if method == "ping":
        return {"result": {}}
    return fail(-32601, "no such method")
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m and "method" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer(m["method"], m.get("params", {}))}), flush=True)
'''


class Peer:
    """A modern client over HTTP: every request by itself."""

    def __init__(self, gateway, path, who=None):
        self.gateway, self.path, self.who = gateway, path, who

    def send(self, method, params=None):
        """(HTTP status, raw text of the answer)"""
        params = {**(params or {}), "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
            **(params or {}).get("_meta", {})}}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": MODERN, "Mcp-Method": method,
                   "Holdfast-Workspace": self.gateway.box.workspace}
        if self.who:
            headers["X-Holdfast-Agent"] = self.who
        named = params.get("name") or params.get("uri")
        if named and method in ("tools/call", "prompts/get", "resources/read"):
            headers["Mcp-Name"] = named
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        connection.request("POST", self.path, headers=self.gateway.headers(headers),
                           body=json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if (answer.getheader("Content-Type") or "").startswith("text/event-stream"):
            text = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")][-1]
        return answer.status, text

    def ask(self, method, params=None):
        return json.loads(self.send(method, params)[1])

    def result(self, method, params=None):
        answer = self.ask(method, params)
        assert "result" in answer, answer
        assert answer["result"]["resultType"] == "complete", answer
        assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "holdfast", answer
        return answer["result"]

    def error(self, method, params=None):
        return self.ask(method, params)["error"]

    def call(self, name, arguments=None):
        return self.result("tools/call", {"name": name, "arguments": arguments or {}})


class Line:
    """The same questions from a legacy client over stdio."""

    def __init__(self, client):
        self.client = client

    def ask(self, method, params=None):
        return self.client.ask(method, params)

    def result(self, method, params=None):
        answer = self.ask(method, params)
        assert "result" in answer, answer
        assert "resultType" not in answer["result"] and "ttlMs" not in answer["result"], answer
        return answer["result"]

    def error(self, method, params=None):
        return self.ask(method, params)["error"]

    def call(self, name, arguments=None):
        return self.result("tools/call", {"name": name, "arguments": arguments or {}})


def serve(box, servers=("one", "two")):
    """A gateway with these servers behind it, once it knows what they have."""
    script = os.path.join(box.dir, "server.py")
    with open(script, "w") as out:
        out.write(SERVER)
    behind = {name: {"command": sys.executable, "args": [script, name]} for name in servers}
    behind["dead"] = {"command": "/nonexistent/server"}  # it is never waited for
    box.config(AUTO + "mcpServers: " + json.dumps(behind) + "\n")
    gateway = box.serve()
    everything = Peer(gateway, "/mcp/all")

    def known():
        names = [t["name"] for t in everything.result("tools/list")["tools"]]
        return all(name + "__add" in names for name in servers)
    until(known, "what the servers have is known")
    return gateway


def both(surface):
    """The test runs twice: a modern client over HTTP, a legacy one over stdio."""
    def wrap(test):
        @functools.wraps(test)
        def run(box):
            gateway = serve(box)
            path = {"gateway": "/mcp", "proxy": "/mcp/proxy", "all": "/mcp/all"}.get(surface, "/mcp/s/" + surface)
            test(Peer(gateway, path), "modern")
            client = Client(box, "--surface", surface)
            try:
                client.initialize()
                test(Line(client), "legacy")
                assert client.close() == 0
            finally:
                client.process.kill()
                client.process.wait()
        del run.__wrapped__  # it takes a box
        return run
    return wrap


def names(list_, field="name"):
    return [entry[field] for entry in list_]


def refused(result, code):
    assert result["isError"] is True, result
    said = result["structuredContent"]
    assert said["error"] == code and said["message"] and isinstance(said["path"], str), said
    assert set(said) <= {"error", "message", "path", "retryable", "details"}, said
    assert json.loads(result["content"][0]["text"]) == said
    return said


@both("gateway")
def test_the_gateway_finds_runs_and_shows(peer, era):
    tools = peer.result("tools/list")["tools"]
    assert names(tools) == ["tool_browse", "tool_execute", "tool_view"]
    hints = {t["name"]: t["annotations"] for t in tools}
    assert hints["tool_browse"]["readOnlyHint"] and not hints["tool_execute"]["readOnlyHint"]
    assert hints["tool_execute"]["destructiveHint"] and hints["tool_execute"]["openWorldHint"]

    found = peer.call("tool_browse", {"query": "add numbers"})
    ids = names(found["structuredContent"]["cards"], "id")
    one = [i for i in ids if i.startswith("one:add")]
    assert one and one[0] in found["content"][0]["text"], found
    assert "args_schema" not in json.dumps(found)
    done = peer.call("tool_execute", {"tool_id": one[0], "args": {"a": 2, "b": 3}})
    assert not done["isError"] and done["structuredContent"]["status"] == "ok", done
    assert done["structuredContent"]["summary"] == "5"

    said = refused(peer.call("tool_execute", {"tool_id": one[0], "args": {"a": "x"}}), "ARGS_INVALID")
    assert any("/a" in line for line in said["details"]["errors"]), said
    refused(peer.call("tool_execute", {"tool_id": "one:nothing", "args": {}}), "HYDRATE_FAILED")
    assert refused(peer.call("tool_browse", {"path": "//"}), "PATH_INVALID")["path"] == "//"
    refused(peer.call("tool_browse", {"path": "/nowhere"}), "PATH_NOT_FOUND")
    refused(peer.call("tool_browse", {}), "ARGS_INVALID")
    said = refused(peer.call("tool_execute", {"tool_id": "one__break", "args": {}}), "UPSTREAM_ERROR")
    assert said["details"] == {"rpc_code": -31999, "data": {"why": "so"}}, said
    assert peer.error("tools/call", {"name": "one__add", "arguments": {"a": 1, "b": 1}})["code"] == -32602

    kept = peer.call("tool_execute", {"tool_id": "one__structured", "args": {}})["structuredContent"]["artifacts"]
    seen = peer.call("tool_view", {"handle": kept[0]["handle"], "selector": {"type": "pointer", "pointer": "/from"}})
    assert "one" in seen["content"][0]["text"], seen


@both("proxy")
def test_the_proxy_lists_all_and_runs_by_tool_execute(peer, era):
    tools = peer.result("tools/list")["tools"]
    assert names(tools)[:2] == ["tool_execute", "tool_hydrate"] and names(tools)[2:] == sorted(names(tools)[2:])
    add = [t for t in tools if t["name"] == "two__add"][0]
    assert set(add) == {"name", "description", "inputSchema", "_meta"} and add["inputSchema"] == {"type": "object"}
    id = add["_meta"]["holdfast/tool_id"]
    schema = peer.call("tool_hydrate", {"tool_id": id})["structuredContent"]["args_schema"]
    assert schema["required"] == ["a", "b"]
    assert peer.call("tool_execute", {"tool_id": id, "args": {"a": 2, "b": 3}})["content"] == [{"type": "text", "text": "5"}]
    assert "tool_execute" in refused(peer.call("two__add", {"a": 1, "b": 1}), "ARGS_INVALID")["message"]
    refused(peer.call("tool_hydrate", {"tool_id": "nothing"}), "HYDRATE_FAILED")
    assert peer.error("tools/call", {"name": "nothing"})["code"] == -32602


@both("all")
def test_all_has_every_tool_as_it_is(peer, era):
    tools = {t["name"]: t for t in peer.result("tools/list")["tools"]}
    assert {"read_file", "one__add", "two__add"} <= set(tools)
    assert tools["one__add"]["inputSchema"]["$defs"] == {"x": {}}
    assert tools["one__structured"]["x-more"] == [1.0] and tools["one__structured"]["_meta"] == {"k": 1}
    assert peer.call("one__add", {"a": 2, "b": 3})["content"][0]["text"] == "5"
    result = peer.call("two__structured")
    assert result["structuredContent"] == {"from": "two", "n": [1.0]} and result["odd"] == [2.5]
    assert result["_meta"]["trace"] == "t1"
    assert peer.call("one__add", {"a": "x", "b": 1})["isError"] is True
    error = peer.error("tools/call", {"name": "one__break", "arguments": {}})
    assert error["code"] == -31999 and error["data"] == {"why": "so"}, error
    assert peer.call("one__hop")["isError"] is True
    assert peer.error("tools/call", {"name": "one__nothing"})["code"] == -32602


@both("two")
def test_one_server_is_as_it_is_without_us(peer, era):
    tools = peer.result("tools/list")["tools"]
    assert names(tools) == ["add", "break", "hop", "long", "media", "say no", "structured"]
    assert peer.call("add", {"a": 2, "b": 3})["content"][0]["text"] == "5"
    assert peer.call("say no")["isError"] is True
    assert peer.call("structured")["structuredContent"]["from"] == "two"
    assert peer.error("tools/call", {"name": "read_file", "arguments": {"path": "x"}})["code"] == -32602
    assert names(peer.result("prompts/list")["prompts"]) == ["greet"]
    got = peer.result("prompts/get", {"name": "greet", "arguments": {"who": "you"}})
    assert got["messages"][0]["content"]["text"] == "Hello you from two"
    assert peer.result("resources/read", {"uri": "mem://shared"})["contents"][0]["text"] == "of two"
    assert peer.result("resources/read", {"uri": "mem://unlisted"})["contents"][0]["text"] == "of two"
    # This one proposes nothing, and has said so.
    ref = {"type": "ref/prompt", "name": "greet"}
    assert peer.result("completion/complete", {"ref": ref, "argument": {"name": "who", "value": "y"}})["completion"] == {"values": []}


@both("gateway")
def test_resources_prompts_and_completion_of_all_servers(peer, era):
    assert names(peer.result("resources/list")["resources"], "uri") == ["mem://one/one", "mem://shared", "mem://two/one"]
    assert peer.result("resources/list")["resources"][0]["x"] == 1
    assert names(peer.result("resources/templates/list")["resourceTemplates"], "uriTemplate") == [
        "mem://one/t/{id}", "mem://two/t/{id}"]
    for uri, owner in [("mem://shared", "one"), ("mem://two/one", "two"), ("mem://two/t/7", "two"), ("mem://one/t/7", "one")]:
        got = peer.result("resources/read", {"uri": uri, "x": [1]})
        assert got["contents"] == [{"uri": uri, "text": "of " + owner}] and got["x"] == [1], got
    missing = -32602 if era == "modern" else -32002
    for uri in ("mem://nobody", "mem://two/t/gone"):
        error = peer.error("resources/read", {"uri": uri})
        assert error["code"] == missing and error["data"]["uri"] == uri, error

    assert names(peer.result("prompts/list")["prompts"]) == ["one__greet", "two__greet"]
    got = peer.result("prompts/get", {"name": "two__greet", "arguments": {"who": "you"}})
    assert got["messages"][0]["content"]["text"] == "Hello you from two"
    assert {"arguments", "name"} <= set(got["saw"]), got
    assert peer.error("prompts/get", {"name": "greet"})["code"] == -32602

    def proposed(ref):
        return peer.result("completion/complete", {"ref": ref, "argument": {"name": "x", "value": "y"}})["completion"]["values"]
    assert json.loads(proposed({"type": "ref/prompt", "name": "one__greet"})[0]) == {"type": "ref/prompt", "name": "greet"}
    assert json.loads(proposed({"type": "ref/resource", "uri": "mem://one/t/{id}"})[0])["uri"] == "mem://one/t/{id}"
    assert proposed({"type": "ref/prompt", "name": "two__greet"}) == []


def test_lists_are_the_same_bytes_every_time(box):
    gateway = serve(box)
    for path in ("/mcp", "/mcp/proxy", "/mcp/all", "/mcp/s/one", "/mcp/s/builtin"):
        first = Peer(gateway, path).send("tools/list")
        assert first[0] == 200 and first == Peer(gateway, path).send("tools/list")


def test_a_surface_nobody_has_is_named(box):
    gateway = serve(box)
    status, text = Peer(gateway, "/mcp/s/nobody").send("tools/list")
    assert status == 404 and "builtin" in text, (status, text)
    assert box.run("mcp", "--surface", "nobody", stdin="").returncode != 0


def test_what_a_surface_says_of_itself(box):
    gateway = serve(box)
    everything = {"tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True},
                  "prompts": {"listChanged": True}, "completions": {}, "logging": {}}
    assert Peer(gateway, "/mcp/all").result("server/discover")["capabilities"] == everything
    about = Peer(gateway, "/mcp").result("server/discover")
    assert about["capabilities"] == {**everything, "tools": {}} and "tool_browse" in about["instructions"]
    assert "tool_hydrate" in Peer(gateway, "/mcp/proxy").result("server/discover")["instructions"]
    about = Peer(gateway, "/mcp/s/two").result("server/discover")
    assert set(about["capabilities"]) == {"tools", "resources", "prompts"} and about["instructions"] == "Ask two"
    assert set(Peer(gateway, "/mcp/s/builtin").result("server/discover")["capabilities"]) == {"tools"}


def test_each_surface_shows_as_much_as_it_should(box):
    gateway = serve(box, ("one",))
    whole = Peer(gateway, "/mcp/s/one").call("long")
    assert len(whole["content"][0]["text"]) == 100008 and "_meta" in whole
    ends = Peer(gateway, "/mcp/proxy").call("tool_execute", {"tool_id": "one__long", "args": {}})
    text = ends["content"][0]["text"]
    assert text.startswith("begin") and text.endswith("end") and len(text) < 40000
    assert ends["_meta"]["holdfast/artifacts"][0]["handle"].startswith("art_"), ends["_meta"]
    envelope = Peer(gateway, "/mcp").call("tool_execute", {"tool_id": "one__long", "args": {}})
    assert len(json.dumps(envelope)) < 20000, len(json.dumps(envelope))
    handle = envelope["structuredContent"]["artifacts"][0]["handle"]
    tail = Peer(gateway, "/mcp").call("tool_view", {"handle": handle, "selector": {"type": "tail", "chars": 4}})
    assert "xend" in tail["content"][0]["text"], tail


def test_an_old_client_gets_words_for_what_it_does_not_know(box):
    serve(box, ("one",))
    for version, kinds in [("2024-11-05", ["text", "text"]), ("2025-03-26", ["audio", "text"]), ("2025-06-18", ["audio", "resource_link"])]:
        client = Client(box, "--surface", "one")
        try:
            assert client.initialize(version)["protocolVersion"] == version
            content = client.call("media")["result"]["content"]
            assert [b["type"] for b in content] == kinds, (version, content)
            assert client.close() == 0
        finally:
            client.process.kill()
            client.process.wait()
