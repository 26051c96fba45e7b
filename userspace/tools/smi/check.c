// SPDX-License-Identifier: MIT
/* Collects and prints the findings of onpu-smi check and webnn-run doctor. */
#include "check.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "tree.h"

static struct finding *add(struct check *check, const char *name, enum verdict verdict, char *what,
			   char *fix)
{
	struct finding *grown =
		realloc(check->findings, (check->count + 1) * sizeof(*check->findings));

	if (!grown)
		errx(2, "memory is exhausted");
	check->findings = grown;
	grown[check->count] =
		(struct finding){ .name = name, .verdict = verdict, .what = what, .fix = fix };
	return &grown[check->count++];
}

void check_add(struct check *check, const char *name, enum verdict verdict, char *what, char *fix)
{
	add(check, name, verdict, what, fix);
}

void check_add_device(struct check *check, const struct device *device, const char *name,
		      enum verdict verdict, char *what, char *fix)
{
	struct finding *finding = add(check, name, verdict, what, fix);

	memcpy(finding->address, device->address, sizeof(finding->address));
}

static const char *const words[] = {
	[FINE] = "ok",
	[HINT] = "hint",
	[BROKEN] = "wrong",
};

size_t check_count(const struct check *check, enum verdict verdict)
{
	size_t found = 0;

	for (size_t i = 0; i < check->count; i++)
		found += check->findings[i].verdict == verdict;
	return found;
}

void check_print(const struct check *check)
{
	for (size_t i = 0; i < check->count; i++) {
		const struct finding *finding = &check->findings[i];

		printf("%-5s  %-10s %s%s%s\n", words[finding->verdict], finding->name,
		       finding->address, *finding->address ? ": " : "", finding->what);
		if (finding->fix)
			printf("%18s> %s\n", "", finding->fix);
	}
}

json_t *check_json(const struct check *check)
{
	json_t *list = json_array();
	int wrong = 0;

	for (size_t i = 0; i < check->count; i++) {
		const struct finding *finding = &check->findings[i];

		/* "s?" writes null for NULL. */
		wrong |= json_array_append_new(
			list, json_pack("{s:s, s:s, s:s?, s:o, s:o}", "check", finding->name,
					"verdict", words[finding->verdict], "device",
					*finding->address ? finding->address : NULL, "what",
					text_as_json(finding->what), "fix",
					finding->fix ? text_as_json(finding->fix) : json_null()));
	}
	if (wrong) {
		json_decref(list);
		list = NULL;
	}
	return json_pack("{s:b, s:o}", "works", !check_count(check, BROKEN), "findings", list);
}

void check_npus(struct check *check)
{
	tree_line(check->release, sizeof(check->release), "/proc/sys/kernel/osrelease");
	check_presence(check);
	check_kernel(check);
	check_module(check);
	check_signature(check);
	check_firmware(check);
	for (size_t i = 0; i < check->devices.count; i++)
		check_device(check, &check->devices.list[i]);
}

void check_free(struct check *check)
{
	while (check->count--) {
		free(check->findings[check->count].what);
		free(check->findings[check->count].fix);
	}
	free(check->findings);
	devices_free(&check->devices);
}
