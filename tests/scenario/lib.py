"""What scenarios are told in: a box (a home of its own), a gateway in it, and plain HTTP."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time


class Skip(Exception):
    """This cannot be tried here."""


def until(condition, what, seconds=20):
    """Wait for something another process does; polling, because there is nothing to wait on."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("did not happen within %d s: %s" % (seconds, what))


def testdata():
    root = os.environ.get("HOLDFAST_TESTDATA") or os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data")
    return root if os.path.isdir(root) else None


class Box:
    """A home directory, a workspace, and every process started in it. Nothing outlives it."""

    def __init__(self, build, root):
        self.root = root
        self.program = os.path.join(build, "holdfast")
        self.dir = tempfile.mkdtemp(prefix="holdfast-test-")
        self.workspace = self.make_dir("workspace")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": self.make_dir("home"),
            "XDG_CONFIG_HOME": self.make_dir("config"),
            "XDG_STATE_HOME": self.make_dir("state"),
            "XDG_DATA_HOME": self.make_dir("share"),
            "XDG_RUNTIME_DIR": self.make_dir("run"),
            "TMPDIR": self.make_dir("tmp"),  # whoever is killed leaves something there
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")},
        }
        self.gateways = []

    def make_dir(self, name):
        path = os.path.join(self.dir, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def write(self, name, text):
        path = os.path.join(self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self, name):
        with open(os.path.join(self.workspace, name), "rb") as file:
            return file.read().decode()

    def exists(self, name):
        return os.path.lexists(os.path.join(self.workspace, name))

    def config(self, text):
        folder = os.path.join(self.env["XDG_CONFIG_HOME"], "holdfast")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.yaml"), "w") as out:
            out.write(text)

    def run(self, *args, stdin=None, cwd=None, env=None, limit=60):
        """The command line, without a terminal. Gives returncode, stdout, stderr."""
        return subprocess.run(
            [self.program, *args], input=stdin, capture_output=True, text=True, cwd=cwd or self.workspace,
            env={**self.env, **(env or {})}, timeout=limit, stdin=subprocess.DEVNULL if stdin is None else None,
            start_new_session=True)

    def popen(self, *args, **more):
        return subprocess.Popen([self.program, *args], cwd=self.workspace, env=self.env, **more)

    def serve(self, *args):
        gateway = Gateway(self, args)
        self.gateways.append(gateway)
        return gateway

    def logs(self):
        return "\n".join("--- gateway log\n" + g.log() for g in self.gateways)

    def close(self, quiet=False):
        trouble = None
        for gateway in self.gateways:
            try:
                gateway.stop()
            except Exception as why:
                trouble = trouble or why
        # `holdfast mcp` may have started one of its own.
        if os.path.exists(os.path.join(self.env["XDG_RUNTIME_DIR"], "holdfast.sock")):
            self.run("stop")
        shutil.rmtree(self.dir, ignore_errors=True)
        if trouble and not quiet:
            raise trouble


class Gateway:
    """`holdfast serve` on a free port."""

    def __init__(self, box, args):
        self.box = box
        self.log_path = os.path.join(box.dir, "gateway-%d.log" % len(box.gateways))
        self.errors = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            [box.program, "serve", "--listen", "127.0.0.1:0", *args], cwd=box.dir, env=box.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors)
        self.stdout = []
        self.ready = threading.Event()
        self.port = self.token = None
        self.log_text = None  # once it has ended
        threading.Thread(target=self._read, daemon=True).start()
        until(lambda: self.ready.is_set() or self.process.poll() is not None, "the gateway says where it listens")
        if self.process.poll() is not None:
            raise AssertionError("the gateway ended: %s\n%s" % (self.process.returncode, self.log()))

    def _read(self):
        for raw in self.process.stdout:
            line = raw.decode("utf-8", "replace")
            self.stdout.append(line)
            found = re.search(r"http://127\.0\.0\.1:(\d+)/(?:#token=(\w+))?", line)
            if found:
                self.port, self.token = int(found.group(1)), found.group(2)
                self.ready.set()

    def log(self):
        if self.log_text is not None:
            return self.log_text
        with open(self.log_path, "rb") as file:
            return file.read().decode("utf-8", "replace")

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Gracefully; a sanitizer report or a crash shows in the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError("the gateway did not stop within 40 s")
        self.errors.close()
        self.log_text = self.log()
        code = self.process.returncode
        if code not in (0, -signal.SIGKILL):
            raise AssertionError("the gateway ended with %d\n%s" % (code, self.log_text))

    # HTTP

    def headers(self, more=None):
        base = {"Authorization": "Bearer " + self.token} if self.token else {}
        return {**base, **(more or {})}

    def request(self, method, path, body=None, headers=None, timeout=60):
        """(status, parsed body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        payload = None if body is None else body if isinstance(body, (bytes, str)) else json.dumps(body)
        send = self.headers(headers)
        if payload is not None:
            send.setdefault("Content-Type", "application/json")
        connection.request(method, path, body=payload, headers=send)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        kind = answer.getheader("Content-Type") or ""
        return answer.status, json.loads(text) if kind.startswith("application/json") and text else text.decode("utf-8", "replace")

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, {} if body is None else body, **more)

    def ok(self, method, path, body=None):
        status, answer = self.request(method, path, body)
        assert 200 <= status < 300, (status, answer)
        return answer

    def refused(self, status, code, method, path, body=None, **more):
        """The sentence of an error that must come, in the shape all errors have."""
        got, answer = self.request(method, path, body, **more)
        assert got == status, (got, answer)
        assert set(answer) == {"error"} and set(answer["error"]) == {"code", "message", "details"}, answer
        assert answer["error"]["code"] == code, answer
        assert answer["error"]["message"], answer
        return answer["error"]["message"]

    def session(self, workspace=None, **more):
        return self.ok("POST", "/sessions", {"workspace": workspace or self.box.workspace, **more})["session_id"]

    def call(self, session, name, input, **more):
        """One call, waited for: (text of the result, is_error, outcome)"""
        turn = self.ok("POST", "/sessions/%s/turns" % session, {"name": name, "input": input, **more})
        return Result(turn, 0)

    def message(self, session, *calls, **more):
        """Several calls of one message, (name, input) or (name, input, id) each: the turn."""
        blocks = [{"type": "tool_use", "name": c[0], "input": c[1], **({"id": c[2]} if len(c) > 2 else {})} for c in calls]
        return self.ok("POST", "/sessions/%s/turns" % session, {"role": "assistant", "content": blocks, **more})

    def start(self, session, name, input, **more):
        """One call, not waited for: the open turn."""
        return self.ok("POST", "/sessions/%s/turns" % session, {"name": name, "input": input, "wait": False, **more})

    def turn(self, session, turn_id):
        """Results of a turn once it is over."""
        def over():
            turn = self.ok("GET", "/sessions/%s/turns/%s" % (session, turn_id))
            return turn if turn["state"] != "open" else None
        return until(over, "the turn ends", 60)

    def question(self, session=None):
        """The next open question."""
        def open_one():
            asked = self.ok("GET", "/confirmations")["confirmations"]
            asked = [q for q in asked if session is None or q["session_id"] == session]
            return asked[0] if asked else None
        return until(open_one, "a question is asked")

    def answer(self, question, decision, **more):
        return self.request(
            "POST", "/sessions/%s/turns/%s/confirmations/%s" % (
                question["session_id"], question["turn_id"], question["confirmation_request_id"]),
            {"decision": decision, **more})

    def events(self, session, **query):
        """All stored events of a session so far."""
        path = "/sessions/%s/events?limit=1000" % session + "".join("&%s=%s" % kv for kv in query.items())
        return self.ok("GET", path)["events"]

    def types(self, session):
        return [e["type"] for e in self.events(session) if e["type"].startswith("tool.")]

    def stream(self, path, headers=None, timeout=30):
        return Stream(self, path, headers, timeout)


class Result:
    def __init__(self, turn, index):
        self.turn = turn
        self.block = turn["content"][index]
        self.outcome = turn["calls"][index]
        self.is_error = self.block["is_error"]
        self.error_class = self.outcome["error_class"]
        self.text = "\n".join(b.get("text", "") for b in self.block["content"])


class Stream:
    """An event stream; iterate over (id, type, parsed data)."""

    def __init__(self, gateway, path, headers, timeout):
        self.connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=timeout)
        self.connection.request("GET", path, headers=gateway.headers({"Accept": "text/event-stream", **(headers or {})}))
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, (self.answer.status, self.answer.read())
        self.timeout = timeout

    def __iter__(self):
        event = {}
        end = time.monotonic() + self.timeout  # signs of life are not enough
        while True:
            assert time.monotonic() < end, "no event within %d s" % self.timeout
            line = self.answer.readline()
            if not line:
                return
            line = line.decode().rstrip("\n").rstrip("\r")
            if line == "" and event:
                if "data" in event:
                    yield event.get("id"), event.get("event", "message"), json.loads(event["data"])
                    end = time.monotonic() + self.timeout
                event = {}
            elif line and not line.startswith(":"):
                field, _, value = line.partition(": ")
                event[field] = event[field] + "\n" + value if field == "data" and "data" in event else value

    def next_of(self, kind):
        for _, type, data in self:
            if type == kind:
                return data
        raise AssertionError("the stream ended before " + kind)

    def close(self):
        self.connection.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def processes_with(marker):
    """Ids of living processes whose command line holds the marker."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read()
            with open("/proc/%s/stat" % pid) as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marker.encode() in words and state not in "ZX":
            found.append(int(pid))
    return found
