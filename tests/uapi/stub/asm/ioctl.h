/* SPDX-License-Identifier: MIT */
/* The ioctl encoding of the architectures that have none of their own. */
#include <asm-generic/ioctl.h>
