"""Effects that are no files are taken back by the tool that can: once, newest first, whatever happens in between."""
import datetime
import json
import os
import signal
import sqlite3
import sys
import threading

from lib import until
from test_surfaces import Peer

HERE = os.path.dirname(os.path.abspath(__file__))
BACK = """
  desk__book:
    side_effect_policy: compensatable
    compensation_tool: desk__unbook
    compensation_args: {id: /result/booking/id, seat: /args/seat, why: {const: undone}}
  desk__look: {side_effect_policy: pure}
"""


class Desk:
    """A gateway with a server that books seats, and the log that tells which."""

    def __init__(self, box, more="", tools=BACK, confirm="auto"):
        self.box = box
        self.log = os.path.join(box.dir, "desk.log")
        box.config("""
mcpServers:
  desk: {command: %s, args: [%s, %s]}
tool_confirmation: {default: {WRITE: auto, EXECUTE: auto, NETWORK: auto}, per_tool: {desk__unbook: %s}}
tools:%s
%s
""" % (sys.executable, os.path.join(HERE, "acting_server.py"), self.log, confirm, tools, more))
        self.serve()

    def serve(self):
        self.g = self.box.serve()
        until(lambda: any(t["name"] == "desk__pay" for t in self.g.ok("GET", "/tools")["tools"]), "the desk is open")
        return self.g

    def did(self, tool=None):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as lines:
            rows = [json.loads(line) for line in lines]
        return [r for r in rows if tool is None or r["tool"] == tool]

    def book(self, session, seat="1A"):
        result = self.g.call(session, "desk__book", {"seat": seat})
        assert not result.is_error, result.text
        return result.outcome["call_id"]

    def undo(self, **order):
        return self.g.ok("POST", "/undo", order)

    def effect(self, call):
        rows = [e for e in self.g.ok("GET", "/effects?call=" + call)["effects"]]
        return self.g.ok("GET", "/effects/" + rows[0]["id"])


def test_7_a_booking_is_taken_back_once(box):
    d = Desk(box)
    s = d.g.session()
    call = d.book(s)
    dry = d.undo(call=call, dry_run=True)
    assert dry["undone"] == 1 and dry["effects"][0]["ok"] and not d.did("unbook"), dry
    done = d.undo(call=call)
    assert (done["undone"], done["failed"], done["irreversible"], done["files"]) == (1, 0, 0, []), done
    (row,) = done["effects"]
    assert row["tool_name"] == "desk__book" and row["compensation_tool"] == "desk__unbook" and row["call_id"] == call, row
    # Out of what was given, what came back, and the mapping itself.
    assert d.did("unbook") == [{"tool": "unbook", "id": "B-1A", "seat": "1A", "why": "undone"}], d.did()
    assert "already" in d.g.refused(409, "already_exists", "POST", "/undo", {"call": call})
    assert len(d.did("unbook")) == 1

    # It is a call of its own, with a record of its own; the first record knows of it.
    journal = d.g.ok("GET", "/calls/" + row["compensation_call_id"])
    assert journal["tool_name"] == "desk__unbook" and journal["success"] is True, journal
    effect = d.effect(call)
    assert effect["compensation_state"] == "done" and effect["compensation_id"] == row["compensation_call_id"], effect
    assert d.effect(row["compensation_call_id"])["compensates"] == effect["id"]
    own = d.g.ok("GET", "/calls/" + done["call_id"])
    assert own["tool_name"] == "undo" and own["input"]["undone_calls"] == [call] and own["success"], own
    (told,) = [e["payload"] for e in d.g.events(s) if e["type"] == "effect.compensated"]
    assert told["undone_call_id"] == call and told["effect_id"] == effect["id"], told


def test_7_two_at_once_take_it_back_once(box):
    d = Desk(box)
    call = d.book(d.g.session())
    answers = []

    def undo():
        answers.append(d.g.request("POST", "/undo", {"call": call}))

    threads = [threading.Thread(target=undo) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(d.did("unbook")) == 1, d.did()
    for status, answer in answers:
        assert (status == 200 and answer["undone"] == 1) or status == 409, answers
    assert any(status == 200 for status, _ in answers)


def test_7_a_turn_of_files_and_bookings_newest_first(box):
    d = Desk(box)
    s = d.g.session()
    box.write("a", "before")
    steps = [("desk__book", {"seat": "1A"}), ("write_file", {"path": "a", "content": "after"}),
             ("desk__book", {"seat": "bad"}), ("desk__book", {"seat": "2B"}), ("desk__pay", {"seat": "2B"}),
             ("desk__look", {"seat": "2B"})]
    turn = d.g.message(s, *steps)
    order = {e["call"]: e["id"] for e in d.g.ok("GET", "/effects")["effects"]}
    newest = sorted((c["call_id"] for c in turn["calls"] if c["call_id"] in order), key=order.get, reverse=True)
    done = d.undo(turn=turn["turn_id"])
    rows = {r["call_id"]: r for r in done["effects"]}
    assert box.read("a") == "before" and (done["undone"], done["failed"], done["irreversible"]) == (3, 1, 1), done
    named = {c["call_id"]: c["tool_name"] + c["tool_use_id"] for c in turn["calls"]}
    assert [r["call_id"] for r in sorted(rows.values(), key=lambda r: r["step"])] == [
        c for c in newest if not named[c].startswith("write_file")], (rows, newest)
    bad = [r for r in rows.values() if not r["ok"]]
    assert sorted(r["tool_name"] for r in bad) == ["desk__book", "desk__pay"], bad
    assert any("the desk is closed" in r["error"] for r in bad) and any("irreversible" in r["error"] for r in bad), bad
    assert sorted(r["seat"] for r in d.did("unbook")) == ["1A", "2B", "bad"], d.did()
    # What failed may be tried again, and the rest is left alone.
    again = d.undo(turn=turn["turn_id"])
    assert (again["undone"], again["failed"]) == (0, 1), again


def test_7_order_of_files_and_bookings(box):
    """Newest first across both kinds: the journal of the outside tells."""
    d = Desk(box)
    s = d.g.session()
    calls = [d.book(s, "1A")]
    calls.append(d.g.call(s, "write_file", {"path": "f", "content": "x"}).outcome["call_id"])
    calls.append(d.book(s, "2B"))
    for call in reversed(calls):
        assert d.undo(call=call)["undone"] == 1
    assert [r["seat"] for r in d.did("unbook")] == ["2B", "1A"] and not box.exists("f")


def test_7_last_is_whatever_was_last(box):
    d = Desk(box)
    s = d.g.session()
    box.write("f", "one")
    assert not d.g.call(s, "write_file", {"path": "f", "content": "two"}).is_error
    d.book(s)
    where = os.path.realpath(box.workspace)
    assert d.undo(last=True, workspace=where)["effects"][0]["ok"] and box.read("f") == "two"
    assert d.undo(last=True, workspace=where)["undone"] == 1 and box.read("f") == "one"
    assert len(d.did("unbook")) == 1


def test_7_it_takes_too_long(box):
    d = Desk(box, tools=BACK + "  side_effects: {compensation_timeout_seconds: 0.3}\n")
    s = d.g.session()
    slow, fine = d.book(s, "slow"), d.book(s, "1A")
    done = d.undo(call=slow)
    (row,) = done["effects"]
    assert done["failed"] == 1 and not row["ok"] and "within 0.3 seconds" in row["error"], done
    assert d.effect(slow)["compensation_state"] == "failed"
    # Nobody knows whether it was done: it is not tried again by itself.
    (row,) = d.undo(call=slow)["effects"]
    assert not row["ok"] and len([r for r in d.did("unbook") if r["seat"] == "slow"]) == 1, row
    assert d.undo(call=fine)["undone"] in (0, 1)


def test_7_a_person_is_asked_where_the_policy_says_so(box):
    d = Desk(box, confirm="prompt")
    s = d.g.session()
    call = d.book(s)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(d.undo(call=call)))
    thread.start()
    question = d.g.question()
    assert question["tool_name"] == "desk__unbook" and not d.did("unbook"), question
    d.g.answer(question, "deny")
    thread.join()
    assert answers[0]["failed"] == 1 and "denied" in answers[0]["effects"][0]["error"] and not d.did("unbook"), answers
    thread = threading.Thread(target=lambda: answers.append(d.undo(call=call)))
    thread.start()
    d.g.answer(d.g.question(), "allow")
    thread.join()
    assert answers[1]["undone"] == 1 and len(d.did("unbook")) == 1, answers


def test_7_arguments_are_what_the_tool_gave_over_mcp(box):
    """What an agent is shown is an envelope, redacted and cut; what takes it back gets what there was."""
    d = Desk(box, tools=BACK.replace("why: {const: undone}", "why: /result/status"))
    peer = Peer(d.g, "/mcp")

    def book(seat):
        shown = peer.call("tool_execute", {"tool_id": "desk__book", "args": {"seat": seat}})
        assert shown["structuredContent"]["status"] == "ok", shown
        return d.g.ok("GET", "/effects?limit=1")["effects"][0]["call"]

    assert d.undo(call=book("held"))["undone"] == 1
    # The envelope has a status, too; the tool gave none.
    (row,) = d.undo(call=book("1A"))["effects"]
    assert "compensation_args.why: /result/status leads to nothing" in row["error"], row
    assert d.did("unbook") == [{"tool": "unbook", "id": "B-held", "seat": "held", "why": "held"}], d.did()


def test_7_arguments_are_neither_redacted_nor_cut(box):
    d = Desk(box, tools=BACK.replace("side_effect_policy: compensatable", "side_effect_policy: compensatable\n    max_result_bytes: 1024"))
    s = d.g.session()
    long, secret = d.book(s, "long"), d.book(s, "secret")
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    assert d.undo(call=long)["undone"] == 1 and d.undo(call=secret)["undone"] == 1
    assert [r["id"] for r in d.did("unbook")] == ["B-long", key], d.did()
    # Nobody is shown what was kept for that.
    assert key not in json.dumps(d.effect(secret)) and key not in box.run("effects", "export").stdout
    assert d.g.ok("GET", "/effects/verify")["ok"]
    # There is an end to what is kept, and then it is said.
    (row,) = d.undo(call=d.book(s, "longest"))["effects"]
    assert not row["ok"] and "/result/booking/id leads to nothing" in row["error"], row


def test_7_a_deep_result_keeps_nothing_from_being_taken_back(box):
    d = Desk(box)
    s = d.g.session()
    box.write("f", "before")
    turn = d.g.message(s, ("write_file", {"path": "f", "content": "after"}), ("desk__book", {"seat": "deep"}),
                       ("desk__book", {"seat": "1A"}))
    assert not any(c["is_error"] for c in turn["calls"]), turn
    done = d.undo(turn=turn["turn_id"])
    assert (done["undone"], done["failed"], done["irreversible"]) == (3, 0, 0) and box.read("f") == "before", done
    assert sorted(r["seat"] for r in d.did("unbook")) == ["1A", "deep"], d.did()


def test_7_a_record_that_cannot_be_read_keeps_nothing_from_being_taken_back(box):
    d = Desk(box)
    s = d.g.session()
    box.write("f", "before")
    turn = d.g.message(s, ("desk__book", {"seat": "1A"}), ("write_file", {"path": "f", "content": "after"}),
                       ("desk__book", {"seat": "2B"}))
    lost = turn["calls"][0]["call_id"]
    d.g.stop()
    with sqlite3.connect(os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "effects.db")) as db:
        assert db.execute("UPDATE effects SET args = '{' WHERE call = ?", (lost,)).rowcount == 1
    db.close()
    d.serve()
    done = d.undo(turn=turn["turn_id"])
    assert (done["undone"], done["failed"], done["irreversible"]) == (2, 1, 0) and box.read("f") == "before", done
    (bad,) = [r for r in done["effects"] if not r["ok"]]
    assert bad["call_id"] == lost and bad["tool_name"] == "desk__book" and "cannot be read" in bad["error"], bad
    assert [r["seat"] for r in d.did("unbook")] == ["2B"], d.did()


def test_7_many_effects_of_one_turn_are_all_taken_back(box):
    """More than are read at once."""
    d = Desk(box)
    seats = ["s%02d" % n for n in range(60)]
    turn = d.g.message(d.g.session(), *[("desk__book", {"seat": seat}) for seat in seats])
    assert d.undo(turn=turn["turn_id"])["undone"] == 60
    assert sorted(r["seat"] for r in d.did("unbook")) == seats, d.did()


def test_7_files_keep_no_tool_from_taking_back(box):
    """Somebody changes a file meanwhile, and that cannot be undone; the booking can."""
    d = Desk(box, tools=BACK.replace("side_effect_policy: compensatable", "side_effect_policy: compensatable\n    track_changes: true"))
    call = d.g.call(d.g.session(), "desk__book", {"seat": "1A", "touch": os.path.join(box.workspace, "new")}).outcome["call_id"]
    assert [c["path"] for c in d.g.ok("GET", "/changes")["changes"]] == ["new"]
    done = d.undo(call=call)
    assert done["undone"] == 1 and [r["ok"] for r in done["effects"]] == [True] and not done["files"][0]["ok"], done
    assert [r["seat"] for r in d.did("unbook")] == ["1A"] and d.effect(call)["compensation_state"] == "done"


def test_7_both_halves_are_taken_back(box):
    """A tool that writes a file, and has one that takes back what else it does."""
    d = Desk(box, tools="""
  write_file:
    side_effect_policy: compensatable
    compensation_tool: desk__unbook
    compensation_args: {seat: /args/path}
""")
    s = d.g.session()
    where = os.path.realpath(box.workspace)
    for name, order in (("f", lambda call: {"call": call}), ("g", lambda call: {"last": True, "workspace": where})):
        call = d.g.call(s, "write_file", {"path": name, "content": "x"}).outcome["call_id"]
        done = d.undo(**order(call))
        assert (done["undone"], done["failed"]) == (2, 0) and not box.exists(name), done
        assert d.did("unbook")[-1]["seat"] == name and d.effect(call)["compensation_state"] == "done"
    assert len(d.did("unbook")) == 2


def test_7_nobody_else_takes_the_key_of_a_compensation(box):
    d = Desk(box)
    s = d.g.session()
    call = d.book(s)
    said = d.g.refused(400, "invalid_content", "POST", "/sessions/%s/turns" % s, {
        "name": "desk__unbook", "input": {"seat": "9Z"}, "idempotency_key": "compensate:" + d.effect(call)["id"]})
    assert "idempotency_key" in said and not d.did("unbook"), said
    assert d.undo(call=call)["undone"] == 1 and [r["seat"] for r in d.did("unbook")] == ["1A"]


def test_7_its_session_is_ended_while_a_person_thinks(box):
    d = Desk(box, confirm="prompt")
    call = d.book(d.g.session())
    answers = []
    thread = threading.Thread(target=lambda: answers.append(d.undo(call=call)))
    thread.start()
    question = d.g.question()
    d.g.ok("DELETE", "/sessions/" + question["session_id"])
    thread.join()
    assert answers[0]["failed"] == 1 and not d.did("unbook"), answers
    # Nothing was done, so it may be tried again.
    thread = threading.Thread(target=lambda: answers.append(d.undo(call=call)))
    thread.start()
    d.g.answer(d.g.question(), "allow")
    thread.join()
    assert answers[1]["undone"] == 1 and len(d.did("unbook")) == 1, answers


def test_7_what_cannot_be_filled_in_is_said(box):
    d = Desk(box, tools="""
  desk__book:
    side_effect_policy: compensatable
    compensation_tool: desk__unbook
    compensation_args: {id: /result/nothing/here}
""")
    call = d.book(d.g.session())
    for dry in (True, False):
        done = d.undo(call=call, dry_run=dry)
        (row,) = done["effects"]
        assert done["failed"] == 1 and "compensation_args.id: /result/nothing/here" in row["error"], done
    assert not d.did("unbook")


def undo_and_die(box, d, call, point):
    """Asks to take it back of a gateway that ends at this point, if it comes there; then there is another."""
    d.g.stop()
    box.env["HOLDFAST_CRASH_AT"] = point
    g = d.serve()
    del box.env["HOLDFAST_CRASH_AT"]
    try:
        g.request("POST", "/undo", {"call": call})
        g.stop()
    except OSError:
        g.process.wait()
        box.gateways.remove(g)
    d.serve()


def test_7_after_a_kill_it_is_taken_back_once(box):
    """Killed at each step of taking back: asked again afterwards, it has happened at most once."""
    ran_once = 0
    for point in ("before-started", "started", "job-begun", "reported", "before-settle", "settled"):
        d = Desk(box)
        seat = "k" + point
        call = d.book(d.g.session(), seat)
        undo_and_die(box, d, call, point)
        done = d.undo(call=call) if d.effect(call).get("compensation_state") != "done" else None
        times = len([r for r in d.did("unbook") if r["seat"] == seat])
        assert times <= 1, (point, d.did())
        if done and done["undone"]:
            assert times == 1, (point, done)
        ran_once += times
        d.g.stop()
    assert ran_once >= 2


def test_7_it_is_taken_back_once_whatever_keys_are_kept_for(box):
    """Killed when it was taken back and not yet noted; asked again when its key would be forgotten."""
    d = Desk(box, "toolbox: {default_idempotency_ttl: 1}")
    call = d.book(d.g.session())
    undo_and_die(box, d, call, "settled")
    assert d.effect(call)["compensation_state"] == "running" and len(d.did("unbook")) == 1
    (back,) = [e for e in d.g.ok("GET", "/effects")["effects"] if e.get("compensates")]
    until(lambda: datetime.datetime.now(datetime.timezone.utc) > datetime.datetime.fromisoformat(
        back["expires_at"].replace("Z", "+00:00")), "the key is old")
    assert d.undo(call=call)["undone"] == 1 and len(d.did("unbook")) == 1, d.did()
    assert d.effect(call)["compensation_state"] == "done"


def test_7_killed_while_the_tool_is_at_work(box):
    d = Desk(box)
    call = d.book(d.g.session(), "slow")
    old = d.g

    def quietly():
        try:
            old.request("POST", "/undo", {"call": call})
        except OSError:
            pass

    thread = threading.Thread(target=quietly)
    thread.start()
    until(lambda: d.did("unbook"), "it is being taken back")
    old.process.send_signal(signal.SIGKILL)
    thread.join()
    old.process.wait()
    d.serve()
    (row,) = d.undo(call=call)["effects"]
    assert not row["ok"] and "not known" in row["error"], row
    assert len(d.did("unbook")) == 1, d.did()


def test_7_giving_up_a_turn_takes_bookings_back(box):
    d = Desk(box, "acf: {supersede: SUPERSEDE}")
    g = d.g
    s = g.session(turn_groups=True)
    go = os.path.join(box.workspace, "go")
    turn = g.ok("POST", "/sessions/%s/turns" % s, {"wait": False, "content": [
        {"type": "tool_use", "id": "a", "name": "desk__book", "input": {"seat": "1A"}},
        {"type": "tool_use", "id": "b", "name": "shell", "input": {"command": "while [ ! -e go ]; do sleep 0.05; done"}},
    ]})["turn_id"]
    until(lambda: g.ok("GET", "/sessions/%s/turns/%s" % (s, turn))["calls"][0]["settled"], "it is booked")
    g.ok("POST", "/sessions/%s/messages" % s, {"content": "no"})
    # Nothing that cannot be undone is next: the turn goes on to its end.
    open(go, "w").close()
    assert g.turn(s, turn)["state"] == "completed" and not d.did("unbook")


def test_7_superseded_after_a_booking(box):
    d = Desk(box, "acf: {supersede: SUPERSEDE}")
    d.g.stop()
    with open(os.path.join(box.env["XDG_CONFIG_HOME"], "holdfast", "config.yaml")) as file:
        text = file.read()
    box.config(text.replace("per_tool: {", "per_tool: {desk__pay: prompt, "))
    g = d.serve()
    s = g.session(turn_groups=True)
    turn = g.ok("POST", "/sessions/%s/turns" % s, {"wait": False, "content": [
        {"type": "tool_use", "id": "a", "name": "desk__book", "input": {"seat": "1A"}},
        {"type": "tool_use", "id": "b", "name": "desk__pay", "input": {"seat": "1A"}},
    ]})["turn_id"]
    until(lambda: g.ok("GET", "/sessions/%s/turns/%s" % (s, turn))["calls"][0]["settled"], "it is booked")
    question = g.question(s)
    g.ok("POST", "/sessions/%s/messages" % s, {"content": "no"})
    g.answer(question, "allow")
    ended = g.turn(s, turn)
    assert ended["state"] == "superseded" and not d.did("pay"), ended
    assert ended["compensation"]["undone"] == 1, ended
    # It was over before anybody heard that the turn is.
    assert [r["seat"] for r in d.did("unbook")] == ["1A"]


def test_7_what_may_not_be_taken_back_is_not_given_up_while_it_is_under_way(box):
    d = Desk(box, "acf: {supersede: SUPERSEDE}", BACK + "  side_effects: {allow_compensatable_supersede: false}\n",
             confirm="auto, desk__pay: prompt")
    s = d.g.session(turn_groups=True)
    go = os.path.join(box.dir, "go")
    turn = d.g.ok("POST", "/sessions/%s/turns" % s, {"wait": False, "content": [
        {"type": "tool_use", "id": "a", "name": "desk__book", "input": {"seat": "1A", "until": go}},
        {"type": "tool_use", "id": "b", "name": "desk__pay", "input": {"seat": "1A"}},
    ]})["turn_id"]
    until(lambda: d.did("book"), "it is being booked")
    question = d.g.question(s)
    d.g.ok("POST", "/sessions/%s/messages" % s, {"content": "no"})
    d.g.answer(question, "allow")
    decision = until(lambda: [e["payload"] for e in d.g.events(s) if e["type"] == "supersede.decision"], "it is decided")[0]
    open(go, "w").close()
    ended = d.g.turn(s, turn)
    assert decision["decision"] == "QUEUE" and "allow_compensatable_supersede" in decision["reason"], decision
    assert ended["state"] == "completed" and len(d.did("pay")) == 1 and not d.did("unbook"), ended


def test_7_typed(box):
    d = Desk(box)
    call = d.book(d.g.session())
    out = box.run("undo", call[-8:], "--dry-run")
    assert out.returncode == 0 and out.stdout == "would take back desk__book by desk__unbook\n", out
    out = box.run("undo", call)
    assert out.returncode == 0 and out.stdout == "took back desk__book by desk__unbook\n", out
    paid = d.g.call(d.g.session(), "desk__pay", {"seat": "1A"}).outcome["call_id"]
    out = box.run("undo", paid)
    assert out.returncode == 1 and "desk__pay: it cannot be taken back: it is irreversible" in out.stderr, out
    assert "effect.compensated" in box.run("events", "-t", "effect.compensated").stdout
