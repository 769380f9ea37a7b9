/* SPDX-License-Identifier: MIT */
/* Structures on disk.  Made by scripts/gen-layout.sh from qcow2-spec/fields.txt: do not edit. */
#ifndef QCOW2_LAYOUT_H
#define QCOW2_LAYOUT_H

#include "blockdev/base/be.h"

/* Spec: header */
struct qcow2_disk_header {
	be32 magic;
	be32 version;
	be64 backing_off;
	be32 backing_len;
	be32 cluster_bits;
	be64 size;
	be32 crypt_method;
	be32 l1_size;
	be64 l1_off;
	be64 reftable_off;
	be32 reftable_clusters;
	be32 nb_snapshots;
	be64 snapshots_off;
	be64 incompatible;
	be64 compatible;
	be64 autoclear;
	be32 refcount_order;
	be32 header_length;
	uint8_t compression_type;
	uint8_t padding[7];
};
_Static_assert(sizeof(struct qcow2_disk_header) == 112, "header");

/* Spec: header */
#define QCOW2_INCOMPATIBLE_BIT_DIRTY UINT64_C(0x0000000000000001)
#define QCOW2_INCOMPATIBLE_BIT_CORRUPT UINT64_C(0x0000000000000002)
#define QCOW2_INCOMPATIBLE_BIT_DATA_FILE UINT64_C(0x0000000000000004)
#define QCOW2_INCOMPATIBLE_BIT_COMPRESSION UINT64_C(0x0000000000000008)
#define QCOW2_INCOMPATIBLE_BIT_EXTENDED_L2 UINT64_C(0x0000000000000010)

/* Spec: header */
#define QCOW2_COMPATIBLE_BIT_LAZY_REFCOUNTS UINT64_C(0x0000000000000001)

/* Spec: header */
#define QCOW2_AUTOCLEAR_BIT_BITMAPS UINT64_C(0x0000000000000001)
#define QCOW2_AUTOCLEAR_BIT_RAW_DATA UINT64_C(0x0000000000000002)

/* Spec: extensions */
struct qcow2_disk_extension {
	be32 type;
	be32 len;
};
_Static_assert(sizeof(struct qcow2_disk_extension) == 8, "extension");

/* Spec: extensions */
#define QCOW2_EXT_TYPE_END 0
#define QCOW2_EXT_TYPE_BACKING_FORMAT 0xe2792aca
#define QCOW2_EXT_TYPE_FEATURES 0x6803f857
#define QCOW2_EXT_TYPE_BITMAPS 0x23852875
#define QCOW2_EXT_TYPE_CRYPTO 0x0537be77
#define QCOW2_EXT_TYPE_DATA_FILE 0x44415441

/* Spec: extensions */
struct qcow2_disk_feature {
	uint8_t kind;
	uint8_t bit;
	uint8_t name[46];
};
_Static_assert(sizeof(struct qcow2_disk_feature) == 48, "feature");

/* Spec: extensions */
struct qcow2_disk_bitmaps_ext {
	be32 nr;
	be32 reserved;
	be64 dir_size;
	be64 dir_off;
};
_Static_assert(sizeof(struct qcow2_disk_bitmaps_ext) == 24, "bitmaps_ext");

/* Spec: extensions */
struct qcow2_disk_crypto_ext {
	be64 off;
	be64 len;
};
_Static_assert(sizeof(struct qcow2_disk_crypto_ext) == 16, "crypto_ext");

/* Spec: cluster-mapping */
#define QCOW2_L1_ENTRY_RESERVED UINT64_C(0x7f000000000001ff)
#define QCOW2_L1_ENTRY_OFFSET UINT64_C(0x00fffffffffffe00)
#define QCOW2_L1_ENTRY_COPIED UINT64_C(0x8000000000000000)

/* Spec: cluster-mapping */
#define QCOW2_L2_ENTRY_ZERO UINT64_C(0x0000000000000001)
#define QCOW2_L2_ENTRY_RESERVED UINT64_C(0x3f000000000001fe)
#define QCOW2_L2_ENTRY_OFFSET UINT64_C(0x00fffffffffffe00)
#define QCOW2_L2_ENTRY_COMPRESSED UINT64_C(0x4000000000000000)
#define QCOW2_L2_ENTRY_COPIED UINT64_C(0x8000000000000000)

/* Spec: cluster-mapping */
#define QCOW2_L2_BITMAP_ALLOCATED UINT64_C(0x00000000ffffffff)
#define QCOW2_L2_BITMAP_ZERO UINT64_C(0xffffffff00000000)

/* Spec: refcounts */
#define QCOW2_REFTABLE_ENTRY_RESERVED UINT64_C(0x00000000000001ff)
#define QCOW2_REFTABLE_ENTRY_OFFSET UINT64_C(0xfffffffffffffe00)

/* Spec: snapshots */
struct qcow2_disk_snapshot {
	be64 l1_off;
	be32 l1_size;
	be16 id_len;
	be16 name_len;
	be32 date_sec;
	be32 date_nsec;
	be64 vm_clock_ns;
	be32 vm_state_size;
	be32 extra_len;
};
_Static_assert(sizeof(struct qcow2_disk_snapshot) == 40, "snapshot");

/* Spec: snapshots */
struct qcow2_disk_snapshot_extra {
	be64 vm_state_size;
	be64 disk_size;
	be64 icount;
};
_Static_assert(sizeof(struct qcow2_disk_snapshot_extra) == 24, "snapshot_extra");

/* Spec: bitmaps */
struct qcow2_disk_bitmap {
	be64 table_off;
	be32 table_size;
	be32 flags;
	uint8_t type;
	uint8_t granularity_bits;
	be16 name_len;
	be32 extra_len;
};
_Static_assert(sizeof(struct qcow2_disk_bitmap) == 24, "bitmap");

/* Spec: bitmaps */
#define QCOW2_BITMAP_FLAG_IN_USE UINT64_C(0x0000000000000001)
#define QCOW2_BITMAP_FLAG_AUTO UINT64_C(0x0000000000000002)
#define QCOW2_BITMAP_FLAG_EXTRA_COMPATIBLE UINT64_C(0x0000000000000004)

/* Spec: bitmaps */
#define QCOW2_BITMAP_ENTRY_ALL_ONES UINT64_C(0x0000000000000001)
#define QCOW2_BITMAP_ENTRY_RESERVED UINT64_C(0xff000000000001fe)
#define QCOW2_BITMAP_ENTRY_OFFSET UINT64_C(0x00fffffffffffe00)

/* Spec: cluster-mapping */
#define QCOW2_LIMIT_L1_BYTES 33554432
#define QCOW2_LIMIT_REFTABLE_BYTES 8388608
#define QCOW2_LIMIT_SNAPSHOTS 65536
#define QCOW2_LIMIT_SNAPSHOT_TABLE_BYTES 67108864
#define QCOW2_LIMIT_SNAPSHOT_EXTRA_BYTES 1024
#define QCOW2_LIMIT_BITMAPS 65535
#define QCOW2_LIMIT_BITMAP_DIR_BYTES 67107840
#define QCOW2_LIMIT_BITMAP_TABLE_ENTRIES 134217728
#define QCOW2_LIMIT_BITMAP_NAME 1023
#define QCOW2_LIMIT_BACKING_NAME 1023

#endif
