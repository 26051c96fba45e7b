// SPDX-License-Identifier: MIT
/* Replaces the other files of this folder in a library that is built without oneDNN. */
#include "cpu/fast.h"
#include "cpu/onednn/kernels.h"

const char *cpu_onednn_absent = "this library was built without the layer onednn";

const char *cpu_onednn_form(void)
{
	return NULL;
}

const char *cpu_onednn_complaint(void)
{
	return NULL;
}

const char *cpu_onednn_conv_refuses(const struct cpu_ask *ask)
{
	(void)ask;
	return cpu_onednn_absent;
}

const char *cpu_onednn_matmul_refuses(const struct cpu_ask *ask)
{
	(void)ask;
	return cpu_onednn_absent;
}

/*
 * The functions below return NULL. choose.c does not call them, because cpu_onednn_form() returns
 * NULL.
 */
struct cpu_plan *cpu_onednn_conv_plan(const struct cpu_ask *ask)
{
	(void)ask;
	return NULL;
}

struct cpu_plan *cpu_onednn_matmul_plan(const struct cpu_ask *ask)
{
	(void)ask;
	return NULL;
}

struct cpu_plan *cpu_onednn_winograd_plan(const struct cpu_ask *ask)
{
	(void)ask;
	return NULL;
}
