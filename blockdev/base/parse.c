/* SPDX-License-Identifier: MIT */
/* Sizes, numbers and booleans as people write them; the same grammar and limits as qemu-img. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/options.h"

static bool suffix_shift(char c, unsigned *shift)
{
	static const char letters[] = "bkmgtpe";
	const char *at;

	if (!c)
		return false;
	at = strchr(letters, tolower((unsigned char)c));
	if (!at)
		return false;
	*shift = (unsigned)(at - letters) * 10;
	return true;
}

/* The unsigned integer at *text; no sign, at least one digit. */
static int parse_integer(const char **text, int base, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(*text, &end, base);
	if (end == *text)
		return -EINVAL;
	*text = end;
	return errno ? -errno : 0;
}

/* ".25" as a fixed-point number: 2^64 is 1.  No exponent. */
static void parse_fraction(const char **text, uint64_t *value)
{
	const char *p = *text + 1;
	char digits[64] = "0.";
	size_t len = 2;
	double part;

	for (; isdigit((unsigned char)*p); p++)
		if (len < sizeof(digits) - 1)
			digits[len++] = *p;
	if (len == 2)
		digits[len] = '0';
	part = strtod(digits, NULL);
	/* Many nines round to one. */
	*value = part >= 1 ? UINT64_MAX : (uint64_t)(part * 18446744073709551616.0);
	*text = p;
}

static const char *skip_space(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static bool is_hex(const char *text)
{
	return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

/*
 * The whole number *text starts with, in base 10 or 0x; *text moves behind it.  *hex: which.
 * -EINVAL: there is none; -ERANGE: it does not fit, and *text has moved all the same.
 */
static int start_number(const char **text, uint64_t *value, bool *hex)
{
	*text = skip_space(*text);
	if (**text == '+')
		(*text)++;
	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	*hex = is_hex(*text);
	if (*hex && !isxdigit((unsigned char)(*text)[2]))
		return -EINVAL;
	return parse_integer(text, *hex ? 16 : 10, value);
}

int bd_parse_size_below(const char *text, uint64_t most, uint64_t *bytes)
{
	uint64_t whole, part = 0;
	unsigned shift = 0;
	unsigned __int128 wide;
	bool hex = false;
	int ret;

	ret = start_number(&text, &whole, &hex);
	if (ret == -EINVAL)
		return ret;
	if (!hex && *text == '.')
		parse_fraction(&text, &part);
	if (*text && suffix_shift(*text, &shift))
		text++;
	/* A part of a byte is refused rather than rounded. */
	if (*text || (part && !shift))
		return -EINVAL;
	if (ret < 0)
		return ret;
	wide = (unsigned __int128)whole << shift;
	wide += ((unsigned __int128)part << shift) >> 64;
	wide += (((unsigned __int128)part << shift) >> 63) & 1;
	if (wide > most)
		return -ERANGE;
	*bytes = (uint64_t)wide;
	return 0;
}

int bd_parse_size(const char *text, uint64_t *bytes)
{
	return bd_parse_size_below(text, INT64_MAX, bytes);
}

int bd_parse_bool(const char *text, bool *value)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "on", true }, { "yes", true }, { "true", true }, { "y", true },
		{ "off", false }, { "no", false }, { "false", false }, { "n", false },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i].word))
			continue;
		*value = words[i].value;
		return 0;
	}
	return -EINVAL;
}

int bd_parse_u64(const char *text, uint64_t *value)
{
	uint64_t number;
	bool hex;
	int ret;

	ret = start_number(&text, &number, &hex);
	if (ret == -EINVAL)
		return ret;
	if (*text)
		return -EINVAL;
	if (ret < 0)
		return ret;
	*value = number;
	return 0;
}
