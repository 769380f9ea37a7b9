#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unpack.py BZIMAGE VMLINUX: the ELF kernel inside an xz-compressed bzImage."""
import lzma
import struct
import sys

image = open(sys.argv[1], 'rb').read()
setup = ((image[0x1f1] or 4) + 1) * 512
off, length = struct.unpack_from('<II', image, 0x248)
packed = image[setup + off:setup + off + length]
if packed[:6] != b'\xfd7zXZ\0':
    sys.exit('unpack.py: the kernel is not compressed by xz')
open(sys.argv[2], 'wb').write(lzma.LZMADecompressor().decompress(packed))
