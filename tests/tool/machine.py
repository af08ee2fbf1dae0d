"""Checks topo, profile and doctor."""
import json
import os
import pathlib
import re

from harness import SYNTHETIC, cache, check, has, read, run, sources, work, written


def machine():
    cpus = sorted(os.sched_getaffinity(0))
    listed = json.loads(run("topo", "--json").stdout)
    check("topo --json has the CPUs of this process", sorted(row[0] for row in listed["cpus"]) == cpus,
          listed)
    check("and says which columns these are",
          listed["columns"] == ["cpu", "core", "l2", "l3", "numa", "package", "smt", "host"], listed)
    text = run("topo").stdout
    has("topo says what this process may use", text, rf"^CPUs this process may use: {len(cpus)} of \d+ \(",
        "^members that can run at once: ", "^fingerprint: [0-9a-f]{16}$")
    text = run("topo", "--synthetic", SYNTHETIC).stdout
    has("topo --synthetic", text, r"^2 packages, .*2 shared L3 domains, 4 cores, 8 CPUs \(SMT\)",
        "members that can run at once: 8", r"^ +0 +0 +0 +0 +2 +2 +4  0-3$", r"^ +0 +1 +0 +1 +2 +2 +4  4-7$")
    known = re.search("^fingerprint: (.*)$", text, re.M).group(1)
    for form in ("--json", "--text"):
        (work / "topology").write_text(run("topo", "--synthetic", SYNTHETIC, form).stdout)
        again = run("topo", "--file", "topology").stdout
        has(f"topo --file reads what {form} printed", again, f"^fingerprint: {known}$", r"  4-7$")
    xml = sources / "tests/golden/topo/cascadelake-2vcpu.xml"
    check("topo --file and --xml read hwloc's XML alike",
          run("topo", "--file", xml, "--json").stdout == run("topo", "--xml", xml, "--json").stdout)
    has("of the machine that it describes", run("topo", "--xml", xml).stdout, "2 cores, 2 CPUs")
    (work / "topology").write_text('{"cpus": 3}\n')
    has("a bad file is refused with its line", run("topo", "--file", "topology", rc=1).stderr,
        "^fermata: topology: line 1: ")
    has("an unknown command is named, beside those that there are", run("foo", rc=1).stderr,
        "^fermata: 'foo' is not a command; the commands are doctor, ")
    has("and where none was given", run(rc=1).stderr, "^fermata: no command was given; the commands "
        "are doctor, ")
    has("the tool says its version", run("--version").stdout, r"^\d+\.\d+\.\d+$")
    check("topo writes nothing", written() == ["topology"] and not written(cache),
          (written(), written(cache)))
    profile(cpus)
    doctor(cpus)


def profile(cpus):
    few = cpus[:2]
    r = run("profile", "--cpus", ",".join(map(str, few)), "--seconds", "0.5", "--sample", "--json",
            "profile.json")
    p = read("profile.json")
    check("profile --json: O and L of these CPUs, measured",
          p["origin"] == "measured" and p["engine"] == "threads" and
          [row[0] for row in p["topology"]["cpus"]] == few and len(p["o"]) == len(p["l"]) == len(few), p)
    if len(few) > 1:
        check("pairs cost something",
              min(p["o"][0][1] + p["l"][0][1], p["o"][1][0] + p["l"][1][0], p["one_way_ns"]) > 0, p)
    has("its table and its heat map", r.stdout, "^  level +pairs +O +L ", "^  one-way line latency",
        "^L in ns, row: sender", rf"^ +{few[0]} \\ ")
    kept = f"fermata/profile-{p['fingerprint']}-threads.json"
    check("it is kept for the planner, and only that", written(cache) == [kept], written(cache))
    check("as it was written", json.loads((cache / kept).read_text()) == p)
    has("profile --file --heatmap is the map alone",
        run("profile", "--file", "profile.json", "--heatmap").stdout, r"\A(L|G) ")
    has("profile --file --table has no map", run("profile", "--file", "profile.json", "--table").stdout,
        r"futex +\S+( \S+)?\n(  .*\n)*\Z")
    has("profile --estimate says so", run("profile", "--estimate", "--no-save").stdout, "^estimated, threads",
        "nothing was measured")
    run("profile", "--cpus", "99999", rc=1)
    for other in ("--estimate", ("--file", "profile.json")):
        run("profile", "--mpi", *([other] if isinstance(other, str) else other), rc=108)
    has("profile --mpi outside of a job says so", run("profile", "--mpi", rc=1).stderr, "no MPI launcher")
    check("none of these is kept", written(cache) == [kept], written(cache))
    for command in ("profile", "plan", "predict", ("verify", "--all"),
                    ("verify", "--algorithm", "dissemination"), ("plan", "--emit")):
        words = [command] if isinstance(command, str) else [*command]
        words += [] if "--emit" in words else ["--json"]
        r = run(*words, "none/x", rc=1)
        check(f"{' '.join(words)} into a missing folder is refused at once", r.stdout == "" and
              re.search("^fermata: none/x: there is no folder .*/none$", r.stderr, re.M)
              and not (work / "none").exists(), r)
    has("verify --json is of --all alone",
        run("verify", "--algorithm", "dissemination", "--json", "x", rc=1).stderr,
        "^fermata: --json writes the table of --all: add --all or remove --json$")
    sink = work / "sink"
    os.mkfifo(sink)
    reader = os.open(sink, os.O_RDONLY | os.O_NONBLOCK)
    run("profile", "--estimate", "--no-save", "--json", sink)
    check("what is no regular file is written into, and stays what it is",
          sink.is_fifo() and os.read(reader, 1 << 16).startswith(b"{"))
    os.close(reader)
    sink.unlink()
    (cache / kept).unlink()


def doctor(cpus):
    report = json.loads(run("doctor", "--json").stdout)
    checks = {c["name"]: c for c in report["checks"]}
    for name in ("affinity", "cgroup quota", "membarrier private", "membarrier global", "CMA", "seccomp",
                 "record locks", "memfd", "profile"):
        c = checks.get(name, {})
        check(f"doctor --json: {name}, what was found and what follows",
              c.get("state") in ("yes", "no", "partly", "unknown") and len(c.get("detail", "")) > 3
              and len(c.get("follows", "")) > 10, c)
    check("doctor knows the affinity", f"({len(cpus)} of" in checks["affinity"]["detail"], checks["affinity"])
    mode = re.search(r"^Seccomp:\s*(\d+)", pathlib.Path("/proc/self/status").read_text(), re.M)
    if mode:
        there = "no" if mode.group(1) == "0" else "yes"
        check("doctor knows of seccomp's filter", checks["seccomp"]["state"] == there, checks["seccomp"])
    check("doctor knows that there is no profile", checks["profile"]["state"] == "no", checks["profile"])
    text = run("doctor").stdout
    has("doctor as text: each with what follows", text,
        *(rf"^{re.escape(name)} +(yes|no|partly|unknown) " for name in checks))
    check("a consequence for each", text.count("-> ") == len(checks), text)
    variables()


def variables():
    """Checks what the tool says of FERMATA_* variables, with every command."""
    def found(**given):
        return next(c for c in json.loads(run("doctor", "--json", **given).stdout)["checks"]
                    if c["name"] == "variables")
    check("doctor knows that no variable is set", found()["state"] == "no", found())
    c = found(FERMATA_WAIT="park", FERMATA_MPI_COLLECTIVES="bcast")
    check("doctor knows those that are, what they mean and who reads them",
          c["state"] == "yes" and c["detail"] ==
          "FERMATA_WAIT=park (how members wait; read by all programs with Fermata); "
          "FERMATA_MPI_COLLECTIVES=bcast (the MPI collectives that Fermata replaces; read by libfermata-mpi)",
          c)
    check("and those that have a bad value", found(FERMATA_CMA="2")["state"] == "partly" and
          found(FERMATA_CMA="2")["follows"] == "FERMATA_CMA=2 is ignored; 0 and 1 are allowed",
          found(FERMATA_CMA="2"))
    table = (sources / "src/os/linux/environment.cpp").read_text()
    names = re.findall(r'^    \{"(FERMATA_[A-Z_]+)", ', table, re.M)
    check("the table has variables", len(names) > 10, names)
    for name in names:
        check(f"{name} is known", "not known" not in run("topo", **{name: "0"}).stderr)
        has(f"{name} without its last letter is not", run("topo", **{name[:-1]: "0"}).stderr,
            rf"^fermata: {name[:-1]} is not known; did you mean {name}\?$")
    bad = {"FERMATA_WAIT": "foo", "FERMATA_FAKE_HOSTS": "two", "FERMATA_STALL_SECONDS": "5s",
           "FERMATA_MPI_COLLECTIVES": "bcst",
           "FERMATA_STATS": "none", "FERMATA_VERBOSE": "yes"}
    for words in (("doctor",), ("topo", "--text"), ("plan", "-n", "2", "--estimate", "--no-save")):
        r = run(*words, FERMATA_WIAT="spin", **bad)
        has(f"{words[0]} names each bad value with what is allowed", r.stderr,
            r"^fermata: FERMATA_WIAT is not known; did you mean FERMATA_WAIT\?$",
            "^fermata: FERMATA_WAIT=foo is ignored; auto, spin, yield and park are allowed$",
            "^fermata: FERMATA_FAKE_HOSTS=two is ignored; a whole number from 0 to 1000000 is allowed$",
            "^fermata: FERMATA_STALL_SECONDS=5s is ignored; a number of seconds from 0 to ",
            "^fermata: FERMATA_MPI_COLLECTIVES: 'bcst' is ignored; barrier, bcast, .* all and none are "
            "allowed$", "^fermata: FERMATA_STATS=none is ignored; an existing folder with write permission ",
            "^fermata: FERMATA_VERBOSE=yes counts as 1; 0 and 1 are allowed$")
        check("once", r.stderr.count("FERMATA_WIAT") == 1, r.stderr)
