#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""random_script.py SEED SECTORS QUEUES EXPECT [OPS]: a script of random requests on standard output.

What the disk must hold afterwards goes to EXPECT; "initial" sectors are those of pattern 1, which the
image is filled with up to half its size; the rest begins as zeros.
"""
import random
import sys

seed, sectors, queues, expect = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
nr_ops = int(sys.argv[5]) if len(sys.argv) > 5 else 80
rng = random.Random(seed)
model = [1] * (sectors // 2) + ['zero'] * (sectors - sectors // 2)
LAYOUTS = ['plain', 'split', 'indirect', 'sectors', 'glued']
EDGES = [0, 1, 127, 128, 129, 4095, 4096, 4097, sectors // 2]
next_seed = 2


def place():
    count = rng.choice([1, 1, 2, 7, 8, 9, 32, 64, 127, 128, 129, 300, 512])
    if rng.random() < 0.5:
        start = max(0, rng.choice(EDGES) - rng.choice([0, 1, count, count // 2]))
    else:
        start = rng.randrange(sectors)
    return min(start, sectors - count), count


def request():
    """One request that does not depend on others: (line, effect on the model)."""
    global next_seed
    start, count = place()
    where = 'sector=%d count=%d queue=%d' % (start, count, rng.randrange(queues))
    kind = rng.choice(['write'] * 5 + ['read'] * 5 + ['zeroes'] * 2 + ['discard', 'flush'])
    if kind == 'flush':
        return 'flush queue=%d' % rng.randrange(queues), None
    if kind == 'discard':
        return 'discard ' + where, (start, count, None)
    if kind == 'zeroes':
        return 'zeroes ' + where + rng.choice([' unmap', '']), (start, count, 'zero')
    layout = rng.choice(LAYOUTS)
    if layout == 'sectors' and count > 24:
        layout = 'plain'
    if kind == 'write':
        next_seed += 1
        return 'write %s seed=%d layout=%s' % (where, next_seed, layout), (start, count, next_seed)
    known = model[start]
    if known is None:
        return 'flush', None
    end = start
    while end < start + count and model[end] == known:
        end += 1
    where = 'sector=%d count=%d queue=%d layout=%s' % (start, end - start, rng.randrange(queues),
                                                      layout)
    line = 'zero_check ' + where if known == 'zero' else 'verify %s seed=%d' % (where, known)
    return line, (start, end - start, known)


done = 0
while done < nr_ops:
    lines, touched = [], []
    for _ in range(rng.choice([1, 1, 1, 2, 4, 8])):
        line, effect = request()
        if 'sectors' in line and len(lines) > 1:
            continue
        if effect and any(effect[0] < s + c and s < effect[0] + effect[1] for s, c in touched):
            continue
        if effect:
            touched.append(effect[:2])
            for i in range(effect[0], effect[0] + effect[1]):
                model[i] = effect[2]
        lines.append(line)
    if len(lines) > 1:
        print('batch count=%d' % len(lines))
    print('\n'.join(lines))
    done += len(lines)
print('end seed=8')

with open(expect, 'w') as out:
    start = 0
    for i in range(1, sectors + 1):
        if i == sectors or model[i] != model[start]:
            if model[start] is not None:
                out.write('%d %d %s\n' % (start, i - start, model[start]))
            start = i
