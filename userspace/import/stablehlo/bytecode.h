/* SPDX-License-Identifier: MIT */
/*
 * The reader of MLIR's bytecode with operations of VHLO, the portable form of StableHLO. Tables of
 * strings, dialects, attributes, types and operation names come first; the operations refer to
 * them.
 */
#ifndef SHLO_BYTECODE_H
#define SHLO_BYTECODE_H

#include "reader.h"

/* Versions of the format; each is named after what it adds. */
enum shlo_bytecode_version {
	SHLO_BYTECODE_DIALECT_VERSIONS = 1,
	SHLO_BYTECODE_LAZY_REGIONS = 2,
	SHLO_BYTECODE_USE_ORDERS = 3,
	SHLO_BYTECODE_NO_UNKNOWN_LOCATIONS = 4,
	SHLO_BYTECODE_PROPERTIES = 5,
	SHLO_BYTECODE_NEWEST = 6,
};

enum shlo_section {
	SHLO_SECTION_STRINGS,
	SHLO_SECTION_DIALECTS,
	SHLO_SECTION_ATTRS,
	SHLO_SECTION_ATTR_OFFSETS,
	SHLO_SECTION_IR,
	SHLO_SECTION_RESOURCES,
	SHLO_SECTION_RESOURCE_OFFSETS,
	SHLO_SECTION_DIALECT_VERSIONS,
	SHLO_SECTION_PROPERTIES,
	SHLO_SECTION_COUNT,
};

struct shlo_bytecode;

/* A range of the file that is read from start to end. */
struct shlo_bytes {
	struct shlo_bytecode *code;
	const uint8_t *at, *end;
};

/* An attribute or a type, which is decoded when it is first used. */
struct shlo_entry {
	const char *dialect;
	struct shlo_bytes bytes;
	bool custom; /* in its dialect's encoding; false: as text */
	bool busy;   /* being decoded: an entry that contains itself is an error */
	const struct shlo_attr *attr;
	const struct shlo_type *type;
};

struct shlo_blob {
	const char *key;
	const uint8_t *data;
	size_t size;
};

struct shlo_bytecode {
	/* what the functions of reader.h need, which make values, operations and attributes */
	struct shlo_reader reader;
	bool in_function; /* the region of a function is being read */
	const uint8_t *start, *end;
	uint64_t version;
	struct shlo_bytes sections[SHLO_SECTION_COUNT];
	size_t string_count, dialect_count, attr_count, type_count, name_count, property_count,
		blob_count;
	const char **strings;
	size_t *string_sizes;
	const char **dialects;
	struct shlo_entry *attrs, *types;
	const char **names; /* names of operations, with their dialect */
	struct shlo_bytes *properties;
	struct shlo_blob *blobs;
};

/* Ends the reading with an error that names the byte. */
_Noreturn void shlo_bytes_error(struct shlo_bytes *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
uint8_t shlo_bytes_byte(struct shlo_bytes *b);
uint64_t shlo_bytes_varint(struct shlo_bytes *b);
/* Reads a number whose lowest bit is a flag: sets *flag, and returns the other bits. */
uint64_t shlo_bytes_flagged(struct shlo_bytes *b, bool *flag);
int64_t shlo_bytes_signed(struct shlo_bytes *b);
/* Reads a count of items; more than the bytes that are left are an error. */
size_t shlo_bytes_count(struct shlo_bytes *b);
/* Returns a range of the next @size bytes, and moves after them. */
struct shlo_bytes shlo_bytes_take(struct shlo_bytes *b, uint64_t size);
/* Reads an index and returns the string of that index; sets *size unless @size is NULL. */
const char *shlo_bytes_string(struct shlo_bytes *b, size_t *size);
/* Reads the header of a section: sets *id, returns the section's bytes, and moves after them. */
struct shlo_bytes shlo_bytes_section(struct shlo_bytes *b, unsigned int *id);

/*
 * Read an index, and return the attribute or type of that index. shlo_bytes_optional_attr() returns
 * NULL where the file says that there is none.
 */
const struct shlo_attr *shlo_bytes_attr(struct shlo_bytes *b);
const struct shlo_attr *shlo_bytes_optional_attr(struct shlo_bytes *b);
const struct shlo_type *shlo_bytes_type(struct shlo_bytes *b);
const struct shlo_type *shlo_bytes_flagged_type(struct shlo_bytes *b, bool *flag);
const struct shlo_type **shlo_bytes_types(struct shlo_bytes *b, size_t *count);
const int64_t *shlo_bytes_ints(struct shlo_bytes *b, size_t *count);
/* Reads the bits of a float of type @element, and returns the float. */
double shlo_bytes_real(struct shlo_bytes *b, enum shlo_element element);
/* Returns the line and column of a location; @otherwise when the location has none. */
struct shlo_location shlo_bytes_location(struct shlo_bytes *b, struct shlo_location otherwise);

/*
 * Read and return a type or an attribute in the encoding of the dialect VHLO, builtin or sdy; an
 * error leaves by the file's guard.
 */
const struct shlo_type *shlo_vhlo_read_type(struct shlo_bytes *b);
const struct shlo_type *shlo_builtin_read_type(struct shlo_bytes *b);
const struct shlo_attr *shlo_vhlo_read_attr(struct shlo_bytes *b);
const struct shlo_attr *shlo_builtin_read_attr(struct shlo_bytes *b);
const struct shlo_attr *shlo_sdy_read_attr(struct shlo_bytes *b);

/* Reads the operations of the file, after all tables. */
void shlo_bytecode_read_ir(struct shlo_bytecode *code);

#endif
