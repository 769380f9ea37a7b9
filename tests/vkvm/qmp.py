#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A QMP client for tests: qmp.py SOCKET < lines, each a command: NAME [JSON arguments].

Other lines: "expect KEY=VALUE..." looks into the last reply, with dots between levels; "fails TEXT":
the last reply was an error with it; "event NAME [KEY=VALUE]...": wait for it; "sleep SECONDS".
"""
import json
import socket
import sys
import time

sock = socket.socket(socket.AF_UNIX)
for _ in range(200):
    try:
        sock.connect(sys.argv[1])
        break
    except OSError:
        time.sleep(0.05)
sock.settimeout(30)
stream = sock.makefile('rw')
events = []


def receive():
    while True:
        line = stream.readline()
        if not line:
            sys.exit('qmp: the connection was closed')
        message = json.loads(line)
        if 'event' not in message:
            return message
        events.append(message)


def lookup(value, path):
    for part in path.split('.'):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def command(name, args):
    stream.write(json.dumps({'execute': name, 'arguments': args, 'id': 5}) + '\n')
    stream.flush()
    reply = receive()
    assert reply['id'] == 5, reply
    return reply


def check(value, pairs):
    for pair in pairs.split():
        path, _, want = pair.partition('=')
        got = json.dumps(lookup(value, path))
        if got.strip('"') != want:
            sys.exit('qmp: %s is %s, not %s' % (path, got, want))


assert 'QMP' in receive()
assert 'error' in command('query-status', {})
last = command('qmp_capabilities', {})
for line in sys.stdin:
    word, _, rest = line.strip().partition(' ')
    if word == 'expect':
        check(last['return'], rest)
    elif word == 'fails':
        if rest not in last.get('error', {}).get('desc', ''):
            sys.exit('qmp: not the error "%s": %s' % (rest, last))
    elif word == 'event':
        name, _, rest = rest.partition(' ')
        while not any(event['event'] == name for event in events):
            line = stream.readline()
            if not line:
                sys.exit('qmp: no event ' + name)
            events.append(json.loads(line))
        check([event for event in events if event['event'] == name][0].get('data'), rest)
        events = [event for event in events if event['event'] != name]
    elif word == 'sleep':
        time.sleep(float(rest))
    elif word and word[0] != '#':
        last = command(word, json.loads(rest) if rest else {})
        print(word, json.dumps(last)[:300])
