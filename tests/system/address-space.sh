# SPDX-License-Identifier: MIT
# Services run image tools in 1 GiB of address space.
. "$TESTS/common.sh"
limited() {
	prlimit --as=1073741824 "$@" >out 2>&1 || fail "$*: $(cat out)"
}
make_data raw 64
truncate -s 10G raw
limited "$QIMG" convert -f raw -O qcow2 -W -m 16 raw disk
limited "$QIMG" convert -f raw -O qcow2 -c -m 16 raw packed
limited "$QIMG" convert -f raw -O qcow2 -c -m 16 -o compression_type=zstd,cluster_size=2M raw big
limited "$QIMG" convert -f qcow2 -O raw -m 16 big back
limited "$QIMG" compare -f raw -F raw raw back
limited "$QIMG" create -f qcow2 -o preallocation=metadata huge 1T
for image in disk packed big huge; do
	limited "$QIMG" check $image
	limited "$QIMG" info $image
	limited "$QIMG" map --output=json $image
	limited "$QIMG" measure -O qcow2 $image
	limited "$QIMG" bench -c 2000 -d 64 -w -t unsafe $image
done
limited "$QIMG" snapshot -c one huge
limited "$QIO" -c 'write -q 0 64M' -c 'write -q -z 0 1G' disk
