# SPDX-License-Identifier: MIT
"""Makes pages of the messages of the project, found in its sources, and of their causes, from
messages.txt.

    messages_rst.py FOLDER    writes the pages messages.rst, by section, and messages_index.rst, by the alphabet
    messages_rst.py --check   fails when messages.txt does not have every message, or has others

messages.txt has sections. Lines that begin with "#" say which sources a section is about, which
functions take messages there, and what a message of the section means. Messages with causes of
their own follow, each with its cause on an indented line after it. In a section whose line "# each"
says "listed", every message has to be there with its cause.
"""
import ast
import fnmatch
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent
CAUSES = HERE / "messages.txt"
# Folders with sources, and the suffixes of those that have messages for users.
FOLDERS = {"userspace/src": ".c", "userspace/import": ".c", "userspace/tools": ".c", "userspace/pjrt": ".c",
           "userspace/ort": ".c", "userspace/ggml": ".c", "driver": ".c", "emulator": ".c", "bindings/node/src": ".c",
           "bindings/node/lib": ".js .mjs", "bindings/node/install.js": ".js", "bindings/python/src": ".c",
           "bindings/python/webnn_npu": ".py", "bindings/jax/jax_plugins": ".py", "scripts": ".sh"}
FUNCTIONS = """wnn_error_set wnn_error_missing rule_error api_error_status supports_not plan_fail onnx_error
    complain argp_error drm_err drm_err_ratelimited drm_notice drm_warn
    dev_err dev_err_probe reject_image vfu_server_log broken throw_internal throw_status""".split()
DIE = re.compile(r'^[^#\n]*\bdie "((?:[^"\\]|\\.)*)', re.M)
INTERNAL = "internal error, please report it: "
STRING = r'"(?:[^"\\]|\\.)*"'
# Adjacent literals are one string, also with a macro of a printf format between them.
STRINGS = re.compile(rf'{STRING}(?:\s*(?:PRI\w+\s*)?{STRING}|\s*PRI\w+)*')
# What a .c file or a header beside it defines as a string, such as the name with which messages begin.
MACRO = re.compile(rf'^#define\s+(\w+)\s+({STRING})\s*$', re.M)
SCRIPT_STRING = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`"
SCRIPT_STRINGS = re.compile(rf"(?:{SCRIPT_STRING})(?:\s*\+\s*(?:{SCRIPT_STRING}))*")
SCRIPT_CALL = re.compile(r"\b(?:fail|invalidState|rejectAll|\w*Error|\w*DOMException)\(")
WORDS = re.compile(r"\A(?!(?:onpu|OnpuExecutionProvider): …: …$).*[A-Za-z]{2,} ?[^…]*[A-Za-z]{2,}", re.S)
SPECIFIER = re.compile(r'%%|%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:hh|h|ll|l|z|j|t)?(?:p\w|[a-zA-Z])')


class Section:
    def __init__(self, title):
        self.title, self.sources, self.functions, self.about, self.each = title, [], [], "", ""
        self.causes = {}

    def covers(self, path):
        return any(fnmatch.fnmatch(path, source) for source in self.sources)


def read_causes():
    sections, message = [], None
    for number, line in enumerate(CAUSES.read_text(encoding="utf-8").splitlines(), 1):
        key, _, value = line.removeprefix("# ").partition(": ")
        if not line.strip():
            continue
        if line.startswith("== "):
            sections.append(Section(line[3:]))
        elif line[0] == "\t":
            sections[-1].causes[message] = (sections[-1].causes.get(message, "") + " " + line.strip()).strip()
        elif line.startswith("#"):
            if key in ("sources", "functions"):
                setattr(sections[-1], key, value.split())
            elif key in ("about", "each"):
                setattr(sections[-1], key, value)
        elif line in sections[-1].causes:
            sys.exit(f"messages.txt:{number}: this message stands here twice")
        else:
            message = line
            sections[-1].causes[message] = ""
    return sections


def call_arguments(text, begin, string=STRING):
    """Returns what stands between the brackets of a call."""
    depth, at, string = 1, begin, re.compile(string)
    while depth and at < len(text):
        found = string.match(text, at)
        if found:
            at = found.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[begin:at - 1]


def plain(literal):
    """Returns a message as a reader meets it, with "…" for what differs from time to time."""
    parts = re.findall(rf'{STRING}|PRI\w+', literal)
    text = "".join("u" if part[0] != '"' else part[1:-1] for part in parts)
    text = SPECIFIER.sub(lambda m: "%" if m[0] == "%%" else "…", text).replace('\\"', '"').replace("\\n", "")
    return re.sub("…+", "…", text).strip()


def macros_of(path):
    """Returns the strings that a .c file and the headers beside it define, by their names."""
    texts = [file.read_text(encoding="utf-8") for file in (*sorted(path.parent.glob("*.h")), path)]
    return {name: string for text in texts for name, string in MACRO.findall(text)}


def texts_of(node):
    """Returns what an expression of Python may be as a text, a list; "…" stands for what differs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [left + right for left in texts_of(node.left) for right in texts_of(node.right)]
    if isinstance(node, ast.IfExp):
        return texts_of(node.body) + texts_of(node.orelse)
    return ["…"]


def python_messages(text):
    """Returns the messages of exceptions and warnings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name.endswith("Error") or name in ("warn", "warning"):
                yield from (re.sub("%[rs]", "…", message) for message in texts_of(node.args[0]))


def script_messages(text):
    """Returns the messages of exceptions: of a call, the strings of the last argument that has a sentence."""
    text = re.sub(r"^\s*//.*", "", text, flags=re.M)
    for call in SCRIPT_CALL.finditer(text):
        found = []
        for strings in SCRIPT_STRINGS.finditer(call_arguments(text, call.end(), SCRIPT_STRING)):
            parts = re.findall(SCRIPT_STRING, strings[0])
            message = "".join(re.sub(r"\$\{(?:[^{}]|\{[^{}]*\})*\}", "…", part[1:-1]) for part in parts)
            if " " in message and not re.fullmatch(r"Failed to execute '[^']*' on '[^']*'", message):
                found.append(message.replace("\\'", "'"))
        yield from found


def messages_of(path, functions):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sh":
        for found in DIE.findall(text):
            yield re.sub(r"\$(?:\w+|\(\(.*?\)\)|\(.*|\{[^}]*\}|[@*0-9])", "…", found).strip()
        return
    if path.suffix != ".c":
        for message in (python_messages if path.suffix == ".py" else script_messages)(text):
            message = re.sub("…+", "…", message).strip()
            if WORDS.search(message):
                yield message
        return
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    macros = macros_of(path)
    text = re.sub(rf"{STRING}|\b[A-Z_]+\b", lambda m: macros.get(m[0], m[0]), text)
    for call in re.finditer(rf'\b(?:{"|".join(functions)})\(', text):
        found = STRINGS.search(call_arguments(text, call.end()))
        message = plain(found[0]) if found else ""
        # All of these mean what their beginning says.
        if message.startswith(INTERNAL):
            message = INTERNAL + "…"
        # A message without a word of its own only passes another message on.
        if WORDS.search(message):
            yield message


def collect(sections):
    """Yields (section or None, path, messages) of each source that has messages."""
    for folder, suffixes in FOLDERS.items():
        top = TOP / folder
        for path in sorted(p for p in (top.rglob("*") if top.is_dir() else [top]) if p.suffix in suffixes.split()):
            name = str(path.relative_to(TOP))
            section = next((s for s in sections if s.covers(name)), None)
            found = sorted(set(messages_of(path, FUNCTIONS + (section.functions if section else []))))
            if found:
                yield section, name, found


def check(sections):
    wrong, met = [], {id(s): set() for s in sections}
    for section, name, found in collect(sections):
        if not section:
            wrong.append(f"{name} has messages, such as \"{found[0]}\", and belongs to no section of "
                         "Documentation/messages.txt: name it in the line \"sources\" of one")
            continue
        met[id(section)] |= set(found)
        for message in found:
            if section.each == "listed" and message not in section.causes:
                wrong.append(f"{name}: a message is new. Tell its users the cause: add these two lines to the "
                             f"section \"{section.title}\" of Documentation/messages.txt:\n{message}\n\tITS CAUSE")
    for section in sections:
        for message, cause in section.causes.items():
            if message not in met[id(section)]:
                wrong.append(f"no source of the section \"{section.title}\" has the message \"{message}\" any "
                             "more: take it out of Documentation/messages.txt")
            elif not cause:
                wrong.append(f"messages.txt has no cause of \"{message}\"")
        if not section.about:
            wrong.append(f"the section \"{section.title}\" does not say what its messages mean")
    return wrong


def title(text, question):
    return f".. SPDX-License-Identifier: MIT\n\n{text}\n{'=' * len(text)}\n\n*{question}*\n\n"


def order(message):
    return message.lstrip('…":-\' ').lower()


def escaped(text):
    """Returns the text for a reference, with characters that would be marks escaped."""
    return re.sub(r"([\\`<>*_|])", r"\\\1", text)


def pages(sections):
    """Returns the two pages: messages by section, and by the alphabet."""
    text = title("Messages", "What does this message mean, and what helps?")
    text += ("All messages, with \"…\" for what differs each time; :doc:`/generated/messages_index` has them in the order of the alphabet. Those of "
             "the importer have a place of their own in :doc:`/onnx-refusals`. Messages of the library come with a status, "
             "which :doc:`/guide` explains.\n\n")
    index = title("Index of messages", "Where is the message that I have met?")
    index += "In the order of the alphabet, without what differs each time at the beginning.\n\n"
    by_section = {id(s): set() for s in sections}
    entries = []
    for section, _, found in collect(sections):
        if section:
            by_section[id(section)] |= set(found)
    for section in sections:
        text += f"{section.title}\n{'-' * len(section.title)}\n\n{section.about}\n\n"
        for message in sorted(by_section[id(section)], key=lambda m: (order(m), m)):
            label = f"message-{len(entries)}"
            entries.append((order(message), section.title, message, label))
            text += f".. _{label}:\n\n``{message}``\n"
            text += f"   {section.causes[message]}\n\n" if section.causes.get(message) else "\n"
    letter = ""
    for key, where, message, label in sorted(entries, key=lambda e: (not e[0][0].isalpha(), e)):
        first = key[0].upper() if key[0].isalpha() else "Others"
        if first != letter:
            letter = first
            index += f"\n{letter}\n{'-' * len(letter)}\n\n"
        index += f"* :ref:`{escaped(message)} <{label}>` ({where})\n"
    # The references in messages.txt are those of a page beside it.
    return re.sub(r":doc:`(?=[\w-]+`)", ":doc:`/", text), index


def main():
    sections = read_causes()
    if sys.argv[1] == "--check":
        wrong = check(sections)
        print("\n".join(wrong) or "every message has a cause")
        return 1 if wrong else 0
    for name, text in zip(("messages.rst", "messages_index.rst"), pages(sections)):
        (pathlib.Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
