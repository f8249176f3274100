"""Hostile HTTP/1.1 from outside, at the door of a whole gateway (issue 5): each request is one, or none."""
import base64
import concurrent.futures
import json
import os
import socket

from lib import Skip, testdata

# Where we differ from the battery and may.
LEGAL = {160: "PRI is refused at the request line: the preface of HTTP/2, which is not spoken"}
PATHS = ["/mcp", "/mcp/all", "/mcp/proxy", "/mcp/s/builtin", "/sessions", "/status"]


def cases():
    root = testdata()
    path = root and os.path.join(root, "batteries", "http1", "cases.jsonl")
    if not path or not os.path.exists(path):
        raise Skip("the test data is not here")
    with open(path) as file:
        return [{**json.loads(line), "bytes": base64.b64decode(json.loads(line)["b64"])} for line in file]


def say(gateway, raw, half_close=True):
    """All that comes back for these bytes, to the end of the connection."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as s:
        came = b""
        try:
            s.sendall(raw)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            while True:
                part = s.recv(65536)
                if not part:
                    return came
                came += part
        except (ConnectionResetError, BrokenPipeError):
            return came  # closed while we were still sending


def answers(came):
    """The statuses in it, by the lengths the answers give: a second one cannot hide in a body."""
    found = []
    while came:
        head, end, rest = came.partition(b"\r\n\r\n")
        assert end and head.startswith(b"HTTP/1.1 "), came[:200]
        fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in head.split(b"\r\n")[1:])}
        status = int(head.split()[1])
        if fields.get(b"transfer-encoding") == b"chunked":
            came = rest[rest.index(b"0\r\n\r\n") + 5:]
        else:
            length = int(fields.get(b"content-length", b"0"))
            # An answer to HEAD has the length of what it does not bring.
            came = rest[length:] if not rest.startswith(b"HTTP/1.1 ") else rest
        if status >= 200:
            found.append((status, fields))
    return found


def judge(case, found):
    """What is wrong with the answers to a case; None: nothing."""
    most = case["complete"] + (case["state"] != "ok")
    if len(found) > most:
        return "%d answers to %d requests" % (len(found), case["complete"])
    if any(status < 400 for status, _ in found[case["complete"]:]):
        return "what is no request was taken for one: %s" % [status for status, _ in found]
    if case["id"] in LEGAL:
        return None
    # A refusal may close the connection, and with it what was sent after.
    closed = bool(found) and found[-1][0] >= 400 and found[-1][1].get(b"connection") == b"close"
    if len(found) < case["complete"] and not closed:
        return "%d answers to %d requests" % (len(found), case["complete"])
    if case["state"] == "error" and len(found) != most and not closed:
        return "it was not refused"
    return None


def test_each_case_is_taken_as_the_battery_reads_it(box):
    battery = cases()
    gateway = box.serve("--no-auth")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        came = list(pool.map(lambda case: say(gateway, case["bytes"]), battery))
    wrong = [(c["id"], c["name"], c["state"], c["why"], bad) for c, raw in zip(battery, came) for bad in [judge(c, answers(raw))] if bad]
    assert not wrong, "%d of %d:\n%s" % (len(wrong), len(battery), "\n".join(map(str, wrong)))
    assert gateway.get("/health")[0] == 200


def hidden(path):
    """A request that would do something, if it were one."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body)


def test_no_second_request_is_carved_out_of_the_first(box):
    gateway = box.serve("--no-auth")
    host = b"127.0.0.1:%d" % gateway.port
    for path in PATHS:
        inside = hidden(path)
        for extra in (
                b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(inside),
                b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"Transfer-Encoding: xchunked\r\n",
                b"Transfer-Encoding : chunked\r\n", b"Transfer-Encoding:\tchunked, identity\r\n", b"Content-Length: +0\r\n",
                b"Content-Length: 0, %d\r\n" % len(inside), b"Content-Length:\r\n", b"X: a\rTransfer-Encoding: chunked\r\n"):
            head = b"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\n" % (path.encode(), host, extra)
            found = answers(say(gateway, head + b"0\r\n\r\n" * (b"chunked" in extra) + inside))
            assert len(found) == 1 and 400 <= found[0][0] < 600, (path, extra, found)
    assert gateway.get("/health")[0] == 200


def test_a_get_with_a_body_is_one_request(box):
    gateway = box.serve("--no-auth")
    for path in PATHS:
        inside = hidden(path)
        raw = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
            path.encode(), gateway.port, len(inside), inside)
        assert len(answers(say(gateway, raw, half_close=False))) == 1, path


def test_the_doors_of_mcp_are_shut_to_browsers(box):
    """threats.md A1, A2, A12, A13: whatever the method, before anything is read."""
    gateway = box.serve("--no-auth")
    body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    json_type = {"Content-Type": "application/json"}
    here = "127.0.0.1:%d" % gateway.port
    refused = [
        (403, {**json_type, "Origin": "http://evil.example.com"}), (403, {**json_type, "Origin": "null"}),
        (403, {**json_type, "Origin": "http://%s.evil.example.com" % here}), (403, {**json_type, "Origin": "http://127.0.0.1:1"}),
        (403, {**json_type, "Host": "evil.example.com"}), (403, {**json_type, "Host": "0.0.0.0:%d" % gateway.port}),
        (403, {**json_type, "Host": "localhost.:%d" % gateway.port}), (403, {**json_type, "Host": "user@" + here}),
        (415, {"Content-Type": "text/plain"}), (415, {"Content-Type": "application/x-www-form-urlencoded"}),
        (415, {"Content-Type": "multipart/form-data; boundary=x"}), (415, {"Content-Type": "application/jsonp"})]
    for path in ("/mcp", "/mcp/all", "/mcp/proxy", "/mcp/s/builtin"):
        for status, headers in refused:
            for method in ("POST",) if status == 415 else ("POST", "GET", "DELETE", "OPTIONS"):
                got, _ = gateway.request(method, path, body if method == "POST" else None, headers=headers)
                assert got in (status, 400 if "Host" in headers else status), (method, path, headers, got)
        got, _ = gateway.request("OPTIONS", path, headers={"Origin": "http://" + here, "Access-Control-Request-Method": "POST"})
        assert got >= 400, got
    assert gateway.ok("GET", "/sessions?all=1")["sessions"] == []
