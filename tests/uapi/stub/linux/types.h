/* SPDX-License-Identifier: MIT */
/*
 * The part of <linux/types.h> that DRM's headers need, for compiling them for targets whose
 * headers are not installed.
 */
#ifndef STUB_LINUX_TYPES_H
#define STUB_LINUX_TYPES_H

typedef __INT8_TYPE__ __s8;
typedef __UINT8_TYPE__ __u8;
typedef __INT16_TYPE__ __s16;
typedef __UINT16_TYPE__ __u16;
typedef __INT32_TYPE__ __s32;
typedef __UINT32_TYPE__ __u32;
/* The kernel's headers use long long for these; __INT64_TYPE__ is long on some targets. */
typedef signed long long __s64;
typedef unsigned long long __u64;
typedef __SIZE_TYPE__ __kernel_size_t;

#endif
