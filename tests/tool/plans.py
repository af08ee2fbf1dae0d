"""Checks plan, explain and verify."""
import json
import pathlib
import re

from harness import SYNTHETIC, cache, check, has, home, read, run, synthetic, temporary, work, written


def plans():
    known = synthetic("machine.json", SYNTHETIC)
    of = ("--topology", "machine.json", "--estimate")
    keys = []
    for place, expected in (("core", [0, 2, 4, 6]), ("cpu", [0, 1, 2, 3]), ("round-robin", [0, 4, 2, 6])):
        r = run("plan", "-n", 4, "--place", place, "--json", "plan.json", *of)
        key = read("plan.json")["key"]
        check(f"--place {place} gives CPUs {expected}", key["cpus"] == expected, key)
        check("of that machine", key["fingerprint"] == known and key["members"] == 4
              and read("plan.json")["origin"] == "estimated", key)
        has("without a profile it says default costs", r.stdout, "^note: no profile of this machine: using "
            "default costs per level")
        has("a summary", r.stdout, "^barrier of 4 threads: ", "^  predicted +", "^  bound +",
            "^  saved +" + re.escape(str(cache)))
        keys.append(re.search("saved +(.*)", r.stdout).group(1))
    check("each is kept under its own name",
          len(set(keys)) == 3 and all(pathlib.Path(k).is_file() for k in keys), keys)
    check("with its compiled form, and nothing else", len(written(cache)) == 6, written(cache))
    before = written(cache)
    unkept = ("--json", "plan.json", "--no-save", *of)
    run("plan", "--cpus", "7,0-1", "--collective", "allreduce", "--bytes", 56, "--engine", "processes",
        *unkept)
    key = read("plan.json")["key"]
    check("--cpus in this order, for as many members", key["cpus"] == [7, 0, 1] and key["members"] == 3, key)
    check("--collective, --bytes and --engine",
          (key["collective"], key["payload"], key["engine"]) == ("allreduce", 56, "processes"), key)
    check("--no-save keeps nothing", written(cache) == before, written(cache))
    run("plan", "-n", 5, "--cpus", "6,2", "--algorithm", "kary(3)", "--layout", "private+2slots", *unkept)
    plan = read("plan.json")
    check("a short list is repeated", plan["key"]["cpus"] == [6, 2, 6, 2, 6], plan["key"])
    check("--algorithm and --layout are kept",
          "algorithm kary(3)" in plan["schedule"] and plan["layout"] == "private+2slots", plan)
    has("the bound counts stages",
        run("plan", "-n", 2, "--algorithm", "complete", "--no-save", *of).stdout, "^  bound .*[(]1 stage[)]$")
    has("a CPU that is not there is named", run("plan", "--cpus", "8", *of, rc=1).stderr, "CPU 8")
    has("an unknown algorithm is named",
        run("plan", "-n", 4, "--algorithm", "ring_of_fire", *of, rc=1).stderr, "ring_of_fire")
    has("a barrier of more than 8 bytes is refused",
        run("plan", "-n", 2, "--collective", "barrier", "--bytes", 9, *of, rc=1).stderr, "8 bytes at most")
    check("an unknown place is refused", run("plan", "-n", 4, "--place", "moon", *of, rc=105).stdout == "")
    named(of)
    simulated(of)
    law()
    emitted(of)
    explained(known)
    contradicted()
    proofs()
    check("nothing lies outside what was asked for",
          written() == ["machine.json", "plan.json", "profile.json", "schedule"] and
          not written(home) and not written(temporary), (written(), written(home), written(temporary)))


def named(of):
    """Compositions by name, schedules in files, a limit on the fan-in."""
    text = run("plan", "-n", 8, "--algorithm", "kary(3)/linear", "--no-save", *of).stdout
    has("a composition by name", text, r"^barrier of 8 threads: kary[(]3[)]/linear in ", "^  levels ")
    has("more levels than there are",
        run("plan", "-n", 8, "--algorithm", "linear/" * 4 + "linear", *of, rc=1).stderr,
        "names 5 levels, but the clusters")
    printed = run("verify", "--algorithm", "dissemination", "-n", 4).stdout
    (work / "schedule").write_text(printed)
    has("a schedule as verify prints it",
        run("plan", "-n", 4, "--schedule", "schedule", "--no-save", *of).stdout,
        "^barrier of 4 threads: dissemination in ")
    has("explain takes it, too", run("explain", "-n", 4, "--schedule", "schedule", *of[:2]).stdout,
        "dissemination")
    has("of another team", run("plan", "-n", 5, "--schedule", "schedule", *of, rc=1).stderr,
        "has 4 members, not 5")
    (work / "schedule").write_text(printed.replace("  0 -> 1", "  0 -> 2", 1)
                                   if "  0 -> 1" in printed else "fermata-schedule 2\n")
    has("a broken one is refused", run("plan", "-n", 4, "--schedule", "schedule", *of, rc=1).stderr,
        "no candidate can be proved|schedule, line 2")
    run("plan", "-n", 4, "--algorithm", "linear", "--goal", "goal", "--no-save", *of)
    has("a schedule in GOAL", (work / "goal").read_text(), "^num_ranks 4$", "^rank 3 {$",
        "^l1: send 8b to 0 tag 0$", "^l2 requires l1$")
    has("which has no shared words",
        run("plan", "-n", 4, "--algorithm", "counter", "--goal", "goal", "--no-save", *of, rc=1).stderr,
        "'counter' add to shared words")
    (work / "goal").unlink()
    has("a limit on the fan-in", run("plan", "-n", 8, "--fan-in", 1, "--no-save", *of).stdout,
        "^barrier of 8 threads: ")
    has("which this algorithm exceeds",
        run("plan", "-n", 8, "--fan-in", 2, "--algorithm", "linear", *of, rc=1).stderr, "the least is 7")
    for place in ("numa", "random"):
        run("plan", "-n", 8, "--place", place, "--json", "named", "--no-save", *of)
        check(f"--place {place} uses all CPUs", sorted(read("named")["key"]["cpus"]) == list(range(8)))
    has("more members than a plan can have",
        run("plan", "-n", 16385, "--no-save", *of, rc=105).stderr, "16385 not in range")
    hosts = ("--topology", "hosts", "--estimate", "--no-save")
    shape = {"hosts": 2, "packages": 1, "numa": 1, "l3": 1, "l2": 0, "cores": 4, "smt": 1}
    (work / "hosts").write_text(json.dumps({"source": "made up", "model": "two hosts", "line_bytes": 64,
                                            "regular": shape}))
    run("plan", "-n", 8, "--json", "named", *hosts)
    key = read("named")["key"]
    check("a machine of several hosts", (key.get("hosts"), key["engine"]) == ([0] * 4 + [1] * 4, "processes"),
          key)
    has("which no header can serve", run("plan", "-n", 8, "--emit", "none.h", *hosts, rc=1).stderr,
        "--emit: for the members of one host")
    (work / "hosts").write_text(json.dumps({"source": "made up", "model": "many hosts", "line_bytes": 64,
                                            "regular": shape | {"hosts": 1024, "packages": 4}}))
    text = run("plan", "-n", 16384, "--json", "named", *hosts).stdout
    has("16,384 members on 1,024 hosts", text, "^barrier of 16384 processes: ",
        r"^  levels +1024 x \(4 x 4\)$")
    has("which explain shows", run("explain", "--plan", "named").stdout, "^barrier of 16384 processes")
    for command in (("simulate",), ("plan", "--simulate")):
        has("but nobody simulates",
            run(*command, "-n", 4097, "--algorithm", "kary(8)", *hosts[:2], rc=1).stderr,
            "a simulated team has at most 4096 members, not 4097")
    has("nor runs", run("predict", "-n", 4097, rc=1).stderr, "this team can't run on this machine")
    has("here, either: predictions only",
        run("plan", "-n", 4097, "--algorithm", "kary(8)", "--no-save").stdout,
        "^note: this team can't run here")
    for name in ("hosts", "named"):
        (work / name).unlink()


def simulated(of):
    text = run("simulate", "-n", 8, "--algorithm", "kary(3)", "--trace", "trace", "--json", "simulated",
               *of[:2]).stdout
    has("simulate: beside the prediction", text, r"^barrier of 8 members: kary[(]3[)] in ",
        "^  period +[0-9.]+ ns +[0-9.]+ ns$", "^  latency ", "^  a call +[0-9]+ misses, [0-9]+ stores",
        "^  a member +[0-9.]+ misses, .* 0.00 messages",
        "^the critical path of call ", "is the last one to leave$", "sees the signal of member")
    file = read("simulated")
    check("its file", file["algorithm"] == "kary(3)" and file["period_ns"] > 0 and file["steady"], file)
    events = read("trace")["traceEvents"]
    check("its timeline has a row for each member",
          {e["tid"] for e in events if e["ph"] == "X"} == set(range(8)), events[:9])
    again = run("simulate", "-n", 8, "--algorithm", "kary(3)", "--json", "trace", *of[:2])
    check("the same again", read("trace") == file, again.stdout)
    text = run("simulate", "-n", 8, "--algorithm", "kary(3)", "--scale", 2, "--json", "trace",
               *of[:2]).stdout
    has("at another clock", text, "^  with 2 times the clock$",
        "^  clock +[0-9.]+ ns of the simulated period scale with it, ")
    scaled = read("trace")["scaled"]
    check("its parts are the whole",
          abs(scaled["cycles_ns"] + scaled["fixed_ns"] - file["period_ns"]) < 0.01 and
          0 < scaled["period_ns"] < file["period_ns"] and scaled["algorithm"] == "kary(3)", scaled)
    has("with one plan", run("simulate", "-n", 6, "--all", "--scale", 2, *of[:2], rc=1).stderr,
        "not with --all")
    text = run("simulate", "-n", 6, "--all", *of[:2]).stdout
    has("every algorithm", text, "^linear ", "^counter ", "^rank correlation ")
    has("but no blocks", run("simulate", "-n", 4, "--collective", "scan", *of[:2], rc=1).stderr,
        "plans on lines only")
    run("profile", "--estimate", "--json", "simulated")
    profile = read("simulated")
    profile.update(version=6, memory={"miss_share": 0.25, "work_ns": 2.5})
    (work / "profile.json").write_text(json.dumps(profile))
    text = run("simulate", "-n", 2, "--algorithm", "linear", "--json", "simulated", *of[:2],
               "--profile", "profile.json", "--work", 1).stdout
    has("the profile's parameters of memory, else defaults; options win", text,
        "^  memory +miss share 0.25, overlap 2, work 1 ns, sibling share 1, prefetch 0$")
    check("and in the file", read("simulated")["memory"] ==
          {"miss_share": 0.25, "overlap": 2, "work_ns": 1, "sibling_share": 1, "prefetch": 0})
    for name in ("trace", "simulated", "profile.json"):
        (work / name).unlink()
    simulated_choice(of[:2])


def simulated_choice(of):
    """plan --simulate: candidates run on a simulated machine, of one host or several."""
    before = written(cache)
    text = run("plan", "-n", 6, "--simulate", "--json", "chosen", *of).stdout
    has("plan --simulate: says so", text, "^note: the candidates run on a simulated machine: ",
        "^  simulated +[0-9.]+ ns per episode$", ": simulated ",
        "^  not saved: the simulated machine is not this one$")
    check("nothing measured", "measured" not in text and written(cache) == before, (text, written(cache)))
    plan = read("chosen")
    check("its origin", (plan["origin"], plan["measured_period_ns"]) == ("simulated", 0), plan["origin"])
    chosen = [c for c in plan["candidates"] if c["verdict"] == "chosen"]
    timed = [c["simulated_ns"] for c in plan["candidates"] if "simulated_ns" in c]
    check("the best of the simulated ones, within 2 %", len(chosen) == 1 and len(timed) >= 12 and
          chosen[0]["simulated_ns"] == plan["simulated_period_ns"] <= 1.02 * min(timed), plan["candidates"])
    layout = ("--algorithm", chosen[0]["algorithm"], "--layout", plan["layout"])
    run("simulate", "-n", 6, *layout, "--json", "alone", *of)
    check("as simulate says", read("alone")["period_ns"] == plan["simulated_period_ns"], read("alone"))
    run("plan", "-n", 6, "--simulate", "--work", 100, "--json", "slow", *of)
    check("--work counts", read("slow")["simulated_period_ns"] > plan["simulated_period_ns"] + 100, plan)
    has("explain shows it", run("explain", "--plan", "chosen").stdout, "^simulated  ", "^measured   not yet",
        "^costs      .*simulated machine$", " simulated$")
    run("plan", "-n", 6, "--work", 100, *of, rc=107)
    run("plan", "-n", 6, "--simulate", "--estimate", *of, rc=108)
    has("a CPU for each", run("plan", "-n", 9, "--simulate", *of, rc=1).stderr, "share a CPU")
    has("no blocks", run("plan", "-n", 4, "--simulate", "--collective", "scan", *of, rc=1).stderr,
        "plans on lines only")
    shape = {"hosts": 4, "packages": 1, "numa": 1, "l3": 1, "l2": 0, "cores": 2, "smt": 1}
    (work / "hosts").write_text(json.dumps({"source": "made up", "model": "four hosts", "line_bytes": 64,
                                            "regular": shape}))
    for collective in ("barrier", "broadcast"):
        team = ("-n", 8, "--topology", "hosts", "--collective", collective)
        text = run("plan", *team, "--simulate", "--json", "chosen").stdout
        has(f"over hosts: the latency of a {collective}", text, "^  simulated +[0-9.]+ [nu]s latency$")
        plan = read("chosen")
        if "/" not in plan["candidates"][0]["algorithm"]:
            continue
        run("simulate", *team, "--algorithm", plan["candidates"][0]["algorithm"], "--layout", plan["layout"],
            "--json", "alone")
        check("as simulate says", read("alone")["latency_ns"] == plan["simulated_period_ns"], read("alone"))
    check("nothing is saved", written(cache) == before, written(cache))
    for name in ("chosen", "alone", "slow", "hosts"):
        (work / name).unlink()


def law():
    """Barriers over hosts by the law of remote-store-barriers, the model and the simulation."""
    has("the law alone", run("predict", "--hosts", "64,262144", "--cores", "16,768").stdout,
        "^law: equation 2 of remote-store-barriers$", r"^  t = [(]0.0216 c [+] 2.4928[)] ln n [+] 0.0561 c ",
        "^     64    16    13.08        -                 -$", "^ 262144   768   281.54 ",
        "the machine has fewer: the law alone")
    shape = {"hosts": 4, "packages": 1, "numa": 1, "l3": 1, "l2": 0, "cores": 4, "smt": 2}
    (work / "hosts").write_text(json.dumps({"source": "made up", "model": "four hosts", "line_bytes": 64,
                                            "regular": shape}))
    of = ("--topology", "hosts", "--cores", "1,2,4", "--algorithm", "kary(2)/linear")
    text = run("predict", "--hosts", "1,2,4", *of, "--points", "points", "--json", "law", "--scale", 2).stdout
    has("law, model and simulation", text, "^latency of a barrier, us$", r" model x2 +sim. x2  plan$",
        "^ +1 +1 +0.43 +- +- +- +-$", r"^ +1 +4 .* linear$", r"^ +4 +1 .* kary[(]2[)]$",
        r"^ +4 +4 +[0-9.]+ +[0-9.]+ +[-+][0-9]+% +[0-9.]+ +[-+][0-9]+% .* kary[(]2[)]/linear$",
        "one member waits for nobody", "^fit of 8 times of the model$", "^fit of 8 simulated times$",
        "^  with ln n R2 [01].[0-9]+; at least ", "^  with n    R2 ", "^  worst +[-+][0-9.]+ us: n = ")
    file = read("law")
    rows = {(r["hosts"], r["cores"]): r for r in file["rows"]}
    check("its file", len(rows) == 9 and file["quantity"] == "latency" and file["law"]["a2"] == 2.4928 and
          all(0 < r["scaled_simulated_us"] < r["simulated_us"] for r in rows.values() if "plan" in r) and
          "simulated_us" not in rows[1, 1] and file["fits"]["simulated"]["points"] == 8, file)
    text = run("predict", "--fit", "points", "--hosts", 1000, "--cores", 64, "--json", "law").stdout
    has("the law of these points", text, "^fit of 8 points in points$", "^law: the fit$", "^   1000    64 ")
    fit = read("law")["fit"]
    check("is the one of the simulation", all(
        abs(fit[k] - file["fits"]["simulated"][k]) < 1e-9 for k in ("a1", "a2", "b1", "b2")) and
        fit["log"]["r2"] == file["fits"]["simulated"]["log"]["r2"], (fit, file["fits"]))
    (work / "points").write_text("hosts,cores,latency_us\n2,4,none\n")
    has("a bad file is refused", run("predict", "--fit", "points", rc=1).stderr,
        "points: line 2: expected hosts")
    (work / "points").write_text("hosts,cores,latency_us\n2,4,3\n4,4,5\n8,4,6\n")
    has("too few points, too", run("predict", "--fit", "points", rc=1).stderr, "3 points cannot be fitted")
    has("--members is refused", run("predict", "--hosts", 2, "-n", 4, *of, rc=1).stderr, "remove --members")
    has("a law of barriers", run("predict", "--hosts", 2, "--collective", "scan", *of, rc=1).stderr,
        "the law is one of barriers")
    run("predict", "--hosts", 2, rc=107)
    for name in ("hosts", "law", "points"):
        (work / name).unlink()


def emitted(of):
    before = written(cache)
    text = run("plan", "-n", 3, "--algorithm", "kary(2)", "--emit", "team.h", "--no-save", *of).stdout
    has("plan --emit plans the barrier and the allreduce", text, r"^barrier of 3 threads: kary\(2\) in ",
        "^allreduce of 3 threads: ")
    header = (work / "team.h").read_text()
    has("its header names both plans, and holds both", header, r"^//   barrier    kary\(2\) in ",
        "^//   allreduce  ", r"^static inline void team3_barrier\(", r"^static inline int team3_allreduce\(",
        "^#define TEAM3_BYTES 8$")
    text = run("plan", "-n", 3, "--collective", "allreduce", "--bytes", 20, "--algorithm", "linear",
               "--emit", "team.h", "--prefix", "my_team", *of).stdout
    header = (work / "team.h").read_text()
    has("or the allreduce first, by --bytes and --prefix", header, "^//   allreduce  linear in ",
        r"^static inline void my_team_barrier\(", "^#define MY_TEAM_BYTES 56$")
    check("both plans are kept", text.count("  saved ") == 2 and len(written(cache)) == len(before) + 4,
          (text, written(cache)))
    for name in set(written(cache)) - set(before):
        (cache / name).unlink()
    for words, why in ((("--collective", "broadcast"), "--collective is one of these"),
                       (("--bytes", 57), "up to 56 bytes"),
                       (("--prefix", "1x"), "names in C cannot begin with '1x'")):
        has(f"plan --emit {' '.join(map(str, words))} is refused",
            run("plan", "-n", 3, "--emit", "none.h", *words, *of, rc=1).stderr, why)
    has("--prefix without --emit is refused", run("plan", "-n", 3, "--prefix", "x", *of, rc=1).stderr,
        "--prefix is for the header")
    (work / "team.h").unlink()


def explained(known):
    by_plan = run("explain", "--plan", "plan.json").stdout
    has("explain --plan: key, layout, stages, matrices, bound, others", by_plan,
        "^barrier of 5 threads, on CPUs 2,6",
        "^algorithm  kary[(]3[)]$", "^layout     private[+]2slots ", "^bound      .*4 stages x",
        "^   0  1 signal: 4->1$",
        r"^S0\n   0 [|] [. ]+[|]$", r"^   4 [|] [.] 1 ", "^levels$", "^considered$", "chosen$")
    kept = run("explain", "-n", 4, "--place", "core", "--topology", "machine.json")
    has("explain finds what plan has kept", kept.stdout,
        "^barrier of 4 threads, on CPUs 0,2,4,6, machine " + known)
    check("and has nothing to add", kept.stderr == "", kept.stderr)
    check("explain --json is the file",
          json.loads(run("explain", "--plan", "plan.json", "--json").stdout) == read("plan.json"))
    other = run("explain", "-n", 9, "--topology", "machine.json")
    has("what is not kept is estimated, and it says so", other.stderr, "default costs per level",
        "no such plan in the cache")
    check("no matrices of 9 members unasked", "\nS0\n" not in other.stdout, other.stdout)


def contradicted():
    """Eight cores of one declared L3; the profile shows two domains, the even and the odd cores."""
    fingerprint = synthetic("flat.json", "pack:1 l3:1 core:8 pu:1")
    cost = lambda i, j: 0 if i == j else 40 if i % 2 == j % 2 else 3000
    matrix = lambda share: [[cost(i, j) * share for j in range(8)] for i in range(8)]
    profile = {"format": "fermata-profile", "version": 1, "machine": "made up", "fingerprint": fingerprint,
               "origin": "measured",
               "engine": "threads", "date": "2026-01-01T00:00:00Z", "topology": read("flat.json"),
               "o": matrix(0.75), "l": matrix(0.25),
               "one_way_ns": 40}
    (work / "profile.json").write_text(json.dumps(profile))
    wins = ("^note: the topology puts all pairs of level l3 at one distance, but CPUs 0,2 measure 40 ns and "
            "0,1 3000 ns: Fermata uses the measured costs$")
    check("topo is silent where no profile is kept", "note:" not in run("topo", "--file", "flat.json").stdout)
    kept = cache / "fermata" / f"profile-{fingerprint}-threads.json"
    kept.write_text(json.dumps(profile))
    has("topo says where the kept profile contradicts it", run("topo", "--file", "flat.json").stdout, wins)
    r = run("topo", "--file", "flat.json", "--json")
    has("with --json on standard error", r.stderr, wins)
    check("where it does not spoil the JSON", json.loads(r.stdout) == read("flat.json"), r.stdout)
    check("other machines are not spoken of", "note:" not in run("topo", "--file", "machine.json").stdout)
    kept.unlink()
    team = ("-n", 8, "--topology", "flat.json", "--profile", "profile.json", "--collective", "reduce")
    r = run("plan", *team, "--estimate", "--no-save", "--json", "plan.json")
    has("plan says so, too, and plans by the profile", r.stdout, wins, "^  levels +2 x 4$")
    levels = read("plan.json")["levels"]
    check("whose levels are the two domains",
          [c["ranks"] for c in levels.get("children", [])] == [[0, 2, 4, 6], [1, 3, 5, 7]], levels)
    has("explain likewise", run("explain", *team).stderr, wins)
    r = run("plan", *team, "--estimate", "--no-save", "--declared-levels", "--json", "plan.json")
    levels = read("plan.json")["levels"]
    check("--declared-levels keeps to the one domain declared",
          "children" not in levels and "levels" not in r.stdout, (levels, r.stdout))
    (work / "flat.json").unlink()


def proofs():
    r = run("verify", "--all", "--max", 4, "--json", "verify.json")
    table = read("verify.json")
    check("verify --all proves and refuses as it must",
          table["wrong"] == 0 and table["sizes"] == [1, 2, 3, 4], table["wrong"])
    check("every algorithm", len({a["algorithm"].split("(")[0] for a in table["algorithms"]}) >= 11,
          table["algorithms"])
    refused = sum(b["tried"] for b in table["broken"] if b["must_be"] == "refused")
    check("and schedules that are broken on purpose", refused > 1000, table["broken"])
    has("and says how many verdicts were wrong", r.stdout, "^0 wrong verdicts, ")
    text = run("verify", "--programs").stdout
    has("verify --programs: how long proofs take", text, "^algorithm .* n=1024$",
        r"^dissemination +barrier( +[0-9.]+){5}$", r"^combining_tree +barrier( +[0-9.]+){5}$")
    text = run("verify", "--algorithm", "kary(2)", "-n", 5).stdout
    has("verify --algorithm: schedule, matrices, proof", text, "^stage 3$", r"^   4 [|] [.] 1 ",
        "^barrier: proved$", r"^  stage 3 +25 [(]100 %[)]$")
    schedule = text[:text.index("end\n") + 4]
    (work / "schedule").write_text(schedule)
    has("verify --file reads it again", run("verify", "--file", "schedule").stdout, "^barrier: proved$")
    (work / "schedule").write_text(schedule.replace("  2 -> 0\n", ""))
    r = run("verify", "--file", "schedule", rc=1)
    has("without one of its signals it is refused, and why", r.stdout, "^barrier: refused: .*member 0 does "
        "not know that member 2 ")
    (work / "verify.json").unlink()
