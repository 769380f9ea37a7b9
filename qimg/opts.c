/* SPDX-License-Identifier: MIT */
/* Parses option tables with getopt_long() and prints them. */
#include "qimg/opts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/options.h"
#include "qimg/object.h"
#include "qimg/report.h"

enum { MAX_OPTS = 40, LONG_BASE = 256 };

static bool is_end(const struct opt *opt)
{
	return !opt->letters && !opt->name;
}

static bool takes_arg(const struct opt *opt)
{
	return opt->kind == OPT_STEP ? opt->arg != NULL : opt->kind != OPT_FLAG;
}

struct getopt_tables {
	char letters[4 * MAX_OPTS];
	struct option longs[2 * MAX_OPTS + 2];
};

static void add_long(struct option *entry, const struct opt *opt, const char *name, int val)
{
	*entry = (struct option){
		.name = name,
		.has_arg = takes_arg(opt) ? required_argument : no_argument,
		.val = val,
	};
}

/* The table in the shape of getopt_long(). */
static void make_tables(const struct opt *table, struct getopt_tables *out)
{
	char *letter = out->letters;
	struct option *entry = out->longs;

	memset(out, 0, sizeof(*out));
	*letter++ = ':'; /* tell a missing argument from an unknown option */
	*letter++ = 'h';
	*entry++ = (struct option){ .name = "help", .val = 'h' };
	for (int i = 0; i < MAX_OPTS && !is_end(&table[i]); i++) {
		const struct opt *opt = &table[i];

		for (const char *c = opt->letters; c && *c; c++) {
			*letter++ = *c;
			if (takes_arg(opt))
				*letter++ = ':';
		}
		if (opt->name)
			add_long(entry++, opt, opt->name, LONG_BASE + i);
		if (opt->alias)
			add_long(entry++, opt, opt->alias, LONG_BASE + i);
	}
}

static const struct opt *find_opt(const struct opt *table, int val)
{
	if (val >= LONG_BASE)
		return &table[val - LONG_BASE];
	while (!is_end(table) && !(table->letters && strchr(table->letters, val)))
		table++;
	return is_end(table) ? NULL : table;
}

/* An option list is not empty and neither starts nor ends with a lone comma. */
static bool valid_list(const char *text)
{
	size_t len = strlen(text), commas = 0;

	while (commas < len && text[len - 1 - commas] == ',')
		commas++;
	return len && text[0] != ',' && commas % 2 == 0;
}

static int join(char **list, const char *text)
{
	char *joined;

	if (!valid_list(text)) {
		report_error("Invalid option list: %s", text);
		return OPTS_BAD;
	}
	if (asprintf(&joined, "%s%s%s", *list ? *list : "", *list ? "," : "", text) < 0) {
		report_error("%s", strerror(ENOMEM));
		return OPTS_BAD;
	}
	free(*list);
	*list = joined;
	return OPTS_OK;
}

static int add_step(char **list, const struct opt *opt, const char *arg)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s%s" OPT_STEP_END, *list ? *list : "", opt->name,
		     arg ? "=" : "", arg ? arg : "") < 0) {
		report_error("%s", strerror(ENOMEM));
		return OPTS_BAD;
	}
	free(*list);
	*list = joined;
	return OPTS_OK;
}

static int store(const struct opt *opt, void *values, const char *arg)
{
	char *field = (char *)values + opt->field;

	switch (opt->kind) {
	case OPT_FLAG:
		*(bool *)field = true;
		return OPTS_OK;
	case OPT_TEXT:
		*(const char **)field = arg;
		return OPTS_OK;
	case OPT_JOIN:
		return join((char **)field, arg);
	case OPT_STEP:
		return add_step((char **)field, opt, arg);
	case OPT_OBJECT:
		return object_add(arg) ? OPTS_BAD_OBJECT : OPTS_OK;
	}
	return OPTS_BAD;
}

int opts_parse(const struct opt *table, void *values, opts_look *look, int argc, char **argv,
	       int *first)
{
	struct getopt_tables tables;
	int val;

	make_tables(table, &tables);
	opterr = 0;
	optind = 0; /* starts getopt over */
	while ((val = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1) {
		const struct opt *opt;
		int ret;

		if (val == 'h')
			return OPTS_HELP;
		opt = val == ':' || val == '?' ? NULL : find_opt(table, val);
		if (!opt) {
			report_usage(val == ':' ? "missing argument for option '%s'" :
						  "unrecognized option '%s'",
				     argv[optind - 1]);
			return OPTS_BAD;
		}
		if (look && look(opt->name, optarg, values))
			return OPTS_BAD;
		ret = store(opt, values, optarg);
		if (ret != OPTS_OK)
			return ret;
	}
	*first = optind;
	return OPTS_OK;
}

void opts_print_synopsis(const struct opt *table)
{
	for (; !is_end(table); table++) {
		if (table->letters)
			printf(" [-%c", table->letters[0]);
		else
			printf(" [--%s", table->name);
		printf(takes_arg(table) ? " %s]" : "]", table->arg);
	}
}

void opts_print_help(const struct opt *table)
{
	for (; !is_end(table); table++) {
		char text[80] = "", letters[8] = "";

		if (table->letters)
			snprintf(letters, sizeof(letters), "-%c%s", table->letters[0],
				 table->name ? "," : "");
		if (table->name)
			snprintf(text, sizeof(text), "%-3s --%s%s%s", letters, table->name,
				 takes_arg(table) ? "=" : "", takes_arg(table) ? table->arg : "");
		else
			snprintf(text, sizeof(text), "%s %s", letters,
				 takes_arg(table) ? table->arg : "");
		printf("  %-34s %s\n", text, table->help);
	}
	printf("  %-34s %s\n", "-h, --help", "this text");
}

void opts_clear(const struct opt *table, void *values)
{
	for (; !is_end(table); table++) {
		char **field = (char **)((char *)values + table->field);

		if (table->kind != OPT_JOIN && table->kind != OPT_STEP)
			continue;
		free(*field);
		*field = NULL; /* steps share one */
	}
}

int opts_size(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	int ret = bd_parse_size(text, out);

	if (ret == 0 && (*out < min || *out > max))
		ret = -ERANGE;
	if (ret == -ERANGE) {
		report_error("Invalid %s specified. Must be between %" PRIu64 " and %" PRIu64 ".",
			     what, min, max);
		return 1;
	}
	if (ret < 0) {
		report_error("Invalid %s specified. You may use k, M, G, T, P or E suffixes for",
			     what);
		report_error("kilobytes, megabytes, gigabytes, terabytes, petabytes and exabytes.");
		return 1;
	}
	return 0;
}

int opts_output(const char *text, bool *json)
{
	*json = text && !strcmp(text, "json");
	if (!text || *json || !strcmp(text, "human"))
		return 0;
	report_error("--output must be used with human or json as argument.");
	return 1;
}
