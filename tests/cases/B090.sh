#!/bin/bash
# SPDX-License-Identifier: MIT
# B090: lists of options as libvirt writes them
. "$CASES/common.sh"
$Q create -f qcow2 -o compat=1.1,lazy_refcounts l 1048576K >/dev/null 2>&1
$Q info l | grep -c 'lazy refcounts: true'
$Q create -o '?' -f qcow2 /dev/null | grep -cE '^ *compat='
rc $Q create -f qcow2 -o cluster_size=4k, x 1M
rc $Q create -f qcow2 -o '' x 1M
rc $Q create -f qcow2 -o cluster_size=4k -o refcount_bits=8 x 1M
#| 1
#| 1
#| rc=1
#| rc=1
#| rc=0
