"""An MCP server that goes wrong in one way, over stdio or HTTP.

    fake_upstream.py stdio FAULT DIR     on stdin and stdout
    fake_upstream.py http DIR            every fault, each at /FAULT; prints the port

It speaks the legacy era and has two tools: `work`, which goes wrong, and `fine`, which does not. Each call of `work` adds
a line to DIR/FAULT.calls before anything else.
"""
import gzip
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

LATE_SECONDS = 3  # after every deadline of the tests
GIB = 1 << 30
TOOLS = [{"name": name, "description": "Says its name.", "inputSchema": {"type": "object"}} for name in ("work", "fine")]
CAPABILITIES = {"tools": {"listChanged": True}, "logging": {}}


def answer(id, result):
    return {"jsonrpc": "2.0", "id": id, "result": result}


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def plain(request):
    """The answer to anything but `work`; None: there is none."""
    method, id = request.get("method"), request.get("id")
    if method is None or id is None:
        return None
    if method == "initialize":
        return answer(id, {"protocolVersion": "2025-06-18", "capabilities": CAPABILITIES, "serverInfo": {"name": "fake", "version": "1"}})
    if method == "tools/list":
        return answer(id, {"tools": TOOLS})
    if method == "tools/call":
        return answer(id, text(request["params"]["name"]))
    if method in ("ping", "logging/setLevel"):
        return answer(id, {})
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}


def is_work(request):
    return request.get("method") == "tools/call" and request["params"]["name"] == "work"


def note_call(folder, fault):
    with open(os.path.join(folder, fault + ".calls"), "a") as out:
        out.write("called\n")


def progress(request, n):
    return {"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": request["params"].get("_meta", {}).get("progressToken", "none"), "progress": n}}


# stdio


class Line:
    """Our side of the pipe."""

    def __init__(self, folder):
        self.folder = folder

    def raw(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view):]

    def say(self, message):
        self.raw(json.dumps(message).encode() + b"\n")


def forever():
    while True:
        time.sleep(1000)


def drip(line, request):
    for byte in json.dumps(answer(request["id"], text("x" * 10000))).encode():
        line.raw(bytes([byte]))
        time.sleep(0.05)


def huge(line, request):
    line.raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"])
    part = b"x" * (1 << 20)
    for _ in range(GIB >> 20):
        line.raw(part)


def large(line, request):
    """A few bytes more than fit a line; where its id stands, the arguments say."""
    body = b'"result":{"content":[{"type":"text","text":"' + b"x" * (9 << 20) + b'"}]}'
    id = b'"id":%d' % request["id"]
    last = request["params"].get("arguments", {}).get("id") == "last"
    line.raw(b'{"jsonrpc":"2.0",' + (body + b"," + id if last else id + b"," + body) + b"}\n")


def flood(line, request):
    n = 0
    while True:
        n += 1
        line.say(progress(request, n))
        time.sleep(0.002)


def notes(line, request):
    for n in range(20000):
        line.say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": n}})
        if n % 100 == 0:
            line.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    line.say(plain(request))


def storm(line, request):
    for n in range(2000):
        line.say({"jsonrpc": "2.0", "id": "r%d" % n, "method": ("ping", "sampling/createMessage", "roots/list", "nothing/known")[n % 4], "params": {}})
    line.say(plain(request))


def garbage(line, request):
    line.raw(b"this is no JSON\n\x00\xff\xfe\n{]\n[[[[[\n\"text\"\n7\nnull\n[]\n{}\n")


def deaf(line, request):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    forever()


def brood(line, request):
    """Children of its own that want to outlive it."""
    script = "import os,signal,time; signal.signal(signal.SIGTERM,signal.SIG_IGN); os.setsid(); time.sleep(1000)"
    subprocess.Popen([sys.executable, "-c", script, line.folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deaf(line, request)


def noisy(line, request):
    block = b"what a failure\n" * 4096
    for _ in range(100):
        os.write(2, block)
    line.say(plain(request))


def half(line, request):
    line.raw(json.dumps(plain(request)).encode()[:20])
    os._exit(0)


def half_forever(line, request):
    line.raw(json.dumps(plain(request)).encode()[:20])
    forever()


def late(line, request):
    threading.Timer(LATE_SECONDS, lambda: line.say(answer(request["id"], text("too late")))).start()


def twice(line, request):
    line.say(plain(request))
    line.say(answer(request["id"], text("once more")))


def crash_after(line, request):
    line.say(plain(request))
    os._exit(1)


def crash_during(line, request):
    line.say(progress(request, 1))
    os.kill(os.getpid(), signal.SIGKILL)


STDIO = {
    "fine": lambda line, request: line.say(plain(request)),
    "hang": lambda line, request: None,
    "late": late,
    "half": half,
    "half_forever": half_forever,
    "garbage": garbage,
    "garbage_first": lambda line, request: (garbage(line, request), line.say(plain(request))),
    "wrong_id": lambda line, request: line.say(answer(request["id"] + 1000 if isinstance(request["id"], int) else "other", text("for whom?"))),
    "wrong_type_of_id": lambda line, request: line.say(answer(str(request["id"]) if isinstance(request["id"], int) else 7, text("for whom?"))),
    "twice": twice,
    "drip": drip,
    "huge": huge,
    "large": large,
    "flood": flood,
    "notes": notes,
    "storm": storm,
    "crash_before": lambda line, request: os._exit(3),
    "crash_during": crash_during,
    "crash_after": crash_after,
    "close_stdin": lambda line, request: os.close(0),
    "close_stdout": lambda line, request: (os.close(1), forever()),
    "noisy": noisy,
    "deaf": deaf,
    "brood": brood,
    "rpc_error": lambda line, request: line.say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "I will not\u202e"}}),
    "header_error": lambda line, request: line.say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32020, "message": "header"}}),
    "no_content": lambda line, request: line.say(answer(request["id"], {})),
    "text_result": lambda line, request: line.say(answer(request["id"], "done")),
    "odd_content": lambda line, request: line.say(answer(request["id"], {"content": [7, None, {"type": 3}, {"type": "text"}, "x"]})),
    "both": lambda line, request: line.say({**plain(request), "error": {"code": 1, "message": "and not"}}),
}
# What goes wrong before there is a call: instead of the answer to the first request.
STARTS = {
    "start_hang": forever,
    "start_exit": lambda: os._exit(1),
    "start_garbage": lambda: (os.write(1, b"usage: whatever\n" * 100), forever()),
    "start_flood": lambda: [os.write(1, b"x" * 65536) for _ in iter(int, 1)],
    "start_silent": lambda: (os.close(0), os.close(1), forever()),
}


def serve_stdio(fault, folder):
    line = Line(folder)
    while True:
        raw = sys.stdin.buffer.readline()
        if not raw:
            return
        request = json.loads(raw)
        if fault in STARTS:
            STARTS[fault]()
        elif is_work(request):
            note_call(folder, fault)
            STDIO[fault](line, request)
        elif plain(request):
            line.say(plain(request))


# HTTP


class Door(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.reply(405, b"")

    do_DELETE = do_GET

    def do_POST(self):
        fault = self.path.strip("/")
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if is_work(request) and fault in HTTP:
            note_call(self.server.folder, fault)
            self.close_connection = True
            try:
                HTTP[fault](self, request)
            except OSError:
                pass
        elif request.get("id") is None:
            self.reply(202, b"")
        else:
            self.reply(200, json.dumps(plain(request)).encode())

    def reply(self, status, body, kind="application/json", length=None, **more):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

    def event(self, message):
        self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
        self.wfile.flush()


def http_drip(door, request):
    body = json.dumps(answer(request["id"], text("x" * 10000))).encode()
    door.reply(200, b"", length=len(body))
    for byte in body:
        door.wfile.write(bytes([byte]))
        door.wfile.flush()
        time.sleep(0.05)


def http_huge(door, request):
    door.reply(200, b"", length=GIB)
    for _ in range(GIB >> 20):
        door.wfile.write(b"x" * (1 << 20))


def http_bomb(door, request):
    """A gibibyte in a few kilobytes."""
    layer = gzip.compress(b"x" * (1 << 26), 9)
    door.reply(200, layer * 16, **{"Content-Encoding": "gzip"})


def http_flood(door, request):
    door.stream()
    n = 0
    while True:
        n += 1
        door.event(progress(request, n))
        time.sleep(0.002)


def http_comments(door, request):
    door.stream()
    while True:
        door.wfile.write(b": still here\n\n")
        door.wfile.flush()
        time.sleep(0.1)


def http_endless_line(door, request):
    door.stream()
    door.wfile.write(b"data: ")
    while True:
        door.wfile.write(b"x" * (1 << 20))


def http_interim(door, request):
    for _ in range(100000):
        door.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n")
    door.reply(200, json.dumps(plain(request)).encode())


def http_headers(door, request):
    door.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        door.wfile.write(b"X-More: " + b"y" * 8000 + b"\r\n")


def http_twice(door, request):
    door.stream()
    door.event(plain(request))
    door.event(answer(request["id"], text("once more")))


def http_reset(door, request):
    import socket
    import struct
    door.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    door.connection.close()


def ended(door):
    door.stream()


HTTP = {
    "hang": lambda door, request: time.sleep(60),
    "late": lambda door, request: (time.sleep(LATE_SECONDS), door.reply(200, json.dumps(answer(request["id"], text("too late"))).encode())),
    "half": lambda door, request: door.reply(200, json.dumps(plain(request)).encode()[:20], length=500),
    "garbage": lambda door, request: door.reply(200, b"\x00\xff{]"),
    "html": lambda door, request: door.reply(200, b"<html><h1>Welcome</h1></html>", kind="text/html"),
    "wrong_id": lambda door, request: door.reply(200, json.dumps(answer(4711, text("for whom?"))).encode()),
    "twice": http_twice,
    "drip": http_drip,
    "huge": http_huge,
    "bomb": http_bomb,
    "flood": http_flood,
    "comments": http_comments,
    "endless_line": http_endless_line,
    "interim": http_interim,
    "headers": http_headers,
    "reset": http_reset,
    "ended": lambda door, request: ended(door),
    "status_500": lambda door, request: door.reply(500, b"it broke", kind="text/plain"),
    "status_401": lambda door, request: door.reply(401, b"", **{"WWW-Authenticate": "Bearer"}),
    "redirect": lambda door, request: door.reply(307, b"", Location=door.path),
    "accepted": lambda door, request: door.reply(202, b""),
    "bad_chunk": lambda door, request: door.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
}


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256  # all come at once


def serve_http(folder):
    server = Server(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    server.folder = folder
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        serve_stdio(*sys.argv[2:4])
    else:
        serve_http(sys.argv[2])
