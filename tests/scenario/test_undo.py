"""What tools did to files is taken back: by call, by turn, the last; never over what somebody changed since."""
import json
import os
import signal
import sqlite3
import threading

from lib import until

AUTO = "tool_confirmation: {default: {WRITE: auto, EXECUTE: auto}}\n"


def write(g, session, path, content):
    result = g.call(session, "write_file", {"path": path, "content": content})
    assert not result.is_error, result.text
    return result.outcome["call_id"]


def patch(g, session, path, old, new):
    result = g.call(session, "patch_file", {"path": path, "old": old, "new": new})
    assert not result.is_error, result.text
    return result.outcome["call_id"]


def undo(g, **order):
    return g.ok("POST", "/undo", order)


def changes(g, **query):
    return g.ok("GET", "/changes?" + "&".join("%s=%s" % kv for kv in query.items()))["changes"]


def mode(box, name):
    return os.stat(os.path.join(box.workspace, name)).st_mode & 0o7777


def test_a_call_is_taken_back_and_that_again(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    os.chmod(box.write("a.txt", "one\n"), 0o750)
    call = write(g, s, "a.txt", "two\n")
    assert box.read("a.txt") == "two\n"
    (row,) = changes(g)
    assert row["type"] == "modified" and row["path"] == "a.txt" and row["undoable"] and row["call_id"] == call
    assert row["workspace"] == os.path.realpath(box.workspace) and row["session_id"] == s and row["size"] == 4

    os.chmod(os.path.join(box.workspace, "a.txt"), 0o600)
    dry = undo(g, call=call, dry_run=True)
    assert dry["undone"] == 1 and dry["call_id"] is None and box.read("a.txt") == "two\n"
    done = undo(g, call=call)
    assert (done["undone"], done["failed"]) == (1, 0), done
    assert box.read("a.txt") == "one\n" and mode(box, "a.txt") == 0o750
    assert "already" in g.refused(409, "already_exists", "POST", "/undo", {"call": call})

    # It is a call in the journal, and can be undone itself.
    row = g.ok("GET", "/calls/" + done["call_id"])
    assert row["tool_name"] == "undo" and row["state"] == "completed" and row["success"] is True, row
    assert row["input"]["undone_calls"] == [call] and row["files_modified"] == ["a.txt"], row
    again = undo(g, call=done["call_id"])
    assert again["undone"] == 1 and box.read("a.txt") == "two\n"
    assert undo(g, call=again["call_id"])["undone"] == 1 and box.read("a.txt") == "one\n"
    undone = [e for e in g.events(s) if e["type"] == "file.undone"]
    assert [e["payload"]["undone_call_id"] for e in undone] == [call, done["call_id"], again["call_id"]]


def test_a_turn_newest_first(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    box.write("a", "zero")
    turn = g.message(s, ("write_file", {"path": "new/deep/b", "content": "made"}),
                     ("write_file", {"path": "c", "content": "made"}))["turn_id"]
    write(g, s, "c", "later")
    done = undo(g, turn=turn)
    assert (done["undone"], done["failed"]) == (1, 1), done
    (bad,) = [f for f in done["files"] if not f["ok"]]
    assert bad["path"] == "c" and "changed again by call_" in bad["error"], bad
    assert not box.exists("new/deep/b") and box.read("c") == "later"
    assert undo(g, last=True)["undone"] == 1 and box.read("c") == "made"
    assert undo(g, turn=turn)["undone"] == 1 and not box.exists("c")

    # Several changes of one file in a turn stand on one another.
    one = write(g, s, "a", "one")
    patch(g, s, "a", "one", "one and two")
    assert "changed again" in undo(g, call=one)["files"][0]["error"]
    assert undo(g, last=True)["undone"] == 1 and box.read("a") == "one"
    assert undo(g, call=one)["undone"] == 1 and box.read("a") == "zero"


def test_what_was_changed_since_is_left_alone(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    box.write("a", "one")
    call, made = write(g, s, "a", "two"), write(g, s, "n", "new")
    box.write("a", "by hand")
    box.write("n", "by hand, too")
    for which in call, made:
        (file,) = undo(g, call=which)["files"]
        assert not file["ok"] and "no longer what the call left" in file["error"], file
    assert box.read("a") == "by hand" and box.read("n") == "by hand, too"
    forced = undo(g, call=call, force=True)
    assert forced["undone"] == 1 and box.read("a") == "one"
    assert undo(g, call=forced["call_id"])["undone"] == 1 and box.read("a") == "by hand"
    assert undo(g, call=made, force=True)["undone"] == 1 and not box.exists("n")


def test_binary_files_links_and_a_place_that_leads_elsewhere(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    bytes_before = bytes(range(256)) * 40
    path = box.write("bin", bytes_before)
    os.chmod(path, 0o640)
    os.symlink("bin", os.path.join(box.workspace, "link"))
    call = write(g, s, "link", "text")
    assert changes(g)[0]["path"] == "bin" and box.read("bin") == "text"
    assert undo(g, call=call)["undone"] == 1
    with open(path, "rb") as file:
        assert file.read() == bytes_before
    assert mode(box, "bin") == 0o640 and os.path.islink(os.path.join(box.workspace, "link"))

    # A link that takes the file's place leads nowhere out, not even by force.
    outside = os.path.join(box.dir, "outside")
    with open(outside, "w") as out:
        out.write("mine")
    call = write(g, s, "f", "mine")
    os.unlink(os.path.join(box.workspace, "f"))
    os.symlink(outside, os.path.join(box.workspace, "f"))
    (file,) = undo(g, call=call)["files"]
    assert not file["ok"], file
    undo(g, call=call, force=True)
    with open(outside) as file:
        assert file.read() == "mine"
    box.write("dir/g", "x")
    call = write(g, s, "dir/g", "y")
    os.rename(os.path.join(box.workspace, "dir"), os.path.join(box.dir, "dir"))
    os.symlink(os.path.join(box.dir, "dir"), os.path.join(box.workspace, "dir"))
    assert not undo(g, call=call, force=True)["files"][0]["ok"]
    with open(os.path.join(box.dir, "dir", "g")) as file:
        assert file.read() == "y"


def test_the_command_line(box):
    box.config(AUTO)
    s = box.run("call", "write_file", '{"path": "a", "content": "one"}')
    assert s.returncode == 0, s.stderr
    box.run("call", "write_file", '{"path": "a", "content": "two"}')
    listed = box.run("changes", "a")
    assert listed.returncode == 0 and "modified" in listed.stdout and "created" in listed.stdout, listed
    assert box.run("changes", "*.c").stdout == "no changes\n"
    assert box.run("undo").returncode == 2
    assert box.run("undo", "call_x", "--last").returncode == 2
    none = box.run("undo", "call_none")
    assert none.returncode == 1 and "call_none" in none.stderr, none
    elsewhere = box.run("undo", "--last", cwd=box.make_dir("elsewhere"))
    assert elsewhere.returncode == 1 and "no change" in elsewhere.stderr, elsewhere

    rows = json.loads(box.run("changes", "--json").stdout)["changes"]
    dry = box.run("undo", "--last", "--dry-run")
    assert dry.returncode == 0 and dry.stdout == "would restore a\n" and box.read("a") == "two", dry
    done = box.run("undo", rows[0]["call_id"][-8:])  # by the end of its id
    assert done.returncode == 0 and done.stdout.startswith("restored a\n") and box.read("a") == "one", done
    box.write("a", "by hand")
    refused = box.run("undo", "--last")
    assert refused.returncode == 1 and "no longer what the call left" in refused.stderr, refused
    forced = box.run("undo", "--last", "--force", "--json")
    assert forced.returncode == 0 and json.loads(forced.stdout)["undone"] == 1 and not box.exists("a")
    by_turn = box.run("undo", "--turn", rows[0]["turn_id"])
    assert by_turn.returncode == 1 and "undone already" in by_turn.stderr, by_turn


def test_the_oldest_is_dropped_and_said_to_be(box):
    box.config(AUTO + "undo: {keep_mib: 1}\n")
    g = box.serve()
    s = g.session()
    calls = []
    for i in range(3):
        box.write("f%d" % i, chr(97 + i) * 400 * 1024)
        calls.append(write(g, s, "f%d" % i, "new"))
    rows = changes(g)
    assert [r["undoable"] for r in rows] == [True, True, False], rows
    (file,) = undo(g, call=calls[0])["files"]
    assert not file["ok"] and "not kept any more" in file["error"], file
    assert undo(g, call=calls[2])["undone"] == 1 and box.read("f2") == "c" * 400 * 1024
    # What is larger than all that may be kept is not kept, and the write goes on.
    box.write("big", "x" * (2 << 20))
    write(g, s, "big", "small")
    (row,) = changes(g, pattern="big")
    assert not row["undoable"] and box.read("big") == "small"
    event = [e["payload"] for e in g.events(s) if e["type"] == "file.changed"][-1]
    assert event["undoable"] is False and "keep_mib" in event["reason"], event


def test_what_cannot_be_kept_does_not_stop_the_write(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    box.write("a", "one")
    holding = sqlite3.connect(os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "undo.db"))
    holding.execute("BEGIN IMMEDIATE")
    write(g, s, "a", "two")  # after it has waited for a while
    holding.rollback()
    holding.close()
    (event,) = [e["payload"] for e in g.events(s) if e["type"] == "file.changed"]
    assert event["undoable"] is False and event["change_id"] is None and event["reason"], event
    assert "a change cannot be undone" in g.log()
    call = write(g, s, "a", "three")
    assert undo(g, call=call)["undone"] == 1 and box.read("a") == "two"


def test_a_file_that_is_none_is_named(box):
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast")
    os.makedirs(state, mode=0o700)
    with open(os.path.join(state, "undo.db"), "w") as out:
        out.write("this is no database, " * 100)
    ended = box.run("serve", "--listen", "none")
    assert ended.returncode != 0 and "undo.db" in ended.stderr and "moved away" in ended.stderr, ended


def test_a_restart_in_between_and_nothing_kept_on_disk(box):
    box.config(AUTO)
    g = box.serve()
    box.write("a", "one")
    call = write(g, g.session(), "a", "two")
    g.stop()
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "undo.db")
    assert os.stat(state).st_mode & 0o7777 == 0o600
    g = box.serve()
    assert undo(g, call=call)["undone"] == 1 and box.read("a") == "one"
    g.stop()
    os.unlink(state)
    g = box.serve("--ephemeral")
    call = write(g, g.session(), "a", "three")
    assert not os.path.exists(state)
    assert undo(g, call=call)["undone"] == 1 and box.read("a") == "one"


def test_killed_in_the_middle_of_a_write(box):
    """Whatever moment it is: the file is the old or the new one, and afterwards it can be the old one."""
    box.config(AUTO)
    old, new = "o" * 100000, "n" * (3 << 20)
    for tried in range(3):
        box.write("a", old)
        g = box.serve()
        s = g.session()

        def ask():
            try:
                g.call(s, "write_file", {"path": "a", "content": new})
            except Exception:
                pass  # it is killed

        asking = threading.Thread(target=ask)
        asking.start()
        # What is kept is kept before the new file is begun.
        until(lambda: any(n.startswith(".holdfast-") for n in os.listdir(box.workspace)) or box.read("a") == new, "a write begins")
        os.kill(g.process.pid, signal.SIGKILL)
        g.process.wait()
        asking.join()
        was = box.read("a")
        assert was in (old, new)
        g = box.serve()
        (row,) = [r for r in changes(g) if r["undoable"]][:1]
        answer = undo(g, call=row["call_id"])
        (file,) = answer["files"]
        assert file["ok"] == (was == new), (file, was[:1])
        assert was == new or "interrupted before" in file["error"]
        assert box.read("a") == old
        if was == old:
            # The same, of a kill right behind the rename.
            box.write("a", new)
            assert undo(g, call=row["call_id"])["undone"] == 1 and box.read("a") == old
        g.stop()
        for name in os.listdir(box.workspace):
            if name.startswith(".holdfast-"):
                os.unlink(os.path.join(box.workspace, name))


def test_many_at_once(box):
    box.config(AUTO)
    g = box.serve()
    sessions = [g.session() for _ in range(4)]
    box.write("shared", "start")
    calls, lock = [], threading.Lock()

    def work(n):
        for i in range(6):
            call = write(g, sessions[n], "shared", "%d %d" % (n, i))
            mine = write(g, sessions[n], "own%d" % n, "%d" % i)
            with lock:
                calls.append((call, mine))

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    # All the way back, each once, however many try at the same time.
    rows = changes(g, pattern="shared", limit=1000)
    assert len(rows) == 24
    outcomes = []

    def take_back(call):
        status, answer = g.post("/undo", {"call": call})
        with lock:
            outcomes.append(status == 200 and answer["undone"] == 1)

    for row in rows:
        outcomes.clear()
        racing = [threading.Thread(target=take_back, args=(row["call_id"],)) for _ in range(3)]
        for r in racing:
            r.start()
        for r in racing:
            r.join()
        assert sorted(outcomes) == [False, False, True], outcomes
    assert box.read("shared") == "start"


def test_agents_can_neither_undo_nor_read_what_is_kept(box):
    box.config(AUTO)
    g = box.serve()
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast")
    s = g.session(workspace=box.dir)  # the state lies inside
    box.write("a", "a secret thing")
    write(g, s, "workspace/a", "other")
    for tool, input in ("read_file", {"path": os.path.join(state, "undo.db")}), ("list_dir", {"path": state}), \
            ("write_file", {"path": os.path.join(state, "undo.db"), "content": "x"}):
        assert g.call(s, tool, input).error_class == "permission_denied"
    inside = g.call(s, "shell", {"command": "%s undo --last 2>&1; cat workspace/a" % box.program})
    assert "other" in inside.text and box.read("a") == "other", inside.text
    assert g.call(s, "shell", {"command": "curl -s -X POST -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' "
                               "-d '{\"last\": true}' http://127.0.0.1:%d/undo; true" % (g.token, g.port)})
    assert box.read("a") == "other"


def test_orders_that_are_none(box):
    g = box.serve()
    for order in {}, {"call": "x", "last": True}, {"call": "x", "workspace": "/"}, {"call": 1}, {"what": 1}, {"call": "\x01"}, {"last": False}:
        g.refused(400, "invalid_content", "POST", "/undo", order)
    g.refused(404, "call_not_found", "POST", "/undo", {"call": "call_none"})
    g.refused(404, "call_not_found", "POST", "/undo", {"last": True})
    g.refused(400, "invalid_content", "GET", "/changes?limit=0")
