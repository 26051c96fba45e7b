// SPDX-License-Identifier: MIT
/* Replaces onednn.c in a library that is built without oneDNN. */
#include "cpu/fast.h"

const char cpu_onednn_absent[] =
	"this library was built without the layer onednn: use the layer openblas";

const char *cpu_onednn_form(void)
{
	return NULL;
}

struct cpu_prepared *cpu_onednn_prepare(const struct cpu_context *cpu, const struct ir_node *node)
{
	(void)cpu;
	(void)node;
	return NULL;
}

const char *cpu_onednn_complaint(void)
{
	return NULL;
}
