// SPDX-License-Identifier: MIT
/* Writes protocol buffers: how values are cut over devices, and which devices a program has. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* Fields of OpSharding, and the kind of a value that is cut. */
enum {
	SHARDING_KIND = 1,
	SHARDING_DIMS = 3,
	SHARDING_DEVICES = 4,
	SHARDING_LAST_IS_COPIES = 6,
	SHARDING_LAST_KINDS = 8,
	KIND_COPIES = 0,
	KIND_TILED = 3,
	KIND_ADDENDS = 6,
};

/* The most bytes of a message, as the numbers of devices and slices in it are small. */
#define MOST_BYTES (80 + 8 * (ONPU_MAX_RANK + 2 * ONPU_MAX_DEVICES))

struct writer {
	unsigned char bytes[MOST_BYTES];
	size_t size;
};

static void put_number(struct writer *w, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		w->bytes[w->size++] = (unsigned char)(number | 0x80);
	w->bytes[w->size++] = (unsigned char)number;
}

static void put_field(struct writer *w, int field, uint64_t number)
{
	put_number(w, (uint64_t)field << 3);
	put_number(w, number);
}

/* Puts the bytes of another writer as a message, or as packed numbers. */
static void put_inside(struct writer *w, int field, const struct writer *inside)
{
	put_number(w, (uint64_t)field << 3 | 2);
	put_number(w, inside->size);
	memcpy(w->bytes + w->size, inside->bytes, inside->size);
	w->size += inside->size;
}

/*
 * Puts the devices in the order of slices, then of addends: those that have equal ones come together.
 */
static void put_devices(struct writer *w, const WNNStablehloSlices *slices, size_t count,
			size_t addends)
{
	for (size_t i = 0; i < count * addends; i++)
		for (size_t device = 0; device < slices->partitions; device++)
			if (slices->slices[device] == i / addends &&
			    (addends == 1 || slices->addend[device] == i % addends))
				put_number(w, device);
}

static void put_sharding(struct writer *w, const WNNStablehloSlices *slices)
{
	struct writer dims = { .size = 0 }, devices = { .size = 0 }, kinds = { .size = 0 };
	size_t count = 1, addends = slices->addends > 1 ? slices->addends : 1, copies;

	w->size = 0;
	for (size_t i = 0; i < slices->rank; i++) {
		put_number(&dims, (uint64_t)slices->parts[i]);
		count *= (size_t)slices->parts[i];
	}
	/* An empty message says that each device has the whole. */
	if (count * addends == 1)
		return;
	copies = slices->partitions / (count * addends);
	put_field(w, SHARDING_KIND, count * copies == 1 ? KIND_ADDENDS : KIND_TILED);
	if (count * copies == 1)
		return;
	if (addends > 1) {
		put_number(&dims, addends);
		put_number(&kinds, KIND_ADDENDS);
	}
	if (copies > 1) {
		put_number(&dims, copies);
		put_number(&kinds, KIND_COPIES);
	}
	put_devices(&devices, slices, count, addends);
	put_inside(w, SHARDING_DIMS, &dims);
	put_inside(w, SHARDING_DEVICES, &devices);
	if (addends > 1)
		put_inside(w, SHARDING_LAST_KINDS, &kinds);
	else if (copies > 1)
		put_field(w, SHARDING_LAST_IS_COPIES, 1);
}

struct onpu_shardings *onpu_shardings_new(const struct pjrt_executable *executable, bool outputs)
{
	size_t count = outputs ? executable->outputs.count : executable->inputs.count;
	struct onpu_shardings *shardings =
		malloc(sizeof(*shardings) + count * (sizeof(char *) + sizeof(size_t) + MOST_BYTES));
	struct writer w;
	char *bytes;

	if (!shardings)
		return NULL;
	shardings->count = count;
	shardings->bytes = (const char **)(shardings + 1);
	shardings->sizes = (size_t *)(shardings->bytes + count);
	bytes = (char *)(shardings->sizes + count);
	for (size_t i = 0; i < count; i++) {
		WNNStablehloSlices slices =
			(outputs ? wnnStablehloProgramGetOutputSlices :
				   wnnStablehloProgramGetInputSlices)(executable->program, 0, i);

		put_sharding(&w, &slices);
		memcpy(bytes, w.bytes, w.size);
		shardings->bytes[i] = bytes;
		shardings->sizes[i] = w.size;
		bytes += w.size;
	}
	return shardings;
}

char *onpu_assignment_new(const struct onpu_wanted *wanted, size_t *size)
{
	struct writer w = { .size = 0 };
	char *bytes;

	put_field(&w, ONPU_ASSIGNMENT_REPLICAS, wanted->replicas);
	put_field(&w, ONPU_ASSIGNMENT_PARTITIONS, wanted->partitions);
	for (uint64_t p = 0; p < wanted->partitions; p++) {
		struct writer column = { .size = 0 }, ids = { .size = 0 };

		for (uint64_t r = 0; r < wanted->replicas; r++)
			put_number(&ids, (uint64_t)wanted->devices[r * wanted->partitions + p]);
		put_inside(&column, ONPU_COLUMN_IDS, &ids);
		put_inside(&w, ONPU_ASSIGNMENT_COLUMN, &column);
	}
	bytes = malloc(w.size);
	if (bytes)
		memcpy(bytes, w.bytes, w.size);
	*size = w.size;
	return bytes;
}

/* ---- the extension by which JAX asks how values are cut */

static struct pjrt_error *get_shardings(struct pjrt_shardings_args *args, bool outputs)
{
	const struct onpu_shardings *shardings;

	if (!PJRT_HAS(args, sizes))
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the arguments of a question about shardings have %zu "
				  "bytes; there must be at least %zu",
				  args->struct_size, sizeof(*args));
	shardings = args->executable->shardings[outputs];
	args->count = outputs ? args->executable->outputs.count : args->executable->inputs.count;
	args->bytes = shardings ? shardings->bytes : NULL;
	args->sizes = shardings ? shardings->sizes : NULL;
	return NULL;
}

static struct pjrt_error *get_inputs(struct pjrt_shardings_args *args)
{
	return get_shardings(args, false);
}

static struct pjrt_error *get_outputs(struct pjrt_shardings_args *args)
{
	return get_shardings(args, true);
}

struct onpu_shardings_extension onpu_shardings_extension = {
	{ sizeof(onpu_shardings_extension), PJRT_SHARDINGS, NULL }, get_inputs, get_outputs
};
