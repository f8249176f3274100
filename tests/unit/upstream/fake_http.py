#!/usr/bin/env python3
"""A scripted MCP server over HTTP; for tests/unit/upstream. Prints its port, then serves.

usage: fake_http.py [word...]     words say how it behaves:

  modern          answers server/discover
  modern-if=FILE  the same, once there is such a file; then initialize is 400 without a body
  status=N        every answer has this status, and no body
  moved=URL       every answer is 307, and says that it is there
  probe=N         the answer to server/discover has this status
  probe-null      the answer to server/discover is 400 with a JSON-RPC error without an id
  html            every answer is 200 with HTML
  sessions        initialize gives a session; what has none, or an old one, is 404
  lose-once       the session is lost before the first tools/call
  lose-if=FILE    the session is lost once there is such a file, which goes then
  lost=N          what a request without a session gets instead of 404, with an error of the transport
  lost-text=N     the same, in plain words
  ear             GET gives a stream, which ends with the session
  header-once     the first tools/call is 400 with -32020
  stream          tools/call answers with an event stream, with progress and a message before
  old             HTTP+SSE of 2024-11-05: a GET gives a stream, which names the address to post to
  old=URL         the same, and this is the address
  more-if=FILE    there is one more tool, "later", once there is such a file
  ttl=MS          what is listed may be held so long, by everybody
  calls=FILE      appends a line for each tools/call that is done
"""
import json
import os
import queue
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = sys.argv[1:]
once = set()
session = [0]
line = queue.Queue()  # what goes to the stream of an old server


def value(key):
    return next((w[len(key) + 1:] for w in WORDS if w.startswith(key + "=")), None)


def has(word):
    return word in WORDS or os.path.exists(value(word + "-if") or "")


def first(word):
    if not has(word) or word in once:
        return False
    once.add(word)
    return True


TOOLS = [{"name": n, "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
         for n in ("echo", "missing", "half_done")] + [
    {"name": "bad_header", "inputSchema": {"type": "object", "properties": {
        "a": {"type": "number", "x-mcp-header": "A"}}}}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body=b"", kind="application/json", headers=()):
        if self.path == "/message" and status == 200:
            line.put(body)
            status, body = 202, b"Accepted"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for k, v in headers:
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(body)

    def result(self, id, value, headers=()):
        if has("modern"):
            value = dict(value, resultType="complete")
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": id, "result": value}).encode(), headers=headers)

    def error(self, status, id, code, text="no", data=None):
        e = {"code": code, "message": text}
        if data:
            e["data"] = data
        self.reply(status, json.dumps({"jsonrpc": "2.0", "id": id, "error": e}).encode())

    def do_GET(self):
        if has("ear"):
            return self.listen()
        if not has("old") and not value("old"):
            return self.reply(405)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: %s\n\n" % (value("old") or "/message").encode())
        while True:
            self.wfile.write(b"event: message\ndata: %s\n\n" % line.get())

    def is_lost(self):
        try:
            os.remove(value("lose-if") or "")  # two may come at once: the file goes with one of them
            session[0] += 1
        except FileNotFoundError:
            pass
        return has("sessions") and self.headers.get("Mcp-Session-Id") != str(session[0])

    def refuse(self):
        if value("lost-text"):
            return self.reply(int(value("lost-text")), b"Invalid session", "text/plain")
        self.error(int(value("lost") or 404), None, -32000 if value("lost") else -32001, "No valid session ID provided")

    def listen(self):
        if self.is_lost():
            return self.refuse()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(b"retry: 100\n: here\n\n")
        while not self.is_lost():
            time.sleep(0.01)

    def do_DELETE(self):
        self.reply(200)

    def do_POST(self):
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, id = m.get("method"), m.get("id")
        if (has("old") or value("old")) and self.path != "/message":
            return self.reply(404, b"<pre>Cannot POST</pre>", "text/html")
        if value("status"):
            return self.reply(int(value("status")))
        if value("moved"):
            return self.reply(307, headers=[("Location", value("moved"))])
        if has("html"):
            return self.reply(200, b"<html>", "text/html")
        if method == "server/discover":
            return self.discover(id)
        if method == "initialize":
            return self.initialize(id)
        if method == "tools/call" and first("lose-once"):
            session[0] += 1
        if self.is_lost():
            return self.refuse()
        if id is None:
            return self.reply(202)
        self.request_take(method, id, m)

    def discover(self, id):
        if value("probe"):
            self.reply(int(value("probe")))
        elif has("probe-null"):
            self.error(400, None, -32000, "Bad Request: Server not initialized")
        elif has("modern"):
            self.result(id, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        else:
            self.error(200, id, -32601)

    def initialize(self, id):
        if has("modern") and value("modern-if"):
            return self.reply(400)
        if has("modern"):
            return self.error(400, id, -32022, data={"supported": ["2026-07-28"]})
        if has("sessions"):
            session[0] += 1
        self.result(id, {"protocolVersion": "2024-11-05" if has("old") else "2025-11-25", "capabilities": {"tools": {}},
                         "serverInfo": {"name": "fake", "version": "1"}},
                    [("Mcp-Session-Id", str(session[0]))] if has("sessions") else [])

    def request_take(self, method, id, m):
        if method == "tools/list":
            later = [dict(TOOLS[0], name="later")] if value("more-if") and has("more") else []
            hints = {"ttlMs": int(value("ttl")), "cacheScope": "public"} if value("ttl") else {}
            self.result(id, {"tools": TOOLS + later, **hints})
        elif method != "tools/call":
            self.error(404 if has("modern") else 200, id, -32601)
        elif first("header-once"):
            self.error(400, id, -32020)
        elif m["params"]["name"] == "missing":
            self.error(200, id, -32602, "no such tool")
        elif has("stream"):
            self.stream(id, m)
        else:
            self.call(id, m)

    def call(self, id, m):
        if value("calls"):
            with open(value("calls"), "a") as f:
                f.write("call\n")
        if m["params"]["name"] == "half_done":
            return self.error(400, id, -32000, "it failed in the middle")
        self.result(id, {"content": [{"type": "text", "text": m["params"]["arguments"].get("text", "")}]})

    def stream(self, id, m):
        token = m["params"].get("_meta", {}).get("progressToken")
        messages = [{"jsonrpc": "2.0", "method": "notifications/progress",
                     "params": {"progressToken": token, "progress": 1}},
                    {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "streamed"}],
                                                            "resultType": "complete"}}]
        body = b"".join(b"event: message\ndata: " + json.dumps(x).encode() + b"\n\n" for x in messages)
        self.reply(200, body, "text/event-stream")


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
