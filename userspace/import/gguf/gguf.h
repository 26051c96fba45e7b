/* SPDX-License-Identifier: MIT */
/*
 * Reads files of the format GGUF, versions 2 and 3: keys with values, and tensors. Names, values
 * and data of tensors point into the bytes of the file and live as long as these.
 */
#ifndef GGUF_GGUF_H
#define GGUF_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last failure, with a message: a sentence without the name of the file. */
struct gguf_error {
	char text[400];
	/* Whether memory is exhausted or the device failed, rather than the file is wrong. */
	bool machine;
};

/*
 * Both write *error and return -1. gguf_fail() makes the characters printable that come from the
 * file; gguf_fail_memory() says that memory is exhausted.
 */
int gguf_fail(struct gguf_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int gguf_fail_memory(struct gguf_error *error);

/* Bytes of the file, without a zero after them. */
struct gguf_text {
	const char *data;
	size_t size;
};

/* The arguments of "%.*s"; a long text is cut off. */
#define GGUF_ARGS(text) ((text).size < 120 ? (int)(text).size : 120), (text).data

bool gguf_text_is(struct gguf_text text, const char *other);
/* Compares texts by their bytes, as memcmp() does; a text comes after its own beginnings. */
int gguf_text_compare(struct gguf_text a, struct gguf_text b);

/* The kinds of values, with the numbers that files have for them. */
enum gguf_kind {
	GGUF_UINT8,
	GGUF_INT8,
	GGUF_UINT16,
	GGUF_INT16,
	GGUF_UINT32,
	GGUF_INT32,
	GGUF_FLOAT32,
	GGUF_BOOL,
	GGUF_STRING,
	GGUF_ARRAY,
	GGUF_UINT64,
	GGUF_INT64,
	GGUF_FLOAT64,
	GGUF_KINDS,
};

struct gguf_key {
	struct gguf_text name;
	bool array;
	enum gguf_kind kind; /* for an array, the kind of its items */
	size_t count;	     /* number of items; 1 for a value that is no array */
	const uint8_t *data; /* the items; a string is its length in 8 bytes, then its bytes */
};

struct gguf_tensor {
	struct gguf_text name;
	const struct import_block_type *type;
	uint32_t rank;
	uint64_t size[4]; /* the innermost dimension comes first; those beyond the rank are 1 */
	uint64_t elements, bytes;
	const uint8_t *data;
};

struct gguf {
	const uint8_t *data; /* all of the file */
	size_t size;
	bool mapped;
	uint32_t version, alignment;
	size_t key_count, tensor_count;
	struct gguf_key *keys;	     /* sorted by name */
	struct gguf_tensor *tensors; /* sorted by name */
};

/*
 * gguf_open() maps a file; gguf_read() reads memory that has to live as long as the object. Both
 * return 0, or -1 with a message, and then nothing is to be closed.
 */
int gguf_open(struct gguf *gguf, const char *path, struct gguf_error *error);
int gguf_read(struct gguf *gguf, const void *data, size_t size, struct gguf_error *error);
void gguf_close(struct gguf *gguf);

/* Returns whether the file at this path begins as a file of GGUF does. */
bool gguf_is(const char *path);

/* gguf_key() and gguf_tensor() return NULL when there is none of this name. */
const struct gguf_key *gguf_key(const struct gguf *gguf, const char *name);
const struct gguf_tensor *gguf_tensor(const struct gguf *gguf, const char *name);

/*
 * Read a key into *value, which stays as it is when there is no such key. They return 0, or -1 with
 * a message when its value is of another kind; gguf_number() also when it is more than @most,
 * gguf_real() also when it is infinite or NaN.
 */
int gguf_number(const struct gguf *gguf, const char *name, uint64_t most, uint64_t *value,
		struct gguf_error *error);
int gguf_real(const struct gguf *gguf, const char *name, double *value, struct gguf_error *error);
int gguf_flag(const struct gguf *gguf, const char *name, bool *value, struct gguf_error *error);
int gguf_string(const struct gguf *gguf, const char *name, struct gguf_text *value,
		struct gguf_error *error);

/*
 * Returns the strings of an array, which gguf_free() frees, and writes their number to *count. NULL
 * after a failure, also when there is no such key.
 */
struct gguf_text *gguf_strings(const struct gguf *gguf, const char *name, size_t *count,
			       struct gguf_error *error);
/*
 * Returns the items of an array of integers of 32 bits or of floats. NULL when there is no such
 * key, where *error stays as it is, and with a message when it has other items or not @count of
 * them.
 * The data may be unaligned: read them with memcpy().
 */
const uint8_t *gguf_items(const struct gguf *gguf, const char *name, enum gguf_kind kind,
			  size_t count, struct gguf_error *error);

void gguf_free(void *memory);

#endif
