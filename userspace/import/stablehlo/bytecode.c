// SPDX-License-Identifier: MIT
/*
 * Reads MLIR bytecode: numbers, sections, and the tables of strings, dialects, attributes and
 * types.
 */
#include "bytecode.h"

#include <stdio.h>
#include <string.h>

#include "vhlo.h"

static const char magic[4] = { 'M', 'L', '\xef', 'R' };

bool shlo_is_bytecode(const void *data, size_t size)
{
	return size >= sizeof(magic) && !memcmp(data, magic, sizeof(magic));
}

void shlo_bytes_error(struct shlo_bytes *b, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	shlo_throw(b->code->reader.arena->guard, WNNStatus_OperationError, "byte %zu: %s",
		   (size_t)(b->at - b->code->start), text);
}

uint8_t shlo_bytes_byte(struct shlo_bytes *b)
{
	if (b->at == b->end)
		shlo_bytes_error(b, "the file ends, or a part of it, where more should be");
	return *b->at++;
}

/*
 * Reads and returns a number: as many bytes follow the first one as that one has zero bits at its
 * low end.
 */
uint64_t shlo_bytes_varint(struct shlo_bytes *b)
{
	uint8_t first = shlo_bytes_byte(b);
	int more = first ? __builtin_ctz(first) : 8;
	uint64_t value = 0;

	for (int i = 0; i < more; i++)
		value |= (uint64_t)shlo_bytes_byte(b) << (8 * i);
	if (more >= 7)
		return value;
	return value << (7 - more) | first >> (more + 1);
}

uint64_t shlo_bytes_flagged(struct shlo_bytes *b, bool *flag)
{
	uint64_t value = shlo_bytes_varint(b);

	*flag = value & 1;
	return value >> 1;
}

int64_t shlo_bytes_signed(struct shlo_bytes *b)
{
	uint64_t value = shlo_bytes_varint(b);

	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

size_t shlo_bytes_count(struct shlo_bytes *b)
{
	uint64_t count = shlo_bytes_varint(b);

	if (count > (uint64_t)(b->end - b->at))
		shlo_bytes_error(b, "a count of %llu is read here, but only %zu bytes are left",
				 (unsigned long long)count, (size_t)(b->end - b->at));
	return (size_t)count;
}

struct shlo_bytes shlo_bytes_take(struct shlo_bytes *b, uint64_t size)
{
	struct shlo_bytes part = { b->code, b->at, b->at };

	if (size > (uint64_t)(b->end - b->at))
		shlo_bytes_error(b, "expected %llu bytes here, but only %zu are left",
				 (unsigned long long)size, (size_t)(b->end - b->at));
	b->at += size;
	part.end = b->at;
	return part;
}

/* Returns an index, which must be below @count. */
static size_t index_of(struct shlo_bytes *b, uint64_t index, size_t count, const char *what)
{
	if (index >= count)
		shlo_bytes_error(b, "there is no %s with index %llu, there are %zu", what,
				 (unsigned long long)index, count);
	return (size_t)index;
}

static const char *string_at(struct shlo_bytes *b, uint64_t index, size_t *size)
{
	size_t at = index_of(b, index, b->code->string_count, "string");

	if (size)
		*size = b->code->string_sizes[at];
	return b->code->strings[at];
}

const char *shlo_bytes_string(struct shlo_bytes *b, size_t *size)
{
	return string_at(b, shlo_bytes_varint(b), size);
}

struct shlo_bytes shlo_bytes_section(struct shlo_bytes *b, unsigned int *id)
{
	uint8_t first = shlo_bytes_byte(b);
	uint64_t size = shlo_bytes_varint(b);

	*id = first & 0x7f;
	if (first & 0x80) {
		uint64_t alignment = shlo_bytes_varint(b);

		if (!alignment || alignment & (alignment - 1) || alignment > 1 << 20)
			shlo_bytes_error(b, "an alignment of %llu is no power of two up to 2^20",
					 (unsigned long long)alignment);
		while ((uint64_t)(b->at - b->code->start) & (alignment - 1))
			shlo_bytes_byte(b);
	}
	return shlo_bytes_take(b, size);
}

/* ---- tables */

/*
 * Reads the table of strings: their sizes come first, from the last string to the first, and each
 * string ends with a NUL.
 */
static void read_strings(struct shlo_bytecode *code, struct shlo_bytes b)
{
	size_t count = shlo_bytes_count(&b);
	const uint8_t *end = b.end;

	code->strings = shlo_arena_alloc(code->reader.arena, count, sizeof(*code->strings));
	code->string_sizes =
		shlo_arena_alloc(code->reader.arena, count, sizeof(*code->string_sizes));
	for (size_t i = count; i-- > 0;) {
		uint64_t size = shlo_bytes_varint(&b);

		if (b.at > end || !size || size > (uint64_t)(end - b.at) || end[-1])
			shlo_bytes_error(&b,
					 "string %zu has size %llu, which is 0 or more than the "
					 "bytes left, or does not end with a NUL",
					 i, (unsigned long long)size);
		end -= size;
		code->strings[i] = (const char *)end;
		code->string_sizes[i] = (size_t)size - 1;
	}
	if (end != b.at)
		shlo_bytes_error(&b, "%zu bytes in front of the strings belong to none of them",
				 (size_t)(end - b.at));
	code->string_count = count;
}

static const char *read_dialect(struct shlo_bytes *b)
{
	return b->code
		->dialects[index_of(b, shlo_bytes_varint(b), b->code->dialect_count, "dialect")];
}

static void read_dialect_name(struct shlo_bytecode *code, struct shlo_bytes *b, size_t i)
{
	unsigned int id;
	bool versioned = false;
	uint64_t index;

	if (code->version < SHLO_BYTECODE_DIALECT_VERSIONS)
		index = shlo_bytes_varint(b);
	else
		index = shlo_bytes_flagged(b, &versioned);
	code->dialects[i] = string_at(b, index, NULL);
	/*
	 * Skips the section with the dialect's version: VHLO has versions in the names of
	 * operations, types and attributes.
	 */
	if (versioned)
		shlo_bytes_section(b, &id);
}

static void read_dialects(struct shlo_bytecode *code, struct shlo_bytes b)
{
	struct shlo_arena *arena = code->reader.arena;
	size_t count = shlo_bytes_count(&b);

	code->dialects = shlo_arena_alloc(arena, count, sizeof(*code->dialects));
	for (size_t i = 0; i < count; i++)
		read_dialect_name(code, &b, i);
	code->dialect_count = count;
	/* The number of operation names, which is only a hint. */
	if (code->version >= SHLO_BYTECODE_NO_UNKNOWN_LOCATIONS)
		shlo_bytes_varint(&b);
	while (b.at < b.end) {
		const char *dialect = read_dialect(&b);

		for (size_t names = shlo_bytes_count(&b); names; names--) {
			bool registered;
			uint64_t index = code->version < SHLO_BYTECODE_PROPERTIES ?
						 shlo_bytes_varint(&b) :
						 shlo_bytes_flagged(&b, &registered);
			const char *name = string_at(&b, index, NULL);

			code->names = shlo_arena_grow(arena, code->names, code->name_count,
						      sizeof(*code->names));
			code->names[code->name_count++] =
				shlo_arena_printf(arena, "%s.%s", dialect, name);
		}
	}
}

/*
 * Reads the sizes of entries, in groups that have one dialect each, and returns entries with their
 * position in @bytes.
 */
static struct shlo_entry *read_entries(struct shlo_bytes *sizes, struct shlo_bytes *bytes,
				       size_t count)
{
	struct shlo_entry *entries =
		shlo_arena_alloc(sizes->code->reader.arena, count, sizeof(*entries));

	for (size_t i = 0; i < count;) {
		const char *dialect = read_dialect(sizes);
		size_t group = shlo_bytes_count(sizes);

		if (group > count - i)
			shlo_bytes_error(sizes, "a group has more entries than there are");
		for (; group; group--, i++) {
			uint64_t size = shlo_bytes_flagged(sizes, &entries[i].custom);

			entries[i].dialect = dialect;
			entries[i].bytes = shlo_bytes_take(bytes, size);
		}
	}
	return entries;
}

static void read_attrs(struct shlo_bytecode *code)
{
	struct shlo_bytes bytes = code->sections[SHLO_SECTION_ATTRS];
	struct shlo_bytes sizes = code->sections[SHLO_SECTION_ATTR_OFFSETS];
	size_t attrs = shlo_bytes_count(&sizes), types = shlo_bytes_count(&sizes);

	code->attrs = read_entries(&sizes, &bytes, attrs);
	code->types = read_entries(&sizes, &bytes, types);
	code->attr_count = attrs;
	code->type_count = types;
}

static void read_blob(struct shlo_bytecode *code, const char *key, struct shlo_bytes b)
{
	uint64_t alignment = shlo_bytes_varint(&b), size = shlo_bytes_varint(&b);
	struct shlo_bytes data;
	struct shlo_blob *blob;

	if (size > (uint64_t)(b.end - b.at))
		shlo_bytes_error(&b, "resource '%s' has %llu bytes, but only %zu are left", key,
				 (unsigned long long)size, (size_t)(b.end - b.at));
	/* Padding for the alignment comes first; the elements are at the end. */
	(void)alignment;
	shlo_bytes_take(&b, (uint64_t)(b.end - b.at) - size);
	data = shlo_bytes_take(&b, size);
	code->blobs = shlo_arena_grow(code->reader.arena, code->blobs, code->blob_count,
				      sizeof(*code->blobs));
	blob = &code->blobs[code->blob_count++];
	blob->key = key;
	blob->data = data.at;
	blob->size = (size_t)size;
}

static void read_resources(struct shlo_bytecode *code)
{
	enum { BLOB };
	struct shlo_bytes bytes = code->sections[SHLO_SECTION_RESOURCES];
	struct shlo_bytes sizes = code->sections[SHLO_SECTION_RESOURCE_OFFSETS];
	size_t external;

	if (!sizes.code || !bytes.code)
		return;
	external = shlo_bytes_count(&sizes);
	while (sizes.at < sizes.end) {
		size_t count;

		/*
		 * A group of a tool's resources begins with a string, a group of a dialect's
		 * resources with the dialect.
		 */
		if (external)
			shlo_bytes_string(&sizes, NULL);
		else
			read_dialect(&sizes);
		for (count = shlo_bytes_count(&sizes); count; count--) {
			const char *key = shlo_bytes_string(&sizes, NULL);
			struct shlo_bytes data = shlo_bytes_take(&bytes, shlo_bytes_varint(&sizes));
			uint8_t kind = shlo_bytes_byte(&sizes);

			if (kind == BLOB && !external)
				read_blob(code, key, data);
		}
		external -= external > 0;
	}
}

static void read_properties(struct shlo_bytecode *code)
{
	struct shlo_bytes b = code->sections[SHLO_SECTION_PROPERTIES];
	size_t count;

	if (!b.code)
		return;
	count = shlo_bytes_count(&b);
	code->properties = shlo_arena_alloc(code->reader.arena, count, sizeof(*code->properties));
	for (size_t i = 0; i < count; i++)
		code->properties[i] = shlo_bytes_take(&b, shlo_bytes_varint(&b));
	code->property_count = count;
}

/* ---- entries */

/* Reads an entry that is MLIR text, which dialects write that have no encoding of their own. */
static void read_entry_text(struct shlo_entry *entry, bool of_type)
{
	struct shlo_bytecode *code = entry->bytes.code;
	struct shlo_reader reader = code->reader;
	size_t size = (size_t)(entry->bytes.end - entry->bytes.at);
	const char *text = shlo_arena_text(reader.arena, (const char *)entry->bytes.at, size);

	reader.text = text;
	reader.at = text;
	reader.line_start = text;
	reader.end = text + strlen(text);
	if (of_type)
		entry->type = shlo_read_type(&reader);
	else
		entry->attr = shlo_read_attr(&reader);
}

static struct shlo_entry *entry_at(struct shlo_bytes *b, uint64_t index, bool of_type)
{
	struct shlo_bytecode *code = b->code;
	struct shlo_entry *entry =
		of_type ? &code->types[index_of(b, index, code->type_count, "type")] :
			  &code->attrs[index_of(b, index, code->attr_count, "attribute")];
	struct shlo_bytes bytes = entry->bytes;

	if (entry->attr || entry->type)
		return entry;
	if (entry->busy)
		shlo_bytes_error(b, "%s %llu contains itself", of_type ? "type" : "attribute",
				 (unsigned long long)index);
	entry->busy = true;
	shlo_enter(&code->reader);
	if (!entry->custom)
		read_entry_text(entry, of_type);
	else if (!strcmp(entry->dialect, "vhlo") && of_type)
		entry->type = shlo_vhlo_read_type(&bytes);
	else if (!strcmp(entry->dialect, "vhlo"))
		entry->attr = shlo_vhlo_read_attr(&bytes);
	else if (!strcmp(entry->dialect, "builtin") && of_type)
		entry->type = shlo_builtin_read_type(&bytes);
	else if (!strcmp(entry->dialect, "builtin"))
		entry->attr = shlo_builtin_read_attr(&bytes);
	else if (!strcmp(entry->dialect, "sdy") && !of_type)
		entry->attr = shlo_sdy_read_attr(&bytes);
	else
		shlo_bytes_error(&bytes,
				 "%s of dialect '%s' are not read: write the program as a "
				 "portable artifact, which has types of vhlo, and attributes of "
				 "vhlo and sdy",
				 of_type ? "types" : "attributes", entry->dialect);
	shlo_leave(&code->reader);
	entry->busy = false;
	return entry;
}

const struct shlo_attr *shlo_bytes_attr(struct shlo_bytes *b)
{
	return entry_at(b, shlo_bytes_varint(b), false)->attr;
}

const struct shlo_attr *shlo_bytes_optional_attr(struct shlo_bytes *b)
{
	bool there;
	uint64_t index = shlo_bytes_flagged(b, &there);

	return there ? entry_at(b, index, false)->attr : NULL;
}

const struct shlo_type *shlo_bytes_type(struct shlo_bytes *b)
{
	return entry_at(b, shlo_bytes_varint(b), true)->type;
}

const struct shlo_type *shlo_bytes_flagged_type(struct shlo_bytes *b, bool *flag)
{
	uint64_t index = shlo_bytes_flagged(b, flag);

	return entry_at(b, index, true)->type;
}

const struct shlo_type **shlo_bytes_types(struct shlo_bytes *b, size_t *count)
{
	const struct shlo_type **types;

	*count = shlo_bytes_count(b);
	types = shlo_arena_alloc(b->code->reader.arena, *count, sizeof(*types));
	for (size_t i = 0; i < *count; i++)
		types[i] = shlo_bytes_type(b);
	return types;
}

/* ---- the file */

static void read_header(struct shlo_bytecode *code, struct shlo_bytes *b)
{
	shlo_bytes_take(b, sizeof(magic));
	code->version = shlo_bytes_varint(b);
	if (code->version > SHLO_BYTECODE_NEWEST)
		shlo_bytes_error(b,
				 "this is version %llu of bytecode, the newest that is read is %d",
				 (unsigned long long)code->version, SHLO_BYTECODE_NEWEST);
	/* Skips the name of the program that wrote the file. */
	while (shlo_bytes_byte(b))
		;
}

void shlo_read_bytecode(struct shlo_file *file, const void *data, size_t size)
{
	struct shlo_bytecode *code = shlo_arena_alloc(&file->arena, 1, sizeof(*code));
	struct shlo_bytes b = { code, data, (const uint8_t *)data + size };

	code->start = b.at;
	code->end = b.end;
	code->reader.file = file;
	code->reader.arena = &file->arena;
	read_header(code, &b);
	while (b.at < b.end) {
		unsigned int id;
		struct shlo_bytes section = shlo_bytes_section(&b, &id);

		if (id >= SHLO_SECTION_COUNT || code->sections[id].code)
			shlo_bytes_error(&b, "section %u is not known, or occurs twice", id);
		code->sections[id] = section;
	}
	for (unsigned int id = 0; id <= SHLO_SECTION_IR; id++)
		if (!code->sections[id].code)
			shlo_bytes_error(&b, "section %u is missing", id);
	read_strings(code, code->sections[SHLO_SECTION_STRINGS]);
	read_dialects(code, code->sections[SHLO_SECTION_DIALECTS]);
	read_attrs(code);
	read_resources(code);
	read_properties(code);
	shlo_bytecode_read_ir(code);
}
