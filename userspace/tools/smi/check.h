/* SPDX-License-Identifier: MIT */
/* onpu-smi check and webnn-run doctor: the checks, and their findings. */
#ifndef ONPU_TOOLS_SMI_CHECK_H
#define ONPU_TOOLS_SMI_CHECK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "device.h"

enum verdict {
	FINE,
	HINT,	/* it may work, or will not the next time */
	BROKEN, /* the reason why it does not work, or one of them */
};

struct finding {
	const char *name; /* what was looked at */
	enum verdict verdict;
	char *what;	  /* how it is */
	char *fix;	  /* what helps; NULL when it is fine */
	char address[16]; /* of the device; empty when it is about the system */
};

struct check {
	struct devices devices;
	char release[128]; /* of the kernel */
	bool loaded;	   /* the module is */
	/* The module is not loaded, and this kernel accepts only modules with a known signature. */
	bool wants_signature;
	struct finding *findings;
	size_t count;
};

/* Adds a finding; @what and @fix, which may be NULL, are taken over. */
void check_add(struct check *check, const char *name, enum verdict verdict, char *what, char *fix);
/* check_add() about a device. */
void check_add_device(struct check *check, const struct device *device, const char *name,
		      enum verdict verdict, char *what, char *fix);

/* Looks at the machine and at the devices that were found. */
void check_npus(struct check *check);

size_t check_count(const struct check *check, enum verdict verdict);
/* Prints the findings as text; returns them as JSON, NULL when memory is exhausted. */
void check_print(const struct check *check);
json_t *check_json(const struct check *check);
void check_free(struct check *check);

/* The machine: is there a device; kernel, module, Secure Boot, firmware's file, bounce buffers. */
void check_presence(struct check *check);
void check_kernel(struct check *check);
void check_module(struct check *check);
void check_signature(struct check *check);
void check_firmware(struct check *check);

/*
 * One device: is it bound, and if not, why; who may open it; does it answer; what happened to it.
 */
void check_device(struct check *check, const struct device *device);

#endif
