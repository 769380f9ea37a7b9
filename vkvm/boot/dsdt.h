/* SPDX-License-Identifier: MIT */
/* The machine's devices in ACPI's byte code. */
#ifndef VKVM_DSDT_H
#define VKVM_DSDT_H

#include "vkvm/boot/aml.h"

void dsdt_write(struct aml *aml);

#endif
