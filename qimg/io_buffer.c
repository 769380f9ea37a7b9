/* SPDX-License-Identifier: MIT */
/* qimg-io: buffers with patterns, dumps, verification. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/io.h"

enum { MISALIGN = 16 };

uint8_t *io_buffer_new(struct io_state *io, size_t len, int pattern)
{
	size_t shift = io->misalign ? MISALIGN : 0;
	void *mem;

	if (posix_memalign(&mem, 4096, len + shift + 1)) {
		printf("Cannot allocate memory for %zu bytes\n", len);
		return NULL;
	}
	memset(mem, pattern, len + shift + 1);
	return (uint8_t *)mem + shift;
}

void io_buffer_free(struct io_state *io, uint8_t *buf)
{
	if (buf)
		free(buf - (io->misalign ? MISALIGN : 0));
}

void io_dump(const uint8_t *buf, uint64_t off, size_t len)
{
	for (size_t at = 0; at < len; at += 16) {
		size_t nr = len - at < 16 ? len - at : 16;

		printf("%08llx:  ", (unsigned long long)(off + at));
		for (size_t i = 0; i < 16; i++) {
			if (i < nr)
				printf("%02x ", buf[at + i]);
		}
		putchar(' ');
		for (size_t i = 0; i < nr; i++)
			putchar(isalnum(buf[at + i]) ? buf[at + i] : '.');
		putchar('\n');
	}
}

bool io_verify(const uint8_t *buf, int pattern, uint64_t off, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (buf[i] != pattern) {
			printf("Pattern verification failed at offset %llu, %zu bytes\n",
			       (unsigned long long)off, len);
			return false;
		}
	}
	return true;
}

uint8_t *io_buffer_from_file(struct io_state *io, size_t len, const char *name)
{
	FILE *file = fopen(name, "r");
	uint8_t *buf;
	size_t have;

	if (!file) {
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
		return NULL;
	}
	buf = io_buffer_new(io, len, 0xcd);
	have = buf ? fread(buf, 1, len, file) : 0;
	if (buf && (ferror(file) || !have)) {
		fprintf(stderr, ferror(file) ? "%s: read error\n" : "%s: file is empty\n", name);
		io_buffer_free(io, buf);
		buf = NULL;
	}
	fclose(file);
	for (size_t at = have; buf && at < len; at++)
		buf[at] = buf[at - have];
	return buf;
}

int64_t io_vector(char **words, int nr, struct iovec *iov)
{
	uint64_t total = 0;

	for (int i = 0; i < nr; i++) {
		int64_t len = io_number(words[i]);

		if (len < 0)
			return len;
		if (len > IO_LEN_MAX) {
			printf("Argument '%s' exceeds maximum size %d\n", words[i], IO_LEN_MAX);
			return -EINVAL;
		}
		if (total > (uint64_t)IO_LEN_MAX - (uint64_t)len) {
			printf("The total number of bytes exceed the maximum size %d\n",
			       IO_LEN_MAX);
			return -EINVAL;
		}
		iov[i] = (struct iovec){NULL, (size_t)len};
		total += (uint64_t)len;
	}
	return (int64_t)total;
}
