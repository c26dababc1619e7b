"""weir.yaml(5): the manual page of the configuration file, made of its JSON Schema (`weir schema`).

weir schema | weir_yaml_page.py "weir 0.1.0" >weir.yaml.5
"""

import json
import sys


def main():
    schema = json.load(sys.stdin)
    print(f""".TH WEIR.YAML 5 "" "{sys.argv[1]}" "File Formats"
.SH NAME
weir.yaml \\- configuration of weir, a distributed rate limiter
.SH DESCRIPTION
A YAML file with rules and settings.
.BR weir\\-serve (1)
reads it with
.BR \\-\\-config ,
and
.BR weir\\-validate (1)
says what is wrong in it.
.SH FIELDS""")
    show(schema, schema["$defs"])
    print(""".SH SEE ALSO
.BR weir (1),
.I /usr/share/doc/weir/docs/reference/rules.md""")


def show(section, definitions):
    """Each field with what it is; what is inside of a field is indented."""
    for name, field in section.get("properties", {}).items():
        print(f".TP\n.B {plain(name)}\n{plain(field.get('description', ''))}")
        inside, rest = section_of(field, definitions)
        if inside:
            print(".RS")
            show(inside, rest)
            print(".RE")


def section_of(field, definitions):
    """The section that a field is, or has in a list or as one of its forms, and the definitions
    that may be shown in it: what contains itself is shown once."""
    if "properties" in field:
        return field, definitions
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        rest = {key: value for key, value in definitions.items() if key != name}
        return definitions.get(name), rest
    for form in [field.get("items"), *field.get("anyOf", []), *field.get("oneOf", [])]:
        if form and (found := section_of(form, definitions))[0]:
            return found
    return None, definitions


def plain(text):
    """Text that troff takes for nothing else."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


if __name__ == "__main__":
    main()
