// SPDX-License-Identifier: MIT
/* The forms of conversations, which are recognised by the text of the template. */
#include "chat.h"

#include <string.h>

#include "../common/memory.h"

/*
 * A form of conversations: texts that every template of this form has, and for each role the texts
 * around its message.
 */
static const struct form {
	const char *signs[2];
	const char *begin[GGUF_ROLES], *end[GGUF_ROLES];
	const char *answer; /* what the text of a conversation ends with: the answer follows */
	/* The system message stands within the first message of the user. */
	bool nested;
} forms[] = {
	{ { "<|im_start|>" },
	  { "<|im_start|>system\n", "<|im_start|>user\n", "<|im_start|>assistant\n" },
	  { "<|im_end|>\n", "<|im_end|>\n", "<|im_end|>\n" },
	  "<|im_start|>assistant\n",
	  false },
	{ { "<|start_header_id|>", "<|eot_id|>" },
	  { "<|start_header_id|>system<|end_header_id|>\n\n",
	    "<|start_header_id|>user<|end_header_id|>\n\n",
	    "<|start_header_id|>assistant<|end_header_id|>\n\n" },
	  { "<|eot_id|>", "<|eot_id|>", "<|eot_id|>" },
	  "<|start_header_id|>assistant<|end_header_id|>\n\n",
	  false },
	{ { "[INST]", "<<SYS>>" },
	  { "[INST] <<SYS>>\n", "[INST] ", " " },
	  { "\n<</SYS>>\n\n", " [/INST]", " </s><s>" },
	  "",
	  true },
};

/* Ends the system message that templates of ChatML have for conversations without one. */
#define SYSTEM_END "<|im_end|>"

/*
 * Templates have some ten KiB. At worst, the time of the search for a system message grows with the
 * square of the size.
 */
#define MAX_TEMPLATE (1 << 18)

static bool has(struct gguf_text text, const char *sign)
{
	return !sign || memmem(text.data, text.size, sign, strlen(sign));
}

/*
 * Finds the system message that a template has for conversations without one: a literal of the
 * template from the text before such a message to SYSTEM_END, both included. Returns whether there
 * is one.
 */
static bool find_system(struct gguf_text text, const char *begin, struct gguf_text *system)
{
	size_t begin_size = strlen(begin), end_size = strlen(SYSTEM_END);

	while (text.size) {
		const char *at = memmem(text.data, text.size, begin, begin_size);
		const char *end;
		size_t left;

		if (!at)
			return false;
		left = text.size - (size_t)(at - text.data);
		end = memmem(at, left, SYSTEM_END, end_size);
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

/*
 * Returns a copy of a template in which new lines are no longer written as \n, and sets *size to
 * its bytes; NULL: memory is exhausted.
 */
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

/* A text that grows. data: memory that is large enough for it; NULL: only the size is wanted. */
struct joined {
	char *data;
	size_t size;
};

static void append(struct joined *joined, struct gguf_text text)
{
	if (joined->data && text.size)
		memcpy(joined->data + joined->size, text.data, text.size);
	joined->size += text.size;
}

static void append_string(struct joined *joined, const char *text)
{
	append(joined, (struct gguf_text){ text, strlen(text) });
}

static void join(struct joined *joined, const struct form *form, struct gguf_text system,
		 const struct gguf_message *messages, size_t count)
{
	append(joined, system);
	if (system.size)
		append_string(joined, "\n");
	for (size_t i = 0; i < count; i++) {
		enum gguf_role role = messages[i].role;

		if (!form->nested || !i || messages[i - 1].role != GGUF_SYSTEM)
			append_string(joined, form->begin[role]);
		append(joined, messages[i].text);
		append_string(joined, form->end[role]);
	}
	append_string(joined, form->answer);
}

/*
 * Checks that a form takes a system message wherever there is one: a nested form has it only before
 * a first message of the user. Returns 0, or what gguf_fail() returns.
 */
static int check_messages(const struct form *form, const struct gguf_message *messages,
			  size_t count, struct gguf_error *error)
{
	for (size_t i = 0; form->nested && i < count; i++)
		if (messages[i].role == GGUF_SYSTEM &&
		    (i || count < 2 || messages[1].role != GGUF_USER))
			return gguf_fail(error,
					 "its template for conversations takes a system "
					 "message only as the first message, with one of the "
					 "user after it");
	return 0;
}

/* Returns the form of a template, or NULL with a message. */
static const struct form *find_form(struct gguf_text text, struct gguf_error *error)
{
	if (!text.size) {
		gguf_fail(error, "it has no template for conversations");
		return NULL;
	}
	if (text.size > MAX_TEMPLATE) {
		gguf_fail(error, "its template for conversations has %zu bytes; %d are the most",
			  text.size, MAX_TEMPLATE);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (has(text, forms[i].signs[0]) && has(text, forms[i].signs[1]))
			return &forms[i];
	gguf_fail(error, "its template for conversations is unknown (known are ChatML, and those "
			 "of Llama 2 and 3)");
	return NULL;
}

char *gguf_chat(const struct gguf *gguf, const struct gguf_message *messages, size_t count,
		size_t *size, struct gguf_error *error)
{
	struct gguf_text text = { "", 0 }, system = { "", 0 };
	struct joined joined = { 0 };
	const struct form *form;
	char *copy;

	if (gguf_string(gguf, "tokenizer.chat_template", &text, error))
		return NULL;
	form = find_form(text, error);
	if (!form || check_messages(form, messages, count, error))
		return NULL;
	copy = plain(text, &text.size);
	text.data = copy;
	if (copy && form == &forms[0] && (!count || messages[0].role != GGUF_SYSTEM))
		find_system(text, form->begin[GGUF_SYSTEM], &system);
	join(&joined, form, system, messages, count);
	joined.data = copy ? import_alloc(joined.size) : NULL;
	*size = joined.size;
	joined.size = 0;
	if (joined.data)
		join(&joined, form, system, messages, count);
	else
		gguf_fail_memory(error);
	import_free(copy);
	return joined.data;
}
