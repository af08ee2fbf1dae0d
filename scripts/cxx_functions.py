"""Finds the functions of a C or C++ source: their names, first and last lines.

It reads brackets, not the language. Blocks of namespaces, of types and of extern "C" are scopes, which it
enters. Any other block with a list of parameters before it is the body of a function, also that of a macro
such as TEST(Suite, Name). Lambdas and local types belong to the function around them. The definition of a
macro counts as a function if it has several lines."""
import re

LITERAL = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:\\\n|[^\n])*", re.M)
BRACKET = re.compile(r"[()\[\]{}]")
CLOSING = {"(": ")", "[": "]", "{": "}"}
# Where a declaration ends or goes down into brackets. The label of a class ends one, too.
STOP = re.compile(r"[;{}(]|\b(?:public|private|protected)\s*:(?!:)")
TEMPLATE = re.compile(r"\s*template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
TYPE = re.compile(r"(?:(?:typedef|static|const|constexpr|inline)\s+)*(?:class|struct|union|enum)\b[^()]*$")
NAMED = re.compile(r"(~?\w+(?:\s*(?:<[^()<>]*>)?\s*::\s*~?\w+)*)?\s*\(\)")
OPERATOR = re.compile(r"\boperator\s*(\(\)|\[\]|[^\w\s()]+|[\w :*&<>]+)(?=\s*\()")
MACRO = re.compile(r"\s*[A-Z][A-Z0-9_]+\s*")
CATCH = re.compile(r"\s*catch\s*\([^()]*\)\s*\{")
NOT_NAMES = {"noexcept", "requires", "decltype", "explicit", "alignas", "__attribute__", "asm"}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_literals(text):
    """Comments and the contents of literals become blanks, and positions do not change."""
    return LITERAL.sub(blank, text)


def without_directives(code):
    """Directives become blanks. If the branches of an #if open different numbers of blocks, only the first
    stays: such branches share the code after the #endif."""
    opened = [[""]]  # for each open #if, the texts of its branches

    def close():
        branches = opened.pop()
        if any(text.count("{") != text.count("}") for text in branches):
            branches[1:] = [re.sub(r"[^\n]", " ", text) for text in branches[1:]]
        opened[-1][-1] += "".join(branches)

    position = 0
    for match in DIRECTIVE.finditer(code):
        opened[-1][-1] += code[position:match.start()]
        position, word = match.end(), match.group(1)
        if word in ("if", "ifdef", "ifndef"):
            opened.append([""])
        elif word in ("elif", "else") and len(opened) > 1:
            opened[-1].append("")
        elif word == "endif" and len(opened) > 1:
            close()
        opened[-1][-1] += blank(match)
    opened[-1][-1] += code[position:]
    while len(opened) > 1:
        close()
    return opened[0][0]


def end_of(code, opening):
    """The position of the bracket that closes the one at `opening`."""
    closers = []
    for match in BRACKET.finditer(code, opening):
        if match.group() in CLOSING:
            closers.append(CLOSING[match.group()])
        elif match.group() == closers[-1]:
            closers.pop()
            if not closers:
                return match.start()
    return len(code) - 1


def flat(head):
    """`head` without attributes, and with empty brackets; and the contents of its parentheses."""
    out, contents, position = [], [], 0
    while match := re.compile(r"[\[({]").search(head, position):
        end = end_of(head, match.start())
        out.append(head[position:match.start()])
        attribute = re.search(r"\b(?:alignas|__attribute__)\s*$", out[-1])
        if attribute:
            out[-1] = out[-1][:attribute.start()]
        elif not head.startswith("[[", match.start()):
            out.append(match.group() + CLOSING[match.group()])
            if match.group() == "(":
                contents.append(head[match.start() + 1:end])
        position = end + 1
    return "".join(out) + head[position:], contents


def name_of(head):
    """The name of the function with the signature `head`. None if it is not one, but has a value after it."""
    text, contents = flat(TEMPLATE.sub("", head))
    text = OPERATOR.sub(lambda match: f"operator_{match.group(1).encode().hex()}", text)
    initializers = re.search(r"\)[^()]*?(?<!:):(?!:)", text)
    signature = text[:initializers.end() - 1] if initializers else re.sub(r"->.*", "", text, flags=re.S)
    named_lambda = re.search(r"(\w+)\s*=\s*\[\]", signature)
    if named_lambda:
        return named_lambda.group(1)
    if "=" in signature or re.search(r"[,:?(]\s*$|\brequires(?:\s*\(\))?\s*$", text):
        return None
    for match, content in zip(NAMED.finditer(text), contents):
        name = match.group(1)
        if name and name not in NOT_NAMES:
            if re.fullmatch(r"[A-Z][A-Z_]+", name) and re.fullmatch(r"[\s\w,]+", content):
                return ".".join(argument.strip() for argument in content.split(","))  # TEST(Suite, Name)
            pointer = re.match(r"[*&]\s*(\w+)\s*\(", content)  # a function that returns a pointer to one
            if pointer:
                return pointer.group(1)
            return re.sub(r"operator_(\w+)", lambda m: "operator" + bytes.fromhex(m.group(1)).decode(),
                          re.sub(r"\s", "", name))
    return None


def is_scope(head):
    head = flat(TEMPLATE.sub("", head))[0].strip()
    return not head or bool(re.match(r"(?:inline\s+)?namespace\b|extern\b[^()]*$", head) or TYPE.match(head))


def initializes_member(head, code, end):
    """Whether the block that ends at `end` is the value of a member in a constructor's list."""
    text = flat(head)[0]
    after = code[end + 1:].lstrip()[:1]
    return bool(re.search(r"\)[^()]*?(?<!:):(?!:).*[\w>]\s*$", text, re.S)) and after in (",", "{")


def type_of(head):
    """The name of the class that `head` opens. None: it opens another scope, or the class has no name."""
    match = re.search(r"\b(?:class|struct|union)\s+(\w+)", flat(TEMPLATE.sub("", head))[0])
    return match.group(1) if match else None


def functions(text):
    """Yields (name, first line, last line) of each function in the source `text`, with lines from 1."""
    for _, name, first, last in owned_functions(text):
        yield name, first, last


def owned_functions(text):
    """Yields (owner, name, first line, last line). owner: the innermost class around the function; None: the
    function is in no class, or its name says the class."""
    literals = without_literals(text)

    def line(position):
        return literals.count("\n", 0, position) + 1

    for match in DIRECTIVE.finditer(literals):
        if match.group(1) == "define" and "\n" in match.group():
            name = re.search(r"define\s+(\w+)", match.group()).group(1)
            yield None, name, line(match.start()), line(match.end())
    code = without_directives(literals)
    scopes = []  # for each open scope, its class or None
    since = position = 0  # since: where the declaration begins that `position` is in
    while match := STOP.search(code, position):
        head, position = code[since:match.start()], match.end()
        if match.group() == "(":
            position = end_of(code, match.start()) + 1
            # A macro with a line of its own is no part of the next declaration.
            if MACRO.fullmatch(head) and re.match(r"[ \t]*\n\s*[^\s{;]", code[position:]):
                since = position
        elif match.group() != "{" or is_scope(head):
            since = position
            if match.group() == "{":
                scopes.append(type_of(head))
            elif match.group() == "}" and scopes:
                scopes.pop()
        else:
            end = end_of(code, match.start())
            while handler := CATCH.match(code, end + 1):  # the body is a try block
                end = end_of(code, handler.end() - 1)
            position = end + 1
            name = name_of(head)
            if name and not initializes_member(head, code, end):
                owner = next((scope for scope in reversed(scopes) if scope), None)
                first = line(since + len(head) - len(head.lstrip()))
                yield None if "::" in name else owner, name, first, line(end)
                since = position
