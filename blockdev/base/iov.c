/* SPDX-License-Identifier: MIT */
/* Vectors of memory: total, copy in and out, fill, cut a piece. */
#include "blockdev/base/iov.h"

#include <string.h>

#include "blockdev/base/bits.h"

/* A walk over a piece of a vector: next() gives one contiguous run after the other. */
struct walk {
	const struct iovec *iov;
	int niov;
	uint64_t skip, left;
};

static bool walk_next(struct walk *walk, struct iovec *run)
{
	while (walk->left && walk->niov > 0) {
		const struct iovec *v = walk->iov++;

		walk->niov--;
		if (walk->skip >= v->iov_len) {
			walk->skip -= v->iov_len;
			continue;
		}
		run->iov_base = (char *)v->iov_base + walk->skip;
		run->iov_len = (size_t)min_u64(v->iov_len - walk->skip, walk->left);
		walk->skip = 0;
		walk->left -= run->iov_len;
		return true;
	}
	return false;
}

uint64_t bd_iov_total(const struct iovec *iov, int niov)
{
	uint64_t total = 0;

	for (int i = 0; i < niov; i++)
		total += iov[i].iov_len;
	return total;
}

size_t bd_iov_to_buf(const struct iovec *iov, int niov, uint64_t skip, void *buf, size_t len)
{
	struct walk walk = { iov, niov, skip, len };
	struct iovec run;
	size_t done = 0;

	while (walk_next(&walk, &run)) {
		memcpy((char *)buf + done, run.iov_base, run.iov_len);
		done += run.iov_len;
	}
	return done;
}

size_t bd_iov_from_buf(const struct iovec *iov, int niov, uint64_t skip, const void *buf,
		       size_t len)
{
	struct walk walk = { iov, niov, skip, len };
	struct iovec run;
	size_t done = 0;

	while (walk_next(&walk, &run)) {
		memcpy(run.iov_base, (const char *)buf + done, run.iov_len);
		done += run.iov_len;
	}
	return done;
}

uint64_t bd_iov_memset(const struct iovec *iov, int niov, uint64_t skip, int byte, uint64_t len)
{
	struct walk walk = { iov, niov, skip, len };
	struct iovec run;
	uint64_t done = 0;

	while (walk_next(&walk, &run)) {
		memset(run.iov_base, byte, run.iov_len);
		done += run.iov_len;
	}
	return done;
}

int bd_iov_slice(const struct iovec *iov, int niov, uint64_t skip, uint64_t len,
		 struct iovec *out)
{
	struct walk walk = { iov, niov, skip, len };
	int nr = 0;

	while (walk_next(&walk, &out[nr]))
		nr++;
	return nr;
}
