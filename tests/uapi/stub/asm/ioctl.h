/* SPDX-License-Identifier: MIT */
/*
 * Replaces the kernel's asm/ioctl.h for architectures that use the generic encoding of ioctl
 * numbers.
 */
#include <asm-generic/ioctl.h>
