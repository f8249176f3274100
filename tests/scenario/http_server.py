"""A server over HTTP with faults, on a free loopback port. What reached it is in `seen`, what was done in `done`."""
import http.server
import json
import socket
import struct
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status=200, body=b"", type="application/json", **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        if type:
            self.send_header("Content-Type", type)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reset(self):
        """A connection that is not closed but torn."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        server = self.server
        with server.lock:
            server.seen.append({"method": self.command, "path": self.path, "body": body,
                                "headers": {k.lower(): v for k, v in self.headers.items()}})
            plan = server.plans.get(self.path.split("?")[0], [])
            step = plan.pop(0) if len(plan) > 1 else plan[0] if plan else None
        if step:
            step(self)
        else:
            with server.lock:
                server.done.append(self.path)
            self.answer(body={"path": self.path, "body": body, "headers": dict(self.headers)})

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host="127.0.0.1"):
        super().__init__((host, 0), Handler)
        self.lock = threading.Lock()
        self.seen, self.done, self.plans = [], [], {}
        self.port = self.server_address[1]
        self.url = "http://%s:%d" % (host, self.port)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # connections we tear ourselves

    def plan(self, path, *steps):
        self.plans[path] = list(steps)

    def paths(self):
        with self.lock:
            return [s["path"] for s in self.seen]

    def __exit__(self, *args):
        self.shutdown()
        self.server_close()
