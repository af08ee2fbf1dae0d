"""Checks bench, predict, and which plans are kept."""

import re

from harness import cache, check, has, home, read, root, run, temporary, work, written


def kept_plans():
    """Checks that an estimated plan does not replace a measured one."""
    for words, kept in ((("-n", 2, "--best", 2), "^  saved +"),
                        (("-n", 2, "--collective", "scan", "--bytes", 512, "--best", 2), "^saved in +")):
        has("a measured plan is kept", run("plan", *words).stdout, kept)
        before = {name: (cache / name).read_bytes() for name in written(cache)}
        has("an estimate does not replace it", run("plan", *words[:-2], "--estimate").stdout,
            "not saved: the saved plan .*was measured")
        if "scan" not in words:
            has("nor does a simulated one", run("plan", *words, "--simulate").stdout,
                "not saved: the saved plan .*was measured, and this one is simulated")
        check("and nothing of it changes",
              before == {name: (cache / name).read_bytes() for name in written(cache)})
        has("another measured one does", run("plan", *words).stdout, kept)
    for name in written(cache):
        (cache / name).unlink()
    has("a simulated plan of this machine is saved", run("plan", "-n", 2, "--simulate").stdout, "^  saved +")
    has("as what it is", run("explain", "-n", 2).stdout, "^simulated  ", "^measured   not yet")
    for name in written(cache):
        (cache / name).unlink()


def counters():
    r = run("bench", "barrier", "-n", 2, "--engine", "threads,processes", "--rivals", "none", "--algorithm",
            "none", "--no-floors", "--seconds", "0.05", "--counters", "--json", "counters.json")
    file = read("counters.json")
    (work / "counters.json").unlink()
    names = {"cycles", "instructions", "cache_misses", "page_faults", "migrations"}
    check("each row has its events", all(names <= set(row) for row in file["results"]), file)
    counted = {name for name in names if all(row[name] is not None for row in file["results"])}
    said = file["machine"]["counters"]  # what was counted, then "; no events of ..." or "; not ..."
    check("those that can be counted", counted == names & set(re.split("(?:^|; )no", said)[0].split(", ")),
          (counted, said))
    has("and their table", r.stdout, "^events of an episode and member, barrier, processes, n = 2, period",
        "^subject .* switch$", "^counted: ")
    has("not with other benchmarks", run("bench", "teams", "--counters", rc=1).stderr,
        "--counters: with a collective")


def runs():
    kept_plans()
    counters()
    r = run("bench", "barrier", "-n", 2, "--rivals", "pthread", "--algorithm", "linear,dissemination",
            "--layout", "private", "--seconds", "0.3", "--json", "bench.json")
    file = read("bench.json")
    fields = ("subject", "collective", "engine", "n", "bytes", "quantity", "unit", "samples", "median", "p10",
              "p90", "p99", "min", "bound", "ratio_to_plan")
    check("bench --json: every result has every field", all(set(fields) <= set(x) for x in file["results"]),
          file["results"])
    periods = [x for x in file["results"] if x["quantity"] == "period"
               and not x["subject"].startswith("probe_")]
    named = {x["subject"] for x in periods}
    floors = {"floor_private", "floor_packed", "floor_counter"}
    check("the plan, algorithms, the rival and floors",
          named == floors | {"planned", "pthread", "fermata:linear/private",
                             "fermata:dissemination/private"}, named)
    samples = lambda x: [s for s in x["samples"] if s is not None]  # rounds that were not reached have none
    check("raw samples are kept", all(samples(x) and min(samples(x)) == x["min"] for x in periods), periods)
    check("of what was asked for",
          all((x["collective"], x["engine"], x["n"], x["bytes"], x["unit"]) == ("barrier", "threads", 2, 0,
                                                                                "ns")
              for x in periods), periods)
    check("statistics are in order",
          all(0 < x["min"] <= x["p10"] <= x["median"] <= x["p90"] <= x["p99"] for x in periods), periods)
    floor = min(x["median"] for x in periods if x["subject"] in floors)
    check("the bound is the best floor of the run", all(x["bound"] == floor for x in periods),
          (floor, periods))
    check("ratios are to the plan", [x["ratio_to_plan"] for x in periods if x["subject"] == "planned"] == [1]
          and
          all(x["ratio_to_plan"] > 0 for x in periods), periods)
    known = {"cpu", "cpus", "kernel", "compiler", "flags", "commit", "date", "affinity", "plans", "versions"}
    check("machine: where, what, by which command",
          known <= set(file["machine"]) and "--rivals pthread" in file["machine"]["command"], file["machine"])
    has("its table", r.stdout, "^barrier, threads, n = 2, period, ns per episode", r"^planned [(]",
        "^pthread ")
    has("an unknown rival is named", run("bench", "barrier", "--rivals", "nobody", rc=1).stderr, "nobody")
    check("no such file to write is known before the run",
          run("bench", "--json", root / "none" / "x", "--seconds", 100, rc=1).stdout == "")

    r = run("predict", "-n", 2, "--algorithm", "linear", "--json", "predict.json")
    file = read("predict.json")
    layouts = {s["layout"] for s in file["subjects"]}
    check("predict: each layout of the algorithm",
          {"private", "private+2slots", "private+stride2", "packed"} <= layouts and
          {s["algorithm"] for s in file["subjects"]} == {"linear"}, file)
    check("predicted beside measured",
          all(s["predicted_ns"] >= 0 < s["measured_ns"] and len(s["samples"]) == 7 for s in file["subjects"]),
          file)
    check("rank correlation and error",
          -1 <= file["rank_correlation"] <= 1 and 0 <= file["median_error"] <= file["worst_error"], file)
    has("and its table", r.stdout, "^linear +packed +", r"^\d+ subjects, 2 members; ", "^rank correlation ",
        "^error of the prediction: median ")
    run("predict", "-n", 2, "--algorithm", "nobody", rc=1)
    has("blocks, too", run("predict", "-n", 2, "--collective", "scan", "--bytes", 1024).stdout, "^complete +",
        "^scan of 2 members, ")
    beside = [written(where) for where in (home, temporary, cache)]
    check("nothing lies outside what was asked for",
          written() == ["bench.json", "predict.json"] and not any(beside), (written(), beside))
