/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A device without hardware: its registers are memory whose contents the test sets. */
#ifndef ONPU_KUNIT_FAKE_H
#define ONPU_KUNIT_FAKE_H

#include <linux/prandom.h>

#include "harness.h"
#include "onpu_device.h"

/* The seed of random numbers: they are equal in each run. */
#define FAKE_SEED	20261125

/*
 * Set up and tear down a test that needs a device, which is in &kunit.priv. fake_init() returns 0
 * or an errno.
 */
int fake_init(struct kunit *test);
void fake_exit(struct kunit *test);

/*
 * Do the work of fake_init() and fake_exit() for a test that has a structure of @size bytes, which
 * is in &kunit.priv. The structure's first member is a pointer to the device, and the others are
 * zero at first. fake_init_with() returns 0 or an errno.
 */
int fake_init_with(struct kunit *test, size_t size);
void fake_exit_with(struct kunit *test);

/* Set and read the value of a register of the device. */
void fake_set(struct onpu_device *onpu, u32 reg, u32 value);
u32 fake_get(struct onpu_device *onpu, u32 reg);

/*
 * Returns the reason of the last request for a reset since the previous call, or ONPU_RESET_NONE;
 * no reset follows.
 */
enum onpu_reset_reason fake_reset_reason(struct onpu_device *onpu);

/* Creates an address space in *@vm, as opening a file does. Returns 0 or an errno. */
int fake_vm_create(struct onpu_device *onpu, struct onpu_vm **vm);
/*
 * Closes the address space as closing its file does. Mappings whose translations the device must
 * forget first stay.
 */
void fake_vm_close(struct onpu_vm *vm);
/* Closes the address space and frees it with all its mappings at once. */
void fake_vm_put(struct onpu_vm *vm);

extern struct kunit_suite onpu_mmu_suite, onpu_mbox_suite, onpu_fw_suite, onpu_submit_suite,
	onpu_job_suite, onpu_gem_suite, onpu_wrap_suite, onpu_dump_suite, onpu_device_suite;

#endif
