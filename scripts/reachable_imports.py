"""Finds the functions of other libraries that an object's code can reach from given functions of its own, by
the disassembly. A call, a jump and the use of an address count; a table of functions counts as a whole. A
function that the program passes in does not count."""
import bisect
import re
import subprocess


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def base_name(symbol):
    return symbol.split("@")[0]


class Object:
    def __init__(self, path):
        self.path = str(path)
        self.functions, self.data, self.exported = {}, {}, {}
        for line in output("readelf", "-sW", self.path).splitlines():
            f = line.split()
            if len(f) < 8 or not re.fullmatch(r"\d+:", f[0]) or f[6] in ("UND", "ABS"):
                continue
            start, size = int(f[1], 16), int(f[2], 0)
            if f[3] in ("FUNC", "IFUNC"):
                self.functions[start] = (start + max(size, 1), base_name(f[7]))
                if f[4] in ("GLOBAL", "WEAK") and f[5] == "DEFAULT":
                    self.exported.setdefault(base_name(f[7]), start)
            elif f[3] == "OBJECT":
                self.data[start] = start + size
        self.starts, self.data_starts = sorted(self.functions), sorted(self.data)
        self.imported_at, self.pointers = {}, {}
        for line in output("readelf", "-rW", self.path).splitlines():
            f = line.split()
            if len(f) >= 4 and f[2] == "R_X86_64_RELATIVE":
                self.pointers[int(f[0], 16)] = int(f[3], 16)
            elif len(f) >= 5 and f[2].startswith("R_X86_64_"):
                self.imported_at[int(f[0], 16)] = (base_name(f[4]), int(f[3], 16))
        self.slots = sorted(set(self.pointers) | set(self.imported_at))
        self.read_code()

    def function_of(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        if i >= 0 and address < self.functions[self.starts[i]][0]:
            return self.starts[i]
        return None

    def reach(self, caller, address):
        """Records that the code at `caller` uses this address."""
        function = self.function_of(address)
        if function is not None:
            self.edges.setdefault(caller, set()).add(function)
            return
        i = bisect.bisect_right(self.data_starts, address) - 1
        end = self.data[self.data_starts[i]] if i >= 0 else 0
        start, end = (self.data_starts[i], end) if address < end else (address, address + 8)
        for slot in self.slots[bisect.bisect_left(self.slots, start):bisect.bisect_left(self.slots, end)]:
            if slot in self.pointers:
                target = self.function_of(self.pointers[slot])
                if target is not None:
                    self.edges.setdefault(caller, set()).add(target)
            elif self.imported_at[slot][1] and self.function_of(self.imported_at[slot][1]) is not None:
                self.edges.setdefault(caller, set()).add(self.function_of(self.imported_at[slot][1]))
            else:
                self.imports.setdefault(caller, set()).add(self.imported_at[slot][0])

    def read_code(self):
        self.edges, self.imports = {}, {}
        caller = None
        for line in output("objdump", "-d", "--no-show-raw-insn", self.path).splitlines():
            m = re.match(r"\s+([0-9a-f]+):\t(.*)", line)
            if not m:
                continue
            caller = self.function_of(int(m[1], 16))
            if caller is None:
                continue
            for address, symbol in re.findall(r"([0-9a-f]+) <([^>]*)>", m[2]):
                plt = re.match(r"([^+]+)@plt", symbol)
                if plt:
                    self.imports.setdefault(caller, set()).add(base_name(plt[1]))
                else:
                    self.reach(caller, int(address, 16))

    def reached(self, roots, without=()):
        """{function's address: address of its caller} from the functions whose names match one of `roots`."""
        names = list(self.exported.items()) + [(name, start) for start, (_, name) in self.functions.items()]
        found = {a: None for name, a in names if any(re.fullmatch(r, name) for r in roots)}
        stack = list(found)
        while stack:
            at = stack.pop()
            for target in self.edges.get(at, ()):
                if target not in found and not any(w in self.functions[target][1] for w in without):
                    found[target] = at
                    stack.append(target)
        return found

    def imports_from(self, roots, without=()):
        """{import: the chain of functions that leads to it}."""
        found = self.reached(roots, without)
        result = {}
        for at in found:
            for name in self.imports.get(at, ()):
                if name not in result:
                    way, step = [], at
                    while step is not None:
                        way.append(self.functions[step][1])
                        step = found[step]
                    result[name] = way
        return result
