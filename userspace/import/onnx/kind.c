// SPDX-License-Identifier: MIT
/* Recognises files that are no ONNX model, and tells what to do with them. */
#include "kind.h"

#include <string.h>

static const struct {
	size_t offset, size;
	const char *bytes;
	const char *is;
} kinds[] = {
#define KIND(offset, bytes, is) { offset, sizeof(bytes) - 1, bytes, is }
	KIND(0, "version https://git-lfs",
	     "a pointer of Git LFS: fetch the model itself with git lfs pull"),
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
#undef KIND
};

static bool contains(const uint8_t *data, size_t size, const char *text)
{
	size = size < 4096 ? size : 4096;
	return memmem(data, size, text, strlen(text)) != NULL;
}

static bool is_text(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size && i < 256; i++)
		if ((data[i] < ' ' && data[i] != '\n' && data[i] != '\r' && data[i] != '\t') ||
		    data[i] == 0x7f)
			return false;
	return true;
}

static const char *kind_of_text(const uint8_t *data, size_t size)
{
	size_t at = 0;

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
	/* safetensors: 8 bytes of length, then a header of JSON. */
	for (int i = 0; size > 9 && i < 8; i++)
		header |= (uint64_t)data[i] << (8 * i);
	if (size > 9 && header < size && data[8] == '{')
		return "weights alone (safetensors): export the model as ONNX";
	return kind_of_text(data, size);
}
