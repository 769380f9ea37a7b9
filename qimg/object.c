/* SPDX-License-Identifier: MIT */
/* --object: secrets are taken; kinds that only matter to a running machine are checked, unused. */
#include "qimg/object.h"

#include <errno.h>
#include <string.h>

#include "blockdev/include/secret.h"
#include "qimg/report.h"

static bool is_one_of(const char *key, const char *const *list)
{
	while (*list && strcmp(*list, key))
		list++;
	return *list;
}

static int add_secret(const struct bd_opts *opts)
{
	static const char *const own[] = { "data", "file", NULL };
	static const char *const keyring[] = { "serial", NULL };
	static const char *const common[] = { "qom-type", "id", "format", "keyid", "iv", NULL };
	bool in_file = !strcmp(bd_opts_get(opts, "qom-type"), "secret");
	struct bd_error err = { 0 };

	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		const char *key = bd_opts_key(opts, i);

		if (!is_one_of(key, common) && !is_one_of(key, in_file ? own : keyring)) {
			report_error("Parameter '%s' is unexpected", key);
			return 1;
		}
	}
	if (bd_secret_add(opts, &err) == 0)
		return 0;
	report_failure(&err, "%s", "");
	return 1;
}

static int add_object(const struct bd_opts *opts)
{
	static const char *const known[] = {
		"authz-list", "authz-listfile", "authz-pam", "authz-simple", "iothread",
		"pr-manager-helper", "secret", "secret_keyring", "throttle-group",
		"tls-cipher-suites", "tls-creds-anon", "tls-creds-psk", "tls-creds-x509",
	};
	const char *type = bd_opts_get(opts, "qom-type");
	size_t i = 0;

	if (!type || !*type) {
		report_error("Parameter 'qom-type' is missing");
		return 1;
	}
	while (i < sizeof(known) / sizeof(known[0]) && strcmp(type, known[i]))
		i++;
	if (i == sizeof(known) / sizeof(known[0])) {
		report_error("Parameter 'qom-type' does not accept value '%s'", type);
		return 1;
	}
	if (!bd_opts_get(opts, "id")) {
		report_error("Parameter 'id' is missing");
		return 1;
	}
	/* The others are for what does not exist here: accepted, and of no effect. */
	if (strcmp(type, "secret") && strcmp(type, "secret_keyring"))
		return 0;
	return add_secret(opts);
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
		status = add_object(opts);
	bd_opts_free(opts);
	return status;
}
