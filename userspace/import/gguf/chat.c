// SPDX-License-Identifier: MIT
/* The forms of conversations, which are recognised by the text of the template. */
#include "chat.h"

#include <string.h>

#include "../common/memory.h"

/*
 * A form of conversations: texts that every template of this form has, and the texts around the
 * system message and around the user's message.
 */
static const struct form {
	const char *signs[2];
	const char *system_begin, *system_end;
	const char *begin, *end;
} forms[] = {
	{ { "<|im_start|>" },
	  "<|im_start|>system\n",
	  "<|im_end|>",
	  "<|im_start|>user\n",
	  "<|im_end|>\n<|im_start|>assistant\n" },
	{ { "<|start_header_id|>", "<|eot_id|>" },
	  NULL,
	  NULL,
	  "<|start_header_id|>user<|end_header_id|>\n\n",
	  "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n" },
	{ { "[INST]", "<<SYS>>" }, NULL, NULL, "[INST] ", " [/INST]" },
};

/* Templates have some ten KiB. The search for a system message takes their square at worst. */
#define MAX_TEMPLATE (1 << 18)

static bool has(struct gguf_text text, const char *sign)
{
	return !sign || memmem(text.data, text.size, sign, strlen(sign));
}

/*
 * Finds the system message that a template has for conversations without one: a literal of the
 * template from system_begin to system_end, both included. Returns whether there is one.
 */
static bool find_system(struct gguf_text text, const struct form *form, struct gguf_text *system)
{
	size_t begin_size = strlen(form->system_begin), end_size = strlen(form->system_end);

	while (text.size) {
		const char *at = memmem(text.data, text.size, form->system_begin, begin_size);
		const char *end;
		size_t left;

		if (!at)
			return false;
		left = text.size - (size_t)(at - text.data);
		end = memmem(at, left, form->system_end, end_size);
		if (!end)
			return false;
		/* A quote ends the literal: an expression follows. */
		if (!memchr(at, '\'', (size_t)(end - at)) && !memchr(at, '"', (size_t)(end - at))) {
			*system = (struct gguf_text){ at, (size_t)(end - at) + end_size };
			return true;
		}
		text = (struct gguf_text){ at + begin_size, left - begin_size };
	}
	return false;
}

/* Returns a copy of a template in which new lines are no longer written as \n. */
static char *plain(struct gguf_text text, size_t *size)
{
	char *copy = import_alloc(text.size);

	*size = 0;
	for (size_t i = 0; copy && i < text.size; i++) {
		bool escape = text.data[i] == '\\' && i + 1 < text.size && text.data[i + 1] == 'n';

		copy[(*size)++] = escape ? '\n' : text.data[i];
		i += escape;
	}
	return copy;
}

static char *join(const struct form *form, struct gguf_text system, struct gguf_text message,
		  size_t *size)
{
	size_t begin = strlen(form->begin), end = strlen(form->end);
	char *text, *at;

	*size = system.size + (system.size != 0) + begin + message.size + end;
	text = import_alloc(*size);
	if (!text)
		return NULL;
	at = text;
	if (system.size) {
		at = mempcpy(at, system.data, system.size);
		*at++ = '\n';
	}
	at = mempcpy(at, form->begin, begin);
	if (message.size)
		at = mempcpy(at, message.data, message.size);
	memcpy(at, form->end, end);
	return text;
}

char *gguf_chat(const struct gguf *gguf, struct gguf_text message, size_t *size,
		struct gguf_error *error)
{
	struct gguf_text text = { "", 0 }, system = { "", 0 };
	const struct form *form = NULL;
	char *copy, *result;

	if (gguf_string(gguf, "tokenizer.chat_template", &text, error))
		return NULL;
	if (!text.size) {
		gguf_fail(error, "it has no template for conversations: use --raw");
		return NULL;
	}
	if (text.size > MAX_TEMPLATE) {
		gguf_fail(
			error,
			"its template for conversations has %zu bytes; %d are the most: use --raw",
			text.size, MAX_TEMPLATE);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && !form; i++)
		if (has(text, forms[i].signs[0]) && has(text, forms[i].signs[1]))
			form = &forms[i];
	if (!form) {
		gguf_fail(error, "its template for conversations is unknown (known are ChatML, and "
				 "those of Llama 2 and 3): use --raw");
		return NULL;
	}
	copy = plain(text, &text.size);
	text.data = copy;
	if (copy && form->system_begin)
		find_system(text, form, &system);
	result = copy ? join(form, system, message, size) : NULL;
	import_free(copy);
	if (!result)
		gguf_fail_memory(error);
	return result;
}
