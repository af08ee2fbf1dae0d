"""Runs the tool in folders of the test's own: cache, home, working folder, and one for temporary files."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

tool, sources = sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
own = tempfile.TemporaryDirectory()
root = pathlib.Path(own.name).resolve()
cache, home, work, temporary = (root / name for name in ("cache", "home", "work", "tmp"))
for folder in (cache, home, work, temporary):
    folder.mkdir()
environment = {k: v for k, v in os.environ.items() if not k.startswith("FERMATA_")}
environment |= {"XDG_CACHE_HOME": str(cache), "HOME": str(home), "TMPDIR": str(temporary)}
failures = []
SYNTHETIC = "pack:2 l3:1 core:2 pu:2"  # CPUs 0,1 | 2,3 of one package, 4,5 | 6,7 of the other


def check(what, ok, detail=""):
    print(("ok    " if ok else "FAIL  ") + what + (f": {detail}" if not ok else ""))
    if not ok:
        failures.append(what)


def run(*words, rc=0, **variables):
    r = subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=100,
                       env=environment | variables, cwd=work)
    check(f"fermata {' '.join(map(str, words))} ends with {rc}".replace(str(root), ""), r.returncode == rc, r)
    return r


def has(what, text, *patterns):
    missing = [p for p in patterns if not re.search(p, text, re.M)]
    check(what, not missing, (missing, text))


def read(name):
    return json.loads((work / name).read_text())


def written(where=work):
    return sorted(str(p.relative_to(where)) for p in where.rglob("*") if p.is_file())


def synthetic(name, spec):
    """Writes that machine's topology and returns its fingerprint."""
    (work / name).write_text(run("topo", "--synthetic", spec, "--json").stdout)
    return re.search("^fingerprint: (.*)$", run("topo", "--file", name).stdout, re.M).group(1)
