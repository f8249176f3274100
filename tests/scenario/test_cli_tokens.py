"""`holdfast tokens`: the count, the ids, and what it says when there is nothing to read. No gateway is needed."""
import json
import os
import subprocess

from lib import Skip, testdata

FINE, USAGE = 0, 2


def run(box, *words, stdin=b""):
    """As box.run, in bytes."""
    return subprocess.run([box.program, *words], input=stdin, capture_output=True, cwd=box.workspace, env=box.env,
                          timeout=60, start_new_session=True)


def test_the_count_is_a_line_of_its_own(box):
    box.write("a.txt", "tiktoken is great!")
    for done in (box.run("tokens", "a.txt"), box.run("tokens", stdin="tiktoken is great!"),
                 box.run("tokens", "-", stdin="tiktoken is great!")):
        assert (done.returncode, done.stdout, done.stderr) == (FINE, "6\n", "")
    assert run(box, "tokens").stdout == b"0\n"


def test_the_ids_are_one_json_array(box):
    done = run(box, "tokens", "--ids", stdin=b"tiktoken is great!")
    assert (done.returncode, done.stdout, done.stderr) == (FINE, b"[83,1609,5963,374,2294,0]\n", b"")
    assert run(box, "tokens", "--ids").stdout == b"[]\n"
    assert json.loads(run(box, "tokens", "--ids", stdin="<|endoftext|>".encode()).stdout) == [27, 91, 8862, 728, 428, 91, 29]


def test_the_vectors_hold(box):
    if not testdata():
        raise Skip("no test data")
    with open(os.path.join(testdata(), "vectors", "cl100k_vectors.json")) as file:
        rows = json.load(file)
    for row in rows:
        text = row["text"].encode()
        assert json.loads(run(box, "tokens", "--ids", stdin=text).stdout) == row["tokens"], row
        assert run(box, "tokens", stdin=text).stdout == b"%d\n" % row["count"], row


def test_any_bytes_have_a_count(box):
    bad = b"a\xff\xfe \xe2\x82"
    ids = json.loads(run(box, "tokens", "--ids", stdin=bad).stdout)
    assert run(box, "tokens", stdin=bad).stdout == b"%d\n" % len(ids)


def test_a_large_file_is_counted_piece_by_piece(box):
    line = "The holdfast keeps the work on the bench, whatever the saw does.\n"
    one = int(box.run("tokens", stdin=line).stdout)
    box.write("large.txt", line * 100000)
    done = box.run("tokens", "large.txt")
    assert (done.returncode, done.stdout, done.stderr) == (FINE, "%d\n" % (one * 100000), "")


def test_what_cannot_be_read_is_said(box):
    done = box.run("tokens", "none.txt")
    assert (done.returncode, done.stdout) == (USAGE, "") and done.stderr == "holdfast: none.txt: No such file or directory\n"
    done = box.run("tokens", ".")
    assert (done.returncode, done.stdout) == (USAGE, "") and "directory" in done.stderr
    assert box.run("tokens", "a", "b").returncode == USAGE
