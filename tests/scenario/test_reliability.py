"""Retries, deadlines, breakers, quotas, circles and long results (issue 6). What a server has done is told by a file of its own."""
import http.server
import json
import os
import sys
import threading
import time

from lib import until
from test_mcp import with_clients

MOODY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "moody_server.py")
AUTO = {"default": {"WRITE": "auto", "EXECUTE": "auto", "NETWORK": "auto"}}
QUICK = {"retry": {"initial_ms": 20, "max_ms": 5000, "jitter": 0}, "repeat_limit": 0}


def moody(box, **more):
    return {"command": sys.executable, "args": [MOODY, box.dir], "trust": True, "protocol": "legacy", **more}


def configure(box, tools=None, **server):
    defaults = {**QUICK, **(tools or {}).pop("defaults", {})}
    box.config(json.dumps({
        "mcpServers": {"m": moody(box, **server)}, "tool_confirmation": AUTO,
        "tools": {"defaults": defaults, **(tools or {})}}))


def serve(box, tools=None, **server):
    configure(box, tools, **server)
    g = box.serve("--no-auth")
    until(lambda: server_of(g)["state"] == "started", "the server is started")
    return g


def server_of(g, name="m"):
    return next(s for s in g.ok("GET", "/servers")["servers"] if s["name"] == name)


def plan(box, name, *words):
    path = os.path.join(box.dir, name)
    with open(path + ".tmp", "w") as out:
        out.write("\n".join(words))
    os.rename(path + ".tmp", path)


def calls(box):
    path = os.path.join(box.dir, "calls")
    return open(path).read().split() if os.path.exists(path) else []


def payloads(g, session, type):
    return [e["payload"] for e in g.events(session) if e["type"] == type]


def row(g, session):
    return g.ok("GET", "/sessions/%s/calls" % session)["calls"][-1]


def all_events(g, type):
    return [e["payload"] for e in g.ok("GET", "/events?limit=1000")["events"] if e["type"] == type]


# Retries


def test_6_a_tool_that_only_reads_is_tried_again(box):
    g = serve(box)
    s = g.session()
    plan(box, "moods", "crash")
    result = g.call(s, "m__look", {})
    assert not result.is_error and result.text == "xxxx", result.text
    assert calls(box) == ["look", "look"]
    told = payloads(g, s, "tool.retrying")
    assert [(t["attempt"], t["of"], t["delay_ms"], t["reason"]) for t in told] == [(2, 2, 20, "unavailable")], told
    assert g.types(s).count("tool.called") == 1
    assert row(g, s)["attempts"] == 2


def test_6_attempts_come_to_an_end_and_the_last_error_is_told(box):
    g = serve(box, {"m__*": {"retry": {"attempts": 3}, "timeout_seconds": 30}}, breaker={"failures": 0})
    s = g.session()
    plan(box, "moods", "crash", "crash", "crash", "crash")
    result = g.call(s, "m__put", {})
    assert result.error_class == "execution_error" and "went away" in result.text, result.text
    assert calls(box) == ["put"] * 3
    assert row(g, s)["attempts"] == 3


def test_6_what_cannot_be_undone_is_never_done_twice(box):
    g = serve(box)
    s = g.session()
    plan(box, "moods", "crash")
    result = g.call(s, "m__pay", {})
    assert result.is_error and "it may have been done" in result.text, result.text
    assert calls(box) == ["pay"]
    assert not payloads(g, s, "tool.retrying") and row(g, s)["attempts"] == 1


def test_6_what_never_left_may_be_tried_again_whatever_it_is(box):
    g = serve(box)
    s = g.session()
    plan(box, "starts", "die", "die")
    g.ok("POST", "/servers/m/restart", {})
    until(lambda: server_of(g)["state"] == "failed", "the server has failed")
    result = g.call(s, "m__pay", {})
    assert not result.is_error, result.text
    assert calls(box) == ["pay"]
    assert [t["reason"] for t in payloads(g, s, "tool.retrying")] == ["not_sent"]
    assert row(g, s)["attempts"] == 2


def test_6_what_a_tool_says_is_an_answer_and_never_asked_for_again(box):
    g = serve(box)
    s = g.session()
    plan(box, "moods", "error")
    result = g.call(s, "m__look", {})
    assert result.is_error and result.text == "no such thing"
    assert calls(box) == ["look"]


def test_6_cancel_ends_the_wait_for_the_next_attempt(box):
    g = serve(box, {"m__look": {"retry": {"initial_ms": 600000, "max_ms": 600000}, "max_seconds": 3600}})
    s = g.session()
    plan(box, "moods", "crash")
    turn = g.start(s, "m__look", {})
    until(lambda: payloads(g, s, "tool.retrying"), "it waits")
    assert g.ok("GET", "/status")["calls"]["pausing"] == 1
    g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]), {})
    over = g.turn(s, turn["turn_id"])
    assert over["calls"][0]["error_class"] == "cancelled", over
    assert calls(box) == ["look"]


# Deadlines


def test_6_every_attempt_has_a_deadline_of_its_own(box):
    g = serve(box, {"m__look": {"timeout_seconds": 1}})
    s = g.session()
    plan(box, "moods", "hang")
    result = g.call(s, "m__look", {})
    assert not result.is_error and result.text == "xxxx", result.text
    assert calls(box) == ["look", "look"]
    assert [t["reason"] for t in payloads(g, s, "tool.retrying")] == ["timeout"]


def test_6_a_deadline_is_no_reason_to_write_again(box):
    g = serve(box, {"m__*": {"timeout_seconds": 1}})
    s = g.session()
    plan(box, "moods", "hang", "hang")
    for tool in ("m__put", "m__pay"):
        result = g.call(s, tool, {})
        assert result.error_class == "timeout" and "within 1 seconds" in result.text, result.text
    assert calls(box) == ["put", "pay"]


def test_6_all_attempts_together_end_at_the_absolute_limit(box):
    g = serve(box, {"m__look": {"timeout_seconds": 1, "max_seconds": 2, "retry": {"attempts": 10}}}, breaker={"failures": 0})
    s = g.session()
    plan(box, "moods", *["hang"] * 10)
    result = g.call(s, "m__look", {})
    assert result.error_class == "timeout", result.text
    assert 1 < len(calls(box)) < 5, calls(box)


def test_6_a_late_answer_is_thrown_away_and_told(box):
    g = serve(box, {"m__pay": {"timeout_seconds": 1}})
    s = g.session()
    plan(box, "moods", "late")
    result = g.call(s, "m__pay", {})
    assert result.error_class == "timeout", result.text
    told = until(lambda: all_events(g, "tool.late_report"), "the late answer is told")
    assert told[0]["call_id"] == result.outcome["call_id"] and told[0]["server"] == "m" and told[0]["after_ms"] > 0, told
    assert g.call(s, "m__look", {}).text == "xxxx"


def test_5_the_time_of_a_tool_begins_when_its_server_has_it(box):
    """Not while the server is started, nor while it has others to serve."""
    g = serve(box, {"m__*": {"timeout_seconds": 3, "max_seconds": 60}}, idle_stop=1, concurrency=1)
    until(lambda: server_of(g)["state"] == "known", "it is ended, for nobody uses it")
    plan(box, "starts", "slow")  # for 4 seconds
    plan(box, "moods", "late", "late")  # by 2 seconds each
    turns = [(s, g.start(s, "m__pay", {"bytes": n})["turn_id"]) for n in (1, 2) for s in [g.session()]]
    for s, turn in turns:
        call = g.turn(s, turn)["calls"][0]
        assert call["is_error"] is False, call
    assert calls(box) == ["pay", "pay"]


def test_5_a_call_its_server_never_had_time_for_was_not_made(box):
    g = serve(box, {"m__pay": {"timeout_seconds": 1, "max_seconds": 2}, "m__look": {"timeout_seconds": 60}}, concurrency=1)
    plan(box, "moods", "hang")
    other = g.session()
    open_turn = g.start(other, "m__look", {})
    until(lambda: calls(box) == ["look"], "the server is at work")
    s = g.session()
    result = g.call(s, "m__pay", {})
    assert result.error_class == "timeout" and "was not begun" in result.text and "not known" not in result.text, result.text
    assert calls(box) == ["look"] and server_of(g)["breaker"] == "closed"
    g.ok("POST", "/sessions/%s/turns/%s/cancel" % (other, open_turn["turn_id"]))


# Breakers


def test_6_a_server_that_keeps_failing_is_left_alone_then_tried(box):
    g = serve(box, {"m__*": {"timeout_seconds": 1, "retry": {"attempts": 1}}},
              breaker={"failures": 2, "window_seconds": 600, "rest_seconds": 3})
    s = g.session()
    plan(box, "moods", "hang", "hang")
    for _ in range(2):
        assert g.call(s, "m__look", {}).error_class == "timeout"
    assert server_of(g)["breaker"] == "open"
    assert [t["server"] for t in all_events(g, "breaker.opened")] == ["m"]
    shown = box.run("servers", "m")
    assert "open" in shown.stdout, shown.stdout

    refused = g.call(s, "m__pay", {})
    assert refused.error_class == "execution_error" and "left alone" in refused.text, refused.text
    assert 1 <= refused.outcome["retry_after"] <= 3, refused.outcome
    assert calls(box) == ["look", "look"], "nothing is sent while it is open"

    until(lambda: server_of(g)["breaker"] == "half_open", "its rest is over")
    assert not g.call(s, "m__look", {}).is_error
    assert server_of(g)["breaker"] == "closed"
    assert [t["server"] for t in all_events(g, "breaker.closed")] == ["m"]


def test_6_one_call_tries_and_a_failure_opens_it_again(box):
    g = serve(box, {"m__*": {"timeout_seconds": 1, "retry": {"attempts": 1}}},
              breaker={"failures": 1, "window_seconds": 600, "rest_seconds": 0.5})
    s = g.session()
    plan(box, "moods", "hang", "hang")
    assert g.call(s, "m__look", {}).error_class == "timeout"
    until(lambda: server_of(g)["breaker"] == "half_open", "its rest is over")
    trial = g.start(s, "m__look", {})
    until(lambda: len(calls(box)) == 2, "the one that tries is there")
    assert g.call(s, "m__look", {}).error_class == "execution_error"
    assert g.turn(s, trial["turn_id"])["calls"][0]["error_class"] == "timeout"
    assert calls(box) == ["look", "look"]
    until(lambda: not g.call(s, "m__look", {}).is_error, "it is well again")
    assert len(all_events(g, "breaker.opened")) == 1


def test_6_errors_of_a_tool_open_nothing(box):
    g = serve(box, breaker={"failures": 1, "window_seconds": 600, "rest_seconds": 60})
    s = g.session()
    plan(box, "moods", "error", "error", "error")
    for _ in range(3):
        assert g.call(s, "m__look", {}).text == "no such thing"
    assert server_of(g)["breaker"] == "closed"


def test_6_a_tool_may_have_a_breaker_of_its_own(box):
    g = serve(box, {"m__look": {"timeout_seconds": 1, "retry": {"attempts": 1}, "breaker": {"failures": 1, "rest_seconds": 600}}})
    s = g.session()
    plan(box, "moods", "hang")
    assert g.call(s, "m__look", {}).error_class == "timeout"
    assert "the tool m__look has failed too often" in g.call(s, "m__look", {}).text
    assert not g.call(s, "m__put", {}).is_error
    assert [t["tool"] for t in all_events(g, "breaker.opened")] == ["m__look"]


# Quotas


def test_6_a_tool_may_be_called_so_often(box):
    g = serve(box, {"m__look": {"rate": {"calls": 2, "per_seconds": 600}}})
    s = g.session()
    assert not any(g.call(s, "m__look", {}).is_error for _ in range(2))
    refused = g.call(s, "m__look", {})
    assert refused.error_class == "execution_error" and "2 times in 600 s" in refused.text, refused.text
    assert 590 <= refused.outcome["retry_after"] <= 600, refused.outcome
    assert not g.call(s, "m__put", {}).is_error
    assert calls(box) == ["look", "look", "put"]


def test_6_all_tools_of_a_server_share_its_rate(box):
    g = serve(box, {"m__put": {"rate": {"calls": 1, "per_seconds": 600}}}, rate={"calls": 3, "per_seconds": 600})
    s = g.session()
    assert not g.call(s, "m__put", {}).is_error
    # What is refused for one of them is not charged to the other.
    assert all(g.call(s, "m__put", {}).is_error for _ in range(5))
    assert not any(g.call(s, "m__look", {}).is_error for _ in range(2))
    assert "the server m may be called 3 times" in g.call(s, "m__look", {}).text


@with_clients
def test_6_agents_are_told_when_to_come_back(box, client):
    configure(box, {"m__look": {"rate": {"calls": 1, "per_seconds": 600}}})
    one = client()
    one.initialize()
    until(lambda: "m__look" in [t["name"] for t in one.ask("tools/list")["result"]["tools"]], "the server is there")
    assert not one.call("m__look", {})["result"].get("isError")
    refused = one.call("m__look", {})["result"]
    assert refused["isError"] and 590000 < refused["_meta"]["holdfast/retry_after_ms"] <= 600000, refused
    other = client("--surface", "gateway")
    other.initialize()
    cards = other.call("tool_browse", {"query": "look"})["result"]["structuredContent"]["cards"]
    look = next(card["id"] for card in cards if card["id"].startswith("m:look"))
    said = other.call("tool_execute", {"tool_id": look, "args": {}})["result"]["structuredContent"]
    assert said["error"] == "RATE_LIMITED" and said["retryable"], said
    assert 590 <= said["details"]["retry_after"] <= 600, said


@with_clients
def test_5_what_may_have_been_done_is_not_called_retryable(box, client):
    configure(box, {"defaults": {"retry": {"attempts": 1}}, "m__put": {"timeout_seconds": 1}}, breaker={"failures": 0})
    one = client("--surface", "gateway")
    one.initialize()

    def ids():
        cards = one.call("tool_browse", {"path": "/m"})["result"].get("structuredContent", {}).get("cards", [])
        return {card["id"].split(":")[1].split("#")[0]: card["id"] for card in cards}
    until(lambda: len(ids()) == 3, "the server is there")
    known = ids()

    def refused(tool, mood):
        plan(box, "moods", mood)
        said = one.call("tool_execute", {"tool_id": known[tool], "args": {}})["result"]["structuredContent"]
        return said["error"], said["retryable"]
    # What only looks, or is the same when it is done twice, can be tried again.
    assert refused("put", "hang") == ("UPSTREAM_TIMEOUT", True)
    assert refused("pay", "crash") == ("UPSTREAM_UNAVAILABLE", False)
    assert refused("look", "crash") == ("UPSTREAM_UNAVAILABLE", True)


# HTTP


class Busy(http.server.BaseHTTPRequestHandler):
    """Speaks MCP, but first says so many times that it has no time."""
    protocol_version = "HTTP/1.1"
    refusals, calls = [], []

    def log_message(self, *args):
        pass

    def send(self, status, message, **headers):
        data = json.dumps(message).encode() if message is not None else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if message is not None else "text/plain")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.send(405, None)

    do_DELETE = do_GET

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, id = request.get("method"), request.get("id")
        if id is None:
            return self.send(202, None)
        if method == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "busy", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
                                {"name": "pay", "inputSchema": {"type": "object"}}]}
        else:
            self.calls.append(request["params"]["name"])
            if self.refusals:
                status, after = self.refusals.pop(0)
                return self.send(status, None, Retry_After=after)
            result = {"content": [{"type": "text", "text": "here"}]}
        self.send(200, {"jsonrpc": "2.0", "id": id, "result": result})


def with_busy(test):
    def run(box):
        Busy.refusals, Busy.calls = [], []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            box.config(json.dumps({
                "mcpServers": {"b": {"url": "http://127.0.0.1:%d/" % server.server_port, "trust": True, "protocol": "legacy"}},
                "tool_confirmation": AUTO, "tools": {"defaults": QUICK}}))
            g = box.serve("--no-auth")
            until(lambda: server_of(g, "b")["state"] == "started", "the server is started")
            test(g, g.session())
        finally:
            server.shutdown()
            server.server_close()
    run.__name__ = test.__name__
    return run


@with_busy
def test_6_a_busy_server_is_asked_again_when_it_wants_to_be(g, s):
    Busy.refusals.append((503, "1"))
    assert g.call(s, "b__look", {}).text == "here"
    told = payloads(g, s, "tool.retrying")
    assert [(t["delay_ms"], t["reason"]) for t in told] == [(1000, "unavailable")], told
    Busy.refusals.append((429, "2"))
    assert g.call(s, "b__look", {"again": 1}).text == "here"
    assert payloads(g, s, "tool.retrying")[-1]["delay_ms"] == 2000


@with_busy
def test_6_nobody_waits_longer_than_the_longest_delay(g, s):
    Busy.refusals.append((429, "90"))
    result = g.call(s, "b__look", {})
    assert result.is_error and result.outcome["retry_after"] == 90, (result.text, result.outcome)
    assert Busy.calls == ["look"]


@with_busy
def test_6_a_payment_is_not_made_again_because_a_server_was_busy(g, s):
    Busy.refusals.append((503, "0"))
    assert g.call(s, "b__pay", {}).is_error
    assert Busy.calls == ["pay"]


# Circles


def test_6_the_same_call_three_times_in_a_row_asks(box):
    g = serve(box, {"defaults": {"repeat_limit": 3}})
    s = g.session()
    for _ in range(2):
        assert not g.call(s, "m__look", {}).is_error
    turn = g.start(s, "m__look", {})
    asked = g.question(s)
    assert asked["tool_name"] == "m__look" and "the same call three times in a row" in json.dumps(asked), asked
    assert g.answer(asked, "allow")[0] == 200
    assert not g.turn(s, turn["turn_id"])["calls"][0]["is_error"]
    # A person has looked: counting begins anew.
    assert not g.call(s, "m__look", {}).is_error
    turn = g.start(s, "m__look", {})
    assert g.answer(g.question(s), "deny")[0] == 200
    assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "user_denied"
    assert calls(box) == ["look"] * 4


def test_6_something_else_between_or_another_result_is_no_circle(box):
    g = serve(box, {"defaults": {"repeat_limit": 3}})
    s = g.session()
    for n in range(4):
        assert not g.call(s, "m__look", {}).is_error
        assert not g.call(s, "m__look", {"bytes": n}).is_error
    box.write("a.txt", "0")
    for n in range(6):
        assert not g.call(s, "read_file", {"path": "a.txt"}).is_error
        box.write("a.txt", str(n + 1))
    # Together is not in a row.
    turn = g.message(s, *[("m__put", {}) for _ in range(6)])
    assert not any(c["is_error"] for c in turn["calls"]), turn


def test_5_a_long_result_is_known_by_its_length_and_its_ends(box):
    g = serve(box, {"defaults": {"repeat_limit": 3}})
    s = g.session()
    for n in range(6):
        box.write("a.txt", "line\n" * 40000 + str(n))
        assert not g.call(s, "read_file", {"path": "a.txt"}).is_error
    for _ in range(2):
        assert not g.call(s, "m__look", {"bytes": 200000}).is_error
    g.start(s, "m__look", {"bytes": 200000})
    assert "the same call three times in a row" in json.dumps(g.question(s))


# Long results


def test_6_a_long_result_of_a_tool_is_kept_and_can_be_seen(box):
    g = serve(box, {"m__look": {"max_result_bytes": 2000}})
    s = g.session()
    short = g.call(s, "m__look", {"bytes": 1000})
    assert short.text == "x" * 1000 and "artifacts" not in short.outcome
    long = g.call(s, "m__look", {"bytes": 9000})
    assert len(long.text) < 2500 and "tool_view" in long.text, long.text[:3000]
    kept = long.outcome["artifacts"][0]
    assert kept["size_bytes"] == 9000, kept
    seen = g.call(s, "tool_view", {"handle": kept["handle"], "selector": {"type": "head", "chars": 20000}})
    assert "x" * 9000 in seen.text, seen.text[:300]
    assert g.call(s, "m__put", {"bytes": 9000}).text == "x" * 9000


@with_clients
def test_6_the_limit_holds_for_clients_that_see_everything(box, client):
    configure(box, {"m__look": {"max_result_bytes": 2000}})
    one = client()
    one.initialize()
    until(lambda: "m__look" in [t["name"] for t in one.ask("tools/list")["result"]["tools"]], "the server is there")
    result = one.call("m__look", {"bytes": 50, "blocks": "A" * 8000})["result"]
    assert len(json.dumps(result)) < 4000, result
    kept = result["_meta"]["holdfast/artifacts"][0]
    assert kept["media_type"] == "application/json", kept
    shown = box.run("view", kept["handle"], "--pointer", "/content/1/data")
    assert "A" * 8000 in shown.stdout, (shown.stdout[:200], shown.stderr)


# The file


def test_6_what_is_wrong_in_the_section_is_told_with_line_and_key(box):
    for text, want in (
            ("tools:\n  shell: {timeout: 3}\n", "line 2: tools.shell"),
            ("tools:\n  shell:\n    retry: {attempts: 0}\n", "line 3: tools.shell.retry.attempts"),
            ("tools:\n  defaults: {rate: {calls: 1.5}}\n", "line 2: tools.defaults.rate.calls"),
            ("tools:\n  'a b': {}\n", "line 2: tools"),
            ("tools:\n  x: {confinement: tight}\n", "line 2: tools.x.confinement"),
            ("tools:\n  x: {timeout_seconds: 3, max_seconds: 2}\n", "line 2: tools.x: max_seconds"),
            ("tools: 3\n", "line 1: tools")):
        box.config(text)
        wrong = box.run("config", "check")
        assert wrong.returncode != 0 and want in wrong.stdout + wrong.stderr, (text, wrong.stdout, wrong.stderr)


def test_6_a_reload_changes_what_comes_and_not_what_runs(box):
    g = serve(box, {"m__look": {"timeout_seconds": 600}})
    s = g.session()
    plan(box, "moods", "hang")
    turn = g.start(s, "m__look", {})
    until(lambda: calls(box) == ["look"], "it runs")
    loads = g.ok("GET", "/status")["config"]["loads"]
    configure(box, {"m__look": {"timeout_seconds": 600, "rate": {"calls": 1, "per_seconds": 600}}})
    until(lambda: g.ok("GET", "/status")["config"]["loads"] > loads, "the file is read again")
    assert not g.call(s, "m__look", {}).is_error
    assert "may be called 1 times" in g.call(s, "m__look", {}).text
    assert g.ok("GET", "/sessions/%s/turns/%s" % (s, turn["turn_id"]))["state"] == "open"
    g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turn["turn_id"]), {})
    assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "cancelled"
