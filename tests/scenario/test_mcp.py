"""MCP over stdio, spoken by hand: `holdfast mcp` as a client starts it."""
import base64
import json
import os
import queue
import signal
import subprocess
import threading

from lib import Skip, processes_with, testdata, until

AUTO = "tool_confirmation: {default: {WRITE: auto, EXECUTE: auto}}\n"
VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


class Client:
    """One `holdfast mcp` and its lines; of the surface with all tools, unless another is named."""

    def __init__(self, box, *args, cwd=None):
        surface = [] if "--surface" in args else ["--surface", "all"]
        self.process = subprocess.Popen(
            [box.program, "mcp", *surface, *args], cwd=cwd or box.workspace, env=box.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.kept = []
        self.numbers = 0
        self.errors = b""
        for target in (self._read, self._read_errors):
            threading.Thread(target=target, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self):
        self.errors = self.process.stderr.read()

    def send(self, message):
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def line(self, seconds=20):
        """The next line as it came; None at the end."""
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError("no line came")

    def next(self):
        line = self.line()
        assert line is not None, "the channel ended: %r" % self.errors
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0" and line.endswith(b"\n")
        return message

    def start(self, method, params=None, id=None):
        """A request that is not waited for; its id."""
        if id is None:
            self.numbers += 1
            id = self.numbers
        self.send({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})})
        return id

    def answer(self, id):
        """The answer to a request; others that come before it are kept."""
        for message in self.kept:
            if message.get("id") == id:
                self.kept.remove(message)
                return message
        while True:
            message = self.next()
            if message.get("id") == id and type(message["id"]) is type(id):
                return message
            self.kept.append(message)

    def ask(self, method, params=None):
        return self.answer(self.start(method, params))

    def note(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def initialize(self, version=VERSIONS[0]):
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
        self.note("notifications/initialized")
        return answer["result"]

    def call(self, name, arguments=None):
        return self.ask("tools/call", {"name": name, **({} if arguments is None else {"arguments": arguments})})

    def text(self, name, arguments=None):
        return self.call(name, arguments)["result"]["content"][0]["text"]

    def alive(self):
        assert self.ask("ping")["result"] == {}

    def close(self):
        """End of input; gives the exit code."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.process.wait(timeout=20)


def with_clients(test):
    """The test gets a function that starts clients; none of them outlives it."""
    def run(box):
        started = []

        def client(*args, **more):
            started.append(Client(box, *args, **more))
            return started[-1]
        try:
            test(box, client)
        finally:
            for each in started:
                if each.process.poll() is None:
                    each.process.kill()
                each.process.wait()
                for pipe in (each.process.stdin, each.process.stdout):
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass
        for each in started:
            assert b"Sanitizer" not in each.errors, each.errors
    return run


@with_clients
def test_every_known_version_is_taken_and_an_unknown_one_gets_the_newest(box, client):
    box.serve()
    for asked, given in [(v, v) for v in VERSIONS] + [("2099-01-01", VERSIONS[0]), ("", VERSIONS[0]), ("1", VERSIONS[0])]:
        c = client()
        result = c.initialize(asked)
        assert result["protocolVersion"] == given
        assert result["serverInfo"]["name"] == "holdfast" and result["serverInfo"]["version"]
        assert result["capabilities"]["tools"] == {"listChanged": True} and result["instructions"]
        c.alive()
        assert c.close() == 0
    c = client()
    assert c.ask("initialize", {})["error"]["code"] == INVALID_PARAMS
    c.alive()


@with_clients
def test_tools_are_listed_with_their_schemas_and_hints(box, client):
    box.serve()
    c = client()
    c.initialize()
    tools = c.ask("tools/list")["result"]["tools"]
    assert [t["name"] for t in tools] == ["list_dir", "patch_file", "read_file", "shell", "tool_view", "write_file"]
    for tool in tools:
        assert tool["description"] and tool["title"] and tool["inputSchema"]["type"] == "object"
    hints = {t["name"]: t["annotations"] for t in tools}
    assert hints["read_file"] == {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    assert hints["shell"] == {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
    assert hints["write_file"]["readOnlyHint"] is False
    first, second = [c.start("tools/list", {}) for _ in range(2)]
    lines = [c.line() for _ in (first, second)]
    assert lines[0].replace(b'"id":%d' % first, b"") == lines[1].replace(b'"id":%d' % second, b""), "byte-stable"


@with_clients
def test_calls_and_their_results(box, client):
    box.config(AUTO)
    box.write("a.txt", "alpha\n")
    box.serve()
    c = client()
    c.initialize()
    assert c.call("read_file", {"path": "a.txt"})["result"] == {"content": [{"type": "text", "text": "alpha\n"}], "isError": False}
    assert not c.call("write_file", {"path": "b.txt", "content": "beta"})["result"]["isError"] and box.read("b.txt") == "beta"
    assert c.text("list_dir").splitlines() == ["a.txt", "b.txt"]
    failed = c.call("read_file", {"path": "none"})["result"]
    assert failed["isError"] and "no such file: none" in failed["content"][0]["text"]
    invalid = c.call("read_file", {"path": 7})["result"]
    assert invalid["isError"] and "path" in invalid["content"][0]["text"]
    assert "escapes" in c.text("read_file", {"path": "../x"})


@with_clients
def test_wrong_calls_are_errors_of_the_protocol(box, client):
    box.serve()
    c = client()
    for params, code in (({"name": "nope", "arguments": {}}, INVALID_PARAMS), ({}, INVALID_PARAMS), ({"name": 1}, INVALID_PARAMS),
                         ({"name": "read_file", "arguments": []}, INVALID_PARAMS), ({"name": "x" * 10000}, INVALID_PARAMS)):
        answer = c.ask("tools/call", params)
        assert answer["error"]["code"] == code and answer["error"]["message"], (params, answer)
    assert c.ask("tools/list", {"cursor": "made up"})["error"]["code"] == INVALID_PARAMS
    assert c.ask("resources/copy")["error"]["code"] == NO_METHOD
    assert c.ask("")["error"]["code"] == INVALID_REQUEST
    c.alive()


@with_clients
def test_an_unknown_tool_is_told_with_the_one_that_was_meant(box, client):
    box.serve()
    c = client()
    for name, message in (("read_fil", "there is no tool 'read_fil'; did you mean 'read_file'?"), ("nope", "there is no tool 'nope'")):
        assert c.call(name, {})["error"] == {"code": INVALID_PARAMS, "message": message}


@with_clients
def test_the_session_is_shown_under_the_name_the_client_gives_itself(box, client):
    gateway = box.serve()

    def shown():
        return gateway.ok("GET", "/sessions")["sessions"][0]
    c = client()
    c.alive()
    fallback = shown()["client"]
    assert fallback
    for given in (None, {}, [], {"name": 7}, {"name": ""}, {"name": " \n"}, {"version": "1"}, {"name": "\x1b\x00\x9b"}):
        params = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": given}
        assert "result" in c.ask("initialize", params)
        assert shown()["client"] == fallback, given
    for given, name in (({"name": "agent"}, "agent"), ({"name": "agent", "version": "1.2"}, "agent 1.2"),
                        ({"name": "\x1b[31m a\x00\r\nb\x7f\x9b", "version": 3}, "[31m ab"), ({"name": "\u20ac" * 5000}, "\u20ac" * 21)):
        c.ask("initialize", {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": given})
        assert shown()["client"] == name, given
    session = shown()["session_id"]
    c.close()
    until(lambda: gateway.ok("GET", "/sessions")["sessions"] == [], "its session has ended")
    assert gateway.ok("GET", "/sessions/" + session)["client"] == "\u20ac" * 21


@with_clients
def test_the_agents_channel_has_no_method_to_approve(box, client):
    gateway = box.serve()
    c = client()
    waiting = c.start("tools/call", {"name": "write_file", "arguments": {"path": "a", "content": "x"}})
    question = gateway.question()["confirmation_request_id"]
    for method in ("confirmations/answer", "approve", "notifications/approved", "holdfast/approve", "elicitation/create"):
        assert c.ask(method, {"id": question, "decision": "allow"})["error"]["code"] == NO_METHOD
    c.send({"jsonrpc": "2.0", "id": question, "result": {"action": "accept"}})
    assert gateway.ok("GET", "/confirmations")["confirmations"][0]["confirmation_request_id"] == question
    box.run("deny")
    assert c.answer(waiting)["result"]["isError"] and not box.exists("a")


@with_clients
def test_calls_run_side_by_side(box, client):
    box.config(AUTO)
    box.write("a.txt", "alpha")
    box.serve()
    c = client()
    slow = [c.start("tools/call", {"name": "shell", "arguments": {"command": "until [ -e release ]; do sleep 0.05; done; echo slow %d" % i}})
            for i in range(3)]
    assert c.text("read_file", {"path": "a.txt"}) == "alpha"  # overtakes them
    assert not c.kept
    box.write("release", "")
    for i, id in enumerate(slow):
        assert "slow %d" % i in c.answer(id)["result"]["content"][0]["text"]


@with_clients
def test_a_cancelled_request_gets_no_answer_and_its_command_ends(box, client):
    box.config(AUTO)
    box.serve()
    c, mark = client(), "100003.%d" % os.getpid()
    id = c.start("tools/call", {"name": "shell", "arguments": {"command": "sleep " + mark}}, id="to-cancel")
    until(lambda: processes_with("sleep\0" + mark), "it runs")
    c.note("notifications/cancelled", {"requestId": id, "reason": "enough"})
    until(lambda: not processes_with(mark), "it has ended")
    c.note("notifications/cancelled", {"requestId": id})
    c.note("notifications/cancelled", {"requestId": 99})
    c.note("notifications/cancelled", {})
    c.alive()
    calls = json.loads(box.run("log", "--json").stdout)["calls"]
    assert calls[-1]["error_class"] == "cancelled"
    assert not c.kept, c.kept


@with_clients
def test_5_a_request_is_told_by_the_events_of_its_call(box, client):
    box.config(AUTO)
    gateway, c, mark = box.serve(), client(), "100004.%d" % os.getpid()
    for n in range(12):  # more than are kept
        box.write("a.txt", str(n))
        assert c.text("read_file", {"path": "a.txt"}) == str(n)
    session = gateway.ok("GET", "/sessions")["sessions"][0]["session_id"]
    events = gateway.events(session)
    assert [e["type"] for e in events] == ["session.created"] + 12 * ["tool.called", "tool.completed"]
    assert len({e["turn_id"] for e in events[1:]}) == 12
    for called, completed in zip(events[1::2], events[2::2]):
        assert called["parent_event_id"] == events[0]["id"] and completed["parent_event_id"] == called["id"]
    last = gateway.ok("GET", "/sessions/%s/turns/%s" % (session, events[-1]["turn_id"]))
    assert last["state"] == "completed", last
    c.start("tools/call", {"name": "shell", "arguments": {"command": "sleep " + mark}})
    until(lambda: processes_with("sleep\0" + mark), "it runs")
    gateway.ok("POST", "/sessions/%s/cancel" % session)
    until(lambda: gateway.events(session)[-1]["type"] == "turn.cancelled", "that it was given up is told")


@with_clients
def test_5_a_request_that_has_more_to_say_or_waits_is_told(box, client):
    box.config(AUTO)
    gateway, c, mark = box.serve(), client(), "100005.%d" % os.getpid()
    box.write("a.txt", "hello")
    c.ask("tools/call", {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": {"holdfast/turn_group_id": "g1"}})
    session = gateway.ok("GET", "/sessions")["sessions"][0]["session_id"]
    events = gateway.events(session)
    assert [e["type"] for e in events[1:]] == ["turn.started", "tool.called", "tool.completed", "turn.completed"]
    assert events[1]["payload"]["turn_group_id"] == "g1" and events[2]["parent_event_id"] == events[1]["id"]
    for n in range(4):  # as many as may run together
        c.start("tools/call", {"name": "shell", "arguments": {"command": "sleep %s # %d" % (mark, n)}})
    until(lambda: len(processes_with("sleep\0" + mark)) == 4, "they run")
    assert gateway.events(session)[-1]["type"] == "tool.called"
    waits = c.start("tools/call", {"name": "read_file", "arguments": {"path": "a.txt"}})
    until(lambda: gateway.events(session)[-1]["type"] == "turn.started", "that it waits for a slot is told")
    gateway.ok("POST", "/sessions/%s/cancel" % session, {})
    assert c.answer(waits)["result"]["isError"]


@with_clients
def test_ids_come_back_exactly_as_they_were(box, client):
    box.serve()
    c = client()
    for id in (b"0", b"1", b"-1", b"9007199254740993", b"9223372036854775807", b'"1"', b'"a"', b'""', b'"\xc3\xa4"', b'"x y/z"'):
        for method in (b"ping", b"nope"):
            c.send(b'{"jsonrpc":"2.0","id":%s,"method":"%s"}' % (id, method))
            assert b'"id":%s,' % id in c.line(), id
    c.send(b'{"jsonrpc":"2.0","id":"\\u00e4\\n","method":"ping"}')
    assert c.next()["id"] == "ä\n"
    for id in (b"null", b"[]", b"{}", b"true"):
        c.send(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % id)
        message = c.next()
        assert message["error"]["code"] == INVALID_REQUEST and message["id"] is None, (id, message)
    c.alive()


@with_clients
def test_an_id_that_is_still_in_use_is_refused(box, client):
    box.config(AUTO)
    box.serve()
    c = client()
    c.start("tools/call", {"name": "shell", "arguments": {"command": "until [ -e release ]; do sleep 0.05; done; echo first"}}, id=7)
    c.start("tools/call", {"name": "shell", "arguments": {"command": "touch second"}}, id=7)
    assert c.next()["error"]["code"] == INVALID_REQUEST
    box.write("release", "")
    assert "first" in c.answer(7)["result"]["content"][0]["text"]
    assert not box.exists("second")


@with_clients
def test_what_is_no_message_is_complained_about_and_the_channel_lives(box, client):
    box.serve()
    c = client()
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}"
    for raw, code in ((b"nonsense", PARSE_ERROR), (b"{", PARSE_ERROR), (b'{"jsonrpc":"2.0","id":1,"method":"ping"', PARSE_ERROR),
                      (b"\xff\xfe\x00", PARSE_ERROR), (b'{"a":"\x00"}', PARSE_ERROR), (b"[]", INVALID_REQUEST), (deep, INVALID_REQUEST),
                      (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST), (b"42", INVALID_REQUEST), (b"null", INVALID_REQUEST),
                      (b'"text"', INVALID_REQUEST), (b"{}", INVALID_REQUEST), (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', PARSE_ERROR)):
        c.send(raw)
        message = c.next()
        assert message["error"]["code"] == code and message["id"] is None, (raw[:60], message)
    for raw in (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', b'{"id":5,"method":"ping"}', b'{"jsonrpc":"2.0","id":5}',
                b'{"jsonrpc":"2.0","id":5,"method":7}'):
        c.send(raw)
        message = c.next()
        assert message["error"]["code"] == INVALID_REQUEST and message["id"] == 5, (raw, message)
    c.send(b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}')
    assert c.next()["error"]["code"] in (INVALID_PARAMS, INVALID_REQUEST)
    c.alive()
    assert not c.kept


@with_clients
def test_blank_lines_line_ends_and_notes_are_taken_quietly(box, client):
    box.serve()
    c = client()
    c.send(b"")
    c.send(b"   \t ")
    c.send(b'  {"jsonrpc":"2.0","id":"crlf","method":"ping"}\r')
    assert c.next()["id"] == "crlf"
    c.note("notifications/initialized")
    c.note("notifications/whatever", {"a": 1})
    c.note("tools/call", {"name": "write_file", "arguments": {"path": "a", "content": "x"}})
    c.send({"jsonrpc": "2.0", "id": 1, "result": {}})
    c.send({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}})
    c.alive()
    assert not c.kept and not box.exists("a")


@with_clients
def test_a_line_of_nine_megabytes_is_one_error(box, client):
    box.serve()
    c = client()
    c.send(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"' + b"x" * (9 << 20) + b'"}}')
    message = c.next()
    assert message["id"] is None and message["error"]["code"] == INVALID_REQUEST and "8388608" in message["error"]["message"]
    c.alive()
    assert not c.kept


@with_clients
def test_results_and_arguments_of_megabytes_pass(box, client):
    box.config(AUTO + "results: {max_bytes: 4194304}\n")
    box.serve()
    c = client()
    content = "line of text\n" * 400000
    c.send({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "write_file", "arguments": {"path": "big", "content": content}}})
    assert not c.answer("w")["result"]["isError"] and box.read("big") == content
    assert len(c.text("read_file", {"path": "big"})) > 200 * 1024
    assert "art_" in c.text("shell", {"command": "cat big"})  # what a command says at such length is kept


@with_clients
def test_requests_before_initialize_are_answered(box, client):
    box.serve()
    c = client()
    c.alive()
    assert c.ask("tools/list")["result"]["tools"]


@with_clients
def test_end_of_input_ends_it_with_its_calls_and_session(box, client):
    box.config(AUTO)
    gateway = box.serve()
    c, mark = client(), "100004.%d" % os.getpid()
    c.initialize()
    c.start("tools/call", {"name": "shell", "arguments": {"command": "setsid sleep %s & sleep %s" % (mark, mark)}})
    until(lambda: len(processes_with("sleep\0" + mark)) == 2, "it runs")
    assert c.close() == 0
    until(lambda: not processes_with(mark), "its command has ended")
    until(lambda: gateway.ok("GET", "/sessions")["sessions"] == [], "its session has ended")


@with_clients
def test_answers_on_their_way_still_come_after_the_end_of_input(box, client):
    box.write("a.txt", "alpha")
    for args in ([], ["--standalone"]):
        if not args:
            box.serve()
        c = client(*args)
        for i in range(50):
            c.start("tools/call", {"name": "read_file", "arguments": {"path": "a.txt"}}, id=i)
        assert c.close() == 0
        got = []
        while (line := c.line()) is not None:
            got.append(json.loads(line)["id"])
        assert sorted(got) == list(range(50)), args


@with_clients
def test_a_client_that_dies_takes_its_question_with_it(box, client):
    gateway = box.serve()
    c = client()
    c.start("tools/call", {"name": "write_file", "arguments": {"path": "a", "content": "x"}})
    gateway.question()
    c.process.kill()
    until(lambda: gateway.ok("GET", "/confirmations")["confirmations"] == [], "the question is withdrawn")
    until(lambda: gateway.ok("GET", "/sessions")["sessions"] == [], "the session has ended")
    assert not box.exists("a")


@with_clients
def test_a_signal_ends_it_promptly(box, client):
    gateway = box.serve()
    c = client()
    c.alive()
    c.process.send_signal(signal.SIGTERM)
    assert c.process.wait(timeout=20) in (0, 143)
    until(lambda: gateway.ok("GET", "/sessions")["sessions"] == [], "the session has ended")


@with_clients
def test_5_a_gateway_that_was_stopped_is_not_started_again(box, client):
    box.serve()
    c = client()
    c.initialize()
    assert box.run("stop").returncode == 0
    assert c.process.wait(timeout=60) == 3
    until(lambda: b"the gateway has ended" in c.errors, "it says so")
    assert box.run("status").returncode == 3


def of_process(pid):
    """(parent, process group, session)"""
    with open("/proc/%d/stat" % pid) as file:
        return [int(n) for n in file.read().rpartition(")")[2].split()[1:4]]


@with_clients
def test_5_a_gateway_that_was_killed_is_replaced(box, client):
    box.config(AUTO)
    box.write("a.txt", "alpha")
    gateway = box.serve()
    old, new = client(), client()
    old.initialize()
    for c in (old, new):  # of both eras: one of them said initialize
        c.pending = c.start("tools/call", {"name": "shell", "arguments": {"command": "touch %d; sleep 60" % c.process.pid}})
        until(lambda: box.exists(str(c.process.pid)), "it runs")
    gateway.kill()
    for c in (old, new):
        error = c.answer(c.pending)["error"]
        assert error["code"] == -32603 and "not known" in error["message"], error
        assert c.text("read_file", {"path": "a.txt"}) == "alpha"
    pid = json.loads(box.run("status", "--json").stdout)["pid"]
    assert len(json.loads(box.run("sessions", "--json").stdout)["sessions"]) == 2, "they share it"
    os.kill(pid, signal.SIGKILL)
    for c in (old, new):  # what reached the one that is gone has an error
        until(lambda: "result" in c.call("read_file", {"path": "a.txt"}), "another one answers")
        assert c.close() == 0


def request(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


@with_clients
def test_5_a_batch_is_answered_as_one(box, client):
    box.write("a.txt", "alpha")
    box.serve()
    c = client()
    c.initialize("2025-03-26")
    read = request("r", "tools/call", name="read_file", arguments={"path": "a.txt"})
    c.send([request(10, "ping"), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}, read,
            request(11, "nothing/such"), 7, request(12, "initialize")])
    got = {a.get("id"): a for a in json.loads(c.line())}
    assert got[10]["result"] == {} and got["r"]["result"]["content"][0]["text"] == "alpha", got
    assert got[11]["error"]["code"] == NO_METHOD and got[12]["error"]["code"] == INVALID_REQUEST, got
    assert got[None]["error"]["code"] == INVALID_REQUEST and len(got) == 5, got
    c.send([{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}])  # nothing to answer
    for refused in ([], [request(20, "ping")] * 1025):
        c.send(refused)
        assert c.next()["error"]["code"] == INVALID_REQUEST
    # Who is asked in the middle of one is asked at once, and cancelling one leaves the others.
    c.send([request(30, "tools/call", name="write_file", arguments={"path": "b", "content": "x"}), request(31, "ping")])
    c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 30}})
    assert [a["id"] for a in json.loads(c.line())] == [31]
    assert c.close() == 0
    later = client()
    later.initialize("2025-06-18")
    later.send([request(10, "ping")])
    assert later.next()["error"]["code"] == INVALID_REQUEST
    assert later.close() == 0


@with_clients
def test_5_a_batch_outlives_its_gateway(box, client):
    box.config(AUTO)
    box.write("a.txt", "alpha")
    gateway = box.serve()
    c = client()
    c.initialize("2025-03-26")
    c.send([request(10, "tools/call", name="shell", arguments={"command": "touch runs; sleep 60"}), request(11, "ping"),
            request(12, "tools/call", name="shell", arguments={"command": "sleep 60"})])
    until(lambda: box.exists("runs"), "it runs")
    gateway.kill()
    assert [(a["id"], a["error"]["code"]) for a in json.loads(c.line())] == [(i, -32603) for i in (10, 11, 12)]
    c.send([request(20, "tools/call", name="read_file", arguments={"path": "a.txt"})])
    assert json.loads(c.line())[0]["result"]["content"][0]["text"] == "alpha"
    assert c.close() == 0


@with_clients
def test_5_the_daemon_is_no_descendant_of_its_client(box, client):
    c = client()
    c.alive()
    daemon = json.loads(box.run("status", "--json").stdout)["pid"]
    parent, group, session = of_process(daemon)
    assert group == session == daemon
    while parent > 1:
        assert parent != c.process.pid
        parent = of_process(parent)[0]
    assert os.readlink("/proc/%d/cwd" % daemon) == "/"
    files = [os.readlink("/proc/%d/fd/%d" % (daemon, fd)) for fd in range(3)]
    assert files == ["/dev/null", "/dev/null", os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "daemon.log")], files


@with_clients
def test_5_a_client_whose_session_is_ended_gets_another(box, client):
    """Whoever ends the session elsewhere ends its line too; the client goes on with a new one, as after any loss."""
    box.config(AUTO)
    gateway = box.serve()
    c, other = client(), client()
    c.initialize()
    other.alive()
    running = c.start("tools/call", {"name": "shell", "arguments": {"command": "sleep 1000"}})
    until(lambda: gateway.ok("GET", "/status")["calls"]["running"] == 1, "it runs")
    ours = next(s for s in gateway.ok("GET", "/sessions")["sessions"] if s["client"] == "t 1")
    gateway.ok("DELETE", "/sessions/" + ours["session_id"])
    assert "the session has ended" in c.answer(running)["error"]["message"]
    # What is said while the old line closes gets an error, too.
    until(lambda: "result" in c.ask("ping"), "it goes on")
    assert "a session was ended" in gateway.log()
    other.alive()


@with_clients
def test_it_starts_a_daemon_that_others_share(box, client):
    box.write("a.txt", "alpha")
    assert box.run("status").returncode == 3
    first = client()
    assert first.text("read_file", {"path": "a.txt"}) == "alpha"
    assert box.run("status").returncode == 0
    second = client("--workspace", box.make_dir("other"))
    assert second.text("list_dir") == "(empty)"
    sessions = json.loads(box.run("sessions", "--json").stdout)["sessions"]
    assert sorted(s["workspace_path"] for s in sessions) == [box.make_dir("other"), box.workspace]
    assert first.close() == 0
    assert second.text("list_dir") == "(empty)"  # the daemon is nobody's child
    assert second.close() == 0
    assert box.run("status").returncode == 0
    assert box.run("stop").returncode == 0
    log = os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "daemon.log")
    assert os.stat(log).st_mode & 0o077 == 0 and b"Sanitizer" not in open(log, "rb").read()


@with_clients
def test_clients_started_at_once_share_one_daemon(box, client):
    started = [client() for _ in range(5)]
    for c in started:
        c.initialize()
    assert len(json.loads(box.run("sessions", "--json").stdout)["sessions"]) == 5


@with_clients
def test_standalone_needs_no_daemon(box, client):
    box.write("a.txt", "alpha")
    c = client("--standalone")
    c.initialize()
    assert c.text("read_file", {"path": "a.txt"}) == "alpha"
    assert box.run("status").returncode == 3
    assert c.close() == 0
    assert json.loads(box.run("log", "--json").stdout)["calls"][0]["tool_name"] == "read_file"


@with_clients
def test_approval_from_elsewhere_while_the_client_waits(box, client):
    gateway = box.serve()
    c = client()
    c.initialize()
    id = c.start("tools/call", {"name": "write_file", "arguments": {"path": "a.txt", "content": "new"}})
    gateway.question()
    c.alive()  # it waits for the person, not the channel
    assert not box.exists("a.txt")
    done = box.run("approve")
    assert done.returncode == 0 and "+new" in done.stdout
    assert not c.answer(id)["result"]["isError"] and box.read("a.txt") == "new"
    id = c.start("tools/call", {"name": "shell", "arguments": {"command": "touch b.txt"}})
    gateway.question()
    assert box.run("deny").returncode == 0
    refused = c.answer(id)["result"]
    assert refused["isError"] and "denied" in refused["content"][0]["text"] and not box.exists("b.txt")


@with_clients
def test_the_workspace_is_the_current_directory_or_the_one_given(box, client):
    box.write("sub/a.txt", "alpha")
    box.serve()
    assert client(cwd=os.path.join(box.workspace, "sub")).text("list_dir") == "a.txt"
    assert client("--workspace", "sub").text("list_dir") == "a.txt"
    bad = client("--workspace", "none")
    assert bad.process.wait(timeout=20) == 2 and bad.line() is None
    until(lambda: b"none" in bad.errors, "it says why")


@with_clients
def test_a_configuration_that_is_wrong_is_told(box, client):
    box.config("tool_confirmation: {default: {EXECUTE: maybe}}\n")
    for args in ([], ["--standalone"]):
        c = client(*args)
        assert c.process.wait(timeout=20) == 3 and c.line() is None, args
        until(lambda: b"maybe" in c.errors or b"daemon.log" in c.errors, "it says why")
    assert "EXECUTE" in open(os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "daemon.log")).read()


MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}


@with_clients
def test_5_both_eras_on_one_line(box, client):
    box.config(AUTO)
    box.write("a.txt", "alpha")
    box.serve()
    c = client()
    found = c.answer(c.start("server/discover", {"_meta": MODERN}, id="server-discover-probe-1"))["result"]
    assert found["supportedVersions"] == ["2026-07-28"] and found["resultType"] == "complete"
    assert c.initialize()["protocolVersion"] == VERSIONS[0], "a probe pins nothing"
    modern = c.ask("tools/call", {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": MODERN})["result"]
    assert modern["resultType"] == "complete" and modern["content"][0]["text"] == "alpha"
    assert c.call("read_file", {"path": "a.txt"})["result"] == {"content": [{"type": "text", "text": "alpha"}], "isError": False}
    for meta, code in (({"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, INVALID_PARAMS),
                       ({**MODERN, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}, -32022)):
        assert c.ask("tools/list", {"_meta": meta})["error"]["code"] == code
    assert c.ask("ping", {"_meta": MODERN})["error"]["code"] == NO_METHOD
    c.alive()


@with_clients
def test_5_listening_on_a_line_ends_when_it_is_cancelled(box, client):
    box.serve()
    c = client()
    c.start("subscriptions/listen", {"_meta": MODERN, "notifications": {"toolsListChanged": True}}, id="listen:0")
    first = c.next()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "listen:0"
    assert c.ask("tools/list", {"_meta": MODERN})["result"]["tools"]
    c.note("notifications/cancelled", {"requestId": "listen:0", "_meta": MODERN})
    c.alive()
    assert not c.kept
    c.start("subscriptions/listen", {"_meta": MODERN, "notifications": {}}, id="listen:0")  # the id is free again
    assert c.next()["method"] == "notifications/subscriptions/acknowledged"


@with_clients
def test_5_a_person_approves_on_a_line_of_either_era(box, client):
    gateway = box.serve()
    c = client()
    c.ask("initialize", {"protocolVersion": VERSIONS[0], "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}})
    allow = {"action": "accept", "content": {"decision": "allow once"}}
    waiting = c.start("tools/call", {"name": "write_file", "arguments": {"path": "a", "content": "x"}})
    asked = c.next()
    assert asked["method"] == "elicitation/create" and not box.exists("a")
    c.send({"jsonrpc": "2.0", "id": asked["id"], "result": allow})
    assert not c.answer(waiting)["result"]["isError"] and box.read("a") == "x"
    params = {"name": "write_file", "arguments": {"path": "b", "content": "x"}, "_meta": MODERN}
    result = c.ask("tools/call", params)["result"]
    assert result["resultType"] == "input_required" and not box.exists("b")
    responses = {key: allow for key in result["inputRequests"]}
    done = c.ask("tools/call", {**params, "requestState": result["requestState"], "inputResponses": responses})["result"]
    assert done["resultType"] == "complete" and not done["isError"] and box.read("b") == "x"
    assert gateway.ok("GET", "/confirmations")["confirmations"] == []


@with_clients
def test_a_form_says_why_it_is_asked_each_time(box, client):
    box.write(".env", "A=1\n")
    c = client()
    c.ask("initialize", {"protocolVersion": VERSIONS[0], "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}})
    waiting = c.start("tools/call", {"name": "read_file", "arguments": {"path": ".env"}})
    asked = c.next()
    assert "asked each time because of secret_files " in asked["params"]["message"], asked
    c.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})
    assert c.answer(waiting)["result"]["isError"]


def frames():
    root = testdata()
    path = root and os.path.join(root, "batteries", "mcp-frames", "frames.jsonl")
    if not path or not os.path.exists(path):
        raise Skip("the test data is not here")
    with open(path) as file:
        return [json.loads(line) for line in file]


@with_clients
def test_every_hostile_frame_leaves_the_channel_alive(box, client):
    battery = frames()
    box.serve()
    for part in (battery[0::2], battery[1::2]):
        c = client()
        c.initialize()

        def write():
            for i, frame in enumerate(part):
                c.send(base64.b64decode(frame["b64"]))
                c.send({"jsonrpc": "2.0", "id": "alive-%d" % i, "method": "ping"})
        writer = threading.Thread(target=write)
        writer.start()
        for i, frame in enumerate(part):
            while True:
                line = c.line()
                assert line is not None, "gone near %s/%s" % (frame["gen"], frame["name"])
                message = json.loads(line)
                for each in message if isinstance(message, list) else [message]:  # a frame may have asked for a revision with batches
                    assert each["jsonrpc"] == "2.0" and ("result" in each) != ("error" in each), line[:200]
                if isinstance(message, dict) and message["id"] == "alive-%d" % i:
                    break
        writer.join()
        assert c.close() == 0
