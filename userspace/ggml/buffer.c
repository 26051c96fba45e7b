// SPDX-License-Identifier: MIT
/* Buffers: memory of the host, in ggml's layout, which graphs of the device read and write. */
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* Tensors are aligned to what the library calls fastest for memory of programs. */
#define ALIGNMENT 64

struct memory {
	char *data;
	bool is_own;
};

static void forget(const void *data, size_t size)
{
	pthread_mutex_lock(&onpu.lock);
	onpu_forget(data, size);
	pthread_mutex_unlock(&onpu.lock);
}

/* Forgets graphs that have some bytes of a buffer as constants, before these bytes change. */
static void before_change(const struct gg_buffer *buffer, const void *data, size_t size)
{
	if (buffer->usage == GG_USAGE_WEIGHTS)
		forget(data, size);
}

static void free_buffer(struct gg_buffer *buffer)
{
	struct memory *memory = buffer->context;

	forget(memory->data, buffer->size);
	if (memory->is_own)
		free(memory->data);
	free(memory);
}

static void *get_base(struct gg_buffer *buffer)
{
	struct memory *memory = buffer->context;

	return memory->data;
}

static void memset_tensor(struct gg_buffer *buffer, struct gg_tensor *tensor, uint8_t value,
			  size_t offset, size_t size)
{
	before_change(buffer, (char *)tensor->data + offset, size);
	memset((char *)tensor->data + offset, value, size);
}

static void set_tensor(struct gg_buffer *buffer, struct gg_tensor *tensor, const void *data,
		       size_t offset, size_t size)
{
	before_change(buffer, (char *)tensor->data + offset, size);
	memcpy((char *)tensor->data + offset, data, size);
	if (buffer->usage != GG_USAGE_WEIGHTS || size != base.nbytes(tensor))
		return;
	pthread_mutex_lock(&onpu.lock);
	onpu_weights_repack(tensor);
	pthread_mutex_unlock(&onpu.lock);
}

static void get_tensor(struct gg_buffer *buffer, const struct gg_tensor *tensor, void *data,
		       size_t offset, size_t size)
{
	(void)buffer;
	memcpy(data, (const char *)tensor->data + offset, size);
}

/*
 * Copies a tensor whose source is in host memory and returns true. Returns false for any other
 * source, which ggml then copies itself, in two steps.
 */
static bool cpy_tensor(struct gg_buffer *buffer, const struct gg_tensor *from, struct gg_tensor *to)
{
	if (!from->buffer || !base.backend_buft_is_host(from->buffer->type))
		return false;
	before_change(buffer, to->data, base.nbytes(to));
	memmove(to->data, from->data, base.nbytes(from));
	return true;
}

static void clear(struct gg_buffer *buffer, uint8_t value)
{
	struct memory *memory = buffer->context;

	before_change(buffer, memory->data, buffer->size);
	memset(memory->data, value, buffer->size);
}

static const struct gg_buffer_table buffer_table = {
	.free_buffer = free_buffer,
	.get_base = get_base,
	.memset_tensor = memset_tensor,
	.set_tensor = set_tensor,
	.get_tensor = get_tensor,
	.cpy_tensor = cpy_tensor,
	.clear = clear,
};

static struct gg_buffer *make_buffer(void *data, size_t size, bool is_own)
{
	struct memory *memory = malloc(sizeof(*memory));

	if (!memory) {
		onpu_say("memory is exhausted");
		return NULL;
	}
	*memory = (struct memory){ data, is_own };
	return base.backend_buffer_init(&onpu.type, buffer_table, memory, size);
}

struct gg_buffer *onpu_buffer_wrap(void *data, size_t size)
{
	return make_buffer(data, size, false);
}

void *onpu_alloc(size_t size)
{
	/* A buffer of no bytes has an address all the same, as ggml asks. */
	size_t whole = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;

	return whole >= size ? aligned_alloc(ALIGNMENT, whole) : NULL;
}

bool onpu_buffer_is_ours(const struct gg_buffer *buffer)
{
	return buffer && buffer->type == &onpu.type;
}

static const char *get_name(struct gg_buffer_type *type)
{
	(void)type;
	return "ONPU";
}

static struct gg_buffer *alloc_buffer(struct gg_buffer_type *type, size_t size)
{
	void *data = onpu_alloc(size);
	struct gg_buffer *buffer;

	(void)type;
	if (!data) {
		onpu_say("there is no memory for a buffer of %zu bytes", size);
		return NULL;
	}
	buffer = make_buffer(data, size, true);
	if (!buffer)
		free(data);
	return buffer;
}

static size_t get_alignment(struct gg_buffer_type *type)
{
	(void)type;
	return ALIGNMENT;
}

static bool is_host(struct gg_buffer_type *type)
{
	(void)type;
	return true;
}

const struct gg_buffer_type_table onpu_buffer_type_table = {
	.get_name = get_name,
	.alloc_buffer = alloc_buffer,
	.get_alignment = get_alignment,
	.is_host = is_host,
};
