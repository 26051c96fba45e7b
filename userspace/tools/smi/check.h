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
	HINT,	/* the device may work now, but not the next time */
	BROKEN, /* a reason why the device does not work */
};

struct finding {
	const char *name; /* the subject of the check */
	enum verdict verdict;
	char *what;	  /* the state of the subject */
	char *fix;	  /* what the user can do; NULL when nothing is wrong */
	char address[16]; /* PCI address of the device; empty: a finding about the system */
};

struct check {
	struct devices devices;
	char release[128]; /* release of the kernel */
	bool loaded;	   /* whether the module is loaded */
	/* The module is not loaded, and this kernel accepts only modules with a known signature. */
	bool wants_signature;
	struct finding *findings;
	size_t count;
};

/* Adds a finding; @what and @fix are taken over. @fix may be NULL. */
void check_add(struct check *check, const char *name, enum verdict verdict, char *what, char *fix);
/* Adds a finding about a device, like check_add(). */
void check_add_device(struct check *check, const struct device *device, const char *name,
		      enum verdict verdict, char *what, char *fix);

/* Checks the machine, and the devices that were found. */
void check_npus(struct check *check);

size_t check_count(const struct check *check, enum verdict verdict);
/*
 * check_print() prints the findings as text; check_json() returns them as JSON, NULL when memory is
 * exhausted.
 */
void check_print(const struct check *check);
json_t *check_json(const struct check *check);
void check_free(struct check *check);

/*
 * Check the machine: whether there is a device; kernel, module, Secure Boot, firmware file.
 */
void check_presence(struct check *check);
void check_kernel(struct check *check);
void check_module(struct check *check);
void check_signature(struct check *check);
void check_firmware(struct check *check);

/*
 * Checks one device: whether it is bound, and if not, why; who may open it; whether it answers;
 * past failures.
 */
void check_device(struct check *check, const struct device *device);

#endif
