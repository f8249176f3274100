"""Files inside the workspace, and nothing outside it: escapes, races, our own directories, and plain work."""
import json
import os
import stat
import subprocess
import sys
import urllib.parse

from lib import Skip, testdata, until

AUTO = "tool_confirmation: {default: {WRITE: auto, EXECUTE: auto}}\n"
SECRET = "the secret outside"
CANARY = "canary that must not get out"


def harmless(box, path, base=None):
    """Where would it lead if nobody kept it in? Writing is tried only where that stays in the box:
    a gateway that lets a path out must fail the test, not lose the machine its /etc/passwd."""
    try:
        real = os.path.realpath(os.path.join(base or box.workspace, path))
    except (ValueError, OSError):
        return False
    return real.startswith(os.path.realpath(box.dir) + "/")


def calls_on(box, path, base=None):
    """Every tool that takes a path, on this one; those that write only where a failure does no harm."""
    calls = [("read_file", {"path": path}), ("list_dir", {"path": path})]
    if harmless(box, path, base):
        calls += [("write_file", {"path": path, "content": CANARY}), ("patch_file", {"path": path, "old": SECRET, "new": CANARY})]
    return calls


def outside_of(box):
    """A folder beside the workspace with a secret in it, and one whose name begins like the workspace's."""
    for name in ("outside", "workspace_evil"):
        folder = box.make_dir(name)
        for file in ("secret.txt", "only-outside"):
            with open(os.path.join(folder, file), "w") as out:
                out.write(SECRET)
    return os.path.join(box.dir, "outside")


def state_outside(box):
    """All there is beside the workspace and the gateway's own directories."""
    found = {}
    for name in ("outside", "workspace_evil"):
        for folder, folders, files in os.walk(os.path.join(box.dir, name)):
            for each in folders + files:
                path = os.path.join(folder, each)
                found[path] = open(path).read() if os.path.isfile(path) else None
    return found


def refuse_all(box, gateway, session, paths, classes=("permission_denied",)):
    before = state_outside(box)
    for path in paths:
        for name, input in calls_on(box, path):
            result = gateway.call(session, name, input)
            assert result.is_error, (name, path, result.text)
            assert result.error_class in classes, (name, path, result.error_class, result.text)
            assert SECRET not in result.text, (name, path)
    assert state_outside(box) == before


def test_lexical_escapes_are_refused_by_every_tool(box):
    box.config(AUTO)
    outside = outside_of(box)
    box.write("sub/a.txt", "inside")
    gateway = box.serve()
    refuse_all(box, gateway, gateway.session(), [
        "../outside/secret.txt", "..", "../", "sub/../../outside/secret.txt", "sub/../../outside",
        "./../outside/secret.txt", "sub/./.././../outside/secret.txt", "new/../../outside/new.txt",
        outside + "/secret.txt", outside, "/", "/etc/passwd", "//etc//passwd", "/proc/self/environ",
        box.workspace + "/../outside/secret.txt", box.workspace + "_evil/secret.txt", box.workspace + "_evil",
        "../workspace_evil/secret.txt", "/proc/self/cwd/secret.txt", "/dev/null",
    ])


def test_links_that_lead_out_are_refused_by_every_tool(box):
    box.config(AUTO)
    outside = outside_of(box)
    for name, target in (("file", outside + "/secret.txt"), ("folder", outside), ("climbing", "../outside"),
                         ("root", "/"), ("magic", "/proc/self/root"), ("chain", "folder"), ("chain2", "chain/secret.txt"),
                         ("new", outside + "/not-there-yet.txt"), ("proc", "/proc/self/fd")):
        os.symlink(target, os.path.join(box.workspace, name))
    gateway = box.serve()
    session = gateway.session()
    refuse_all(box, gateway, session, [
        "file", "folder", "folder/secret.txt", "folder/made.txt", "folder/made/deep.txt", "climbing/secret.txt", "root",
        "root/etc/passwd", "magic/etc/passwd", "chain/secret.txt", "chain2", "chain/../outside/secret.txt", "new", "proc/0"],
        classes=("permission_denied", "execution_error"))


def test_links_that_stay_inside_work(box):
    box.config(AUTO)
    box.write("real/a.txt", "alpha")
    os.symlink("real", os.path.join(box.workspace, "dir"))
    os.symlink("real/a.txt", os.path.join(box.workspace, "file"))
    gateway = box.serve()
    session = gateway.session()
    assert gateway.call(session, "read_file", {"path": "dir/a.txt"}).text == "alpha"
    assert gateway.call(session, "read_file", {"path": "file"}).text == "alpha"
    assert not gateway.call(session, "write_file", {"path": "file", "content": "beta"}).is_error
    assert box.read("real/a.txt") == "beta" and os.path.islink(os.path.join(box.workspace, "file"))


def test_a_loop_of_links_is_an_error(box):
    for a, b in (("one", "two"), ("two", "one")):
        os.symlink(b, os.path.join(box.workspace, a))
    gateway = box.serve()
    result = gateway.call(gateway.session(), "read_file", {"path": "one"})
    assert result.is_error and result.text


def test_odd_paths_get_a_clear_error(box):
    box.config(AUTO)
    gateway = box.serve()
    session = gateway.session()
    for path in ("", "a\0b", "x" * 5000, "x" * 300, "a/" * 3000, "\udcff"):
        for name, input in calls_on(box, path):
            body = json.dumps({"name": name, "input": input})
            status, answer = gateway.request("POST", "/sessions/%s/turns" % session, body)
            assert status == 400 or status == 200 and answer["content"][0]["is_error"], (path, name, status, answer)
    assert os.listdir(box.workspace) == []


def test_names_with_odd_characters_are_only_names(box):
    box.config(AUTO)
    gateway = box.serve()
    session = gateway.session()
    for name in ("~", "$HOME", "`id`", "a b", "-rf", "*", "..a", "...", "a\\b", "%2e%2e", "ä\u202e", "a\nb", "C:\\x", "\x1b[31m"):
        result = gateway.call(session, "write_file", {"path": name, "content": name})
        assert not result.is_error, (name, result.text)
        assert box.read(name) == name
        assert gateway.call(session, "read_file", {"path": name}).text == name
    assert len(gateway.call(session, "list_dir", {}).text.splitlines()) == 14


SWAPPER = """
import ctypes, os, sys
workspace, inside, outside = sys.argv[1:]
os.chdir(workspace)
libc = ctypes.CDLL(None, use_errno=True)
def point(name, target):
    os.symlink(target, name + ".next")
    os.rename(name + ".next", name)
def exchange(a, b):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2) != 0:  # AT_FDCWD, RENAME_EXCHANGE
        raise OSError(ctypes.get_errno(), "renameat2")
os.symlink(outside, "way-out")
swaps = 0
print("ready", flush=True)
while not os.path.exists("enough"):
    for target in (inside, outside):
        point("dir", target)
        point("file", target + "/secret.txt")
        exchange("place", "way-out")  # a true directory and a link out, under one name
        swaps += 3
print(swaps)
"""


def test_a_link_swapped_under_the_tools_never_leads_out(box):
    box.config(AUTO)
    outside = outside_of(box)
    for folder in ("in", "place"):
        box.write(folder + "/secret.txt", "inside")
    for name, target in (("dir", "in"), ("file", "in/secret.txt")):
        os.symlink(target, os.path.join(box.workspace, name))
    before = state_outside(box)
    gateway = box.serve()
    session = gateway.session()
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, box.workspace, "in", outside],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert swapper.stdout.readline() == "ready\n"
        read = {"inside": 0, "refused": 0}
        for i in range(25):
            for path in ("dir/secret.txt", "file", "place/secret.txt", "in/../dir/secret.txt"):
                result = gateway.call(session, "read_file", {"path": path})
                assert SECRET not in result.text, path
                read["refused" if result.is_error else "inside"] += 1
            for path in ("dir/made-%d.txt" % i, "dir/secret.txt", "file", "place/deep/er/made-%d.txt" % i, "place/secret.txt"):
                gateway.call(session, "write_file", {"path": path, "content": "inside"})
            for path in ("dir", "place"):
                assert "only-outside" not in gateway.call(session, "list_dir", {"path": path}).text, path
            gateway.call(session, "patch_file", {"path": "dir/secret.txt", "old": SECRET, "new": CANARY})
    finally:
        open(os.path.join(box.workspace, "enough"), "w").close()
        out, err = swapper.communicate(timeout=20)
    assert swapper.returncode == 0, err
    assert int(out) > 1000, "the swapper hardly ran"
    assert state_outside(box) == before
    assert read["inside"] + read["refused"] == 100


def own_directories(box):
    """Everything of the gateway inside the home, and the home is the workspace."""
    home = box.env["HOME"]
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        del box.env[variable]
    box.env["XDG_RUNTIME_DIR"] = os.path.join(home, "run")
    os.makedirs(os.path.join(home, "run"), mode=0o700)
    os.makedirs(os.path.join(home, ".config", "holdfast"))
    with open(os.path.join(home, ".config", "holdfast", "config.yaml"), "w") as out:
        out.write(AUTO)
    return home


def test_the_gateways_own_files_are_closed_even_when_home_is_the_workspace(box):
    home = own_directories(box)
    gateway = box.serve()
    token = open(os.path.join(home, ".local/state/holdfast/token")).read().strip()
    assert token == gateway.token
    os.symlink(".local/state/holdfast", os.path.join(home, "innocent"))
    os.symlink(".config/holdfast/config.yaml", os.path.join(home, "innocent.yaml"))
    session = gateway.session(home)
    closed = [".config/holdfast/config.yaml", ".config/holdfast", ".config/holdfast/new.yaml", ".local/state/holdfast/token",
              ".local/state/holdfast/holdfast.db", ".local/state/holdfast/new", ".local/state/holdfast", "innocent/token", "innocent",
              "innocent.yaml", home + "/.config/holdfast/config.yaml", ".config/../.config/holdfast/config.yaml", "run/holdfast.sock"]
    for path in closed:
        for name, input in calls_on(box, path, home):
            result = gateway.call(session, name, input)
            assert result.is_error and token not in result.text and "EXECUTE" not in result.text, (path, name, result.text)
    assert open(os.path.join(home, ".config/holdfast/config.yaml")).read() == AUTO
    assert stat.S_ISSOCK(os.stat(os.path.join(home, "run/holdfast.sock")).st_mode)
    assert sorted(os.listdir(os.path.join(home, ".config/holdfast"))) == ["config.yaml"]
    # What lies beside them is the user's.
    assert not gateway.call(session, "write_file", {"path": ".config/other.yaml", "content": "x"}).is_error
    assert "holdfast" in gateway.call(session, "list_dir", {"path": ".config"}).text


def test_a_configuration_given_by_name_is_closed_too(box):
    path = os.path.join(box.workspace, "policy.yaml")
    with open(path, "w") as out:
        out.write(AUTO)
    gateway = box.serve("--config", path)
    session = gateway.session()
    for name, input in calls_on(box, "policy.yaml"):
        assert gateway.call(session, name, input).is_error, name
    assert open(path).read() == AUTO


def test_a_workspace_inside_the_gateways_own_directories_opens_nothing(box):
    gateway = box.serve()
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast")
    status, answer = gateway.post("/sessions", {"workspace": state})
    if status == 201:
        result = gateway.call(answer["session_id"], "read_file", {"path": "token"})
        assert result.error_class == "permission_denied", result.text


def test_write_keeps_the_mode_and_makes_parents(box):
    box.config(AUTO)
    for name, mode in (("run.sh", 0o755), ("private", 0o600), ("odd", 0o640)):
        os.chmod(box.write(name, "old"), mode)
    gateway = box.serve()
    session = gateway.session()
    for name, mode in (("run.sh", 0o755), ("private", 0o600), ("odd", 0o640)):
        assert not gateway.call(session, "write_file", {"path": name, "content": "new"}).is_error
        assert stat.S_IMODE(os.stat(os.path.join(box.workspace, name)).st_mode) == mode
        assert not gateway.call(session, "patch_file", {"path": name, "old": "new", "new": "newer"}).is_error
        assert stat.S_IMODE(os.stat(os.path.join(box.workspace, name)).st_mode) == mode
        assert box.read(name) == "newer"
    result = gateway.call(session, "write_file", {"path": "a/b/c/deep.txt", "content": "deep"})
    assert not result.is_error and box.read("a/b/c/deep.txt") == "deep"
    assert result.outcome["files_modified"] == ["a/b/c/deep.txt"], result.outcome
    assert sorted(os.listdir(box.workspace)) == ["a", "odd", "private", "run.sh"]  # nothing temporary stays


def test_a_write_to_a_hard_link_leaves_the_other_name_alone(box):
    box.config(AUTO)
    outside = outside_of(box)
    os.link(os.path.join(outside, "secret.txt"), os.path.join(box.workspace, "linked.txt"))
    gateway = box.serve()
    gateway.call(gateway.session(), "write_file", {"path": "linked.txt", "content": "changed"})
    assert open(os.path.join(outside, "secret.txt")).read() == SECRET


def test_special_files_do_not_hang_a_tool(box):
    box.config(AUTO)
    os.mkfifo(os.path.join(box.workspace, "pipe"))
    gateway = box.serve()
    session = gateway.session()
    for name, input in calls_on(box, "pipe"):
        result = gateway.call(session, name, input)
        assert result.is_error and result.error_class == "execution_error", (name, result.text)
    assert stat.S_ISFIFO(os.stat(os.path.join(box.workspace, "pipe")).st_mode)


def test_errors_say_what_is_wrong(box):
    box.config(AUTO)
    box.write("dir/a.txt", "x")
    gateway = box.serve()
    session = gateway.session()
    for name, input, said in (
            ("read_file", {"path": "nope.txt"}, "no such file: nope.txt"),
            ("read_file", {"path": "dir"}, "is a directory: dir"),
            ("read_file", {"path": "dir/a.txt/b"}, "dir/a.txt/b"),
            ("write_file", {"path": "dir", "content": "x"}, "is a directory: dir"),
            ("write_file", {"path": "dir/a.txt/b", "content": "x"}, "dir/a.txt/b"),
            ("list_dir", {"path": "dir/a.txt"}, "dir/a.txt"),
            ("list_dir", {"path": "nope"}, "nope"),
            ("patch_file", {"path": "nope.txt", "old": "a", "new": "b"}, "no such file: nope.txt"),
            ("read_file", {"path": "../x"}, "Path '../x' escapes workspace boundary")):
        result = gateway.call(session, name, input)
        assert result.is_error and said in result.text, (name, input, result.text)


def test_patch_needs_exactly_one_place(box):
    box.config(AUTO)
    box.write("a.txt", "one two two\n")
    box.write("crlf.txt", "one\r\ntwo\r\nend")
    gateway = box.serve()
    session = gateway.session()
    for old, said in (("two", "2"), ("three", "not found")):
        result = gateway.call(session, "patch_file", {"path": "a.txt", "old": old, "new": "x"})
        assert result.is_error and said in result.text, result.text
    assert box.read("a.txt") == "one two two\n"
    assert gateway.call(session, "patch_file", {"path": "a.txt", "old": "", "new": "x"}).error_class == "validation_error"
    assert not gateway.call(session, "patch_file", {"path": "a.txt", "old": "one ", "new": ""}).is_error
    assert box.read("a.txt") == "two two\n"
    assert not gateway.call(session, "patch_file", {"path": "crlf.txt", "old": "two\r\n", "new": "2\r\n"}).is_error
    assert box.read("crlf.txt") == "one\r\n2\r\nend"


def test_list_dir(box):
    for name in ("b.txt", "a/x.txt", ".hidden", "Z"):
        box.write(name, "")
    gateway = box.serve()
    session = gateway.session()
    assert gateway.call(session, "list_dir", {}).text.splitlines() == [".hidden", "Z", "a/", "b.txt"]
    assert gateway.call(session, "list_dir", {"path": "a"}).text.splitlines() == ["x.txt"]
    os.makedirs(os.path.join(box.workspace, "none"))
    assert gateway.call(session, "list_dir", {"path": "none"}).text == "(empty)"
    for i in range(11000):
        open(os.path.join(box.workspace, "none", "%05d" % i), "w").close()
    result = gateway.call(session, "list_dir", {"path": "none"})
    assert not result.is_error and "11000" in result.text and result.text.startswith("00000\n")


def test_large_files_come_in_parts(box):
    box.write("big.txt", "".join("line %06d\n" % i for i in range(1, 60001)))
    box.write("long.txt", "x" * 2000000)
    gateway = box.serve()
    session = gateway.session()
    result = gateway.call(session, "read_file", {"path": "big.txt"})
    assert result.text.startswith("line 000001\n") and len(result.text) < 300 * 1024 and "offset" in result.text[-300:]
    result = gateway.call(session, "read_file", {"path": "big.txt", "offset": 59999})
    assert result.text == "line 059999\nline 060000\n"
    result = gateway.call(session, "read_file", {"path": "big.txt", "offset": 10, "limit": 2})
    assert result.text.startswith("line 000010\nline 000011\n") and "000012" not in result.text
    result = gateway.call(session, "read_file", {"path": "long.txt"})
    assert len(result.text) < 300 * 1024
    result = gateway.call(session, "read_file", {"path": "big.txt", "offset": 70000})
    assert "60000" in result.text


def test_files_over_the_limit_are_refused_and_stay(box):
    box.config(AUTO)
    path = box.write("huge.bin", "")
    os.truncate(path, 20 << 20)
    gateway = box.serve()
    session = gateway.session()
    for name, input in (("read_file", {"path": "huge.bin"}), ("patch_file", {"path": "huge.bin", "old": "a", "new": "b"})):
        result = gateway.call(session, name, input)
        assert result.is_error and "large" in result.text, (name, result.text)
    assert os.path.getsize(path) == 20 << 20


def test_binary_files_are_refused_and_can_be_replaced(box):
    box.config(AUTO)
    box.write("bin.dat", bytes(range(256)))
    box.write("nul.txt", "a\0b")
    gateway = box.serve()
    session = gateway.session()
    result = gateway.call(session, "read_file", {"path": "bin.dat"})
    assert result.is_error and "UTF-8" in result.text, result.text
    assert not gateway.call(session, "write_file", {"path": "bin.dat", "content": "text now"}).is_error
    assert box.read("bin.dat") == "text now"
    result = gateway.call(session, "read_file", {"path": "nul.txt"})
    assert result.is_error or result.text == "a\0b"


def test_content_is_written_to_the_byte(box):
    box.config(AUTO)
    gateway = box.serve()
    session = gateway.session()
    for content in ("", "\n", "no newline", "a\r\nb\r\n", "\ufeffbom", "tab\there", "𝄞 ä \u2028", "x" * 3000000):
        assert not gateway.call(session, "write_file", {"path": "a.txt", "content": content}).is_error
        with open(os.path.join(box.workspace, "a.txt"), "rb") as file:
            assert file.read() == content.encode()


def test_the_workspace_may_be_moved_and_removed_under_a_session(box):
    box.config(AUTO)
    box.write("a.txt", "alpha")
    gateway = box.serve()
    session = gateway.session()
    os.rename(box.workspace, box.workspace + "-moved")
    os.symlink(outside_of(box), box.workspace)
    result = gateway.call(session, "read_file", {"path": "secret.txt"})
    assert result.is_error and SECRET not in result.text
    assert gateway.call(session, "read_file", {"path": "a.txt"}).text == "alpha"
    os.unlink(box.workspace)
    os.rename(box.workspace + "-moved", box.workspace)


def payloads(most):
    """A sample of the battery, each as it is and percent-decoded once and twice."""
    root = testdata()
    path = root and os.path.join(root, "batteries", "paths", "payloads.txt")
    if not path or not os.path.exists(path):
        raise Skip("the test data is not here")
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n") for line in file if line.strip()]
    found = []
    for line in lines[::max(1, len(lines) * 3 // most)]:
        once = urllib.parse.unquote(line)
        found += {line: 0, once: 0, urllib.parse.unquote(once): 0}
    return found


def ask_all(gateway, session, calls):
    """The texts of many calls, a message of 64 at a time."""
    texts = []
    for at in range(0, len(calls), 64):
        blocks = [{"type": "tool_use", "id": "c%d" % i, "name": name, "input": input}
                  for i, (name, input) in enumerate(calls[at:at + 64])]
        turn = gateway.ok("POST", "/sessions/%s/turns" % session, {"content": blocks})
        texts += ["".join(b["text"] for b in block["content"]) for block in turn["content"]]
    return texts


def test_path_payloads_read_nothing_outside(box):
    tried = payloads(500)
    gateway = box.serve()
    calls = [("read_file", {"path": path}) for path in tried] + [("list_dir", {"path": path}) for path in tried]
    for (name, input), text in zip(calls, ask_all(gateway, gateway.session(), calls)):
        assert "root:" not in text and "passwd\n" not in text, (name, input, text[:200])


def test_path_payloads_write_nothing_outside(box):
    """In a workspace so deep that climbing out of it still ends in the box; and there the way is open."""
    box.config(AUTO)
    deep = box.make_dir("nest/" + "d/" * 60 + "workspace")
    leading_out = {}
    for path in payloads(1 << 20):
        target = os.path.realpath(os.path.join(deep, path)) if harmless(box, path, deep) else deep + "/"
        if not target.startswith(deep + "/"):
            leading_out[path] = target
    assert len(leading_out) > 30, len(leading_out)
    for target in leading_out.values():
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.isdir(target):
            with open(target, "w") as out:
                out.write(SECRET)
    gateway = box.serve()
    ask_all(gateway, gateway.session(deep), [("write_file", {"path": path, "content": CANARY}) for path in leading_out])
    for folder, _, files in os.walk(os.path.join(box.dir, "nest")):
        for path in [os.path.join(folder, name) for name in files if not (folder + "/").startswith(deep + "/")]:
            assert path in leading_out.values() and open(path).read() == SECRET, path
