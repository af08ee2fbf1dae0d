"""Words that comments and documents of this project do not use, each with the field's word. The list has only
words that are wrong wherever they stand, so that a hit needs no judgement. Identifiers are not prose: what
stands in backticks or quotes, has an underscore, or is followed by "(" or a file's suffix."""
import re

# Sentences are matched in one line: the line breaks and comment marks of a block are blanks there.
WORDS = [(re.compile(pattern), advice) for pattern, advice in [
    (r"\bcrews?\b", '"workers" (of a benchmark), or "busy members" (of a thread)'),
    (r"\b(?:[Ll]ends?|[Ll]ent|[Ll]ending|lenders?)\b", '"single copy"'),
    (r"\btrunks?\b", '"the owner of the port"'),
    (r"\b[Gg]raft(?:s|ed|ing)?\b", '"sub-team on the port of another team"'),
    (r"\bbranch(?:es)? of (?:the|a) (?:team|port)\b|\bteam's branch\b", '"sub-team"'),
    (r"\b(?:the|a|its|whose) ground\b(?! truth)", '"the owner of the segment"'),
    (r"\b[Ee]xcus(?:e|es|ed|ing)\b", '"exclude", or "does not count"'),
    (r"\b[Hh]ouses?\b", '"hosts", or say what holds them'),
    (r"\b[Rr]ooms\b", '"space", or say what has it'),
    (r"\b[Cc]ouncils?\b", '"agreement", or name its members'),
    (r"\b(?:rides?|riding|rode) on\b", '"is sent in", or "uses"'),
    (r"\bin vain\b", '"without effect", or "fruitless"'),
    (r"\b(?:[Tt]heir|[Ii]ts|and) kin\b", '"similar ones", or name them'),
    (r"\b(?:of|for|by|from|to|with|on|than|as) who\b", '"whoever", or a noun'),
    (r"(?:^|[.;] )Who\b[^.?:]*(?:\.|$)", '"whoever", or a noun'),
    (r"(?:^|[.;] )Of (?!course\b)(?=[^.:;]*,|\w+ \w+ )[^.:;]*\.", 'a subject first'),
]]

IDENTIFIER = re.compile(r'`[^`\n]*`|"[^"\n]*"|[\w.]*_\w*|\w*::[\w:]*|\w+(?=\()'
                        r"|[\w/-]+\.(?:[hc]pp|h|c|md|py)\b")
CODE_BLOCK = re.compile(r"^```.*?^```|^(?: {4}|\t)[^\n]*", re.M | re.S)
LITERAL_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
                                r"|(?://[^\n]*(?:\n[ \t]*(?=//))?)+|/\*.*?\*/", re.S)
HASH_COMMENT = re.compile(r"\"\"\".*?\"\"\"|(?:(?:^|(?<=\n))[ \t]*#(?!!)[^\n]*\n?)+|(?<=\s)# [^\n]*", re.S)

MARK = re.compile(r"\n[ \t]*(?://+|\*(?!/)|#|>)?|^[ \t]*(?://+|/\*+|#)")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def prose_of(text, language):
    """Yields (position, prose) of each comment of a source, or of each paragraph of a document."""
    if language == "document":
        text = CODE_BLOCK.sub(blank, text)
        pieces = re.finditer(r"(?:[^\n]*\S[^\n]*\n?)+", text)
    elif language == "c":
        pieces = (match for match in LITERAL_OR_COMMENT.finditer(text) if match.group().startswith("/"))
    else:
        pieces = HASH_COMMENT.finditer(text)
    for piece in pieces:
        yield piece.start(), IDENTIFIER.sub(lambda match: "x" * len(match.group()), piece.group())


def check_words(text, language):
    """Yields (line, message) for each word of the list in `text`; language: "c", "hash" or "document"."""
    for start, prose in prose_of(text, language):
        flat = MARK.sub(lambda match: " " * len(match.group()), prose)
        squeezed, places = "", []  # one blank between words; places[i]: where squeezed[i] is in flat
        for match in re.finditer(r"\S+", flat):
            squeezed += " " * bool(squeezed)
            places += [match.start()] * (len(squeezed) - len(places))
            squeezed += match.group()
            places += range(match.start(), match.end())
        for pattern, advice in WORDS:
            for match in pattern.finditer(squeezed):
                said = match.group().strip("., ;")[:30]
                yield text.count("\n", 0, start + places[match.start()]) + 1, f"'{said}': write {advice}"
