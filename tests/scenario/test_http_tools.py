"""Tools over HTTP, Composio and OpenAPI (issue 7, item 8), against a real server on loopback that has faults."""
import base64
import json
import os
import threading
import time
import urllib.parse

from http_server import Server
from lib import until

AUTO = {"default": {"WRITE": "auto", "EXECUTE": "auto", "NETWORK": "auto"}}
QUICK = {"retry": {"initial_ms": 10, "max_ms": 5000, "jitter": 0}, "repeat_limit": 0}
LOCAL = ["127.0.0.1", "::1"]


def tool(name, url, policy=None, schema=None, **config):
    d = {"name": name, "description": "What %s does." % name, "gateway": "http",
         "gateway_config": {"url": url, **config}}
    if policy:
        d["side_effect_policy"] = policy
    if schema:
        d["parameter_schema"] = {"type": "object", "properties": schema}
    return d


def serve(box, *definitions, allow=LOCAL, env=None, http=None, **more):
    box.env.update(env or {})
    box.config(json.dumps({
        "definitions": list(definitions), "tool_confirmation": more.pop("tool_confirmation", AUTO), "tools": {"defaults": QUICK},
        "tool_gateway": {"providers": {"http": {"allow": allow, **(http or {})}, **more.pop("providers", {})}}, **more}))
    return box.serve("--no-auth")


def call(g, name, input=None):
    if not hasattr(g, "one"):
        g.one = g.session()
    return g.call(g.one, name, input or {})


TEXT = {"type": "string"}


def test_7_an_argument_stands_where_it_was_put(box):
    with Server() as s:
        g = serve(box,
                  tool("put", s.url + "/orders/{id}/lines", schema={"id": TEXT, "n": {"type": "integer"}, "tag": {}},
                       method="PUT", query={"tag": "{tag}", "v": 2}, headers={"X-Id": "<{id}>"}),
                  tool("get", s.url + "/find?a=1", "pure", schema={"q": TEXT, "tags": {"type": "array"}}, method="GET"),
                  tool("mapped", s.url + "/m", schema={"a": {}, "b": {}},
                       body={"x": {"y": "{a}"}, "text": "a is {a}; {{}}", "none": "{b}"}),
                  tool("form", s.url + "/f", schema={"a": TEXT, "b": {}}, body_type="form"),
                  tool("path", s.url + "/files/{+p}", "pure", schema={"p": TEXT}, method="GET"))
        r = call(g, "put", {"id": "a/b ?#%&c", "n": 3, "tag": ["x y", "z&"]})
        assert not r.is_error, r.text
        seen = s.seen[-1]
        assert seen["method"] == "PUT" and seen["path"] == "/orders/a%2Fb%20%3F%23%25%26c/lines?tag=x%20y&tag=z%26&v=2", seen
        assert json.loads(seen["body"]) == {"n": 3} and seen["headers"]["x-id"] == "<a/b ?#%&c>", seen
        assert not call(g, "get", {"q": "ü", "tags": ["1", "2"]}).is_error
        assert s.seen[-1]["path"] == "/find?a=1&q=%C3%BC&tags=1&tags=2" and s.seen[-1]["body"] == ""
        assert not call(g, "mapped", {"a": [1, None]}).is_error
        assert json.loads(s.seen[-1]["body"]) == {"x": {"y": [1, None]}, "text": "a is 1,null; {}"}, s.seen[-1]["body"]
        assert not call(g, "form", {"a": "1 &=", "b": [1, 2]}).is_error
        assert s.seen[-1]["body"] == "a=1%20%26%3D&b=1&b=2"
        assert s.seen[-1]["headers"]["content-type"] == "application/x-www-form-urlencoded"
        assert not call(g, "path", {"p": "a/b c.txt"}).is_error
        assert s.seen[-1]["path"] == "/files/a/b%20c.txt"


def test_7_no_argument_leads_to_another_place(box):
    with Server() as s:
        g = serve(box,
                  tool("one", s.url + "/a/{id}/b", "pure", schema={"id": TEXT}, method="GET"),
                  tool("dotted", s.url + "/a/.{id}/b", "pure", schema={"id": TEXT}, method="GET"),
                  tool("tail", s.url + "/a/{+p}", "pure", schema={"p": TEXT}, method="GET"),
                  tool("head", s.url + "/h", schema={"v": TEXT}, headers={"X-V": "{v}"}))
        for name, input in [("one", {"id": ".."}), ("one", {"id": "."}), ("one", {"id": ""}), ("one", {}),
                            ("dotted", {"id": "."}), ("tail", {"p": "../x"}), ("tail", {"p": "a//b"}), ("tail", {"p": "/x"}),
                            ("tail", {"p": "a/.."}), ("head", {"v": "a\r\nX-Evil: 1"}), ("head", {"v": "a\u0000b"})]:
            r = call(g, name, input)
            assert r.is_error and r.error_class == "validation_error", (name, input, r.text)
        assert s.seen == []
        for evil in ["@evil.example", "evil.example/", "%2e%2e", "a\\..\\b", "#", "?x=1", "//evil.example"]:
            assert not call(g, "one", {"id": evil}).is_error, evil
            assert s.seen[-1]["path"].startswith("/a/") and s.seen[-1]["path"].endswith("/b"), s.seen[-1]
            assert s.seen[-1]["path"].count("/") == 3, s.seen[-1]


def test_7_an_argument_that_is_too_long_is_not_left_out(box):
    with Server() as s:
        g = serve(box,
                  tool("query", s.url + "/q", schema={"q": TEXT}, method="DELETE", query={"filter": "name:{q}"}),
                  tool("cookie", s.url + "/c", schema={"v": TEXT}, cookies={"a": "x{v}", "b": "fixed"}),
                  tool("deep", s.url + "/d", schema={"f": {"type": "object"}}, method="GET",
                       query={"f": {"argument": "f", "style": "deepObject"}}))
        for name, input in [("query", {"q": "y" * 17000}), ("cookie", {"v": "y" * 9000}), ("deep", {"f": {"k" * 5000: "v"}})]:
            r = call(g, name, input)
            assert r.is_error and "too long" in r.text, (name, r.text, s.seen)
        assert s.seen == []
        assert not call(g, "query", {"q": "y" * 1000}).is_error and not call(g, "cookie", {"v": "y" * 1000}).is_error
        assert s.seen[-1]["headers"]["cookie"] == "a=x" + "y" * 1000 + "; b=fixed"


def test_7_what_the_definition_fixes_is_not_the_callers_to_give(box):
    with Server() as s:
        g = serve(box, tool("find", s.url + "/find?tenant=acme&a%20b=1&flag", "pure", schema={"q": TEXT, "p": TEXT}, method="GET",
                            query={"role": "viewer", "page": "{p}"}))
        for name in ["tenant", "role", "page", "Tenant", "ROLE", "a b", "flag", "role[]", "tenant[0]"]:
            r = call(g, "find", {"q": "x", name: "other"})
            assert r.error_class == "validation_error" and "/%s: " % name in r.text, (name, r.text)
        assert s.seen == []
        r = call(g, "find", {"q": "x", "p": "2", "more": "y"})
        assert not r.is_error and s.seen[-1]["path"] == "/find?tenant=acme&a%20b=1&flag&role=viewer&page=2&q=x&more=y", s.seen


def test_7_secrets_stay_here(box):
    secret = "canary-8c1d0f7e-token"
    with Server() as s:
        s.plan("/bad", lambda h: h.answer(401, {"message": "no such key: " + h.headers["Authorization"]}))
        s.plan("/torn", lambda h: h.reset())
        g = serve(box,
                  tool("echo", s.url + "/echo?key=${KEY}", "pure", method="GET", headers={"Authorization": "Bearer ${env:KEY}"}),
                  tool("bad", s.url + "/bad", "pure", method="GET", headers={"Authorization": "Bearer ${KEY}"}),
                  tool("torn", s.url + "/torn?key=${KEY}", headers={"Authorization": "Bearer ${KEY}"}),
                  tool("unset", s.url + "/", headers={"X": "${NOT_THERE}"}), env={"KEY": secret})
        r = call(g, "echo")
        assert not r.is_error and secret not in r.text and "[redacted]" in r.text, r.text
        assert s.seen[-1]["headers"]["authorization"] == "Bearer " + secret and s.seen[-1]["path"] == "/echo?key=" + secret
        r = call(g, "bad")
        assert r.error_class == "permission_denied" and "401 Unauthorized: no such key: Bearer [redacted]" in r.text, r.text
        assert call(g, "torn").is_error
        assert "the variable NOT_THERE is not set" in g.log()
        everything = json.dumps([g.events(g.one), g.ok("GET", "/sessions/%s/calls" % g.one), g.ok("GET", "/tools"),
                                 g.ok("GET", "/status"), g.ok("GET", "/servers")])
        g.stop()
        assert secret not in everything and secret not in g.log()
        for folder, _, files in os.walk(box.env["XDG_STATE_HOME"]):
            for name in files:
                assert secret.encode() not in open(os.path.join(folder, name), "rb").read(), name


def test_7_secrets_stay_here_in_every_spelling(box):
    secret = 'canary+8c/1d"0f7e=='
    spellings = [secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1]]
    with Server() as s:
        s.plan("/type", lambda h: h.answer(200, b"{}", "text/plain; key=" + h.headers["X-Key"]))
        g = serve(box,
                  tool("echo", s.url + "/echo", "pure", method="GET", query={"key": "${KEY}"}, headers={"X-Key": "${KEY}"}),
                  tool("type", s.url + "/type", "pure", method="GET", headers={"X-Key": "${KEY}"}),
                  tool("asked", s.url + "/asked", query={"key": "${KEY}"}), env={"KEY": secret},
                  tool_confirmation={"default": {**AUTO["default"], "NETWORK": "prompt"}})
        r = call(g, "echo")
        assert not r.is_error and s.seen[-1]["path"] == "/echo?key=" + spellings[1], r.text
        assert "[redacted]" in r.text and not call(g, "type").is_error
        turn = g.start(g.one, "asked", {})
        question = g.question(g.one)
        assert "/asked?key=[redacted]" in json.dumps(question), question
        everything = json.dumps([r.text, question, turn, g.events(g.one), g.ok("GET", "/sessions/%s/calls" % g.one)])
        g.stop()
        for spelling in spellings:
            assert json.dumps(spelling)[1:-1] not in everything and spelling not in everything, spelling
            for folder, _, files in os.walk(box.env["XDG_STATE_HOME"]):
                for name in files:
                    assert spelling.encode() not in open(os.path.join(folder, name), "rb").read(), name


def test_7_secrets_stay_here_however_often_one_is_named(box):
    with Server() as s:
        g = serve(box, tool("echo", s.url + "/echo", "pure", method="GET", query={"many": "${KEY}" * 900}, headers={"X-Key": "${LATER}"}),
                  env={"KEY": "canary", "LATER": "one-that-comes-later"})
        r = call(g, "echo")
        assert not r.is_error and s.seen[-1]["headers"]["x-key"] == "one-that-comes-later", r.text
        assert "later" not in r.text and '"X-Key": "[redacted]' in r.text, r.text[-400:]


def test_7_a_secret_that_begins_with_another_stays_here_whole(box):
    with Server() as s:
        g = serve(box, tool("echo", s.url + "/echo", "pure", method="GET", headers={"X-A": "${A}", "X-B": "${B}", "X-C": "${C}"}),
                  env={"A": "canary", "B": "canary-that-goes-on", "C": "canary-that"})
        r = call(g, "echo")
        assert not r.is_error and s.seen[-1]["headers"]["x-b"] == "canary-that-goes-on", r.text
        for name in "ABC":
            assert '"X-%s": "[redacted]"' % name in r.text, r.text


def test_7_a_host_may_be_a_secret(box):
    secret = "127.0.0.99"
    with Server(secret) as s:
        s.plan("/none", lambda h: h.answer(404, {}))
        g = serve(box, tool("none", "http://${PLACE}:%d/none" % s.port), tool("torn", "https://${PLACE}:1/"),
                  env={"PLACE": secret}, allow=["127.0.0.0/8"])
        r = call(g, "none")
        assert "[redacted]:%d answered 404" % s.port in r.text and len(s.seen) == 1, r.text
        r = call(g, "torn")
        assert r.is_error and "[redacted]:1: " in r.text, r.text
        everything = json.dumps([g.events(g.one), g.ok("GET", "/sessions/%s/calls" % g.one)])
        g.stop()
        assert secret not in everything and secret not in g.log(), (everything, g.log())
        for folder, _, files in os.walk(box.env["XDG_STATE_HOME"]):
            for name in files:
                assert secret.encode() not in open(os.path.join(folder, name), "rb").read(), name


def test_7_the_key_of_an_effect_goes_along(box):
    with Server() as s:
        g = serve(box, tool("pay", s.url + "/x"), tool("quiet", s.url + "/x", idempotency_header=False))
        session = g.session()
        assert not g.call(session, "pay", {}, idempotency_key="k1").is_error
        assert s.seen[-1]["headers"]["idempotency-key"].endswith("k1")
        assert not g.call(session, "pay", {}, idempotency_key="two words\nand a line").is_error
        assert len(s.seen[-1]["headers"]["idempotency-key"]) == 64  # a header has one line
        assert not g.call(session, "quiet", {}, idempotency_key="k2").is_error
        assert "idempotency-key" not in s.seen[-1]["headers"]


def test_7_the_policy_of_the_configuration_counts(box):
    with Server() as s:
        s.plan("/down", lambda h: h.answer(503, {}))
        box.config(json.dumps({
            "definitions": [tool("trigger", s.url + "/x", "pure", method="GET"), tool("down", s.url + "/down", "pure", method="GET"),
                            tool("look", s.url + "/down")],
            "tool_confirmation": AUTO,
            "tools": {"defaults": QUICK, "trigger": {"side_effect_policy": "irreversible"}, "down": {"side_effect_policy": "irreversible"},
                      "look": {"side_effect_policy": "pure"}},
            "tool_gateway": {"providers": {"http": {"allow": LOCAL}}}}))
        g = box.serve("--no-auth")
        session = g.session()
        assert not g.call(session, "trigger", {}, idempotency_key="k1").is_error
        assert s.seen[-1]["headers"]["idempotency-key"].endswith("k1"), s.seen
        assert "may have been done" in call(g, "down").text and "may have been done" not in call(g, "look").text


def test_7_statuses_mean_something(box):
    codes = {400: "validation_error", 401: "permission_denied", 403: "permission_denied", 404: "execution_error",
             409: "execution_error", 422: "validation_error", 500: "execution_error", 503: "execution_error"}
    with Server() as s:
        for status in codes:
            s.plan("/s%d" % status, lambda h, status=status: h.answer(status, {"error": {"message": "because %d" % status}}))
        s.plan("/s418", lambda h: h.answer(418, b"short and stout", "text/plain"))
        g = serve(box, *[tool("s%d" % n, s.url + "/s%d" % n) for n in [*codes, 418]],
                  tool("fine", s.url + "/s404", status={"404": "success", "4xx": "failed"}))
        for status, code in codes.items():
            r = call(g, "s%d" % status)
            assert r.is_error and r.error_class == code, (status, r.error_class)
            assert "answered %d" % status in r.text and "because %d" % status in r.text, r.text
            assert ("may have been done" in r.text) == (status >= 500), r.text
        assert "short and stout" in call(g, "s418").text
        assert not call(g, "fine").is_error


def test_7_what_is_unknown_is_in_the_ledger_as_that(box):
    with Server() as s:
        s.plan("/409", lambda h: h.answer(409, {"message": "perhaps"}))
        s.plan("/302", lambda h: h.answer(302, b"", None, Location="/elsewhere"))
        s.plan("/long", lambda h: h.answer(200, {}, X="y" * 20000, Y="y" * 20000, Z="y" * 40000))
        s.plan("/404", lambda h: h.answer(404, {}))
        s.plan("/api/v3/tools/execute/ODD", lambda h: h.answer(200, b"<html>", "text/html"))
        g = serve(box, tool("conflict", s.url + "/409", status={"409": "unknown"}), tool("moved", s.url + "/302"),
                  tool("long", s.url + "/long"), tool("gone", s.url + "/404"),
                  tool("idem", s.url + "/409", "idempotent", method="PUT", status={"4xx": "unknown"}),
                  {"name": "odd", "description": "d", "gateway": "composio", "gateway_config": {"composio_action": "ODD"}},
                  env={"MY_KEY": "canary-composio-key"}, providers={"composio": {"api_key_env": "MY_KEY", "base_url": s.url + "/api/v3/"}})
        names = ["conflict", "moved", "long", "idem", "odd"]
        for name in [*names, "gone"]:
            r = call(g, name)
            assert r.is_error and ("may have been done" in r.text) == (name not in ["idem", "gone"]), (name, r.text)
        unknown = g.ok("GET", "/effects?unknown=1&session=%s" % g.one)["effects"]
        assert sorted(e["tool"] for e in unknown) == sorted(names), unknown
        assert len(s.seen) == 6, s.seen  # none was tried again


def test_7_only_what_may_be_is_tried_again(box):
    def down(h):
        h.answer(503, {"message": "busy"})

    def well(h):
        h.answer(200, {"ok": True})

    with Server() as s:
        for path in ["/pure", "/idem", "/irr", "/limited", "/late"]:
            s.plan(path, down, well)
        s.plan("/limited", lambda h: h.answer(429, {"message": "slow down"}, Retry_After="1"), well)
        s.plan("/late", lambda h: h.answer(429, {"message": "tomorrow"}, Retry_After="86400"), well)
        g = serve(box, tool("pure", s.url + "/pure", "pure", method="GET"), tool("idem", s.url + "/idem", "idempotent"),
                  tool("irr", s.url + "/irr"), tool("limited", s.url + "/limited"), tool("late", s.url + "/late"))
        assert not call(g, "pure").is_error and not call(g, "idem").is_error
        r = call(g, "irr")
        assert r.is_error and "may have been done" in r.text and s.paths().count("/irr") == 1, r.text
        begun = time.monotonic()
        assert not call(g, "limited").is_error and time.monotonic() - begun >= 1  # it was refused, not done: as long as it says
        r = call(g, "late")
        assert r.is_error and "tomorrow" in r.text and s.paths().count("/late") == 1, r.text


def test_7_max_retries_of_the_gateway_count_unless_the_tool_says_otherwise(box):
    def down(h):
        h.answer(500, {})

    with Server() as s:
        s.plan("/a", down)
        s.plan("/b", down)
        box.config(json.dumps({
            "definitions": [tool("a", s.url + "/a", "pure", method="GET"), tool("b", s.url + "/b", "pure", method="GET")],
            "tool_confirmation": AUTO,
            "tools": {"defaults": {"retry": {"initial_ms": 5, "max_ms": 50}}, "b": {"retry": {"attempts": 2}}},
            "tool_gateway": {"providers": {"http": {"allow": LOCAL, "max_retries": 3}}}}))
        g = box.serve("--no-auth")
        assert call(g, "a").is_error and call(g, "b").is_error
        assert s.paths().count("/a") == 4 and s.paths().count("/b") == 2, s.paths()


def test_7_a_torn_connection_is_told_as_what_it_is(box):
    def after(h):
        h.server.done.append("effect")
        h.reset()

    with Server() as s:
        s.plan("/before", lambda h: h.reset())
        s.plan("/after", after)
        g = serve(box, tool("before", s.url + "/before"), tool("after", s.url + "/after"),
                  tool("nobody", "http://127.0.0.1:1/x"), tool("again", s.url + "/before", "pure", method="GET"))
        for name in ["before", "after"]:
            r = call(g, name)
            assert r.is_error and "may have been done" in r.text, r.text
        assert s.done == ["effect"] and s.paths().count("/after") == 1
        r = call(g, "nobody")
        assert r.is_error and "may have been done" not in r.text, r.text
        before = s.paths().count("/before")
        assert call(g, "again").is_error and s.paths().count("/before") == before + 2  # tried twice, being pure


def test_7_what_cannot_be_taken_back_is_sent_once_whatever_its_method(box):
    def done_and_gone(h):
        h.server.done.append(h.command)
        h.close_connection = True  # without a byte of an answer, on a connection that was kept

    with Server() as s:
        s.plan("/warm", lambda h: h.answer(200, {}))
        for method in ["GET", "PUT", "DELETE"]:
            s.plan("/" + method, done_and_gone)
        g = serve(box, tool("warm", s.url + "/warm", "pure", method="GET"), tool("look", s.url + "/GET", "pure", method="GET"),
                  *[tool(m.lower(), s.url + "/" + m, method=m) for m in ["GET", "PUT", "DELETE"]])
        for method in ["GET", "PUT", "DELETE"]:
            assert not call(g, "warm").is_error
            r = call(g, method.lower())
            assert r.is_error and "may have been done" in r.text, r.text
            assert s.done.count(method) == 1, s.done
        assert not call(g, "warm").is_error
        assert call(g, "look").is_error and s.done.count("GET") > 2  # that one does nothing


def test_7_slow_is_a_timeout_and_huge_is_cut(box):
    gone = threading.Event()

    def slow(h):
        gone.wait(30)
        h.close_connection = True

    with Server() as s:
        s.plan("/slow", slow)
        s.plan("/huge", lambda h: (h.server.done.append("huge"), h.answer(200, b"x" * 300000, "text/plain")))
        g = serve(box, tool("slow", s.url + "/slow", timeout=0.3), tool("huge", s.url + "/huge", max_bytes=100000))
        r = call(g, "slow")
        gone.set()
        assert r.error_class == "timeout", r.error
        r = call(g, "huge")
        assert not r.is_error and "longer than 100000 bytes" in r.text and s.done == ["huge"], r.text[-300:]


def test_7_contents_of_every_kind(box):
    picture = bytes(range(256))
    with Server() as s:
        s.plan("/json", lambda h: h.answer(200, {"a": [1, 12345678901234567890]}))
        s.plan("/list", lambda h: h.answer(200, [1, 2], "application/problem+json; charset=utf-8"))
        s.plan("/liar", lambda h: h.answer(200, b"{not json", "application/json"))
        s.plan("/text", lambda h: h.answer(200, "grüße".encode(), "text/plain; charset=utf-8"))
        s.plan("/image", lambda h: h.answer(200, picture, "image/png"))
        s.plan("/blob", lambda h: h.answer(200, picture, "application/zip"))
        s.plan("/nothing", lambda h: h.answer(204, b"", None))
        names = ["json", "list", "liar", "text", "image", "blob", "nothing"]
        g = serve(box, *[tool(n, "%s/%s" % (s.url, n), "pure", method="GET") for n in names],
                  tool("head", s.url + "/json", "pure", method="HEAD"))
        r = call(g, "json")
        assert '"a": [1, 12345678901234567890]' in r.text, r.text
        assert "[1, 2]" in call(g, "list").text
        assert call(g, "liar").text == "{not json" and call(g, "text").text == "grüße"
        block = next(b for b in call(g, "image").block["content"] if b["type"] == "image")
        assert base64.b64decode(block["data"]) == picture and block["mimeType"] == "image/png"
        block = next(b for b in call(g, "blob").block["content"] if b["type"] == "resource")
        assert base64.b64decode(block["resource"]["blob"]) == picture
        assert "204" in call(g, "nothing").text and "200" in call(g, "head").text


def test_7_closed_addresses_are_refused_in_every_form(box):
    with Server() as s:
        forms = ["127.0.0.1", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "0", "0.0.0.0",
                 "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
                 "[2002:7f00:1::1]", "[fe80::1]", "[fd00::1]", "[ff02::1]", "[2001::1]", "localhost", "localhost.",
                 "a.localhost", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
                 "255.255.255.255", "198.18.0.1"]
        g = serve(box, *[tool("f%d" % i, "http://%s:%d/x" % (f, s.port), timeout=5) for i, f in enumerate(forms)], allow=[])
        for i, form in enumerate(forms):
            r = call(g, "f%d" % i)
            assert r.is_error, form
            assert r.error_class == "permission_denied" or "not known" in r.text or "cannot be reached" in r.text, (form, r.text)
            assert "may have been done" not in r.text, (form, r.text)
        assert s.seen == []


def test_7_what_is_named_is_let_through(box):
    with Server() as s:
        port = s.port
        g = serve(box, tool("host", "http://localhost:%d/x" % port, allow=["localhost:%d" % port]),
                  tool("net", s.url + "/x", allow=["127.0.0.0/8"]), tool("all", s.url + "/x", allow_private=True),
                  tool("port", s.url + "/x", allow=["127.0.0.1:%d" % (port + 1)]),
                  tool("other", s.url + "/x", allow=["localhost"]), allow=[])
        for name, good in [("host", True), ("net", True), ("all", True), ("port", False), ("other", False)]:
            assert call(g, name).is_error != good, name
        assert len(s.seen) == 3


def test_7_redirects_are_looked_at_hop_by_hop(box):
    with Server() as s, Server() as other, Server("127.0.0.2") as closed:
        s.plan("/near", lambda h: h.answer(302, b"", None, Location="/there?x=1"))
        s.plan("/far", lambda h: h.answer(302, b"", None, Location=other.url + "/landed"))
        s.plan("/closed", lambda h: h.answer(302, b"", None, Location=closed.url + "/secret"))
        s.plan("/odd", lambda h: h.answer(302, b"", None, Location="file:///etc/passwd"))
        s.plan("/user", lambda h: h.answer(302, b"", None, Location="http://127.0.0.1:1@%s/x" % closed.url[7:]))
        s.plan("/loop", lambda h: h.answer(302, b"", None, Location="/loop"))
        s.plan("/post", lambda h: h.answer(307, b"", None, Location="/there"))
        names = ["near", "far", "closed", "odd", "user", "loop"]
        g = serve(box, *[tool(n, s.url + "/" + n, "pure", method="GET", headers={"X-Api-Key": "${KEY}", "Authorization": "${KEY}"},
                              cookies={"sid": "${KEY}"}) for n in names],
                  tool("stay", s.url + "/near", "pure", method="GET", follow_redirects=False), tool("post", s.url + "/post"),
                  allow=["127.0.0.1"], env={"KEY": "canary-key-123"})
        assert not call(g, "near").is_error and s.seen[-1]["path"] == "/there?x=1"
        assert s.seen[-1]["headers"]["x-api-key"] == "canary-key-123"
        assert not call(g, "far").is_error and other.seen[-1]["path"] == "/landed"
        assert "canary" not in json.dumps(other.seen), other.seen
        for name in ["closed", "odd", "user"]:
            r = call(g, name)
            assert r.is_error, (name, r.text)
        assert closed.seen == []
        assert "too many redirects" in call(g, "loop").text and s.paths().count("/loop") == 6
        assert call(g, "stay").is_error
        assert call(g, "post").is_error and "/there" not in s.paths()


def test_7_a_bad_definition_disables_itself_alone(box):
    with Server() as s:
        good = tool("good", s.url + "/x")
        g = serve(box, good, tool("userinfo", "http://a:b@127.0.0.1/"), tool("where", "http://{host}/x", schema={"host": TEXT}),
                  tool("scheme", "file:///etc/passwd"), tool("typo", s.url + "/{idd}", schema={"id": TEXT}),
                  tool("odd", s.url, verb="GET"), {"name": "lost", "description": "d", "gateway": "smoke"},
                  {**good, "description": "again"}, tool("host_header", s.url, headers={"Host": "x"}),
                  tool("read_file", s.url))
        assert not call(g, "good").is_error
        problems = "\n".join(g.ok("GET", "/status")["definitions"]["problems"])
        for text in ["userinfo: gateway_config.url: the address has a user in it", "where: gateway_config.url: an argument cannot",
                     "scheme: gateway_config.url: the address must begin", "typo: gateway_config.url: parameter_schema has no property 'idd'",
                     "odd: gateway_config.verb: is not a known field", "lost: Unknown gateway: smoke", "good: name: there is one",
                     "host_header: gateway_config.headers.Host: cannot be given", "read_file: "]:
            assert text in problems, (text, problems)
        names = [t["name"] for t in g.ok("GET", "/tools")["tools"]]
        assert "good" in names and "userinfo" not in names


def test_7_no_argument_adds_a_cookie(box):
    with Server() as s:
        g = serve(box, tool("raw", s.url + "/x", schema={"pref": TEXT}, headers={"cookie": "sid=a; pref={pref}"}),
                  tool("fixed", s.url + "/x", headers={"Cookie": "sid=a; pref=b"}),
                  tool("good", s.url + "/x", schema={"pref": TEXT}, cookies={"sid": "a", "pref": "{pref}"}))
        assert call(g, "raw", {"pref": "b; admin=1"}).is_error and s.seen == []
        assert "raw: gateway_config.headers.Cookie: has an argument in it; use cookies" in g.ok("GET", "/status")["definitions"]["problems"]
        assert not call(g, "fixed").is_error and s.seen[-1]["headers"]["cookie"] == "sid=a; pref=b"
        assert not call(g, "good", {"pref": "b; admin=1"}).is_error
        assert s.seen[-1]["headers"]["cookie"] == "sid=a; pref=b%3B%20admin%3D1"


def test_7_definitions_follow_the_file(box):
    with Server() as s:
        g = serve(box, tool("a", s.url + "/one"), tool("b", s.url + "/b"))
        before = next(t for t in g.ok("GET", "/tools")["tools"] if t["name"] == "a")
        assert not call(g, "a").is_error and s.paths()[-1] == "/one"
        box.config(json.dumps({"definitions": [tool("a", s.url + "/two"), tool("c", s.url + "/c")], "tool_confirmation": AUTO,
                               "tool_gateway": {"providers": {"http": {"allow": LOCAL}}}}))
        until(lambda: any(t["name"] == "c" for t in g.ok("GET", "/tools")["tools"]), "the file was read again")
        assert not call(g, "a").is_error and s.paths()[-1] == "/two"
        after = next(t for t in g.ok("GET", "/tools")["tools"] if t["name"] == "a")
        assert before["definition_id"] == after["definition_id"]
        assert not any(t["name"] == "b" for t in g.ok("GET", "/tools")["tools"])


def test_7_a_definition_that_changes_while_a_person_thinks_is_not_run(box):
    with Server() as s:
        def config(path):
            box.config(json.dumps({"definitions": [{**tool("pay", s.url + path), "requires_confirmation": True,
                                                    "confirmation_prompt": "Pay for real?"}],
                                   "tool_confirmation": AUTO, "tool_gateway": {"providers": {"http": {"allow": LOCAL}}}}))
        config("/old")
        g = box.serve("--no-auth")
        session = g.session()
        turn = g.start(session, "pay", {})["turn_id"]
        question = g.question(session)
        config("/new")
        until(lambda: g.ok("GET", "/status")["config"]["loads"] >= 1, "the file was read again")
        g.answer(question, "allow")
        r = g.turn(session, turn)
        assert "changed" in json.dumps(r), r
        assert s.seen == []


def test_7_the_longest_address_is_shown_to_who_is_asked(box):
    with Server() as s:
        g = serve(box, tool("drop", s.url + "/x/{id}", schema={"id": TEXT}, method="DELETE"),
                  tool_confirmation={"default": {**AUTO["default"], "NETWORK": "prompt"}})
        session = g.session()
        id = "a" * (16380 - len(s.url + "/x/"))
        turn = g.start(session, "drop", {"id": id})
        question = g.question(session)
        assert question["command"] == "DELETE %s/x/%s" % (s.url, id), question["command"][:100]
        g.answer(question, "deny")
        g.turn(session, turn["turn_id"])
        assert s.seen == []


def test_7_a_request_is_no_command_with_a_prefix(box):
    with Server() as s:
        g = serve(box, tool("send", s.url + "/x/{id}", schema={"id": TEXT}),
                  tool_confirmation={"default": {**AUTO["default"], "NETWORK": "prompt"}})
        session = g.session()
        turns = [g.start(session, "send", {"id": "1"}), g.start(session, "send", {"id": "2"})]
        until(lambda: len(g.ok("GET", "/confirmations")["confirmations"]) == 2, "both are asked about")
        asked = g.question(session)
        assert asked["command"].startswith("POST http://") and asked["prefix"] is None, asked
        for prefix in [{}, {"prefix": "POST"}]:
            g.refused(400, "validation_error", "POST", "/confirmations/" + asked["confirmation_request_id"],
                      {"decision": "allow", "scope": "prefix", **prefix})
        assert len(g.ok("GET", "/confirmations")["confirmations"]) == 2 and s.seen == []
        for turn in turns:
            g.answer(g.question(session), "deny")
        for turn in turns:
            g.turn(session, turn["turn_id"])
        assert s.seen == []


def test_7_composio_is_a_request_and_an_answer_in_it(box):
    def plan(body, status=200):
        return lambda h: h.answer(status, body)

    with Server() as s:
        run = "/api/v3/tools/execute/"
        s.plan(run + "GITHUB_STAR", plan({"data": {"starred": True}, "successful": True, "error": None, "log_id": "log_1"}))
        s.plan(run + "FAILS", plan({"data": {}, "successful": False, "error": "no connected account", "log_id": "log_2"}))
        s.plan(run + "DENIED", plan({"error": {"message": "invalid api key"}}, 401))
        s.plan(run + "ODD", lambda h: h.answer(200, b"<html>", "text/html"))
        definitions = [{"name": n, "description": "d", "gateway": "composio", "gateway_config": c} for n, c in [
            ("github_star", {"entity_id": "user-{7}", "connected_account_id": "ca_1", "timeout": 5}),
            ("fails", {"composio_action": "FAILS"}), ("denied", {"composio_action": "DENIED"}), ("odd", {"composio_action": "ODD"})]]
        g = serve(box, *definitions, allow=[], env={"MY_KEY": "canary-composio-key"},
                  providers={"composio": {"api_key_env": "MY_KEY", "base_url": s.url + "/api/v3/"}})
        r = call(g, "github_star", {"repo": "a/b", "n": [1]})
        assert not r.is_error and json.loads(r.text) == {"starred": True}, r.text
        assert json.loads(s.seen[-1]["body"]) == {"user_id": "user-{7}", "connected_account_id": "ca_1", "arguments": {"repo": "a/b", "n": [1]}}
        assert s.seen[-1]["headers"]["x-api-key"] == "canary-composio-key"
        assert "Composio: no connected account" in call(g, "fails").text
        r = call(g, "denied")
        assert r.error_class == "permission_denied" and "invalid api key" in r.text, r.text
        assert "something else than JSON (it may have been done)" in call(g, "odd").text


def test_7_composio_for_a_user_too_long_is_for_nobody(box):
    with Server() as s:
        g = serve(box, {"name": "act", "description": "d", "gateway": "composio", "gateway_config": {"entity_id": "u" * 9000}},
                  env={"MY_KEY": "canary-composio-key"}, providers={"composio": {"api_key_env": "MY_KEY", "base_url": s.url}})
        problems = g.ok("GET", "/status")["definitions"]["problems"]
        assert len(problems) == 1 and problems[0].startswith("act: "), problems
        assert call(g, "act").is_error and s.seen == []


def test_7_composio_without_a_key_says_so(box):
    g = serve(box, {"name": "x", "description": "d", "gateway": "composio"})
    assert "the variable COMPOSIO_API_KEY is not set" in "\n".join(g.ok("GET", "/status")["definitions"]["problems"])


def document(version="3.0.3", **more):
    return {"openapi": version, "info": {"title": "t", "version": "1"}, "servers": [{"url": "/v1"}], **more}


def test_7_openapi_becomes_tools_and_goes_again(box):
    doc = document(
        paths={"/nodes/{id}": {"put": {"operationId": "putNode", "tags": ["tree"],
                                       "parameters": [{"$ref": "#/components/parameters/Id"}],
                                       "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}},
                               "get": {"parameters": [{"$ref": "#/components/parameters/Id"},
                                                      {"name": "f", "in": "query", "style": "deepObject", "schema": {"type": "object"}}]}}},
        components={"parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}},
                    "schemas": {"Node": {"type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string", "nullable": True}, "left": {"$ref": "#/components/schemas/Node"},
                        "other": {"$ref": "#/components/schemas/Pair"}}},
                        "Pair": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}}})
    with Server() as s:
        s.plan("/openapi.json", lambda h: h.answer(200, doc))
        box.env["KEY"] = "canary-openapi"
        r = box.run("add", "tree", "--openapi", s.url + "/openapi.json", "-H", "X-Key: ${KEY}")
        assert r.returncode == 0 and "2 operations" in r.stdout, (r.stdout, r.stderr)
        config = os.path.join(box.env["XDG_CONFIG_HOME"], "holdfast", "config.yaml")
        with open(config, "a") as out:
            out.write("    allow_private: true\ntool_confirmation: {default: {NETWORK: auto}}\n")
        s.plan("/openapi.json", lambda h: h.answer(500, {}))
        g = box.serve("--no-auth")  # from the copy
        tools = {t["name"]: t for t in g.ok("GET", "/tools")["tools"]}
        assert tools["tree__putNode"]["reversibility"] == "idempotent" and tools["tree__get_nodes_id"]["reversibility"] == "pure"
        r = call(g, "tree__putNode", {"id": "7", "body": {"name": None, "left": {"name": "b", "other": [{"name": "c"}]}}})
        assert not r.is_error and s.seen[-1]["path"] == "/v1/nodes/7" and s.seen[-1]["headers"]["x-key"] == "canary-openapi", r.text
        r = call(g, "tree__putNode", {"id": "7", "body": {"name": "a", "left": {"name": "b", "other": [{"name": 3}]}}})
        assert r.is_error and "/body/left/other/0/name" in r.text, r.text
        assert not call(g, "tree__get_nodes_id", {"id": "7", "f": {"a": 1, "b": "x"}}).is_error
        assert s.seen[-1]["path"] == "/v1/nodes/7?f[a]=1&f[b]=x", s.seen[-1]
        assert "tree" in box.run("servers").stdout
        r = box.run("remove", "tree")
        assert r.returncode == 0, r.stderr
        until(lambda: not any(t["name"].startswith("tree__") for t in g.ok("GET", "/tools")["tools"]), "its tools are gone")


def test_7_a_name_may_move_from_an_import_to_a_definition(box):
    doc = box.write("shop.json", json.dumps(document(paths={"/a": {"get": {"operationId": "get"}}, "/b": {"get": {"operationId": "more"}}})))
    base = {"file": doc, "base_url": "http://127.0.0.1:1"}

    def configure(imports, *definitions):
        box.config(json.dumps({"openapi": imports, "definitions": list(definitions), "tool_confirmation": AUTO}))

    def defined(g):
        return {t["name"]: t["description"] for t in g.ok("GET", "/tools")["tools"] if "__" in t["name"]}

    configure({"shop": base})
    g = box.serve("--no-auth")
    assert set(defined(g)) == {"shop__get", "shop__more"}, defined(g)
    configure({"shop": {**base, "never": ["get"]}}, tool("shop__get", "http://127.0.0.1:1/x"))
    loads = g.ok("GET", "/status")["config"]["loads"]
    g.ok("POST", "/reload")
    until(lambda: g.ok("GET", "/status")["config"]["loads"] > loads, "it was read again")
    assert g.ok("GET", "/status")["definitions"]["problems"] == []
    assert defined(g)["shop__get"] == "What shop__get does." and "shop__more" in defined(g), defined(g)


def test_7_five_hundred_operations_have_short_names_that_stay(box):
    schemas = {"S%d" % i: {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/S%d" % ((i + 1) % 50)}}} for i in range(50)}
    paths = {}
    for i in range(250):
        body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S%d" % (i % 50)}}}}
        paths["/a-very-long-path-that-goes-on-and-on/with/many/parts/%d/{id}" % i] = {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": ["string", "null"]}}],
            "get": {}, "post": {"operationId": "make thing/%d: %s" % (i, "x" * 80), "requestBody": body}}
    paths["/twin/a"] = {"get": {"operationId": "twin"}}
    paths["/twin/b"] = {"get": {"operationId": "twin"}}
    doc = box.write("big.json", json.dumps(document("3.1.0", paths=paths, components={"schemas": schemas})))
    r = box.run("add", "big", "--openapi", doc, "--base-url", "http://127.0.0.1:1")
    assert r.returncode == 0 and "502 operations" in r.stdout, (r.stdout, r.stderr)
    with open(os.path.join(box.env["XDG_CONFIG_HOME"], "holdfast", "config.yaml"), "a") as out:
        out.write("tool_confirmation: {default: {NETWORK: auto}}\n")
    g = box.serve("--no-auth")
    tools = [t for t in g.ok("GET", "/tools")["tools"] if t.get("server") == "big"]
    names = sorted(t["name"] for t in tools)
    assert len(names) == len(set(names)) == 502
    assert all(len(n) <= 64 and all(c.isalnum() or c in "_-" for c in n) for n in names), names[:3]
    assert sum(n.startswith("big__twin") for n in names) == 2 and "big__twin" not in names
    assert sum(t["reversibility"] == "pure" for t in tools) == 252
    deep = {"next": {"next": {"next": {}}}}
    one = next(t["name"] for t in tools if t["reversibility"] == "irreversible")
    r = call(g, one, {"id": "1", "body": deep})
    assert r.error_class != "validation_error", r.text


def test_7_what_is_wrong_in_a_document_is_named_with_its_place(box):
    cases = [("{", "line"), ('{"swagger": "2.0"}', "/swagger"), ('{"openapi": "4.0"}', "/openapi"), ('{"openapi": "3.0.0"}', "/paths"),
             (json.dumps(document(paths={"/a/{x}": {"get": {}}})), "/paths/~1a~1{x}/get: {x} of the path is no parameter"),
             (json.dumps(document(paths={"/a": {"get": {"parameters": [{}]}}})), "/paths/~1a/get: parameters/0"),
             ("openapi: 3.0.0\npaths:\n  /a: [\n", "line")]
    for i, (text, says) in enumerate(cases):
        file = box.write("d%d.yaml" % i, text)
        r = box.run("add", "x", "--openapi", file, "--base-url", "http://127.0.0.1:1")
        assert r.returncode != 0, (text, r.stdout)
        assert says in r.stdout + r.stderr or says == "line", (text, r.stdout, r.stderr)
    assert box.run("add", "x", "--openapi", "/nowhere").returncode != 0
    r = box.run("add", "x", "--only", "a")
    assert r.returncode != 0 and "go with --openapi" in r.stderr
