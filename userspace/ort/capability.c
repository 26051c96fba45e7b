// SPDX-License-Identifier: MIT
/* Tells ONNX Runtime which nodes of a graph the provider takes. */
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "partition.h"

/*
 * Sizes that are tried for unknown dimensions, until no node is refused: small ones suit sequences
 * and batches, larger ones pictures, and the largest sound, which models take in windows of
 * hundreds of samples.
 */
static const int64_t trials[] = { 8, 1, 64, 256, 4096 };

static WNNStringView text(const char *literal)
{
	return (WNNStringView){ literal, strlen(literal) };
}

struct capability {
	struct onpu_ep *ep;
	struct onpu_reading reading;
	struct onpu_read read;
	WNNBool *supported;
	struct onpu_names dynamic; /* names of values that have unknown sizes */
	size_t refused;		   /* nodes that the last attempt refused, and groups since then */
	WNNStringView failure; /* why the importer refuses the whole graph; empty: it does not */
	char *around; /* the first output of the node that the graph is within; NULL: of none */
	bool *taken;  /* by node: whether the provider takes it; NULL: it takes none */
};

/*
 * A node of a graph within another node. ONNX Runtime asks about inner graphs first: if the
 * provider takes the outer node afterwards, this one does not stay with ONNX Runtime.
 */
struct onpu_held {
	struct onpu_held *next;
	char *around; /* the first output of the outer node, which no other value in sight has */
	char *node, *type, *reason;
};

static struct ort_status *load(struct capability *c, const WNNOnnxGraph *graph, WNNOnnxModel *model)
{
	WNNOnnxDescription description = WNN_ONNX_DESCRIPTION_INIT;

	description.graph = graph;
	description.operatorSetCount = c->read.set_count;
	description.operatorSets = c->read.sets;
	if (wnnOnnxLoadGraph(&description, model) != WNNStatus_Success)
		return onpu_onnx_error(c->reading.ort, "the graph cannot be read");
	return NULL;
}

static void tell_now(struct onpu_ep *ep, WNNStringView node, WNNStringView type,
		     WNNStringView reason)
{
	onpu_log(ep, ORT_LOG_INFO,
		 ONPU_PROVIDER ": node \"%.*s\" (%.*s) stays with ONNX Runtime: %.*s",
		 (int)node.length, node.data, (int)type.length, type.data, (int)reason.length,
		 reason.data);
	onpu_report(ep, "onnxruntime", type, node, reason);
}

static char *copy(WNNStringView view)
{
	return strndup(view.length ? view.data : "", view.length);
}

static void free_held(struct onpu_held *held)
{
	free(held->around);
	free(held->node);
	free(held->type);
	free(held->reason);
	free(held);
}

void onpu_held_free(struct onpu_held *held)
{
	while (held) {
		struct onpu_held *next = held->next;

		free_held(held);
		held = next;
	}
}

/* Adds a node to the end of ep->held. Without memory, the node is not reported. */
static void hold(struct capability *c, WNNStringView node, WNNStringView type, WNNStringView reason)
{
	struct onpu_held *held = calloc(1, sizeof(*held)), **link = &c->ep->held;

	if (!held)
		return;
	held->around = strdup(c->around);
	held->node = copy(node);
	held->type = copy(type);
	held->reason = copy(reason);
	if (!held->around || !held->node || !held->type || !held->reason) {
		free_held(held);
		return;
	}
	while (*link)
		link = &(*link)->next;
	*link = held;
}

/*
 * Reports a node that stays with ONNX Runtime, unless it is a group that the provider has compiled:
 * ONNX Runtime asks again about graphs within nodes, in which such groups are nodes.
 */
static void tell_of_node(struct capability *c, WNNStringView node, WNNStringView type,
			 WNNStringView reason)
{
	static const char domain[] = ONPU_PROVIDER ".";

	if (type.length >= sizeof(domain) && !memcmp(type.data, domain, sizeof(domain) - 1))
		return;
	if (c->around)
		hold(c, node, type, reason);
	else
		tell_now(c->ep, node, type, reason);
}

/* Whether the node that a held one is within is node @i of this graph. */
static bool is_around(const struct capability *c, const struct onpu_held *held, size_t i)
{
	const WNNOnnxNode *node = &c->read.graph.nodes[i];

	for (size_t k = 0; k < node->outputCount; k++)
		if (node->outputs[k].length == strlen(held->around) &&
		    !memcmp(node->outputs[k].data, held->around, node->outputs[k].length))
			return true;
	return false;
}

/*
 * Forgets held nodes within nodes that the provider takes. Those within other nodes of this graph
 * are reported, or held until it is known what becomes of the node around this graph.
 */
static void settle_held(struct capability *c)
{
	struct onpu_held **link = &c->ep->held;

	while (*link) {
		struct onpu_held *held = *link;
		char *around = NULL;
		size_t i = 0;

		while (i < c->read.graph.nodeCount && !is_around(c, held, i))
			i++;
		if (i < c->read.graph.nodeCount && c->around && !(c->taken && c->taken[i]))
			around = strdup(c->around);
		if (i == c->read.graph.nodeCount || around) {
			if (around) {
				free(held->around);
				held->around = around;
			}
			link = &held->next;
			continue;
		}
		if (!c->around && !(c->taken && c->taken[i]))
			tell_now(c->ep, text(held->node), text(held->type), text(held->reason));
		*link = held->next;
		free_held(held);
	}
}

static bool same(WNNStringView a, WNNStringView b)
{
	return a.length == b.length && (!a.length || !memcmp(a.data, b.data, a.length));
}

static bool has_graph(const WNNOnnxNode *node)
{
	for (size_t i = 0; i < node->attributeCount; i++)
		if (node->attributes[i].graph)
			return true;
	return false;
}

/*
 * Reports refused nodes that have graphs within them and no reason of their own: the importer does
 * not know the groups in these graphs, and the other refusals are about those.
 */
static void tell_of_outer(struct capability *c, WNNOnnxRefusalArray refusals)
{
	for (size_t i = 0; i < c->read.graph.nodeCount; i++) {
		const WNNOnnxNode *node = &c->read.graph.nodes[i];
		size_t k = 0;

		if (c->supported[i] || !has_graph(node))
			continue;
		while (k < refusals.count &&
		       !(same(refusals.data[k].node, node->name) &&
			 same(refusals.data[k].operatorName, node->operatorName)))
			k++;
		if (k == refusals.count)
			tell_of_node(
				c, node->name, node->operatorName,
				text("graphs within it are groups of their own, or are refused"));
	}
}

static void tell(struct capability *c, WNNOnnxModel model)
{
	WNNOnnxRefusalArray refusals = wnnOnnxModelGetRefusals(model);

	for (size_t i = 0; c->failure.length && i < c->read.graph.nodeCount; i++)
		tell_of_node(c, c->read.graph.nodes[i].name, c->read.graph.nodes[i].operatorName,
			     c->failure);
	for (size_t i = 0; i < refusals.count; i++)
		tell_of_node(c, refusals.data[i].node, refusals.data[i].operatorName,
			     refusals.data[i].reason);
	if (!c->failure.length && c->reading.ort->version >= 24)
		tell_of_outer(c, refusals);
}

/*
 * Returns whether a node contains graphs that would lack the values they use from outside: before
 * 1.24, ONNX Runtime does not pass these to compiled nodes.
 */
static bool lacks_values(const struct capability *c, const WNNOnnxNode *node)
{
	return c->reading.ort->version < 24 && has_graph(node);
}

static void tell_of_graphs(struct capability *c)
{
	for (size_t i = 0; i < c->read.graph.nodeCount; i++)
		if (lacks_values(c, &c->read.graph.nodes[i]))
			tell_of_node(c, c->read.graph.nodes[i].name,
				     c->read.graph.nodes[i].operatorName,
				     text("ONNX Runtime before 1.24 does not give it the values "
					  "that the graphs within it read"));
}

/*
 * Reads the graph with @trial as the size of unknown dimensions, and sets c->supported to the nodes
 * that the importer supports. Returns NULL, or an error.
 */
static struct ort_status *attempt(struct capability *c, const struct ort_graph *graph,
				  int64_t trial, struct import_chunk **chunks, WNNOnnxModel *model)
{
	WNNError error = WNN_ERROR_INIT;
	struct ort_status *status;
	WNNStatus probed;
	char *reason;

	c->failure = (WNNStringView){ NULL, 0 };
	c->reading = (struct onpu_reading){ .ort = &c->ep->factory->ort,
					    .chunks = chunks,
					    .options = &c->ep->options,
					    .dynamic = &c->dynamic,
					    .trial = trial };
	if (onpu_names_begin(&c->dynamic, chunks, 64))
		return onpu_nomem(c->reading.ort);
	status = onpu_read_graph(&c->reading, graph, &c->read);
	if (status)
		return status;
	c->supported = onpu_take(&c->reading, c->read.graph.nodeCount * sizeof(*c->supported));
	if (!c->supported)
		return onpu_nomem(c->reading.ort);
	ORT_TRY(load(c, &c->read.graph, model));
	probed = wnnOnnxModelProbe(*model, c->ep->context, c->read.graph.nodeCount, c->supported);
	c->refused = 0;
	for (size_t i = 0; i < c->read.graph.nodeCount; i++) {
		if (lacks_values(c, &c->read.graph.nodes[i]))
			c->supported[i] = WNN_FALSE;
		c->refused += !c->supported[i];
	}
	if (probed == WNNStatus_UnknownError)
		return onpu_onnx_error(c->reading.ort, "the graph cannot be read");
	if (probed == WNNStatus_Success)
		return NULL;
	/*
	 * The model cannot be loaded, for example because the rank of an input is unknown: no node
	 * counts as supported.
	 */
	memset(c->supported, 0, c->read.graph.nodeCount * sizeof(*c->supported));
	c->refused = c->read.graph.nodeCount;
	wnnOnnxGetLastError(&error);
	reason = onpu_take(&c->reading, error.message.length);
	if (!reason)
		return onpu_nomem(c->reading.ort);
	if (error.message.length)
		memcpy(reason, error.message.data, error.message.length);
	c->failure = (WNNStringView){ reason, error.message.length };
	return NULL;
}

static bool is_dynamic(const struct capability *c, WNNStringView name)
{
	return onpu_names_get(&c->dynamic, name) != SIZE_MAX;
}

static bool has_unknown(const struct capability *c)
{
	for (size_t i = 0; i < c->read.graph.inputCount; i++)
		if (is_dynamic(c, c->read.graph.inputs[i].name))
			return true;
	return false;
}

/*
 * Tries sizes for unknown dimensions until no node is refused; else repeats the attempt that had
 * the fewest refusals, so that *chunks and *model belong to it. Returns NULL, or an error.
 */
static struct ort_status *best_attempt(struct capability *c, const struct ort_graph *graph,
				       struct import_chunk **chunks, WNNOnnxModel *model)
{
	struct ort_status *status = NULL;
	size_t best = 0, least = SIZE_MAX;

	for (size_t i = 0; i <= sizeof(trials) / sizeof(trials[0]) && !status; i++) {
		bool last = i == sizeof(trials) / sizeof(trials[0]);

		if (last && best == i - 1)
			break;
		wnnOnnxModelRelease(*model);
		*model = NULL;
		import_chunks_free(chunks);
		status = attempt(c, graph, trials[last ? best : i], chunks, model);
		if (status || last)
			break;
		if (c->refused < least) {
			least = c->refused;
			best = i;
		}
		if (!c->refused || !has_unknown(c))
			break;
	}
	return status;
}

/* Tells why nodes became unsupported while groups were formed. */
static void tell_of_reasons(struct capability *c, struct onpu_partition *p)
{
	for (size_t i = 0; i < c->read.graph.nodeCount; i++) {
		const WNNOnnxNode *node = &c->read.graph.nodes[i];

		if (p->reason[i])
			tell_of_node(c, node->name, node->operatorName, text(p->reason[i]));
		p->reason[i] = NULL;
	}
}

/*
 * Checks the types of a group's inputs and outputs. Asks the importer about a group alone, unless
 * @whole says that it is the whole graph, because values from other groups are not constant in it.
 * *changed is set when a node is refused. Returns NULL, or an error.
 */
static struct ort_status *check_group(struct capability *c, struct onpu_partition *p, size_t group,
				      bool whole, bool *changed)
{
	struct ort_status *status;
	WNNOnnxModel model = NULL;
	WNNBool *supported;
	WNNOnnxGraph part;
	size_t *indices;

	ORT_TRY(onpu_partition_describe(p, group, &part, &indices, changed));
	tell_of_reasons(c, p);
	if (*changed || whole)
		return NULL;
	supported = onpu_take(&c->reading, part.nodeCount * sizeof(*supported));
	if (!supported)
		return onpu_nomem(c->reading.ort);
	status = load(c, &part, &model);
	if (status)
		return status;
	if (wnnOnnxModelProbe(model, c->ep->context, part.nodeCount, supported) !=
	    WNNStatus_Success)
		memset(supported, 0, part.nodeCount * sizeof(*supported));
	for (size_t i = 0; i < part.nodeCount; i++) {
		if (supported[i])
			continue;
		p->supported[indices[i]] = WNN_FALSE;
		*changed = true;
	}
	if (*changed)
		tell(c, model);
	wnnOnnxModelRelease(model);
	return NULL;
}

static bool is_heavy(WNNStringView type)
{
	static const char *const heavy[] = { "Conv",
					     "ConvTranspose",
					     "MatMul",
					     "Gemm",
					     "LSTM",
					     "GRU",
					     "RNN",
					     "QLinearConv",
					     "QLinearMatMul",
					     "MatMulInteger",
					     "ConvInteger",
					     "Attention",
					     "MultiHeadAttention",
					     "GroupQueryAttention",
					     "MatMulNBits",
					     "FusedConv",
					     "FusedMatMul",
					     "FusedGemm",
					     "Loop",
					     "If",
					     "Scan",
					     "Einsum" };

	for (size_t i = 0; i < sizeof(heavy) / sizeof(heavy[0]); i++)
		if (strlen(heavy[i]) == type.length && !memcmp(heavy[i], type.data, type.length))
			return true;
	return false;
}

/*
 * Removes groups of at most three nodes, none of them heavy: entering and leaving a group costs
 * more than these gain. Does nothing when all nodes of the graph are supported. Returns whether it
 * removed any.
 */
static bool drop_small(struct capability *c, struct onpu_partition *p)
{
	const WNNOnnxGraph *graph = &c->read.graph;
	bool dropped = false, all = true;

	for (size_t i = 0; i < graph->nodeCount; i++)
		all = all && p->supported[i];
	for (size_t group = 0; group < p->group_count && !all; group++) {
		size_t count = 0;
		bool heavy = false;

		for (size_t i = 0; i < graph->nodeCount; i++) {
			count += p->group[i] == group;
			heavy = heavy ||
				(p->group[i] == group && is_heavy(graph->nodes[i].operatorName));
		}
		for (size_t i = 0; i < graph->nodeCount && !heavy && count < 4; i++) {
			if (p->group[i] != group)
				continue;
			p->supported[i] = WNN_FALSE;
			dropped = true;
			tell_of_node(
				c, graph->nodes[i].name, graph->nodes[i].operatorName,
				text("it would be a small group between nodes of ONNX Runtime"));
		}
	}
	return dropped;
}

static struct ort_status *find_groups(struct capability *c, struct onpu_partition *p)
{
	bool changed = true, small = false;

	ORT_TRY(onpu_partition_begin(p, &c->reading, &c->read, c->supported));
	ORT_TRY(onpu_partition_refuse_doubles(p, &c->refused));
	tell_of_reasons(c, p);
	while (changed) {
		bool whole;

		changed = false;
		ORT_TRY(onpu_partition_group(p));
		/* The importer has already accepted a graph that is taken as a whole. */
		whole = !c->refused && p->group_count == 1;
		for (size_t group = 0; group < p->group_count && !changed; group++)
			ORT_TRY(check_group(c, p, group, whole, &changed));
		if (whole && !changed)
			return NULL;
		/* Nodes were refused: what is left is not the whole graph. */
		c->refused += changed;
		if (!changed && !small) {
			small = true;
			changed = drop_small(c, p);
		}
	}
	return NULL;
}

/*
 * Returns whether all inputs of a group have fixed shapes: its weights are then not needed after
 * the build.
 */
static bool is_static(struct capability *c, const WNNOnnxGraph *part)
{
	for (size_t i = 0; i < part->inputCount; i++) {
		/* Before 1.24 an input without a shape looks like a scalar. */
		if (!part->inputs[i].rank && c->reading.ort->version < 24)
			return false;
		if (is_dynamic(c, part->inputs[i].name))
			return false;
	}
	return true;
}

/*
 * Returns whether a group cannot be compiled for a model with EPContext nodes, which needs fixed
 * shapes, because an input has a shape that depends on data. When the shape depends on inputs of
 * the model, compiling tells the user what to set.
 */
static bool cannot_be_saved(const struct capability *c, const struct onpu_partition *p,
			    const WNNOnnxGraph *part)
{
	for (size_t i = 0; i < part->inputCount && c->ep->options.context_enable; i++)
		if (is_dynamic(c, part->inputs[i].name) &&
		    onpu_names_get(&p->producer, part->inputs[i].name) != SIZE_MAX)
			return true;
	return false;
}

static struct ort_status *take_group(struct capability *c, struct onpu_partition *p, size_t group,
				     struct ort_support *support)
{
	struct ort_fusion_options options = { .version = c->reading.ort->version };
	const struct ort_node **nodes;
	bool changed = false;
	WNNOnnxGraph part;
	size_t *indices;

	ORT_TRY(onpu_partition_describe(p, group, &part, &indices, &changed));
	if (cannot_be_saved(c, p, &part)) {
		onpu_log(c->ep, ORT_LOG_INFO,
			 ONPU_PROVIDER
			 ": the group with node \"%.*s\" stays with ONNX Runtime: the "
			 "shapes of its inputs depend on data",
			 (int)part.nodes[0].name.length, part.nodes[0].name.data);
		return NULL;
	}
	nodes = onpu_take(&c->reading, part.nodeCount * sizeof(*nodes));
	if (!nodes)
		return onpu_nomem(c->reading.ort);
	for (size_t i = 0; i < part.nodeCount; i++) {
		nodes[i] = c->read.nodes[indices[i]];
		c->taken[indices[i]] = true;
	}
	options.drop_constant_initializers = is_static(c, &part);
	return c->reading.ort->EpGraphSupportInfo_AddNodesToFuse(support, nodes, part.nodeCount,
								 &options);
}

static struct ort_status *take(struct capability *c, struct ort_support *support)
{
	struct onpu_partition partition;
	bool *seen;

	ORT_TRY(find_groups(c, &partition));
	seen = onpu_take(&c->reading, partition.group_count * sizeof(*seen));
	c->taken = onpu_take(&c->reading, c->read.graph.nodeCount * sizeof(*c->taken));
	if (!seen || !c->taken)
		return onpu_nomem(c->reading.ort);
	for (size_t i = 0; i < c->read.graph.nodeCount; i++) {
		size_t group = partition.group[i];

		if (group == ONPU_NO_GROUP || seen[group])
			continue;
		seen[group] = true;
		ORT_TRY(take_group(c, &partition, group, support));
	}
	return NULL;
}

/*
 * Returns whether a graph has a node that is worth taking. ONNX Runtime asks about a graph within a
 * node before it asks about that node, which is not known at that time. Taken nodes in an inner
 * graph make ONNX Runtime run the outer node, so that only costly nodes are taken there.
 */
static bool has_heavy(const WNNOnnxGraph *graph)
{
	for (size_t i = 0; i < graph->nodeCount; i++)
		if (is_heavy(graph->nodes[i].operatorName))
			return true;
	return false;
}

/*
 * Takes each EPContext node as a group of its own and sets *compiled when there is one; other nodes
 * of such a model stay with ONNX Runtime. Returns NULL, or an error.
 */
static struct ort_status *take_compiled(struct onpu_ep *ep, const struct ort_graph *graph,
					struct ort_support *support, bool *compiled)
{
	const struct ort_api *ort = &ep->factory->ort;
	struct ort_fusion_options options = { .version = ort->version };
	struct ort_status *status;
	const struct ort_node **nodes;
	size_t count;

	ORT_TRY(ort->Graph_GetNumNodes(graph, &count));
	nodes = calloc(count + 1, sizeof(*nodes));
	if (!nodes)
		return onpu_nomem(ort);
	status = ort->Graph_GetNodes(graph, nodes, count);
	for (size_t i = 0; i < count && !status; i++) {
		if (!onpu_context_is(ort, nodes[i]))
			continue;
		*compiled = true;
		status = ort->EpGraphSupportInfo_AddNodesToFuse(support, &nodes[i], 1, &options);
	}
	free(nodes);
	return status;
}

/*
 * Returns whether a graph may be within a node, and must be refused, with ONNX Runtime 1.23; false
 * with later versions. 1.23 does not say which graphs are within nodes, and gives the first group
 * of each graph one name: a session fails when groups of two graphs are taken. A graph may be
 * within a node if it uses outer values, has no inputs, or comes next after one that was taken.
 * Until 1.23, c->ep->has_taken becomes the opposite of the result, for the next call.
 */
static bool is_inner_1_23(struct capability *c, const struct ort_graph *graph)
{
	const struct ort_api *ort = c->reading.ort;
	struct ort_status *status;
	bool inner = c->ep->has_taken;
	size_t inputs = 0;

	if (ort->version > 23)
		return false;
	status = ort->Graph_GetNumInputs(graph, &inputs);
	if (status)
		ort->ReleaseStatus(status);
	inner = inner || !inputs || c->read.uses_outer;
	c->ep->has_taken = !inner;
	return inner;
}

/* Sets c->around for the node @parent. Returns NULL, or an error. */
static struct ort_status *find_around(struct capability *c, const struct ort_node *parent)
{
	const struct ort_api *ort = &c->ep->factory->ort;
	struct import_chunk *chunks = NULL;
	struct onpu_reading reading = { .ort = ort, .chunks = &chunks };
	const struct ort_value_info **outputs;
	struct ort_status *status;
	const char *name = "";
	size_t count;

	status = onpu_node_outputs(&reading, parent, &count, &outputs);
	for (size_t i = 0; !status && i < count && !*name; i++)
		if (outputs[i])
			status = ort->GetValueInfoName(outputs[i], &name);
	if (!status) {
		c->around = strdup(name);
		if (!c->around)
			status = onpu_nomem(ort);
	}
	import_chunks_free(&chunks);
	return status;
}

struct ort_status *onpu_get_capability(struct ort_ep *base, const struct ort_graph *graph,
				       struct ort_support *support)
{
	struct capability c = { .ep = (struct onpu_ep *)base };
	struct import_chunk *chunks = NULL;
	const struct ort_node *parent = NULL;
	WNNOnnxModel model = NULL;
	struct ort_status *status;
	bool compiled = false;

	if (!c.ep->context)
		return NULL;
	ORT_TRY(c.ep->factory->ort.Graph_GetParentNode(graph, &parent));
	status = take_compiled(c.ep, graph, support, &compiled);
	if (!status && compiled)
		return NULL;
	if (!status && parent)
		status = find_around(&c, parent);
	if (!status)
		status = best_attempt(&c, graph, &chunks, &model);
	if (!status && c.read.graph.nodeCount && !is_inner_1_23(&c, graph) &&
	    (!parent || has_heavy(&c.read.graph))) {
		tell(&c, model);
		tell_of_graphs(&c);
		status = take(&c, support);
	}
	if (!status)
		settle_held(&c);
	wnnOnnxModelRelease(model);
	import_chunks_free(&chunks);
	free(c.around);
	return status;
}
