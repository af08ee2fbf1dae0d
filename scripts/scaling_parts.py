"""What scripts/bench-scaling runs on a machine: parts, their commands, and about how long these take."""
import dataclasses
import random

COLLECTIVES = ["broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "reduce_scatter",
               "alltoall", "scan", "exscan"]
MANY_BLOCKS = {"gather", "scatter", "allgather", "reduce_scatter", "alltoall"}  # one for each member
MOST_BUFFERS = 4 << 30  # as in bench/contestants.cpp
# For estimates of time, seconds and numbers.
START_S, CONTESTANT_S, QUICK_S = 1, 0.15, 0.04  # of a command; of each contestant before it is timed
RIVALS, ALGORITHMS = 12, 35  # of each engine: "all" of them


@dataclasses.dataclass(frozen=True)
class Command:
    name: str  # of its files
    words: list  # "fermata" or a script of this folder, and its arguments without --json
    seconds: float  # about how long it takes
    statuses: tuple = (0,)  # with which it has done its work


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    about: str
    commands: list
    missing: str = ""  # why it cannot run here


class Machine:
    """A topology as `fermata topo --json` prints it."""

    def __init__(self, topology):
        self.model = topology["model"]
        rows = [dict(zip(topology["columns"], row)) for row in topology["cpus"]]
        self.cpus = sorted(rows, key=lambda cpu: cpu["cpu"])
        self.cores, self.chips, threads = [], {}, {}
        for cpu in self.cpus:
            threads.setdefault(cpu["core"], []).append(cpu)
        for first, *_ in threads.values():
            self.cores.append(first)
            self.chips.setdefault(first["l3"], []).append(first)
        self.threads_per_core = min(len(of_core) for of_core in threads.values())
        self.chip = max(self.chips.values(), key=len)  # cores that share a last-level cache

    def sizes(self, most):
        """2, 4, 8 ... up to `most`, and `most`."""
        powers = [1 << k for k in range(1, most.bit_length()) if 1 << k <= most]
        return sorted({*powers, most} - {1})

    def level(self, a, b):
        """The smallest thing that has both CPUs."""
        for level, name in (("core", "core"), ("l3", "cache"), ("numa", "numa"), ("package", "package")):
            if a[level] == b[level]:
                return name
        return "machine"

    def partners(self, of, cpus):
        """{level: the first of `cpus` at that distance}"""
        found = {}
        for cpu in cpus:
            if cpu is not of:
                found.setdefault(self.level(of, cpu), cpu)
        return found


def listed(values):
    return ",".join(map(str, values))


def ranges(values):
    """"0-3,8" for 0, 1, 2, 3, 8. Precondition: they ascend."""
    runs = []
    for value in values:
        if runs and runs[-1][1] == value - 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


class Suite:
    def __init__(self, machine, quick=False, has=lambda path: True):
        self.machine, self.quick, self.has = machine, quick, has
        self.all = len(machine.cpus)
        self.members = self.few(machine.sizes(self.all))
        self.cores = len(machine.cores)

    def few(self, values):
        """All of them, or with --quick the first and the last one."""
        values = list(values)
        return values if not self.quick or len(values) < 3 else [values[0], values[-1]]

    def bench(self, name, collective, members, *more, engines=2, seconds=4, algorithms=(), layouts=(),
              rivals=False, quantities=("period",), sizes=()):
        algorithms = self.few(dict.fromkeys(algorithms))  # kary(P - 1) may be there twice
        layouts, sizes = self.few(layouts), self.few(sizes)
        every = "all" in algorithms
        if self.quick:
            seconds = 0.05
            algorithms = ["linear"] if every else algorithms
        words = ["fermata", "bench", collective, "-n", listed(members),
                 "--engine", listed(["threads", "processes"][:engines]),
                 "--algorithm", listed(algorithms) or "none",
                 "--rivals", "none" if not rivals or self.quick else "all",
                 "--quantity", listed(quantities), "--seconds", str(seconds)]
        words += ["--layout", listed(layouts)] if layouts else []
        words += ["--bytes", listed(sizes)] if sizes else []
        words += [] if rivals else ["--no-floors"]
        own = 1 + (ALGORITHMS if every else len(algorithms)) * max(1, len(layouts))
        contestants = engines * (own + (RIVALS if rivals and not self.quick else 0))
        groups = len(members) * len(quantities) * max(1, len(sizes))
        start = contestants * (QUICK_S if self.quick else CONTESTANT_S)
        takes = groups * (1.1 * seconds + start) + (0 if self.quick else START_S)
        return Command(name, words + list(more), takes)

    def degrees(self, most):
        return [f"kary({k})" for k in (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 128) if k < most]

    # -- the machine and Fermata's own range --

    def profiles(self):
        seconds = 1 if self.quick else max(20, min(600, round(0.3 * self.all * (self.all - 1))))
        words = ["fermata", "profile", "--seconds", str(seconds)]
        return [Command(f"profile-{engine}", words + more, seconds)
                for engine, more in (("threads", []), ("processes", ["--processes"]))]

    def plans(self):
        cpus = [cpu["cpu"] for cpu in self.machine.cpus]
        best = ["--best", "1"] if self.quick else []
        return [Command(f"plan-{collective}-{engine}-n{n}",
                        ["fermata", "plan", "-n", str(n), "--cpus", ranges(cpus[:n]), "--engine", engine,
                         "--collective", collective, "--bytes", str(size), *best], 10 + n / 8)
                for collective, size in (("barrier", 0), ("allreduce", 8))
                for engine in ("threads", "processes") for n in self.members]

    def barriers(self):
        return [self.bench(f"barrier-{quantity}-n{n}", "barrier", [n], algorithms=["all"], rivals=True,
                           seconds=8, quantities=[quantity])
                for quantity in ("period", "latency") for n in self.members]

    def collectives(self):
        commands = []
        for collective in COLLECTIVES:
            for size in self.few((8, 4096, 262144))[:1 if self.quick else None]:
                fits = [n for n in self.members
                        if 2 * n * size * (n if collective in MANY_BLOCKS else 1) < MOST_BUFFERS]
                quantities = ["period", "latency"] if size == 8 else ["period"]
                commands.append(self.bench(f"{collective}-{size}", collective, fits, sizes=[size],
                                           rivals=True, seconds=3, quantities=quantities))
        return commands

    def placements(self):
        return [self.bench(f"place-{how}", "barrier", self.members, "--place", how, seconds=2,
                           algorithms=["linear", "kary(4)", "dissemination"])
                for how in ("core", "cpu", "numa", "round-robin")]

    def skews(self):
        algorithms = self.degrees(self.all) + ["linear", "dissemination"]
        return [self.bench(f"skew-{time}-{shape}", "barrier", [self.all], "--skew", f"{time}:{shape}",
                           quantities=["latency"], algorithms=algorithms)
                for shape in ("uniform", "exponential", "late") for time in ("1us", "10us", "100us")]

    def layouts(self):
        return [self.bench("layouts", "barrier", [self.all],
                           algorithms=["linear", "kary(4)", "dissemination", "butterfly"],
                           layouts=["private", "private+2slots", "private+stride2", "private+stride5",
                                    "packed", "published"])]

    def fan_ins(self):
        return [self.bench(f"fan-in-{k}", "barrier", [self.all], "--fan-in", str(k), seconds=2)
                for k in (1, 2, 4, 8, 16, 32) if k < self.all]

    def predictions(self):
        commands = []
        for n in self.members:
            for collective, size in (("barrier", 0), ("allreduce", 8)):
                words = ["fermata", "predict", "-n", str(n), "--collective", collective, "--bytes", str(size)]
                words += ["--algorithm", "linear"] if self.quick else []
                commands.append(Command(f"predict-{collective}-n{n}", words, 3 if self.quick else 40 + n / 4))
        return commands

    def others(self):
        seconds = "0.05" if self.quick else "2"
        guided = ["allreduce"] if self.quick else []
        return [Command("overlap", ["fermata", "bench", "overlap", "-n", str(self.all), "--engine",
                                    "threads,processes", "--rivals", "none" if self.quick else "all",
                                    "--seconds", seconds], 5 if self.quick else 30),
                Command("guidelines", ["fermata", "bench", *guided, "--guidelines", "-n", str(self.all),
                                       "--seconds", seconds], 5 if self.quick else 200, (0, 1)),
                Command("teams", ["fermata", "bench", "teams", "-n", listed(self.members), "--engine",
                                  "threads,processes", "--seconds", seconds], 4)]

    # -- tables and figures of papers --

    def power8_pairs(self):
        first = self.machine.cpus[0]
        return [self.bench(f"power8-table-2-{level}", "barrier", [2], "--cpus",
                           listed([first["cpu"], cpu["cpu"]]), algorithms=["linear"], rivals=True, seconds=2)
                for level, cpu in self.machine.partners(first, self.machine.cpus).items()]

    def power8_mappings(self):
        cpus = [cpu["cpu"] for cpu in self.machine.chip]
        draw = random.Random(1)
        return [self.bench(f"power8-table-3-{k}", "barrier", [len(cpus)], "--cpus",
                           listed(draw.sample(cpus, len(cpus))), algorithms=["kary(5)"],
                           layouts=["private+stride5"], seconds=1)
                for k in range(2 if self.quick else 10)]

    def power8_seventh(self):
        chip = self.machine.chip
        others = [cores[0] for cores in self.machine.chips.values() if cores is not chip]
        if len(others) > 7:
            others = list(self.machine.partners(chip[0], others).values())
        return [self.bench(f"power8-table-4-cpu{cpu['cpu']}", "barrier", [len(chip) + 1], "--cpus",
                           listed([core["cpu"] for core in chip] + [cpu["cpu"]]), algorithms=["kary(5)"],
                           layouts=["private+stride5"], seconds=2)
                for cpu in others]

    def power8_smt(self):
        return [self.bench(f"power8-table-5-smt{k}", "barrier", [self.cores * k], "--place", "core",
                           algorithms=["kary(5)", "binomial_high", f"kary({self.cores * k - 1})"],
                           layouts=["private+stride5"], rivals=True, seconds=6)
                for k in range(1, self.machine.threads_per_core + 1)]

    def power8_figures(self):
        place = ("--place", "core")
        scale = self.machine.sizes(self.cores) if self.cores > 32 else range(2, self.cores + 1)
        return [self.bench("power8-figures-2-4", "barrier", [self.cores], *place, "--counters",
                           algorithms=self.degrees(self.cores),
                           layouts=["private", "private+stride5", "packed"], seconds=8),
                self.bench("power8-figure-3", "barrier", [self.cores], *place, "--counters",
                           algorithms=["kary(5)"],
                           layouts=["private"] + [f"private+stride{k}" for k in range(2, 9)]),
                self.bench("power8-figure-5", "barrier", self.few(scale), *place, algorithms=["kary(5)"],
                           layouts=["private+stride5"], seconds=1),
                self.bench("power8-figure-6", "barrier", [self.cores], *place, "--counters",
                           algorithms=["kary(5)", "dissemination", "binomial_high", "tournament(5)"],
                           layouts=["private", "private+stride5"])]

    def p7ih(self):
        commands = []
        for how in ("core", "cpu"):
            place, trees = ("--place", how), ["linear", "binomial"]
            commands.append(self.bench(f"p7ih-figure-7a-{how}", "allreduce", self.members, *place, sizes=[8],
                                       algorithms=["binomial", "kary(4)"], rivals=True, seconds=3))
            for figure, roots in (("7b", "fixed"), ("8a", "rotating")):
                commands.append(self.bench(f"p7ih-figure-{figure}-{how}", "broadcast", self.members, *place,
                                           "--roots", roots, sizes=[8], algorithms=trees,
                                           layouts=["published", "published+2slots"], rivals=True, seconds=3))
        commands.append(self.bench("p7ih-figure-8b", "broadcast", self.members, "--roots", "rotating",
                                   sizes=[8192, 65536, 131072, 1048576], rivals=True, seconds=2))
        return commands

    def reductions(self):
        threads = {"engines": 1, "rivals": True, "seconds": 4}
        barriers = ["counter", "sense_reversing", "combining_tree(4)", "linear", "redundant_butterfly",
                    "dissemination", "extended_butterfly"]
        return [self.bench("reduction-figure-9", "barrier", self.members, algorithms=barriers, **threads),
                self.bench("reduction-figures-10-13", "allreduce", self.members, sizes=[8, 24, 56],
                           algorithms=["linear", "extended_butterfly"], **threads),
                self.bench("reduction-figure-14", "allreduce", self.members, sizes=[8], quantities=["epcc"],
                           algorithms=["linear", "extended_butterfly"], **threads),
                self.bench("reduction-figure-14-barrier", "barrier", self.members, quantities=["epcc"],
                           algorithms=["linear", "extended_butterfly"], **threads)]

    # -- OpenMP --

    def openmp(self):
        quick = ["--runtimes", "libgomp", "--cells", "0:0", "--rounds", "1", "--seconds", "0.001"]
        regions = ["bench-openmp-regions", "BUILD", "--threads", listed(self.members)]
        overheads = ["bench-preload-openmp", "BUILD", "--threads", str(self.all), "--bind"]
        return [Command("openmp-regions", regions + (quick if self.quick else ["--rounds", "3"]),
                        5 if self.quick else 200 * len(self.members)),
                Command("openmp-overheads",
                        overheads + (["--pairs", "1", "--samples", "1"] if self.quick else []),
                        30 if self.quick else 200)]

    def parts(self):
        chips = len(self.machine.chips)
        cores = "" if len(self.machine.chip) > 1 else "no two cores share a cache of the last level"
        smt = self.machine.threads_per_core
        one = "" if self.cores > 1 else "there is one core"
        preload = "preload/openmp/libfermata-openmp.so"
        return [
            Part("profile", "cost of a signal between each pair of CPUs", self.profiles()),
            Part("plans", "plans of barriers and allreduces, timed", self.plans()),
            Part("barrier", "every algorithm and rival, period and latency", self.barriers()),
            Part("collectives", "each collective beside its rivals, three sizes", self.collectives()),
            Part("placement", "a core each first, CPUs in order, across NUMA nodes",
                 self.placements()),
            Part("skew", "degrees of trees where members come late", self.skews()),
            Part("layouts", "where signals lie in memory", self.layouts()),
            Part("fan-in", "limits on the signals to a member in one stage", self.fan_ins()),
            Part("predict", "model and simulation beside measured times", self.predictions()),
            Part("power8-table-2", "a barrier of two, near and far", self.power8_pairs()),
            Part("power8-table-3", "mappings on the cores of one chip", self.power8_mappings(), cores),
            Part("power8-table-4", "a full chip and one member on another chip", self.power8_seventh(),
                 cores or ("" if chips > 1 else "all cores share one cache of the last level")),
            Part("power8-table-5", f"1 to {smt} members a core, and Figures 7 to 9", self.power8_smt(), one),
            Part("power8-figures", "Figures 2 to 6, with counters of cache misses",
                 self.power8_figures(), one),
            Part("p7ih", "hybrid-collectives-p7ih, Figures 7 and 8", self.p7ih()),
            Part("reduction", "reduction-with-barrier, Figures 9 to 14", self.reductions()),
            Part("openmp", "regions and constructs with libfermata-openmp", self.openmp(),
                 "" if self.has(preload) else "libfermata-openmp.so is not built"),
            Part("others", "overlap, guidelines, making of teams", self.others()),
        ]
