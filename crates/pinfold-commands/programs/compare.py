#!/usr/bin/env python3
"""Compares the catalog with independent descriptions of the same programs.

    programs/compare.py --man --fish DIR --zsh DIR --fig DIR [--only PROGRAM] [--kinds hides,unsure,value,names,unknown]

Sources, each a package: manual pages that are installed (--man), completions of fish (Debian `fish-common`,
usr/share/fish/completions) and of zsh (Debian `zsh-common`, usr/share/zsh/functions/Completion), and Fig's
(npm `@withfig/autocomplete`, package/build; needs node). Kinds of differences, the worst first:

    hides   the catalog says that an option takes the next word, a source says that it does not
    unsure  the same, but another source says that it does
    value   sources say that an option takes the next word, the catalog has it without one
    unknown the same, and the catalog does not have the option: no rule but one that names it covers the command
    names   the catalog has an option that no source has, where one has most of the others

Lines of `compare.judged` (`PROGRAM OPTION why`) are differences that were looked at and are right as they stand.
"""

import argparse
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NONE, VALUE, GLUED = "none", "value", "glued"


def arity(word):
    """`--name=` as the name and what it takes."""
    if word.endswith("[=]"):
        return word[:-3], GLUED
    if word.endswith("=") and len(word) > 2:
        return word[:-1], VALUE
    return word, NONE


def catalog():
    """{'git log': {'--not': 'none'}} for every name, with the lists that an entry uses, and its style."""
    lists, entries, likes, styles = {}, {}, {}, {}
    for file in sorted(HERE.glob("*.txt")):
        stack = []
        for line in file.read_text().splitlines():
            if not line.strip() or line.strip().startswith("#"):
                continue
            depth = (len(line) - len(line.lstrip())) // 4
            words = re.sub(r'"[^"]*"', "", line).split()
            key = words[0]
            if key in ("program", "command", "list"):
                stack = stack[:depth] + [(words[1:], collections.OrderedDict(), [], key)]
                continue
            if key == "also":
                stack[-1][0].extend(words[1:])
            elif key in ("use", "like"):
                stack[depth - 1][2].append((key, words[1]))
            elif key == "style":
                stack[depth - 1][1].setdefault(" style", words[1])
            elif key != "read-only":
                level = stack[-1] if key[0] in "-+" else stack[depth - 1]
                for word in words:
                    if word[0] in "-+":
                        name, takes = arity(word)
                        level[1].setdefault(name, takes)
            names = [[]]
            for level in stack:
                names = [front + [name] for front in names for name in level[0]]
            if stack[0][3] == "list":
                lists[stack[0][0][0]] = stack[0]
            else:
                for name in names:
                    entries[" ".join(name)] = stack[-1]
    result = {}
    for name, (_, options, uses, _) in entries.items():
        merged = dict(options)
        for kind, other in uses:
            source = lists[other] if kind == "use" else entries[other]
            for option, takes in source[1].items():
                merged.setdefault(option, takes)
        styles[name] = merged.pop(" style", "gnu")
        if styles[name] != "none":
            result[name] = merged
    return result


def from_manual(name):
    """Options in a manual page: lines that begin with one."""
    page = name.replace(" ", "-")
    places = [pathlib.Path(f"/usr/share/man/man{section}/{page}.{section}.gz") for section in (1, 8)]
    place = next((place for place in places if place.exists()), None)
    if place is None:
        return {}
    run = subprocess.run(
        ["man", "-l", str(place)],
        capture_output=True,
        text=True,
        env={"MANWIDTH": "200", "LC_ALL": "C", "PATH": "/usr/bin:/bin", "MANPAGER": "cat", "GROFF_NO_SGR": "1"},
    )
    text = re.sub(r".\x08", "", run.stdout)
    found = {}
    for line in text.splitlines():
        line = line.strip()
        if not re.match(r"-{1,2}[\w?@.]", line):
            continue
        head = re.split(r"\s{2,}", line)[0]
        takes_all = []
        pieces = re.split(r",\s+(?=-)|\s+\|\s+(?=-)|\s+or\s+(?=-)", head)
        for piece in pieces:
            match = re.match(r"(--?\[no-\]|--?)([\w?@.+-]+)(.*)$", piece)
            if not match:
                continue
            rest = match[3]
            option = ("--" if match[1].startswith("--") else "-") + match[2]
            if rest.startswith(("[=", "[")):
                takes = GLUED
            elif rest.startswith("="):
                takes = VALUE
            elif re.match(r"\s+[<\[]?[A-Za-z][\w|/:,.=-]*[>\]]?(\.\.\.)?$", rest):
                takes = GLUED if rest.strip().startswith("[") else VALUE
            elif rest.strip() == "":
                takes = NONE
            elif rest.startswith("<"):
                takes = VALUE
            else:
                takes = None
            takes_all.append((option, takes))
        # `-f, --file=NAME`: the short one takes it too.
        last = takes_all[-1][1] if takes_all else None
        for option, takes in takes_all:
            if last in (VALUE, GLUED) and takes == NONE:
                takes = last
            if takes is not None:
                found.setdefault(option, takes)
    return found


def from_fish(folder, name):
    """`complete -c tar -s f -l file -r`; subcommands stand in conditions and are left out."""
    program, *rest = name.split()
    file = pathlib.Path(folder) / f"{program}.fish"
    if not file.exists():
        return {}
    found = {}
    for line in file.read_text(errors="replace").splitlines():
        if not line.lstrip().startswith("complete "):
            continue
        try:
            words = shlex.split(line.split(" #")[0])
        except ValueError:
            continue
        options, takes, condition = [], NONE, ""
        at = 1
        while at < len(words):
            word = words[at]
            value = words[at + 1] if at + 1 < len(words) else ""
            if word in ("-s", "--short-option"):
                options += ["-" + value]
                at += 1
            elif word in ("-l", "--long-option"):
                options.append("--" + value)
                at += 1
            elif word in ("-o", "--old-option"):
                options.append("-" + value)
                at += 1
            elif word in ("-n", "--condition"):
                condition += value
                at += 1
            elif word in ("-c", "--command", "-d", "--description", "-a", "--arguments", "-p", "--path", "-w", "--wraps"):
                at += 1
            elif word in ("-r", "-x", "--require-parameter", "--exclusive", "-rf", "-fr", "-xa", "-ra", "-rfa", "-rka", "-xka"):
                takes = VALUE
                at += word[-1] == "a" and word[1] != "-"
            at += 1
        subcommand = re.findall(r"(?:using_command|seen_subcommand_from|__fish_seen_subcommand_from|using_subcommand)\s+([\w -]+)", condition)
        if bool(rest) != bool(condition):
            continue
        if rest and not any(rest[-1] in one.split() for one in subcommand):
            continue
        for option in options:
            found.setdefault(option, takes)
    return found


def from_fig(folder, name):
    """Fig's specifications, which are JavaScript."""
    program, *rest = name.split()
    spec = fig_spec(folder, program)
    for word in rest:
        subs = spec.get("subcommands") or []
        spec = next((sub for sub in subs if word in as_list(sub.get("name"))), {})
    found = {}
    for option in spec.get("options") or []:
        args = as_list(option.get("args"))
        takes = NONE
        if args:
            takes = GLUED if args[0].get("isOptional") else VALUE
        if option.get("requiresEquals") or option.get("requiresSeparator"):
            takes = GLUED if takes == GLUED else VALUE
        for own in as_list(option.get("name")):
            found.setdefault(own, takes)
    return found


def as_list(value):
    return value if isinstance(value, list) else [] if value is None else [value]


SPECS = {}


def fig_spec(folder, program):
    if program not in SPECS:
        file = pathlib.Path(folder) / f"{program}.js"
        script = "import(process.argv[1]).then(m=>{let s=m.default; if (typeof s!=='object') s={}; console.log(JSON.stringify(s))}).catch(()=>console.log('{}'))"
        SPECS[program] = {}
        if file.exists():
            run = subprocess.run(["node", "--input-type=module", "-e", script, str(file)], capture_output=True, text=True)
            try:
                SPECS[program] = json.loads(run.stdout or "{}")
            except ValueError:
                pass
    return SPECS[program]


def zsh_files(folder):
    files = {}
    for file in pathlib.Path(folder).rglob("_*"):
        if file.suffix == ".zwc" or not file.is_file():
            continue
        first = file.open(errors="replace").readline()
        if first.startswith("#compdef"):
            for word in first.split()[1:]:
                files.setdefault(word.split("=")[0], file)
    return files


ZSH = {}


def from_zsh(folder, name):
    """`_arguments` of zsh: `'-o+[text]:file:_files'`, `{-a,--all}'[text]'`. Whole programs alone."""
    if " " in name:
        return {}
    if not ZSH:
        ZSH.update(zsh_files(folder))
    file = ZSH.get(name)
    if file is None:
        return {}
    found = {}
    text = file.read_text(errors="replace")
    spec = re.compile(r"(?:'(?:\([^)]*\))?\*?'?\{([^}]+)\}'?|'(?:\([^)]*\))?\*?(--?[\w+@?.-]+?[+=-]{0,2}))(\[[^\]]*\])((?::[^']*)?)'")
    for braces, single, _, message in spec.findall(text):
        for option in (braces.split(",") if braces else [single]):
            option = option.strip()
            bare = re.sub(r"(=-|=|\+|(?<=-\w)-)$", "", option)
            mark = option[len(bare):]
            if not bare.startswith("-"):
                continue
            takes = NONE
            if message:
                takes = GLUED if message.startswith("::") or mark in ("-", "=-") else VALUE
            found.setdefault(bare, takes)
    return found


def judged():
    file = HERE / "compare.judged"
    lines = file.read_text().splitlines() if file.exists() else []
    pairs = set()
    for line in lines:
        if line.strip() and not line.startswith("#"):
            front = line.split("  ")[0]
            program, _, option = front.rpartition(" ")
            pairs.add((program, option))
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--man", action="store_true")
    parser.add_argument("--fish")
    parser.add_argument("--zsh")
    parser.add_argument("--fig")
    parser.add_argument("--only")
    parser.add_argument("--kinds", default="hides,unsure,value,names")
    asked = parser.parse_args()
    kinds, known = asked.kinds.split(","), judged()
    count = collections.Counter()
    for name, options in sorted(catalog().items()):
        if asked.only and asked.only not in (name, name.split()[0]):
            continue
        sources = {}
        if asked.man:
            sources["man"] = from_manual(name)
        if asked.fish:
            sources["fish"] = from_fish(asked.fish, name)
        if asked.fig:
            sources["fig"] = from_fig(asked.fig, name)
        if asked.zsh:
            sources["zsh"] = from_zsh(asked.zsh, name)
        sources = {source: found for source, found in sources.items() if found}
        if not sources:
            continue
        count["programs"] += 1
        covered = sum(any(option in found for found in sources.values()) for option in options)
        every = dict.fromkeys(list(options) + [o for found in sources.values() for o in found])
        for option in every:
            said = {source: found[option] for source, found in sources.items() if option in found}
            # fish seldom says that a value is needed.
            said = {source: takes for source, takes in said.items() if (source, takes) != ("fish", NONE)}
            ours = options.get(option)
            values = set(said.values())
            count["options"] += bool(ours and said)
            if ours == VALUE and values and VALUE not in values:
                kind = "hides"
            elif ours == VALUE and NONE in values and len(values) > 1:
                kind = "unsure"
            elif ours != VALUE and values == {VALUE}:
                kind = "value" if ours else "unknown"
            elif ours and not said and covered * 2 > len(options) and len(options) > 3:
                kind = "names"
            else:
                continue
            if kind not in kinds or (name, option) in known:
                continue
            count[kind] += 1
            told = " ".join(f"{source}:{takes}" for source, takes in said.items())
            print(f"{kind:<7} {name} {option}  ours:{ours or 'unknown'} {told}")
    print(dict(count), file=sys.stderr)


if __name__ == "__main__":
    main()
