/* SPDX-License-Identifier: MIT */
/* Deflate with a small window, which libdeflate does not offer: by zlib. */
#include "config.h"

#include "blockdev/format/qcow2/codec.h"

#if CONFIG_ZLIB

#include <string.h>
#include <zlib.h>

enum { WINDOW_BITS = 12, MEMORY = 9 };

size_t qcow2_deflate_4k(const void *in, size_t len, void *out, size_t room, unsigned level)
{
	z_stream stream;
	size_t used = 0;

	memset(&stream, 0, sizeof(stream));
	if (deflateInit2(&stream, level ? (int)level : Z_DEFAULT_COMPRESSION, Z_DEFLATED,
			 -WINDOW_BITS, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	stream.next_in = (Bytef *)in;
	stream.avail_in = (uInt)len;
	stream.next_out = out;
	stream.avail_out = (uInt)room;
	if (deflate(&stream, Z_FINISH) == Z_STREAM_END)
		used = room - stream.avail_out;
	deflateEnd(&stream);
	return used;
}

#else

size_t qcow2_deflate_4k(const void *in, size_t len, void *out, size_t room, unsigned level)
{
	(void)in;
	(void)len;
	(void)out;
	(void)room;
	(void)level;
	return 0; /* refused before: qcow2_check_packing() */
}

#endif
