"""Hostile MCP frames from outside (issue 5): on every surface of `holdfast mcp`, as bodies over HTTP, and from a server behind us. After each of
them the other side is answered as before."""
import base64
import concurrent.futures
import http.client
import json
import os
import sys
import threading

from lib import Skip, testdata, until
from test_mcp import Client

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
AUTO = {"tool_confirmation": {"default": {"NETWORK": "auto"}}}


def frames():
    root = testdata()
    path = root and os.path.join(root, "batteries", "mcp-frames", "frames.jsonl")
    if not path or not os.path.exists(path):
        raise Skip("the test data is not here")
    with open(path) as file:
        return [{**frame, "bytes": base64.b64decode(frame["b64"])} for frame in map(json.loads, file)]


def alive(era, n):
    """A request that any server answers with a result."""
    if era == "legacy":
        return {"jsonrpc": "2.0", "id": "alive-%d" % n, "method": "ping"}
    return {"jsonrpc": "2.0", "id": "alive-%d" % n, "method": "server/discover", "params": {"_meta": META}}


def over_a_line(box, era, part, *args):
    client = Client(box, *args)
    if era == "legacy":
        client.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}})

    def write():
        for n, frame in enumerate(part):
            client.send(frame["bytes"])
            client.send(alive(era, n))
    writer = threading.Thread(target=write)
    writer.start()
    for n, frame in enumerate(part):
        while True:
            line = client.line()
            assert line is not None, "gone near %s/%s" % (frame["gen"], frame["name"])
            message = json.loads(line)
            for each in message if isinstance(message, list) else [message]:  # a frame may have asked for a revision with batches
                assert each["jsonrpc"] == "2.0", line[:200]
            if isinstance(message, dict) and message.get("id") == "alive-%d" % n:
                assert "result" in message, line[:200]
                break
    writer.join()
    client.process.stdin.close()
    assert client.process.wait(timeout=30) == 0


def test_5_a_line_is_alive_after_every_frame(box):
    battery = frames()
    gateway = box.serve()
    jobs = [("modern", battery[0::3], "--surface", "gateway"), ("legacy", battery[1::3], "--surface", "all"), ("modern", battery[2::3], "--surface", "proxy")]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for job in [pool.submit(over_a_line, box, *j) for j in jobs]:
            job.result()
    assert gateway.alive()


class Poster:
    """One kept connection, opened again when the gateway has closed it."""

    def __init__(self, gateway):
        self.gateway, self.connection = gateway, None

    def post(self, path, body, **headers):
        fresh = self.connection is None
        if fresh:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=30)
        send = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **{k.replace("_", "-"): v for k, v in headers.items()}}
        try:
            self.connection.request("POST", path, body, send)
            answer = self.connection.getresponse()
            return answer, answer.read()
        except (ConnectionError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            if fresh:
                raise
            return self.post(path, body, **headers)


def test_5_http_answers_after_every_body(box):
    battery = frames()
    gateway = box.serve("--no-auth")
    poster = Poster(gateway)
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
             "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}}
    answer, _ = poster.post("/mcp", json.dumps(hello))
    session = answer.getheader("Mcp-Session-Id")
    assert answer.status == 200 and session, answer.status
    kinds = [("/mcp", {"Mcp_Session_Id": session, "MCP_Protocol_Version": "2025-11-25"}), ("/mcp/all", {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call"}), ("/mcp/proxy", {})]
    for n, frame in enumerate(battery):
        path, headers = kinds[n % 3]
        # Some frames end a session or wait for a stream: what matters is an answer that is one.
        answer, body = poster.post(path, frame["bytes"], **headers)
        where = "%s/%s" % (frame["gen"], frame["name"])
        assert answer.status < 500, (where, answer.status, body[:200])
        if body and (answer.getheader("Content-Type") or "").startswith("application/json"):
            assert isinstance(json.loads(body), (dict, list)), where
        answer, body = poster.post("/mcp", json.dumps(alive("modern", n)), MCP_Protocol_Version="2026-07-28", Mcp_Method="server/discover")
        assert answer.status == 200 and json.loads(body)["id"] == "alive-%d" % n, (where, answer.status, body[:200])
    assert gateway.alive()


BABBLER = """import base64, json, sys
frames = [base64.b64decode(json.loads(line)["b64"]) for line in open(sys.argv[1])]
frames = [f for f in frames if b"\\n" not in f.strip() and len(f) < 100000]
step = 0
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request: continue
    results = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}},
               "tools/list": {"tools": [{"name": "talk", "inputSchema": {"type": "object"}}]}, "ping": {}}
    result = results.get(request["method"])
    if request["method"] == "tools/call":
        for frame in frames[step:step + 50]:
            sys.stdout.buffer.write(frame.strip() + b"\\n")
        step += 50
        result = {"content": [{"type": "text", "text": "%d of %d" % (min(step, len(frames)), len(frames))}]}
    answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no"}}
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


def test_5_frames_from_a_server_are_passed_over(box):
    frames()
    source = os.path.join(testdata(), "batteries", "mcp-frames", "frames.jsonl")
    box.config(json.dumps({**AUTO, "mcpServers": {"babbler": {"command": sys.executable, "args": ["-c", BABBLER, source]}}}))
    gateway = box.serve("--no-auth")
    until(lambda: gateway.ok("GET", "/servers")["servers"][0]["state"] == "started", "the babbler is there")
    session = gateway.session()
    said = ""
    while not said or said.split(" of ")[0] != said.split(" of ")[1]:
        result = gateway.call(session, "babbler__talk", {})
        assert not result.is_error, result.text
        assert result.text != said
        said = result.text
    assert gateway.alive()
