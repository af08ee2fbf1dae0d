"""Checks scripts/bench-scaling: its plans, its files, and that it goes on after a failure and a stop."""
import json
import os
import pathlib
import shlex
import subprocess
import sys

from harness import check, environment, has, root, run, sources, tool, work, written

# A build folder whose tool refuses what the file `refused` names.
BUILD = root / "build"
REFUSED = BUILD / "refused"
FEW = "profile,fan-in,layouts,placement"
TOOL = f"""#!/bin/sh
for word in "$@"; do
  ! grep -qx -e "$word" {shlex.quote(str(REFUSED))} 2>/dev/null || {{ echo "refused: $word" >&2; exit 3; }}
done
exec {shlex.quote(str(pathlib.Path(tool).resolve()))} "$@"
"""


def scaling(*words, rc=0):
    cpus = sorted(os.sched_getaffinity(0))[:2]
    script = [sys.executable, sources / "scripts/bench-scaling", BUILD, "--out", root / "out"]
    r = subprocess.run([*script, *words], capture_output=True, text=True, timeout=100, env=environment,
                       cwd=work, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    check(f"bench-scaling {' '.join(map(str, words))} ends with {rc}", r.returncode == rc, r)
    return r


def commands_of(text):
    """{name: words} of a dry run."""
    lines = text.split("commands, about")[1].splitlines()[1:]
    return {name: shlex.split(words) for name, words in (line.strip().split(": ", 1) for line in lines)}


def plan_for_another_machine():
    power8 = run("topo", "--synthetic", "pack:2 numa:2 l3:1 core:6 pu:8", "--json").stdout
    (work / "power8.json").write_text(power8)
    r = scaling("--dry-run", "--topology", "power8.json")
    (work / "power8.json").unlink()
    has("it says how much and how long", r.stdout, "^192 CPUs on 24 cores", "^barrier +16 +16 +.* min",
        r"^\d+ commands, about \d+ h \d\d min")
    table, _ = r.stdout.split("commands, about")
    check("its table has 100 columns", all(len(line) <= 100 for line in table.splitlines()[1:]), table)
    commands = commands_of(r.stdout)
    value = lambda name, option: commands[name][commands[name].index(option) + 1]
    check("the first CPUs", value("plan-barrier-threads-n16", "--cpus") == "0-15", commands)
    check("Table IV: a full chip and a core of each other one",
          [value(name, "--cpus") for name in commands if name.startswith("power8-table-4")] ==
          [f"0,8,16,24,32,40,{other}" for other in (48, 96, 144)], commands)
    check("Table V: one to eight members a core",
          [value(name, "-n") for name in commands if name.startswith("power8-table-5")] ==
          [str(24 * k) for k in range(1, 9)], commands)
    check("all sizes of teams", value("place-numa", "-n") == "2,4,8,16,32,64,128,192", commands["place-numa"])
    check("no more bytes than bench takes", value("alltoall-262144", "-n") == "2,4,8,16,32,64",
          commands["alltoall-262144"])


def results():
    folder = root / "out"
    has("too few CPUs", scaling("--quick", "--only", FEW, rc=1).stderr,
        "2 CPUs; the suite is for 16 or more: --force")
    check("a plan alone writes nothing", not folder.exists())
    REFUSED.write_text("--fan-in\n")
    r = scaling("--quick", "--force", "--only", FEW, rc=1)
    has("it names what has failed", r.stdout,
        r"^failed: fan-in-1: exit status 3: refused: --fan-in \(fan-in-1.error")
    machine, = folder.iterdir()
    has("the folder has the machine's name", machine.name, "^[a-z0-9-]+-2-quick$")
    names = {"profile-threads", "profile-processes", "layouts", "place-core", "place-cpu", "place-numa",
             "place-round-robin"}
    found = {path.stem for path in machine.glob("*.json")}
    check("it goes on after a failure", found == names | {"suite"}, found)
    before = {name: (machine / f"{name}.json").stat().st_mtime_ns for name in names}
    REFUSED.unlink()
    r = scaling("--quick", "--force", "--only", FEW)
    has("the next call runs what is missing", r.stdout, r"^\[1/1\] fan-in-1, ")
    check("and nothing else",
          before == {name: (machine / f"{name}.json").stat().st_mtime_ns for name in names})
    files = {path.stem: json.loads(path.read_text()) for path in machine.glob("*.json")}
    timed = {name: files[name] for name in names | {"fan-in-1"} if not name.startswith("profile")}
    check("each result has rows", all(file["results"] for file in timed.values()), timed)
    check("and its command", all(f"--json {name}.json" in file["machine"]["command"]
                                 for name, file in timed.items()), timed)
    suite = files["suite"]
    check("the suite's record", {row["name"]: row["state"] for row in suite["commands"]} ==
          {name: "done" for name in names | {"fan-in-1"}} and suite["machine"]["cpus"] == 2, suite)
    r = scaling("--quick", "--force", "--only", "layouts", "--again")
    has("--again", r.stdout, r"^\[1/1\] layouts, ")
    check("no file lies beside them", not list(machine.glob("*.error.txt")) and not written(),
          (written(machine), written()))
    has("an unknown part", scaling("--dry-run", "--only", "nobody", rc=1).stderr,
        "no part 'nobody'; there are profile,")


def scaling_suite():
    if len(os.sched_getaffinity(0)) < 2:
        print("one CPU: nothing to check")
        return
    (BUILD / "bin").mkdir(parents=True)
    (BUILD / "bin/fermata").write_text(TOOL)
    (BUILD / "bin/fermata").chmod(0o755)
    plan_for_another_machine()
    results()
