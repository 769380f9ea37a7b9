/* SPDX-License-Identifier: MIT */
/* Secrets: what a definition may say, and what becomes of it. */
#include <errno.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/crypto/secret.h"
#include "tests/unit/suite.h"

static int add(const char *text, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();

	ck_assert_int_eq(bd_opts_parse(opts, text, NULL, err), 0);
	return bd_secret_add(opts, err);
}

#define MASTER "id=m,data=a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=,format=base64"
#define WRAPPED "id=s,data=dP4oLyF37148XGRSgykLQw==,format=base64,keyid=m"

static const struct {
	const char *text, *value, *error;
} definitions[] = {
	{ "id=s,data=pw", "pw", NULL },
	{ "id=s,data=", "", NULL },
	{ "id=s,data=cHc=,format=base64", "pw", NULL },
	{ "id=s,data=cHc,format=base64", "", NULL },
	{ "id=s,data=cHdw,format=base64", "pwp", NULL },
	{ WRAPPED ",iv=aWlpaWlpaWlpaWlpaWlpaQ==", "pw", NULL },
	{ "id=s,data=%%%,format=base64", NULL, "Base64 data contains invalid characters" },
	{ "id=s,data=pw,format=hex", NULL, "Parameter 'format' does not accept value 'hex'" },
	{ "id=s", NULL, "Either 'file' or 'data' must be provided" },
	{ "id=s,data=a,file=b", NULL, "'file' and 'data' are mutually exclusive" },
	{ "id=1,data=a", NULL, "Parameter 'id' expects an identifier" },
	{ "id=m,data=a", NULL,
	  "attempt to add duplicate property 'm' to object (type 'container')" },
	{ "id=s,data=a,keyid=x", NULL, "No secret with id 'x'" },
	{ WRAPPED, NULL, "IV is required to decrypt secret" },
	{ WRAPPED ",iv=AAAA", NULL, "IV should be 16 bytes in length not 3" },
	{ "id=s,data=AAAA,format=base64,keyid=m,iv=aWlpaWlpaWlpaWlpaWlpaQ==", NULL,
	  "Length 3 must be a multiple of block size 16" },
	{ "id=s,data=AAAAAAAAAAAAAAAAAAAAAA==,format=base64,keyid=m,"
	  "iv=aWlpaWlpaWlpaWlpaWlpaQ==", NULL,
	  "Incorrect number of padding bytes (24) found on decrypted data" },
};

START_TEST(secret_definitions)
{
	struct bd_error err = { 0 };
	struct bd_bytes bytes;

	ck_assert_int_eq(add(MASTER, &err), 0);
	if (definitions[_i].error) {
		ck_assert_int_lt(add(definitions[_i].text, &err), 0);
		ck_assert_str_eq(err.msg, definitions[_i].error);
	} else {
		ck_assert_int_eq(add(definitions[_i].text, &err), 0);
		ck_assert_int_eq(bd_secret_password("s", &bytes, &err), 0);
		ck_assert_uint_eq(bytes.len, strlen(definitions[_i].value));
		ck_assert_mem_eq(bytes.data, definitions[_i].value, bytes.len);
	}
	bd_secrets_clear();
	ck_assert_int_eq(bd_secret_get("m", &bytes, &err), -EINVAL);
}
END_TEST

START_TEST(secret_utf8)
{
	struct bd_error err = { 0 };
	struct bd_bytes bytes;

	ck_assert_int_eq(add("id=good,data=gr\xc3\xbc\xc3\x9f\xe2\x82\xac", &err), 0);
	ck_assert_int_eq(add("id=bad,data=gr\xfc", &err), 0);
	ck_assert_int_eq(add("id=long,data=\xc0\xaf", &err), 0);
	ck_assert_int_eq(add("id=nul,data=AA==,format=base64", &err), 0);
	ck_assert_int_eq(bd_secret_password("good", &bytes, &err), 0);
	ck_assert_int_eq(bd_secret_password("bad", &bytes, &err), -EINVAL);
	ck_assert_int_eq(bd_secret_password("long", &bytes, &err), -EINVAL);
	ck_assert_int_eq(bd_secret_password("nul", &bytes, &err), -EINVAL);
	ck_assert_str_eq(err.msg, "Data from secret nul is not valid UTF-8");
	bd_secrets_clear();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("secret");

	if (!bd_hash_find("sha256"))
		return 77;
	tcase_add_loop_test(tcase, secret_definitions, 0,
			    (int)(sizeof(definitions) / sizeof(definitions[0])));
	tcase_add_test(tcase, secret_utf8);
	return suite_run("secret", tcase, CK_NOFORK);
}
