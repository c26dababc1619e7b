"""The loader and the JSON Schema agree on what a configuration may say.

Usage: config_schema_test.py PATH-OF-config_verdicts

Checked are the files in testdata/, the YAML blocks of docs/reference, and
every YAML file of the project that names docs/weir.schema.json. What both see is the text:
the loader by itself, the schema through PyYAML. PyYAML reads YAML 1.1, editors 1.2;
what the two read differently (yes, 010, 1_000) the loader refuses.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema
import yaml

RULES = pathlib.Path(__file__).parent
PROJECT = RULES.parent.parent

# What a JSON Schema, or PyYAML before it, cannot say. Every other broken file must be
# refused by both.
BEYOND_A_SCHEMA = {
    "adaptive_thresholds.yaml": "which of two thresholds is higher",
    "duplicate_id.yaml": "a property that is unique among the items of a list",
    "duplicate_key.yaml": "PyYAML keeps the last",
    "fill_time.yaml": "arithmetic over burst, window and limit",
    "window_text_out_of_range.yaml": "the length that a text stands for",
    "window_too_fine.yaml": "decimals of a number: 1e-6 is no exact multipleOf",
    "limit_other_notation.yaml": "PyYAML has made whole numbers of 1_000, 010 and 0x10",
    "effects_html.yaml": "where in HTML a template has variables",
    "effects_json.yaml": "where in JSON a template has variables",
    "effects_scripts.yaml": "which variables a template has",
    "enabled_yes.yaml": "PyYAML has made true of it",
    "listen_bad_ip.yaml": "what is within an IP address",
    "merge_key.yaml": "PyYAML has merged",
    "tag.yaml": "PyYAML has applied the tag",
    "match_network_bits.yaml": "which bits of an address may be set",
    "network_meant.yaml": "which bits of an address may be set",
    "too_many_limits.yaml": "how many limits the rules of all groups have",
    "active_zone.yaml": "which time zones there are, and which time is another",
    "match_too_deep.yaml": "how deep it is",
    "regex_too_large.yaml": "how much memory an expression needs",
    "sources_missing.yaml": "what one section needs of another",
    "proportional_shared.yaml": "what a rule needs of a section",
    "holds_shared.yaml": "what a rule needs of a section",
    "places_without_world.yaml": "what a rule needs of a section",
    "tenants_plans.yaml": "how many bytes a name has, of rules with 'tenants' alone",
    "key_without_match.yaml": "that 'key' and 'group' need 'match'",
    "too_many_groups.yaml": "how many different values there are",
    "descriptor_duplicate.yaml": "properties that are unique among the items of a list",
    "effects_costs.yaml": "that 'cost' needs 'match', and which texts it may be",
    "utf16.yaml": "PyYAML reads UTF-16, too",
    "carriage_return.yaml": "PyYAML takes it for the end of a line",
}


def schema_verdict(validator, text):
    try:
        return "accepted" if validator.is_valid(yaml.safe_load(text)) else "refused"
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        return "refused"


def loader_verdicts(program, paths):
    output = subprocess.run(
        [program, *map(str, paths)], check=True, capture_output=True, text=True
    ).stdout
    return {path: verdict for verdict, path in (x.split(" ", 1) for x in output.splitlines())}


def documented_examples(folder):
    """The YAML blocks of the manual, as files of their own."""
    for manual in ("rules.md", "settings.md", "nginx-directives.md"):
        text = (PROJECT / "docs" / "reference" / manual).read_text()
        for number, block in enumerate(re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)):
            path = pathlib.Path(folder) / f"{manual}.{number + 1}.yaml"
            path.write_text(block)
            yield path


def files_that_name_the_schema():
    for folder in ("examples", "deploy", "tests"):
        for path in sorted((PROJECT / folder).rglob("*.yaml")):
            if "weir.schema.json" in path.read_text():
                yield path


def disagreements(validator, verdicts):
    for path, loader in verdicts.items():
        schema = schema_verdict(validator, pathlib.Path(path).read_bytes())
        name = pathlib.Path(path).name
        broken = "/broken/" in path
        if loader != ("refused" if broken else "accepted"):
            yield f"{path}: {loader} by the loader"
        if broken and (schema == "accepted") != (name in BEYOND_A_SCHEMA):
            yield f"{path}: {schema} by the schema, but see BEYOND_A_SCHEMA"
        if not broken and schema != "accepted":
            yield f"{path}: refused by the schema"


def main():
    schema = json.loads((PROJECT / "docs/weir.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    with tempfile.TemporaryDirectory() as folder:
        examples = list(documented_examples(folder))
        paths = [*sorted((RULES / "testdata").rglob("*.yaml")), *examples,
                 *files_that_name_the_schema()]
        verdicts = loader_verdicts(sys.argv[1], paths)
        problems = list(disagreements(validator, verdicts))
    for name in BEYOND_A_SCHEMA.keys() - {path.name for path in paths}:
        problems.append(f"BEYOND_A_SCHEMA names {name}, which does not exist")
    print("\n".join(problems) or f"{len(paths)} files, {len(examples)} of them in the manual: ok")
    sys.exit(1 if problems or not examples else 0)


if __name__ == "__main__":
    main()
