"""Effects are done once: keys, twins, conflicts, the ledger, and what happens to those nobody knows the outcome of."""
import hashlib
import json
import os
import resource
import sqlite3
import threading

from lib import until

AUTO = "tool_confirmation: {default: {WRITE: auto, EXECUTE: auto}}\n"


def lines(box, name="world"):
    return box.read(name).split() if box.exists(name) else []


def shell(g, s, command, **more):
    return g.call(s, "shell", {"command": command}, **more)


def effects(g, query=""):
    return g.ok("GET", "/effects?limit=1000" + query)["effects"]


def test_7_a_key_is_done_once_and_gives_the_same_bytes(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    first = shell(g, s, "echo a >> world; echo done", idempotency_key="k")
    again = shell(g, s, "echo a >> world; echo done", idempotency_key="k")
    assert lines(box) == ["a"]
    assert json.dumps(first.block["content"]) == json.dumps(again.block["content"])
    assert "cached" not in first.outcome and again.outcome["cached"] is True
    # Another session of the same agent: the key is the agent's.
    other = shell(g, g.session(), "echo a >> world; echo done", idempotency_key="k")
    assert other.outcome["cached"] and lines(box) == ["a"]
    # Without a key each call stands for itself.
    shell(g, s, "echo a >> world; echo done")
    assert lines(box) == ["a", "a"]


def test_7_a_kept_result_outlives_the_gateway_and_never_asks_again(box):
    g = box.serve()
    s = g.session()
    turn = g.start(s, "shell", {"command": "echo a >> world"}, idempotency_key="k")
    g.answer(g.question(s), "allow")
    before = g.turn(s, turn["turn_id"])
    g.kill()
    g = box.serve()
    s = g.session()
    again = shell(g, s, "echo a >> world", idempotency_key="k")
    assert again.outcome["cached"] and lines(box) == ["a"]
    assert json.dumps(before["content"][0]["content"]) == json.dumps(again.block["content"])
    assert not g.ok("GET", "/confirmations")["confirmations"]


def test_7_the_same_key_with_other_arguments_is_refused(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    shell(g, s, "echo a >> world", idempotency_key="k")
    other = shell(g, s, "echo b >> world", idempotency_key="k")
    assert other.is_error and other.error_class == "validation_error", other.text
    assert "other arguments" in other.text
    assert lines(box) == ["a"]


def test_7_a_turn_group_makes_calls_with_the_same_arguments_one(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    for _ in range(2):
        shell(g, s, "echo a >> world", turn_group_id="g1")
        shell(g, s, "echo b >> world", turn_group_id="g1")
    shell(g, s, "echo a >> world", turn_group_id="g2")
    assert lines(box) == ["a", "b", "a"]
    keys = {e["idempotency_key"] for e in effects(g)}
    digest = hashlib.sha256(json.dumps({"command": "echo a >> world"}, sort_keys=True).encode()).hexdigest()[:16]
    assert "default:default:shell:%s:turn_group:g1" % digest in keys, keys


def test_7_twins_in_flight_are_one(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    results = []

    def one():
        results.append(shell(g, g.session(), "echo a >> world; sleep 0.3; echo done", idempotency_key="k"))
    threads = [threading.Thread(target=one) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert lines(box) == ["a"]
    assert len({json.dumps(r.block["content"]) for r in results}) == 1
    assert sum(1 for r in results if r.outcome.get("cached")) == 7
    assert shell(g, s, "echo b", idempotency_key="x").is_error is False


def test_7_the_twin_of_one_that_is_denied_or_cancelled_goes_on(box):
    g = box.serve()
    s = g.session()
    first = g.start(s, "shell", {"command": "echo a >> world"}, idempotency_key="k")
    asked = g.question(s)
    second = g.start(s, "shell", {"command": "echo a >> world"}, idempotency_key="k")
    until(lambda: g.ok("GET", "/status")["calls"]["joined"] == 1, "it joins")
    g.answer(asked, "deny")
    assert g.turn(s, first["turn_id"])["calls"][0]["error_class"] == "user_denied"
    g.answer(g.question(s), "allow")
    assert g.turn(s, second["turn_id"])["calls"][0]["is_error"] is False
    assert lines(box) == ["a"]


def test_7_pure_calls_with_a_key_are_given_again_too(box):
    g = box.serve()
    s = g.session()
    box.write("f", "one")
    g.call(s, "read_file", {"path": "f"}, turn_group_id="g")
    box.write("f", "two")
    again = g.call(s, "read_file", {"path": "f"}, turn_group_id="g")
    assert again.outcome["cached"] and again.text == "one"
    assert g.call(s, "read_file", {"path": "f"}).text == "two"


def test_7_a_tool_that_answers_with_an_error_may_be_called_again(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    missing = {"path": "f", "old": "a", "new": "b"}
    assert g.call(s, "patch_file", missing, idempotency_key="k").is_error
    box.write("f", "a")
    assert not g.call(s, "patch_file", missing, idempotency_key="k").is_error
    assert box.read("f") == "b"
    assert [e["state"] for e in effects(g)] == ["done", "failed"]


def test_7_an_error_of_a_tool_that_may_have_done_a_part_is_given_again(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    first = shell(g, s, "echo a >> world; echo half; exit 3", idempotency_key="k")
    assert first.is_error and "half" in first.text and not first.outcome.get("cached"), first.text
    again = shell(g, s, "echo a >> world; echo half; exit 3", idempotency_key="k")
    assert again.is_error and again.outcome["cached"]
    assert again.block["content"] == first.block["content"] and again.error_class == first.error_class
    assert lines(box) == ["a"]
    assert shell(g, s, "echo b >> world", idempotency_key="k").error_class == "validation_error"
    g.stop()
    g = box.serve()
    s = g.session()
    kept = shell(g, s, "echo a >> world; echo half; exit 3", idempotency_key="k")
    assert kept.is_error and kept.block["content"] == first.block["content"] and lines(box) == ["a"]
    (one,) = effects(g)
    assert one["state"] == "done" and one["error"]
    assert box.run("effects", "verify").returncode == 0
    assert shell(g, s, "echo a >> world; echo half; exit 3", idempotency_key="l").is_error
    assert lines(box) == ["a", "a"]


def test_7_an_error_of_a_pure_tool_is_not_kept(box):
    g = box.serve()
    s = g.session()
    assert g.call(s, "read_file", {"path": "f"}, idempotency_key="k").is_error
    box.write("f", "one")
    assert g.call(s, "read_file", {"path": "f"}, idempotency_key="k").text == "one"


def test_7_a_timeout_leaves_an_unknown_effect_that_is_not_repeated(box):
    box.config(AUTO + "tools: {shell: {timeout_seconds: 1}}\n")
    g = box.serve()
    s = g.session()
    slow = "echo a >> world; sleep 30"
    first = shell(g, s, slow, idempotency_key="k")
    assert first.error_class == "timeout" and "not known" in first.text, first.text
    again = shell(g, s, slow, idempotency_key="k")
    assert again.is_error and "effects resolve" in again.text, again.text
    assert lines(box) == ["a"]
    unknown = effects(g, "&unknown=1")
    assert len(unknown) == 1 and unknown[0]["state"] == "unknown"
    assert box.run("effects", "resolve", unknown[0]["id"][-8:], "--done", "--note", "seen").returncode == 0
    kept = shell(g, s, slow, idempotency_key="k")
    assert kept.outcome["cached"] and "done before" in kept.text
    assert lines(box) == ["a"]
    g.refused(409, "confirmation_already_resolved", "POST", "/effects/%s/resolve" % unknown[0]["id"], {"done": False})
    g.refused(404, "effect_not_found", "POST", "/effects/eff_none/resolve", {"done": True})
    g.refused(404, "effect_not_found", "GET", "/effects/eff_none")


def test_7_events_tell_of_effects(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    shell(g, s, "true", idempotency_key="k")
    told = [e for e in g.events(s) if e["type"].startswith("tool_side_effect_")]
    assert [e["type"] for e in told] == ["tool_side_effect_started", "tool_side_effect_completed"]
    record = told[1]["payload"]["record"]
    assert record["status"] == "executed" and record["policy"] == "irreversible"
    assert record["idempotency_key"] == "default:default:shell:key:k"


def test_7_the_log_is_a_chain_that_anybody_can_check(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    for i in range(5):
        shell(g, s, "echo %d >> world" % i)
    out = box.run("effects", "export").stdout.splitlines()
    before = "0" * 64
    for n, line in enumerate(out):
        record = json.loads(line)
        body = json.dumps(record["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        text = "%d\n%s\n%d\n%s\n%s" % (record["seq"], record["effect"], record["at_us"], record["kind"], body)
        assert record["seq"] == n + 1 and record["previous"] == before
        assert record["hash"] == hashlib.sha256(bytes.fromhex(before) + text.encode()).hexdigest(), record
        before = record["hash"]
    assert len(out) == 10
    assert box.run("effects", "verify").returncode == 0
    g.stop()
    path = os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "effects.db")
    assert os.stat(path).st_mode & 0o777 == 0o600
    for sql, problem in [
            ("UPDATE effects SET state = 'failed' WHERE rowid = 1", "its state is not what the log comes to"),
            ("UPDATE effects SET args = '{}' WHERE rowid = 2", "its arguments are not those of the digest"),
            ("UPDATE effects SET result = NULL WHERE rowid = 3", "its result is not the one in the log"),
            ("UPDATE log SET body = replace(body, 'done', 'fine') WHERE seq = 8", "the hash does not fit"),
            ("DELETE FROM log WHERE seq = 10", "its state is not what the log comes to"),
            ("DELETE FROM effects WHERE rowid = 5", "the log tells of an effect that is not there")]:
        db = sqlite3.connect(path)
        db.execute(sql)
        db.commit()
        db.close()
        checked = box.run("effects", "verify")
        assert checked.returncode == 1 and problem in checked.stderr, (sql, checked.stderr)


def test_7_another_process_at_the_same_key_is_told_to_come_back(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    turn = g.start(s, "shell", {"command": "echo a >> world; sleep 2"}, idempotency_key="k")
    until(lambda: lines(box), "it runs")
    # The command line without the daemon's socket is a process of its own on the same ledger.
    alone = box.run("call", "shell", '{"command": "echo a >> world; sleep 2"}', "--yes", "-k", "k",
                    env={"HOLDFAST_SOCKET": os.path.join(box.dir, "nowhere.sock")})
    assert alone.returncode != 0 and "under way elsewhere" in alone.stderr, alone.stderr
    g.turn(s, turn["turn_id"])
    assert lines(box) == ["a"]


def test_7_an_interrupted_effect_is_told_to_its_agent_once(box):
    box.config(AUTO)
    box.env["HOLDFAST_CRASH_AT"] = "job-begun"
    g = box.serve()
    s = g.session()
    try:
        shell(g, s, "true")
    except Exception:
        pass
    g.process.wait()
    del box.env["HOLDFAST_CRASH_AT"]
    g = box.serve()
    s = g.session()
    told = g.call(s, "list_dir", {"path": "."}).outcome
    assert [u["tool_name"] for u in told["provenance"]["unknown_effects"]] == ["shell"]
    assert "provenance" not in g.call(s, "list_dir", {"path": "."}).outcome
    assert g.ok("GET", "/status")["effects"]["unknown"] == 1
    assert [c["state"] for c in g.ok("GET", "/calls?all=1")["calls"] if c["tool_name"] == "shell"] == ["unknown"]


def test_7_done_and_the_ledger_could_not_be_told(box):
    """The disk is full when an effect is over: it is not lost, and nobody does it again."""
    box.config(AUTO)
    command = "echo a >> world; while ! test -e go; do sleep 0.05; done"
    g = box.serve()
    s = g.session()
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast")

    def fill():
        sizes = [os.path.getsize(os.path.join(state, name)) for name in ("effects.db-wal", "holdfast.db-wal")]
        resource.prlimit(g.process.pid, resource.RLIMIT_FSIZE, (min(sizes), resource.RLIM_INFINITY))

    def empty():
        resource.prlimit(g.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    for key, killed in (("k", False), ("l", True)):
        turn = g.start(s, "shell", {"command": command}, idempotency_key=key)
        until(lambda: len(lines(box)) == 1, "it is at work")
        fill()
        box.write("go", "")
        assert g.turn(s, turn["turn_id"])["calls"][0]["is_error"] is False
        again = shell(g, s, command, idempotency_key=key)
        assert again.is_error and lines(box) == ["a"], again.text
        if killed:
            g.kill()
            g = box.serve()
            s = g.session()
            assert "not known" in shell(g, s, command, idempotency_key=key).text
        else:
            empty()
            until(lambda: shell(g, s, command, idempotency_key=key).outcome.get("cached"), "it is written down")
            until(lambda: not shell(g, s, "true").is_error, "the journal is written again, too")
        assert lines(box) == ["a"]
        assert box.run("effects", "verify").returncode == 0
        os.unlink(os.path.join(box.workspace, "go"))
        os.unlink(os.path.join(box.workspace, "world"))


def test_7_a_write_that_could_not_be_noted_is_not_taken_for_not_done(box):
    box.config(AUTO)
    box.write("a", "one")
    box.serve().stop()
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "undo.db")
    box.env["HOLDFAST_CRASH_AT"] = "file-renamed"
    g = box.serve()
    del box.env["HOLDFAST_CRASH_AT"]
    s = g.session()
    holding = sqlite3.connect(state)
    holding.execute("BEGIN IMMEDIATE")
    g.start(s, "write_file", {"path": "a", "content": "two"}, idempotency_key="k")
    until(lambda: g.process.poll() is not None, "it is dead", 40)
    holding.rollback()
    holding.close()
    assert box.read("a") == "two" and os.path.exists(state + ".missed")
    box.write("a", "three")
    g = box.serve()
    s = g.session()
    again = g.call(s, "write_file", {"path": "a", "content": "two"}, idempotency_key="k")
    assert "not known" in again.text and box.read("a") == "three", again.text


def test_7_a_key_in_the_head_of_a_request(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    path = "/sessions/%s/turns" % s
    body = {"name": "shell", "input": {"command": "echo a >> world"}}

    def post(key, body):
        return g.request("POST", path, body, headers={"Idempotency-Key": key})
    assert post("k", body)[0] == 200 and post('"k"', body)[0] == 200 and lines(box) == ["a"]
    assert g.call(s, "shell", body["input"], idempotency_key="k").outcome["cached"]
    assert post("k", {**body, "idempotency_key": "k"})[0] == 200 and lines(box) == ["a"]
    assert post("l", {**body, "idempotency_key": "k"})[0] == 400
    assert post("", body)[0] == 400 and post("x" * 257, body)[0] == 400
    two = [{"type": "tool_use", "id": i, "name": "shell", "input": body["input"]} for i in ("a", "b")]
    assert post("m", {"content": two})[0] == 400
    assert lines(box) == ["a"]


def test_7_what_is_at_work_cannot_be_resolved(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    command = "echo a >> world; while ! test -e go; do sleep 0.05; done"
    turn = g.start(s, "shell", {"command": command}, idempotency_key="k")
    until(lambda: lines(box) == ["a"], "it is at work")
    (one,) = effects(g)
    g.refused(409, "duplicate_in_flight", "POST", "/effects/%s/resolve" % one["id"], {"done": False})
    assert box.run("effects", "resolve", one["id"], "--not-done").returncode != 0
    box.write("go", "")
    assert g.turn(s, turn["turn_id"])["calls"][0]["is_error"] is False
    assert effects(g)[0]["state"] == "done" and lines(box) == ["a"]


def test_7_keys_over_mcp(box):
    box.config(AUTO)
    g = box.serve()
    results = []
    with open(os.path.join(box.dir, "asked"), "w") as asked:
        asked.write("\n".join(json.dumps(m) for m in [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            *[{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {
                "name": "shell", "arguments": {"command": "echo a >> world; echo hi"},
                "_meta": {"holdfast/idempotency_key": "k"}}} for i in (2, 3)]]) + "\n")
    with open(os.path.join(box.dir, "asked")) as asked:
        out = box.run("mcp", "--surface", "all", stdin=asked.read())
    for line in out.stdout.splitlines():
        message = json.loads(line)
        if message.get("id") in (2, 3):
            results.append(message["result"])
    assert len(results) == 2, out
    assert lines(box) == ["a"]
    assert json.dumps(results[0]["content"]) == json.dumps(results[1]["content"])
    assert g.alive()
    assert sorted(r.get("_meta", {}).get("holdfast/cached", False) for r in results) == [False, True]


def test_7_the_file_says_what_makes_two_calls_the_same(box):
    box.config(AUTO + "tools: {write_file: {idempotency_key_fields: [path]}}\n")
    g = box.serve()
    s = g.session()
    write = lambda content: g.call(s, "write_file", {"path": "f", "content": content}, turn_group_id="g")
    assert not write("one").is_error
    other = write("two")
    assert other.is_error and "other arguments" in other.text
    assert box.read("f") == "one"
    assert effects(g)[0]["idempotency_key"] == "default:default:write_file:f:turn_group:g"
