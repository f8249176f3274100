"""A server of 2026-07-28 behind the gateway, clients of both eras in front (issue 5): what is asked, told and kept on the way."""
import json

from lib import until
from modern_server import PREFIX, Modern2026, tool
from test_mcp_http import AUTO, FORM, Modern, Session

ANSWERS = {
    "form": {"action": "accept", "content": {"name": "Ann"}},
    "url": {"action": "accept"},
    "model": {"role": "assistant", "model": "x", "content": {"type": "text", "text": "hi"}},
    "roots": {"roots": [{"uri": "file:///home/ann"}]},
}


def behind(box, server, *args, others=""):
    """A gateway with it behind, once it has been read."""
    box.config(AUTO + "mcpServers: {m: {url: '%s', headers: {X-Own: mine}}%s}\n" % (server.url, others))
    gateway = box.serve(*args)
    # One that is known from before is asked when somebody looks.
    until(lambda: Modern(gateway).result("tools/list") and started(gateway), "the server is started")
    until(lambda: server.asked("resources/list") and server.listeners, "its lists are read, and it is listened to")
    return gateway


def started(gateway, name="m"):
    return any(s["name"] == name and s["state"] == "started" for s in gateway.ok("GET", "/servers")["servers"])


def said(answer):
    return json.loads(answer["result"]["content"][0]["text"])


def test_5_a_modern_server_asks_clients_of_both_eras(box):
    with Modern2026() as server:
        gateway = behind(box, server)
        modern, legacy = Modern(gateway, capabilities=FORM), Session(gateway, capabilities=FORM)
        for name, answer in ANSWERS.items():
            asked = modern.call("m__" + name).last()["result"]
            assert asked["resultType"] == "input_required" and asked["requestState"] != "state of " + name, asked
            (key, request), = asked["inputRequests"].items()
            assert "elicitationId" not in request["params"], request
            done = modern.call("m__" + name, id=2, extra={"inputResponses": {key: answer}, "requestState": asked["requestState"]}).last()
            assert said(done) == [answer, "state of " + name], done
            messages = legacy.call("m__" + name, id=name).messages()
            question = next(messages)
            assert question["method"] == request["method"], question
            assert ("elicitationId" in question["params"]) == (name == "url"), question
            assert legacy.answer(question["id"], answer).status == 202
            assert said(next(messages)) == [answer, "state of " + name]
        gateway.stop()


def test_5_a_modern_server_tells_clients_of_both_eras(box):
    with Modern2026() as server:
        gateway = behind(box, server)
        modern, legacy = Modern(gateway), Session(gateway)

        def told(answer):
            return [m["params"] for m in (answer.messages() if answer.streams else [answer.message()]) if "method" in m]
        for client, meta in (modern, {"meta": {"progressToken": "t"}}), (legacy, {"extra": {"_meta": {"progressToken": "t"}}}):
            assert told(client.call("m__steps", **meta)) == [{"progressToken": "t", "progress": n, "total": 2} for n in (1, 2)]
            assert told(client.call("m__say")) == []
        assert told(modern.call("m__say", meta={PREFIX + "logLevel": "notice"})) == [{"level": "warning", "data": "notice"}]
        assert told(modern.call("m__say", meta={PREFIX + "logLevel": "error"})) == []
        legacy.request("logging/setLevel", {"level": "info"})
        assert told(legacy.call("m__say")) == [{"level": "warning", "data": "info"}]

        listening = modern.request("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["mem://a"], "toolsListChanged": True}}, id="l")
        heard, tag = listening.messages(), {PREFIX + "subscriptionId": "l"}
        assert next(heard)["method"] == "notifications/subscriptions/acknowledged"
        ear = legacy.listen()
        assert legacy.request("resources/subscribe", {"uri": "mem://a"}).last()["result"] == {}
        until(lambda: any("resourceSubscriptions" in json.dumps(m) for m in server.asked("subscriptions/listen")), "the server is listened to anew")
        until(lambda: server.asked("subscriptions/listen")[-1]["id"] in server.listeners, "and has said so")
        server.tell("notifications/resources/updated", uri="mem://a")
        unasked = ear.messages()
        assert next(heard) == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "mem://a", "_meta": tag}}
        assert next(unasked) == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "mem://a"}}
        server.tools.append(tool("later"))
        server.tell("notifications/tools/list_changed")
        assert next(heard) == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": tag}}
        assert next(unasked)["method"] == "notifications/tools/list_changed"
        assert "m__later" in json.dumps(modern.result("tools/list"))
        for answer in listening, ear:
            answer.close()
        gateway.stop()


def test_5_what_nobody_here_knows_is_passed_on(box):
    with Modern2026() as server:
        gateway = behind(box, server)
        for client in Modern(gateway), Session(gateway):
            meta = {"traceparent": "00-1", "their/own": [1, 2.50]}
            extra = {"task": {"ttl": 1}, "new": {"big": 12345678901234567890}}
            more = {"meta": meta, "extra": extra} if isinstance(client, Modern) else {"extra": {**extra, "_meta": meta}}
            answer = client.call("m__what", {"a": 1}, **more).last()
            sent = said(answer)
            assert sent["new"] == extra["new"] and "task" not in sent, sent
            assert {key: sent["_meta"][key] for key in meta} == meta, sent
            assert sent["_meta"][PREFIX + "clientInfo"]["name"] == "holdfast", sent
            assert answer["result"]["odd"] == {"kept": [1.10, 12345678901234567890]} and answer["result"]["_meta"]["mine"] == 1, answer
        # What stands beside the gateway's own tool is not meant for the one it runs.
        answer = Modern(gateway, path="/mcp").call("tool_execute", {"tool_id": "m__what", "args": {}}, extra={"new": 1}).last()
        assert '"new"' not in json.dumps(answer) and not answer["result"]["isError"], answer
        gateway.stop()


def test_5_a_server_gets_its_own_headers_and_nobodys_token(box):
    with Modern2026() as server:
        server.tools.append(tool("where", properties={"region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer", "x-mcp-header": "N"}}))
        gateway = behind(box, server)
        assert gateway.token
        Session(gateway).call("m__where", {"region": "Köln", "n": 7}).last()
        headers = {name.lower(): value for name, value in server.seen[-1][0].items()}
        assert headers["mcp-method"] == "tools/call" and headers["mcp-name"] == "where" and headers["mcp-protocol-version"] == "2026-07-28", headers
        assert headers["mcp-param-region"] == "=?base64?S8O2bG4=?=" and headers["mcp-param-n"] == "7", headers
        assert all(h.get("X-Own") == "mine" for h, _ in server.seen)
        assert gateway.token not in repr(server.seen) and "uthorization" not in repr(server.seen)
        gateway.stop()


def test_5_what_may_be_held_is_what_every_server_says(box):
    lists = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")

    def hint(gateway, path, method, **params):
        result = Modern(gateway, path=path).result(method, params)
        return result["ttlMs"], result["cacheScope"]
    with Modern2026() as server, Modern2026() as other:
        server.hints, other.hints = {"ttlMs": 600000, "cacheScope": "public"}, {"ttlMs": 300000, "cacheScope": "public"}
        gateway = behind(box, server, "--no-auth", others=", o: {url: '%s'}" % other.url)
        until(lambda: all(hint(gateway, "/mcp/all", method)[0] for method in lists), "all lists of both are here")
        for method in lists:
            ttl, scope = hint(gateway, "/mcp/s/m", method)
            assert 300000 < ttl <= 600000 and scope == "public", (method, ttl, scope)
            ttl, scope = hint(gateway, "/mcp/all", method)
            assert 0 < ttl <= 300000 and scope == "public", (method, ttl, scope)
        assert hint(gateway, "/mcp/s/m", "resources/read", uri="mem://a") == (600000, "public")
        assert hint(gateway, "/mcp", "tools/list") == (0, "private")
        # One that says less is enough.
        other.hints = {"ttlMs": 0, "cacheScope": "private"}
        other.tell("notifications/tools/list_changed")
        until(lambda: hint(gateway, "/mcp/all", "tools/list") == (0, "private"), "that counts for all")
        assert hint(gateway, "/mcp/s/m", "tools/list")[1] == "public"
        gateway.stop()
    with Modern2026() as server:
        # Who needs a token to see it does not show it to everybody.
        server.hints = {"ttlMs": 600000, "cacheScope": "public"}
        gateway = behind(box, server)
        assert hint(gateway, "/mcp/s/m", "resources/read", uri="mem://a") == (600000, "private")
        gateway.stop()


def test_5_what_a_server_refuses_by_its_headers_was_not_done(box):
    with Modern2026() as server:
        server.tools += [tool("wrong_header"), tool("wrong_version")]
        gateway = behind(box, server)
        for name in "wrong_header", "wrong_version":
            result = Modern(gateway).call("m__" + name).last()["result"]
            assert result["isError"] and "3202" not in json.dumps(result), result
            assert "may have been done" not in json.dumps(result) and "not known" not in json.dumps(result), result
        gateway.stop()


def test_5_no_address_of_a_login_is_there(box):
    """Clients look for one first, and with headers that mean something elsewhere (mcp.md 6)."""
    places = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server",
              "/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration", "/.well-known/openid-configuration/mcp",
              "/mcp/.well-known/openid-configuration", "/register", "/authorize", "/token"]
    for args in [], ["--no-auth"]:
        gateway = box.serve(*args)
        gateway.token = None  # nobody has one yet
        for place in places:
            assert gateway.get(place, headers={"MCP-Protocol-Version": "2024-11-05"})[0] == 404, place
        gateway.stop()
