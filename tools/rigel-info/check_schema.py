#!/usr/bin/env python3
"""check_schema.py <schema> <command>...: checks that the command's output is JSON with that schema."""
import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

schema = json.load(open(sys.argv[1], encoding="utf-8"))
validator = jsonschema.Draft7Validator(schema)
jsonschema.Draft7Validator.check_schema(schema)
written = json.loads(subprocess.run(sys.argv[2:], check=True, capture_output=True, text=True).stdout)
errors = [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(written)]
# A schema that accepts everything would check nothing.
for spoil in (
    lambda it: it.pop("agents"),
    lambda it: it["agents"][0].pop("node"),
    lambda it: it["agents"][0].update(uuid="none"),
    lambda it: it["agents"][0]["pools"][0].update(bytes="many"),
    lambda it: it["tools"][0].update(state="there"),
    lambda it: it.update(surprise=1),
):
    other = copy.deepcopy(written)
    spoil(other)
    if validator.is_valid(other):
        errors.append("the schema lets something through that is spoilt")
print("\n".join(errors) or f"{len(written['agents'])} agents")
sys.exit(1 if errors else 0)
