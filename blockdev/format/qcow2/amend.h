/* SPDX-License-Identifier: MIT */
/* Changing the properties of an existing image. */
#ifndef QCOW2_AMEND_H
#define QCOW2_AMEND_H

#include "blockdev/format/qcow2/qcow2.h"

extern const struct bd_option qcow2_amend_options[];
int qcow2_amend(struct bd_node *node, struct bd_opts *opts, const struct bd_amend_args *args,
		struct bd_error *err);
/* Counts of width 1 << @order from now on.  -EINVAL: a count does not fit.  Blocks; drained. */
int qcow2_change_width(struct qcow2 *q, unsigned order, struct bd_error *err);
/* Version 3 becomes 2: nothing may be left that only 3 has.  Blocks; drained. */
int qcow2_downgrade(struct qcow2 *q, const struct bd_amend_args *args, struct bd_error *err);
int qcow2_upgrade(struct qcow2 *q, const struct bd_amend_args *args, struct bd_error *err);

#endif
