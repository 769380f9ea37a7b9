/* SPDX-License-Identifier: MIT */
/* Checks --object definitions; kinds that only matter to a running machine are accepted unused. */
#include "qimg/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/include/options.h"
#include "qimg/report.h"

static int check_secret(const struct bd_opts *opts)
{
	static const char *const known[] = { "qom-type", "id", "data", "file", "format",
					     "keyid", "iv" };
	const char *file = bd_opts_get(opts, "file"), *data = bd_opts_get(opts, "data");
	int fd;

	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		size_t k = 0;

		while (k < sizeof(known) / sizeof(known[0]) &&
		       strcmp(known[k], bd_opts_key(opts, i)))
			k++;
		if (k == sizeof(known) / sizeof(known[0])) {
			report_error("Parameter '%s' is unexpected", bd_opts_key(opts, i));
			return 1;
		}
	}
	if (file && data) {
		report_error("'file' and 'data' are mutually exclusive");
		return 1;
	}
	if (!file && !data) {
		report_error("Either 'file' or 'data' must be provided");
		return 1;
	}
	if (!file)
		return 0;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		report_error("Unable to read %s: Failed to open file “%s”: %s", file, file,
			     strerror(errno));
		return 1;
	}
	close(fd);
	return 0;
}

static int check_object(const struct bd_opts *opts)
{
	static const char *const others[] = {
		"authz-list", "authz-listfile", "authz-pam", "authz-simple", "iothread",
		"pr-manager-helper", "secret_keyring", "throttle-group", "tls-cipher-suites",
		"tls-creds-anon", "tls-creds-psk", "tls-creds-x509",
	};
	const char *type = bd_opts_get(opts, "qom-type");

	if (!type || !*type) {
		report_error("Parameter 'qom-type' is missing");
		return 1;
	}
	if (!bd_opts_get(opts, "id")) {
		report_error("Parameter 'id' is missing");
		return 1;
	}
	if (!strcmp(type, "secret"))
		return check_secret(opts);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strcmp(type, others[i]))
			return 0;
	}
	report_error("Parameter 'qom-type' does not accept value '%s'", type);
	return 1;
}

int object_add(const char *text)
{
	struct bd_opts *opts = bd_opts_new();
	struct bd_error err = { 0 };
	int status = 1;

	if (!opts)
		report_error("%s", strerror(ENOMEM));
	else if (bd_opts_parse(opts, text, "qom-type", &err) < 0)
		report_failure(&err, "%s", "");
	else
		status = check_object(opts);
	bd_opts_free(opts);
	return status;
}
