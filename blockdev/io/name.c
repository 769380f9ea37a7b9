/* SPDX-License-Identifier: MIT */
/* Names as people write them, turned into options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/base/path.h"
#include "blockdev/base/strbuf.h"
#include "blockdev/io/file.h"

bool io_name_has_protocol(const char *name)
{
	return bd_path_has_protocol(name);
}

/* Options given explicitly win over what a name says. */
static int set_default(struct bd_opts *opts, const char *key, const char *value,
		       struct bd_error *err)
{
	if (bd_opts_get(opts, key) || bd_opts_set(opts, key, value) == 0)
		return 0;
	return bd_fail_errno(err, -ENOMEM, "Could not parse the file name");
}

static int copy_default(struct bd_opts *opts, const char *key, const struct bd_opts *from, size_t i,
			struct bd_error *err)
{
	if (bd_opts_get(opts, key) || bd_opts_set_from(opts, key, from, i) == 0)
		return 0;
	return bd_fail_errno(err, -ENOMEM, "Could not parse the file name");
}

/* Every key of @from, behind @prefix. */
static int merge(struct bd_opts *opts, const char *prefix, const struct bd_opts *from,
		 struct bd_error *err)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < bd_opts_count(from); i++) {
		struct strbuf key = {0};

		bd_strbuf_adds(&key, prefix);
		bd_strbuf_adds(&key, bd_opts_key(from, i));
		ret = key.failed ? bd_fail_errno(err, -ENOMEM, "Could not parse the file name")
				 : copy_default(opts, key.text, from, i, err);
		bd_strbuf_free(&key);
	}
	return ret;
}

static int parse_json(const char *text, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *named = bd_opts_new();
	int ret;

	if (!named)
		return bd_fail_errno(err, -ENOMEM, "Could not parse the file name");
	ret = bd_opts_parse_json(named, text, err);
	return ret < 0 ? ret : merge(opts, "", named, err);
}

/* "blkdebug:<config file or nothing>:<name of the image>" */
static int parse_blkdebug(const char *rest, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *image = bd_opts_new();
	__cleanup(free) char *config = NULL;
	const char *colon = strchr(rest, ':');
	int ret;

	if (!colon)
		return bd_fail(err, -EINVAL, "blkdebug requires both config file and image path");
	config = strndup(rest, (size_t)(colon - rest));
	if (!image || !config)
		return bd_fail_errno(err, -ENOMEM, "Could not parse the file name");
	ret = io_name_to_opts(colon + 1, image, err);
	if (ret == 0)
		ret = set_default(opts, "driver", "blkdebug", err);
	if (ret == 0 && *config)
		ret = set_default(opts, "config", config, err);
	return ret < 0 ? ret : merge(opts, "image.", image, err);
}

static int parse_path(const char *driver, const char *path, struct bd_opts *opts,
		      struct bd_error *err)
{
	struct stat st;
	int ret;

	if (!driver) {
		bool device = stat(path, &st) == 0 && (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode));

		driver = device ? "host_device" : "file";
	}
	ret = set_default(opts, "driver", driver, err);
	return ret < 0 ? ret : set_default(opts, "filename", path, err);
}

/* What is left of "file:a:b" must not look like a protocol of its own. */
static int parse_file(const char *path, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(free) char *plain = NULL;

	if (!io_name_has_protocol(path))
		return parse_path(NULL, path, opts, err);
	if (asprintf(&plain, "./%s", path) < 0) {
		plain = NULL;
		return bd_fail_errno(err, -ENOMEM, "Could not parse the file name");
	}
	return parse_path(NULL, plain, opts, err);
}

/* "null-co://" and nothing behind it. */
static int parse_null(const char *driver, const char *rest, struct bd_opts *opts,
		      struct bd_error *err)
{
	if (strcmp(rest, "//"))
		return bd_fail(err, -EINVAL, "The only allowed filename for this driver is '%s://'",
			       driver);
	return set_default(opts, "driver", driver, err);
}

static bool is_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

int io_name_to_opts(const char *name, struct bd_opts *opts, struct bd_error *err)
{
	const char *rest;

	if (!io_name_has_protocol(name))
		return parse_path(NULL, name, opts, err);
	rest = strchr(name, ':') + 1;
	if (is_prefix(name, "json:"))
		return parse_json(rest, opts, err);
	if (is_prefix(name, "file:"))
		return parse_file(rest, opts, err);
	if (is_prefix(name, "host_device:"))
		return parse_path("host_device", rest, opts, err);
	if (is_prefix(name, "null-co:"))
		return parse_null("null-co", rest, opts, err);
	if (is_prefix(name, "null-aio:"))
		return parse_null("null-aio", rest, opts, err);
	if (is_prefix(name, "blkdebug:"))
		return parse_blkdebug(rest, opts, err);
	return bd_fail(err, -EINVAL, "Unknown protocol '%.*s'", (int)(rest - name - 1), name);
}
