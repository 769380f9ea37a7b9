/* SPDX-License-Identifier: MIT */
/* crypto/: published vectors of ciphers, modes and hashes; LUKS headers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/crypto/luks_opts.h"
#include "tests/unit/suite.h"

static size_t unhex(const char *text, uint8_t *out)
{
	size_t nr = strlen(text) / 2;

	for (size_t i = 0; i < nr; i++) {
		char two[3] = { text[2 * i], text[2 * i + 1], 0 };

		out[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return nr;
}

static void check_hex(const uint8_t *bytes, size_t len, const char *hex)
{
	uint8_t want[128];

	ck_assert_uint_eq(unhex(hex, want), len);
	ck_assert_mem_eq(bytes, want, len);
}

static struct bd_bytes text_bytes(const char *text)
{
	return (struct bd_bytes){ (const uint8_t *)text, strlen(text) };
}

/* FIPS 180-4, RFC 1321, and the RIPEMD-160 paper: "abc". */
static const struct {
	const char *name, *digest;
} hashes[] = {
	{ "md5", "900150983cd24fb0d6963f7d28e17f72" },
	{ "sha1", "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ "sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "ripemd160", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc" },
};

START_TEST(digests)
{
	const struct bd_hash *hash = bd_hash_find(hashes[_i].name);
	uint8_t out[BD_HASH_MAX];

	ck_assert_ptr_nonnull(hash);
	bd_hash_digest(hash, "a", 1, "bc", 2, out);
	check_hex(out, bd_hash_size(hash), hashes[_i].digest);
}
END_TEST

/* RFC 6070, RFC 7914 section 11. */
static const struct {
	const char *hash, *password, *salt;
	uint32_t rounds;
	const char *key;
} kdfs[] = {
	{ "sha1", "password", "salt", 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6" },
	{ "sha1", "password", "salt", 4096, "4b007901b765489abead49d926f721d065a429c1" },
	{ "sha1", "passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096,
	  "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038" },
	{ "sha256", "passwd", "salt", 1,
	  "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
	  "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783" },
};

START_TEST(key_derivation)
{
	const struct bd_hash *hash = bd_hash_find(kdfs[_i].hash);
	size_t len = strlen(kdfs[_i].key) / 2;
	uint8_t key[64];

	bd_pbkdf2(hash, text_bytes(kdfs[_i].password), text_bytes(kdfs[_i].salt), kdfs[_i].rounds,
		  key, len);
	check_hex(key, len, kdfs[_i].key);
}
END_TEST

/*
 * NIST SP 800-38A (F.1.1, F.2.1, F.5.1), IEEE 1619 (vectors 1 and 2), RFC 2144 (B.1),
 * Twofish's own table; Serpent as nettle and libgcrypt agree on.
 */
static const struct {
	const char *alg;
	enum bd_cipher_mode mode;
	const char *key, *iv, *plain, *cipher;
} ciphers[] = {
	{ "aes-128", BD_MODE_ECB, "2b7e151628aed2a6abf7158809cf4f3c", "",
	  "6bc1bee22e409f96e93d7e117393172a", "3ad77bb40d7a3660a89ecaf32466ef97" },
	{ "aes-128", BD_MODE_CBC, "2b7e151628aed2a6abf7158809cf4f3c",
	  "000102030405060708090a0b0c0d0e0f",
	  "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
	  "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2" },
	{ "aes-128", BD_MODE_CTR, "2b7e151628aed2a6abf7158809cf4f3c",
	  "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", "6bc1bee22e409f96e93d7e117393172a",
	  "874d6191b620e3261bef6864990db6ce" },
	{ "aes-128", BD_MODE_XTS,
	  "0000000000000000000000000000000000000000000000000000000000000000", "",
	  "0000000000000000000000000000000000000000000000000000000000000000",
	  "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e" },
	{ "aes-128", BD_MODE_XTS,
	  "1111111111111111111111111111111122222222222222222222222222222222",
	  "3333333333", "4444444444444444444444444444444444444444444444444444444444444444",
	  "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0" },
	{ "cast5-128", BD_MODE_ECB, "0123456712345678234567893456789a", "", "0123456789abcdef",
	  "238b4fe5847e44b2" },
	{ "serpent-128", BD_MODE_ECB, "80000000000000000000000000000000", "",
	  "00000000000000000000000000000000", "264e5481eff42a4606abda06c0bfda3d" },
	{ "twofish-128", BD_MODE_ECB, "00000000000000000000000000000000", "",
	  "00000000000000000000000000000000", "9f589f5cf6122c32b6bfec2f2ae8c35a" },
};

START_TEST(cipher_modes)
{
	uint8_t key[64], iv[16] = { 0 }, plain[32], buf[32];
	size_t key_len = unhex(ciphers[_i].key, key), len = unhex(ciphers[_i].plain, plain);
	struct bd_cipher *cipher;

	unhex(ciphers[_i].iv, iv);
	memcpy(buf, plain, len);
	ck_assert_int_eq(bd_cipher_new(bd_cipher_alg_find(ciphers[_i].alg), ciphers[_i].mode, key,
				       key_len, &cipher, NULL), 0);
	bd_cipher_encrypt(cipher, iv, buf, len);
	check_hex(buf, len, ciphers[_i].cipher);
	bd_cipher_decrypt(cipher, iv, buf, len);
	ck_assert_mem_eq(buf, plain, len);
	bd_cipher_free(cipher);
}
END_TEST

/* IEEE 1619, vector 4: a whole sector, 32 tweaks. */
START_TEST(xts_sector)
{
	const struct bd_sector_spec spec = { bd_cipher_alg_find("aes-128"), BD_MODE_XTS,
					     BD_IV_PLAIN64, NULL };
	uint8_t key[32], buf[BD_SECTOR];
	struct bd_sectors *sectors;

	unhex("2718281828459045235360287471352631415926535897932384626433832795", key);
	for (int i = 0; i < BD_SECTOR; i++)
		buf[i] = (uint8_t)i;
	ck_assert_int_eq(bd_sectors_new(&spec, key, sizeof(key), &sectors, NULL), 0);
	bd_sectors_encrypt(sectors, 0, buf, sizeof(buf));
	check_hex(buf, 32, "27a7479befa1d476489f308cd4cfa6e2a96e4bbe3208ff25287dd3819616e89c");
	check_hex(buf + BD_SECTOR - 16, 16, "0a282df920147beabe421ee5319d0568");
	bd_sectors_decrypt(sectors, 0, buf, sizeof(buf));
	for (int i = 0; i < BD_SECTOR; i++)
		ck_assert_uint_eq(buf[i], (uint8_t)i);
	bd_sectors_free(sectors);
}
END_TEST

static struct bd_sectors *make_sectors(enum bd_ivgen ivgen)
{
	const struct bd_sector_spec spec = {
		bd_cipher_alg_find("aes-256"), BD_MODE_CBC, ivgen,
		ivgen == BD_IV_ESSIV ? bd_hash_find("sha256") : NULL,
	};
	const uint8_t key[32] = "a key of thirty-two bytes, here";
	struct bd_sectors *sectors;

	ck_assert_int_eq(bd_sectors_new(&spec, key, sizeof(key), &sectors, NULL), 0);
	return sectors;
}

/* plain wraps after 2^32 sectors, plain64 does not; ESSIV is neither. */
START_TEST(vectors_by_number)
{
	static const uint64_t far = UINT64_C(512) << 32;
	struct bd_sectors *plain = make_sectors(BD_IV_PLAIN);
	struct bd_sectors *plain64 = make_sectors(BD_IV_PLAIN64);
	struct bd_sectors *essiv = make_sectors(BD_IV_ESSIV);
	uint8_t a[512] = { 0 }, b[512] = { 0 }, c[512] = { 0 }, d[512] = { 0 }, e[512] = { 0 };

	bd_sectors_encrypt(plain, 512, a, 512);
	bd_sectors_encrypt(plain, far + 512, b, 512);
	bd_sectors_encrypt(plain64, 512, c, 512);
	bd_sectors_encrypt(plain64, far + 512, d, 512);
	bd_sectors_encrypt(essiv, 512, e, 512);
	ck_assert_mem_eq(a, b, 512);
	ck_assert_mem_eq(a, c, 512);
	ck_assert_mem_ne(c, d, 512);
	ck_assert_mem_ne(c, e, 512);
	bd_sectors_decrypt(essiv, 512, e, 512);
	ck_assert_uint_eq(e[0] | e[511], 0);
	bd_sectors_free(plain);
	bd_sectors_free(plain64);
	bd_sectors_free(essiv);
}
END_TEST

static const struct {
	const char *alg;
	enum bd_cipher_mode mode;
	size_t key_len;
	const char *text;
} refused[] = {
	{ "3des", BD_MODE_CBC, 24, "Algorithm '3des' not supported" },
	{ "cast5-128", BD_MODE_XTS, 32, "Unsupported cipher mode xts" },
	{ "aes-256", BD_MODE_XTS, 32, "Cipher key length 32 should be 64" },
};

START_TEST(refused_ciphers)
{
	const uint8_t key[64] = { 0 };
	struct bd_error err = { 0 };
	struct bd_cipher *cipher;

	ck_assert_int_lt(bd_cipher_new(bd_cipher_alg_find(refused[_i].alg), refused[_i].mode, key,
				       refused[_i].key_len, &cipher, &err), 0);
	ck_assert_str_eq(err.msg, refused[_i].text);
}
END_TEST

/* --- LUKS ---------------------------------------------------------------------------------- */

struct memory {
	uint8_t *bytes;
	size_t len;
	int writes_left;          /* then -ENOSPC; negative: no limit */
};

static int mem_read(void *user, uint64_t off, void *buf, size_t len)
{
	struct memory *mem = user;

	ck_assert_uint_le(off, mem->len);
	ck_assert_uint_le(len, mem->len - off);
	memcpy(buf, mem->bytes + off, len);
	return 0;
}

static int mem_write(void *user, uint64_t off, const void *buf, size_t len)
{
	struct memory *mem = user;

	ck_assert_uint_le(off, mem->len);
	ck_assert_uint_le(len, mem->len - off);
	if (!mem->writes_left)
		return -ENOSPC;
	mem->writes_left--;
	memcpy(mem->bytes + off, buf, len);
	return 0;
}

static int mem_flush(void *user)
{
	(void)user;
	return 0;
}

struct volume {
	struct memory mem;
	struct luks_store store;
	struct luks luks;
	uint8_t key[BD_CIPHER_KEY_MAX];
};

static void volume_make(struct volume *vol)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	struct luks_new how;

	bd_opts_set(opts, "iter-time", "0");
	ck_assert_int_eq(luks_new_parse(opts, &how, NULL), 0);
	vol->mem.len = luks_area_len(&how.spec);
	vol->mem.bytes = calloc(1, vol->mem.len);
	vol->mem.writes_left = -1;
	vol->store = (struct luks_store){ mem_read, mem_write, mem_flush, &vol->mem };
	ck_assert_int_eq(luks_make(&vol->luks, &how, &vol->store, text_bytes("one"), vol->key,
				   NULL), 0);
}

static void volume_free(struct volume *vol)
{
	free(vol->mem.bytes);
}

/* Which slot does @password open, when the header is read again; -EPERM: none. */
static int opens(struct volume *vol, const char *password)
{
	uint8_t key[BD_CIPHER_KEY_MAX];
	struct luks luks;
	int ret;

	ck_assert_int_eq(luks_load(&luks, &vol->store, NULL), 0);
	ret = luks_unlock(&luks, &vol->store, text_bytes(password), key, NULL);
	if (ret >= 0)
		ck_assert_mem_eq(key, vol->key, sizeof(key));
	return ret;
}

START_TEST(luks_round_trip)
{
	struct volume vol;

	volume_make(&vol);
	ck_assert_uint_eq(vol.luks.payload_off, 2068480);
	ck_assert_uint_eq(be32_get(vol.luks.slot[0].iterations), LUKS_ROUNDS_MIN);
	ck_assert_int_eq(opens(&vol, "one"), 0);
	ck_assert_int_eq(opens(&vol, "two"), -EPERM);
	ck_assert_int_eq(opens(&vol, ""), -EPERM);
	ck_assert_int_eq(luks_slot_store(&vol.luks, &vol.store, 5, text_bytes("two"), vol.key, 0,
					 NULL), 0);
	ck_assert_int_eq(opens(&vol, "two"), 5);
	ck_assert_int_eq(luks_slot_erase(&vol.luks, &vol.store, 0, NULL), 0);
	ck_assert_int_eq(opens(&vol, "one"), -EPERM);
	ck_assert_int_eq(opens(&vol, "two"), 5);
	volume_free(&vol);
}
END_TEST

/* A write that fails leaves the passwords as they were. */
START_TEST(luks_write_fails)
{
	struct volume vol;

	volume_make(&vol);
	for (int writes = 0; writes < 2; writes++) {
		vol.mem.writes_left = writes;
		ck_assert_int_eq(luks_slot_store(&vol.luks, &vol.store, 1, text_bytes("two"),
						 vol.key, 0, NULL), -ENOSPC);
		ck_assert_int_eq(opens(&vol, "one"), 0);
		ck_assert_int_eq(opens(&vol, "two"), -EPERM);
		ck_assert(!luks_slot_active(&vol.luks, 1));
	}
	volume_free(&vol);
}
END_TEST

START_TEST(luks_splitter)
{
	const struct bd_hash *hash = bd_hash_find("sha1");
	uint8_t key[48], back[48], *stripes = malloc(luks_material_len(sizeof(key)));

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i * 7);
	ck_assert_int_eq(luks_af_split(hash, key, sizeof(key), stripes, NULL), 0);
	luks_af_merge(hash, stripes, sizeof(key), back);
	ck_assert_mem_eq(key, back, sizeof(key));
	stripes[48 * 1234] ^= 1;
	luks_af_merge(hash, stripes, sizeof(key), back);
	ck_assert_mem_ne(key, back, sizeof(key));
	free(stripes);
}
END_TEST

/* Damage: offset, bytes in hexadecimal, and what is said.  Like: qemu-img info. */
static const struct {
	size_t off;
	const char *bytes, *text;
} damage[] = {
	{ 0, "00", "Volume is not in LUKS format" },
	{ 6, "0002", "LUKS version 2 is not supported" },
	{ 8, "4141414141414141414141414141414141414141414141414141414141414141",
	  "LUKS header cipher name is not NUL terminated" },
	{ 8, "414243", "Algorithm 'ABC' with key size 32 bytes not supported" },
	{ 40, "78797a", "Cipher mode 'xyz' not supported" },
	{ 40, "7874735f", "Unexpected cipher mode string format 'xts_plain64'" },
	{ 40, "7874732d58", "IV generator 'Xlain64' not supported" },
	{ 40, "7874732d65737369760000", "Missing IV generator hash specification" },
	{ 40, "7874732d65737369763a666f6f00", "Hash algorithm 'foo' not supported" },
	{ 72, "736861393939", "Hash algorithm 'sha999' not supported" },
	{ 104, "00000001", "LUKS payload is overlapping with the header" },
	{ 104, "00000008", "Keyslot 0 is overlapping with the encrypted payload" },
	{ 108, "00000010", "Algorithm 'aes' with key size 8 bytes not supported" },
	{ 108, "ffffffff", "Keyslot 0 is overlapping with the encrypted payload" },
	{ 164, "00000000", "LUKS key iteration count is zero" },
	{ 208, "12345678", "Keyslot 0 state (active/disable) is corrupted" },
	{ 212, "00000000", "Keyslot 0 iteration count is zero" },
	{ 248, "00000001", "Keyslot 0 is overlapping with the LUKS header" },
	{ 248, "ffffffff", "Keyslot 0 is overlapping with the encrypted payload" },
	{ 252, "00000001", "Keyslot 0 is corrupted (stripes 1 != 4000)" },
	{ 296, "00000008", "Keyslots 0 and 1 are overlapping in the header" },
	{ 256, "12345678", "Keyslot 1 state (active/disable) is corrupted" },
};

START_TEST(luks_damage)
{
	struct bd_error err = { 0 };
	struct volume vol;
	struct luks luks;

	volume_make(&vol);
	unhex(damage[_i].bytes, vol.mem.bytes + damage[_i].off);
	ck_assert_int_lt(luks_load(&luks, &vol.store, &err), 0);
	ck_assert_str_eq(err.msg, damage[_i].text);
	volume_free(&vol);
}
END_TEST

/* A header may not keep us for hours. */
START_TEST(luks_too_many_rounds)
{
	uint8_t key[BD_CIPHER_KEY_MAX];
	struct volume vol;
	struct luks luks;

	volume_make(&vol);
	unhex("ffffffff", vol.mem.bytes + 212);
	ck_assert_int_eq(luks_load(&luks, &vol.store, NULL), 0);
	ck_assert_int_eq(luks_unlock(&luks, &vol.store, text_bytes("one"), key, NULL), -EINVAL);
	volume_free(&vol);
}
END_TEST

START_TEST(iteration_speed)
{
	ck_assert_uint_gt(bd_pbkdf2_speed(bd_hash_find("sha256"), 64), 1);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	TCase *tcase = tcase_create("crypto");

	if (!bd_hash_find("sha256"))
		return 77;
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, digests, 0, COUNT(hashes));
	tcase_add_loop_test(tcase, key_derivation, 0, COUNT(kdfs));
	tcase_add_loop_test(tcase, cipher_modes, 0, COUNT(ciphers));
	tcase_add_test(tcase, xts_sector);
	tcase_add_test(tcase, vectors_by_number);
	tcase_add_loop_test(tcase, refused_ciphers, 0, COUNT(refused));
	tcase_add_test(tcase, luks_round_trip);
	tcase_add_test(tcase, luks_write_fails);
	tcase_add_test(tcase, luks_splitter);
	tcase_add_loop_test(tcase, luks_damage, 0, COUNT(damage));
	tcase_add_test(tcase, luks_too_many_rounds);
	tcase_add_test(tcase, iteration_speed);
	return suite_run("crypto", tcase, CK_NOFORK);
}
