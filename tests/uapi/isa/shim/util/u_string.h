/* SPDX-License-Identifier: MIT */
/* The decoder includes this file, but uses nothing from it. */
