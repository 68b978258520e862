"""Finds the functions and the types in a C++ file, by its braces.

It is no parser: it knows what a brace opens by the text before it, which is enough for code in the
style of this repository. cxx_test.py shows what it understands."""
import dataclasses
import re


@dataclasses.dataclass
class Function:
    line: int  # of the first line of its signature
    lines: int  # from there to its closing brace
    body: int  # from its opening to its closing brace
    head: str


@dataclasses.dataclass
class Type:
    line: int
    name: str


@dataclasses.dataclass
class Scope:
    kind: str  # namespace, type, function or value
    start: int  # where its head begins
    head: str


LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"([^ ()\\\n]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.S,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
TYPE = re.compile(r"\b(?:enum\s+class|enum\s+struct|enum|struct|class|union)\s+(?:alignas\(.*?\)\s*)?([\w:<>, *&]*?)"
                  r"\s*(?:final\s*)?(?:(?<!:):(?!:).*)?$", re.S)
LABEL = re.compile(r"\A\s*(?:(?:public|protected|private)\s*:\s*)+")
BODY_FOLLOWS = re.compile(r"(?:\)|\b(?:const|noexcept|override|final|mutable|try)|&)\s*$")


def blank(text):
    """The text with comments, literals and directives replaced by spaces; every line stays."""

    def spaces(match):
        return re.sub(r"[^\n]", " ", match[0])

    return DIRECTIVE.sub(spaces, LITERAL.sub(spaces, text))


def without_brackets(head):
    """The head without what is in parentheses, angle and square brackets: '(' stays as '()'."""
    head = re.sub(r"\boperator\s*(?:\(\)|\[\]|[^\s\w(]+)", "operator_", head)
    head = head.replace("->", "\x00")
    for opening, closing, left in (("(", ")", "\x01"), ("[", "]", "\x02"), ("<", ">", "")):
        inner = re.compile(rf"\{opening}[^\{opening}\{closing}]*\{closing}")
        while inner.search(head):
            head = inner.sub(left, head)
    return head.replace("\x00", "->").replace("\x01", "()").replace("\x02", "[]")


def kind_of(head):
    """What the brace after `head` opens."""
    plain = without_brackets(head)
    if plain.count("(") != plain.count(")"):
        return "value"  # inside an argument list
    if re.search(r"\bnamespace\b", plain) or re.fullmatch(r"\s*extern\s*", plain):
        return "namespace"
    if "()" not in plain and re.search(r"\b(?:struct|class|union|enum)\b", plain) and "=" not in plain:
        return "type"
    if re.search(r"=\s*\[\]", plain):
        return "function"  # a lambda with a name
    if "=" in plain or "()" not in plain:
        return "value"
    last = plain[plain.rfind("()"):]
    initializers = re.search(r"\(\)[^:]*(?<!:):(?!:)", plain)
    if initializers:  # of a constructor: the body follows ')' or the '}' of a member's value
        return "function" if re.search(r"[)}]\s*$", plain) else "value"
    if BODY_FOLLOWS.search(plain) or "->" in last or "requires" in last:
        return "function"
    return "value"


def scan(text):
    """(functions, types) of a file. Types are those of namespaces: nested and local ones are not."""
    text = blank(text)
    functions, types, scopes = [], [], []
    start = 0  # of the head that the next brace may have
    parens = 0
    for match in re.finditer(r"[{};()]", text):
        at, mark = match.start(), match[0]
        inside = scopes[-1].kind if scopes else "namespace"
        if mark == "(":
            parens += 1
        elif mark == ")":
            parens -= 1
        elif mark == ";":
            if inside != "value" and parens == 0:
                start = at + 1
        elif mark == "{":
            head = text[start:at]
            kind = "value" if inside in ("function", "value") else kind_of(head)
            scopes.append(Scope(kind, start, head))
            if kind == "type" and all(scope.kind == "namespace" for scope in scopes[:-1]):
                add_type(types, text, start, head)
            if kind != "value":
                start = at + 1
        elif scopes:
            scope = scopes.pop()
            if scope.kind == "function":
                functions.append(function_of(text, scope, at))
            if scope.kind != "value":
                start = at + 1
    return functions, types


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def head_start(text, start, head):
    label = LABEL.match(head)
    begin = start + (label.end() if label else 0)
    return begin + len(text[begin:]) - len(text[begin:].lstrip())


def function_of(text, scope, end):
    first = line_of(text, head_start(text, scope.start, scope.head))
    head = " ".join(LABEL.sub("", scope.head).split())
    opens = line_of(text, scope.start + len(scope.head))
    last = line_of(text, end)
    return Function(first, last - first + 1, last - opens + 1, head)


def add_type(types, text, start, head):
    head_text = re.sub(r"\A\s*template\s*<.*?>\s*(?=(?:struct|class|union)\b)", "", head, flags=re.S)
    match = TYPE.search(head_text)
    name = match[1].strip() if match else ""
    if re.fullmatch(r"\w+", name):  # not a specialisation, not a nested type defined outside
        types.append(Type(line_of(text, start + len(head) - len(head.lstrip())), name))
