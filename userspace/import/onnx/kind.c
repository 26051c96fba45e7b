// SPDX-License-Identifier: MIT
/* Recognises files that are no ONNX model, and tells what to do with them. */
#include "kind.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

#define TENSORRT                                                                                  \
	"an engine of TensorRT, which runs on one kind of GPU alone: take the .onnx file it was " \
	"made of"
#define SAVED_MODEL "a SavedModel of TensorFlow: convert its folder with tf2onnx --saved-model"
#define CORE_ML                                                                              \
	"a model of Core ML: take the model that it was converted from, and export that as " \
	"ONNX"

static const struct {
	size_t offset, size;
	const char *bytes;
	const char *is;
} kinds[] = {
#define KIND(offset, bytes, is) { offset, sizeof(bytes) - 1, bytes, is }
	KIND(0, "version https://git-lfs",
	     "a pointer of Git LFS: fetch the model itself with git lfs pull"),
	KIND(0, "ftrt", TENSORRT),
	KIND(0, "ptrt", TENSORRT),
	KIND(0, "GGUF",
	     "a file of llama.cpp (GGUF): webnn-run generate runs it, or take the ONNX export of "
	     "the model"),
	KIND(4, "TFL3", "a model of TensorFlow Lite: convert it with tf2onnx"),
	KIND(4, "ORTM", "a model in ONNX Runtime's own format: take the .onnx file it was made of"),
	KIND(0, "\x89HDF\r\n\x1a\n",
	     "a file of HDF5, as Keras saves models: convert it with tf2onnx"),
	KIND(0, "ML\xefR", "bytecode of MLIR: load it with libwebnn-stablehlo"),
	KIND(0, "\x93NUMPY", "an array of numpy: it goes to an input, not in place of the model"),
	KIND(0, "\x1f\x8b", "compressed with gzip: unpack it with gunzip"),
	KIND(0,
	     "\xfd"
	     "7zXZ",
	     "compressed with xz: unpack it with unxz"),
	KIND(0, "\x28\xb5\x2f\xfd", "compressed with zstd: unpack it with unzstd"),
	KIND(0, "BZh", "compressed with bzip2: unpack it with bunzip2"),
	KIND(0, "7z\xbc\xaf\x27\x1c", "an archive of 7-Zip: unpack it"),
	KIND(257, "ustar", "an archive of tar: unpack it"),
	KIND(0, "\x80\x02",
	     "pickled by Python, as PyTorch saves weights: export the model with "
	     "torch.onnx.export"),
	KIND(0, "\x80\x03", "pickled by Python: export the model as ONNX"),
	KIND(0, "\x80\x04", "pickled by Python: export the model as ONNX"),
	KIND(0, "\x80\x05", "pickled by Python: export the model as ONNX"),
	KIND(0,
	     "\x7f"
	     "ELF",
	     "a program or library"),
	KIND(0, "\x89PNG", "a picture (PNG): it goes to an input, not in place of the model"),
	KIND(0, "\xff\xd8\xff", "a picture (JPEG): it goes to an input, not in place of the model"),
	KIND(0, "%PDF", "a document (PDF)"),
	KIND(0, "\xff\xfe", "text in UTF-16: an .onnx file is wanted"),
	KIND(0, "\xfe\xff", "text in UTF-16: an .onnx file is wanted"),
	KIND(0, "RIFF", "a sound or film (RIFF)"),
#undef KIND
};

static bool contains(const uint8_t *data, size_t size, const char *text)
{
	size = size < 4096 ? size : 4096;
	return memmem(data, size, text, strlen(text)) != NULL;
}

/* Returns the length of the UTF-8 character at the start of some bytes; 0: they are no UTF-8. */
static size_t character(const uint8_t *data, size_t size)
{
	size_t length = data[0] < 0x80 ? 1 :
			data[0] < 0xc2 ? 0 :
			data[0] < 0xe0 ? 2 :
			data[0] < 0xf0 ? 3 :
			data[0] < 0xf5 ? 4 :
					 0;

	for (size_t i = 1; i < length && i < size; i++)
		if ((data[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

static bool is_text(const uint8_t *data, size_t size)
{
	for (size_t i = 0, length; i < size && i < 256; i += length) {
		length = character(data + i, size - i);
		if (!length || data[i] == 0x7f ||
		    (data[i] < ' ' && data[i] != '\n' && data[i] != '\r' && data[i] != '\t'))
			return false;
	}
	return true;
}

/*
 * Whether a file begins with zeros only: its download has not finished, or a broken disk has lost
 * the content.
 */
static bool is_zero(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size && i < 4096; i++)
		if (data[i])
			return false;
	return true;
}

/* Reads a number of protobuf at *at, which moves to its end; false: there is none. */
static bool read_number(const uint8_t *data, size_t size, size_t *at, uint64_t *number)
{
	size_t length = onnx_wire_number(data + *at, size - *at, number);

	*at += length;
	return length;
}

/*
 * Whether a file begins with a node of TensorFlow: a message as field 1, which begins with a name
 * as field 1 and an operator as field 2. Field 1 of an ONNX model is a number.
 */
static bool is_tensorflow(const uint8_t *data, size_t size)
{
	uint64_t length;
	size_t at = 1;

	if (!size || data[0] != 0x0a || !read_number(data, size, &at, &length))
		return false;
	if (at + 1 >= size || data[at] != 0x0a || data[at + 1] & 0x80)
		return false;
	at += 2 + data[at + 1];
	return at < size && data[at] == 0x12;
}

/*
 * Returns what a file is that begins as a model of ONNX does, with a version as field 1 and bytes
 * as field 2, but is none; NULL: not known. A SavedModel has graphs as field 2 up to its end, a
 * model of Core ML has field 10 or fields from 200 on.
 */
static const char *kind_of_fields(const uint8_t *data, size_t size)
{
	uint64_t field, length, version;
	size_t at = 0;

	if (!read_number(data, size, &at, &field) || field != (1 << 3) ||
	    !read_number(data, size, &at, &version))
		return NULL;
	for (size_t count = 0; at < size; count++) {
		if (!read_number(data, size, &at, &field))
			return NULL;
		if (count && (field == (10 << 3) || (field & 7) == 2) &&
		    (field >> 3 == 10 || (field >> 3 >= 200 && field >> 3 < 5000)))
			return CORE_ML;
		/*
		 * Field 2 of an ONNX model is a name, which does not begin with the bytes 0x0a or
		 * 0x12 of a message.
		 */
		if (field != (2 << 3 | 2) || !read_number(data, size, &at, &length) || length < 2 ||
		    length > size - at || (data[at] != 0x0a && data[at] != 0x12))
			return NULL;
		at += length;
	}
	return version == 1 ? SAVED_MODEL : NULL;
}

static const char *kind_of_text(const uint8_t *data, size_t size)
{
	size_t at = 0;

	/* Skip a byte order mark in front of the text. */
	if (size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3))
		at = 3;
	if (!is_text(data, size))
		return NULL;
	while (at < size && strchr(" \t\r\n", data[at]))
		at++;
	if (at == size)
		return "of blanks only";
	if (contains(data, size, "ir_version") || contains(data, size, "opset_import"))
		return "a model of ONNX in text form: convert it with onnx.save in Python";
	if (contains(data, size, "module @") || contains(data, size, "func.func"))
		return "a program of MLIR: load it with libwebnn-stablehlo";
	if (contains(data, size, "<html") || contains(data, size, "<HTML") ||
	    contains(data, size, "<!DOCTYPE") || contains(data, size, "<!doctype"))
		return "a web page: fetch the file itself, not the page about it";
	if (data[at] == '<')
		return "XML; a model of OpenVINO is converted from ONNX, so take the .onnx file";
	if (data[at] == '{' || data[at] == '[')
		return "JSON: an .onnx file is wanted";
	return "text: an .onnx file is wanted";
}

const char *onnx_kind_of_file(const uint8_t *data, size_t size)
{
	uint64_t header = 0;
	const char *is;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (size >= kinds[i].offset + kinds[i].size &&
		    !memcmp(data + kinds[i].offset, kinds[i].bytes, kinds[i].size))
			return kinds[i].is;
	if (size >= 4 && !memcmp(data, "PK\x03\x04", 4))
		return contains(data, size, "data.pkl") || contains(data, size, "constants.pkl") ?
			       "a model of PyTorch: export it with torch.onnx.export" :
		       contains(data, size, ".npy") ?
			       "arrays of numpy (.npz): they go to inputs, not in place of the model" :
		       contains(data, size, "keras") || contains(data, size, "config.json") ?
			       "a model of Keras: convert it with tf2onnx" :
			       "a zip archive: unpack it";
	/* A file of safetensors begins with 8 bytes of length and a header of JSON. */
	for (int i = 0; size > 9 && i < 8; i++)
		header |= (uint64_t)data[i] << (8 * i);
	if (size > 9 && header < size && data[8] == '{')
		return "weights alone (safetensors): export the model as ONNX";
	/* Ultralytics writes the length of a text of JSON, and that text, in front of an engine. */
	header &= UINT32_MAX;
	if (size > 9 && data[4] == '{' && header + 8 <= size &&
	    !memcmp(data + 4 + header, "ftrt", 4))
		return TENSORRT;
	is = kind_of_fields(data, size);
	if (is)
		return is;
	if (is_zero(data, size))
		return "of zeros only: fetch it anew";
	if (is_tensorflow(data, size))
		return "a graph of TensorFlow: convert it with tf2onnx";
	return kind_of_text(data, size);
}

const char *onnx_kind_of_folder(const char *path)
{
	static const struct {
		const char *holds, *is;
	} folders[] = {
		{ "saved_model.pb", SAVED_MODEL },
		{ "keras_metadata.pb", SAVED_MODEL },
		{ "Manifest.json", CORE_ML },
		{ "coremldata.bin", CORE_ML },
	};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char name[PATH_MAX];
		int length = snprintf(name, sizeof(name), "%s/%s", path, folders[i].holds);

		if (length > 0 && (size_t)length < sizeof(name) && !access(name, F_OK))
			return folders[i].is;
	}
	return "a folder: give the .onnx file in it";
}
