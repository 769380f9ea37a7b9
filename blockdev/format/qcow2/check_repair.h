/* SPDX-License-Identifier: MIT */
/* Repair of what the check has found. */
#ifndef QCOW2_CHECK_REPAIR_H
#define QCOW2_CHECK_REPAIR_H

#include "blockdev/format/qcow2/check.h"

/* check.c: count all references again; without those of the refcount structures themselves. */
int qcow2_check_references(struct qcow2_checker *ck, bool with_refcounts);
/* Mend counts on disk as ck->fix allows; counters follow. */
int qcow2_check_repair(struct qcow2_checker *ck);
/* New refcount structures that count what is referenced, in the old ones' place where possible. */
int qcow2_check_rebuild(struct qcow2_checker *ck);
/* The end of a repair: clear the dirty and corrupt marks if nothing is wrong any more. */
int qcow2_check_finish(struct qcow2_checker *ck, struct bd_error *err);

#endif
