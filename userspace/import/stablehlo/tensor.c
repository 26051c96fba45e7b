// SPDX-License-Identifier: MIT
/* Creates, copies and frees the values of a run. */
#include "run.h"

#include <stdio.h>
#include <string.h>

/*
 * For a value of at least this size, the time to ask the system how much memory it has does not
 * matter.
 */
#define LARGE_BYTES ((size_t)16 << 20)

_Thread_local const char *shlo_meminfo = "/proc/meminfo";

static struct shlo_tensor *tensor_alloc(struct shlo_run *run)
{
	struct shlo_tensor *tensor = run->idle;

	if (tensor) {
		run->idle = tensor->next;
		run->idle_count--;
	} else {
		tensor = import_alloc(sizeof(*tensor));
	}
	if (!tensor)
		shlo_run_lack(run, 0);
	tensor->count = 0;
	tensor->data = NULL;
	tensor->is_lent = false;
	tensor->items = NULL;
	tensor->refs = 1;
	tensor->run = run;
	tensor->next = run->live;
	tensor->link = &run->live;
	if (run->live)
		run->live->link = &tensor->next;
	run->live = tensor;
	return tensor;
}

size_t shlo_bytes_of(const struct shlo_tensor *tensor)
{
	return (size_t)tensor->count * shlo_elements[tensor->type.element].bytes;
}

/*
 * Returns a spare block of exactly @size bytes, because each iteration of a loop needs the sizes of
 * the iteration before; NULL: there is none.
 */
static void *take_spare(struct shlo_run *run, size_t size)
{
	for (int i = 0; size >= SHLO_SPARE_BYTES && i < SHLO_SPARES; i++) {
		void *data = run->spares[i].data;

		if (!data || run->spares[i].size != size)
			continue;
		for (; i + 1 < SHLO_SPARES; i++)
			run->spares[i] = run->spares[i + 1];
		run->spares[SHLO_SPARES - 1] = (struct shlo_spare){ 0 };
		return data;
	}
	return NULL;
}

/* Keeps the newest spares that have at most @most bytes together, and frees the others. */
static void trim_spares(struct shlo_run *run, size_t most)
{
	size_t bytes = 0, kept = 0;

	for (int i = 0; i < SHLO_SPARES; i++) {
		struct shlo_spare spare = run->spares[i];

		run->spares[i] = (struct shlo_spare){ 0 };
		if (spare.data && spare.size <= most - bytes) {
			bytes += spare.size;
			run->spares[kept++] = spare;
		} else {
			import_free(spare.data);
		}
	}
}

static void leave_data(struct shlo_tensor *tensor)
{
	struct shlo_spare *spares = tensor->run->spares;
	size_t size = tensor->data ? shlo_bytes_of(tensor) : 0;

	if (tensor->is_lent)
		return;
	tensor->run->bytes -= size;
	if (tensor->data == tensor->small)
		return;
	if (size < SHLO_SPARE_BYTES || size > SHLO_SPARES_BYTES) {
		import_free(tensor->data);
		return;
	}
	import_free(spares[SHLO_SPARES - 1].data);
	memmove(spares + 1, spares, (SHLO_SPARES - 1) * sizeof(*spares));
	spares[0] = (struct shlo_spare){ tensor->data, size };
	trim_spares(tensor->run, SHLO_SPARES_BYTES);
}

/*
 * Returns how many bytes the system has available, with those that it can move to swap; SIZE_MAX:
 * it does not tell.
 */
static size_t available(void)
{
	FILE *file = fopen(shlo_meminfo, "re");
	unsigned long long kibibytes;
	size_t memory = SIZE_MAX, swap = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %llu kB", &kibibytes) == 1)
			memory = (size_t)kibibytes * 1024;
		if (sscanf(line, "SwapFree: %llu kB", &kibibytes) == 1)
			swap = (size_t)kibibytes * 1024;
	}
	if (file)
		fclose(file);
	return memory == SIZE_MAX ? memory : memory + swap;
}

/*
 * Returns memory for a value; NULL: there is none. Linux gives out more memory than it has, and
 * kills a process that uses it, so large sizes are first compared with what is available.
 */
static void *take_memory(size_t size, bool zeroed)
{
	if (size >= LARGE_BYTES && size > available())
		return NULL;
	return zeroed ? import_alloc(size) : import_realloc(NULL, size);
}

/* Sets the type of a new tensor, whose dimensions are known, and counts its elements. */
static void set_type(struct shlo_tensor *tensor, const struct shlo_type *type)
{
	tensor->type = *type;
	tensor->type.bounds = NULL;
	if (type->kind != SHLO_TENSOR)
		return;
	tensor->type.dims = tensor->dims;
	if (type->rank > 0)
		memcpy(tensor->dims, type->dims, (size_t)type->rank * sizeof(*tensor->dims));
	tensor->count = shlo_type_count(&tensor->type);
	if (tensor->count < 0)
		shlo_run_error(tensor->run, "a value has more than 2^31 elements");
}

static struct shlo_tensor *tensor_make(struct shlo_run *run, const struct shlo_type *type,
				       bool zeroed)
{
	struct shlo_tensor *tensor = tensor_alloc(run);
	size_t size;

	set_type(tensor, type);
	if (type->kind == SHLO_TUPLE || type->kind == SHLO_FUTURE) {
		tensor->items = import_alloc(type->item_count * sizeof(struct shlo_tensor *));
		if (!tensor->items)
			shlo_run_lack(run, 0);
		return tensor;
	}
	if (type->kind != SHLO_TENSOR)
		return tensor;
	size = shlo_bytes_of(tensor);
	tensor->data = size <= sizeof(tensor->small) ? tensor->small : take_spare(run, size);
	if (tensor->data && zeroed)
		memset(tensor->data, 0, size);
	else if (!tensor->data)
		tensor->data = take_memory(size, zeroed);
	if (!tensor->data) {
		trim_spares(run, 0);
		tensor->data = take_memory(size, zeroed);
	}
	if (!tensor->data)
		shlo_run_lack(run, size);
	run->bytes += size;
	if (run->bytes > run->most_bytes)
		run->most_bytes = run->bytes;
	return tensor;
}

struct shlo_tensor *shlo_tensor_lent(struct shlo_run *run, const struct shlo_type *type,
				     const void *data)
{
	struct shlo_tensor *tensor = tensor_alloc(run);

	tensor->is_lent = true;
	set_type(tensor, type);
	tensor->data = (void *)data;
	return tensor;
}

struct shlo_tensor *shlo_tensor_new(struct shlo_run *run, const struct shlo_type *type)
{
	return tensor_make(run, type, true);
}

struct shlo_tensor *shlo_tensor_unset(struct shlo_run *run, const struct shlo_type *type)
{
	return tensor_make(run, type, false);
}

struct shlo_tensor *shlo_tensor_like(struct shlo_run *run, const struct shlo_type *element_of,
				     int rank, const int64_t *dims)
{
	struct shlo_type type = {
		.kind = SHLO_TENSOR,
		.element = element_of->element,
		.quant = element_of->quant,
		.rank = rank,
		.dims = dims,
	};

	for (int i = 0; i < rank; i++)
		if (dims[i] < 0)
			shlo_run_error(run, "dimension %d would be %lld, which is less than 0", i,
				       (long long)dims[i]);
	return shlo_tensor_new(run, &type);
}

/* Keeps the memory of a value for the next one, or frees it. */
static void leave_tensor(struct shlo_tensor *tensor)
{
	struct shlo_run *run = tensor->run;

	if (run->idle_count == SHLO_IDLE) {
		import_free(tensor);
		return;
	}
	tensor->next = run->idle;
	run->idle = tensor;
	run->idle_count++;
}

struct shlo_tensor *shlo_tensor_get(struct shlo_tensor *tensor)
{
	tensor->refs++;
	return tensor;
}

void shlo_tensor_put(struct shlo_tensor *tensor)
{
	if (!tensor || --tensor->refs)
		return;
	for (size_t i = 0; tensor->items && i < tensor->type.item_count; i++)
		shlo_tensor_put(tensor->items[i]);
	*tensor->link = tensor->next;
	if (tensor->next)
		tensor->next->link = tensor->link;
	import_free(tensor->items);
	leave_data(tensor);
	leave_tensor(tensor);
}

void shlo_run_exit(struct shlo_run *run)
{
	shlo_run_reset(run);
	trim_spares(run, 0);
	while (run->idle) {
		struct shlo_tensor *next = run->idle->next;

		import_free(run->idle);
		run->idle = next;
	}
	run->idle_count = 0;
}

void shlo_run_reset(struct shlo_run *run)
{
	/*
	 * Frees all values without regard to their references: nothing outside of the run holds
	 * them.
	 */
	while (run->live) {
		struct shlo_tensor *next = run->live->next;

		import_free(run->live->items);
		leave_data(run->live);
		import_free(run->live);
		run->live = next;
	}
	trim_spares(run, SHLO_KEPT_BYTES);
	while (run->frames) {
		struct shlo_frame *before = run->frames->before;

		import_free(run->frames->slots);
		import_free(run->frames);
		run->frames = before;
	}
	while (run->scratches) {
		struct shlo_scratch *before = run->scratches->before;

		shlo_arena_exit(&run->scratches->arena);
		import_free(run->scratches);
		run->scratches = before;
	}
	while (run->probes) {
		struct shlo_probe *next = run->probes->next;

		import_free(run->probes);
		run->probes = next;
	}
}

struct shlo_tensor *shlo_tensor_reshaped(struct shlo_run *run, const struct shlo_tensor *tensor,
					 const struct shlo_type *like, int rank,
					 const int64_t *dims)
{
	struct shlo_tensor *result = shlo_tensor_like(run, like, rank, dims);

	if (result->count != tensor->count)
		shlo_run_error(run,
			       "%lld elements are to become %lld: a reshape keeps their number",
			       (long long)tensor->count, (long long)result->count);
	memcpy(result->data, tensor->data, shlo_bytes_of(tensor));
	return result;
}

struct shlo_tensor *shlo_tensor_copy(struct shlo_run *run, const struct shlo_tensor *tensor)
{
	struct shlo_tensor *copy = shlo_tensor_unset(run, &tensor->type);

	for (size_t i = 0; tensor->items && i < tensor->type.item_count; i++)
		copy->items[i] = shlo_tensor_copy(run, tensor->items[i]);
	if (tensor->data)
		memcpy(copy->data, tensor->data, shlo_bytes_of(tensor));
	return copy;
}

void shlo_move(struct shlo_tensor *to, int64_t to_index, const struct shlo_tensor *from,
	       int64_t from_index)
{
	size_t bytes = shlo_elements[to->type.element].bytes;

	memcpy((char *)to->data + (size_t)to_index * bytes,
	       (const char *)from->data + (size_t)from_index * bytes, bytes);
}

bool shlo_next(int rank, const int64_t *dims, int64_t *index)
{
	for (int i = rank - 1; i >= 0; i--) {
		if (++index[i] < dims[i])
			return true;
		index[i] = 0;
	}
	return false;
}

int64_t shlo_offset(const struct shlo_tensor *tensor, const int64_t *index)
{
	int64_t offset = 0;

	for (int i = 0; i < tensor->type.rank; i++)
		offset = offset * tensor->dims[i] + index[i];
	return offset;
}

int shlo_ints(struct shlo_run *run, const struct shlo_tensor *tensor, int64_t *numbers)
{
	if (tensor->count > SHLO_MAX_RANK)
		shlo_run_error(run,
			       "an operand that describes dimensions has %lld numbers, but at most "
			       "%d are possible",
			       (long long)tensor->count, SHLO_MAX_RANK);
	for (int64_t i = 0; i < tensor->count; i++)
		numbers[i] = shlo_get(tensor, i).i;
	return (int)tensor->count;
}
