/* SPDX-License-Identifier: MIT */
/* Text on COM1, and comparing memory. */
#include "guest.h"

void print(const char *text)
{
	while (*text)
		outb(0x3f8, (uint8_t)*text++);
}

void print_hex(uint64_t value)
{
	char text[17];

	for (int i = 15; i >= 0; i--, value >>= 4)
		text[i] = "0123456789abcdef"[value & 15];
	text[16] = 0;
	print(text);
}

void print_number(uint64_t value)
{
	char text[21], *at = text + 20;

	*at = 0;
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	print(at);
}

void fail(const char *what, uint64_t value)
{
	print("failed: ");
	print(what);
	print(" 0x");
	print_hex(value);
	print("\n");
	cpu_exit(1);
}

bool all_words(const void *at, uint64_t value, size_t words)
{
	bool same;

	__asm__ volatile("cmpq %%rcx, %%rcx; repe scasq" /* the first one: equal if there is none */
			 : "=@cce"(same), "+D"(at), "+c"(words) : "a"(value) : "memory");
	return same;
}
