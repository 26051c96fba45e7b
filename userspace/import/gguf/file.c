// SPDX-License-Identifier: MIT
/* Maps and reads GGUF files. Each length and offset of a file is checked before it is used. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/memory.h"
#include "../common/blocks.h"
#include "../common/printable.h"
#include "gguf.h"

/* The least bytes of a key (length of its name, kind, one byte) and of a tensor. */
#define LEAST_KEY    (8 + 4 + 1)
#define LEAST_TENSOR (8 + 4 + 4 + 8)

int gguf_fail(struct gguf_error *error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(error->text, sizeof(error->text), format, ap);
	va_end(ap);
	import_printable(error->text);
	error->machine = false;
	return -1;
}

int gguf_fail_memory(struct gguf_error *error)
{
	gguf_fail(error, "memory is exhausted");
	error->machine = true;
	return -1;
}

void gguf_free(void *memory)
{
	import_free(memory);
}

bool gguf_text_is(struct gguf_text text, const char *other)
{
	return strlen(other) == text.size && !memcmp(text.data, other, text.size);
}

int gguf_text_compare(struct gguf_text a, struct gguf_text b)
{
	size_t least = a.size < b.size ? a.size : b.size;
	int order = least ? memcmp(a.data, b.data, least) : 0;

	return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* ---- bytes */

/* The part of the file that is not read yet, and where messages go. */
struct cursor {
	const uint8_t *at, *end;
	struct gguf_error *error;
};

static size_t left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* Returns the next bytes and moves after them; NULL: the file ends within @what. */
static const uint8_t *take(struct cursor *cursor, uint64_t size, const char *what)
{
	const uint8_t *at = cursor->at;

	if (size > left(cursor)) {
		gguf_fail(cursor->error, "it ends within %s", what);
		return NULL;
	}
	cursor->at += size;
	return at;
}

static uint64_t little(const uint8_t *bytes, size_t size)
{
	uint64_t value = 0;

	for (size_t i = size; i--;)
		value = value << 8 | bytes[i];
	return value;
}

static int take_number(struct cursor *cursor, size_t size, const char *what, uint64_t *value)
{
	const uint8_t *bytes = take(cursor, size, what);

	if (!bytes)
		return -1;
	*value = little(bytes, size);
	return 0;
}

static int take_text(struct cursor *cursor, const char *what, struct gguf_text *text)
{
	uint64_t size;

	if (take_number(cursor, 8, what, &size))
		return -1;
	text->data = (const char *)take(cursor, size, what);
	text->size = (size_t)size;
	return text->data ? 0 : -1;
}

/* ---- keys */

/* Bytes of one value; 0: a string or an array. */
static const uint8_t kind_sizes[GGUF_KINDS] = {
	[GGUF_UINT8] = 1,  [GGUF_INT8] = 1,  [GGUF_UINT16] = 2,	 [GGUF_INT16] = 2,
	[GGUF_UINT32] = 4, [GGUF_INT32] = 4, [GGUF_FLOAT32] = 4, [GGUF_BOOL] = 1,
	[GGUF_UINT64] = 8, [GGUF_INT64] = 8, [GGUF_FLOAT64] = 8,
};

/* Moves the cursor behind the @count items of a key. Returns 0; -1: the file ends within them. */
static int skip_items(struct cursor *cursor, const struct gguf_key *key, uint64_t count)
{
	size_t size = kind_sizes[key->kind];
	struct gguf_text text;

	/* An item has a byte at least, so that the product does not overflow. */
	if (count > left(cursor) || (size && count * size > left(cursor)))
		return gguf_fail(cursor->error, "it ends within key \"%.*s\"",
				 GGUF_ARGS(key->name));
	if (size) {
		cursor->at += count * size;
		return 0;
	}
	for (uint64_t i = 0; i < count; i++)
		if (take_text(cursor, "a string", &text))
			return gguf_fail(cursor->error, "it ends within key \"%.*s\"",
					 GGUF_ARGS(key->name));
	return 0;
}

static int read_key(struct cursor *cursor, struct gguf_key *key)
{
	uint64_t kind, count = 1;

	if (take_text(cursor, "the name of a key", &key->name) ||
	    take_number(cursor, 4, "a key", &kind))
		return -1;
	key->array = kind == GGUF_ARRAY;
	if (key->array &&
	    (take_number(cursor, 4, "a key", &kind) || take_number(cursor, 8, "a key", &count)))
		return -1;
	if (kind == GGUF_ARRAY)
		return gguf_fail(cursor->error, "key \"%.*s\" is an array of arrays",
				 GGUF_ARGS(key->name));
	if (kind >= GGUF_KINDS)
		return gguf_fail(cursor->error,
				 "key \"%.*s\" has values of kind %llu; there are kinds 0 to %d",
				 GGUF_ARGS(key->name), (unsigned long long)kind, GGUF_KINDS - 1);
	key->kind = (enum gguf_kind)kind;
	key->data = cursor->at;
	if (skip_items(cursor, key, count))
		return -1;
	key->count = (size_t)count;
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	return gguf_text_compare(((const struct gguf_key *)a)->name,
				 ((const struct gguf_key *)b)->name);
}

static int read_keys(struct gguf *gguf, struct cursor *cursor)
{
	uint64_t alignment = 32;

	gguf->keys = import_alloc(gguf->key_count * sizeof(*gguf->keys));
	if (!gguf->keys)
		return gguf_fail_memory(cursor->error);
	for (size_t i = 0; i < gguf->key_count; i++)
		if (read_key(cursor, &gguf->keys[i]))
			return -1;
	qsort(gguf->keys, gguf->key_count, sizeof(*gguf->keys), compare_keys);
	for (size_t i = 1; i < gguf->key_count; i++)
		if (!compare_keys(&gguf->keys[i - 1], &gguf->keys[i]))
			return gguf_fail(cursor->error, "it has key \"%.*s\" twice",
					 GGUF_ARGS(gguf->keys[i].name));
	if (gguf_number(gguf, "general.alignment", UINT32_MAX, &alignment, cursor->error))
		return -1;
	if (!alignment || (alignment & (alignment - 1)))
		return gguf_fail(cursor->error,
				 "general.alignment is %llu; it must be a power of two",
				 (unsigned long long)alignment);
	gguf->alignment = (uint32_t)alignment;
	return 0;
}

/* ---- tensors */

/*
 * Sets the numbers of elements and bytes of a tensor. Returns 0; -1 when its sizes are not valid.
 */
static int measure(struct gguf_tensor *tensor, struct gguf_error *error)
{
	uint64_t elements = 1;

	for (uint32_t i = 0; i < tensor->rank; i++)
		if (!tensor->size[i] ||
		    __builtin_mul_overflow(elements, tensor->size[i], &elements))
			return gguf_fail(error,
					 "tensor \"%.*s\" has a dimension of 0, or more elements "
					 "than can be counted",
					 GGUF_ARGS(tensor->name));
	if (tensor->size[0] % tensor->type->elements)
		return gguf_fail(error,
				 "tensor \"%.*s\" has rows of %llu elements, which are not whole "
				 "blocks of %s: these have %u",
				 GGUF_ARGS(tensor->name), (unsigned long long)tensor->size[0],
				 tensor->type->name, tensor->type->elements);
	tensor->elements = elements;
	if (__builtin_mul_overflow(elements / tensor->type->elements, tensor->type->bytes,
				   &tensor->bytes))
		return gguf_fail(error, "tensor \"%.*s\" has more bytes than can be counted",
				 GGUF_ARGS(tensor->name));
	return 0;
}

/* Reads all of a tensor but its data, and sets *offset to that of the data. Returns 0 or -1. */
static int read_tensor(struct cursor *cursor, struct gguf_tensor *tensor, uint64_t *offset)
{
	uint64_t rank, type;

	if (take_text(cursor, "the name of a tensor", &tensor->name) ||
	    take_number(cursor, 4, "a tensor's shape", &rank))
		return -1;
	if (rank > 4)
		return gguf_fail(cursor->error,
				 "tensor \"%.*s\" has %llu dimensions; 4 are the most",
				 GGUF_ARGS(tensor->name), (unsigned long long)rank);
	tensor->rank = (uint32_t)rank;
	for (uint32_t i = 0; i < 4; i++) {
		tensor->size[i] = 1;
		if (i < rank && take_number(cursor, 8, "a tensor's shape", &tensor->size[i]))
			return -1;
	}
	if (take_number(cursor, 4, "a tensor's type", &type) ||
	    take_number(cursor, 8, "a tensor's offset", offset))
		return -1;
	tensor->type = import_block_type((uint32_t)type);
	if (!tensor->type)
		return gguf_fail(cursor->error, "tensor \"%.*s\" has type %llu, which is unknown",
				 GGUF_ARGS(tensor->name), (unsigned long long)type);
	return measure(tensor, cursor->error);
}

static int compare_tensors(const void *a, const void *b)
{
	return gguf_text_compare(((const struct gguf_tensor *)a)->name,
				 ((const struct gguf_tensor *)b)->name);
}

/*
 * Sets tensor->data. @offset counts from @start, where the data of all tensors begins, and the
 * tensors before this one end at *used, which moves to this one's end. Returns 0; -1: the data is
 * outside of the file, not aligned, or overlaps another tensor's. Tensors share no bytes, so that
 * the file's size bounds the memory that is taken for them.
 */
static int place(const struct gguf *gguf, struct gguf_tensor *tensor, uint64_t start,
		 uint64_t offset, uint64_t *used, struct gguf_error *error)
{
	if (offset % gguf->alignment)
		return gguf_fail(error,
				 "tensor \"%.*s\" begins at offset %llu, which is no multiple of "
				 "the alignment %u",
				 GGUF_ARGS(tensor->name), (unsigned long long)offset,
				 gguf->alignment);
	if (start > gguf->size || offset > gguf->size - start ||
	    tensor->bytes > gguf->size - start - offset)
		return gguf_fail(error,
				 "it ends before tensor \"%.*s\" does: a part of the file is "
				 "missing",
				 GGUF_ARGS(tensor->name));
	if (offset < *used)
		return gguf_fail(error,
				 "tensor \"%.*s\" begins at offset %llu, but the tensors before it "
				 "end at %llu",
				 GGUF_ARGS(tensor->name), (unsigned long long)offset,
				 (unsigned long long)*used);
	*used = offset + tensor->bytes;
	tensor->data = gguf->data + start + offset;
	return 0;
}

static int read_tensors(struct gguf *gguf, struct cursor *cursor)
{
	uint64_t *offsets = import_alloc(gguf->tensor_count * sizeof(*offsets)), start;
	uint64_t used = 0;
	int ret = 0;

	gguf->tensors = import_alloc(gguf->tensor_count * sizeof(*gguf->tensors));
	if (!offsets || !gguf->tensors)
		ret = gguf_fail_memory(cursor->error);
	for (size_t i = 0; !ret && i < gguf->tensor_count; i++)
		ret = read_tensor(cursor, &gguf->tensors[i], &offsets[i]);
	start = (uint64_t)(cursor->at - gguf->data);
	start = (start + gguf->alignment - 1) / gguf->alignment * gguf->alignment;
	for (size_t i = 0; !ret && i < gguf->tensor_count; i++)
		ret = place(gguf, &gguf->tensors[i], start, offsets[i], &used, cursor->error);
	import_free(offsets);
	if (ret)
		return -1;
	qsort(gguf->tensors, gguf->tensor_count, sizeof(*gguf->tensors), compare_tensors);
	for (size_t i = 1; i < gguf->tensor_count; i++)
		if (!compare_tensors(&gguf->tensors[i - 1], &gguf->tensors[i]))
			return gguf_fail(cursor->error, "it has tensor \"%.*s\" twice",
					 GGUF_ARGS(gguf->tensors[i].name));
	return 0;
}

/* ---- the file */

static int read_header(struct gguf *gguf, struct cursor *cursor)
{
	const uint8_t *magic = take(cursor, 4, "its first bytes");
	uint64_t version, tensors, keys;

	if (!magic)
		return -1;
	if (memcmp(magic, "GGUF", 4))
		return gguf_fail(cursor->error, "it is no file of GGUF");
	if (take_number(cursor, 4, "its version", &version))
		return -1;
	if (version && !(version & 0xffff))
		return gguf_fail(cursor->error,
				 "its numbers are big-endian; only little-endian files are read");
	if (version != 2 && version != 3)
		return gguf_fail(cursor->error, "it has version %llu of GGUF; 2 and 3 are read",
				 (unsigned long long)version);
	gguf->version = (uint32_t)version;
	if (take_number(cursor, 8, "its number of tensors", &tensors) ||
	    take_number(cursor, 8, "its number of keys", &keys))
		return -1;
	/* The last two bounds matter where sizes have 32 bits. */
	if (keys > left(cursor) / LEAST_KEY || tensors > left(cursor) / LEAST_TENSOR ||
	    keys > SIZE_MAX / sizeof(*gguf->keys) || tensors > SIZE_MAX / sizeof(*gguf->tensors))
		return gguf_fail(cursor->error,
				 "it cannot have %llu keys and %llu tensors in %zu bytes",
				 (unsigned long long)keys, (unsigned long long)tensors, gguf->size);
	gguf->key_count = (size_t)keys;
	gguf->tensor_count = (size_t)tensors;
	return 0;
}

int gguf_read(struct gguf *gguf, const void *data, size_t size, struct gguf_error *error)
{
	struct cursor cursor = { data, (const uint8_t *)data + size, error };

	*gguf = (struct gguf){ .data = data, .size = size };
	if (!read_header(gguf, &cursor) && !read_keys(gguf, &cursor) &&
	    !read_tensors(gguf, &cursor))
		return 0;
	gguf_close(gguf);
	return -1;
}

static int map(const char *path, const uint8_t **data, size_t *size, struct gguf_error *error)
{
	/* Without O_NONBLOCK, open() of a fifo would wait until a program opens it to write. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *bytes = MAP_FAILED;
	struct stat status;
	int ret = 0;

	if (fd < 0 || fstat(fd, &status))
		ret = gguf_fail(error, "%s", strerror(errno));
	else if (!S_ISREG(status.st_mode))
		ret = gguf_fail(error, "it is not a regular file");
	else if (!status.st_size)
		ret = gguf_fail(error, "it is empty");
	if (!ret) {
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED) {
			bool full = errno == ENOMEM;

			ret = gguf_fail(error, "it cannot be mapped: %s", strerror(errno));
			error->machine = full;
		}
		*data = bytes;
		*size = (size_t)status.st_size;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

int gguf_open(struct gguf *gguf, const char *path, struct gguf_error *error)
{
	const uint8_t *data;
	size_t size;

	*gguf = (struct gguf){ 0 };
	if (map(path, &data, &size, error))
		return -1;
	if (gguf_read(gguf, data, size, error)) {
		munmap((void *)(uintptr_t)data, size);
		return -1;
	}
	gguf->mapped = true;
	return 0;
}

void gguf_close(struct gguf *gguf)
{
	if (gguf->mapped)
		munmap((void *)(uintptr_t)gguf->data, gguf->size);
	import_free(gguf->keys);
	import_free(gguf->tensors);
	*gguf = (struct gguf){ 0 };
}

bool gguf_is(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[4];
	bool is;

	if (fd < 0)
		return false;
	is = read(fd, magic, sizeof(magic)) == sizeof(magic) && !memcmp(magic, "GGUF", 4);
	close(fd);
	return is;
}

/* ---- look-ups */

const struct gguf_key *gguf_key(const struct gguf *gguf, const char *name)
{
	const struct gguf_key wanted = { .name = { name, strlen(name) } };

	if (!gguf->key_count)
		return NULL;
	return bsearch(&wanted, gguf->keys, gguf->key_count, sizeof(wanted), compare_keys);
}

const struct gguf_tensor *gguf_tensor(const struct gguf *gguf, const char *name)
{
	const struct gguf_tensor wanted = { .name = { name, strlen(name) } };

	if (!gguf->tensor_count)
		return NULL;
	return bsearch(&wanted, gguf->tensors, gguf->tensor_count, sizeof(wanted), compare_tensors);
}

int gguf_number(const struct gguf *gguf, const char *name, uint64_t most, uint64_t *value,
		struct gguf_error *error)
{
	const struct gguf_key *key = gguf_key(gguf, name);
	uint64_t number;
	size_t size;
	bool sign;

	if (!key)
		return 0;
	sign = key->kind == GGUF_INT8 || key->kind == GGUF_INT16 || key->kind == GGUF_INT32 ||
	       key->kind == GGUF_INT64;
	if (key->array || (!sign && key->kind != GGUF_UINT8 && key->kind != GGUF_UINT16 &&
			   key->kind != GGUF_UINT32 && key->kind != GGUF_UINT64))
		return gguf_fail(error, "key %s is no integer", name);
	size = kind_sizes[key->kind];
	number = little(key->data, size);
	if (sign && number >> (8 * size - 1))
		return gguf_fail(error,
				 "key %s is negative; it must be at most %llu, and not negative",
				 name, (unsigned long long)most);
	if (number > most)
		return gguf_fail(error, "key %s is %llu; it must be at most %llu", name,
				 (unsigned long long)number, (unsigned long long)most);
	*value = number;
	return 0;
}

int gguf_real(const struct gguf *gguf, const char *name, double *value, struct gguf_error *error)
{
	const struct gguf_key *key = gguf_key(gguf, name);
	float narrow;

	if (!key)
		return 0;
	if (key->array || (key->kind != GGUF_FLOAT32 && key->kind != GGUF_FLOAT64))
		return gguf_fail(error, "key %s is no real number", name);
	if (key->kind == GGUF_FLOAT64) {
		memcpy(value, key->data, sizeof(*value));
	} else {
		memcpy(&narrow, key->data, sizeof(narrow));
		*value = (double)narrow;
	}
	if (!isfinite(*value))
		return gguf_fail(error, "key %s is infinite or no number", name);
	return 0;
}

int gguf_flag(const struct gguf *gguf, const char *name, bool *value, struct gguf_error *error)
{
	const struct gguf_key *key = gguf_key(gguf, name);

	if (!key)
		return 0;
	if (key->array || key->kind != GGUF_BOOL)
		return gguf_fail(error, "key %s is neither true nor false", name);
	*value = *key->data != 0;
	return 0;
}

int gguf_string(const struct gguf *gguf, const char *name, struct gguf_text *value,
		struct gguf_error *error)
{
	const struct gguf_key *key = gguf_key(gguf, name);
	struct cursor cursor = { .end = gguf->data + gguf->size, .error = error };

	if (!key)
		return 0;
	if (key->array || key->kind != GGUF_STRING)
		return gguf_fail(error, "key %s is no string", name);
	cursor.at = key->data;
	return take_text(&cursor, "a string", value);
}

struct gguf_text *gguf_strings(const struct gguf *gguf, const char *name, size_t *count,
			       struct gguf_error *error)
{
	const struct gguf_key *key = gguf_key(gguf, name);
	struct cursor cursor = { .end = gguf->data + gguf->size, .error = error };
	struct gguf_text *texts;

	if (!key || !key->array || key->kind != GGUF_STRING) {
		gguf_fail(error, key ? "key %s is no array of strings" : "there is no key %s",
			  name);
		return NULL;
	}
	texts = import_alloc(key->count * sizeof(*texts));
	if (!texts) {
		gguf_fail_memory(error);
		return NULL;
	}
	/*
	 * Another program may have changed the file since it was read: lengths are checked again.
	 */
	cursor.at = key->data;
	for (size_t i = 0; i < key->count; i++) {
		if (take_text(&cursor, "a string", &texts[i])) {
			import_free(texts);
			return NULL;
		}
	}
	*count = key->count;
	return texts;
}

const uint8_t *gguf_items(const struct gguf *gguf, const char *name, enum gguf_kind kind,
			  size_t count, struct gguf_error *error)
{
	const struct gguf_key *key = gguf_key(gguf, name);

	if (!key)
		return NULL;
	if (!key->array || key->kind != kind || key->count != count) {
		gguf_fail(error, "key %s must be an array of %zu items of type %s", name, count,
			  kind == GGUF_FLOAT32 ? "float32" : "int32");
		return NULL;
	}
	return key->data;
}
