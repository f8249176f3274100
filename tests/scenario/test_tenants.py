"""Several who share a gateway: whose tools, whose results, and that nobody sees another's (issue 7)."""
import json
import os
import socket
import sys

from lib import until
from test_mcp import Client
from test_surfaces import AUTO, Peer, SERVER, names

CONFIG = """
tenants:
  acme:
    tools: [read_file, list_dir, tool_view, shell, "one__*"]
    agents:
      support: {disabled: [shell]}
      billing: {}
  globex:
    tools: [read_file, tool_view, "two__*"]
"""


def serve(box, more=""):
    box.config(AUTO + CONFIG + more)
    return box.serve()


def serve_with_servers(box):
    script = os.path.join(box.dir, "server.py")
    with open(script, "w") as out:
        out.write(SERVER)
    behind = {name: {"command": sys.executable, "args": [script, name]} for name in ("one", "two")}
    gateway = serve(box, "mcpServers: " + json.dumps(behind) + "\n")
    until(lambda: {"one__add", "two__add"} <= set(names(gateway.ok("GET", "/tools")["tools"])), "the servers are known")
    return gateway


def tools(gateway, who=None, path="/mcp/all"):
    return names(Peer(gateway, path, who).result("tools/list")["tools"])


def say(gateway, tool, enabled, who=("default", "default"), **more):
    return gateway.ok("POST", "/tenants/%s/agents/%s/activations" % who, {"tool": tool, "enabled": enabled, **more})


def reload(gateway):
    loads = gateway.ok("GET", "/status")["config"]["loads"]
    gateway.ok("POST", "/reload")
    until(lambda: gateway.ok("GET", "/status")["config"]["loads"] > loads, "the configuration was read again")
    return gateway.ok("GET", "/status")["config_error"]


# one person


def test_7_one_person_never_sees_the_word(box):
    gateway = box.serve()
    session = gateway.session()
    seen = [gateway.ok("GET", "/sessions/" + session), gateway.ok("GET", "/status"), gateway.events(session),
            Peer(gateway, "/mcp").result("tools/list"), Peer(gateway, "/mcp/all").result("resources/list"),
            Peer(gateway, "/mcp/all").result("resources/templates/list"), gateway.ok("GET", "/tools")]
    assert "tenant" not in json.dumps(seen), seen
    for command in (["tools"], ["call", "list_dir", '{"path": "."}'], ["sessions"], ["status"], ["doctor"]):
        assert "tenant" not in box.run(*command).stdout, command


# who is who


def test_7_an_unknown_name_is_refused_never_replaced(box):
    gateway = serve(box)
    for body in ({"tenant": "nobody"}, {"agent": "nobody"}, {"tenant": "acme", "agent": "nobody"}, {"agent": "support"},
                 {"agent": "globex/support"}, {"tenant": "acme", "agent": "globex/default"}):
        status, answer = gateway.post("/sessions", {"workspace": box.workspace, **body})
        assert status == 404 and answer["error"]["code"] in ("tenant_not_found", "agent_not_found"), (body, answer)
    for who in ("nobody", "acme/nobody", "acme/", "/support", "globex/support"):
        status, text = Peer(gateway, "/mcp/all", who).send("tools/list")
        assert status == 404 and "error" in json.loads(text), (who, text)
    status, _ = Peer(gateway, "/mcp/all", " ").send("tools/list")
    assert status == 400
    done = box.run("mcp", "--tenant", "acme", "--agent", "nobody", stdin="")
    assert done.returncode != 0 and "there is no agent 'nobody' of 'acme'" in done.stderr, done


def test_7_a_query_that_cannot_be_read_means_nobody_else(box):
    gateway = serve(box)
    whole = {"tool_name": "list_dir", "args": {"path": "."}}
    for query in ("tenant=acme%", "tenant=%zz", "tenant=acme%00", "tenant=acme&tenant=default", "ten%61nt=acme"):
        for method, path, body in [("GET", "/toolbox/default/available", None), ("POST", "/toolbox/default/execute", whole),
                                   ("GET", "/tools", None), ("GET", "/artifacts/none/about", None)]:
            status, answer = gateway.request(method, path + "?" + query, body)
            assert status == 400, (path, query, status, answer)
    for path in ("/toolbox/default/available?tenant=", "/tools?tenant=", "/definitions?tenant_id=", "/tools?agent=" + "a" * 3000,
                 "/toolbox/default/available?tenant=" + "a" * 3000):
        status, answer = gateway.get(path)
        assert status == 404 and answer["error"]["code"] in ("tenant_not_found", "agent_not_found"), (path, answer)
    gateway.refused(400, "invalid_content", "GET", "/definitions?tenant_id=acme%")
    for query in ("tenant=acme&agent=support%", "tenant=acme%"):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock"))
            s.sendall(("GET /mcp/stdio?workspace=%s&%s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: mcp-stdio\r\n\r\n"
                       % (box.workspace, query)).encode())
            assert s.recv(12) == b"HTTP/1.1 400", query


def test_7_header_and_body_must_mean_the_same(box):
    gateway = serve(box)
    body = {"workspace": box.workspace, "tenant": "acme", "agent": "support"}
    status, session = gateway.post("/sessions", body, headers={"X-Holdfast-Agent": "acme/support"})
    assert status == 201 and (session["tenant"], session["agent"]) == ("acme", "support")
    gateway.refused(400, "invalid_content", "POST", "/sessions", body, headers={"X-Holdfast-Agent": "acme/billing"})
    status, session = gateway.post("/sessions", {"workspace": box.workspace}, headers={"X-Holdfast-Agent": "acme/billing"})
    assert status == 201 and session["agent"] == "billing"
    assert [e["payload"]["tenant"] for e in gateway.events(session["session_id"]) if e["type"] == "session.created"] == ["acme"]


def test_7_a_tool_call_cannot_choose_who_it_is(box):
    gateway = serve(box, "confinement: {shell: open}\n")
    session = gateway.session(tenant="acme", agent="billing")
    socket = os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock")
    command = ("XDG_RUNTIME_DIR=%s HOLDFAST_SOCKET=%s %s call list_dir '{\"path\":\".\"}' 2>&1" %
               (box.env["XDG_RUNTIME_DIR"], socket, box.program))
    done = gateway.call(session, "shell", {"command": command})
    assert "a tool call cannot say whose tools it wants" in done.text, done.text


ASK_OVER_SOCKET = """\
import http.client, json, socket, sys
def ask(method, path, body=None):
    http_ = http.client.HTTPConnection("localhost")
    http_.sock = socket.socket(socket.AF_UNIX)
    http_.sock.connect(sys.argv[1])
    http_.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
    answer = http_.getresponse()
    print(answer.status, method, path, answer.read()[:200])
session = sys.argv[2]
calls = {"calls": [{"name": "write_file", "arguments": {"path": "stolen", "content": "x"}}]}
for method, path, body in (("GET", "/sessions", None), ("POST", "/sessions/%s/turns" % session, calls),
                           ("POST", "/kernel/%s" % session, {}), ("GET", "/effects", None), ("GET", "/calls?all=1", None),
                           ("DELETE", "/sessions/%s" % session, None), ("POST", "/toolbox/default/execute", {}),
                           ("POST", "/mcp/all", {}), ("GET", "/metrics", None)):
    ask(method, path, body)
"""


def test_7_a_tool_call_cannot_use_what_is_somebody_elses(box):
    gateway = serve(box, "confinement: {shell: open}\n")
    mine, other = gateway.session(tenant="acme", agent="billing"), gateway.session()
    box.write("ask.py", ASK_OVER_SOCKET)
    socket = os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock")
    done = gateway.call(mine, "shell", {"command": "python3 ask.py %s %s" % (socket, other)})
    lines = [line for line in done.text.splitlines() if " /" in line and not line.startswith("$")]
    assert len(lines) == 9 and all(line.startswith("403 ") for line in lines), done.text
    assert not box.exists("stolen")
    assert gateway.ok("GET", "/sessions/%s" % other)["session_id"] == other


# three tiers


def test_7_lists_show_what_is_enabled(box):
    gateway = serve(box)
    assert tools(gateway, "acme/support") == ["list_dir", "read_file", "tool_view"]
    assert tools(gateway, "acme/billing") == ["list_dir", "read_file", "shell", "tool_view"]
    assert tools(gateway, "globex/default") == ["read_file", "tool_view"]
    assert len(tools(gateway)) > 4
    assert tools(gateway, "acme/support", "/mcp/proxy") == ["tool_execute", "tool_hydrate", "list_dir", "read_file", "tool_view"]
    assert tools(gateway, "acme/support", "/mcp/s/builtin") == ["list_dir", "read_file", "tool_view"]
    session = gateway.session(tenant="acme", agent="support")
    assert names(gateway.ok("GET", "/sessions/%s/tools" % session)["tools"]) == ["list_dir", "read_file", "tool_view"]
    raw = Peer(gateway, "/mcp/all", "acme/support")
    assert raw.send("tools/list") == raw.send("tools/list")
    rows = box.run("tools", "--tenant", "acme", "--agent", "support", "--unavailable", "--json")
    assert names(json.loads(rows.stdout)["tools"]) == ["shell"], rows


def test_a_slip_in_the_name_of_a_tool_is_noticed(box):
    box.serve()
    assert box.run("tools", "--unavailable").stdout == "every tool is enabled\n"
    for name, told in (("shel", "no tool is called shel now; did you mean shell?"), ("fils__*", "no tool is called fils__* now"),
                       ("shell", ""), ("*_file", "")):
        done = box.run("disable", name)
        assert done.returncode == 0 and name + " is disabled" in done.stdout, done
        assert told in done.stderr and bool(told) == bool(done.stderr), (name, done)


def test_7_disabled_is_known_and_not_there_is_not(box):
    gateway = serve(box)
    session = gateway.session(tenant="acme", agent="support")
    done = gateway.call(session, "shell", {"command": "true"})
    assert done.error_class == "permission_denied", done.outcome
    assert done.text == ("shell is known, but not enabled for this agent; a person can enable it: "
                         "holdfast enable shell --tenant acme --agent support")
    done = gateway.call(session, "write_file", {"path": "a", "content": "b"})
    assert done.error_class == "not_found" and "there is no tool 'write_file'" in done.text and not box.exists("a")
    execute = Peer(gateway, "/mcp", "acme/support").call("tool_execute", {"tool_id": "shell", "args": {"command": "true"}})
    assert execute["structuredContent"]["error"] == "PERMISSION_DENIED", execute
    assert "not enabled" in Peer(gateway, "/mcp/proxy", "acme/support").call("shell")["structuredContent"]["message"]
    hydrate = Peer(gateway, "/mcp/proxy", "acme/support").call("tool_hydrate", {"tool_id": "shell"})
    assert hydrate["structuredContent"]["error"] == "PERMISSION_DENIED", hydrate
    assert gateway.get("/tools/write_file?session=" + session)[0] == 404


def test_7_a_browse_says_what_could_be_enabled(box):
    gateway = serve(box)
    found = Peer(gateway, "/mcp", "acme/support").call("tool_browse", {"query": "run a shell command"})
    assert [t["name"] for t in found["structuredContent"]["not_enabled"]] == ["shell"], found
    assert found["structuredContent"]["not_enabled"][0]["why_unavailable"] == "disabled_for_agent"
    assert "not enabled for this agent" in found["content"][0]["text"] and "shell" in found["content"][0]["text"]
    assert all("shell" != c["name"] for c in found["structuredContent"]["cards"])
    other = Peer(gateway, "/mcp", "globex/default").call("tool_browse", {"query": "run a shell command"})
    assert "not_enabled" not in other["structuredContent"] and "shell" not in json.dumps(other), other
    fine = Peer(gateway, "/mcp", "acme/billing").call("tool_browse", {"query": "run a shell command"})
    assert "not_enabled" not in fine["structuredContent"] and fine["structuredContent"]["cards"][0]["name"] == "shell"


def test_7_clients_hear_of_a_change_that_concerns_them(box):
    gateway = serve(box)
    mine, other = (Client(box, "--surface", "all", "--tenant", "acme", "--agent", a) for a in ("support", "billing"))
    try:
        for client in (mine, other):
            client.initialize()
        say(gateway, "nothing_there", False, ("acme", "support"))
        say(gateway, "list_dir", False, ("acme", "support"))
        note = until(lambda: client_note(mine), "the change is told")
        assert note["method"] == "notifications/tools/list_changed"
        assert names(mine.ask("tools/list", {})["result"]["tools"]) == ["read_file", "tool_view"]
        assert "list_dir" in names(other.ask("tools/list", {})["result"]["tools"])
        assert not [m for m in other.kept if m.get("method") == "notifications/tools/list_changed"]
    finally:
        for client in (mine, other):
            client.process.kill()
            client.process.wait()


def client_note(client):
    client.ask("ping", {})
    found = [m for m in client.kept if m.get("method") == "notifications/tools/list_changed"]
    return found[0] if found else None


def test_7_reloads_leave_a_tenant_the_tools_it_was_made_with(box):
    gateway = serve(box)
    assert box.run("tenants", "add", "small", "--tools", "read_file").returncode == 0
    for i in range(3):
        box.config(AUTO + "tenants: {small: {agents: {bot: null}}}\n# %d\n" % i)
        assert reload(gateway) is None
        assert gateway.ok("GET", "/tenants/small")["tools"] == ["read_file"], i
        assert tools(gateway, "small/bot") == ["read_file"], i


def test_7_a_tenant_that_is_there_twice_changes_nothing(box):
    gateway = serve(box)
    session = gateway.session(tenant="acme", agent="support")
    twice = gateway.ok("GET", "/tenants/acme")["id"]
    box.config(AUTO + "tenants: {acme: {disabled: [read_file]}, %s: {}}\n" % twice)
    assert "is there twice: by its name and by its UUID" in reload(gateway)
    assert gateway.call(session, "list_dir", {"path": "."}).is_error is False
    assert gateway.call(session, "shell", {"command": "true"}).is_error
    assert "support" in json.dumps(gateway.ok("GET", "/tenants/acme"))


# activations


def test_7_activations_are_kept_and_shown_whole(box):
    gateway = serve(box)
    made = say(gateway, "read_*", False, policy_overrides={"requires_confirmation": True})
    assert set(made) == {"id", "tenant_id", "agent_id", "tool_id", "tool_name", "enabled", "policy_overrides", "created_at",
                         "updated_at"}, made
    gateway.kill()  # answered is kept
    gateway = box.serve()
    again = gateway.ok("GET", "/tenants/default/agents/default/activations")["activations"]
    assert again == [made], (again, made)
    assert "read_file" not in tools(gateway)
    gateway.ok("DELETE", "/tenants/default/agents/default/activations/read_*")
    assert "read_file" in tools(gateway)
    gateway.refused(404, "tool_not_found", "DELETE", "/tenants/default/agents/default/activations/read_*")
    gateway.refused(403, "forbidden", "POST", "/tenants/acme/agents/support/activations", {"tool": "shell"})


def test_7_overrides_raise_and_lower_the_bar_but_never_a_denial(box):
    box.config("tool_confirmation: {default: {EXECUTE: prompt}, per_tool: {list_dir: deny}}\n")
    gateway = box.serve()
    session = gateway.session()
    say(gateway, "read_file", True, policy_overrides={"requires_confirmation": True})
    box.write("a.txt", "x")
    turn = gateway.start(session, "read_file", {"path": "a.txt"})
    question = gateway.question(session)
    assert question["rule"] == "activation.requires_confirmation", question
    gateway.answer(question, "deny")
    assert gateway.turn(session, turn["turn_id"])["calls"][0]["error_class"] == "user_denied"
    say(gateway, "shell", True, policy_overrides={"requires_confirmation": False})
    assert not gateway.call(session, "shell", {"command": "true"}).is_error
    say(gateway, "list_dir", True, policy_overrides={"requires_confirmation": False})
    assert gateway.call(session, "list_dir", {"path": "."}).error_class == "user_denied"


def test_7_what_one_agent_was_allowed_no_other_is(box):
    box.config("tool_confirmation: {default: {EXECUTE: prompt}}\ntenants: {acme: {agents: {a: {}, b: {}}}}\n")
    gateway = box.serve()
    one, two = gateway.session(tenant="acme", agent="a"), gateway.session(tenant="acme", agent="b")
    turn = gateway.start(one, "shell", {"command": "true"})
    status, _ = gateway.answer(gateway.question(one), "allow", scope="workspace")
    assert status == 200 and not gateway.turn(one, turn["turn_id"])["content"][0]["is_error"]
    assert not gateway.call(one, "shell", {"command": "true"}).is_error
    turn = gateway.start(two, "shell", {"command": "true"})
    gateway.answer(gateway.question(two), "deny")
    assert gateway.turn(two, turn["turn_id"])["calls"][0]["error_class"] == "user_denied"


# tenants and agents by command


def test_7_tenants_and_agents_come_and_go(box):
    gateway = serve(box)
    for words in (["tenants", "add", "initech", "--tools", "read_file"], ["agents", "add", "peter", "--tenant", "initech"],
                  ["disable", "read_file", "--tenant", "initech", "--agent", "peter"]):
        done = box.run(*words)
        assert (done.returncode, done.stderr) == (0, ""), done
    assert "initech" in box.run("tenants").stdout and "peter" in box.run("agents", "--tenant", "initech").stdout
    session = gateway.session(tenant="initech", agent="peter")
    assert gateway.call(session, "read_file", {"path": "x"}).error_class == "permission_denied"
    assert box.run("enable", "read_file", "--tenant", "initech", "--agent", "peter").returncode == 0
    assert "no such file" in gateway.call(session, "read_file", {"path": "x"}).text
    assert box.run("agents", "remove", "peter", "--tenant", "initech").returncode == 0
    gateway.refused(409, "session_already_ended", "POST", "/sessions/%s/turns" % session, {"name": "read_file", "input": {"path": "x"}})
    assert box.run("tenants", "remove", "initech").returncode == 0
    for words in (["tenants", "remove", "acme"], ["tenants", "remove", "default"], ["tenants", "add", "../x"],
                  ["agents", "add", "x", "--tenant", "nobody"], ["enable", "shell", "--tenant", "acme", "--agent", "support"]):
        done = box.run(*words)
        assert done.returncode == 1 and done.stderr, done


def test_7_the_configuration_is_read_again(box):
    gateway = serve(box)
    gone = gateway.session(tenant="acme", agent="support")
    box.config(AUTO + "tenants: {acme: {tools: [read_file], agents: {new: null}}}\n")
    gateway.ok("POST", "/reload")
    until(lambda: gateway.get("/tenants/globex")[0] == 404, "the file counts")
    assert tools(gateway, "acme/new") == ["read_file"]
    assert gateway.get("/sessions/" + gone)[1]["ended_at"], "its session has ended"
    status, _ = Peer(gateway, "/mcp/all", "acme/support").send("tools/list")
    assert status == 404


def test_7_a_wrong_section_is_named(box):
    for text, said in [("tenants: {a/b: {}}", "tenants"), ("tenants: {a: {tool: []}}", "tenants.a.tool"),
                       ("tenants: {a: {disabled: [1]}}", "tenants.a.disabled[0]"), ("toolbox: {max_batch_size: 0}", "toolbox.max_batch_size")]:
        box.config(text + "\n")
        done = box.run("config", "check")
        assert done.returncode == 1 and said in done.stdout + done.stderr, done


# resources


def read(peer, uri):
    return json.loads(peer.result("resources/read", {"uri": uri})["contents"][0]["text"])


def test_7_resources_of_the_three_tiers(box):
    gateway = serve(box)
    tenant = gateway.ok("GET", "/tenants/acme")
    agent = [a for a in tenant["agents"] if a["name"] == "support"][0]["id"]
    mine = Peer(gateway, "/mcp", "acme/support")
    available = read(mine, "focal://tools/tenant/%s/available" % tenant["id"])
    enabled = read(mine, "focal://tools/agent/%s/enabled" % agent)
    unavailable = read(mine, "focal://tools/agent/%s/unavailable" % agent)
    assert list(available) == list(enabled) == list(unavailable) == ["tools"]
    assert [list(t) for t in available["tools"]][0] == ["name", "description", "categories", "gateway", "requires_confirmation",
                                                        "side_effect_policy", "parameter_schema"]
    assert names(available["tools"]) == ["list_dir", "read_file", "shell", "tool_view"]
    assert [list(t) for t in enabled["tools"]] == [["name", "description", "categories", "parameter_schema"]] * 3
    assert [list(t) for t in unavailable["tools"]] == [["name", "description", "categories", "why_unavailable"]]
    assert unavailable["tools"][0]["name"] == "shell" and unavailable["tools"][0]["why_unavailable"] == "disabled_for_agent"
    assert read(mine, "focal://tools/agent/support/enabled") == enabled
    assert gateway.ok("GET", "/tenants/acme/available") == available
    assert len(mine.result("resources/list")["resources"]) == 3
    assert names(mine.result("resources/templates/list")["resourceTemplates"], "uriTemplate") == [
        "focal://tools/agent/{agent_id}/enabled", "focal://tools/agent/{agent_id}/unavailable",
        "focal://tools/tenant/{tenant_id}/available"]
    for other in ("globex/default", "acme/billing", None):
        peer = Peer(gateway, "/mcp", other)
        assert peer.error("resources/read", {"uri": "focal://tools/agent/%s/enabled" % agent})["code"] == -32602
        if other != "acme/billing":
            assert peer.error("resources/read", {"uri": "focal://tools/tenant/%s/available" % tenant["id"]})["code"] == -32602
    for wrong in ("focal://tools/agent/%s/all" % agent, "focal://tools/agent/%s/enabled/x" % agent, "focal://tools/x", "focal://tools/"):
        assert mine.error("resources/read", {"uri": wrong})["code"] == -32602, wrong


# isolation


def test_7_nobody_sees_what_is_anothers(box):
    gateway = serve_with_servers(box)
    acme, globex = Peer(gateway, "/mcp/all", "acme/billing"), Peer(gateway, "/mcp/all", "globex/default")
    # tools: list, call, browse, hydrate
    assert any(n.startswith("one__") for n in tools(gateway, "acme/billing"))
    assert not any(n.startswith("one__") for n in tools(gateway, "globex/default"))
    assert globex.error("tools/call", {"name": "one__add", "arguments": {"a": 1, "b": 2}})["code"] == -32602
    assert acme.call("one__add", {"a": 1, "b": 2})["content"][0]["text"] == "3"
    hub = Peer(gateway, "/mcp", "globex/default")
    assert "one" not in json.dumps(hub.call("tool_browse", {"path": "/"})["structuredContent"]["cards"])
    assert hub.call("tool_browse", {"path": "/one"})["structuredContent"]["error"] == "PATH_NOT_FOUND"
    assert hub.call("tool_execute", {"tool_id": "one__add", "args": {}})["structuredContent"]["error"] == "HYDRATE_FAILED"
    assert Peer(gateway, "/mcp/proxy", "globex/default").call("tool_hydrate", {"tool_id": "one__add"})["isError"]
    # resources and prompts of servers
    assert "mem://one/one" in names(acme.result("resources/list")["resources"], "uri")
    theirs = names(globex.result("resources/list")["resources"], "uri")
    assert "mem://two/one" in theirs and "mem://one/one" not in theirs, theirs
    assert globex.error("resources/read", {"uri": "mem://one/one"})["code"] == -32602
    assert globex.error("resources/read", {"uri": "mem://one/t/5"})["code"] == -32602
    assert names(globex.result("prompts/list")["prompts"]) == ["two__greet"]
    assert "error" in globex.ask("prompts/get", {"name": "one__greet", "arguments": {"who": "x"}})
    # what was kept of results
    box.write("long.txt", "secret of acme\n" * 20000)
    session = gateway.session(tenant="acme", agent="billing")
    kept = gateway.call(session, "read_file", {"path": "long.txt"})
    handle = kept.outcome["artifacts"][0]["handle"]
    assert "secret of acme" in gateway.call(session, "tool_view", {"handle": handle, "selector": {"type": "head"}}).text
    other = gateway.session(tenant="globex")
    denied = gateway.call(other, "tool_view", {"handle": handle, "selector": {"type": "head"}})
    assert denied.is_error and "secret of acme" not in denied.text, denied.text
    assert gateway.get("/artifacts/" + handle)[0] == 404
    assert gateway.get("/artifacts/%s?tenant=acme" % handle)[0] == 200
    # a session of another's
    status, answer = gateway.post("/toolbox/globex:default/execute", {"tool_name": "read_file", "args": {"path": "long.txt"}, "session": session})
    assert status == 404 and answer["error"]["code"] == "session_not_found", answer


def test_7_one_key_of_two_tenants_is_two_effects(box):
    gateway = serve(box, "confinement: {shell: open}\n")
    gateway.ok("POST", "/tenants", {"name": "initech"})
    plan = {"tool_name": "shell", "args": {"command": "echo >>ran; wc -l <ran"}, "idempotency_key": "order-1", "workspace": box.workspace}
    results = [gateway.ok("POST", "/toolbox/%s/execute" % who, plan) for who in ("acme:billing", "initech:default", "acme:billing")]
    assert [(r["status"], r["cached"]) for r in results] == [("success", False), ("success", False), ("success", True)], results
    assert results[2]["data"] == results[0]["data"] != results[1]["data"] and box.read("ran") == "\n\n"
    effects = gateway.ok("GET", "/effects")["effects"]
    assert sorted(e["tenant"] for e in effects) == ["acme", "initech"], effects
    assert names(gateway.ok("GET", "/effects?tenant=initech")["effects"], "id") == [e["id"] for e in effects if e["tenant"] == "initech"]


def test_7_no_agent_reads_the_ledger(box):
    gateway = serve(box, "confinement: {shell: open}\n")
    session = gateway.session(tenant="acme", agent="billing")
    gateway.call(session, "shell", {"command": "echo secret of acme"}, idempotency_key="k")
    effect = gateway.ok("GET", "/effects")["effects"][0]["id"]
    other = gateway.session(tenant="default")
    reach = "XDG_RUNTIME_DIR=%s HOLDFAST_SOCKET=%s %s " % (
        box.env["XDG_RUNTIME_DIR"], os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock"), box.program)
    for words in ("effects --json", "effects show " + effect, "effects export", "effects verify"):
        for who in (session, other):
            done = gateway.call(who, "shell", {"command": reach + words + " 2>&1"})
            assert "secret of acme" not in done.text and "a tool call cannot" in done.text, (words, done.text)
    # over MCP there is no way to it at all
    for who in (None, "globex/default", "acme/billing"):
        peer = Peer(gateway, "/mcp/all", who)
        assert "secret of acme" not in json.dumps([peer.result("resources/list"), peer.result("tools/list"), peer.result("prompts/list")])
        assert peer.error("resources/read", {"uri": "focal://effects/" + effect})["code"] == -32602
