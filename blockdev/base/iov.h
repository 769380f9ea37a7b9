/* SPDX-License-Identifier: MIT */
/* Vectors of memory: total, copy in and out, fill, cut a piece. */
#ifndef BD_IOV_H
#define BD_IOV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Bytes in all. */
uint64_t bd_iov_total(const struct iovec *iov, int niov);
/* Copy @len bytes that start @skip bytes into the vector.  Returns the bytes there were. */
size_t bd_iov_to_buf(const struct iovec *iov, int niov, uint64_t skip, void *buf, size_t len);
size_t bd_iov_from_buf(const struct iovec *iov, int niov, uint64_t skip, const void *buf,
		       size_t len);
/* Fill @len bytes that start @skip bytes into the vector with @byte. */
uint64_t bd_iov_memset(const struct iovec *iov, int niov, uint64_t skip, int byte, uint64_t len);
/*
 * Make in @out the vector of @len bytes that start @skip bytes into @iov; it has room for as many
 * elements as @iov.  Returns the number of elements used (0: @skip is past the end).
 */
int bd_iov_slice(const struct iovec *iov, int niov, uint64_t skip, uint64_t len,
		 struct iovec *out);

#endif
