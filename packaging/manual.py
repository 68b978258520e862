#!/usr/bin/python3
"""The manual page and the completions of bash and zsh, from what `motley --help` and the help of each
subcommand say: there is nothing to keep up to date.
usage: manual.py PROGRAM DIRECTORY      writes motley.1, motley.bash and _motley there"""

import dataclasses
import os
import re
import subprocess
import sys

MANUAL = r""".\" Made by packaging/manual.py.
.TH MOTLEY 1 "" "@VERSION@" "User Commands"
.SH NAME
motley \- train one libtorch model on machines that differ in speed
.SH SYNOPSIS
@SYNOPSIS@
.SH DESCRIPTION
A job file (TOML) says what is trained, on which data, by how many workers of which speeds, and by
which method they work together.
.B motley
runs it with processes on this machine or on a virtual clock, compares methods side by side, and
leaves a directory with the model, what was measured and a page to look at.
.SH COMMANDS
@COMMANDS@
.SH EXIT STATUS
@EXIT@
.SH EXAMPLES
.TP
.B motley train job.toml \-\-out runs/first
runs a job; runs/first/report.html shows what came of it.
.TP
.B motley simulate job.toml \-\-set cluster.workers=64
the same job with 64 workers, on a virtual clock.
.TP
.B motley compare job.toml \-\-simulate
every variant of the job, in a table.
.SH SEE ALSO
The page of all keys of a job file, and one for each method, in the docs directory of the source.
"""

BASH = r"""# Made by packaging/manual.py.
_motley() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at job
  COMPREPLY=()
  case $before in
    --variant)
      for at in "${COMP_WORDS[@]}"; do [[ $at == *.toml && -f $at ]] && job=$at; done
      [[ -n $job ]] && mapfile -t COMPREPLY < <(compgen -W "$(
        sed -n '/^\[\[variant\]\]/,/^name/s/^name *= *"\([^"]*\)".*/\1/p' "$job")" -- "$word")
      return ;;
    --out) compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return ;;
    @VALUES@) return ;;
  esac
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "@TOP@" -- "$word")
    return
  fi
  local flags='' kind=''
  case ${COMP_WORDS[1]} in
@CASES@
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  elif [[ $kind == job ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -X '!*.toml' -- "$word"; compgen -d -- "$word")
  elif [[ $kind == directory ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$word")
  fi
}
complete -F _motley motley
"""

ZSH = r"""#compdef motley
# Made by packaging/manual.py.
local -a commands
commands=(
@COMMANDS@
)
if (( CURRENT == 2 )); then
  _describe command commands
  _arguments @TOP@
  return
fi
case $words[2] in
@CASES@
esac
"""


@dataclasses.dataclass
class Entry:
    names: list  # -h and --help, or the name of an argument or a subcommand
    value: str  # what follows, "" for a flag
    text: str
    needs: str = ""  # another flag


@dataclasses.dataclass
class Page:
    what: str
    usage: str
    entries: dict  # by the heading: Options, Positionals, Subcommands
    footer: str


def entry_of(head, text):
    head, _, needs = head.partition(" Needs: ")
    name, _, value = head.partition(" ")
    value = re.sub(r":.*", "", value.replace(" REQUIRED", "").replace("REQUIRED", ""))
    return Entry(name.split(","), value, text, needs)


def page_of(program, *command):
    """The help of a command, read as CLI11 writes it: headings at the margin, entries two spaces in,
    what they mean after two spaces or on a line of its own."""
    text = subprocess.run([program, *command, "--help"], check=True, text=True, capture_output=True).stdout
    body, _, footer = text.rstrip("\n").rpartition("\n\n")
    what, usage, *rest = body.split("\n")
    page = Page(what, usage.removeprefix("Usage: "), {}, footer)
    entries = []
    for line in rest:
        heading = re.fullmatch(r"(\w+):", line)
        entry = re.fullmatch(r"  (\S.*?)(?:\s{2,}(\S.*))?", line)
        if heading:
            entries = page.entries.setdefault(heading[1], [])
        elif entry:
            entries.append(entry_of(entry[1], entry[2] or ""))
        elif line:
            more = line.strip()
            entries[-1].text = f"{entries[-1].text} {more}".strip()
    return page


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def manual_entry(entry):
    head = ", ".join(rf"\fB{roff(name)}\fR" for name in entry.names)
    if entry.value:
        head += rf" \fI{roff(entry.value)}\fR"
    needs = f"; only with {entry.needs}" if entry.needs else ""
    return f".TP\n{head}\n{roff(entry.text + needs)}"


def manual_command(name, page):
    arguments = page.usage.removeprefix(f"motley {name}").strip()
    lines = [f".SS \"motley {name} {roff(arguments)}\"", roff(page.what[0].upper() + page.what[1:] + ".")]
    for entry in page.entries.get("Positionals", []) + page.entries["Options"]:
        if "--help" not in entry.names:
            lines.append(manual_entry(entry))
    return "\n".join(lines)


def manual(version, top, pages):
    synopsis = [".B motley\n" + roff(page.usage.removeprefix("motley ")) for page in pages.values()]
    parts = {
        "VERSION": version,
        "SYNOPSIS": "\n.br\n".join([*synopsis, r".B motley \-\-help" + "\n.br\n" + r".B motley \-\-version"]),
        "COMMANDS": "\n".join(
            [manual_command(name, page) for name, page in pages.items()]
            + [".SS \"All of them\""]
            + [manual_entry(entry) for entry in top.entries["Options"]]
        ),
        "EXIT": roff(top.footer.removeprefix("Exit codes: ")),
    }
    return fill(MANUAL, parts)


def fill(text, parts):
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def kind_of(page):
    """Which files the arguments of a command are."""
    names = [entry.names[0] for entry in page.entries.get("Positionals", [])]
    return {"JOB": "job", "RUN_DIR": "directory"}.get(names[0], "") if names else ""


def flags_of(page):
    return [name for entry in page.entries["Options"] for name in entry.names]


def bash(top, pages):
    values = sorted(
        {entry.names[-1] for page in pages.values() for entry in page.entries["Options"] if entry.value}
        - {"--variant", "--out"}
    )
    cases = [
        f"    {name}) flags='{' '.join(flags_of(page))}' kind='{kind_of(page)}' ;;"
        for name, page in pages.items()
    ]
    return fill(
        BASH,
        {
            "VALUES": " | ".join(values),
            "TOP": " ".join([*pages, *flags_of(top)]),
            "CASES": "\n".join(cases),
        },
    )


def zsh_text(text, special=r"[\[\]:\\]"):
    return re.sub(f"({special})", r"\\\1", text.replace("'", "’"))


def zsh_entry(entry):
    often = "*" if entry.value.endswith("...") else ""
    value = ""
    if entry.value:
        action = "_files" if "--out" in entry.names else ""
        # A value in brackets may be left out.
        value = ("::" if entry.value.startswith("[") else ":") + entry.value.strip("[]. ").lower() + ":" + action
    return " ".join(f"'{often}{name}[{zsh_text(entry.text)}]{value}'" for name in entry.names)


def zsh(top, pages):
    files = {"job": "'*:job:_files -g \"*.toml\"'", "directory": "'*:directory:_files -/'", "": ""}
    cases = [
        f"  {name}) (( CURRENT-- )); shift words; _arguments "
        + " ".join([*map(zsh_entry, page.entries["Options"]), files[kind_of(page)]]).strip()
        + " ;;"
        for name, page in pages.items()
    ]
    return fill(
        ZSH,
        {
            "COMMANDS": "\n".join(f"  '{name}:{zsh_text(page.what, ':')}'" for name, page in pages.items()),
            "TOP": " ".join(map(zsh_entry, top.entries["Options"])),
            "CASES": "\n".join(cases),
        },
    )


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, directory = sys.argv[1:]
    top = page_of(program)
    pages = {entry.names[0]: page_of(program, entry.names[0]) for entry in top.entries["Subcommands"]}
    version = subprocess.run([program, "--version"], check=True, text=True, capture_output=True).stdout
    os.makedirs(directory, exist_ok=True)
    for file, text in {
        "motley.1": manual(version.strip(), top, pages),
        "motley.bash": bash(top, pages),
        "_motley": zsh(top, pages),
    }.items():
        with open(os.path.join(directory, file), "w", encoding="utf-8") as out:
            out.write(text)


if __name__ == "__main__":
    main()
