// SPDX-License-Identifier: MIT
/* Arrays in .npz files, which numpy.savez writes: a zip archive with a .npy file for each array. */
#include "npz.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define END_SIZE  22 /* size of the record at the end of the archive, without its comment */
#define ITEM_SIZE 46 /* size of an item of the directory, without its names */
#define HEAD_SIZE 30 /* size of the header before a file's data, without its names */
/* Sizes of the record at the end of a Zip64 archive, and of the one that says where that is. */
#define WIDE_END_SIZE	56
#define WIDE_PLACE_SIZE 20
/* The most bytes of an array, packed or not: 16 GiB. */
#define MOST_SIZE ((uint64_t)1 << 34)

static int bad(const char *path, const char *what)
{
	warnx("%s: %s", path, what);
	return -1;
}

static uint64_t number(const uint8_t *bytes, int size)
{
	uint64_t value = 0;

	for (int i = size; i--;)
		value = value << 8 | bytes[i];
	return value;
}

static bool read_at(FILE *f, uint64_t at, void *data, size_t size)
{
	return at <= INT64_MAX && !fseeko(f, (off_t)at, SEEK_SET) &&
	       fread(data, 1, size, f) == size;
}

struct item {
	char name[256]; /* name of the array, without .npy */
	uint16_t method;
	uint64_t packed, size, offset;
};

struct archive {
	FILE *file;
	/* at: offset of the directory's next item; left: number of items from there */
	uint64_t at, left;
};

/*
 * Reads where the directory is in an archive whose directory begins at 4 GiB or later, or has
 * 65535 items or more: from the record of Zip64, whose place stands before the record at @end.
 */
static void read_wide_end(struct archive *archive, uint64_t end)
{
	uint8_t place[WIDE_PLACE_SIZE], record[WIDE_END_SIZE];

	if (end < sizeof(place) ||
	    !read_at(archive->file, end - sizeof(place), place, sizeof(place)) ||
	    memcmp(place, "PK\6\7", 4) ||
	    !read_at(archive->file, number(place + 8, 8), record, sizeof(record)) ||
	    memcmp(record, "PK\6\6", 4))
		return;
	archive->left = number(record + 32, 8);
	archive->at = number(record + 48, 8);
}

/*
 * Finds the directory by the record at the end, which a comment of at most 64 KiB may follow.
 * Returns false after a failure.
 */
static bool find_directory(struct archive *archive)
{
	uint8_t *tail = NULL;
	bool found = false;
	off_t size, whole;

	if (fseeko(archive->file, 0, SEEK_END) || (size = ftello(archive->file)) < END_SIZE)
		return false;
	whole = size;
	if (size > END_SIZE + UINT16_MAX)
		size = END_SIZE + UINT16_MAX;
	tail = malloc((size_t)size);
	if (tail && !fseeko(archive->file, -size, SEEK_END) &&
	    fread(tail, 1, (size_t)size, archive->file) == (size_t)size)
		for (off_t i = size - END_SIZE; i >= 0 && !found; i--) {
			found = !memcmp(tail + i, "PK\5\6", 4);
			if (found) {
				archive->left = number(tail + i + 10, 2);
				archive->at = number(tail + i + 16, 4);
				if (archive->left == UINT16_MAX || archive->at == UINT32_MAX)
					read_wide_end(archive, (uint64_t)(whole - size + i));
			}
		}
	free(tail);
	return found;
}

/*
 * Reads sizes and offsets of 4 GiB and more, which are in the extra field of Zip64; the usual
 * fields have the largest number of 32 bits then.
 */
static void read_wide(struct item *item, const uint8_t *extra, size_t size)
{
	uint64_t *const fields[] = { &item->size, &item->packed, &item->offset };
	size_t at = 0, used = 4;

	while (at + 4 <= size && number(extra + at, 2) != 1)
		at += 4 + (size_t)number(extra + at + 2, 2);
	for (int i = 0; i < 3; i++)
		if (*fields[i] == UINT32_MAX && at + used + 8 <= size) {
			*fields[i] = number(extra + at + used, 8);
			used += 8;
		}
}

static bool next_item(struct archive *archive, struct item *item)
{
	uint8_t head[ITEM_SIZE], extra[1024];
	size_t name, more, length;

	if (!archive->left || !read_at(archive->file, archive->at, head, sizeof(head)) ||
	    memcmp(head, "PK\1\2", 4))
		return false;
	*item = (struct item){ .method = (uint16_t)number(head + 10, 2),
			       .packed = number(head + 20, 4),
			       .size = number(head + 24, 4),
			       .offset = number(head + 42, 4) };
	name = number(head + 28, 2);
	more = number(head + 30, 2);
	length = name < sizeof(item->name) ? name : sizeof(item->name) - 1;
	if (!read_at(archive->file, archive->at + ITEM_SIZE, item->name, length))
		return false;
	if (length > 4 && !strcmp(item->name + length - 4, ".npy"))
		item->name[length - 4] = 0;
	if (more <= sizeof(extra) &&
	    read_at(archive->file, archive->at + ITEM_SIZE + name, extra, more))
		read_wide(item, extra, more);
	archive->at += ITEM_SIZE + name + more + number(head + 32, 2);
	archive->left--;
	return true;
}

/*
 * Finds the array @name, or the only array if @name is NULL. Returns 0 when it is found; -1 when
 * the archive cannot be read or is empty; the number of arrays when none is called @name; 2 when
 * @name is NULL and there are several. The caller closes *file, which is NULL when the archive
 * cannot be opened.
 */
static int find(const char *path, const char *name, struct item *item, FILE **file)
{
	struct archive archive = { .file = fopen(path, "rb") };
	struct item one;
	bool found = false;
	int count = 0;

	*file = archive.file;
	if (!archive.file || !find_directory(&archive))
		return -1;
	while (!found && next_item(&archive, &one)) {
		found = !name || !strcmp(one.name, name);
		if (found)
			*item = one;
		count++;
	}
	if (found && !name && next_item(&archive, &one))
		return count + 1;
	return found ? 0 : count ? count : -1;
}

bool npz_is(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && !strcmp(path + length - 4, ".npz");
}

/* Says why find() found nothing in an archive. Always returns -1. */
static int bad_archive(const char *path, const FILE *file)
{
	return bad(path, file ? "this is no archive of numpy, is damaged, or has no array" :
				strerror(errno));
}

int npz_check(const char *path)
{
	struct item item;
	FILE *file;
	int ret = find(path, NULL, &item, &file);

	if (ret < 0)
		bad_archive(path, file);
	if (file)
		fclose(file);
	return ret < 0 ? -1 : 0;
}

bool npz_has(const char *path, const char *name)
{
	struct item item;
	FILE *file;
	int ret = find(path, name, &item, &file);

	if (file)
		fclose(file);
	return !ret;
}

static bool inflate_all(const uint8_t *packed, const struct item *item, uint8_t *data)
{
	z_stream stream = { .next_in = (uint8_t *)(uintptr_t)packed,
			    .avail_in = (uInt)item->packed,
			    .next_out = data,
			    .avail_out = (uInt)item->size };
	bool good = inflateInit2(&stream, -MAX_WBITS) == Z_OK;

	good = good && inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == item->size;
	inflateEnd(&stream);
	return good;
}

/* Reports an array that is too large: zlib counts compressed bytes in 32 bits. Returns -1. */
static int too_big(const char *path, const struct item *item)
{
	uint64_t most = item->method == 8 ? UINT32_MAX : MOST_SIZE;

	warnx("%s: \"%s\" has %" PRIu64 " bytes, at most %" PRIu64 " are read%s", path, item->name,
	      item->size > item->packed ? item->size : item->packed, most,
	      item->method == 8 ?
		      " of a packed array: write it with numpy.savez, which does not pack" :
		      "");
	return -1;
}

static int unpack(struct npy *array, const char *path, const struct item *item, FILE *file)
{
	uint8_t head[HEAD_SIZE], *packed = NULL, *data = NULL;
	int ret = -1;
	FILE *inner;

	if (item->size > MOST_SIZE || item->packed > MOST_SIZE ||
	    (item->method == 8 && (item->size > UINT32_MAX || item->packed > UINT32_MAX)))
		return too_big(path, item);
	if (item->method != 0 && item->method != 8)
		return bad(path, "it is packed in a way that is not known: write it with "
				 "numpy.savez");
	if (!item->size)
		return bad(path, "an array in it is empty: it has not even a header");
	if (!read_at(file, item->offset, head, sizeof(head)) || memcmp(head, "PK\3\4", 4))
		return bad(path, "the archive is damaged");
	packed = malloc((size_t)item->packed + 1);
	data = item->method ? malloc((size_t)item->size + 1) : packed;
	if (packed && data &&
	    read_at(file, item->offset + HEAD_SIZE + number(head + 26, 2) + number(head + 28, 2),
		    packed, (size_t)item->packed) &&
	    (item->method ? inflate_all(packed, item, data) : item->packed == item->size)) {
		inner = fmemopen(data, (size_t)item->size, "rb");
		ret = inner ? npy_read(array, inner, path) : bad(path, strerror(errno));
		if (inner)
			fclose(inner);
	} else {
		bad(path, "the archive is damaged, or memory is exhausted");
	}
	if (data != packed)
		free(data);
	free(packed);
	return ret;
}

int npz_load(struct npy *array, const char *path, const char *name)
{
	struct item item;
	FILE *file;
	int ret = find(path, name, &item, &file);

	memset(array, 0, sizeof(*array));
	/* The only array may have any name. */
	if (ret == 1 && name) {
		fclose(file);
		ret = find(path, NULL, &item, &file);
	}
	if (!ret)
		ret = unpack(array, path, &item, file);
	else if (ret < 0)
		bad_archive(path, file);
	else if (name)
		warnx("%s: none of its %d arrays is called \"%s\"", path, ret, name);
	else
		bad(path, "it has several arrays, but one is needed");
	if (file)
		fclose(file);
	return ret ? -1 : 0;
}
