"""The doors themselves: what the gateway says of itself, sessions that belong to a stream, and what is left of ended ones."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess

from lib import Skip, until

SHELL_ONLY_AUTO = "tool_confirmation:\n  per_tool: {shell: auto}\n"
STREAM = {"Accept": "text/event-stream"}


def attached(g, session):
    return "/sessions/%s/events?attach=1" % session


def open_sessions(g):
    return [s["session_id"] for s in g.ok("GET", "/sessions")["sessions"]]


# The gateway itself

def test_the_status_tells_version_process_and_page(box):
    g = box.serve()
    status = g.ok("GET", "/status")
    assert status["version"] == g.ok("GET", "/server/version")["version"]
    assert status["pid"] == g.process.pid
    assert status["page"] == "http://127.0.0.1:%d/" % g.port
    assert status["sessions"] == 0 and status["totals"]["calls"] == 0


def status_over_the_socket(box, listen):
    """What a gateway that listens there says of itself, and what it printed."""
    path = os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock")
    process = box.popen("serve", "--listen", listen, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def connected():
        wire = socket.socket(socket.AF_UNIX)
        try:
            wire.connect(path)
        except OSError:
            wire.close()
            assert process.poll() is None, "the gateway ended"
            return None
        return wire
    try:
        connection = http.client.HTTPConnection("localhost")
        connection.sock = until(connected, "the gateway listens")
        connection.request("GET", "/status")
        answer = json.loads(connection.getresponse().read())
        connection.close()
    finally:
        process.send_signal(signal.SIGTERM)
        printed = process.communicate(timeout=40)[0]
    assert process.returncode == 0
    return answer, printed


def test_the_page_is_told_where_it_can_be_opened(box):
    assert status_over_the_socket(box, "none")[0]["page"] is None
    status, printed = status_over_the_socket(box, "0.0.0.0:0")
    assert status["page"] == "http://127.0.0.1:%s/" % re.search(r"0\.0\.0\.0:(\d+)/", printed).group(1)


def test_the_page_of_an_ipv6_listener_has_brackets(box):
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
    except OSError:
        raise Skip("there is no IPv6 here")
    status, printed = status_over_the_socket(box, "[::1]:0")
    assert status["page"] == re.search(r"http://\[::1\]:\d+/", printed).group(0)


# Sessions that belong to a stream

def test_a_session_and_its_question_end_with_the_stream_it_is_attached_to(box):
    g = box.serve()
    s, other = g.session(), g.session()
    stream = g.stream(attached(g, s))
    g.start(s, "write_file", {"path": "a.txt", "content": "new"})
    question = g.question(s)
    assert stream.next_of("tool.confirmation_requested")["payload"]["confirmation_request_id"] == question["confirmation_request_id"]
    stream.close()
    until(lambda: open_sessions(g) == [other], "the session has ended")
    until(lambda: g.ok("GET", "/confirmations")["confirmations"] == [], "nothing is asked any more")
    until(lambda: g.types(s)[-1] == "tool.failed", "the call is over")
    assert g.events(s, event_types="tool.failed")[0]["payload"]["error_class"] == "cancelled"
    status, late = g.answer(question, "allow")
    assert status == 409 and late["error"]["details"] == {"decision": "withdrawn"}, (status, late)
    assert not box.exists("a.txt")


def test_an_attached_session_has_one_owner(box):
    g = box.serve()
    s = g.session()
    stream = g.stream(attached(g, s))
    g.refused(409, "already_exists", "GET", attached(g, s), headers=STREAM)
    g.stream("/sessions/%s/events" % s).close()  # others may look
    g.request("HEAD", attached(g, s), headers=STREAM)
    assert not g.call(s, "list_dir", {}).is_error
    g.ok("DELETE", "/sessions/" + s)
    stream.next_of("session.ended")
    stream.close()
    g.refused(409, "session_already_ended", "GET", attached(g, s), headers=STREAM)
    assert [e["type"] for e in g.events(s)].count("session.ended") == 1


def test_a_head_request_attaches_nothing(box):
    g = box.serve()
    s = g.session()
    assert g.request("HEAD", attached(g, s), headers=STREAM)[0] == 200
    stream = g.stream(attached(g, s))  # nobody has it
    assert open_sessions(g) == [s]
    stream.close()


def test_only_the_stream_of_a_session_can_be_attached(box):
    g = box.serve()
    s = g.session()
    for path, headers in ((attached(g, s), {}), ("/events?attach=1", {}), ("/events?attach=1", STREAM)):
        assert g.refused(400, "invalid_content", "GET", path, headers=headers).startswith("attach:")
    g.refused(404, "session_not_found", "GET", attached(g, "sess_none"), headers=STREAM)
    assert open_sessions(g) == [s]


def test_attached_sessions_do_not_hold_up_the_end_of_the_gateway(box):
    g = box.serve()
    s = g.session()
    stream = g.stream(attached(g, s))
    g.start(s, "write_file", {"path": "a.txt", "content": "new"})
    g.question(s)
    g.stop()
    stream.close()
    g = box.serve()
    assert g.ok("GET", "/sessions/" + s)["ended_at"]


def test_a_tool_call_owns_no_session(box):
    box.config(SHELL_ONLY_AUTO)
    g = box.serve()
    s = g.session()
    box.write("listen.py", """
import socket
wire = socket.socket(socket.AF_UNIX)
wire.connect(%r)
wire.sendall(b"GET %s HTTP/1.1\\r\\nHost: x\\r\\nAccept: text/event-stream\\r\\n\\r\\n")
assert b"200 OK" in wire.recv(100)
open("seen", "w").close()
while wire.recv(100000): pass
""" % (os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock"), attached(g, s)))
    g.start(s, "shell", {"command": "python3 listen.py"})
    until(lambda: box.exists("seen"), "the tool call listens")
    stream = g.stream(attached(g, s))  # it is not taken
    stream.close()
    until(lambda: open_sessions(g) == [], "the session has ended")


# What is left

def test_an_ended_session_can_be_read_and_no_more(box):
    g = box.serve()
    s = g.session()
    turn = g.call(s, "list_dir", {}).turn["turn_id"]
    assert g.ok("GET", "/sessions/" + s).get("ended_at") is None
    g.ok("DELETE", "/sessions/" + s)
    assert g.ok("GET", "/sessions/" + s)["ended_at"]
    assert g.events(s)[-1]["type"] == "session.ended"
    assert len(g.ok("GET", "/sessions/%s/calls" % s)["calls"]) == 1
    for method, path, body in (("DELETE", "", None), ("GET", "/tools", None), ("POST", "/cancel", {}),
                               ("POST", "/turns", {"name": "list_dir", "input": {}}), ("GET", "/turns/" + turn, None),
                               ("POST", "/turns/%s/cancel" % turn, {})):
        g.refused(409, "session_already_ended", method, "/sessions/" + s + path, body)


def test_a_late_answer_learns_who_was_first(box):
    g = box.serve()
    s = g.session()
    for decision in ("allow", "deny"):
        turn = g.start(s, "write_file", {"path": "a.txt", "content": decision})
        question = g.question(s)
        assert g.answer(question, decision, by="ann \"the\" <first>")[0] == 200
        g.turn(s, turn["turn_id"])
        for late in (g.answer(question, "allow"), g.post("/confirmations/" + question["confirmation_request_id"], {"decision": "deny"})):
            status, body = late
            assert status == 409 and body["error"]["code"] == "confirmation_already_resolved"
            assert body["error"]["details"] == {"decision": decision, "by": "ann \"the\" <first>"}, body
