/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A device without hardware: its registers are memory, and a test says what they hold.
 */
#ifndef ONPU_KUNIT_FAKE_H
#define ONPU_KUNIT_FAKE_H

#include <linux/prandom.h>

#include "harness.h"
#include "onpu_device.h"

/* Numbers that are the same each time. */
#define FAKE_SEED	20261125

/* Set up and tear down a suite whose tests need a device, which is in &kunit.priv. */
int fake_init(struct kunit *test);
void fake_exit(struct kunit *test);

/* Set and read the value of a register of the device. */
void fake_set(struct onpu_device *onpu, u32 reg, u32 value);
u32 fake_get(struct onpu_device *onpu, u32 reg);

/* Why a reset was asked for since the last time; none follows. */
enum onpu_reset_reason fake_reset_reason(struct onpu_device *onpu);

/* An address space as a file has it. */
int fake_vm_create(struct onpu_device *onpu, struct onpu_vm **vm);
/* Close the address space as its file does: mappings that the device has to forget first stay. */
void fake_vm_close(struct onpu_vm *vm);
/* Close the address space and free all of it at once. */
void fake_vm_put(struct onpu_vm *vm);

extern struct kunit_suite onpu_mmu_suite, onpu_mbox_suite, onpu_fw_suite, onpu_submit_suite,
	onpu_job_suite, onpu_gem_suite, onpu_dump_suite;

#endif
