#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Members of a JSON file, as a program that depends on them reads them.

usage: json_keys.py FILE PATH...; a PATH is names and indices with dots between them ("/" instead,
if a name has a dot); ":type" behind it shows the type only.  Prints "PATH: VALUE" lines.
"""
import json
import sys

TYPES = {int: "integer", str: "string", bool: "boolean", list: "array", dict: "object"}


def member(value, path):
    for name in path.split("."):
        if isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return None
    return value


with open(sys.argv[1], encoding="utf8") as text:
    tree = json.load(text)
for word in sys.argv[2:]:
    name, _, only_type = word.partition(":")
    found = member(tree, name)
    if found is None:
        print("%s: absent" % name)
    elif only_type:
        print("%s: %s" % (name, TYPES.get(type(found), "?")))
    else:
        print("%s: %s" % (name, json.dumps(found, sort_keys=True)))
