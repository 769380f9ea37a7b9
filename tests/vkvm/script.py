#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scripts for the test guest, and the patterns it writes.

script.py make FILE < lines      one operation a line: name key=value...; '#' begins a comment
script.py expect FILE IMAGE      compare a raw image with "SECTOR COUNT SEED" lines (SEED "zero")
"""
import struct
import sys

CODES = ['end', 'write', 'verify', 'zero_check', 'flush', 'discard', 'zeroes', 'id', 'config',
         'reset', 'sum', 'ext4', 'print', 'wait', 'batch', 'cpu', 'join', 'raw', 'pci', 'reboot',
         'poweroff', 'repeat']
FLAGS = {'unmap': 1, 'fails': 2, 'unsupp': 4, 'poll': 8}
LAYOUTS = ['plain', 'split', 'indirect', 'sectors', 'glued']


def pattern(seed, sector):
    word = ((seed << 40) ^ sector) * 0x9e3779b97f4a7c15 & (1 << 64) - 1
    return struct.pack('<Q', word) * 64


def operation(line):
    name, *rest = line.split()
    if name == 'text':
        text = line.split(None, 1)[1].encode() + b'\n\0'
        assert len(text) <= 32, 'too long: ' + line
        return struct.pack('<BBBBIQQII', CODES.index('print'), 0, 0, 0, 0, 0, 0, 0, 0) + \
            text.ljust(32, b'\0')
    keys = dict(word.split('=', 1) for word in rest if '=' in word)
    flags = sum(FLAGS[word] for word in rest if '=' not in word)
    num = lambda key, default=0: int(str(keys.get(key, default)), 0)
    if name == 'desc':
        return struct.pack('<QIHHQQ', num('addr'), num('len'), num('flags'), num('next'),
                           num('fill'), 0)
    return struct.pack('<BBBBIQQII', CODES.index(name), num('disk'), num('queue'), flags,
                       num('count', 1), num('sector'), num('seed'),
                       LAYOUTS.index(keys.get('layout', 'plain')), 0)


def make(path):
    with open(path, 'wb') as out:
        out.write(b'VKTG'.ljust(32, b'\0'))
        for line in sys.stdin:
            line = line.split('#')[0].strip()
            if line:
                out.write(operation(line))


def expect(path, image):
    disk = open(image, 'rb').read()
    for line in open(path):
        sector, count, seed = line.split()
        for i in range(int(sector), int(sector) + int(count)):
            want = bytes(512) if seed == 'zero' else pattern(int(seed), i)
            if disk[i * 512:i * 512 + 512] != want:
                sys.exit('%s: sector %d is not of pattern %s' % (image, i, seed))


if sys.argv[1] == 'make':
    make(sys.argv[2])
else:
    expect(sys.argv[2], sys.argv[3])
