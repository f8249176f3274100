"""A user who speaks while the agent is at work: before what cannot be undone, it is decided what becomes of the turn."""
import json
import os
import re
import sys
import threading

from http_server import Server
from lib import until

HERE = os.path.dirname(os.path.abspath(__file__))
UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


class Desk:
    """A gateway with a server that does things, and the log that tells which."""

    def __init__(self, box, more="", network="prompt"):
        self.box = box
        self.log = os.path.join(box.dir, "desk.log")
        box.config("""
mcpServers:
  desk: {command: %s, args: [%s, %s]}
tool_confirmation: {default: {WRITE: auto, EXECUTE: auto, NETWORK: %s}}
%s
""" % (sys.executable, os.path.join(HERE, "acting_server.py"), self.log, network, more))
        self.g = box.serve()
        until(lambda: any(t["name"] == "desk__pay" for t in self.g.ok("GET", "/tools")["tools"]), "the desk is open")

    def session(self, **more):
        return self.g.ok("POST", "/sessions", {"workspace": self.box.workspace, **more})["session_id"]

    def done(self, tool="pay"):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as lines:
            return [row["seat"] for row in map(json.loads, lines) if row["tool"] == tool]

    def begin(self, session, *calls):
        """A turn of these calls, which is open when this returns."""
        content = [{"type": "tool_use", "id": "c%d" % i, "name": name, "input": given}
                   for i, (name, given) in enumerate(calls)]
        return self.g.ok("POST", "/sessions/%s/turns" % session, {"content": content, "wait": False})["turn_id"]

    def question(self):
        return until(lambda: self.g.ok("GET", "/confirmations")["confirmations"], "a person is asked")[0]

    def allow(self):
        self.g.ok("POST", "/confirmations/" + self.question()["confirmation_request_id"], {"decision": "allow"})

    def say(self, session, text, **more):
        return self.g.ok("POST", "/sessions/%s/messages" % session, {"content": text, **more})

    def turn(self, session, turn):
        return self.g.ok("GET", "/sessions/%s/turns/%s" % (session, turn))

    def over(self, session, turn):
        return until(lambda: (t := self.turn(session, turn))["state"] != "open" and t, "the turn is over")

    def events(self, session, kind):
        return [e["payload"] for e in self.g.events(session) if e["type"] == kind]


def pay(seat="1A"):
    return ("desk__pay", {"seat": seat})


def test_7_nothing_changes_for_those_who_never_speak(box):
    d = Desk(box, network="auto")
    s = d.session()
    turn = d.over(s, d.begin(s, pay()))
    assert turn["state"] == "completed" and d.done() == ["1A"], turn
    assert not {"turn_group_id", "absorbed_messages", "superseded_from"} & set(turn), turn
    assert not d.events(s, "commit.reached") and turn["committed"] is True, turn
    assert d.g.ok("GET", "/sessions/" + s)["pending_messages"] == 0


def test_7_a_message_supersedes_a_turn_that_has_done_nothing(box):
    d = Desk(box)
    s = d.session(turn_groups=True)
    first = d.begin(s, pay(), pay("1B"))
    group = d.turn(s, first)["turn_group_id"]
    assert UUID.match(group), group
    d.question()
    said = d.say(s, "no, 2B please")
    assert said["state"] == "pending" and said["turn_id"] == first and said["pending_messages"] == 1, said
    d.allow()  # one of the two: the other ends as well
    turn = d.over(s, first)
    assert turn["state"] == "superseded" and turn["interrupt_point"] == "desk__pay" and d.done() == [], turn
    for call, block in zip(turn["calls"], turn["content"]):
        assert call["is_error"] and call["error_class"] == "cancelled", call
        assert block["content"][0]["text"] == "superseded by a new message", block
    (decision,) = d.events(s, "supersede.decision")
    assert decision["decision"] == "SUPERSEDE" and decision["by"] == "default", decision
    assert decision["message_ids"] == [said["message_id"]], decision
    assert len(d.events(s, "supersede.executed")) == 1
    assert [e["reason"] for e in d.events(s, "turn.cancelled")] == ["superseded"]
    assert d.events(s, "inbound_message")[0]["content"] == "no, 2B please"

    # The turn of the message takes its place, and its group.
    second = d.begin(s, pay("2B"))
    d.allow()
    turn = d.over(s, second)
    assert turn["state"] == "completed" and d.done() == ["2B"], turn
    assert turn["turn_group_id"] == group and turn["superseded_from"] == first, turn
    assert [m["content"] for m in turn["messages_taken"]] == ["no, 2B please"]
    assert d.turn(s, first)["superseded_by"] == second
    assert d.g.ok("GET", "/sessions/%s/messages" % s)["messages"] == []


def test_7_after_an_effect_it_is_queued_and_the_next_group_is_new(box):
    d = Desk(box)
    s = d.session(turn_groups=True)
    first = d.begin(s, ("write_file", {"path": "a", "content": "x"}), pay())
    group = d.turn(s, first)["turn_group_id"]
    until(lambda: d.turn(s, first)["calls"][0]["settled"], "the file is written")
    d.question()
    d.say(s, "and another")
    d.allow()
    assert d.over(s, first)["state"] == "completed" and d.done() == ["1A"] and box.read("a") == "x"
    (decision,) = d.events(s, "supersede.decision")
    assert decision["decision"] == "QUEUE" and "effects" in decision["reason"], decision
    second = d.begin(s, pay("2B"))
    turn = d.turn(s, second)
    assert UUID.match(turn["turn_group_id"]) and turn["turn_group_id"] != group, turn
    assert "superseded_from" not in turn and [m["content"] for m in turn["messages_taken"]] == ["and another"]
    d.allow()
    d.over(s, second)


def test_7_a_turn_absorbs_a_message(box):
    d = Desk(box, "acf: {supersede: ABSORB}")
    s = d.session(turn_groups=True)
    first = d.begin(s, pay())
    group = d.turn(s, first)["turn_group_id"]
    d.question()
    said = d.say(s, "window seat", id="mine")
    assert said["message_id"] == "mine"
    assert d.say(s, "window seat", id="mine")["pending_messages"] == 1, "the same message is not said twice"
    d.allow()
    turn = d.over(s, first)
    assert turn["state"] == "completed" and d.done() == ["1A"] and turn["turn_group_id"] == group, turn
    assert [(m["message_id"], m["content"]) for m in turn["absorbed_messages"]] == [("mine", "window seat")]
    assert [e["message_id"] for e in d.events(s, "turn.message_absorbed")] == ["mine"]
    (commit,) = d.events(s, "commit.reached")
    assert commit["tool_name"] == "desk__pay", commit
    (decision,) = d.events(s, "supersede.decision")
    assert decision["decision"] == "ABSORB" and decision["by"] == "config", decision
    assert d.g.ok("GET", "/sessions/" + s)["pending_messages"] == 0


def test_7_force_complete_is_asked_once_and_the_message_stays(box):
    d = Desk(box, "acf: {supersede: force_complete}")
    s = d.session()
    first = d.begin(s, pay(), pay("1B"))
    d.question()
    d.say(s, "one")
    d.allow()
    until(lambda: len(d.done()) == 1, "the first is paid")
    d.say(s, "two")
    d.allow()
    turn = d.over(s, first)
    assert turn["state"] == "completed" and sorted(d.done()) == ["1A", "1B"], turn
    assert len(d.events(s, "supersede.decision")) == 1
    assert [m["content"] for m in d.g.ok("GET", "/sessions/%s/messages" % s)["messages"]] == ["one", "two"]
    second = d.begin(s, ("read_file", {"path": "none"}))
    assert [m["content"] for m in d.over(s, second)["messages_taken"]] == ["one", "two"]


def test_7_whoever_runs_the_agent_is_asked(box):
    d = Desk(box, "acf: {decision_timeout_seconds: 600}")
    s = d.session(supersede="ask")
    problem = d.g.refused(409, "decision_not_requested", "POST", "/sessions/%s/supersede" % s, {"decision": "QUEUE"})
    assert "no decision is asked for" in problem
    first = d.begin(s, pay())
    d.question()
    d.say(s, "wait")
    d.allow()
    (asked,) = until(lambda: d.events(s, "supersede.requested"), "it is asked")
    assert asked["default"] == "SUPERSEDE" and asked["tool_name"] == "desk__pay", asked
    assert [m["content"] for m in asked["messages"]] == ["wait"] and asked["side_effects"] == 0, asked
    (row,) = d.g.ok("GET", "/calls")["calls"]
    assert row["state"] == "deciding" and d.done() == [], row
    d.g.refused(400, "invalid_content", "POST", "/sessions/%s/supersede" % s, {"decision": "MAYBE"})
    d.g.refused(409, "decision_not_requested", "POST", "/sessions/%s/supersede" % s,
                {"decision": "QUEUE", "request": "sup_other"})
    d.g.ok("POST", "/sessions/%s/supersede" % s, {"decision": "QUEUE", "request": asked["request_id"]})
    assert d.over(s, first)["state"] == "completed" and d.done() == ["1A"]
    (decision,) = d.events(s, "supersede.decision")
    assert (decision["decision"], decision["by"]) == ("QUEUE", "runtime"), decision

    # Two calls of one turn wait for one decision; a cancelled turn asks nobody any more.
    d.say(s, "more")  # waits: no turn is open
    second = d.begin(s, pay("2A"), pay("2B"))
    d.question()
    d.say(s, "stop")
    d.allow()
    d.allow()
    until(lambda: [c["state"] for c in d.g.ok("GET", "/calls")["calls"]] == ["deciding"] * 2, "both wait")
    assert len(d.events(s, "supersede.requested")) == 2
    d.g.ok("POST", "/sessions/%s/turns/%s/cancel" % (s, second))
    assert d.over(s, second)["state"] == "cancelled" and d.done() == ["1A"]
    d.g.refused(409, "decision_not_requested", "POST", "/sessions/%s/supersede" % s, {"decision": "QUEUE"})


def test_7_no_decision_in_time_is_the_default(box):
    d = Desk(box, "acf: {supersede: ask, decision_timeout_seconds: 0.2}")
    s = d.session()
    first = d.begin(s, pay())
    d.question()
    d.say(s, "wait")
    d.allow()
    assert d.over(s, first)["state"] == "superseded" and d.done() == []
    (decision,) = d.events(s, "supersede.decision")
    assert (decision["decision"], decision["by"]) == ("SUPERSEDE", "deadline"), decision


def test_7_a_message_before_the_policy_spares_the_person_the_question(box):
    go = os.path.join(box.dir, "go")
    d = Desk(box, """
hooks:
  PreToolUse:
    - matcher: desk__pay
      hooks: [{type: command, command: "while [ ! -e %s ]; do sleep 0.05; done"}]
""" % go)
    s = d.session()
    first = d.begin(s, pay())
    until(lambda: [c["state"] for c in d.g.ok("GET", "/calls")["calls"]] == ["hooking"], "the hook is at work")
    d.say(s, "no")
    open(go, "w").close()
    assert d.over(s, first)["state"] == "superseded" and d.done() == []
    assert not d.events(s, "tool.confirmation_requested")


def test_7_giving_up_a_turn_takes_back_what_it_did(box):
    d = Desk(box, "acf: {supersede: SUPERSEDE}")
    s = d.session()
    box.write("a", "before")
    first = d.begin(s, ("write_file", {"path": "a", "content": "after"}), pay())
    until(lambda: d.turn(s, first)["calls"][0]["settled"], "the file is written")
    d.question()
    d.say(s, "never mind")
    d.allow()
    turn = d.over(s, first)
    assert turn["state"] == "superseded" and d.done() == [] and box.read("a") == "before", turn
    assert turn["compensation"]["undone"] == 1 and turn["compensation"]["failed"] == 0, turn
    (told,) = d.events(s, "supersede.executed")
    assert told["compensated"] == 1 and told["interrupt_point"] == "desk__pay", told


def test_7_much_that_was_taken_back_is_told_in_numbers(box):
    d = Desk(box, "acf: {supersede: SUPERSEDE}")
    s = d.session()
    paths = ["/".join([letter * 240] * 5) + "/f%d" % n for n, letter in enumerate("ab" * 30)]
    first = d.begin(s, *[("write_file", {"path": path, "content": "x"}) for path in paths], pay())
    until(lambda: all(c["settled"] for c in d.turn(s, first)["calls"][:-1]), "the files are written")
    d.question()
    d.say(s, "never mind")
    d.allow()
    turn = d.over(s, first)
    assert turn["state"] == "superseded" and not any(box.exists(path) for path in paths), turn["state"]
    assert turn["compensation"].pop("call_id").startswith("call_"), turn["compensation"]
    assert turn["compensation"] == {"dry_run": False, "undone": 60, "failed": 0, "irreversible": 0, "truncated": True}, turn["compensation"]
    (told,) = d.events(s, "supersede.executed")
    assert (told["compensated"], told["failed"]) == (60, 0), told


def test_7_an_effect_counts_by_what_the_ledger_says(box):
    """Refused is not done; an error of a tool that may have done half of its work is."""
    definition = {"name": "order", "description": "Orders.", "gateway": "http", "gateway_config": {}}
    with Server() as server:
        server.plan("/order", lambda h: h.answer(429, {"message": "tomorrow"}, Retry_After="86400"))
        definition["gateway_config"]["url"] = server.url + "/order"
        d = Desk(box, "definitions: [%s]\ntool_gateway: {providers: {http: {allow: [127.0.0.1]}}}" % json.dumps(definition), network="auto")
        s = d.session(turn_groups=True)
        for call, state, committed in ((("order", {}), "failed", False), (("desk__unbook", {"seat": "bad"}), "done", True)):
            turn = d.over(s, d.begin(s, call))
            assert turn["calls"][0]["is_error"] and turn.get("committed", False) is committed, turn
            (effect,) = d.g.ok("GET", "/effects?call=" + turn["calls"][0]["call_id"])["effects"]
            assert effect["state"] == state, effect
            assert len(d.events(s, "commit.reached")) == committed


def test_7_what_may_not_be_taken_back_is_not_given_up(box):
    d = Desk(box, "acf: {supersede: SUPERSEDE}\ntools: {side_effects: {allow_compensatable_supersede: false}}")
    s = d.session()
    first = d.begin(s, ("write_file", {"path": "a", "content": "after"}), pay())
    until(lambda: d.turn(s, first)["calls"][0]["settled"], "the file is written")
    d.question()
    d.say(s, "never mind")
    d.allow()
    assert d.over(s, first)["state"] == "completed" and d.done() == ["1A"] and box.read("a") == "after"
    (decision,) = d.events(s, "supersede.decision")
    assert decision["decision"] == "QUEUE" and "allow_compensatable_supersede" in decision["reason"], decision


def test_7_only_what_cannot_be_undone_waits(box):
    """A message does not hold up reading and writing."""
    d = Desk(box, "acf: {supersede: ask, decision_timeout_seconds: 600}")
    s = d.session()
    first = d.begin(s, pay())
    d.question()
    d.say(s, "hm")
    second = d.begin(s, ("write_file", {"path": "b", "content": "x"}), ("read_file", {"path": "b"}))
    assert d.over(s, second)["state"] == "completed" and not d.events(s, "supersede.requested")
    # The message is still the first turn's to hear of.
    assert d.g.ok("GET", "/sessions/" + s)["pending_messages"] == 1
    d.g.ok("POST", "/sessions/%s/cancel" % s)
    d.over(s, first)


def test_7_messages_are_bounded(box):
    d = Desk(box, network="auto")
    s = d.session()
    path = "/sessions/%s/messages" % s
    d.g.refused(400, "invalid_content", "POST", path, {"content": ""})
    d.g.refused(400, "invalid_content", "POST", path, {"content": "x", "id": "i" * 65})
    d.g.refused(413, "too_large", "POST", path, {"content": "x" * (64 * 1024 + 1)})
    for i in range(64):
        d.say(s, "m%d" % i)
    d.g.refused(429, "limit_reached", "POST", path, {"content": "one more"})
    assert d.g.ok("GET", "/sessions/" + s)["pending_messages"] == 64
    turn = d.over(s, d.begin(s, pay()))
    assert len(turn["messages_taken"]) == 64 and d.done() == ["1A"] and UUID.match(turn["turn_group_id"])
    d.g.refused(404, "session_not_found", "POST", "/sessions/sess_none/messages", {"content": "x"})


def test_7_typed(box):
    d = Desk(box, network="auto")
    s = d.session()
    out = box.run("message", s[-8:], "hello")
    assert out.returncode == 0 and "waits for the next turn" in out.stdout, out
    first = d.begin(s, ("shell", {"command": "while [ ! -e stop ]; do sleep 0.05; done"}))
    until(lambda: d.g.ok("GET", "/calls")["calls"], "it runs")
    out = box.run("message", s, "-", stdin="two\nlines\n")
    assert out.returncode == 0 and "is pending: turn " + first in out.stdout, out
    out = json.loads(box.run("message", s, "x", "--json", "--id", "abc").stdout)
    assert out["message_id"] == "abc" and out["pending_messages"] == 2, out
    box.write("stop", "")
    d.over(s, first)
    assert "inbound_message" in box.run("events", "-t", "inbound_message").stdout
    assert box.run("message", s).returncode == 2


def test_7_not_from_inside_a_call(box):
    """An agent's own tool does not speak for the user, nor decide."""
    d = Desk(box, network="auto")
    s = d.session()
    result = d.g.call(s, "shell", {"command": "%s message %s hello 2>&1; true" % (box.program, s)})
    assert d.g.ok("GET", "/sessions/" + s)["pending_messages"] == 0, result.text


def test_7_turns_that_race_with_messages_run_nothing_twice(box):
    """Many turns and many messages at once: everything ends, and what is paid is what completed."""
    d = Desk(box, network="auto")
    s = d.session(turn_groups=True)
    results, lock = [], threading.Lock()

    def turns(name):
        for i in range(8):
            seat = "%s%d" % (name, i)
            answer = d.g.ok("POST", "/sessions/%s/turns" % s, {"name": "desk__pay", "input": {"seat": seat}})
            with lock:
                results.append((seat, answer))

    def speak():
        for i in range(12):
            d.g.request("POST", "/sessions/%s/messages" % s, {"content": "m%d" % i})

    threads = [threading.Thread(target=turns, args=(n,)) for n in "abc"] + [threading.Thread(target=speak)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 24
    paid = sorted(seat for seat, a in results if a["state"] == "completed" and not a["calls"][0]["is_error"])
    assert sorted(d.done()) == paid, (d.done(), paid)
    assert {a["state"] for _, a in results} <= {"completed", "superseded"}
