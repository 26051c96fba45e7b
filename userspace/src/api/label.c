// SPDX-License-Identifier: MIT
/* Labels of objects, and the functions that set them. */
#include "api/label.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/builder.h"
#include "api/debug.h"
#include "api/graph.h"
#include "api/tensor.h"
#include "graph/label.h"
#include "util/malloc.h"
#include "util/printable.h"

/* Bytes of a label in messages, which have room for some hundred bytes in all. */
#define LABEL_SIZE 64

struct label_text {
	struct label_text *older;
	char text[LABEL_SIZE + 4];
};

static int set(struct object_label *label, const char *text, struct wnn_error *err)
{
	struct label_text *made = wnn_malloc(sizeof(*made));

	if (!made)
		return wnn_error_nomem(err, "a label");
	snprintf(made->text, sizeof(made->text), "%s", text);
	made->older = atomic_load(&label->text);
	while (!atomic_compare_exchange_weak(&label->text, &made->older, made))
		;
	return 0;
}

int object_label_set(struct object_label *label, WNNStringView text, struct wnn_error *err)
{
	char printable[LABEL_SIZE], quoted[LABEL_SIZE + 4] = "";
	size_t length = wnn_view_length(&text);

	if (length) {
		wnn_text_printable(printable, sizeof(printable), text.data, length);
		snprintf(quoted, sizeof(quoted), " \"%s\"", printable);
	}
	return set(label, quoted, err);
}

int object_label_copy(struct object_label *to, struct object_label *from, struct wnn_error *err)
{
	const char *text = object_label_text(from);

	return *text ? set(to, text, err) : 0;
}

const char *object_label_text(struct object_label *label)
{
	const struct label_text *text = atomic_load(&label->text);

	return text ? text->text : "";
}

void object_label_exit(struct object_label *label)
{
	struct label_text *text = atomic_load(&label->text), *older;

	for (; text; text = older) {
		older = text->older;
		wnn_free(text);
	}
}

static WNNStatus finish(const void *object, struct object_label *label, WNNStringView text)
{
	struct wnn_error err = { 0 };

	if (object_label_set(label, text, &err))
		return api_error(&err);
	if (debug_on)
		debug_labelled(object, object_label_text(label));
	return WNNStatus_Success;
}

WNNStatus wnnContextSetLabel(WNNContext context, WNNStringView label)
{
	if (!api_check(context, "wnnContextSetLabel", "context"))
		return wnnGetLastError(NULL);
	return finish(context, &context->label, label);
}

WNNStatus wnnTensorSetLabel(WNNTensor tensor, WNNStringView label)
{
	if (!api_check(tensor, "wnnTensorSetLabel", "tensor"))
		return wnnGetLastError(NULL);
	return finish(tensor, &tensor->label, label);
}

WNNStatus wnnGraphBuilderSetLabel(WNNGraphBuilder builder, WNNStringView label)
{
	if (!api_check(builder, "wnnGraphBuilderSetLabel", "builder"))
		return wnnGetLastError(NULL);
	return finish(builder, &builder->label, label);
}

WNNStatus wnnGraphSetLabel(WNNGraph graph, WNNStringView label)
{
	if (!api_check(graph, "wnnGraphSetLabel", "graph"))
		return wnnGetLastError(NULL);
	return finish(graph, &graph->label, label);
}
