"""Says of a function's disassembly on x86-64, aarch64 and ppc64le whether it orders its accesses as asked."""
import re

# x86-64: stores aren't reordered with stores, loads not with loads; only store-load needs an instruction.
X86_LOCKED = re.compile(r"^lock |^xchg .*\(")
# aarch64: a helper of libgcc carries its order in its name (-moutline-atomics).
ARM_HELPER = re.compile(r"^bl? .*<__aarch64_\w+?_(relax|acq|rel|acq_rel|sync)(?:@plt)?>")
ARM_EXCLUSIVE = re.compile(r"^(ld(?:a)?xr|st(?:l)?xr)\b")
ARM_LSE = re.compile(r"^(?:ld(?:add|set|clr|eor)|swp|cas)(a?)(l?)\b")


class Code:
    """The instructions of one function, objdump's addresses and comments gone."""

    def __init__(self, architecture, lines):
        self.architecture, self.lines = architecture, lines

    def find(self, pattern, start=0):
        for i in range(start, len(self.lines)):
            if re.search(pattern, self.lines[i]):
                return i
        return -1

    def count(self, pattern):
        return sum(1 for line in self.lines if re.search(pattern, line))

    # Patterns of a plain load or store of argument `i` (0: a, 1: p, ...).
    def load(self, i):
        register = ("%rdi", "%rsi", "%rdx", "%rcx")[i], f"x{i}", f"r{i + 3}"
        return {"x86_64": rf"^(?:mov|add|cmp)\w* +(?:\$\w+,)?\({register[0]}\)",
                "aarch64": rf"^(?:ldr|ldar|ldapr) +[wx]\d+, \[{register[1]}\]",
                "ppc64le": rf"^(?:ld|lwz|lwa) +r\d+,0\({register[2]}\)"}[self.architecture]

    def store(self, i):
        register = ("%rdi", "%rsi", "%rdx", "%rcx")[i], f"x{i}", f"r{i + 3}"
        return {"x86_64": rf"^(?:mov\w* +[$%]\w+,|xchg +%\w+,)\({register[0]}\)",
                "aarch64": rf"^(?:str|stlr) +[wx]\w+, \[{register[1]}\]",
                "ppc64le": rf"^(?:std|stw) +r\d+,0\({register[2]}\)"}[self.architecture]


def full_fences(code):
    """Places of instructions that order a store before a later load."""
    pattern = {"x86_64": r"^mfence|^lock |^xchg .*\(", "aarch64": r"^dmb +(?:ish|sy)$",
               "ppc64le": r"^(?:sync|hwsync)\b"}[code.architecture]
    return [i for i, line in enumerate(code.lines) if re.search(pattern, line)]


def between(code, first, last, pattern):
    return any(re.search(pattern, line) for line in code.lines[first + 1:last])


ARM_FULL = r"^dmb +(?:ish|sy)$"
PPC_RELEASE = r"^(?:lwsync|sync|hwsync)\b"


def acquires(code, at, then):
    """Whether the load at `at` is ordered before the access at `then`."""
    if code.architecture == "x86_64":
        return True
    if code.architecture == "aarch64":
        return (bool(re.search(r"^(?:ldar|ldapr|ldaxr)", code.lines[at]))
                or between(code, at, then, r"^dmb +(?:ish|ishld|sy)$"))
    if between(code, at, then, PPC_RELEASE):
        return True
    rest = code.lines[at + 1:then]  # a branch on the value, then isync
    branch = next((i for i, line in enumerate(rest) if re.search(r"^b(?:ne|eq|c)", line)), -1)
    return branch >= 0 and any(line.startswith("isync") for line in rest[branch + 1:])


def releases(code, before, at):
    """Whether the store at `before` is ordered before the store at `at`."""
    if code.architecture == "x86_64":
        return True
    if code.architecture == "aarch64":
        return bool(re.search(r"^(?:stlr|stlxr)", code.lines[at])) or between(code, before, at, ARM_FULL)
    return between(code, before, at, PPC_RELEASE)


def atomic_place(code):
    """(first instruction, last instruction, acquire, release) of the read-modify-write, or None."""
    lines = code.lines
    if code.architecture == "x86_64":
        i = next((i for i, line in enumerate(lines) if X86_LOCKED.search(line)), -1)
        return (i, i, True, True) if i >= 0 else None
    if code.architecture == "aarch64":
        for i, line in enumerate(lines):
            helper, lse = ARM_HELPER.search(line), ARM_LSE.search(line)
            if helper:
                order = helper.group(1)
                return i, i, order in ("acq", "acq_rel", "sync"), order in ("rel", "acq_rel", "sync")
            if lse:
                return i, i, bool(lse.group(1)), bool(lse.group(2))
        first, last = code.find(r"^lda?xr"), code.find(r"^stl?xr")
        return (first, last, lines[first].startswith("lda"),
                lines[last].startswith("stl")) if 0 <= first < last else None
    first, last = code.find(r"^l[wd]arx"), code.find(r"^st[wd]cx\.")
    if not 0 <= first < last:
        return None
    after = lines[last + 1:]
    branch = next((i for i, line in enumerate(after) if re.search(r"^bne", line)), -1)
    acquire = (branch >= 0 and any(re.search(r"^(?:isync|lwsync|sync|hwsync)\b", line)
                                   for line in after[branch + 1:]))
    return first, last, acquire, any(re.search(PPC_RELEASE, line) for line in lines[:first])


def check_one(code, what):
    """None, or what is wrong. `what` is one of the words of WRAPPERS."""
    if what == "twice load":
        return None if code.count(code.load(0)) == 2 else "two loads are not two loads"
    if what in ("twice store", "two stores"):
        return (None if code.count(code.store(0 if what == "twice store" else 1)) == 2
                else "two stores are not two stores")
    if what == "acquire load":
        at = code.find(code.load(0))
        then = code.find(code.load(1), at + 1)
        return (None if 0 <= at < then and acquires(code, at, then)
                else "the later load is not ordered after it")
    if what == "release store":
        before, at = code.find(code.store(1)), code.find(code.store(0))
        return (None if 0 <= before < at and releases(code, before, at)
                else "the earlier store is not ordered before it")
    if what == "fence between stores":
        stores = [i for i, line in enumerate(code.lines) if re.search(code.store(1), line)]
        return (None if len(stores) == 2 and any(stores[0] < f < stores[1] for f in full_fences(code))
                else "no full fence between the stores")
    if what == "fence before load":
        store, load = code.find(code.store(1)), code.find(code.load(2))
        return None if any(store < f < load for f in full_fences(code)) else "no full fence before the load"
    place = atomic_place(code)
    if place is None:
        return "it is not one atomic operation"
    first, last, acquire, release = place
    # Helpers are called with the pointers in other registers, so the plain accesses around are found by their
    # kind.
    plain = {"x86_64": r"\(%\w+\)", "aarch64": r"^(?:str|ldr) +[wx]\w+, \[x\d+\]",
             "ppc64le": r"^(?:std|stw|ld|lwz|lwa) +r\d+,0\(r\d+\)"}
    stores = {"x86_64": r"^mov\w* +[$%]\w+,\(%\w+\)", "aarch64": r"^str +[wx]\w+, \[x\d+\]",
              "ppc64le": r"^st[dw] +r\d+,0\(r\d+\)"}
    if what == "acquire":
        later = [i for i in range(last + 1, len(code.lines))
                 if re.search(plain[code.architecture], code.lines[i])]
        return None if acquire and later else "what comes after is not ordered after it"
    if what == "release":
        earlier = [i for i in range(first) if re.search(stores[code.architecture], code.lines[i])]
        return None if release and earlier else "what comes before is not ordered before it"
    return None  # "atomic"


def check_plain(code, name):
    """plain_store, plain_load, plain_words: four words, each by itself, ordered with the header."""
    wide = {"x86_64": r"%[xyz]mm", "aarch64": r"\b[qv]\d+\b",
            "ppc64le": r"^(?:lxv|stxv|lvx|stvx)"}[code.architecture]
    if code.count(wide):
        return "words are copied by vectors"
    header = code.find(code.store(0) if name == "plain_store" else code.load(0))
    payload = {"x86_64": r"^mov\w* +(?:%\w+,(?:0x\w+)?\(%rsi\)|(?:0x\w+)?\(%rsi\),)",
               "aarch64": r"^(?:str|stp|ldr|ldp) .*\[x1(?:, #\d+)?\]",
               "ppc64le": r"^(?:std|ld) +r\d+,\d+\(r4\)"}[code.architecture]
    places = [i for i, line in enumerate(code.lines) if re.search(payload, line)]
    # aarch64 may move pairs of words
    if header < 0 or len(places) < (2 if code.architecture == "aarch64" else 4):
        return "accesses are missing"
    if name == "plain_store":
        return (None if places[-1] < header and releases(code, places[-1], header)
                else "payload is not ordered before the header")
    return (None if header < places[0] and acquires(code, header, places[0])
            else "payload is not ordered after the header")


def check_pause(code):
    pattern = {"x86_64": r"^pause", "aarch64": r"^isb",
               "ppc64le": r"^(?:or|mr) +r1,r1(?:,r1)?"}[code.architecture]
    return (None if code.find(pattern) >= 0 and code.find(code.load(0)) >= 0
            else "no pause, or no load, in the loop")


def check_heavy_fence(code):
    """os::heavy_fence: membarrier and then a full fence of its own, also where the call fails."""
    call = code.find({"x86_64": r"^call|^syscall", "aarch64": r"^bl\b|^svc",
                      "ppc64le": r"^bl\b|^sc\b"}[code.architecture])
    calls = [i for i, line in enumerate(code.lines) if re.search(r"<syscall", line)] or [call]
    return (None if calls[0] >= 0 and any(f > calls[0] for f in full_fences(code))
            else "no full fence after membarrier")
