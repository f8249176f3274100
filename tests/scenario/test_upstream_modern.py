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
