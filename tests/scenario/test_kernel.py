"""The kernel router, typed and over HTTP: envelopes in, one emission each, always the same."""
import json
import os
import threading

from lib import until

ID = "9f1f3f0c-9e6d-4d5b-9a1d-9d9f2c1a8a77"
CLOCK = "2026-01-01T00:00:00Z"
CLOSED = {"type": "object", "additionalProperties": False}


def call(id, payload=None, **meta):
    body = {"id": id, "payload": payload or {}}
    return {"tool.call": dict(body, meta=meta) if meta else body}


def state(box, **locus):
    return box.write("state.json", json.dumps({"meta_locus": {"accepted": True, **locus}, "clock": CLOCK}))


def kernel(box, *envelopes, args=(), code=0):
    text = "\n".join(e if isinstance(e, str) else json.dumps(e) for e in envelopes) + "\n"
    done = box.run("kernel", *args, stdin=text)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def tool_id(box, name):
    tools = json.loads(box.run("tools", "--json").stdout)["tools"]
    return next(t["id"] for t in tools if t["name"] == name)


def files_index(box, **more):
    """An index with two tools of the catalog in a namespace of its own."""
    text = {"type": "string", "maxLength": 200}
    box.write("pack/in.json", json.dumps(dict(CLOSED, properties={"path": text, "content": text})))
    box.write("pack/out.json", json.dumps(dict(CLOSED, properties={"text": text}, required=["text"])))
    entries = [{"id": "files." + verb, "tool": tool_id(box, verb + "_file"), "payload_schema_ref": "in.json",
                "result_schema_ref": "out.json", **more} for verb in ("read", "write")]
    return box.write("pack/index.yaml", json.dumps({"namespaces": ["files"], "tool.index": entries}))


def test_8_json_lines_and_yaml_documents_in_one_stream(box):
    out, done = kernel(
        box,
        call("policy.query", {"target": "archive.summary", "value": "Short and sweet."}),
        "# the document's examples\ntool.call:\n  id: \"recap.spec\"\n  payload:\n"
        "    include: [\"last_moves\",\"flags\"]\n    max_items: 5\n  meta:\n    request_id: \"%s\"\n    trace: false" % ID,
        "---\ntool.call:\n  id: \"cards.draw\"      # not in allow-list\n  payload: { n: 3 }",
        call("closure.spiral"),
        "hello",
        args=("--state", state(box)), code=1)
    assert out[0] == {"tool.emit": {"id": "policy.query", "ok": True,
                                    "result": {"decision": "allow", "violations": []}}}
    assert out[1]["tool.emit"]["result"]["ts"] == CLOCK
    assert out[2]["tool.error"] == {"id": "cards.draw", "ok": False, "code": "E_NAMESPACE",
                                    "reason": "namespace 'cards' not allowed"}
    assert out[3]["tool.emit"]["id"] == "closure.spiral"
    assert out[4]["tool.error"]["code"] == "E_PAYLOAD" and out[4]["tool.error"]["id"] == ""
    assert len(out) == 5 and not done.stderr


def test_8_the_same_bytes_from_another_process(box):
    envelopes = [
        call("policy.enforce", {"target": "export.request"}, request_id=ID, trace=True),
        call("policy.enforce", {"target": "export.request"}, request_id=ID.upper()),
        call("policy.enforce", {"target": "recap.export"}, request_id=ID),
        call("lens.edge", {"statement": "Always or never."}),
        call("policy.report"),
        call("recap.spec", {"include": ["summary", "last_moves", "ledger_refs"]}),
    ]
    path = state(box)
    runs = [kernel(box, *envelopes, args=("--state", path), code=1)[1].stdout for _ in range(2)]
    assert runs[0] == runs[1]
    lines = runs[0].splitlines()
    assert lines[0] == lines[1]
    assert json.loads(lines[2])["tool.error"]["reason"] == "request_id_reuse_mismatch"
    assert json.loads(lines[4])["tool.emit"]["result"]["totals"] == {"allow": 0, "revise": 0, "block": 1}


def test_8_what_a_session_may_call_stays_when_the_configuration_goes(box):
    rules = "kernel: {namespaces: [policy, recap]}\n"
    box.config(rules)
    gateway = box.serve()
    session = gateway.session()
    spec = call("recap.spec", {"include": ["flags"]})
    gateway.ok("POST", "/kernel/" + session, spec)
    for i in range(3):
        box.config(rules + "# %d\n" % i)
        loads = gateway.ok("GET", "/status")["config"]["loads"]
        gateway.ok("POST", "/reload")
        until(lambda: gateway.ok("GET", "/status")["config"]["loads"] > loads, "the configuration was read again")
        for n in range(3):  # the memory of the old one is taken again
            gateway.call(session, "list_dir", {"path": "%d%d" % (i, n) * 1000})
        assert gateway.ok("GET", "/kernel/" + session)["namespaces"] == ["policy", "recap"]
    assert "E_NAMESPACE" not in json.dumps(gateway.ok("POST", "/kernel/" + session, spec))
    assert "E_NAMESPACE" in json.dumps(gateway.ok("POST", "/kernel/" + session, call("closure.spiral")))


def test_8_exit_codes(box):
    kernel(box, call("closure.spiral"), code=0)
    kernel(box, "", code=0)
    out, _ = kernel(box, call("policy.query", {"target": "ledger.append"}), code=1)
    assert out[0]["tool.error"]["code"] == "E_PRECONDITION"  # nobody accepted anything
    _, done = kernel(box, args=("--index", "nonsense"), code=2)
    assert "there is no pack 'nonsense'" in done.stderr
    _, done = kernel(box, args=("--state", box.write("s.json", '{"meta_locus": {"accepted": "yes"}}')), code=2)
    assert "accepted" in done.stderr, done.stderr
    _, done = kernel(box, args=("--state", box.write("s.json", "{")), code=2)
    out, _ = kernel(box, json.dumps(call("closure.spiral")) + " " * 9000, code=1)
    assert "caps: " in out[0]["tool.error"]["reason"]


def test_8_an_index_that_leaves_something_open_is_refused(box):
    index = files_index(box)
    kernel(box, args=("--index", index), code=0)
    box.write("pack/out.json", json.dumps({"type": "object", "properties": {}}))
    _, done = kernel(box, args=("--index", index), code=2)
    assert "out.json: an object must have additionalProperties: false" in done.stderr, done.stderr
    index = files_index(box, payload_schema_sha256="0" * 64)
    _, done = kernel(box, args=("--index", index), code=2)
    assert "is not what was pinned" in done.stderr, done.stderr
    index = files_index(box, preconditions=["meta_locus.accepted != false"])
    _, done = kernel(box, args=("--index", index), code=2)
    assert "is no precondition" in done.stderr, done.stderr


def test_8_pins_are_what_json_digest_prints(box):
    index = files_index(box)
    digest = box.run("json", "digest", os.path.join(os.path.dirname(index), "in.json")).stdout.strip()
    index = files_index(box, payload_schema_sha256=digest)
    kernel(box, args=("--index", index), code=0)


def test_8_tools_of_the_catalog_go_through_the_pipeline(box):
    box.write("notes.txt", "hello\n")
    index = files_index(box)
    out, done = kernel(
        box, call("files.read", {"path": "notes.txt"}), call("files.read", {"path": "../x"}),
        call("files.write", {"path": "new.txt", "content": "x"}), call("files.read", {"path": "a", "more": 1}),
        args=("--index", index, "--workspace", box.workspace), code=1)
    assert out[0]["tool.emit"]["result"] == {"text": "hello\n"}
    assert out[1]["tool.error"]["code"] == "E_DISABLED"  # outside the workspace
    assert out[2]["tool.error"]["code"] == "E_PRECONDITION"  # nobody could be asked
    assert out[3]["tool.error"]["code"] == "E_PAYLOAD"
    assert not box.exists("new.txt")
    # Those that reached the pipeline are in the journal; what the kernel refused is not.
    rows = [line for line in box.run("log").stdout.splitlines() if "_file" in line]
    assert len(rows) == 3, rows


def test_8_over_http(box):
    g = box.serve()
    s = g.session()
    g.refused(404, "not_found", "GET", "/kernel/" + s)
    shown = g.ok("PUT", "/kernel/" + s, {"state": {"meta_locus": {"accepted": True, "review_queue": ["F1"]}}})
    assert len(shown["tool.index"]) == 9 and len(shown["index_sha256"]) == 64
    g.refused(409, "already_exists", "PUT", "/kernel/" + s, {})
    out = g.ok("POST", "/kernel/" + s, call("closure.archive"))
    assert out["tool.error"]["code"] == "E_PRECONDITION"
    out = g.ok("POST", "/kernel/" + s, call("closure.waiting_with", {"wait_reason": "r", "reentry_hint": "h"}))
    assert out["tool.emit"]["result"] == {"wait_reason": "r", "reentry_hint": "h"}
    now = g.ok("GET", "/kernel/" + s)["state"]
    assert now["meta_locus"]["containment"] is True and now["ledger"][0]["type"] == "waiting_with"
    g.refused(404, "session_not_found", "POST", "/kernel/sess_none", call("closure.spiral"))

    # YAML says so; a form does not come in.
    yaml = b"tool.call:\n  id: closure.spiral\n  payload: {}\n"
    for kind, status in (("application/yaml", 200), ("text/plain", 415)):
        got, body = g.request("POST", "/kernel/" + s, yaml, headers={"Content-Type": kind})
        assert got == status, (kind, got, body)
    # What one client began, the command line goes on with.
    out, _ = kernel(box, call("policy.report"), args=("--session", s))
    assert "tool.emit" in out[0]
    g.ok("DELETE", "/sessions/" + s)
    g.refused(409, "session_already_ended", "POST", "/kernel/" + s, call("closure.spiral"))


def test_8_a_person_answers_and_later_envelopes_wait(box):
    index = files_index(box)
    bundle = json.load(open(index))
    bundle["schemas"] = {name: json.loads(box.read("pack/" + name)) for name in ("in.json", "out.json")}
    g = box.serve()
    s = g.session()
    g.ok("PUT", "/kernel/" + s, {"index": bundle})
    got = []
    writer = threading.Thread(target=lambda: got.append(
        g.ok("POST", "/kernel/" + s, call("files.write", {"path": "new.txt", "content": "x"}, request_id=ID))))
    writer.start()
    question = g.question(s)
    reader = threading.Thread(target=lambda: got.append(
        g.ok("POST", "/kernel/" + s, call("files.read", {"path": "new.txt"}))))
    reader.start()
    until(lambda: g.ok("GET", "/kernel/" + s)["waiting"] == 2, "both envelopes are taken in")
    g.answer(question, "allow")
    writer.join(30)
    reader.join(30)
    assert [list(e) for e in got] == [["tool.emit"], ["tool.emit"]], got
    assert got[1]["tool.emit"]["result"] == {"text": "x"}
    os.unlink(os.path.join(box.workspace, "new.txt"))
    again = g.ok("POST", "/kernel/" + s, call("files.write", {"path": "new.txt", "content": "x"}, request_id=ID))
    assert again == got[0] and not box.exists("new.txt")


def test_8_the_configuration_has_the_only_index(box):
    box.config("kernel:\n  index: potm\n  namespaces: [policy, recap]\n")
    g = box.serve()
    s = g.session()
    g.refused(403, "forbidden", "PUT", "/kernel/" + s, {"index": {"tool.index": [], "schemas": {}}})
    out = g.ok("POST", "/kernel/" + s, call("closure.spiral"))
    assert out["tool.error"]["code"] == "E_NAMESPACE"
    box.config("kernel:\n  index: /nowhere.yaml\n")
    done = box.run("config", "check")
    assert done.returncode == 1 and "kernel.index" in done.stdout + done.stderr
