"""Text as lines of a man page."""
import textwrap


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return text.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")


def lines_of(text):
    """Lines of at most 110 columns; none looks like a troff request."""
    lines = textwrap.wrap(text, 108, break_long_words=False, break_on_hyphens=False)
    return ["\\&" + line if line[0] in ".'" else line for line in lines]


def code(line):
    """A line of code, as it stands."""
    text = escaped(line).replace("\"", "\\(dq")
    lead = len(text) - len(text.lstrip(" "))
    return "\\ " * lead + text.strip() if text.strip() else "\\&"


def verbatim(text):
    return [".nf", *map(code, text.split("\n")), ".fi"]
