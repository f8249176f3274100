"""The toolbox of an agent: every method of seed 004 section 4.1 (issue 7)."""
import json

from test_surfaces import AUTO

CONFIG = AUTO + """
tenants:
  acme:
    tools: [read_file, write_file, list_dir, shell]
    agents: {support: {disabled: [shell]}}
"""


def serve(box, more=""):
    box.config(CONFIG + more)
    return box.serve()


def execute(gateway, plan, agent="acme:support", **more):
    return gateway.ok("POST", "/toolbox/%s/execute" % agent, {"workspace": gateway.box.workspace, **plan, **more})


def batch(gateway, plans, agent="acme:support", **more):
    return gateway.ok("POST", "/toolbox/%s/batch" % agent, {"workspace": gateway.box.workspace, "tools": plans, **more})["results"]


def read(path, **more):
    return {"tool_name": "read_file", "args": {"path": path}, **more}


def write(path, **more):
    return {"tool_name": "write_file", "args": {"path": path, "content": path}, **more}


def test_7_execute_tool_success(box):
    box.write("a.txt", "hello")
    result = execute(serve(box), read("a.txt", bound_rule_id="r1", bound_step_id="s1"))
    assert result["status"] == "success" and result["data"] == {"result": "hello"} and result["error"] is None, result
    assert result["cached"] is False and result["execution_time_ms"] >= 0
    assert (result["tool_name"], result["bound_rule_id"], result["bound_step_id"]) == ("read_file", "r1", "s1")


def test_7_what_is_none_by_default_may_be_null(box):
    box.write("a.txt", "hello")
    gateway = serve(box)
    nothing = dict.fromkeys(("idempotency_key", "bound_rule_id", "bound_step_id"))
    result = execute(gateway, read("a.txt", **nothing), session=None, turn_group_id=None)
    assert result["status"] == "success" and "bound_rule_id" not in result, result
    assert [r["status"] for r in batch(gateway, [read("a.txt", **nothing)] * 2, session=None, turn_group_id=None)] == ["success"] * 2
    for name in nothing:
        status, answer = gateway.post("/toolbox/acme:support/execute", {"workspace": box.workspace, **read("a.txt"), name: 1})
        assert status == 400 and name + ": must be a string or null" in answer["error"]["message"], answer
    status, answer = gateway.post("/toolbox/acme:support/execute", {"workspace": box.workspace, **read("a.txt"), "tool_name": None})
    assert status == 400 and "tool_name" in answer["error"]["message"], answer


def test_7_what_is_an_object_comes_as_one(box):
    box.write("a.json", '{"result": "success"}')
    gateway = serve(box)
    assert execute(gateway, read("a.json"))["data"] == {"result": "success"}
    box.write("b.json", "{}")
    assert execute(gateway, read("b.json"))["data"] == {}


def test_7_execute_tool_not_found(box):
    gateway = serve(box)
    for name in ("unknown_tool", "shell", "patch_file"):
        result = execute(gateway, {"tool_name": name, "args": {}})
        assert result["status"] == "error" and result["data"] is None, result
        assert result["error"] == "Tool '%s' not found or not enabled" % name
    missing = execute(gateway, read("nope"))
    assert missing["status"] == "error" and "no such file" in missing["error"], missing


def test_7_idempotency_cache_hit(box):
    gateway = serve(box)
    box.write("a.json", '{"result": "first"}')
    for plan, group in ((read("a.json"), "g1"), (write("once"), "g2"), ({"tool_name": "shell", "args": {"command": "echo >>ran; wc -l <ran"}}, "g3")):
        first = execute(gateway, plan, agent="acme:default", turn_group_id=group)
        assert (first["status"], first["cached"]) == ("success", False), first
        second = execute(gateway, plan, agent="acme:default", turn_group_id=group)
        assert (second["status"], second["cached"]) == ("success", True) and second["data"] == first["data"], second
        other = execute(gateway, plan, agent="acme:default", turn_group_id=group + "x")
        assert other["cached"] is False, "another group is another doing"
    assert box.read("ran") == "\n\n"


def test_7_batch_stops_at_a_failed_critical_one(box):
    gateway = serve(box)
    results = batch(gateway, [write("1"), read("nope"), write("2")])
    assert [r["status"] for r in results] == ["success", "error", "skipped"], results
    assert box.exists("1") and not box.exists("2")
    assert results[2]["execution_time_ms"] is None and results[2]["error"]
    results = batch(gateway, [read("nope", critical=False), write("3")])
    assert [r["status"] for r in results] == ["error", "success"] and box.exists("3")


def test_7_batch_is_in_order_of_when_and_stable(box):
    gateway = serve(box)
    session = gateway.session(tenant="acme", agent="support")
    plans = [write("d1"), write("a1", when="AFTER_STEP"), write("b1", when="BEFORE_STEP"), write("d2", when="DURING_STEP"),
             write("b2", when="BEFORE_STEP")]
    results = batch(gateway, plans, session=session)
    assert [r["status"] for r in results] == ["success"] * 5
    assert [r["tool_name"] for r in results] == ["write_file"] * 5
    began = [e["payload"]["call_id"] for e in gateway.events(session) if e["type"] == "tool.called"]
    assert began == [results[i]["call_id"] for i in (2, 4, 0, 3, 1)], (began, results)
    assert gateway.ok("GET", "/sessions/" + session)["turns"] == 5, "the session is the caller's, and stays"


def test_7_batch_is_bounded(box):
    gateway = serve(box)
    said = gateway.refused(429, "limit_reached", "POST", "/toolbox/acme:support/batch",
                           {"workspace": box.workspace, "tools": [read("a")] * 11})
    assert "at most 10" in said
    assert len(batch(gateway, [read("nope%d" % i, critical=False) for i in range(10)])) == 10
    box.config(CONFIG + "toolbox: {max_batch_size: 2}\n")
    gateway.ok("POST", "/reload")

    def refused():
        return gateway.post("/toolbox/acme:support/batch", {"workspace": box.workspace, "tools": [read("a")] * 3})[0] == 429
    from lib import until
    until(refused, "the new size counts")


def test_7_what_is_wrong_with_a_plan_is_named(box):
    gateway = serve(box)
    for plan, said in [({"tool_name": "read_file", "args": []}, "args: must be an object"), ({"args": {}}, "tool_name"),
                       (read("a", when="LATER"), "when: must be"), (read("a", critical=1), "critical"), (read("a", extra=1), "extra")]:
        status, answer = gateway.post("/toolbox/acme:support/execute", {"workspace": box.workspace, **plan})
        assert status == 400 and said in answer["error"]["message"], (plan, answer)
    status, answer = gateway.post("/toolbox/acme:support/batch", {"workspace": box.workspace, "tools": [read("a"), {"tool_name": 1}]})
    assert status == 400 and "tools[1].tool_name" in answer["error"]["message"], answer
    for body in ({"tools": []}, {"tools": {}}, {}):
        assert gateway.post("/toolbox/acme:support/batch", {"workspace": box.workspace, **body})[0] == 400, body
    assert gateway.post("/toolbox/acme:nobody/execute", read("a"))[0] == 404


def test_7_metadata_has_the_overrides(box):
    gateway = serve(box)
    base = "/toolbox/acme:support/metadata/"
    meta = gateway.ok("GET", base + "write_file")
    assert meta == {"name": "write_file", "side_effect_policy": "compensatable", "requires_confirmation": False, "compensation_tool": None,
                    "categories": [], "is_irreversible": False, "is_safe_to_retry": False}, meta
    assert gateway.ok("GET", base + "read_file")["is_safe_to_retry"] is True
    gateway.ok("POST", "/tenants/acme/agents/support/activations",
               {"tool": "write_file", "policy_overrides": {"requires_confirmation": True}})
    assert gateway.ok("GET", base + "write_file")["requires_confirmation"] is True
    assert gateway.ok("GET", "/toolbox/acme:default/metadata/write_file")["requires_confirmation"] is False
    assert gateway.ok("GET", "/toolbox/acme:default/metadata/shell")["is_irreversible"] is True
    for name in ("shell", "patch_file", "nothing"):  # disabled, not the tenant's, not there
        gateway.refused(404, "tool_not_found", "GET", base + name)


def test_7_what_is_available_and_what_could_be(box):
    gateway = serve(box)
    base = "/toolbox/acme:support"
    assert gateway.ok("GET", base + "/available") == {"tools": ["list_dir", "read_file", "write_file"]}
    for name, available, tenant in (("read_file", True, True), ("shell", False, True), ("patch_file", False, False), ("x", False, False)):
        assert gateway.ok("GET", base + "/available/" + name) == {
            "tool_name": name, "available": available, "tenant_available": tenant}
    unavailable = gateway.ok("GET", base + "/unavailable")["tools"]
    assert [t["name"] for t in unavailable] == ["shell"]
    assert gateway.ok("GET", base + "/definitions/shell") == unavailable[0]
    assert unavailable[0]["side_effect_policy"] == "irreversible" and unavailable[0]["gateway"] == "internal"
    gateway.refused(404, "tool_not_found", "GET", base + "/definitions/patch_file")
    agent = [a for a in gateway.ok("GET", "/tenants/acme")["agents"] if a["name"] == "support"][0]["id"]
    assert gateway.ok("GET", "/toolbox/%s/available" % agent) == gateway.ok("GET", base + "/available")
    assert gateway.ok("GET", "/toolbox/support/available?tenant=acme") == gateway.ok("GET", base + "/available")
    assert gateway.get("/toolbox/support/available")[0] == 404, "there is no such agent of the default tenant"


def test_7_a_timeout_for_all_counts_where_nothing_else_is_said(box):
    gateway = serve(box, "toolbox: {default_timeout: 0.3}\n")
    result = execute(gateway, {"tool_name": "shell", "args": {"command": "sleep 30"}}, agent="acme:default")
    assert result["status"] == "error" and result["error_code"] == "timeout", result


def test_7_the_toolbox_from_the_command_line(box):
    serve(box)
    box.write("a.txt", "hello")
    done = box.run("toolbox", "execute", "read_file", '{"path": "a.txt"}', "--tenant", "acme", "--agent", "support")
    assert done.returncode == 0 and json.loads(done.stdout)["data"] == {"result": "hello"}, done
    done = box.run("toolbox", "batch", "-", "--tenant", "acme", stdin=json.dumps([read("a.txt"), read("nope"), read("a.txt")]))
    assert done.returncode == 1 and [r["status"] for r in json.loads(done.stdout)["results"]] == ["success", "error", "skipped"], done
    done = box.run("toolbox", "metadata", "shell")
    assert json.loads(done.stdout)["is_irreversible"] is True, done
    done = box.run("toolbox", "unavailable", "--tenant", "acme", "--agent", "support")
    assert [t["name"] for t in json.loads(done.stdout)["tools"]] == ["shell"], done


def test_7_whether_it_asks_is_what_the_policy_does(box):
    doc = box.write("shop.json", json.dumps({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "servers": [{"url": "/v1"}],
                                             "paths": {"/a": {"get": {"operationId": "get"}}}}))
    base = {"file": doc, "base_url": "http://127.0.0.1:1"}
    own = {"description": "d", "gateway": "http", "gateway_config": {"url": "http://127.0.0.1:1/x"}}
    config = {
        "openapi": {"plain": base, "asks": {**base, "confirm": "prompt"}, "never": {**base, "confirm": "auto"}, "no": {**base, "confirm": "deny"}},
        "definitions": [{**own, "name": "careful", "requires_confirmation": True}, {**own, "name": "known", "requires_confirmation": True}]}
    gateway = None
    for mode in ("auto", "prompt"):
        box.config(json.dumps({**config, "tool_confirmation": {"default": {"READ": mode, "NETWORK": mode}, "per_tool": {"known": "auto"}}}))
        if gateway:
            gateway.stop()
        gateway = box.serve()
        gateway.ok("POST", "/tenants/default/agents/default/activations",
                   {"tool": "no__get", "policy_overrides": {"requires_confirmation": False}})
        expected = {"plain__get": mode == "prompt", "asks__get": True, "never__get": False, "no__get": True, "careful": True, "known": False}
        found = {name: gateway.ok("GET", "/toolbox/default/metadata/" + name)["requires_confirmation"] for name in expected}
        assert found == expected, (mode, found)
        listed = {t["name"]: t["requires_confirmation"] for t in gateway.ok("GET", "/toolbox/default/enabled")["tools"]}
        assert {name: listed[name] for name in expected} == expected, (mode, listed)
        # And so it is: whoever is not asked about is answered at once.
        for name in ("never__get", "known"):
            assert "denied" not in gateway.call(gateway.session(), name, {}).text
        assert "openapi.no.confirm" in gateway.call(gateway.session(), "no__get", {}).text
        session = gateway.session()
        gateway.start(session, "asks__get", {})
        assert gateway.answer(gateway.question(session), "deny")[0] == 200
