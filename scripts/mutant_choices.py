"""Makes sources that behave at run time like the mutant whose id the variable MUTANT has (scripts/mutate), so
that one build contains all mutants."""
import collections
import re


def code_of(text):
    """Comments and literals become blanks; positions do not change."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


# Each object has its own copy of the number, which its first constructor reads.
HEADER = """#pragma once
extern "C" char* getenv(const char*) noexcept;
__attribute__((visibility("hidden"))) inline unsigned long long mutant_number = 0;
__attribute__((constructor(101))) static inline void read_mutant_number() {
  unsigned long long number = 0;
  for (const char* c = getenv("MUTANT"); c != nullptr && *c != 0; ++c)
    number = number * 16 + (*c <= '9' ? *c - '0' : *c - 'a' + 10);
  mutant_number = number;
}
constexpr bool mutant_is(unsigned long long number) {
  return !__builtin_is_constant_evaluated() && mutant_number == number;
}
"""


def closing(code, at):
    """Where the bracket that opens at `at` closes in this line, or -1; and the semicolons directly inside."""
    depth, semicolons = 0, []
    for k in range(at, len(code)):
        if code[k] in "([{":
            depth += 1
        elif code[k] in ")]}":
            depth -= 1
            if depth == 0:
                return k, semicolons
        elif code[k] == ";" and depth == 1:
            semicolons.append(k)
    return -1, semicolons


def balanced(code):
    return all(code.count(a) == code.count(b) for a, b in ("()", "[]", "{}"))


def chosen_at_run_time(line, code, following, edits):
    """The line that behaves like the mutant in MUTANT, one of `edits` (the mutants of this line). The choice
    is a whole statement, or the part of the line that is a condition, an initial value or a result. None if
    neither is possible."""
    comment = line[len(code.rstrip()):]
    if comment.lstrip().startswith("//"):
        line, code = line[:-len(comment)], code.rstrip()
        edits = [m._replace(after=m.after[:-len(comment)]) for m in edits]
    head = code.lstrip()
    indent = line[:len(line) - len(line.lstrip())]
    at_run_time = not re.match(r"(template|static_assert|case|default|using|#)|.*\bconstexpr\b", head)
    if not at_run_time or not (balanced(code) or code.rstrip().endswith("{")):
        return None
    is_whole = head.rstrip().endswith(";") and balanced(code)
    branch = re.match(r"(\} )?(else )?(if|while|for) \(", head)
    begins = branch and not branch[1] and not branch[2]
    simple = re.match(r"(return\b|\+\+|--|\*?\w+(\.|->|::|\(|\[| [+\-|&*]?= ))", head)
    if is_whole and (begins and not following.startswith("else") or simple):
        text = "".join(f"if (mutant_is(0x{m.id})) {{ {m.after.strip()} }} else " for m in edits)
        return f"{indent}{{ {text}{{ {line.strip()} }} }}"

    def one_of(begin, end, as_bool):
        """The part of the line from `begin` to `end`, once per mutant; None if a mutant changes another
        part."""
        behind = len(line) - end
        text = ""
        for m in edits:
            if (not m.after.startswith(line[:begin]) or not m.after.endswith(line[end:])
                or len(m.after) - behind < begin):
                return None
            text += f"mutant_is(0x{m.id}) ? {as_bool}({m.after[begin:len(m.after) - behind]}) : "
        return f"{line[:begin]}({text}{as_bool}({line[begin:end]})){line[end:]}"

    if branch:
        at = len(code) - len(head) + branch.end() - 1
        end, semicolons = closing(code, at)
        if end < 0 or branch[3] == "for" and len(semicolons) != 2:
            return None
        begin = (semicolons[0] if branch[3] == "for" else semicolons[-1] if semicolons else at) + 1
        return one_of(begin, semicolons[1] if branch[3] == "for" else end, "bool")
    for part in (r"\{ return (.*); \}$", r"^[^()]*?[^=<>!+\-|&*]= ([^{].*);$", r"\breturn (.*);"):
        found = re.search(part, code.rstrip()) if balanced(code) else None
        text = found and one_of(found.start(1), found.end(1), "")
        if text:
            return text
    return None


def with_choices(name, text, picked, alone, header):
    """The text of a source with all its mutants that can be chosen at run time; the others join `alone`.
    `header` is the path of HEADER."""
    lines, code, by_line = text.split("\n"), code_of(text).split("\n"), collections.defaultdict(list)
    # lines of code that is only a text here
    emitted = {line for found in re.finditer(r'R"(\w*)\(.*?\)\1"', text, re.S)
               for line in range(text.count("\n", 0, found.start()), text.count("\n", 0, found.end()) + 1)}
    alone |= {m.id for m in picked if m.file == name and m.line in emitted}
    for m in picked:
        if m.file == name and m.id not in alone:
            by_line[m.line].append(m)
    chosen_lines = False
    for number, edits in by_line.items():
        following = code[number + 1].strip() if number + 1 < len(code) else ""
        new = chosen_at_run_time(lines[number], code[number], following, edits)
        if new is None:
            alone.update(m.id for m in edits)
        else:
            lines[number] = new
            chosen_lines = True
    head = f'#include "{header}"\n#line 1\n' if chosen_lines else ""
    return head + "\n".join(lines)
