"""Reads the C headers for scripts/gen-man: sections, families of functions, and what their comments say.

A section begins with a comment "---- Title ----". The rest of that comment holds for all its functions.
A family is what stands under a comment "-- what it is for --", up to the next one. It becomes one man page.
The rest of that comment is the page's first paragraph.
A comment right before declarations describes them, up to the next comment or empty line. A comment after a
declaration, on its line, describes that one alone. A comment before an empty line describes the family, or
the section if no family has begun.

These sentences of a function's comment have a place of their own on the page:
- "Errors: SYSTEM, BUSY (the name is taken), those of fermata_execute." and "BUSY: the name is taken." A
  reason that begins with "or" is added to the error's general text. Some errors need a reason (VAGUE).
- "Returns ..." and "PENDING: it is still active."
In a section's comment, "Errors of each call: ..." adds errors to each of its functions. A function's comment
excludes some of them by "It never returns BUSY or TIMEOUT."
"""
import re

TOKEN = re.compile(
    r"/\* -- (?P<title>[^\n]+?) --\n(?P<purpose>.*?)\*/[ \t]*\n"
    r"|(?P<comment>/\*.*?\*/)[ \t]*\n"
    r"|(?P<function>FERMATA_API[^;]*;)(?P<own>[ \t]*/\*[^\n]*?\*/)?[ \t]*\n"
    r"|(?P<type>(?:typedef[^;{]*;|(?:typedef )?(?:struct|enum)[^;{]*\{.*?\}[^;\n]*;))"
    r"(?P<of_type>[ \t]*/\*[^\n]*?\*/)?[ \t]*\n"
    r"|(?P<define>#define (?:[^\n]*\\\n)*[^\n]*)\n"
    r"|(?P<empty>\n)", re.S)
VALUES = ("PENDING", "LAST", "OK")
# Their general texts name several reasons. A function has only some of these.
VAGUE = ("MISMATCH", "UNSUPPORTED", "BUSY", "NOT_FOUND")


# Headers that fermata.h includes, in the order of their pages: before its own pages, and after these.
BEFORE, AFTER = ("status.h",), ("lines.h", "blocks.h", "barriers.h")


class BadHeader(Exception):
    pass


def with_parts(path):
    """The text of a header: fermata.h with the sections of its parts, as a program sees it."""
    text = path.read_text()
    if path.name != "fermata.h":
        return text

    def own(text):
        return text.index("/* ---- "), text.rindex("#ifdef __cplusplus")

    def sections_of(names):
        texts = [(path.parent / name).read_text() for name in names]
        return "".join(text[slice(*own(text))] for text in texts)

    begin, end = own(text)
    return text[:begin] + sections_of(BEFORE) + text[begin:end] + sections_of(AFTER) + text[end:]


VERBATIM = "verbatim"


def blocks(comment):
    """The paragraphs and list items of a comment: [(is an item, text on one line)]. A paragraph whose lines
    are indented stands as it is, with its line ends: (VERBATIM, text)."""
    text = re.sub(r"^/\*|\*/$", "", comment.strip())
    out, fresh = [], True
    for line in text.splitlines():
        line = re.sub(r"^\s*\*(?: |$)", "", line).rstrip()
        if line.startswith("  ") and fresh:
            out.append((VERBATIM, line[2:]))
            fresh = False
            continue
        if line.startswith("  ") and out[-1][0] == VERBATIM:
            out[-1] = (VERBATIM, out[-1][1] + "\n" + line[2:])
            continue
        line = line.strip()
        if not line:
            fresh = True
        elif line.startswith("- "):
            out.append((True, line[2:]))
            fresh = False
        elif fresh or not out:
            out.append((False, line))
            fresh = False
        else:
            out[-1] = (out[-1][0], out[-1][1] + " " + line)
    return out


def sentences(text):
    return re.split(r"(?<=[.?!])(?<!e\.g\.) ", text)


def top_level(text):
    """The items of a list that commas separate, outside of parentheses."""
    items, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            items.append(text[start:at])
            start = at + 1
    return [re.sub(r"^and ", "", item.strip()) for item in items + [text[start:]]]


class Said:
    """What a comment says: text without the sentences on errors and results, and these by themselves."""

    def __init__(self, paragraphs, errors):
        self.text, self.returns, self.errors, self.errors_of, self.never = [], [], [], [], []
        for item, text in paragraphs:
            if item == VERBATIM:
                self.text.append((item, text))
                continue
            rest = [one for one in sentences(text) if not self.take(one, errors)]
            if rest:
                self.text.append((item, " ".join(rest)))

    def take(self, sentence, errors):
        if re.match(r"(?:Other errors|Errors|Errors of each call): ", sentence):
            for item in top_level(sentence.split(": ", 1)[1].rstrip(".")):
                named = re.fullmatch(r"([A-Z_]+)(?: \((.*)\))?", item)
                if named and named.group(1) in VAGUE and named.group(2) is None:
                    raise BadHeader(f"{item} needs a reason in {sentence!r}")
                if named and named.group(1) in errors:
                    self.errors.append((named.group(1), named.group(2)))
                elif re.match(r"(?:those|the errors) of ", item):
                    self.errors_of.append(item.split(" of ", 1)[1])
                else:
                    raise BadHeader(f"not an error: {item!r} in {sentence!r}")
            return True
        if sentence.startswith("It never returns "):
            self.never = re.findall(r"[A-Z_]{2,}", sentence)
            return True
        named = re.match(r"([A-Z_]+): (.*)", sentence)
        if named and named.group(1) in errors:
            self.errors.append((named.group(1), named.group(2).rstrip(".")))
            return True
        if sentence.startswith("Returns ") or (named and named.group(1) in VALUES):
            self.returns.append(sentence)
            return True
        return False


class Function:
    def __init__(self, declaration):
        self.prototype = " ".join(declaration.removeprefix("FERMATA_API").split())
        self.name = re.search(r"(\w+)\(", self.prototype).group(1)
        self.result = self.prototype[: self.prototype.index(self.name)].strip()
        self.said = None

    def reason(self, meaning, why):
        """The text of one of its errors. A parameter's name or a field keeps its lower case at the start."""
        text = meaning.rstrip(".") if why is None else why
        if text.startswith("or "):
            text = meaning.rstrip(".") + ", " + text
        first = text.split(" ")[0]
        is_name = first in re.findall(r"(\w+)(?=[,)])", self.prototype) or re.search(r"[._]", first)
        return (text if is_name else text[0].upper() + text[1:]) + "."


class Family:
    """A man page: what stands under one heading."""

    def __init__(self, title, purpose):
        self.title, self.purpose = title, purpose
        self.functions, self.remarks, self.types = [], [], []
        self.groups = []  # ([function], said)

    def name(self):
        names = [function.name for function in self.functions] or self.type_names()
        if not names:
            raise BadHeader(f"'{self.title}' declares nothing")
        return names[0]

    def type_names(self):
        """Types with contents, which a reader may look up: no handles."""
        found = [re.search(r"(?:\{.*\}\s*|\(\*)(\w+)\)?(?:\(.*)?;|enum (\w+) \{", text, re.S)
                 for text, _ in self.types]
        return [one.group(1) or one.group(2) for one in found if one]

    def names(self):
        return list(dict.fromkeys([f.name for f in self.functions] + self.type_names()))


class Section:
    def __init__(self, header, title, introduction, body, errors):
        self.header, self.title, self.errors_known = header, title, errors
        self.said = Said(blocks(introduction), errors)
        self.families = []
        self.top = Family(title, [])  # what stands before the first family
        self.read(body)

    def read(self, body):
        family, comment, group, at = self.top, None, [], 0

        def leave():
            nonlocal comment, group
            if group:
                if comment is None:
                    raise BadHeader(f"{self.title}: {group[0].name} has no comment")
                family.groups.append((group, Said(blocks(comment), self.errors_known)))
            elif comment:
                family.remarks += blocks(comment)
            comment, group = None, []

        while at < len(body):
            found = TOKEN.match(body, at)
            if found is None:
                raise BadHeader(f"{self.title}: not understood: {body[at:at + 60]!r}")
            at = found.end()
            if found["title"]:
                leave()
                family = Family(found["title"], blocks(found["purpose"]))
                self.families.append(family)
            elif found["comment"] or found["empty"]:
                leave()
                comment = found["comment"]
                if comment and re.search(r"^/\* -|-{8}", comment):
                    raise BadHeader(f"neither a section nor a family: {comment[:60]!r}")
            elif found["function"]:
                if family is self.top:
                    raise BadHeader(f"{self.title}: a function stands before the first '-- ... --'")
                function = Function(found["function"])
                family.functions.append(function)
                if found["own"]:
                    family.groups.append(([function], Said(blocks(found["own"]), self.errors_known)))
                else:
                    group.append(function)
            else:
                family.types.append((found["type"] or found["define"], found["of_type"] or comment or ""))
                comment = None
        leave()
        for one in self.families:
            self.check(one)

    def check(self, family):
        order = [function.name for function in family.functions]
        family.groups.sort(key=lambda group: order.index(group[0][0].name))
        for functions, said in family.groups:
            for function in functions:
                function.said = said
        if not family.purpose:
            raise BadHeader(f"{self.title}: '{family.title}' does not say what it is for")
        purpose = " ".join(text for _, text in family.purpose)
        for function in family.functions:
            if surplus := set(function.said.never) - {error for error, _ in self.said.errors}:
                raise BadHeader(f"{function.name} excludes {surplus}, which its section does not have")
        for function in family.functions:
            if len(family.functions) > 1 and not function.said.text and function.name not in purpose:
                if function.result in ("int", "void") and not function.said.returns:
                    raise BadHeader(f"nothing says what {function.name} does")


def status_values(text):
    """{name without FERMATA_ERR_: meaning} of enum fermata_status; only the errors."""
    body = re.search(r"enum fermata_status \{(.*?)\};", text, re.S).group(1)
    out = {}
    for name, comments in re.findall(r"FERMATA_ERR_(\w+) = -\d+,?((?:\s*/\*.*?\*/)+)", body):
        out[name] = " ".join(re.findall(r"/\* (.*?) \*/", comments))
    return out


def sections(header, text, errors):
    starts = list(re.finditer(r"^/\* ---- (.+?) -+(.*?)\*/\n", text, re.M | re.S))
    end = text.rindex("#ifdef __cplusplus")
    return [Section(header, start.group(1), start.group(2),
                    text[start.end() : following.start() if following else end], errors)
            for start, following in zip(starts, starts[1:] + [None])]
