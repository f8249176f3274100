"""Two gateways on one real Redis: a key is done once, whatever happens to the server meanwhile."""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from lib import Box, Skip, free_port, until

SERVERS = ["redis-server", "valkey-server", "redis-check-rdb"]  # Debian's redis-tools has it as the last


class Redis:
    """A server of its own on a free loopback port, ended by its id."""

    def __init__(self, *options):
        self.program = next(filter(None, map(shutil.which, SERVERS)), None)
        if not self.program:
            raise Skip("there is no redis-server here")
        self.dir = tempfile.mkdtemp(prefix="holdfast-redis-")
        self.port = free_port()
        self.options = options
        self.process = None
        self.start()

    @property
    def url(self):
        return "redis://127.0.0.1:%d" % self.port

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.dir, "--save", "",
             *(self.options or ["--appendonly", "yes", "--appendfsync", "always"])],
            executable=self.program, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


CONFIG = """
tool_confirmation: {default: {READ: auto, WRITE: auto, EXECUTE: auto}}
tools: {defaults: {repeat_limit: 0}}
tool_gateway: {idempotency: {backend: redis, url: "%s", key_prefix: tool_idem, default_ttl: 3600}}
"""


class World:
    """Machines with homes of their own, one workspace, one Redis."""

    def __init__(self, box, machines, *options, url=None):
        self.redis = Redis(*options)
        self.boxes = []
        try:
            for i in range(machines):
                one = box if i == 0 else Box(os.path.dirname(box.program), box.root)
                self.boxes.append(one)
                one.config(CONFIG % (url or self.redis.url))
            self.log = os.path.join(box.workspace, "log")
            open(self.log, "w").close()
            self.gateways = [one.serve() for one in self.boxes]
            self.workspace = box.workspace
            for g in self.gateways:
                self.ready(g)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close(quiet=kind is not None)

    def close(self, quiet=False):
        self.redis.close()
        for one in self.boxes[1:]:
            one.close(quiet=quiet)

    def state(self, gateway):
        return gateway.ok("GET", "/claims")["state"]

    def ready(self, gateway):
        until(lambda: self.state(gateway) == "ready", "the claims can be reached")

    def do(self, gateway, session, key, word=None):
        """The effect: a line in a log nobody here keeps. (error code or None, text)"""
        turn = gateway.ok("POST", "/sessions/%s/turns" % session, {
            "name": "shell", "input": {"command": "echo %s >> log" % (word or key)}, "idempotency_key": key})
        block = turn["content"][0]
        return block["is_error"], "\n".join(b.get("text", "") for b in block["content"])

    def done(self):
        with open(self.log) as file:
            return file.read().split()


def race(world, keys, clients, meanwhile):
    """Every client wants every key; it asks again while it is told to."""
    trouble, over = [], threading.Event()

    def client(number):
        gateway = world.gateways[number % len(world.gateways)]
        try:
            session = gateway.session(world.workspace)
            wanted = keys[:]
            random.Random(number).shuffle(wanted)
            for key in wanted:
                end = time.monotonic() + 150
                while True:
                    is_error, text = world.do(gateway, session, key)
                    if not is_error:
                        break
                    assert "under way" in text or "cannot be reached" in text or "not known" in text, text
                    if "not known" in text:
                        break  # only a person can tell; it is never done again by itself
                    assert time.monotonic() < end, text
                    over.wait(0.05)
        except Exception as why:
            trouble.append(why)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    for t in threads:
        t.start()
    meanwhile()
    for t in threads:
        t.join()
    assert not trouble, trouble[0]


def test_7_a_key_is_done_once_by_two_gateways_and_64_clients(box):
    with World(box, 2) as world:
        keys = ["key%d" % i for i in range(24)]

        def restart_redis():
            until(lambda: len(world.done()) >= 4, "some are done", 60)
            world.redis.kill()
            until(lambda: all(world.state(g) == "away" for g in world.gateways), "both have noticed")
            world.redis.start()
            for g in world.gateways:
                world.ready(g)

        race(world, keys, 64, restart_redis)
        assert sorted(world.done()) == sorted(keys), world.done()
        # Both know of all of it, and give the same.
        for gateway in world.gateways:
            session = gateway.session(world.workspace)
            for key in keys:
                assert world.do(gateway, session, key)[0] is False
        assert len(world.done()) == len(keys)


def test_7_the_result_of_one_gateway_is_given_by_the_other(box):
    with World(box, 2) as world:
        a, b = world.gateways
        first = world.do(a, a.session(world.workspace), "k")
        again = world.do(b, b.session(world.workspace), "k")
        assert first == again and first[0] is False
        other = world.do(b, b.session(world.workspace), "k", "something-else")
        assert other[0] and "other arguments" in other[1], other
        assert world.done() == ["k"]


def test_7_without_redis_effects_are_refused_and_reads_go_on(box):
    with World(box, 1) as world:
        gateway, session = world.gateways[0], world.gateways[0].session(world.workspace)
        assert world.do(gateway, session, "before")[0] is False
        world.redis.kill()
        until(lambda: world.state(gateway) == "away", "it is noticed")
        is_error, text = world.do(gateway, session, "while")
        assert is_error and "cannot be reached" in text and "nothing was begun" in text, text
        box.write("a.txt", "hello")
        turn = gateway.ok("POST", "/sessions/%s/turns" % session, {
            "name": "read_file", "input": {"path": "a.txt"}, "idempotency_key": "read"})
        assert turn["content"][0]["is_error"] is False, turn
        assert not gateway.call(session, "list_dir", {"path": "."}).is_error
        told = box.run("doctor").stdout
        assert "redis" in told and "127.0.0.1:%d" % world.redis.port in told, told
        status, text = gateway.get("/metrics")
        assert "\nholdfast_claims_ready 0\n" in text
        world.redis.start()
        world.ready(gateway)
        assert world.do(gateway, session, "while")[0] is False
        assert world.done() == ["before", "while"]


def test_7_a_redis_that_forgot_everything_is_not_believed(box):
    with World(box, 1, "--appendonly", "no") as world:
        gateway = world.gateways[0]
        session = gateway.session(world.workspace)
        assert "appendonly" in gateway.ok("GET", "/claims")["warning"]
        assert gateway.log().count("appendonly yes") == 1
        assert world.do(gateway, session, "k")[0] is False
        assert "has forgotten nothing" in gateway.refused(403, "forbidden", "POST", "/claims/accept", {})
        world.redis.kill()
        world.redis.start()
        until(lambda: world.state(gateway) == "lost", "it is noticed")
        is_error, text = world.do(gateway, session, "new")
        assert is_error and "forgotten" in text, text
        # Also by one that begins now, with the same state.
        gateway.stop()
        gateway = box.serve()
        until(lambda: world.state(gateway) == "lost", "it is noticed again")
        session = gateway.session(world.workspace)
        assert world.do(gateway, session, "new")[0]
        shown = box.run("claims")
        assert shown.returncode == 0 and "lost" in shown.stdout, shown
        said = box.run("claims", "accept")
        assert said.returncode == 0, said
        world.ready(gateway)
        assert world.do(gateway, session, "new")[0] is False
        # What it did itself it knows all the same.
        assert world.do(gateway, session, "k")[0] is False
        assert world.done() == ["k", "new"]


def test_7_what_a_killed_gateway_began_is_unknown_to_the_others(box):
    with World(box, 2) as world:
        a, b = world.gateways
        session = a.session(world.workspace)
        a.start(session, "shell", {"command": "echo once >> log; sleep 600"}, idempotency_key="k")
        until(lambda: world.done() == ["once"], "it is at work")
        session = b.session(world.workspace)
        body = {"name": "shell", "input": {"command": "echo once >> log; sleep 600"}, "idempotency_key": "k"}

        def ask():
            return b.ok("POST", "/sessions/%s/turns" % session, body)["content"][0]["content"][0]["text"]
        assert "under way" in ask()
        a.kill()
        # Its sign of life ends, and then nobody knows.
        until(lambda: "not known" in ask(), "it is unknown", 40)
        # It comes back, and tells what a person says.
        a = world.boxes[0].serve()
        world.ready(a)
        effects = a.ok("GET", "/effects?unknown=1")["effects"]
        assert len(effects) == 1, effects
        said = world.boxes[0].run("effects", "resolve", effects[0]["id"], "--done")
        assert said.returncode == 0, said
        until(lambda: "done before" in ask(), "the other knows", 40)
        assert world.done() == ["once"]


def test_7_what_may_be_done_twice_is_written_down_twice(box):
    """Its process was killed, and its sign of life still holds: nothing begins that was not taken."""
    with World(box, 1) as world:
        world.gateways[0].stop()
        box.config((CONFIG % world.redis.url).replace("limit: 0}}", "limit: 0}, shell: {side_effect_policy: idempotent}}"))
        a = box.serve()
        world.ready(a)
        command = {"command": "echo once >> log; test -e go || sleep 600"}
        a.start(a.session(world.workspace), "shell", command, idempotency_key="k")
        until(lambda: world.done() == ["once"], "it is at work")
        a.kill()
        box.write("go", "")
        a = box.serve()
        world.ready(a)
        session = a.session(world.workspace)
        first = a.call(session, "shell", command, idempotency_key="k")
        assert first.is_error and "under way" in first.text, first.text
        until(lambda: not a.call(session, "shell", command, idempotency_key="k").is_error, "it is ours", 40)
        assert world.done() == ["once", "once"]
        assert [e["state"] for e in a.ok("GET", "/effects")["effects"]] == ["done", "unknown"]


def test_7_redis_secrets_are_not_told(box):
    redis = Redis("--requirepass", "s3cret-word")
    try:
        box.env["REDIS_PASSWORD"] = "s3cret-word"
        box.config(CONFIG % ("redis://:${REDIS_PASSWORD}@127.0.0.1:%d" % redis.port))
        gateway = box.serve("--log-level", "debug")
        until(lambda: gateway.ok("GET", "/claims")["state"] == "ready", "it is let in")
        told = json.dumps(gateway.ok("GET", "/claims")) + json.dumps(gateway.ok("GET", "/status")) + box.run("doctor").stdout
        assert "s3cret" not in told + gateway.log()
        gateway.stop()
        box.env["REDIS_PASSWORD"] = "wr0ng"
        gateway = box.serve()
        until(lambda: "refuses us" in (gateway.ok("GET", "/claims")["problem"] or ""), "it is turned away")
        assert "wr0ng" not in json.dumps(gateway.ok("GET", "/claims")) + gateway.log()
        del box.env["REDIS_PASSWORD"]
        checked = box.run("config", "check")
        assert checked.returncode != 0 and "REDIS_PASSWORD is not set" in checked.stderr + checked.stdout, checked
    finally:
        redis.close()
