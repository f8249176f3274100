"""MCP over HTTP of both eras, spoken by hand: statuses, sessions, streams and how they are taken up again, questions (issue 5)."""
import functools
import http.client
import itertools
import json
import os
import re
import shlex
import sys
import threading
import time
from urllib.parse import quote

from lib import processes_with, until

MODERN, LEGACY = "2026-07-28", "2025-11-25"
PREFIX = "io.modelcontextprotocol/"
META = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
AUTO = "tool_confirmation: {default: {WRITE: auto, EXECUTE: auto, NETWORK: auto}}\n"
BOTH = "application/json, text/event-stream"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
FORM = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


class Answer:
    """What came back: status, headers, and messages as they come."""

    def __init__(self, connection):
        self.connection = connection
        self.raw = connection.getresponse()
        self.status = self.raw.status
        self.type = self.raw.getheader("Content-Type") or ""
        self.ids = []
        self.text = b"" if self.streams else self.raw.read()

    @property
    def streams(self):
        return self.type.startswith("text/event-stream")

    def header(self, name):
        return self.raw.getheader(name)

    def events(self):
        """(id, retry, data) of each event; data is None where it is empty."""
        event, end = {}, time.monotonic() + 30
        while True:
            assert time.monotonic() < end, "signs of life are not enough"
            line = self.raw.readline()
            if not line:
                return
            line = line.decode().rstrip("\r\n")
            if line == "" and event:
                if "id" in event:
                    self.ids.append(event["id"])
                yield event.get("id"), event.get("retry"), json.loads(event["data"]) if event.get("data") else None
                event = {}
            elif line and not line.startswith(":"):
                field, _, value = line.partition(":")
                event[field] = value.strip()

    def messages(self):
        for _, _, data in self.events():
            if data is not None:
                yield data

    def message(self):
        """The one message of a plain answer, or the next of a stream."""
        if not self.streams:
            return json.loads(self.text)
        return next(self.messages())

    def last(self):
        return json.loads(self.text) if not self.streams else list(self.messages())[-1]

    def close(self):
        self.connection.close()


class Peer:
    """Requests to one path."""

    def __init__(self, gateway, path="/mcp/all", workspace=True):
        self.gateway = gateway
        self.path = path + ("?workspace=" + quote(gateway.box.workspace) if workspace is True else "")
        self.headers = {}

    def send(self, method, body=None, headers=None, timeout=30):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=timeout)
        send = {"Accept": BOTH, **self.headers, **(headers or {})}
        if body is not None:
            send.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method, self.path, body=body, headers=self.gateway.headers({k: v for k, v in send.items() if v is not None}))
        return Answer(connection)

    def post(self, body, headers=None, **more):
        return self.send("POST", body, headers, **more)


class Modern(Peer):
    def __init__(self, *args, capabilities=None, **more):
        super().__init__(*args, **more)
        self.capabilities = capabilities or {}

    def request(self, method, params=None, id=1, meta=None, headers=None, **more):
        """Whole and right, but for what is said otherwise; a value of None leaves something out."""
        params = dict(params or {})
        whole = {**META, PREFIX + "clientCapabilities": self.capabilities, **(meta or {})}
        params["_meta"] = {k: v for k, v in whole.items() if v is not None}
        send = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if method in NAMED and isinstance(params.get(NAMED[method]), str):
            send["Mcp-Name"] = params[NAMED[method]]
        return self.post({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, {**send, **(headers or {})}, **more)

    def call(self, name, arguments=None, **more):
        extra = more.pop("extra", {})
        return self.request("tools/call", {"name": name, "arguments": arguments or {}, **extra}, **more)

    def result(self, method, params=None, **more):
        answer = self.request(method, params, **more).last()
        assert "result" in answer, answer
        return answer["result"]


class Session(Peer):
    """A legacy client."""

    def __init__(self, *args, version=LEGACY, capabilities=None, **more):
        super().__init__(*args, **more)
        answer = self.initialize(version, capabilities or {})
        self.id = answer.header("Mcp-Session-Id")
        self.hello = answer.message()["result"]
        self.headers = {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": version}
        assert self.note("notifications/initialized").status == 202

    def initialize(self, version, capabilities):
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}
        return self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})

    def request(self, method, params=None, id=1, **more):
        return self.post({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}, **more)

    def call(self, name, arguments=None, **more):
        return self.request("tools/call", {"name": name, "arguments": arguments or {}, **more.pop("extra", {})}, **more)

    def note(self, method, params=None, **more):
        return self.post({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}, **more)

    def answer(self, id, result):
        return self.post({"jsonrpc": "2.0", "id": id, "result": result})

    def listen(self, **headers):
        return self.send("GET", headers={"Accept": "text/event-stream", **{k.replace("_", "-"): v for k, v in headers.items()}})


# A legacy server that wants things while it works, and tells when its lists change.
SERVER = r'''
import json, os, sys, threading, time
lock, waiting, subscribed, visits = threading.Lock(), {}, [], []
def write(message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def ask(method, params):
    id = "s%d" % len(waiting)
    waiting[id] = [threading.Event(), None]
    write({"id": id, "method": method, "params": params})
    waiting[id][0].wait()
    return waiting[id][1]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
KEY = "AKIAIOSFODNN7EXAMPLQ"
def text(value):
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value, sort_keys=True)}]}
def call(params):
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "form":
        return text(ask("elicitation/create", {"message": "Who?", "requestedSchema": SCHEMA}))
    if name == "sure":
        return text(ask("elicitation/create", {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}))
    if name == "meta":
        return {**text(sorted(params.get("_meta", {}))), "_meta": {"mine": 1, "holdfast/cached": True, "holdfast/effect_id": "eff_0"}}
    if name == "twice":
        first = ask("elicitation/create", {"message": "Who?", "requestedSchema": SCHEMA})
        return text([first, ask("elicitation/create", {"message": "And who else?", "requestedSchema": SCHEMA})])
    if name == "form_then_model":
        first = ask("elicitation/create", {"message": "Who?", "requestedSchema": SCHEMA})
        return text([first, ask("sampling/createMessage", {"messages": [], "maxTokens": 5})])
    if name == "complete":
        write({"method": "notifications/elicitation/complete", "params": {"elicitationId": arguments["id"]}})
        return text("told")
    if name == "url_first":
        raise LookupError("e3")
    if name == "url_until":
        visits.append(1)
        if len(visits) < 3:
            raise LookupError("e4")
        return text("been there")
    if name == "url_done":
        ask("elicitation/create", {"mode": "url", "elicitationId": "e2", "url": "https://example.org/", "message": "Go"})
        write({"method": "notifications/elicitation/complete", "params": {"elicitationId": "e2"}})
        return text("done")
    if name == "url":
        return text(ask("elicitation/create", {"mode": "url", "elicitationId": "e1", "url": "https://example.org/", "message": "Go"}))
    if name == "model":
        return text(ask("sampling/createMessage", {"messages": [], "maxTokens": 5}))
    if name == "progress":
        for n in (1, 2, 3):
            write({"method": "notifications/progress", "params": {"progressToken": token, "progress": n, "total": 3}})
        return text("done %r" % (token is not None))
    if name == "log":
        for level in ("debug", "warning"):
            write({"method": "notifications/message", "params": {"level": level, "logger": "s", "data": level}})
        return text("logged")
    if name == "log_when_told":
        write({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        while not os.path.exists(arguments["go"]):
            time.sleep(0.01)
        for level in ("debug", "warning"):
            write({"method": "notifications/message", "params": {"level": level, "data": level}})
        return text("logged")
    if name == "subscribed":
        return text(subscribed)
    if name == "drop":
        LISTS["resources/list"]["resources"] = [r for r in LISTS["resources/list"]["resources"] if r["uri"] != arguments["uri"]]
        write({"method": "notifications/resources/list_changed"})
        return text("dropped")
    if name == "big":
        write({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        return text("0123456789abcdef" * 180000)
    if name == "keys":
        return {"content": [{"type": "text", "text": "x" * arguments["length"]}, {"type": "resource", "resource": {"uri": "mem://a", "text": KEY}},
                            {"type": "image", "mimeType": "image/png", "data": KEY}],
                "structuredContent": {"data": {"token": KEY}, "blob": KEY}}
    if name == "prompts":
        LISTS["prompts/list"]["prompts"].append({"name": "p%d" % len(LISTS["prompts/list"]["prompts"])})
        write({"method": "notifications/prompts/list_changed"})
        return text("told")
    if name == "update":
        write({"method": "notifications/resources/updated", "params": {"uri": arguments["uri"]}})
        return text("told")
    return {**text("?"), "isError": True}
def tool(name, **more):
    return {"name": name, "description": name, "inputSchema": {"type": "object", **more}}
HEADER = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
LISTS = {
    "tools/list": {"tools": [tool(n) for n in ("form", "twice", "url", "model", "progress", "log", "prompts", "update", "big", "keys", "sure", "meta",
                                               "form_then_model", "url_done", "url_first", "complete", "log_when_told", "subscribed", "drop", "url_until")] + [tool("marked", **HEADER)]},
    "prompts/list": {"prompts": [{"name": "p"}]},
    "resources/list": {"resources": [{"uri": "mem://a", "name": "a"}, {"uri": "mem://b", "name": "b"}]},
    "resources/templates/list": {"resourceTemplates": []},
}
def answer(m):
    method, params = m["method"], m.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "1"}, "capabilities":
                  {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}}}
    elif method in LISTS:
        result = LISTS[method]
    elif method == "tools/call":
        try:
            result = call(params)
        except LookupError as id:
            write({"id": m["id"], "error": {"code": -32042, "message": "go there first", "data": {"elicitations": [
                {"mode": "url", "elicitationId": str(id), "url": "https://example.org/", "message": "Go"}]}}})
            return
    elif method in ("resources/subscribe", "resources/unsubscribe"):
        (subscribed.append if method == "resources/subscribe" else subscribed.remove)(params["uri"])
        result = {}
    elif method in ("ping", "logging/setLevel"):
        result = {}
    else:
        write({"id": m["id"], "error": {"code": -32601, "message": "no such method"}})
        return
    write({"id": m["id"], "result": result})
for line in sys.stdin:
    m = json.loads(line)
    if "method" in m and "id" in m:
        threading.Thread(target=answer, args=(m,), daemon=True).start()
    elif "id" in m and m["id"] in waiting:
        waiting[m["id"]][1] = m.get("result", m.get("error"))
        waiting[m["id"]][0].set()
'''


def with_server(box, policy=AUTO, others=""):
    """A gateway with that server behind it, once its tools are known; and others, as the configuration says it."""
    path = os.path.join(box.dir, "server.py")
    with open(path, "w") as out:
        out.write(SERVER)
    box.config(policy + "mcpServers: {s: {command: %s, args: [%s]}%s}\n" % (json.dumps(sys.executable), json.dumps(path), others))
    gateway = box.serve()
    until(lambda: any(t["name"] == "s__form" for t in Modern(gateway).result("tools/list")["tools"]), "its tools are listed")
    until(lambda: "mem://a" in json.dumps(Modern(gateway).result("resources/list")), "and its resources")
    until(lambda: Modern(gateway).result("prompts/list")["prompts"], "and its prompts")
    return gateway


def auto(test):
    @functools.wraps(test)
    def run(box):
        box.config(AUTO)
        test(box, box.serve())
    return run


# ---- the modern era ----


@auto
def test_a_modern_client_needs_nothing_but_its_request(box, gateway):
    box.write("a.txt", "alpha")
    peer = Modern(gateway)
    found = peer.result("server/discover")
    assert found["supportedVersions"] == [MODERN] and "tools" in found["capabilities"] and found["instructions"]
    tools = peer.result("tools/list")
    for result in (found, tools):
        assert result["resultType"] == "complete" and result["ttlMs"] == 0 and result["cacheScope"] == "private"
        assert result["_meta"][PREFIX + "serverInfo"]["name"] == "holdfast"
    answer = peer.call("read_file", {"path": "a.txt"})
    assert answer.status == 200 and answer.header("Mcp-Session-Id") is None
    result = answer.message()["result"]
    assert result["content"] == [{"type": "text", "text": "alpha"}] and not result["isError"] and "ttlMs" not in result


@auto
def test_every_row_of_the_table_of_statuses(box, gateway):
    peer = Modern(gateway)
    good = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": META}}
    head = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}

    def is_error(answer, status, code, id=7):
        assert (answer.status, answer.message()["error"]["code"], answer.message()["id"]) == (status, code, id), (answer.status, answer.text)
        assert answer.message()["error"]["message"]
        return answer.message()["error"].get("data")
    is_error(peer.post("{nonsense", head), 400, -32700, None)
    is_error(peer.post("", {**head, "Content-Type": "application/json"}), 400, -32700, None)
    is_error(peer.post([good], head), 400, -32600, None)
    is_error(peer.post("7", head), 400, -32600, None)
    is_error(peer.post({"jsonrpc": "2.0", "id": 7, "result": {}}, head), 400, -32600, None)
    for meta in (None, {}, {PREFIX + "clientCapabilities": {}}):
        params = {} if meta is None else {"_meta": meta}
        is_error(peer.post({**good, "params": params}, head), 400, -32602)
    is_error(peer.post({**good, "params": {"_meta": {PREFIX + "protocolVersion": MODERN}}}, head), 400, -32602)
    is_error(peer.request("tools/list", id=7, meta={PREFIX + "protocolVersion": 7}), 400, -32602)
    for wrong in ({"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": LEGACY}, {"Mcp-Method": None}, {"Mcp-Method": "tools/call"},
                  {"Mcp-Method": "TOOLS/LIST"}):
        is_error(peer.request("tools/list", id=7, headers=wrong), 400, -32020)
    for wrong in ({"Mcp-Name": None}, {"Mcp-Name": "shell"}, {"Mcp-Name": "=?base64?bGlz!!!?="}):
        is_error(peer.call("list_dir", id=7, headers=wrong), 400, -32020)
    data = is_error(peer.request("tools/list", id=7, meta={PREFIX + "protocolVersion": "2099-01-01"}, headers={"MCP-Protocol-Version": "2099-01-01"}), 400, -32022)
    assert data == {"supported": [MODERN], "requested": "2099-01-01"}
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/method", "notifications/initialized"):
        is_error(peer.request(method, id=7), 404, -32601)
    is_error(peer.call("no_such_tool", id=7), 200, -32602)
    is_error(peer.request("tools/list", {"cursor": "made up"}, id=7), 200, -32602)
    is_error(peer.request("tools/list", id=7, meta={PREFIX + "logLevel": "loud"}), 200, -32602)
    is_error(peer.request("tools/call", {"name": "list_dir", "inputResponses": None}, id=7), 200, -32602)
    assert peer.call("read_file", {"path": 7}).message()["result"]["isError"]
    assert peer.request("tools/list", headers={"Origin": "http://evil.example.com"}).status == 403
    assert peer.request("tools/list", headers={"Host": "evil.example.com"}).status == 403
    assert peer.request("tools/list", headers={"Content-Type": "text/plain"}).status == 415
    assert peer.request("tools/list", headers={"Authorization": "Bearer wrong"}).status == 401
    for method in ("GET", "DELETE"):
        refused = peer.send(method)
        assert refused.status == 405 and refused.header("Allow") == "POST"
        assert peer.send(method, headers={"MCP-Protocol-Version": MODERN, "Mcp-Session-Id": "x"}).status == 405
    is_error(Modern(gateway, "/mcp/s/builtin").request("nope", id=7), 404, -32601)
    assert Modern(gateway, "/mcp/s/nobody").request("tools/list").status == 404


@auto
def test_what_headers_say_may_be_written_in_other_ways(box, gateway):
    box.write("a.txt", "alpha")
    peer = Modern(gateway)
    for headers in ({"Mcp-Name": "  read_file\t"}, {"Mcp-Name": "=?base64?cmVhZF9maWxl?="}, {"Mcp-Name": None, "MCP-NAME": "read_file"},
                    {"Mcp-Method": None, "mcp-method": " tools/call "}):
        assert peer.call("read_file", {"path": "a.txt"}, headers=headers).message()["result"]["content"][0]["text"] == "alpha", headers


@auto
def test_notes_are_taken_and_old_means_are_passed_over(box, gateway):
    peer = Modern(gateway)
    for headers in ({}, {"MCP-Protocol-Version": MODERN}):
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, **({} if headers else {"_meta": META})}}
        answer = peer.post(note, headers)
        assert (answer.status, answer.text) == (202, b"")
    answer = peer.request("tools/list", headers={"Mcp-Session-Id": "stale", "Last-Event-ID": "1-1"})
    assert answer.status == 200 and answer.header("Mcp-Session-Id") is None


@auto
def test_a_slow_answer_becomes_a_stream_without_ids(box, gateway):
    answer = Modern(gateway).call("shell", {"command": "sleep 6; echo late"})
    assert answer.streams and answer.header("X-Accel-Buffering") == "no"
    assert "late" in answer.last()["result"]["content"][0]["text"] and answer.ids == []
    plain = Modern(gateway).call("shell", {"command": "sleep 6; echo late"}, headers={"Accept": "application/json"})
    assert not plain.streams and "late" in plain.message()["result"]["content"][0]["text"]


@auto
def test_to_hang_up_is_to_cancel(box, gateway):
    mark = "100005.%d" % os.getpid()
    peer = Modern(gateway)
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port)
    connection.request("POST", peer.path, headers=gateway.headers({
        "Content-Type": "application/json", "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "shell"}),
        body=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "shell", "arguments": {"command": "sleep " + mark}, "_meta": META}}))
    until(lambda: processes_with("sleep\0" + mark), "it runs")
    connection.close()
    until(lambda: not processes_with(mark), "it has ended")


@auto
def test_modern_clients_share_a_session_but_not_their_ids(box, gateway):
    peer = Modern(gateway)
    slow = threading.Thread(target=lambda: peer.call("shell", {"command": "until [ -e go ]; do sleep 0.05; done"}, id=1))
    slow.start()
    until(lambda: gateway.ok("GET", "/calls")["calls"], "it runs")
    assert "result" in peer.call("list_dir", id=1).message()
    sessions = gateway.ok("GET", "/sessions")["sessions"]
    assert len(sessions) == 1
    box.write("go", "")
    slow.join()
    gateway.ok("DELETE", "/sessions/" + sessions[0]["session_id"])  # from elsewhere: the next one opens another
    assert "result" in peer.call("list_dir").message()


def test_the_workspace_is_named_by_address_header_or_configuration(box):
    box.config(AUTO)
    gateway = box.serve("--workspace", box.make_dir("own"))
    other = box.make_dir("other")
    open(os.path.join(other, "o"), "w").close()
    open(os.path.join(box.make_dir("own"), "w"), "w").close()

    def seen(path, headers=None, workspace=False):
        return Modern(gateway, path, workspace=workspace).call("list_dir", headers=headers).message()["result"]["content"][0]["text"]
    box.write("here", "")
    assert seen("/mcp/all", workspace=True) == "here"
    assert seen("/mcp/all?workspace=" + quote(other)) == "o"
    assert seen("/mcp/all", {"Holdfast-Workspace": other}) == "o"
    assert seen("/mcp/all") == "w"
    for bad in ("relative", "", "/no/such/dir", "/" * 5000):
        answer = Modern(gateway, "/mcp/all", workspace=False).call("list_dir", headers={"Holdfast-Workspace": bad or None})
        if bad:
            assert answer.status == 400 and answer.message()["id"] == 1 and answer.message()["error"]["code"] == -32602, bad


# ---- the legacy era ----


@auto
def test_a_legacy_session_from_beginning_to_end(box, gateway):
    box.write("a.txt", "alpha")
    c = Session(gateway)
    assert re.fullmatch(r"[\x21-\x7e]{32,}", c.id)
    assert c.hello["protocolVersion"] == LEGACY and c.hello["serverInfo"]["name"] == "holdfast"
    assert c.request("ping").message() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    result = c.call("read_file", {"path": "a.txt"}).message()["result"]
    assert result == {"content": [{"type": "text", "text": "alpha"}], "isError": False}
    shown = gateway.ok("GET", "/sessions")["sessions"]
    assert [s["client"] for s in shown] == ["t 1"]
    assert c.send("DELETE").status == 204
    for again in (c.request("ping"), c.send("DELETE"), c.listen(), c.note("notifications/initialized")):
        assert again.status == 404, again.text
    assert gateway.ok("GET", "/sessions")["sessions"] == []


@auto
def test_a_session_is_asked_for_and_must_be_right(box, gateway):
    c = Session(gateway)
    ping = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
    for headers, status in (({"Mcp-Session-Id": None}, 400), ({"Mcp-Session-Id": "0" * 32}, 404), ({"Mcp-Session-Id": ""}, 404),
                            ({"MCP-Protocol-Version": "1999-01-01"}, 400), ({"MCP-Protocol-Version": None}, 200), ({"MCP-Protocol-Version": "2025-03-26"}, 200)):
        answer = c.post(ping, headers)
        assert answer.status == status and answer.message()["id"] == 3, (headers, answer.text)
    other = Peer(gateway, "/mcp/proxy")
    assert other.post(ping, c.headers).status == 404, "a session belongs to its surface"
    assert c.post([ping]).status == 400 and c.post([ping]).message()["error"]["code"] == -32600
    assert c.post(ping, {"MCP-Protocol-Version": MODERN}).message()["error"]["code"] == -32602
    assert c.request("nope").status == 200 and c.request("nope").message()["error"]["code"] == -32601
    assert c.request("server/discover").message()["error"]["code"] == -32601
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": LEGACY, "capabilities": {}}}
    answer = Peer(gateway).post(begin, {"MCP-Protocol-Version": MODERN})
    assert answer.status == 400 and answer.message()["error"]["code"] == -32020
    answer = Peer(gateway).post({**begin, "params": {}})
    assert answer.message()["error"]["code"] == -32602 and answer.header("Mcp-Session-Id") is None
    assert len(gateway.ok("GET", "/sessions")["sessions"]) == 1, "an initialize that failed leaves nothing"
    asked = Peer(gateway).post({**begin, "params": {"protocolVersion": MODERN, "capabilities": {}}}).message()
    assert asked["result"]["protocolVersion"] == LEGACY


@auto
def test_a_probe_of_the_other_era_pins_nothing(box, gateway):
    assert Modern(gateway).request("server/discover", id="server-discover-probe-1").message()["id"] == "server-discover-probe-1"
    c = Session(gateway)
    assert Modern(gateway).result("tools/list", headers=c.headers and {"Mcp-Session-Id": c.id})["tools"]
    assert c.request("tools/list").message()["result"]["tools"]


@auto
def test_ids_are_unique_in_a_session_while_they_are_open(box, gateway):
    c = Session(gateway)
    answers = []
    first = threading.Thread(target=lambda: answers.append(c.call("shell", {"command": "until [ -e go ]; do sleep 0.05; done; echo first"}, id=7).last()))
    first.start()
    until(lambda: gateway.ok("GET", "/calls")["calls"], "it runs")
    refused = c.call("shell", {"command": "touch second"}, id=7)
    assert refused.status == 400 and refused.message()["error"]["code"] == -32600 and refused.message()["id"] is None
    box.write("go", "")
    first.join()
    assert "first" in answers[0]["result"]["content"][0]["text"] and not box.exists("second")


@auto
def test_a_slow_answer_can_be_taken_up_again(box, gateway):
    c = Session(gateway)
    answer = c.call("shell", {"command": "until [ -e go ]; do sleep 0.05; done; echo late"}, id="slow")
    id, retry, data = next(answer.events())
    assert answer.streams and id and int(retry) > 0 and data is None, "the first event only has an id"
    answer.close()  # no cancel
    box.write("go", "")
    until(lambda: not gateway.ok("GET", "/calls")["calls"], "it is over")
    other = Session(gateway)
    assert other.listen(Last_Event_ID=id).status == 400, "somebody else's stream is nobody's"
    again = c.listen(Last_Event_ID=id)
    got = list(again.messages())
    assert len(got) == 1 and got[0]["id"] == "slow" and "late" in got[0]["result"]["content"][0]["text"]
    until(lambda: c.listen(Last_Event_ID=id).status == 400, "what was delivered is gone")
    for odd in ("x", "1", "-", "99-1", id + "x"):
        assert c.listen(Last_Event_ID=odd).status == 400, odd


@auto
def test_it_can_be_taken_up_while_it_runs(box, gateway):
    c = Session(gateway)
    answer = c.call("shell", {"command": "until [ -e go ]; do sleep 0.05; done; echo late"})
    id, _, _ = next(answer.events())
    answer.close()
    again = c.listen(Last_Event_ID=id)
    box.write("go", "")
    assert "late" in again.last()["result"]["content"][0]["text"]


@auto
def test_older_clients_get_no_event_without_data(box, gateway):
    c = Session(gateway, version="2025-06-18")
    answer = c.call("shell", {"command": "sleep 6; echo late"})
    events = list(answer.events())
    assert answer.streams and all(data for _, _, data in events) and "late" in events[-1][2]["result"]["content"][0]["text"]


@auto
def test_a_legacy_peer_that_goes_away_cancels_nothing_but_a_note_does(box, gateway):
    mark = "100006.%d" % os.getpid()
    c = Session(gateway)
    answer = c.call("shell", {"command": "sleep " + mark}, id=5)
    next(answer.events())
    answer.close()
    assert c.request("ping").status == 200
    assert processes_with("sleep\0" + mark)
    assert c.note("notifications/cancelled", {"requestId": 5}).status == 202
    until(lambda: not processes_with(mark), "it has ended")
    waiting = c.call("shell", {"command": "sleep " + mark}, id=6)
    assert waiting.streams
    c.note("notifications/cancelled", {"requestId": 6})
    assert list(waiting.messages()) == [], "no answer, and the stream ends"


@auto
def test_a_session_that_ends_answers_what_is_open(box, gateway):
    mark = "100007.%d" % os.getpid()
    c = Session(gateway)
    waiting = c.call("shell", {"command": "sleep " + mark})
    listening = c.listen()
    assert c.send("DELETE").status == 204
    assert "error" in waiting.last()
    assert all("method" not in m for m in listening.messages())
    until(lambda: not processes_with(mark), "its command has ended")


@auto
def test_one_connection_serves_many_requests_of_both_eras(box, gateway):
    c, peer = Session(gateway), Modern(gateway)
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)
    for n in range(20):
        headers = gateway.headers({"Content-Type": "application/json", "Accept": BOTH})
        body = {"jsonrpc": "2.0", "id": n, "method": "tools/list"}
        if n % 2:
            headers.update({"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"})
            body["params"] = {"_meta": META}
        else:
            headers.update(c.headers)
        connection.request("POST", peer.path, body=json.dumps(body), headers=headers)
        answer = json.loads(connection.getresponse().read())
        assert answer["id"] == n and ("resultType" in answer["result"]) == bool(n % 2)
    connection.close()


def test_big_answers_pass_also_through_streams(box):
    gateway = with_server(box)
    for peer in (Session(gateway), Modern(gateway)):
        for meta, streams in (({}, False), ({"progressToken": 1}, True)):
            more = {"meta": meta} if isinstance(peer, Modern) else {"extra": {"_meta": meta}}
            answer = peer.call("s__big", **more)
            assert answer.streams == streams and len(answer.last()["result"]["content"][0]["text"]) == 16 * 180000


# ---- what is told unasked ----


def test_listening_is_acknowledged_tagged_and_filtered(box):
    gateway = with_server(box)
    peer = Modern(gateway)
    stream = peer.request("subscriptions/listen", {"notifications": {
        "promptsListChanged": True, "toolsListChanged": False, "resourceSubscriptions": ["mem://a", "mem://nobody"], "odd": 1}}, id="listen:0")
    messages = stream.messages()
    tag = {PREFIX + "subscriptionId": "listen:0"}
    assert next(messages) == {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
        "_meta": tag, "notifications": {"promptsListChanged": True, "resourceSubscriptions": ["mem://a"]}}}
    numbered = peer.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=12)
    assert numbered.message()["params"]["_meta"] == {PREFIX + "subscriptionId": 12}
    peer.call("s__update", {"uri": "mem://b"})
    peer.call("s__update", {"uri": "mem://a"})
    assert next(messages) == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "mem://a", "_meta": tag}}
    peer.call("s__prompts")
    assert next(messages) == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed", "params": {"_meta": tag}}
    numbered.close()
    stopping = threading.Thread(target=gateway.stop)
    stopping.start()
    end = list(messages)[-1]
    stopping.join()
    assert end["id"] == "listen:0" and end["result"]["resultType"] == "complete" and end["result"]["_meta"][PREFIX + "subscriptionId"] == "listen:0"


@auto
def test_a_filter_that_is_none_is_refused(box, gateway):
    peer = Modern(gateway)
    for filter in (None, [], {"toolsListChanged": 1}, {"resourceSubscriptions": "x"}, {"resourceSubscriptions": [7]}):
        answer = peer.request("subscriptions/listen", {} if filter is None else {"notifications": filter})
        assert answer.last()["error"]["code"] == -32602, filter
    assert "error" in peer.request("subscriptions/listen", {"notifications": {}}, headers={"Accept": "application/json"}).last()


def test_legacy_clients_hear_what_they_subscribed_to(box):
    gateway = with_server(box)
    c, deaf = Session(gateway), Session(gateway)
    stream = c.listen()
    messages = stream.messages()
    assert c.request("resources/subscribe", {"uri": "mem://a"}).message()["result"] == {}
    assert c.request("resources/subscribe", {"uri": "mem://nobody"}).message()["error"]["code"] == -32002
    assert c.request("logging/setLevel", {"level": "warning"}).message()["result"] == {}
    assert c.request("logging/setLevel", {"level": "loud"}).message()["error"]["code"] == -32602
    deaf.call("s__update", {"uri": "mem://a"})
    assert next(messages) == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "mem://a"}}
    deaf.call("s__prompts")
    assert next(messages)["method"] == "notifications/prompts/list_changed"
    last = stream.ids[-1]
    stream.close()
    until(lambda: c.request("resources/unsubscribe", {"uri": "mem://b"}).message()["result"] == {}, "what was never subscribed to can be left")
    deaf.call("s__update", {"uri": "mem://a"})
    again = c.listen(Last_Event_ID=last)
    assert next(again.messages())["params"] == {"uri": "mem://a"}
    other = c.listen()
    assert list(again.messages()) == [], "there is one reader"
    deaf.call("s__update", {"uri": "mem://a"})
    assert next(other.messages())["params"] == {"uri": "mem://a"}


def test_progress_and_messages_go_with_the_request(box):
    gateway = with_server(box)
    for token in ("t-1", 0, 77):
        answer = Modern(gateway).call("s__progress", extra={"_meta": {}}, meta={"progressToken": token})
        got = list(answer.messages())
        assert [m["params"]["progress"] for m in got[:-1]] == [1, 2, 3] and all(m["params"]["progressToken"] == token for m in got[:-1])
    assert not Modern(gateway).call("s__progress").streams, "nobody asked for it"
    assert not Modern(gateway).call("s__log").streams
    got = list(Modern(gateway).call("s__log", meta={PREFIX + "logLevel": "info"}).messages())
    assert [m["params"]["level"] for m in got[:-1]] == ["warning"]
    c = Session(gateway)
    assert not c.call("s__log").streams
    c.request("logging/setLevel", {"level": "debug"})
    got = [m for m in c.call("s__log").messages()]
    assert [m["params"]["level"] for m in got[:-1]] == ["debug", "warning"]


def test_what_headers_repeat_of_arguments_is_checked(box):
    gateway = with_server(box)
    peer = Modern(gateway)
    for value, header, fits in (("eu", "eu", True), ("eu", "us", False), ("eu", None, False), (None, "eu", False), (None, None, True),
                                ("Zürich", "=?base64?WsO8cmljaA==?=", True), ("Zürich", "=?base64?WsO8cmljaA?=", False)):
        headers = {"Mcp-Param-Region": header} if header else {}
        answer = peer.call("s__marked", {} if value is None else {"region": value}, headers=headers)
        if fits:
            assert answer.status == 200, (value, header, answer.text)
        else:
            assert answer.status == 400 and answer.message()["error"]["code"] == -32020, (value, header, answer.text)
    assert Session(gateway).call("s__marked", {"region": "eu"}).status == 200, "the other era has no such headers"


# ---- what clients are asked ----


def test_a_server_asks_a_legacy_client(box):
    gateway = with_server(box)
    c = Session(gateway, capabilities=FORM)
    for tool, method, result in (("s__form", "elicitation/create", {"action": "accept", "content": {"name": "Ada"}}),
                                 ("s__url", "elicitation/create", {"action": "decline"}),
                                 ("s__model", "sampling/createMessage", {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"})):
        answer = c.call(tool)
        messages = answer.messages()
        asked = next(messages)
        assert asked["method"] == method and asked["id"] not in (None, 1), asked
        if tool != "s__model":
            assert asked["params"]["message"].startswith("s asks: ")
        if tool == "s__url":
            assert asked["params"]["elicitationId"] and asked["params"]["url"] == "https://example.org/"
        assert Session(gateway).answer(asked["id"], result).status == 202  # somebody else's answer is none
        assert c.answer("hf-999", result).status == 202
        assert c.answer(asked["id"], result).status == 202
        got = next(messages)
        assert json.loads(got["result"]["content"][0]["text"]) == result, tool
    plain = Session(gateway)
    assert plain.call("s__form").last()["id"] == 1, "who declared nothing is not asked"


def state_of(answer):
    result = answer.last()["result"]
    assert result["resultType"] == "input_required", result
    return result["inputRequests"], result["requestState"]


def test_a_server_asks_a_modern_client(box):
    gateway = with_server(box)
    peer = Modern(gateway, capabilities=FORM)
    asked, state = state_of(peer.call("s__form", id=1))
    (key, form), = asked.items()
    assert form["method"] == "elicitation/create" and form["params"]["message"] == "s asks: Who?"
    assert re.fullmatch(r"v1\.[\w-]+\.[\w-]+", state)
    answer = {key: {"action": "accept", "content": {"name": "Ada"}}}

    def retry(extra, **more):
        return peer.call("s__form", extra=extra, id=2, **more)
    bad = [state + "-TAMPERED", state[:-2], "", "v1..", state.replace("v1", "v2"), 7, state[:10] + ("A" if state[10] != "A" else "B") + state[11:]]
    for forged in bad:
        assert retry({"requestState": forged, "inputResponses": answer}).last()["error"]["code"] == -32602, forged
    assert peer.call("s__url", extra={"requestState": state, "inputResponses": answer}).last()["error"]["code"] == -32602, "another request's"
    assert retry({"requestState": state, "inputResponses": answer, "arguments": {"x": 1}}).last()["error"]["code"] == -32602
    assert Modern(gateway, "/mcp/s/s", capabilities=FORM).call("form", extra={"requestState": state}).last()["error"]["code"] == -32602
    for wrong in (7, {key: 7}, {key: {}}, {key: {"action": "maybe"}}, {key: {"action": "accept"}}, {key: {"action": "accept", "content": {"name": 7}}}):
        assert retry({"requestState": state, "inputResponses": wrong}).last()["error"]["code"] == -32602, wrong
    again, newer = state_of(retry({"requestState": state, "inputResponses": {"other": {"action": "accept"}}}))
    assert list(again) == [key] and newer != state, "what is missing is asked for again"
    assert retry({"requestState": state, "inputResponses": answer}).last()["error"]["code"] == -32602, "each is good for one retry"
    done = retry({"requestState": newer, "inputResponses": {**answer, "unknown": {"a": 1}}}).last()
    assert done["id"] == 2 and json.loads(done["result"]["content"][0]["text"]) == answer[key]
    assert retry({"requestState": newer, "inputResponses": answer}).last()["error"]["code"] == -32602


def test_a_modern_client_is_asked_in_several_rounds(box):
    gateway = with_server(box)
    peer = Modern(gateway, capabilities=FORM)
    asked, state = state_of(peer.call("s__twice"))
    asked2, state2 = state_of(peer.call("s__twice", extra={"requestState": state, "inputResponses": {k: {"action": "accept", "content": {"name": "A"}} for k in asked}}))
    assert next(iter(asked2.values()))["params"]["message"] == "s asks: And who else?" and state2 != state
    end = peer.call("s__twice", extra={"requestState": state2, "inputResponses": {k: {"action": "decline"} for k in asked2}}).last()
    assert [a["action"] for a in json.loads(end["result"]["content"][0]["text"])] == ["accept", "decline"]


def test_a_modern_client_that_declared_nothing_is_told_what_is_missing(box):
    gateway = with_server(box)
    answer = Modern(gateway).call("s__model").last()
    assert "inputRequests" not in json.dumps(answer)


def test_a_person_approves_in_a_legacy_client(box):
    gateway = box.serve()
    c = Session(gateway, capabilities=FORM)
    for decision, happens in (("allow once", True), ("deny", False)):
        name = decision.replace(" ", "_")
        messages = c.call("write_file", {"path": name, "content": "x"}).messages()
        asked = next(messages)
        assert asked["method"] == "elicitation/create" and "write_file" in asked["params"]["message"] and not box.exists(name)
        assert c.answer(asked["id"], {"action": "accept", "content": {"decision": decision}}).status == 202
        got = next(messages)
        assert box.exists(name) == happens and got["result"]["isError"] == (not happens), got
    assert gateway.ok("GET", "/confirmations")["confirmations"] == []


def test_5_a_form_that_is_dismissed_is_a_no_and_says_so(box):
    gateway = box.serve()
    c = Session(gateway, capabilities=FORM)
    for answer in ({"action": "cancel"}, {"action": "accept"}, {"action": "accept", "content": {"decision": "perhaps"}}, {}):
        messages = c.call("write_file", {"path": "a", "content": "x"}).messages()
        asked = next(messages)
        if answer == {"action": "cancel"}:
            time.sleep(1.1)  # a person reads it
        assert c.answer(asked["id"], answer).status == 202
        got = next(messages)["result"]
        assert got["isError"] and "dismissed" in got["content"][0]["text"] and not box.exists("a"), got
    assert gateway.ok("GET", "/confirmations")["confirmations"] == []
    # Nobody has seen a form that the client could not show.
    messages = c.call("write_file", {"path": "b", "content": "x"}).messages()
    c.post({"jsonrpc": "2.0", "id": next(messages)["id"], "error": {"code": -32603, "message": "no window"}})
    assert gateway.answer(gateway.question(), "allow")[0] == 200
    assert not list(messages)[-1]["result"]["isError"] and box.exists("b")


def test_5_a_client_without_a_person_leaves_the_question_open(box):
    gateway = box.serve()
    c = Session(gateway, capabilities=FORM)
    messages = c.call("write_file", {"path": "a", "content": "x"}).messages()
    assert c.answer(next(messages)["id"], {"action": "cancel"}).status == 202  # at once, as `codex exec` does
    assert gateway.answer(gateway.question(), "allow")[0] == 200
    assert not list(messages)[-1]["result"]["isError"] and box.exists("a")


def test_a_person_approves_in_a_modern_client(box):
    gateway = box.serve()
    peer = Modern(gateway, capabilities=FORM)
    arguments = {"path": "a", "content": "x"}
    asked, state = state_of(peer.call("write_file", arguments))
    (key, form), = asked.items()
    assert "write_file" in form["params"]["message"] and not box.exists("a")
    assert gateway.question()["tool_name"] == "write_file"
    done = peer.call("write_file", arguments, extra={"requestState": state, "inputResponses": {key: {"action": "accept", "content": {"decision": "allow once"}}}})
    assert not done.last()["result"]["isError"] and box.read("a") == "x"
    # What is given before it was asked for approves nothing.
    early = peer.call("write_file", {"path": "b", "content": "x"}, extra={"inputResponses": {key: {"action": "accept", "content": {"decision": "allow once"}}}})
    state_of(early)
    assert not box.exists("b")


def test_who_answers_elsewhere_first_counts_and_the_answer_waits(box):
    gateway = box.serve()
    peer = Modern(gateway, capabilities=FORM)
    arguments = {"path": "a", "content": "x"}
    asked, state = state_of(peer.call("write_file", arguments))
    assert gateway.answer(gateway.question(), "allow")[0] == 200
    until(lambda: box.exists("a"), "it is written")
    late = peer.call("write_file", arguments, id="late", extra={"requestState": state, "inputResponses": {k: {"action": "decline"} for k in asked}}).last()
    assert late["id"] == "late" and late["result"]["resultType"] == "complete" and not late["result"]["isError"]
    c = Session(gateway, capabilities=FORM)
    messages = c.call("write_file", {"path": "b", "content": "x"}).messages()
    form = next(messages)
    assert gateway.answer(gateway.question(), "deny")[0] == 200
    rest = list(messages)
    assert rest[0]["method"] == "notifications/cancelled" and rest[0]["params"]["requestId"] == form["id"]
    assert rest[-1]["result"]["isError"] and not box.exists("b")
    assert c.answer(form["id"], {"action": "accept", "content": {"decision": "allow once"}}).status == 202
    assert not box.exists("b")


def test_one_persons_yes_holds_for_no_stranger_in_a_shared_session(box):
    box.config("tool_confirmation: {default: {WRITE: prompt_once}}\n")
    gateway = box.serve()
    yes = {"action": "accept", "content": {"decision": "allow once"}}
    one, other = Modern(gateway, capabilities=FORM), Modern(gateway, capabilities=FORM)
    asked, state = state_of(one.call("write_file", {"path": "a", "content": "x"}))
    done = one.call("write_file", {"path": "a", "content": "x"}, extra={"requestState": state, "inputResponses": {k: yes for k in asked}})
    assert not done.last()["result"]["isError"] and box.exists("a")
    state_of(other.call("write_file", {"path": "b", "content": "x"}))
    assert not box.exists("b")


def test_secrets_are_taken_out_of_every_part_of_a_result(box):
    gateway = with_server(box)
    for length in (10, 100000):
        got = Modern(gateway, path="/mcp/proxy").call("tool_execute", {"tool_id": "s__keys", "args": {"length": length}}).last()["result"]
        blocks = {b["type"]: b for b in got["content"]}
        assert "AKIA" not in json.dumps(got["structuredContent"]) and "AKIA" not in json.dumps(blocks["resource"]), got
        assert blocks["image"]["data"].startswith("AKIA"), "what is in a picture is no text"


def test_what_a_retry_says_is_checked_too(box):
    gateway = box.serve()
    peer = Modern(gateway, capabilities=FORM)
    arguments = {"path": "a", "content": "x"}
    asked, state = state_of(peer.call("write_file", arguments))
    extra = {"requestState": state, "inputResponses": {k: {"action": "decline"} for k in asked}}
    assert peer.call("write_file", arguments, extra=extra, meta={PREFIX + "logLevel": "loud"}).last()["error"]["code"] == -32602
    assert peer.call("write_file", arguments, extra=extra).last()["result"]["isError"]
    long = peer.request("server/discover", id="x" * 5000)
    assert long.status == 400 and long.message()["error"]["code"] == -32600 and "x" * 100 not in long.text.decode()


def test_a_tool_cannot_approve_its_own_call(box):
    box.config("tool_confirmation: {default: {EXECUTE: auto, WRITE: prompt}}\nconfinement: {shell: open}\n")
    gateway = box.serve()
    script = os.path.join(box.dir, "attack.py")
    with open(script, "w") as out:
        out.write("import http.client, json, sys\n"
                  "port, token, path, extra = int(sys.argv[1]), sys.argv[2], sys.argv[3], json.loads(sys.argv[4])\n"
                  "meta = %r\n"
                  "c = http.client.HTTPConnection('127.0.0.1', port)\n"
                  "params = {'name': 'write_file', 'arguments': {'path': 'a', 'content': 'x'}, '_meta': meta, **extra}\n"
                  "c.request('POST', path, body=json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': params}), headers={\n"
                  "  'Authorization': 'Bearer ' + token, 'Content-Type': 'application/json', 'MCP-Protocol-Version': '2026-07-28',\n"
                  "  'Mcp-Method': 'tools/call', 'Mcp-Name': 'write_file'})\n"
                  "print(c.getresponse().status, flush=True)\n"
                  % {**META, PREFIX + "clientCapabilities": FORM})
    peer = Modern(gateway, capabilities=FORM)
    asked, state = state_of(peer.call("write_file", {"path": "a", "content": "x"}))
    extra = {"requestState": state, "inputResponses": {k: {"action": "accept", "content": {"decision": "allow once"}} for k in asked}}
    command = "%s %s %d %s %s '%s'" % (sys.executable, script, gateway.port, gateway.token, shlex.quote(peer.path), json.dumps(extra))
    out = peer.call("shell", {"command": command}).last()["result"]["content"][0]["text"]
    assert "403" in out and not box.exists("a"), out
    # Nor is it asked: its own call waits for somebody else.
    threading.Thread(target=lambda: peer.call("shell", {"command": "timeout 3 " + command.replace(json.dumps(extra), "{}")})).start()
    until(lambda: len(gateway.ok("GET", "/confirmations")["confirmations"]) == 2, "the tool's own call waits")
    assert not box.exists("a")


def test_5_a_form_with_nothing_to_fill_in_is_accepted_with_nothing(box):
    g = with_server(box)
    s = Session(g, capabilities=FORM)
    for m in s.call("s__sure", id=3).messages():
        if m.get("method") == "elicitation/create":
            s.answer(m["id"], {"action": "accept"})
        elif m.get("id") == 3:
            assert json.loads(m["result"]["content"][0]["text"])["action"] == "accept", m
    asked = Modern(g, capabilities=FORM).call("s__sure").last()["result"]
    more = {"requestState": asked["requestState"], "inputResponses": {next(iter(asked["inputRequests"])): {"action": "accept"}}}
    assert json.loads(Modern(g, capabilities=FORM).call("s__sure", extra=more).last()["result"]["content"][0]["text"])["action"] == "accept"


def test_5_what_goes_back_with_every_answer_is_short(box):
    g = with_server(box)
    s = Session(g)
    for id in ("1" * 5000, '"%s"' % ("1" * 5000)):
        refused = s.post('{"jsonrpc":"2.0","id":%s,"method":"ping"}' % id)
        assert refused.status == 400 and len(refused.text) < 300, refused.text[:100]
    assert s.post('{"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping"}').status == 200
    answer = s.call("s__progress", id=9, extra={"_meta": {"progressToken": "t" * 5000}})
    assert not answer.streams and answer.message()["id"] == 9, answer.text


def test_5_words_of_the_gateway_are_neither_passed_on_nor_taken_from_a_server(box):
    g = with_server(box)
    result = Session(g).call("s__meta", id=3, extra={"_meta": {"holdfast/turn_group_id": "g", "theirs": 1}}).last()["result"]
    assert "holdfast" not in result["content"][0]["text"] and "theirs" in result["content"][0]["text"], result
    assert result["_meta"]["mine"] == 1 and not [k for k in result["_meta"] if k.startswith("holdfast/")], result


def test_5_a_method_that_a_server_does_not_know_is_no_404(box):
    g = with_server(box)
    answer = Modern(g).request("prompts/get", {"name": "s__p"})
    assert answer.status == 200 and answer.last()["error"]["code"] == -32601, answer.status


def text_of(answer):
    return json.loads(answer.last()["result"]["content"][0]["text"])


def subscribed(peer, numbers=itertools.count()):
    """What the server believes that somebody listens to. No two of these calls are the same: that would be asked about."""
    return sorted(text_of(peer.call("s__subscribed", {"n": next(numbers)})))


def test_5_a_resource_that_left_the_list_can_be_given_back(box):
    g = with_server(box)
    c, other = Session(g), Session(g)
    for uri in ("mem://a", "mem://b"):
        assert c.request("resources/subscribe", {"uri": uri}).message()["result"] == {}
    listening = Modern(g).request("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["mem://a"]}}, id="l")
    assert listening.message()["params"]["notifications"] == {"resourceSubscriptions": ["mem://a"]}
    until(lambda: subscribed(other) == ["mem://a", "mem://b"], "the server is told once of each")
    for uri in ("mem://a", "mem://b"):
        other.call("s__drop", {"uri": uri})
    until(lambda: "mem://" not in json.dumps(other.request("resources/list").message()), "they are listed no more")
    assert c.request("resources/unsubscribe", {"uri": "mem://a"}).message()["result"] == {}
    until(lambda: c.send("DELETE").status in (204, 404), "the session ends with what it has")
    until(lambda: subscribed(other) == ["mem://a"], "what somebody still listens to stays")
    listening.close()
    until(lambda: subscribed(other) == [], "nobody listens any more")


def test_5_a_changed_list_is_told_when_somebody_listens_again(box):
    g = with_server(box)
    c, other = Session(g), Session(g)

    def change(count):
        other.call("s__prompts")
        until(lambda: len(c.request("prompts/list").message()["result"]["prompts"]) == count, "the gateway has the new list")
    change(2)
    change(3)
    assert c.request("resources/subscribe", {"uri": "mem://a"}).message()["result"] == {}

    def heard(stream):
        """Up to the next update of a resource."""
        other.call("s__update", {"uri": "mem://a"})
        return list(itertools.takewhile(lambda method: method != "notifications/resources/updated", (m["method"] for m in stream.messages())))
    first = c.listen()
    assert heard(first).count("notifications/prompts/list_changed") == 1, "once, however often it has changed"
    second = c.listen()
    assert heard(second) == [] and list(first.messages()) == [], "and on one stream alone"
    last = second.ids[-1]
    second.close()
    change(4)
    assert next(c.listen(Last_Event_ID=last).messages())["method"] == "notifications/prompts/list_changed", "a stream that is taken up again has it too"


def test_5_a_form_elsewhere_that_is_complete_is_told_to_who_was_asked(box):
    g = with_server(box)
    c, stranger = Session(g, capabilities=FORM), Session(g, capabilities=FORM)
    heard, others = c.listen().messages(), stranger.listen().messages()
    for m in c.call("s__url", id=3).messages():
        if m.get("method") == "elicitation/create":
            given = m["params"]["elicitationId"]
            c.answer(m["id"], {"action": "accept"})
    error = c.call("s__url_first").last()["error"]
    assert error["code"] == -32042
    for id in ("nobody's", "e1", "e1", "e3"):
        stranger.call("s__complete", {"id": id})
    for id in (given, error["data"]["elicitations"][0]["elicitationId"]):
        assert next(heard) == {"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": id}}
    for peer in (c, stranger):
        peer.request("resources/subscribe", {"uri": "mem://a"})
    stranger.call("s__update", {"uri": "mem://a"})
    for messages in (heard, others):
        assert next(messages)["method"] == "notifications/resources/updated", "once, and to nobody else"
    alone, got = Session(g, capabilities=FORM), []
    for m in alone.call("s__url_done", id=4).messages():
        got.append(m.get("method"))
        if m.get("method") == "elicitation/create":
            alone.answer(m["id"], {"action": "accept"})
    assert got == ["elicitation/create", "notifications/elicitation/complete", None], "while the request is open it goes with that"


def test_5_a_modern_client_is_sent_elsewhere_when_that_comes_first(box):
    """A legacy server says so with an error that the modern era does not have."""
    g = with_server(box)
    c = Modern(g, capabilities=FORM)

    def asked(answer):
        result = answer.last()["result"]
        assert result["resultType"] == "input_required", result
        (key, request), = result["inputRequests"].items()
        assert request == {"method": "elicitation/create", "params": {"mode": "url", "url": "https://example.org/", "message": "s asks: Go"}}, request
        return lambda action: {"inputResponses": {key: {"action": action}}, "requestState": result["requestState"]}
    again = asked(c.call("s__url_until"))
    again = asked(c.call("s__url_until", extra=again("accept"), id=2))  # not done there yet
    done = c.call("s__url_until", extra=again("accept"), id=3).last()["result"]
    assert done["content"][0]["text"] == "been there" and not done["isError"], done
    no = c.call("s__url_first", extra=asked(c.call("s__url_first"))("decline"), id=4).last()["result"]
    assert no["isError"] and "address" in no["content"][0]["text"], no
    # Who cannot be sent anywhere gets the words of the server.
    plain = Modern(g).call("s__url_first").last()["result"]
    assert plain["isError"] and "go there first" in plain["content"][0]["text"], plain


def test_5_what_wants_something_first_was_not_done(box):
    """A call with a key is made again after -32042: that error is no result to be kept."""
    g = with_server(box, AUTO + "tools: {defaults: {repeat_limit: 0}}\n")
    s = Session(g, capabilities=FORM)
    calls = [s.call("s__url_until", extra={"_meta": {"holdfast/idempotency_key": "k"}}, id=n).last() for n in range(4)]
    assert [c["error"]["code"] for c in calls[:2]] == [-32042, -32042], calls
    assert calls[2]["result"]["content"][0]["text"] == "been there", calls
    assert calls[3]["result"]["_meta"]["holdfast/cached"] is True, calls


def test_5_a_retry_is_asked_what_it_declares_itself(box):
    g = with_server(box)
    bare, full = Modern(g), Modern(g, capabilities=FORM)
    forms = Modern(g, capabilities={"elicitation": {}})
    yes = {"action": "accept", "content": {"name": "Ada"}}
    asked, state = state_of(full.call("s__form"))
    refused = bare.call("s__form", extra={"requestState": state})
    error = refused.message()["error"]
    assert refused.status == 400 and error["code"] == -32021 and error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}, error
    extra = {"requestState": state, "inputResponses": {k: yes for k in asked}}
    assert text_of(bare.call("s__form", extra=extra)) == yes, "what is answered need not be asked"
    # What the server asks after that is for what this retry can do, be it less or more.
    for first, then, more in ((full, bare, False), (full, forms, False), (forms, full, True)):
        asked, state = state_of(first.call("s__form_then_model"))
        answer = then.call("s__form_then_model", extra={"requestState": state, "inputResponses": {k: yes for k in asked}}).last()["result"]
        assert (answer["resultType"] == "input_required") == more, answer
        if more:
            assert [r["method"] for r in answer["inputRequests"].values()] == ["sampling/createMessage"]


def test_5_a_level_reaches_calls_under_way(box):
    g = with_server(box)
    for before, after, heard in ((None, "info", ["warning"]), ("debug", "warning", ["warning"]), ("debug", "error", [])):
        c = Session(g)
        if before:
            c.request("logging/setLevel", {"level": before})
        go = os.path.join(box.dir, "go-%s" % after)
        answer = c.call("s__log_when_told", {"go": go}, extra={"_meta": {"progressToken": 1}})
        messages = answer.messages()
        assert next(messages)["method"] == "notifications/progress"
        assert c.request("logging/setLevel", {"level": after}, id=2).message()["result"] == {}
        open(go, "w").close()
        assert [m["params"]["level"] for m in messages if "method" in m] == heard, (before, after)
        c.send("DELETE")


PLAIN = SERVER.replace('"prompts": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}', '"resources": {}').replace("mem://", "plain://")


def test_5_what_is_acknowledged_can_come(box):
    path = os.path.join(box.dir, "plain.py")
    with open(path, "w") as out:
        out.write(PLAIN)
    g = with_server(box, AUTO, ", plain: {command: %s, args: [%s]}" % (json.dumps(sys.executable), json.dumps(path)))
    until(lambda: "plain://a" in json.dumps(Modern(g).result("resources/list")), "the other is known too")
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": ["mem://a", "plain://a", "odd://"]}
    lists = {k: v for k, v in wanted.items() if v is True}
    for surface, honoured in (("/mcp/all", {**lists, "resourceSubscriptions": ["mem://a"]}),
                              ("/mcp", {"promptsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": ["mem://a"]}),
                              ("/mcp/s/plain", {"toolsListChanged": True, "resourcesListChanged": True}),
                              ("/mcp/s/builtin", {"toolsListChanged": True})):
        peer = Modern(g, surface)
        stream = peer.request("subscriptions/listen", {"notifications": wanted}, id="l")
        assert stream.message()["params"]["notifications"] == honoured, surface
        stream.close()
        said = peer.result("server/discover")["capabilities"]
        for kind, key in (("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")):
            assert said.get(kind, {}).get("listChanged", False) == honoured.get(key, False), (surface, said)
    refused = Session(g).request("resources/subscribe", {"uri": "plain://a"}).message()
    assert "error" in refused, "what would never come is not promised to the other era either"
