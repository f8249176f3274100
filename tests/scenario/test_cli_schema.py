"""`holdfast schema` and `holdfast json`: what they print, and which code they end with. No gateway is needed."""
import hashlib
import json
import os
import subprocess

from lib import Skip, testdata

FINE, REFUSED, USAGE, NO_SCHEMA = 0, 1, 2, 3

ORDER = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"qty": {"type": "integer", "minimum": 1}}}},
        "when": {"type": "string", "format": "date"},
    },
    "required": ["path"],
    "additionalProperties": False,
}
GOOD = {"path": "a", "items": [{"qty": 1}]}
BAD = {"path": "a", "items": [{"qty": 1}, {"qty": 0}], "pathh": "b"}


def run(box, *words, stdin=b""):
    """As box.run, in bytes."""
    return subprocess.run([box.program, *words], input=stdin, capture_output=True, cwd=box.workspace, env=box.env,
                          timeout=60, start_new_session=True)


def write(box, **files):
    """name=value becomes name.json"""
    for name, value in files.items():
        box.write(name + ".json", json.dumps(value))


# schema check


def test_a_value_that_fits_ends_with_0_and_nothing_is_said(box):
    write(box, schema=ORDER, good=GOOD)
    done = box.run("schema", "check", "schema.json", "good.json")
    assert (done.returncode, done.stdout, done.stderr) == (FINE, "", "")
    done = box.run("schema", "check", "schema.json")
    assert (done.returncode, done.stdout, done.stderr) == (FINE, "", "")


def test_a_value_that_does_not_ends_with_1_and_a_line_per_error(box):
    write(box, schema=ORDER, bad=BAD)
    done = box.run("schema", "check", "schema.json", "bad.json")
    assert (done.returncode, done.stderr) == (REFUSED, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and done.stdout.endswith("\n"), done.stdout
    assert "/items/1/qty: must be at least 1, got 0" in lines, done.stdout
    assert any(line.startswith("/pathh: ") and "did you mean path?" in line for line in lines), done.stdout


def test_as_json_the_answer_is_one_object(box):
    write(box, schema=ORDER, good=GOOD, bad=BAD)
    done = box.run("schema", "check", "schema.json", "good.json", "--json")
    assert done.returncode == FINE and json.loads(done.stdout) == {"valid": True, "errors": []}
    done = box.run("schema", "check", "--json", "schema.json")
    assert done.returncode == FINE and json.loads(done.stdout) == {"valid": True, "errors": []}
    done = box.run("schema", "check", "schema.json", "bad.json", "--json")
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (REFUSED, "", 1)
    answer = json.loads(done.stdout)
    assert set(answer) == {"valid", "errors"} and answer["valid"] is False
    assert {(e["path"], e["keyword"]) for e in answer["errors"]} == {
        ("/items/1/qty", "minimum"), ("/pathh", "additionalProperties")}
    assert all(set(e) == {"path", "keyword", "message"} and e["message"] for e in answer["errors"])


def test_either_may_be_standard_input(box):
    write(box, schema=ORDER, good=GOOD)
    assert box.run("schema", "check", "schema.json", "-", stdin=json.dumps(GOOD)).returncode == FINE
    assert box.run("schema", "check", "schema.json", "-", stdin=json.dumps(BAD)).returncode == REFUSED
    assert box.run("schema", "check", "-", "good.json", stdin=json.dumps(ORDER)).returncode == FINE
    assert box.run("schema", "check", "-", stdin=json.dumps(ORDER)).returncode == FINE
    done = box.run("schema", "check", "-", stdin='{"type": 1}')
    assert done.returncode == NO_SCHEMA and done.stderr.startswith("holdfast: standard input: /type: "), done
    done = box.run("schema", "check", "-", "-", stdin="{}")
    assert done.returncode == USAGE and "standard input" in done.stderr


def test_a_schema_that_is_refused_ends_with_3_and_names_the_place(box):
    for schema, place in (({"properties": {"a": {"type": "strnig"}}}, "/properties/a/type"),
                          ({"properties": {"a": {"minimum": "1"}}}, "/properties/a/minimum"),
                          ({"$defs": {"x": {"pattern": "("}}, "$ref": "#/$defs/x"}, "/$defs/x/pattern"),
                          ({"$ref": "#/$defs/nope"}, "/$ref"),
                          (7, ": ")):
        write(box, schema=schema, good=GOOD)
        for words in (["schema.json"], ["schema.json", "good.json"]):
            done = box.run("schema", "check", *words)
            assert (done.returncode, done.stdout) == (NO_SCHEMA, ""), (schema, done)
            assert done.stderr.startswith("holdfast: schema.json: ") and place in done.stderr, (schema, done)
        done = box.run("schema", "check", "schema.json", "--json")
        answer = json.loads(done.stdout)
        assert (done.returncode, done.stderr, set(answer)) == (NO_SCHEMA, "", {"valid", "schema_error"})
        assert answer["valid"] is False and place in ": " + answer["schema_error"], answer


def test_nothing_is_fetched(box):
    write(box, schema={"properties": {"a": {"$ref": "http://127.0.0.1:9/other.json"}}}, value={})
    done = box.run("schema", "check", "schema.json", "value.json")
    assert done.returncode == NO_SCHEMA
    assert "/properties/a/$ref" in done.stderr and "http://127.0.0.1:9/other.json" in done.stderr, done.stderr


def test_the_draft_is_what_the_schema_says_or_the_option(box):
    pair = {"items": [{"type": "string"}, {"type": "number"}]}  # of Draft-07; 2020-12 has prefixItems
    write(box, pair=pair, pair7={"$schema": "http://json-schema.org/draft-07/schema#", **pair},
          prefix={"prefixItems": [{"type": "string"}]}, value=["a", "b"], numbers=[1, 2])
    assert box.run("schema", "check", "pair.json").returncode == NO_SCHEMA
    assert box.run("schema", "check", "pair7.json", "value.json").returncode == REFUSED
    assert box.run("schema", "check", "pair.json", "value.json", "--draft", "7").returncode == REFUSED
    assert box.run("schema", "check", "pair.json", "numbers.json", "--draft=7").returncode == REFUSED
    assert box.run("schema", "check", "prefix.json", "numbers.json", "--draft", "2020").returncode == REFUSED
    assert box.run("schema", "check", "prefix.json", "numbers.json", "--draft", "7").returncode == FINE
    for draft in ("4", "", "seven"):
        done = box.run("schema", "check", "pair.json", "--draft", draft)
        assert done.returncode == USAGE and "7 or 2020" in done.stderr


def test_formats_refuse_only_when_asked_to(box):
    write(box, schema=ORDER, value={"path": "a", "when": "tomorrow"}, day={"path": "a", "when": "2026-11-16"})
    assert box.run("schema", "check", "schema.json", "value.json").returncode == FINE
    done = box.run("schema", "check", "schema.json", "value.json", "--formats")
    assert done.returncode == REFUSED and done.stdout.startswith("/when: "), done.stdout
    assert box.run("schema", "check", "--formats", "schema.json", "day.json").returncode == FINE


# schema lint


def test_lint_names_what_is_not_portable(box):
    write(box, portable={"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
          other={"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}]}, "y": {"$ref": "#"}}})
    done = box.run("schema", "lint", "portable.json")
    assert (done.returncode, done.stdout, done.stderr) == (FINE, "", "")
    done = box.run("schema", "lint", "other.json")
    assert (done.returncode, done.stderr) == (REFUSED, "")
    assert "$.properties.x: disallowed JSON Schema keyword 'anyOf'" in done.stdout.splitlines(), done.stdout
    assert done.stdout.count("\n") == 2, done.stdout
    with open(os.path.join(box.workspace, "other.json")) as file:
        assert box.run("schema", "lint", "-", stdin=file.read()).stdout == done.stdout


# json


CASES = [
    # written, jcs, metis
    (b' {"b": 2.0, "a": [1e3, "\\u00e9", {}, []]} \n', b'{"a":[1000,"\xc3\xa9",{},[]],"b":2}',
     b'{"a": [1000.0, "\\u00e9", {}, []], "b": 2.0}'),
    (b'"\xf0\x9f\x98\x80"', b'"\xf0\x9f\x98\x80"', b'"\\ud83d\\ude00"'),
    (b"9007199254740993", b"9007199254740993", b"9007199254740993"),
    (b"1000000000000000000000", b"1e+21", b"1000000000000000000000"),
    (b"-0.0", b"0", b"-0.0"),
    (b"1E400", b"1e+400", b"1e+400"),
    (b"null", b"null", b"null"),
]


def test_canon_writes_the_canonical_bytes_and_nothing_else(box):
    for text, jcs, metis in CASES:
        box.write("value.json", text)
        for form, expected in ((None, jcs), ("jcs", jcs), ("metis", metis), ("focal", metis),
                               ("contextweaver", metis.replace(b", ", b",").replace(b": ", b":"))):
            words = ["--form", form] if form else []
            for done in (run(box, "json", "canon", *words, "value.json"), run(box, "json", "canon", *words, stdin=text),
                         run(box, "json", "canon", "-", *words, stdin=text)):
                assert (done.returncode, done.stdout, done.stderr) == (FINE, expected, b""), (text, form, done)


def test_digest_is_the_sha256_of_these_bytes(box):
    for text, jcs, metis in CASES:
        for form, expected in (("jcs", jcs), ("metis", metis)):
            done = run(box, "json", "digest", "--form", form, stdin=text)
            assert done.returncode == FINE and done.stderr == b""
            assert done.stdout.decode() == hashlib.sha256(expected).hexdigest() + "\n", (text, form)


def test_digests_are_those_of_the_dispatcher(box):
    if not testdata():
        raise Skip("no test data")
    with open(os.path.join(testdata(), "vectors", "metis_input_hash.json")) as file:
        rows = json.load(file)
    assert rows
    for row in rows:
        text = json.dumps(row["input"], ensure_ascii=False).encode()
        assert run(box, "json", "canon", "--form=metis", stdin=text).stdout.decode() == row["canonical"]
        assert run(box, "json", "digest", "--form=metis", stdin=text).stdout.decode() == row["input_hash"] + "\n"


def test_a_form_that_is_none_is_a_usage_error(box):
    for command in ("canon", "digest"):
        done = box.run("json", command, "--form", "pretty", stdin="{}")
        assert (done.returncode, done.stdout) == (USAGE, "") and "jcs" in done.stderr


# what is given


INPUTS = (["schema", "check", "FILE"], ["schema", "check", "schema.json", "FILE"], ["schema", "lint", "FILE"],
          ["json", "canon", "FILE"], ["json", "digest", "FILE"])


def refused(box, words, said):
    done = run(box, *words)
    assert (done.returncode, done.stdout) == (USAGE, b""), (words, done)
    assert said in done.stderr.decode(), (words, done.stderr)


def test_what_is_no_json_is_refused_with_its_place(box):
    write(box, schema={})
    for text, said in ((b"", "empty"), (b"[1,\n 2,]", "line 2, column 3"), (b'{"a":1,"a":2}', 'the key "a" is given twice'),
                       (b'"\xff"', "UTF-8"), (b'"\\ud800"', "surrogate"), (b"\xef\xbb\xbf{}", "byte order mark"),
                       (b"[" * 57 + b"]" * 57, "56 levels"), (b"{} {}", "after document"), (b"\x00", "line 1")):
        box.write("value.json", text)
        for words in INPUTS:
            refused(box, ["value.json" if w == "FILE" else w for w in words], said)


def test_what_cannot_be_read_is_refused_by_name(box):
    write(box, schema={})
    os.makedirs(os.path.join(box.workspace, "folder"))
    for words in INPUTS:
        refused(box, ["nope.json" if w == "FILE" else w for w in words], "nope.json: No such file")
        refused(box, ["folder" if w == "FILE" else w for w in words], "folder: Is a directory")


def test_nine_megabytes_are_too_many_and_eight_are_not(box):
    write(box, schema={})
    box.write("large.json", b'"' + b"x" * (9 << 20) + b'"')
    box.write("fits.json", b'"' + b"x" * ((8 << 20) - 2) + b'"')
    for words in INPUTS:
        refused(box, ["large.json" if w == "FILE" else w for w in words], "longer than 8388608 bytes")
    assert run(box, "json", "digest", stdin=b" " * (9 << 20)).returncode == USAGE
    assert run(box, "schema", "check", "schema.json", "fits.json").returncode == FINE
    assert len(run(box, "json", "canon", "fits.json").stdout) == 8 << 20
    box.write("over.json", b'"' + b"x" * ((8 << 20) - 1) + b'"')
    refused(box, ["json", "canon", "over.json"], "longer than 8388608 bytes")


def test_a_reader_that_goes_away_ends_it(box):
    box.write("value.json", b'"' + b"x" * (4 << 20) + b'"')
    process = box.popen("json", "canon", "value.json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.read(10) == b'"xxxxxxxxx'
    process.stdout.close()
    assert process.wait(timeout=60) != FINE
    process.stderr.close()


def test_a_full_disk_is_noticed(box):
    if not os.path.exists("/dev/full"):
        raise Skip("there is no /dev/full")
    for words in (["json", "canon"], ["json", "digest"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([box.program, *words], input=b"{}", stdout=full, stderr=subprocess.PIPE, env=box.env, timeout=60)
        assert done.returncode == REFUSED and b"standard output" in done.stderr


# the two groups


def test_a_group_lists_its_commands(box):
    for group, names in (("schema", ("check", "lint")), ("json", ("canon", "digest"))):
        alone, by_option, by_command = box.run(group), box.run(group, "--help"), box.run("help", group)
        assert alone.returncode == USAGE and by_option.returncode == by_command.returncode == FINE
        assert alone.stdout == by_option.stdout == by_command.stdout
        for name in names:
            assert "\n  " + name + " " in alone.stdout
            one, other = box.run(group, name, "--help"), box.run("help", group, name)
            assert one.returncode == FINE and one.stdout == other.stdout
            assert one.stdout.startswith("Usage: holdfast %s %s " % (group, name))


def test_slips_in_a_group_get_a_suggestion(box):
    for words, near in ((["schema", "chek"], "schema check"), (["help", "schema", "lnit"], "schema lint"),
                        (["json", "digset", "--form", "jcs"], "json digest"), (["schmea", "check"], "schema"),
                        (["schema", "check", "--format", "x"], "--formats"), (["json", "canon", "--from", "jcs"], "--form")):
        done = box.run(*words)
        assert (done.returncode, done.stdout) == (USAGE, "") and "did you mean %s?" % near in done.stderr, (words, done)
    for words in (["schema", "check"], ["schema", "lint"], ["schema", "xyzzy"], ["schema", "--draft", "7"],
                  ["schema", "check", "a", "b", "c"], ["json", "canon", "a", "b"], ["help", "schema", "check", "more"],
                  ["help", "call", "more"]):
        done = box.run(*words)
        assert (done.returncode, done.stdout) == (USAGE, "") and done.stderr, (words, done)


def test_completion_knows_commands_of_two_words(box):
    script = """
        source /dev/stdin <<< "$1"
        complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _holdfast; echo "${COMPREPLY[*]}"; }
        complete_words holdfast sch
        complete_words holdfast schema ""
        complete_words holdfast json d
        complete_words holdfast schema check --d
        complete_words holdfast schema check valu
        complete_words holdfast schema check --draft ""
        complete_words holdfast json canon --form m
    """
    write(box, value={})
    done = subprocess.run(["bash", "-uc", script, "bash", box.run("completion", "bash").stdout], capture_output=True,
                          text=True, env=box.env, cwd=box.workspace)
    assert done.stderr == "" and done.stdout.splitlines() == [
        "schema", "check lint --help", "digest", "--draft", "value.json", "7 2020", "metis"], done
    for shell in ("zsh", "fish"):
        text = box.run("completion", shell).stdout
        for word in ("check", "lint", "canon", "digest", "draft", "formats", "jcs contextweaver"):
            assert word in text, (shell, word)
