// SPDX-License-Identifier: MIT
/*
 * Tests damaged models and exhausted memory: test_damage FOLDER imports each model in the folder
 * truncated after every byte, with every single bit flipped, and with every single allocation
 * failing. Each import must end with a status; the sanitizers find other errors.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#include "memory.h"

static WNNContext context;

static WNNStatus import(const uint8_t *data, size_t size)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand const *outputs;
	WNNOnnxModel model = NULL;
	WNNStatus status = wnnOnnxLoadMemory(data, size, NULL, &model);
	size_t count;

	if (status == WNNStatus_Success) {
		wnnOnnxModelGetInputs(model);
		wnnOnnxModelGetOutputs(model);
		/*
		 * The call fails when no input has a dimension of that name, which does not matter
		 * here.
		 */
		wnnOnnxModelSetDimension(model, WNN_STR("n"), 3);
		status = wnnOnnxModelAddToBuilder(model, builder, &count, &outputs);
	}
	wnnOnnxModelRelease(model);
	wnnGraphBuilderRelease(builder);
	return status;
}

static int fails(const char *name, const char *what, size_t at)
{
	WNNError error = WNN_ERROR_INIT;

	wnnOnnxGetLastError(&error);
	printf("%s: %s %zu: %.*s\n", name, what, at, (int)error.message.length,
	       error.message.data ? error.message.data : "");
	return 1;
}

static int test(const char *name, uint8_t *data, size_t size)
{
	if (import(data, size) != WNNStatus_Success)
		return fails(name, "whole", size);
	for (size_t i = 0; i < size; i++) {
		/* The copy has the exact size, so that the sanitizers find reads beyond it. */
		uint8_t *part = malloc(i + 1);

		memcpy(part, data, i);
		import(part, i);
		free(part);
	}
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = data[i];

		for (int bit = 0; bit < 8; bit++) {
			data[i] = (uint8_t)(byte ^ 1 << bit);
			import(data, size);
		}
		data[i] = byte;
	}
	for (int64_t i = 0;; i++) {
		WNNStatus status;

		import_memory_left = i;
		status = import(data, size);
		if (import_memory_left != 0) {
			import_memory_left = -1;
			break;
		}
		import_memory_left = -1;
		if (status != WNNStatus_UnknownError && status != WNNStatus_Success)
			return fails(name, "allocation", (size_t)i);
	}
	return import(data, size) != WNNStatus_Success;
}

static int test_file(const char *folder, const char *name)
{
	static uint8_t data[65536];
	char path[4096];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	size = file ? fread(data, 1, sizeof(data), file) : 0;
	if (file)
		fclose(file);
	if (!size)
		return fails(path, "cannot be read, byte", 0);
	return test(path, data, size);
}

/*
 * Encoded parts of models: MODEL() has IR version 8 and the beginning of a graph of the given
 * length; the other macros are fields of that graph.
 */
#define MODEL(length) "\x08\x08\x3a" length
#define NEG(x, y)     "\x0a\x0b\x0a\x01" x "\x12\x01" y "\x22\x03Neg"
#define WEIGHT(name)  "\x2a\x03\x42\x01" name
#define INPUT(name)   "\x5a\x03\x0a\x01" name
#define OUTPUT(name)  "\x62\x03\x0a\x01" name

/* Malformed models, and the errors that loading them gives. */
static const struct {
	const char *bytes;
	size_t size;
	const char *error;
} models[] = {
#define ROW(bytes, error) { bytes, sizeof(bytes) - 1, error }
	/* The output has only a type, which is empty. */
	ROW(MODEL("\x04") "\x62\x02\x12\x00", "an output has no name"),
	ROW(MODEL("\x12") NEG("z", "y") OUTPUT("y"),
	    "node \"y\" (Neg) has an input that is no output of another node, no input and no "
	    "constant: \"z\""),
	ROW(MODEL("\x1a") NEG("x", "y") NEG("y", "x"), "node \"y\" (Neg) needs its own result"),
	ROW(MODEL("\x1a") NEG("x", "y") NEG("x", "y"),
	    "node \"y\" (Neg) defines \"y\" a second time"),
	ROW(MODEL("\x12") NEG("x", "w") WEIGHT("w"),
	    "node \"w\" (Neg) defines \"w\" a second time"),
	ROW(MODEL("\x12") NEG("x", "x") INPUT("x"), "node \"x\" (Neg) defines \"x\" a second time"),
	ROW(MODEL("\x0a") "\x0a\x03\x12\x01y" OUTPUT("y"), "node \"y\" has no operator"),
	ROW("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a number has more than 10 bytes"),
#undef ROW
};

static int test_errors(void)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		WNNError error = WNN_ERROR_INIT;
		char wanted[200];

		snprintf(wanted, sizeof(wanted), "the model is damaged: %s", models[i].error);
		if (import((const uint8_t *)models[i].bytes, models[i].size) !=
		    WNNStatus_OperationError)
			return fails("errors", "status of model", i);
		wnnOnnxGetLastError(&error);
		if (error.message.length != strlen(wanted) ||
		    memcmp(error.message.data, wanted, strlen(wanted)))
			return fails("errors", "message of model", i);
	}
	return 0;
}

static int test_name_of_file(void)
{
	char name[] = "/tmp/onnx-damage-XXXXXX";
	WNNError error = WNN_ERROR_INIT;
	WNNOnnxModel model = NULL;
	int fd = mkstemp(name);

	if (fd < 0 || write(fd, "\010\010\072\177\001\001\001\001", 8) != 8)
		return 1;
	close(fd);
	if (wnnOnnxLoadFile(WNN_STR(name), NULL, &model) != WNNStatus_OperationError)
		return 1;
	unlink(name);
	wnnOnnxGetLastError(&error);
	if (error.message.length > strlen(name) &&
	    !memcmp(error.message.data, name, strlen(name)) &&
	    !memcmp(error.message.data + strlen(name), ": the model is damaged", 22))
		return 0;
	printf("a damaged file: %.*s\n", (int)error.message.length, error.message.data);
	return 1;
}

int main(int argc, char **argv)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);
	DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
	int failed, count = 0;

	device.device = WNN_STR("cpu");
	options.nextInChain = &device.chain;
	if (!folder || wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context))
		return 1;
	failed = test_errors() | test_name_of_file();
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		if (entry->d_name[0] == '.')
			continue;
		failed |= test_file(argv[1], entry->d_name);
		count++;
	}
	closedir(folder);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return failed || !count;
}
