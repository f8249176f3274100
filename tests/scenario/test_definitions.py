"""Tools that people define while the gateway runs: kept per tenant, seen by whom they are for (issue 7)."""
import json
import os

from http_server import Server
from lib import until
from test_http_tools import AUTO, LOCAL, TEXT, tool
from test_mcp import Client, VERSIONS
from test_surfaces import Peer, names

FIELDS = ["id", "tenant_id", "name", "description", "gateway", "gateway_config", "side_effect_policy", "compensation_tool_id",
          "requires_confirmation", "confirmation_prompt", "parameter_schema", "categories", "created_at", "updated_at"]


def configure(box, *definitions, **more):
    box.config(json.dumps({
        "definitions": list(definitions), "tool_confirmation": AUTO, "tenants": {"acme": {"agents": {"a": {}, "b": {}}}, "globex": {}},
        "tool_gateway": {"providers": {"http": {"allow": LOCAL}}, "variables": ["SHOP_*"]}, **more}))


def serve(box, *definitions, **more):
    configure(box, *definitions, **more)
    return box.serve("--no-auth")


def define(gateway, definition, status=201, **more):
    found, answer = gateway.request("PUT", "/definitions/" + definition["name"], {**definition, **more})
    assert found == status, answer
    return answer


def tools(gateway, who):
    return names(Peer(gateway, "/mcp/all", who).result("tools/list")["tools"])


def test_7_a_definition_is_kept_and_shown_whole(box):
    with Server() as s:
        gateway = serve(box)
        made = define(gateway, tool("get", s.url + "/x", "pure", schema={"q": TEXT}, method="GET"), categories=["shop"])
        assert list(made) == FIELDS and made["tenant_id"] == "default" and made["created_at"] == made["updated_at"], made
        assert "/x?q=1" in gateway.call(gateway.session(), "get", {"q": "1"}).text
        gateway.kill()  # answered is kept
        gateway = box.serve("--no-auth")
        assert gateway.ok("GET", "/definitions/get") == made == gateway.ok("GET", "/definitions/" + made["id"])
        assert "/x?q=2" in gateway.call(gateway.session(), "get", {"q": "2"}).text
        again = define(gateway, tool("get", s.url + "/y", "pure", schema={"q": TEXT}, method="GET"), 200)
        assert (again["id"], again["created_at"]) == (made["id"], made["created_at"]) and again["updated_at"] > made["updated_at"]
        assert "/y?q=3" in gateway.call(gateway.session(), "get", {"q": "3"}).text
        gateway.ok("DELETE", "/definitions/get")
        assert gateway.call(gateway.session(), "get", {"q": "4"}).error_class == "not_found"
        gateway.kill()
        gateway = box.serve("--no-auth")
        gateway.refused(404, "tool_not_found", "GET", "/definitions/get")
        gateway.refused(404, "tool_not_found", "DELETE", "/definitions/get")
        assert gateway.ok("GET", "/definitions") == {"definitions": []}


def test_7_an_activation_names_a_definition_by_its_id(box):
    gateway = serve(box)
    made = define(gateway, tool("get", "http://127.0.0.1:9/x"), tenant_id="acme")
    path = "/tenants/acme/agents/a/activations"
    assert gateway.ok("POST", path, {"tool": "get", "enabled": False})["tool_id"] == made["id"]
    assert gateway.ok("POST", path, {"tool": "ge*"})["tool_id"] != made["id"]
    assert {a["tool_name"]: a["tool_id"] for a in gateway.ok("GET", path)["activations"]}["get"] == made["id"]
    other = gateway.ok("POST", "/tenants/globex/agents/default/activations", {"tool": "get"})
    assert other["tool_id"] != made["id"], "for globex there is no such tool"


def test_7_what_is_wrong_with_a_definition_is_named(box):
    box.env.update(SHOP_TOKEN="t", HOME_TOKEN="h")
    gateway = serve(box)
    good = tool("get", "http://127.0.0.1:9/x", "pure")
    for more, field in [({"gateway": 1}, "gateway: "), ({"gateway": "soap"}, "Unknown gateway: soap"), ({"side_effect_policy": "safe"}, "side_effect_policy: "),
                        ({"gateway_config": {}}, "gateway_config.url"), ({"extra": 1}, "extra"), ({"description": ""}, "description: "),
                        ({"parameter_schema": {"type": "thing"}}, "parameter_schema: "), ({"id": "7"}, "id: "), ({"name": "other"}, "name: "),
                        ({"tenant_id": 1}, "tenant_id: "), ({"created_at": "now"}, "created_at: "), ({"categories": [1]}, "categories: "),
                        ({"gateway": "internal", "gateway_config": {"function": "nowhere"}}, "gateway_config.function: "),
                        ({"gateway_config": {"url": "http://127.0.0.1:9/", "headers": {"A": "${HOME_TOKEN}"}}}, "tool_gateway.variables")]:
        status, answer = gateway.request("PUT", "/definitions/get", {**good, **more})
        assert status == 400 and field in answer["error"]["message"], (more, status, answer)
    for body in ([], "x", None):
        assert gateway.request("PUT", "/definitions/get", body)[0] == 400, body
    assert gateway.ok("GET", "/definitions") == {"definitions": []}
    define(gateway, tool("get", "http://127.0.0.1:9/", headers={"A": "${SHOP_TOKEN}"}))
    assert "${SHOP_TOKEN}" in json.dumps(gateway.ok("GET", "/definitions/get")), "what it stands for is not shown"


def test_7_a_name_that_is_taken_is_refused(box):
    gateway = serve(box, tool("own", "http://127.0.0.1:9/own"))
    there = define(gateway, tool("get", "http://127.0.0.1:9/x"), tenant_id="acme")
    url = "http://127.0.0.1:9/y"
    for method, path, body in [("POST", "/definitions", tool("read_file", url)), ("PUT", "/definitions/own", tool("own", url)),
                               ("POST", "/definitions", {**tool("get", url), "tenant_id": "acme"}), ("PUT", "/definitions/get", tool("get", url)),
                               ("PUT", "/definitions/get?tenant_id=acme", {**tool("get", url), "id": "0" * 8 + "-0000-4000-8000-" + "0" * 12}),
                               ("POST", "/definitions", {**tool("third", url), "id": there["id"]})]:
        status, answer = gateway.request(method, path, body)
        assert status == 409, (path, answer)
    assert gateway.ok("GET", "/definitions/get?tenant_id=acme") == there
    gateway.refused(403, "forbidden", "DELETE", "/definitions/own")
    gateway.refused(404, "tenant_not_found", "POST", "/definitions", {**tool("more", url), "tenant_id": "nobody"})
    gateway.refused(400, "validation_error", "POST", "/definitions?tenant_id=globex", {**tool("more", url), "tenant_id": "acme"})


def test_7_the_file_goes_before_what_was_made(box):
    with Server() as s:
        gateway = serve(box)
        define(gateway, tool("get", s.url + "/store", "pure", method="GET"))
        configure(box, tool("get", s.url + "/file", "pure", method="GET"))
        gateway.ok("POST", "/reload")
        until(lambda: "/file" in gateway.call(gateway.session(), "get", {}).text, "the file counts")
        assert [(d["from"], d["available"]) for d in gateway.ok("GET", "/definitions")["definitions"]][0] == ("config", True)
        configure(box)
        gateway.ok("POST", "/reload")
        until(lambda: "/store" in gateway.call(gateway.session(), "get", {}).text, "the one that waited is back")


def test_7_a_definition_of_a_tenant_is_its_own(box):
    with Server() as s:
        gateway = serve(box)
        acme = gateway.ok("GET", "/tenants/acme")["id"]
        made = define(gateway, tool("get", s.url + "/x", "pure", method="GET"), tenant_id=acme)
        assert made["tenant_id"] == "acme"
        assert "get" in tools(gateway, "acme/a") and "get" in tools(gateway, "acme/b")
        assert "get" not in tools(gateway, "globex/default") and "get" not in tools(gateway, None)
        assert not gateway.call(gateway.session(tenant="acme", agent="a"), "get", {}).is_error
        for other in ({}, {"tenant": "globex"}):
            assert gateway.call(gateway.session(**other), "get", {}).error_class == "not_found"
        assert gateway.ok("GET", "/toolbox/globex:default/available/get")["tenant_available"] is False
        assert names(gateway.ok("GET", "/definitions?tenant_id=acme")["definitions"]) == ["get"]
        assert gateway.ok("GET", "/definitions?tenant_id=globex")["definitions"] == []
        gateway.refused(404, "tool_not_found", "GET", "/definitions/get")
        # an agent that says who it is sees its tenant's alone
        theirs = {"X-Holdfast-Agent": "globex/default"}
        assert gateway.get("/definitions", headers=theirs)[1] == {"definitions": []}
        assert gateway.get("/definitions/get", headers=theirs)[0] == gateway.get("/definitions/" + made["id"], headers=theirs)[0] == 404
        assert gateway.get("/definitions?tenant_id=acme", headers=theirs)[0] == 404
        assert gateway.get("/definitions/get", headers={"X-Holdfast-Agent": "acme/b"})[1] == made


def test_7_definitions_go_with_their_tenant(box):
    gateway = serve(box)
    gateway.ok("POST", "/tenants", {"name": "initech"})
    define(gateway, tool("get", "http://127.0.0.1:9/"), tenant_id="initech")
    assert "get" in tools(gateway, "initech/default")
    gateway.ok("DELETE", "/tenants/initech")
    gateway.ok("POST", "/tenants", {"name": "initech"})
    assert "get" not in tools(gateway, "initech/default") and gateway.ok("GET", "/definitions") == {"definitions": []}


def test_7_a_tool_call_defines_nothing(box):
    gateway = serve(box, confinement={"shell": "open"})
    box.write("d.json", json.dumps(tool("get", "http://127.0.0.1:9/")))
    session = gateway.session(tenant="acme", agent="a")
    reach = "XDG_RUNTIME_DIR=%s HOLDFAST_SOCKET=%s %s " % (
        box.env["XDG_RUNTIME_DIR"], os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock"), box.program)
    for words in ("define d.json", "undefine get", "definitions --json"):
        done = gateway.call(session, "shell", {"command": reach + words + " 2>&1"})
        assert "a tool call cannot" in done.text, (words, done.text)
    assert gateway.ok("GET", "/definitions") == {"definitions": []}


def test_7_definitions_from_the_command_line(box):
    gateway = serve(box)
    box.write("tools.yaml", """
- name: one
  description: The first.
  gateway: http
  gateway_config: {url: "http://127.0.0.1:9/"}
  side_effect_policy: pure
- {name: two, description: The second., gateway: http, gateway_config: {url: "http://127.0.0.1:9/"}, tenant_id: acme}
""")
    path = os.path.join(box.workspace, "tools.yaml")
    done = box.run("define", path)
    assert (done.returncode, done.stdout) == (0, "one is defined\ntwo is defined\n"), done
    table = box.run("definitions").stdout
    assert "one" in table and "two" in table and "store" in table, table
    rows = json.loads(box.run("definitions", "--json", "--tenant", "acme").stdout)["definitions"]
    assert names(rows) == ["two"] and rows[0]["available"] is True
    shown = box.run("definitions", "two", "--tenant", "acme")
    done = box.run("define", "-", "--json", stdin=shown.stdout)
    before, after = json.loads(shown.stdout), json.loads(done.stdout)
    assert done.returncode == 0 and {**before, "updated_at": 0} == {**after, "updated_at": 0}, done
    done = box.run("define", "-", stdin=json.dumps([tool("three", "http://127.0.0.1:9/"), {"name": "four", "gateway": "http"}]))
    assert done.returncode == 1 and "four: description" in done.stderr and gateway.get("/definitions/three")[0] == 404, done
    assert box.run("undefine", "two").returncode == 1
    assert box.run("undefine", "two", "--tenant", "acme").returncode == box.run("undefine", "one").returncode == 0
    assert gateway.ok("GET", "/definitions") == {"definitions": []}


def test_7_the_prompt_reaches_the_question(box):
    with Server() as s:
        gateway = serve(box)
        define(gateway, tool("pay", s.url + "/pay"), requires_confirmation=True, confirmation_prompt="This moves money.")
        gateway.ok("POST", "/tenants/acme/agents/a/activations",
                   {"tool": "p*", "policy_overrides": {"confirmation_prompt": "Ask the treasurer.\nThen say yes."}})
        for who, said in [({}, "This moves money."), ({"tenant": "acme", "agent": "b"}, "This moves money."),
                          ({"tenant": "acme", "agent": "a"}, "Ask the treasurer.\nThen say yes.")]:
            session = gateway.session(**who)
            turn = gateway.start(session, "pay", {})
            question = gateway.question(session)
            assert question["confirmation_prompt"] == said, question
            event = [e for e in gateway.events(session) if e["type"] == "tool.confirmation_requested"][0]
            assert event["payload"]["confirmation_prompt"] == said
            gateway.answer(question, "deny")
            gateway.turn(session, turn["turn_id"])
        assert s.done == []
        client = Client(box, "--tenant", "acme", "--agent", "a")
        try:
            client.ask("initialize", {"protocolVersion": VERSIONS[0], "capabilities": {"elicitation": {}},
                                      "clientInfo": {"name": "t", "version": "1"}})
            client.start("tools/call", {"name": "pay", "arguments": {}})
            asked = client.next()
            assert asked["method"] == "elicitation/create", asked
            assert "\nAsk the treasurer.\nThen say yes.\n" in asked["params"]["message"], asked
        finally:
            client.process.kill()
            client.process.wait()
