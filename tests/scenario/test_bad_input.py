"""Whatever comes in: a clear error, nothing lost, and the gateway lives and answers."""
import json
import os
import resource
import socket
import sqlite3

from lib import until

ASK_NOTHING = "tool_confirmation:\n  default: {WRITE: auto, EXECUTE: auto}\n"
MIB = 1 << 20


def unharmed(g):
    """It lives, serves, and makes calls."""
    assert g.alive()
    assert g.get("/health")[0] == 200
    s = g.session()
    assert not g.call(s, "list_dir", {}).is_error
    assert g.types(s) == ["tool.called", "tool.completed"]
    g.ok("DELETE", "/sessions/" + s)


def turns(session):
    return "/sessions/%s/turns" % session


def raw(g, text, body=b"", timeout=30):
    """Bytes as they are; (status, headers, body) of the first answer. An early answer ends the sending."""
    wire = socket.create_connection(("127.0.0.1", g.port), timeout=timeout)
    try:
        wire.sendall(text if isinstance(text, bytes) else text.encode())
        for piece in [body] if isinstance(body, bytes) else body:
            wire.sendall(piece)
    except (BrokenPipeError, ConnectionResetError):
        pass
    answer = b""
    try:
        while b"\r\n\r\n" not in answer or not complete(answer):
            more = wire.recv(65536)
            if not more:
                break
            answer += more
    except ConnectionResetError:
        pass
    wire.close()
    if not answer:
        return None, {}, ""
    head, _, rest = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
    return int(lines[0].split()[1]), headers, rest.decode("utf-8", "replace")


def complete(answer):
    head, _, rest = answer.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length: "):
            return len(rest) >= int(line.split()[1])
    return False


def head(g, method, path, **headers):
    """A request's head as text; headers given as None are left out."""
    base = {"Host": "127.0.0.1:%d" % g.port, "Authorization": "Bearer " + g.token, "Connection": "close"}
    base.update({k.replace("_", "-"): v for k, v in headers.items()})
    return "%s %s HTTP/1.1\r\n%s\r\n" % (
        method, path, "".join("%s: %s\r\n" % (k, v) for k, v in base.items() if v is not None))


# Bodies

def test_malformed_json_is_told_by_line_and_column(box):
    g = box.serve()
    s = g.session()
    for path in ("/sessions", turns(s)):
        for text in ("{", "[1,]", "nul", '{"a":1}{"b":2}', "{'name':1}", '{"name":"list_dir",}', '{"a":01}', '{"a":+1}',
                     '{"a":NaN}', '{"a":"\t"}', '{"a":"\\x"}', "// x\n{}", "\ufeff{}", '"\\ud800"', '{"\\udc00":1}',
                     "\x00",
                     '{"a":1}\x00', '{"a":"\x00"}'):
            message = g.refused(400, "invalid_json", "POST", path, text.encode())
            assert message.startswith("line "), (text, message)
        g.refused(400, "invalid_content", "POST", path, b"")
    assert "line 3, column 3" in g.refused(400, "invalid_json", "POST", turns(s), '{\n "name": "list_dir",\n  oops\n}')
    unharmed(g)


def test_bytes_that_are_not_utf8_are_refused(box):
    g = box.serve()
    s = g.session()
    for bad in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"):
        g.refused(400, "invalid_json", "POST", turns(s), b'{"name":"read_file","input":{"path":"' + bad + b'"}}')
        g.refused(400, "invalid_json", "POST", turns(s), b'{"name":"read_file","input":{"' + bad + b'":1}}')
    unharmed(g)


def test_a_key_given_twice_is_named(box):
    g = box.serve()
    s = g.session()
    for body in ('{"name":"list_dir","name":"shell","input":{}}',
                 '{"name":"read_file","input":{"path":"a","path":"b"}}',
                 '{"name":"read_file","input":{"path":"a","p\\u0061th":"b"}}'):
        message = g.refused(400, "invalid_json", "POST", turns(s), body)
        assert "is given twice" in message and ('"path"' in message or '"name"' in message), message
    arguments = '{"path":"a","path":"b"}'
    turn = g.ok("POST", turns(s), {"tool_calls": [{"id": "x", "type": "function",
                                                   "function": {"name": "read_file", "arguments": arguments}}]})
    assert turn["calls"][0]["error_class"] == "validation_error"
    assert '"path" is given twice' in turn["messages"][0]["content"][0]["text"]
    unharmed(g)


def test_wrong_types_and_unknown_fields_are_named(box):
    g = box.serve()
    s = g.session()
    block = {"type": "tool_use", "name": "list_dir", "input": {}}
    function = {"name": "list_dir", "arguments": "{}"}
    for path, body, names in (
            ("/sessions", [], "object"), ("/sessions", {}, "workspace"), ("/sessions", {"workspace": 7}, "workspace"),
            ("/sessions", {"workspace": "relative"}, "workspace"), ("/sessions", {"workspace": "/\x00"}, "workspace"),
            ("/sessions", {"workspace": "/" + "x" * 5000}, "workspace"),
            ("/sessions", {"workspace": box.workspace, "kind": "boss"}, "kind"),
            ("/sessions", {"workspace": box.workspace, "workspaces": 1}, "workspaces"),
            (turns(s), [], "message"), (turns(s), {}, "message"), (turns(s), None, "message"),
            (turns(s), {"name": 7, "input": {}}, "name"), (turns(s), {"name": "", "input": {}}, "name"),
            (turns(s), {"name": "x\ny", "input": {}}, "name"), (turns(s), {"name": "x" * 257, "input": {}}, "name"),
            (turns(s), {"name": "x", "id": 7}, "id"), (turns(s), {"name": "x", "id": "y" * 257}, "id"),
            (turns(s), {"name": "x", "id": "a\r\nb"}, "id"),
            (turns(s), {"name": "list_dir", "input": {}, "wiat": True}, "wiat"),
            (turns(s), {"name": "list_dir", "input": {}, "wait": "yes"}, "wait"),
            (turns(s), {"name": "list_dir", "input": {}, "attended": 1}, "attended"),
            (turns(s), {"content": "text"}, "content"), (turns(s), {"content": []}, "no call"),
            (turns(s), {"content": [7]}, "content[0]"), (turns(s), {"content": [block, {}]}, "content[1].type"),
            (turns(s), {"content": [{**block, "name": None}]}, "content[0].name"),
            (turns(s), {"content": [block], "tols": 1}, "tols"),
            (turns(s), {"tool_calls": {}}, "tool_calls"), (turns(s), {"tool_calls": [7]}, "tool_calls[0].function"),
            (turns(s), {"tool_calls": [{"type": "custom", "function": function}]}, "tool_calls[0].type"),
            (turns(s), {"tool_calls": [{"function": {}}]}, "tool_calls[0].function.name")):
        message = g.refused(400, "invalid_content", "POST", path, json.dumps(body))
        assert names in message, (body, message)
    g.refused(400, "workspace_not_found", "POST", "/sessions", {"workspace": "/no/such/directory"})
    g.refused(400, "workspace_not_found", "POST", "/sessions", {"workspace": box.write("a-file", "")})
    assert g.types(s) == []
    unharmed(g)


def test_inputs_of_the_wrong_kind_fail_their_call_alone(box):
    box.config("tools: {defaults: {repeat_limit: 0}}\n")  # the good call is the same each time
    g = box.serve()
    s = g.session()
    for input in (None, 7, "text", [], [{}], True, {"path": None}, {"path": []}, {"path": "a", "extra": 1},
                  {"path": ""}):
        assert g.call(s, "read_file", input).error_class == "validation_error", input
    for arguments in ("", "{", "7", '"x"', "[]", "null", '{"path":7}', "{'path':'a'}", 7, None, {}, "\x00",
                      '{"path":"\\ud800"}'):
        turn = g.ok("POST", turns(s), {"tool_calls": [
            {"id": "bad", "function": {"name": "read_file", "arguments": arguments}},
            {"id": "good", "function": {"name": "list_dir", "arguments": "{}"}}]})
        assert [c["error_class"] for c in turn["calls"]] == ["validation_error", None], (arguments, turn)
    unharmed(g)


def test_a_nul_in_an_argument_reaches_no_tool(box):
    box.config(ASK_NOTHING)
    box.write("a", "secret")
    g = box.serve()
    s = g.session()
    for tool, input in (("read_file", {"path": "a\x00b"}), ("list_dir", {"path": ".\x00/x"}),
                        ("write_file", {"path": "a\x00", "content": "x"}),
                        ("shell", {"command": "touch effect\x00; x"}),
                        ("patch_file", {"path": "a\x00", "old": "s", "new": "S"})):
        tried = g.call(s, tool, input)
        assert tried.is_error and "NUL" in tried.text, (tool, tried.text)
    assert box.read("a") == "secret" and not box.exists("effect")
    g.call(s, "write_file", {"path": "b", "content": "x\x00y"})
    assert box.read("b") == "x\x00y"
    assert g.call(s, "read_file", {"path": "b"}).text == "x\x00y"
    unharmed(g)


def test_ten_thousand_levels_are_too_deep(box):
    g = box.serve()
    s = g.session()
    for deep in ("[" * 10000 + "]" * 10000, '{"a":' * 10000 + "1" + "}" * 10000, "[" * 10000):
        status, answer = g.request("POST", turns(s), '{"name":"read_file","input":%s}' % deep)
        assert (status, answer["error"]["code"]) in ((413, "too_large"), (400, "invalid_json")), answer
        turn = g.ok("POST", turns(s), {"tool_calls": [{"function": {"name": "read_file", "arguments": deep}}]})
        assert turn["calls"][0]["error_class"] == "validation_error"
    assert "deep" in g.refused(413, "too_large", "POST", "/sessions", "[" * 10000 + "]" * 10000)
    unharmed(g)


def test_a_hundred_megabytes_are_refused_before_they_are_read(box):
    g = box.serve()
    s = g.session()
    piece = b'"' + b"x" * (MIB - 2) + b","
    body = (piece for _ in range(100))
    known = head(g, "POST", turns(s), Content_Type="application/json", Content_Length=100 * MIB)
    status, _, text = raw(g, known, body)
    error = json.loads(text)["error"]
    assert status == 413 and error["code"] == "too_large", (status, text)
    assert error["message"] == "the body is larger than the limit of %d bytes" % (8 * MIB), "issue 5: how much there may be"
    chunked = head(g, "POST", turns(s), Content_Type="application/json", Transfer_Encoding="chunked")
    sent = []

    def chunks():
        for _ in range(100):
            sent.append(1)
            yield b"%x\r\n%s\r\n" % (len(piece), piece)
        yield b"0\r\n\r\n"
    status, _, text = raw(g, chunked, chunks())
    assert status == 413 and json.loads(text)["error"]["code"] == "too_large", (status, text)
    whole = raw(g, head(g, "POST", turns(s), Content_Type="application/json", Transfer_Encoding="chunked"),
                b"%x\r\n" % (100 * MIB))
    assert whole[0] == 413
    asked = raw(g, head(g, "POST", turns(s), Content_Type="application/json", Content_Length=100 * MIB,
                        Expect="100-continue"))
    assert asked[0] == 413, "no 100 Continue for what will be refused"
    unharmed(g)


def test_what_fits_passes_whole(box):
    box.config(ASK_NOTHING)
    g = box.serve()
    text = "äx\n" * (3 * MIB // 2)  # 7.5 MiB of JSON
    status, turn = g.request("POST", turns(g.session()), json.dumps(
        {"name": "write_file", "input": {"path": "big", "content": text}}, ensure_ascii=False).encode())
    assert status == 200 and turn["calls"][0]["is_error"] is False, turn
    assert box.read("big") == text
    unharmed(g)


def test_very_long_names_and_lists_have_an_end(box):
    box.config(ASK_NOTHING)
    g = box.serve()
    s = g.session()
    g.refused(429, "limit_reached", "POST", turns(s),
              {"content": [{"type": "tool_use", "name": "list_dir", "input": {}}] * 65})
    assert len(g.message(s, *[("list_dir", {})] * 64)["content"]) == 64
    assert "too long" in g.call(s, "read_file", {"path": "x/" * 5000}).text
    assert g.call(s, "read_file", {"path": "x" * 300}).is_error
    assert "too long" in g.call(s, "shell", {"command": ": " + "x" * 200000}).text
    assert g.call(s, "list_dir", {"x" * MIB: 1}).error_class == "validation_error"
    wide = g.call(s, "list_dir", {"k%d" % i: i for i in range(100000)})
    assert wide.error_class == "validation_error" and len(wide.text) < 10000
    assert g.call(s, "read_file", {"path": "a", "offset": 10 ** 30}).is_error
    assert len(g.ok("POST", "/sessions", {"workspace": box.workspace, "client": "ü" * 10000})["client"].encode()) < 64
    unharmed(g)


# Names of things

def test_an_unknown_tool_is_told_with_the_nearest_name(box):
    g = box.serve()
    s = g.session()
    for name, near in (("reed_file", "read_file"), ("ReadFile", "read_file"), ("shel", "shell"),
                       ("list-dir", "list_dir")):
        tried = g.call(s, name, {})
        assert tried.error_class == "not_found" and "did you mean '%s'?" % near in tried.text, tried.text
    for name in ("zzzzzzzzzz", "../shell", "shell;", "\u202eshell" * 8, "'" * 200):
        assert g.call(s, name, {}).error_class == "not_found"
    unharmed(g)


def test_unknown_sessions_turns_and_calls_are_not_found(box):
    g = box.serve()
    s = g.session()
    body = {"name": "list_dir", "input": {}}
    for method, path, code in (
            ("GET", "/sessions/sess_x", "session_not_found"), ("DELETE", "/sessions/sess_x", "session_not_found"),
            ("POST", turns("sess_x"), "session_not_found"), ("GET", "/sessions/sess_x/tools", "session_not_found"),
            ("GET", "/sessions/sess_x/calls", "session_not_found"),
            ("POST", "/sessions/sess_x/cancel", "session_not_found"),
            ("GET", turns("sess_x") + "/turn_x", "session_not_found"), ("GET", turns(s) + "/turn_x", "turn_not_found"),
            ("POST", turns(s) + "/turn_x/cancel", "turn_not_found"), ("GET", "/calls/call_x", "call_not_found"),
            ("POST", "/calls/call_x/cancel", "call_not_found"), ("GET", "/confirmations/x", "confirmation_not_found"),
            ("GET", "/sessions/" + "x" * 1000, "session_not_found"), ("GET", "/sessions/%27%3B--", "session_not_found"),
            ("GET", "/sessions/%F0%9F%98%80", "session_not_found"), ("DELETE", "/grants/grant_x", "grant_not_found"),
            ("GET", "/nothing/here", "not_found"), ("GET", "/sessions/%s/nothing" % s, "not_found"),
            ("GET", "//", "not_found")):
        g.refused(404, code, method, path, body if method == "POST" else None)
    unharmed(g)


# The door

def test_bodies_must_be_json_by_their_type(box):
    g = box.serve()
    body = json.dumps({"workspace": box.workspace})
    for type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                 "application/jsonp", "",
                 "application/json, text/plain", "text/plain; application/json"):
        g.refused(415, "unsupported_media_type", "POST", "/sessions", body, headers={"Content-Type": type})
    bare = raw(g, head(g, "POST", "/sessions", Content_Length=len(body)), body.encode())
    assert bare[0] == 415
    zipped = raw(g, head(g, "POST", "/sessions", Content_Type="application/json", Content_Encoding="gzip",
                         Content_Length=len(body)), body.encode())
    assert zipped[0] == 415
    assert g.ok("GET", "/sessions")["sessions"] == []
    for type in ("application/json", "Application/JSON", "application/json; charset=utf-8"):
        assert g.post("/sessions", body, headers={"Content-Type": type})[0] == 201
    unharmed(g)


def test_without_the_token_nothing_is_told(box):
    g = box.serve()
    path = "/sessions"
    for value in (None, "", "Bearer", "Bearer ", "Bearer x", "Bearer " + g.token[:-1], "Bearer " + g.token + "0",
                  "Basic " + g.token, g.token, "Bearer " + g.token.upper(), "Bearer x " + g.token):
        status, headers, text = raw(g, head(g, "GET", path, Authorization=value))
        assert status == 401 and headers["www-authenticate"] == "Bearer", (value, status)
        assert json.loads(text)["error"]["code"] == "unauthorized" and g.token not in text
    twice = head(g, "GET", path).replace("\r\n\r\n", "\r\nAuthorization: Bearer %s\r\n\r\n" % g.token)
    assert raw(g, twice)[0] == 401
    for query in ("?token=", "?access_token=", "?Authorization=Bearer%20"):
        assert raw(g, head(g, "GET", path + query + g.token, Authorization=None))[0] == 401
    for path in ("/", "/health", "/healthz", "/readyz", "/assets/app.js"):
        status, _, text = raw(g, head(g, "GET", path, Authorization=None))
        assert status == 200 and g.token not in text and box.dir not in text, path
    unharmed(g)


def test_a_foreign_host_is_refused(box):
    """A web page may make its own name resolve to 127.0.0.1 and read what comes back."""
    g = box.serve()
    for host in ("evil.example", "evil.example:%d" % g.port, "127.0.0.1", "127.0.0.1:1",
                 "127.0.0.1.evil.example:%d" % g.port,
                 "localhost.evil.example:%d" % g.port, "127.0.0.1:%d@evil.example" % g.port, "0.0.0.0:%d" % g.port, "",
                 "[::]:%d" % g.port):
        for path in ("/health", "/", "/sessions", "/nothing"):
            assert raw(g, head(g, "GET", path, Host=host))[0] == 403, (host, path)
    for host in ("127.0.0.1:%d", "localhost:%d", "LOCALHOST:%d", "[::1]:%d"):
        assert raw(g, head(g, "GET", "/sessions", Host=host % g.port))[0] == 200, host
    assert raw(g, head(g, "GET", "/health", Host=None))[0] == 400
    assert raw(g, head(g, "GET", "/health").replace("Host:", "Host: evil.example\r\nHost:"))[0] == 400
    unharmed(g)


def test_a_foreign_origin_is_refused(box):
    g = box.serve()
    body = json.dumps({"workspace": box.workspace})
    for origin in ("http://evil.example", "https://127.0.0.1:%d" % g.port, "http://127.0.0.1", "http://127.0.0.1:1",
                   "null", "",
                   "file://", "http://127.0.0.1:%d.evil.example" % g.port, "http://localhost:%d/" % g.port,
                   "chrome-extension://x"):
        status, headers, _ = raw(g, head(g, "POST", "/sessions", Origin=origin, Content_Type="application/json",
                                         Content_Length=len(body)), body.encode())
        assert status == 403, origin
        assert not any(name.startswith("access-control-") for name in headers)
        assert raw(g, head(g, "GET", "/", Origin=origin))[0] == 403
    status, headers, _ = raw(g, head(g, "OPTIONS", "/sessions", Origin="http://evil.example",
                                     Access_Control_Request_Method="POST"))
    assert status == 403 and not any(name.startswith("access-control-") for name in headers)
    assert g.ok("GET", "/sessions")["sessions"] == []
    assert raw(g, head(g, "GET", "/sessions", Origin="http://localhost:%d" % g.port))[0] == 200
    unharmed(g)


def test_2_a_body_is_not_awaited_when_the_head_is_refused(box):
    """Eight megabytes were kept for every peer before anybody asked who it is."""
    g = box.serve()
    for status, method, path, headers in (
            (403, "POST", "/sessions", {"Host": "evil.example"}),
            (403, "POST", "/sessions", {"Origin": "http://evil.example"}),
            (401, "POST", "/sessions", {"Authorization": None}),
            (404, "POST", "/nothing", {}), (405, "PUT", "/sessions", {})):
        got, answer, _ = raw(g, head(g, method, path, Connection="keep-alive", Content_Type="application/json",
                                     Content_Length=8 * MIB, **headers))
        assert got == status and answer["connection"] == "close", (status, got)
    unharmed(g)


def test_other_methods_are_told_which_there_are(box):
    g = box.serve()
    for method, path, allow in (("PUT", "/sessions", "GET, POST"), ("PATCH", "/sessions", "GET, POST"),
                                ("DELETE", "/sessions", "GET, POST"), ("POST", "/health", "GET"),
                                ("OPTIONS", "/tools", "GET"),
                                ("GET", "/sessions/x/cancel", "POST"), ("PUT", "/sessions/x", "GET, DELETE")):
        status, headers, text = raw(g, head(g, method, path))
        assert status == 405 and headers["allow"] == allow, (method, path, status, headers)
        assert json.loads(text)["error"]["code"] == "method_not_allowed"
    status, _, text = raw(g, head(g, "HEAD", "/health"))
    assert status == 200 and text == ""
    assert raw(g, head(g, "BREW", "/health"))[0] in (400, 405, 501)
    unharmed(g)


def test_paths_of_urls_lead_nowhere_else(box):
    g = box.serve()
    for path in ("/assets/../../../../etc/passwd", "/assets/..%2f..%2f..%2fetc%2fpasswd",
                 "/assets/%2e%2e/%2e%2e/etc/passwd",
                 "/assets//etc/passwd", "/assets/%2fetc%2fpasswd", "/assets/....//etc/passwd",
                 "/assets/..\\..\\etc\\passwd", "/assets/",
                 "/../etc/passwd", "/assets/app.js%00.html", "/assets/app.js/", "/assets/%c0%ae%c0%ae/x",
                 "/sessions/../status",
                 "/assets/%", "/assets/%zz", "http://evil.example/health", "*", "/health#x"):
        status, _, text = raw(g, head(g, "GET", path))
        assert status in (400, 404), (path, status)
        assert "root:" not in text
    assert raw(g, head(g, "GET", "/%68ealth"))[0] == 200
    unharmed(g)


def test_very_long_heads_have_an_end(box):
    g = box.serve()
    assert raw(g, head(g, "GET", "/" + "x" * 100000))[0] == 414
    assert raw(g, head(g, "GET", "/events?since=" + "x" * 100000))[0] == 414
    assert raw(g, head(g, "GET", "/health", X_Long="x" * 100000))[0] == 431
    assert raw(g, head(g, "GET", "/health", **{"x" * 100000: "x"}))[0] == 431
    assert raw(g, head(g, "GET", "/health", **{"X_%d" % i: "x" for i in range(1000)}))[0] == 431
    assert raw(g, head(g, "GET", "/health", **{"X_%d" % i: "x" * 4000 for i in range(20)}))[0] == 431
    assert raw(g, "x" * 1000000)[0] in (400, 414, 431)
    assert raw(g, "\r\n" * 1000000)[0] in (400, 431)
    unharmed(g)


def test_half_requests_and_rubbish_hold_up_nobody(box):
    g = box.serve()
    s = g.session()
    halves = []
    for text in ("", "GET", "GET / HTTP/1.1\r\nHost: x",
                 head(g, "POST", turns(s), Content_Type="application/json", Content_Length=100) + "{"):
        for _ in range(20):
            wire = socket.create_connection(("127.0.0.1", g.port))
            wire.sendall(text.encode())
            halves.append(wire)
    for rubbish in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                    b"\x00" * 1000, b"GET / HTTP/3.0\r\n\r\n",
                    b"GET /\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n"):
        status, _, _ = raw(g, rubbish)
        assert status is None or status >= 400, rubbish
    both = head(g, "POST", "/sessions", Content_Type="application/json", Content_Length=5, Transfer_Encoding="chunked")
    assert raw(g, both, b"0\r\n\r\nGET /health HTTP/1.1\r\n\r\n")[0] == 400
    unharmed(g)
    for wire in halves:
        wire.close()
    unharmed(g)


# The disk

def fill_disk(box, g):
    """As if it were full: neither the journal nor the ledger may grow beyond what it has now."""
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast")
    size = min(os.path.getsize(os.path.join(state, name)) for name in ("holdfast.db-wal", "effects.db-wal"))
    resource.prlimit(g.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def empty_disk(g):
    resource.prlimit(g.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def test_no_effect_begins_while_the_journal_cannot_be_written(box):
    box.config(ASK_NOTHING)
    box.write("a.txt", "old")
    g = box.serve()
    s = g.session()
    assert len(g.events(s)) == 1
    fill_disk(box, g)
    for tool, input in (("write_file", {"path": "b.txt", "content": "x"}), ("shell", {"command": "touch b.txt"}),
                        ("patch_file", {"path": "a.txt", "old": "old", "new": "new"})):
        refused = g.call(s, tool, input)
        assert refused.error_class == "execution_error" and "cannot be written" in refused.text, refused.text
    assert not box.exists("b.txt") and box.read("a.txt") == "old"
    assert g.call(s, "read_file", {"path": "a.txt"}).text == "old"
    assert g.call(s, "list_dir", {}).text == "a.txt"
    until(lambda: g.get("/readyz")[0] == 503, "the journal has noticed, too")
    assert g.get("/health")[0] == 200
    assert g.ok("GET", "/status")["totals"]["failed"] == 3
    assert [e["type"] for e in g.events(s)] == ["session.created"]
    empty_disk(g)
    until(lambda: g.get("/readyz")[0] == 200, "the journal is written again")
    assert not g.call(s, "write_file", {"path": "b.txt", "content": "x"}).is_error
    assert g.types(s) == ["tool.failed"] * 3 + ["tool.called", "tool.completed"] * 3, "nothing was lost"
    unharmed(g)


def test_2_an_effect_waits_until_the_journal_holds_it(box):
    """It began when its row was queued, so the first one after the disk was full still happened. A cancelled one
    waits as well: what it has asked for has to be given back."""
    box.config(ASK_NOTHING)
    g = box.serve()
    s = g.session()
    g.events(s)  # everything so far is written
    other = sqlite3.connect(os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "effects.db"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    turns = [g.start(s, "write_file", {"path": name, "content": ""}) for name in ("allowed", "cancelled")]
    until(lambda: g.ok("GET", "/status")["calls"]["held"] == 2, "both wait for the ledger")
    g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, turns[1]["turn_id"]), {})
    assert not box.exists("allowed") and not box.exists("cancelled")
    other.execute("ROLLBACK")
    other.close()
    assert g.turn(s, turns[0]["turn_id"])["calls"][0]["is_error"] is False
    assert g.turn(s, turns[1]["turn_id"])["calls"][0]["error_class"] == "cancelled"
    assert box.exists("allowed") and not box.exists("cancelled")


def test_not_even_the_first_effect_slips_past_a_full_disk(box):
    box.config(ASK_NOTHING)
    g = box.serve()
    s = g.session()
    for i in range(10):
        g.events(s)
        fill_disk(box, g)
        assert g.call(s, "write_file", {"path": "effect", "content": ""}).error_class == "execution_error", i
        assert not box.exists("effect")
        empty_disk(g)
        until(lambda: g.get("/readyz")[0] == 200, "the journal is written again")


def test_an_effect_that_was_allowed_does_not_begin_either(box):
    g = box.serve()
    s = g.session()
    turn = g.start(s, "write_file", {"path": "b.txt", "content": "x"})
    question = g.question(s)
    g.events(s)
    fill_disk(box, g)
    assert g.answer(question, "allow")[0] == 200
    assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "execution_error"
    assert not box.exists("b.txt")
    empty_disk(g)
    until(lambda: g.get("/readyz")[0] == 200, "the journal is written again")
    unharmed(g)


def test_a_state_directory_that_cannot_be_used_ends_the_start(box):
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast")
    with open(state, "w") as out:
        out.write("not a directory")
    ended = box.run("serve", "--listen", "127.0.0.1:0", limit=20)
    assert ended.returncode == 3 and state in ended.stderr, ended
    os.unlink(state)
    os.mkdir(state, 0o700)
    with open(os.path.join(state, "holdfast.db"), "w") as out:
        out.write("this is no database, but it is long enough to be taken for one " * 100)
    ended = box.run("serve", "--listen", "127.0.0.1:0", limit=20)
    assert ended.returncode == 3 and "journal" in ended.stderr, ended
