/* SPDX-License-Identifier: MIT */
/* Changing key slots.  Like: qemu-img amend. */
#include <errno.h>
#include <string.h>

#include "blockdev/crypto/luks_opts.h"

struct change {
	bool activate;
	int slot;                     /* -1: not given */
	const char *old_secret, *new_secret;
	bool has_iter_time;
	uint64_t iter_time;           /* milliseconds */
};

/* A sign is taken, like elsewhere; QEMU tells a negative number as an unsigned one. */
static int parse_slot(const char *text, struct change *change, struct bd_error *err)
{
	bool negative = *text == '-';
	uint64_t number;

	if (bd_parse_u64(text + negative, &number) < 0 || number > INT64_MAX)
		return bd_fail(err, -EINVAL, "Parameter 'keyslot' expects integer");
	change->slot = (int)number;
	if (number < LUKS_SLOTS && !negative)
		return 0;
	number = negative ? -number : number;
	if (change->activate)
		return bd_fail(err, -EINVAL,
			       "Invalid keyslot %u specified, must be between 0 and %u",
			       (unsigned)number, LUKS_SLOTS - 1);
	return bd_fail(err, -EINVAL, "Invalid keyslot %i specified, must be between 0 and %i",
		       (int)number, LUKS_SLOTS - 1);
}

static int parse(const struct bd_opts *opts, struct change *change, struct bd_error *err)
{
	const char *state = bd_opts_get(opts, "state"), *slot = bd_opts_get(opts, "keyslot");
	const char *time = bd_opts_get(opts, "iter-time");
	int ret;
	*change = (struct change){ .slot = -1, .iter_time = LUKS_ITER_TIME };
	if (!state)
		return bd_fail(err, -EINVAL, "Parameter 'state' is missing");
	change->activate = !strcmp(state, "active");
	if (!change->activate && strcmp(state, "inactive"))
		return bd_fail(err, -EINVAL, "Parameter 'state' does not accept value '%s'",
			       state);
	change->old_secret = bd_opts_get(opts, "old-secret");
	change->new_secret = bd_opts_get(opts, "new-secret");
	if (slot && (ret = parse_slot(slot, change, err)) < 0)
		return ret;
	change->has_iter_time = time != NULL;
	if (time && (bd_parse_u64(time, &change->iter_time) < 0 ||
		     change->iter_time > INT64_MAX))
		return bd_fail(err, -EINVAL, "Parameter 'iter-time' expects integer");
	return 0;
}

static unsigned count_active(const struct luks *luks)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < LUKS_SLOTS; i++)
		nr += luks_slot_active(luks, i);
	return nr;
}

static int choose_slot(const struct luks *luks, const struct change *change, bool force,
		       struct bd_error *err)
{
	if (change->slot >= 0) {
		if (luks_slot_active(luks, (unsigned)change->slot) && !force)
			return bd_fail(err, -EINVAL, "Refusing to overwrite active keyslot %i - "
						     "please erase it first", change->slot);
		return change->slot;
	}
	for (unsigned i = 0; i < LUKS_SLOTS; i++) {
		if (!luks_slot_active(luks, i))
			return (int)i;
	}
	return bd_fail(err, -EINVAL, "Can't add a keyslot - all keyslots are in use");
}

/* @secret opens the image; change->new_secret is to open it too. */
static int activate(struct luks *luks, const struct luks_store *store, const struct change *change,
		    const char *secret, bool force, struct bd_error *err)
{
	struct bd_bytes password, fresh;
	uint8_t key[BD_CIPHER_KEY_MAX];
	int ret, slot;

	if (!change->new_secret)
		return bd_fail(err, -EINVAL, "'new-secret' is required to activate a keyslot");
	if (change->old_secret)
		return bd_fail(err, -EINVAL,
			       "'old-secret' must not be given when activating keyslots");
	slot = choose_slot(luks, change, force, err);
	if (slot < 0)
		return slot;
	if ((ret = bd_secret_password(secret ? secret : "", &password, err)) < 0)
		return ret;
	ret = luks_unlock(luks, store, password, key, err);
	if (ret < 0) {
		bd_fail(err, ret, "Failed to retrieve the master key");
		return ret;
	}
	ret = bd_secret_password(change->new_secret, &fresh, err);
	if (ret == 0)
		ret = luks_slot_store(luks, store, (unsigned)slot, fresh, key, change->iter_time,
				      err);
	bd_wipe(key, sizeof(key));
	return ret;
}

static int erase_slot(struct luks *luks, const struct luks_store *store,
		      const struct change *change, bool force, struct bd_error *err)
{
	unsigned slot = (unsigned)change->slot;
	uint8_t key[BD_CIPHER_KEY_MAX];
	struct bd_bytes password;
	int ret;

	if (change->old_secret) {
		ret = bd_secret_password(change->old_secret, &password, err);
		if (ret == 0)
			ret = luks_slot_unlock(luks, store, slot, password, key, err);
		bd_wipe(key, sizeof(key));
		if (ret < 0)
			return ret;
		if (!ret)
			return bd_fail(err, -EINVAL, "Given keyslot %i doesn't contain the given "
						     "old password for erase operation",
				       change->slot);
	}
	if (!force && !luks_slot_active(luks, slot))
		return bd_fail(err, -EINVAL, "Given keyslot %i is already erased (inactive) ",
			       change->slot);
	if (!force && count_active(luks) == 1)
		return bd_fail(err, -EINVAL, "Attempt to erase the only active keyslot %i which "
					     "will erase all the data in the image irreversibly - "
					     "refusing operation", change->slot);
	return luks_slot_erase(luks, store, slot, err);
}

/* All slots that the old password opens: looked for first, so that the last one can be kept. */
static int erase_matching(struct luks *luks, const struct luks_store *store,
			  const struct change *change, bool force, struct bd_error *err)
{
	bool match[LUKS_SLOTS] = { false };
	uint8_t key[BD_CIPHER_KEY_MAX];
	struct bd_bytes password;
	unsigned nr = 0;
	int ret = bd_secret_password(change->old_secret, &password, err);

	for (unsigned i = 0; i < LUKS_SLOTS && ret >= 0; i++) {
		ret = luks_slot_unlock(luks, store, i, password, key, err);
		match[i] = ret > 0;
		nr += match[i];
	}
	bd_wipe(key, sizeof(key));
	if (ret < 0)
		return ret;
	if (!nr)
		return bd_fail(err, -EINVAL,
			       "No keyslots match given (old) password for erase operation");
	if (!force && nr == count_active(luks))
		return bd_fail(err, -EINVAL, "All the active keyslots match the (old) password "
					     "that was given and erasing them will erase all the "
					     "data in the image irreversibly - refusing operation");
	for (unsigned i = 0; i < LUKS_SLOTS; i++) {
		if (match[i] && (ret = luks_slot_erase(luks, store, i, err)) < 0)
			return ret;
	}
	return 0;
}

static int erase(struct luks *luks, const struct luks_store *store, const struct change *change,
		 bool force, struct bd_error *err)
{
	if (change->new_secret)
		return bd_fail(err, -EINVAL,
			       "'new-secret' must not be given when erasing keyslots");
	if (change->has_iter_time)
		return bd_fail(err, -EINVAL,
			       "'iter-time' must not be given when erasing keyslots");
	if (change->slot >= 0)
		return erase_slot(luks, store, change, force, err);
	if (change->old_secret)
		return erase_matching(luks, store, change, force, err);
	return bd_fail(err, -EINVAL, "To erase keyslot(s), either explicit keyslot index or the "
				     "password currently contained in them must be given");
}

int luks_amend(struct luks *luks, const struct luks_store *store, const struct bd_opts *opts,
	       const char *secret, bool force, struct bd_error *err)
{
	struct change change;
	int ret = parse(opts, &change, err);

	if (ret < 0)
		return ret;
	if (change.activate)
		return activate(luks, store, &change, secret, force, err);
	return erase(luks, store, &change, force, err);
}
