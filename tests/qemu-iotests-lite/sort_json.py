#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pass text through; a JSON document (from "{" or "[" at the start of a line) gets sorted keys."""
import json
import sys

text = sys.stdin.read()
at = next((i for i in range(len(text))
           if text[i] in "{[" and (i == 0 or text[i - 1] == "\n")), None)
if at is not None:
    try:
        value, end = json.JSONDecoder().raw_decode(text[at:])
        text = (text[:at] + json.dumps(value, indent=4, sort_keys=True) + text[at + end:])
    except ValueError:
        pass
sys.stdout.write(text)
