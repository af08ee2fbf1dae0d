#!/usr/bin/env python3
"""The text of result files: a line for each row of a table, and else for each value of an object.

An array without objects takes one line, such as samples. So does an object without objects in an array, such
as a row. bench/report.cpp writes the same.

  scripts/compact_json.py --check FOLDER    exit 1, and names of files with samples or rows over several lines
  scripts/compact_json.py --self-test
"""
import json
import pathlib
import re
import sys
import tempfile

# An array over several lines whose first element is no object, or a flat object over several lines.
SPREAD = re.compile(r'\[\n\s*(?:-?[\d.eE+-]+|null|true|false|"(?:[^"\\]|\\.)*"|\[|\{\n[^{}]*\})', re.M)


def is_flat(value):
    """Whether nothing in it is an object."""
    elements = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return all(not isinstance(element, dict) and is_flat(element) for element in elements)


def text_of(value, depth=0, in_array=False):
    one_line = is_flat(value) and (in_array or isinstance(value, list))
    if not value or not isinstance(value, (dict, list)) or one_line:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    inner, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, dict):
        opening, closing = "{}"
        parts = [json.dumps(key, ensure_ascii=False) + ": " + text_of(element, depth + 1)
                 for key, element in value.items()]
    else:
        opening, closing = "[]"
        parts = [text_of(element, depth + 1, True) for element in value]
    return opening + inner + ("," + inner).join(parts) + end + closing


def write(path, value):
    """All of it or nothing: a script that is killed leaves the file as it was."""
    whole = pathlib.Path(f"{path}.new")
    whole.write_text(text_of(value) + "\n", encoding="utf-8")
    whole.replace(path)


def check(folder):
    return [str(path) for path in sorted(pathlib.Path(folder).rglob("*.json"))
            if SPREAD.search(path.read_text(encoding="utf-8"))]


def self_test():
    value = {"samples": [1, 2.5, None], "pairs": [[1, 2], [3, 4]], "none": [], "of": {},
             "rows": [{"a": "x", "b": [1]}], "machine": {"cpu": "y"}, "text": 'a "quoted" µ'}
    text = text_of(value)
    assert json.loads(text) == value
    assert '\n "samples": [1,2.5,null],\n "pairs": [[1,2],[3,4]],\n "none": [],\n "of": {},\n' in text, text
    assert '\n "rows": [\n  {"a":"x","b":[1]}\n ],\n "machine": {\n  "cpu": "y"\n },\n' in text, text
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.json"
        write(path, value)
        assert check(folder) == []
        rows = {"rows": [{"a": 1}]}
        for spread in ({"samples": [1, 2]}, {"pairs": [[1, 2]]}, {"names": ["a"]}, rows):
            path.write_text(json.dumps(spread, indent=1))
            assert check(folder) == [str(path)], spread
    print("compact_json: as expected")
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) != 2 or arguments[0] != "--check":
        print(__doc__, file=sys.stderr)
        return 2
    spread = check(arguments[1])
    for name in spread:
        print(f"{name}: a row, and samples, belong on one line; write it by scripts/compact_json.py")
    return 1 if spread else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
