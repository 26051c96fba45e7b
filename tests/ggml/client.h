/* SPDX-License-Identifier: MIT */
/*
 * Declares a program that is not linked with ggml: it loads ggml's libraries and back ends, and
 * gets their functions by name.
 */
#ifndef TESTS_GGML_CLIENT_H
#define TESTS_GGML_CLIENT_H

#include "../../userspace/ggml/ggml.h"

struct gg_context;

/*
 * Takes the place of each structure that functions of llama.cpp take or return by value, and is
 * larger than all of them. The ABI passes such a structure in memory, and the callee uses the first
 * part of it.
 */
struct llama_params {
	_Alignas(8) char bytes[512];
};
struct llama_model;
struct llama_context;
struct llama_vocab;

struct gg_init {
	size_t size;
	void *memory;
	bool no_alloc;
};

/* Functions of libggml-base, libggml and libllama. */
struct client {
#define CALL(result, name, arguments) result(*name) arguments;
#include "calls.def"
#undef CALL
	struct gg_device *onpu, *cpu;
};
extern struct client gg;

/* Ends the program with a line on stderr. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * number_of() returns the number whose name is @name; @name_of is ggml's function that returns the
 * name of a number. type_number() returns the number of the type @name. Both end the program when
 * there is none.
 */
uint32_t number_of(const char *(*name_of)(uint32_t), const char *name);
uint32_t type_number(const char *name);

/* Loads ggml of a folder, its back end for the processor and ours. */
void client_load(const char *folder, const char *library);

#endif
