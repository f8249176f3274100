"""An MCP server of 2026-07-28 over HTTP, which keeps every request it gets.

    with Modern2026() as server:    server.url, server.seen

Its tools ask for things in the modern way (`input_required`), tell of progress and changes, or say what they were sent. What it
offers (`server.tools`, `server.hints`, ...) may be changed while it runs; `server.tell` sends a note to those who listen.
"""
import http.server
import json
import queue
import threading

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASKS = {
    "form": {"method": "elicitation/create", "params": {"mode": "form", "message": "Who?", "requestedSchema": FORM}},
    "url": {"method": "elicitation/create", "params": {"mode": "url", "url": "https://example.org/", "message": "Go"}},
    "model": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
    "roots": {"method": "roots/list"},
}


def tool(name, **schema):
    return {"name": name, "description": "Does " + name, "inputSchema": {"type": "object", **schema}}


def text(value):
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value, sort_keys=True)}]}


class Modern2026:
    def __init__(self):
        self.seen = []  # (headers, message)
        self.listeners = {}  # id: queue of notes
        self.hints = {"ttlMs": 0, "cacheScope": "private"}
        self.capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True}, "logging": {}}
        self.tools = [tool(name) for name in (*ASKS, "steps", "say", "what")]
        self.resources = [{"uri": "mem://a", "name": "a"}]
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                self.reply(405, b"")

            do_DELETE = do_GET

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.seen.append((dict(self.headers), message))
                if "id" not in message:
                    return self.reply(202, b"")
                try:
                    server.take(self, message)
                except OSError:
                    pass

            def reply(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def result(self, id, result, status=200):
                self.reply(status, json.dumps({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **result}}).encode())

            def error(self, id, code, words, status=200, **data):
                error = {"code": code, "message": words, **({"data": data} if data else {})}
                self.reply(status, json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode())

            def stream(self):
                self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()

            def event(self, message):
                self.wfile.write(b"event: message\ndata: %s\n\n" % json.dumps({"jsonrpc": "2.0", **message}).encode())
                self.wfile.flush()

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = "http://127.0.0.1:%d/mcp" % self.http.server_port

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *why):
        for notes in list(self.listeners.values()):
            notes.put(None)
        self.http.shutdown()
        self.http.server_close()

    def asked(self, method):
        return [message for _, message in self.seen if message.get("method") == method]

    def tell(self, method, **params):
        for id, notes in list(self.listeners.items()):
            notes.put({"method": method, "params": {**params, "_meta": {PREFIX + "subscriptionId": id}}})

    def take(self, to, message):
        id, method, params = message["id"], message["method"], message.get("params", {})
        lists = {"tools/list": {"tools": self.tools}, "resources/list": {"resources": self.resources},
                 "resources/templates/list": {"resourceTemplates": []}, "prompts/list": {"prompts": []}}
        if method == "server/discover":
            to.result(id, {"supportedVersions": [VERSION], "capabilities": self.capabilities, **self.hints})
        elif method in lists:
            to.result(id, {**lists[method], **self.hints})
        elif method == "resources/read":
            to.result(id, {"contents": [{"uri": params["uri"], "text": "here"}], **self.hints})
        elif method == "subscriptions/listen":
            self.listen(to, id, params)
        elif method == "tools/call":
            self.call(to, id, params)
        else:
            to.error(id, -32601, "no such method", 404)

    def listen(self, to, id, params):
        notes = self.listeners[id] = queue.Queue()
        to.stream()
        to.event({"method": "notifications/subscriptions/acknowledged",
                  "params": {"notifications": params["notifications"], "_meta": {PREFIX + "subscriptionId": id}}})
        try:
            for note in iter(notes.get, None):
                to.event(note)
        finally:
            self.listeners.pop(id, None)

    def call(self, to, id, params):
        name, meta = params["name"], params["_meta"]
        if name in ASKS and "inputResponses" not in params:
            to.result(id, {"resultType": "input_required", "inputRequests": {"key": ASKS[name]}, "requestState": "state of " + name})
        elif name in ASKS:
            to.result(id, text([params["inputResponses"]["key"], params.get("requestState")]))
        elif name == "steps":
            to.stream()
            for n in (1, 2):
                to.event({"method": "notifications/progress", "params": {"progressToken": meta.get("progressToken"), "progress": n, "total": 2}})
            to.event({"id": id, "result": {"resultType": "complete", **text("done")}})
        elif name == "say":
            to.stream()
            if PREFIX + "logLevel" in meta:
                to.event({"method": "notifications/message", "params": {"level": "warning", "data": meta[PREFIX + "logLevel"]}})
            to.event({"id": id, "result": {"resultType": "complete", **text("said")}})
        elif name == "wrong_header":
            to.error(id, -32020, "Mcp-Name is not what the body says", 400)
        elif name == "wrong_version":
            to.error(id, -32022, "not spoken here", 400, supported=[VERSION])
        elif name == "needs":
            to.error(id, -32021, "it needs a model", 400, requiredCapabilities={"sampling": {}})
        else:
            to.result(id, {**text(params), "odd": {"kept": [1.10, 12345678901234567890]}, "_meta": {"mine": 1}})
