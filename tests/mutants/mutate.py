#!/usr/bin/python3
"""Makes the sources of mutants (mutants.yaml), for CMake and for run.py.

    mutate.py --list               the mutants: identifier|file|sources that are compiled with it
    mutate.py --check              each text stands in its file, exactly once, and is compiled
    mutate.py NAME FOLDER BUILD    what is compiled for the mutant goes into the folder
"""

import hashlib
import os
import re
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATED = "src/store/redis/script/generated"
SCRIPT = "store/redis/script/charge_script.inc"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def all_mutants():
    mutants = yaml.safe_load(read(os.path.join(ROOT, "tests/mutants/mutants.yaml")))
    for mutant in mutants:
        mutant["id"] = re.sub(r"\W+", "_", mutant["name"].replace("'", ""))
        mutant.setdefault("compiled", [mutant["file"]])
    return mutants


def mutated(mutant, text):
    """The text with the mutant's change. There has to be exactly one place for it."""
    count = text.count(mutant["text"])
    if count != 1:
        sys.exit(f"mutant '{mutant['name']}': its text is {count} times in {mutant['file']}")
    return text.replace(mutant["text"], mutant["instead"])


def mutated_script(mutant, build):
    """The literals that CMake has made of the scripts, with the hash that they have then."""
    inc = mutated(mutant, read(os.path.join(build, GENERATED, SCRIPT)))
    script = "".join(re.findall(r'R"lua\((.*?)\)lua"', inc, re.DOTALL))
    return re.sub(r'Sha = "\w+"', f'Sha = "{hashlib.sha1(script.encode()).hexdigest()}"', inc)


def make(mutant, folder, build):
    """Sources keep their names; what they include is found in the folder first."""
    file = mutant["file"]
    if file.endswith(".lua"):
        write(os.path.join(folder, SCRIPT), mutated_script(mutant, build))
    elif file.endswith(".h"):
        write(os.path.join(folder, file.removeprefix("src/")),
              mutated(mutant, read(os.path.join(ROOT, file))))
    for source in mutant["compiled"]:
        text = read(os.path.join(ROOT, source))
        write(os.path.join(folder, os.path.basename(source)),
              mutated(mutant, text) if source == file else text)


def main(arguments):
    mutants = all_mutants()
    if arguments == ["--list"]:
        for mutant in mutants:
            print("|".join([mutant["id"], mutant["file"], ",".join(mutant["compiled"])]))
    elif arguments == ["--check"]:
        for mutant in mutants:
            mutated(mutant, read(os.path.join(ROOT, mutant["file"])))
            if not all(source.endswith(".cc") for source in mutant["compiled"]):
                sys.exit(f"mutant '{mutant['name']}': name the sources to compile it with")
    else:
        name, folder, build = arguments
        make(next(m for m in mutants if m["id"] == name), folder, build)


if __name__ == "__main__":
    main(sys.argv[1:])
