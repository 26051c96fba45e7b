/* SPDX-License-Identifier: MIT */
/*
 * libwebnn-onnx: builds WebNN graphs from ONNX models. The conventions are those of webnn.h:
 * objects are counted by reference, structs of options are made with their INIT macro, and
 * functions return a WNNStatus, with a message in wnnOnnxGetLastError().
 *
 *	WNNOnnxModel model;
 *	WNNGraph graph;
 *
 *	if (wnnOnnxLoadFile(WNN_STR("model.onnx"), NULL, &model) != WNNStatus_Success ||
 *	    wnnOnnxModelSetDimension(model, WNN_STR("batch"), 1) != WNNStatus_Success ||
 *	    wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &graph) != WNNStatus_Success)
 *		complain();
 *
 * Threads. One thread at a time uses a model; different threads may use different models. The
 * library never prints, exits or installs signal handlers.
 */
#ifndef WEBNN_ONNX_H
#define WEBNN_ONNX_H

#include "webnn_npu.h"

#if defined(__cplusplus)
extern "C" {
#endif

/** A loaded model, with the dimensions and input values that were set. */
typedef struct WNNOnnxModelImpl *WNNOnnxModel;

/** Size of a dimension that the file does not give. */
#define WNN_ONNX_DIMENSION_UNKNOWN (INT64_C(-1))

/** Rank of a value that the file does not give. */
#define WNN_ONNX_RANK_UNKNOWN (SIZE_MAX)

/** The kind of an input or output. */
typedef enum WNNOnnxKind {
	/** A tensor. */
	WNNOnnxKind_Tensor = 1,
	/**
	 * A sequence of tensors, which may be optional. Its items are inputs or outputs NAME/0,
	 * NAME/1 … of the graph.
	 */
	WNNOnnxKind_Sequence = 2,
	/**
	 * An optional tensor. An input of this kind is taken as present, unless it was set to be
	 * absent.
	 */
	WNNOnnxKind_Optional = 3,
	/** A map, a sparse tensor, or an unknown kind. */
	WNNOnnxKind_Other = 4,
	/** Makes the type 32 bits wide; no value. */
	WNNOnnxKind_Force32 = 0x7FFFFFFF
} WNNOnnxKind;

/** A dimension of an input or output. All strings belong to the model. */
typedef struct WNNOnnxDimension {
	/** Number of elements, or WNN_ONNX_DIMENSION_UNKNOWN. */
	int64_t size;
	/** Symbolic name such as batch, which wnnOnnxModelSetDimension() takes; may be empty. */
	WNNStringView name;
} WNNOnnxDimension;

/** An input, output or other value of a model. Belongs to the model. */
typedef struct WNNOnnxValueInfo {
	/** The name of the value. */
	WNNStringView name;
	/** The kind of the value: a tensor, or something else. */
	WNNOnnxKind kind;
	/**
	 * The element type as ONNX names it, such as float, int64 or bool; empty if it is not
	 * known.
	 */
	WNNStringView elementType;
	/**
	 * The element type in WebNN; that of bool is uint8. When WebNN lacks the type, this is the
	 * type that holds its numbers in the graph: float32 for double, bfloat16 and float8e8m0,
	 * float16 for floats of 4 to 8 bits, int32 and uint32 for integers of 16 bits, int4 and
	 * uint4 for those of 2 bits. Undefined for strings and complex numbers.
	 */
	WNNOperandDataType dataType;
	/** Number of items of dimensions, or WNN_ONNX_RANK_UNKNOWN. */
	size_t rank;
	/** The dimensions. Those that were set have these sizes. */
	WNNOnnxDimension const *dimensions;
	/** Whether it is a weight, or wnnOnnxModelSetInputValue() has made it a constant. */
	WNNBool fixed;
} WNNOnnxValueInfo;

/** Inputs or outputs of a model. Belongs to the model. */
typedef struct WNNOnnxValueInfoArray {
	/** Number of items. */
	size_t count;
	/** The items. */
	WNNOnnxValueInfo const *data;
} WNNOnnxValueInfoArray;

/** The reason why a node of the model cannot become part of a graph. Belongs to the model. */
typedef struct WNNOnnxRefusal {
	/** The node's name, or that of its first output if it has none; empty for an input. */
	WNNStringView node;
	/** The operator, such as Conv; its domain comes first, unless it is the default one. */
	WNNStringView operatorName;
	/** The attribute or input of the operator that causes the refusal; may be empty. */
	WNNStringView attribute;
	/** The reason, as one sentence. */
	WNNStringView reason;
	/**
	 * The input of the model that wnnOnnxModelSetInputValue() would have to make a constant;
	 * empty if that does not help.
	 */
	WNNStringView input;
} WNNOnnxRefusal;

/** All refusals of a model. Belongs to the model. */
typedef struct WNNOnnxRefusalArray {
	/** Number of items. */
	size_t count;
	/** The items, in the order of the nodes. */
	WNNOnnxRefusal const *data;
} WNNOnnxRefusalArray;

/** Options for loading a model. */
typedef struct WNNOnnxLoadOptions {
	/** Must be NULL. */
	WNNChainedStruct *nextInChain;
	/**
	 * The folder that names of external data are relative to. Empty: the folder of the file; a
	 * model in memory may then have no external data.
	 */
	WNNStringView folder;
} WNNOnnxLoadOptions;

/** Initialiser of WNNOnnxLoadOptions with the defaults. */
#define WNN_ONNX_LOAD_OPTIONS_INIT { \
	/* .nextInChain = */ NULL, \
	/* .folder = */ WNN_STRING_VIEW_INIT \
}

/** A tensor in memory: a weight, or the value of an attribute. */
typedef struct WNNOnnxTensor {
	/** The name of the tensor; ignored in attributes. */
	WNNStringView name;
	/** The element type, as a number of ONNX's TensorProto.DataType. */
	int32_t elementType;
	/** Number of items of dimensions. */
	size_t rank;
	/** Sizes of the dimensions, outermost first. */
	int64_t const *dimensions;
	/** The elements in row-major order; 4-bit ones are packed. They are not copied. */
	void const *data;
	/** Number of bytes of data. */
	size_t size;
} WNNOnnxTensor;

/** The kind of an attribute; the numbers are those of AttributeProto.AttributeType of ONNX. */
typedef enum WNNOnnxAttributeKind {
	/** One number, in floats. */
	WNNOnnxAttributeKind_Float = 1,
	/** One number, in ints. */
	WNNOnnxAttributeKind_Int = 2,
	/** One string, in strings. */
	WNNOnnxAttributeKind_String = 3,
	/** A tensor. */
	WNNOnnxAttributeKind_Tensor = 4,
	/** A graph. */
	WNNOnnxAttributeKind_Graph = 5,
	/** Numbers, in floats. */
	WNNOnnxAttributeKind_Floats = 6,
	/** Numbers, in ints. */
	WNNOnnxAttributeKind_Ints = 7,
	/** Strings. */
	WNNOnnxAttributeKind_Strings = 8,
	/** Makes the type 32 bits wide; no value. */
	WNNOnnxAttributeKind_Force32 = 0x7FFFFFFF
} WNNOnnxAttributeKind;

struct WNNOnnxGraph;

/** An attribute of a node. Only the members for its kind are read. */
typedef struct WNNOnnxAttribute {
	/** The name of the attribute. */
	WNNStringView name;
	/** The kind of its value. */
	WNNOnnxAttributeKind kind;
	/** Number of items of floats, ints or strings. */
	size_t count;
	/** The numbers of kind Float or Floats. */
	float const *floats;
	/** The numbers of kind Int or Ints. */
	int64_t const *ints;
	/** The strings of kind String or Strings. */
	WNNStringView const *strings;
	/** The tensor of kind Tensor. */
	WNNOnnxTensor const *tensor;
	/** The graph of kind Graph, which can use names of the graphs around it. */
	struct WNNOnnxGraph const *graph;
} WNNOnnxAttribute;

/** A node of a graph. */
typedef struct WNNOnnxNode {
	/** The name of the node; may be empty. */
	WNNStringView name;
	/** The domain of the operator; empty: that of ONNX. */
	WNNStringView domain;
	/** The operator, such as Conv. */
	WNNStringView operatorName;
	/** Number of items of inputs. */
	size_t inputCount;
	/** Names of values; an empty name means that the input is absent. */
	WNNStringView const *inputs;
	/** Number of items of outputs. */
	size_t outputCount;
	/** Names of values; an empty name means that the output is not needed. */
	WNNStringView const *outputs;
	/** Number of items of attributes. */
	size_t attributeCount;
	/** The attributes. */
	WNNOnnxAttribute const *attributes;
} WNNOnnxNode;

/** The type of a value of a graph. */
typedef struct WNNOnnxValue {
	/** The name of the value. */
	WNNStringView name;
	/** The kind: a tensor. Values of other kinds cannot be inputs. */
	WNNOnnxKind kind;
	/** The element type, as a number of ONNX's TensorProto.DataType. */
	int32_t elementType;
	/** Number of items of dimensions, or WNN_ONNX_RANK_UNKNOWN. */
	size_t rank;
	/** The dimensions; an unknown size may have a name. */
	WNNOnnxDimension const *dimensions;
} WNNOnnxValue;

/** A graph in memory. */
typedef struct WNNOnnxGraph {
	/** The name of the graph; may be empty. */
	WNNStringView name;
	/** Number of items of inputs. */
	size_t inputCount;
	/** The inputs. An input with the name of a tensor has that tensor's value. */
	WNNOnnxValue const *inputs;
	/** Number of items of outputs. */
	size_t outputCount;
	/** The outputs. */
	WNNOnnxValue const *outputs;
	/** Number of items of values. */
	size_t valueCount;
	/**
	 * Types of values that nodes compute, as far as they are known; wnnOnnxModelProbe() reads
	 * them.
	 */
	WNNOnnxValue const *values;
	/** Number of items of tensors. */
	size_t tensorCount;
	/** The constants. */
	WNNOnnxTensor const *tensors;
	/** Number of items of nodes. */
	size_t nodeCount;
	/** The nodes; each comes after the producers of its inputs. */
	WNNOnnxNode const *nodes;
} WNNOnnxGraph;

/** The version of the operators of a domain. */
typedef struct WNNOnnxOperatorSet {
	/** The domain; empty: that of ONNX. */
	WNNStringView domain;
	/** The version. */
	int64_t version;
} WNNOnnxOperatorSet;

/** Where the elements of a tensor are in a file. */
typedef struct WNNOnnxTensorFile {
	/** The file, relative to the folder of WNNOnnxTensorFiles; empty: they are in memory. */
	WNNStringView name;
	/** The place of the first element in the file, in bytes. */
	uint64_t offset;
} WNNOnnxTensorFile;

/**
 * Tells which tensors of the main graph lie in files. Such a tensor has the size of its elements,
 * and its data is not read. Its file is mapped, as for a model that wnnOnnxLoadFile() loads: the
 * weights are not copied, and it must not be changed while the model or a graph of it lives.
 */
typedef struct WNNOnnxTensorFiles {
	/** sType is WNNSType_OnnxTensorFiles. */
	WNNChainedStruct chain;
	/** The folder; names do not lead out of it. */
	WNNStringView folder;
	/** One item for each tensor of the main graph; NULL if it has none. */
	WNNOnnxTensorFile const *files;
} WNNOnnxTensorFiles;

/** Initialiser of WNNOnnxTensorFiles with the defaults. */
#define WNN_ONNX_TENSOR_FILES_INIT { \
	/* .chain = */ { NULL, WNNSType_OnnxTensorFiles }, \
	/* .folder = */ WNN_STRING_VIEW_INIT, \
	/* .files = */ NULL \
}

/** A model in memory, for wnnOnnxLoadGraph(). */
typedef struct WNNOnnxDescription {
	/** NULL, or a WNNOnnxTensorFiles. */
	WNNChainedStruct *nextInChain;
	/** The main graph. */
	WNNOnnxGraph const *graph;
	/** Number of items of operatorSets. */
	size_t operatorSetCount;
	/** Versions of the operators. */
	WNNOnnxOperatorSet const *operatorSets;
	/**
	 * NULL: the data of all tensors must stay valid as long as the model, and graphs copy what
	 * they need. Otherwise the data is lent to graphs, too: the callback runs once, on any
	 * thread, when neither the model nor a graph of it reads the data any more; its parameter
	 * data is NULL, and size is 0. It also runs when wnnOnnxLoadGraph() fails.
	 */
	WNNReleaseConstantCallback releaseCallback;
	/** Passed to releaseCallback. */
	void *userdata1;
	/** Passed to releaseCallback. */
	void *userdata2;
} WNNOnnxDescription;

/** Initialiser of WNNOnnxDescription with the defaults. */
#define WNN_ONNX_DESCRIPTION_INIT { \
	/* .nextInChain = */ NULL, \
	/* .graph = */ NULL, \
	/* .operatorSetCount = */ 0, \
	/* .operatorSets = */ NULL, \
	/* .releaseCallback = */ NULL, \
	/* .userdata1 = */ NULL, \
	/* .userdata2 = */ NULL \
}

/**
 * Returns the status and the message of the calling thread's last failed call of this library.
 *
 * @param error Made with WNN_ERROR_INIT; its message is valid until the thread's next failed call.
 *
 * @return The same status; Success if no call has failed yet.
 */
WNN_EXPORT WNNStatus wnnOnnxGetLastError(WNNError *error);

/**
 * Loads a model from a file. The file is mapped: its weights are not copied, and it must not be
 * changed while the model or a graph of it lives.
 *
 * @param path The file.
 * @param options NULL: the defaults.
 * @param model Filled with the model, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: path or model is missing
 * - OperationError: the file cannot be read, or is damaged
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnOnnxLoadFile(WNNStringView path, WNNOnnxLoadOptions const *options,
				     WNNOnnxModel *model);

/**
 * Loads a model from memory, which is copied.
 *
 * @param data The bytes of an ONNX file.
 * @param size Their number.
 * @param options NULL: the defaults.
 * @param model Filled with the model, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong; the errors of wnnOnnxLoadFile().
 */
WNN_EXPORT WNNStatus wnnOnnxLoadMemory(void const *data, size_t size,
				       WNNOnnxLoadOptions const *options, WNNOnnxModel *model);

/**
 * Makes a model from a graph in memory, for programs that have a graph but no file. Names and
 * attributes are copied, the data of tensors is not; it may exceed 2 GiB in total.
 *
 * @param description The graph, and a callback for the end of the use of its data.
 * @param model Filled with the model, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: description, its graph or model is missing
 * - OperationError: the graph is damaged, such as an attribute without its value
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnOnnxLoadGraph(WNNOnnxDescription const *description, WNNOnnxModel *model);

/**
 * Takes another reference. NULL: does nothing.
 *
 * @param model The model.
 */
WNN_EXPORT void wnnOnnxModelAddRef(WNNOnnxModel model);

/**
 * Releases a reference; the last one frees the model. Graphs built from it stay valid. NULL: does
 * nothing.
 *
 * @param model The model.
 */
WNN_EXPORT void wnnOnnxModelRelease(WNNOnnxModel model);

/**
 * Returns the inputs for which the file has no values, in the order of the file.
 *
 * @param model The model.
 *
 * @return Belongs to the model, until it is released or one of its dimensions or inputs is set.
 */
WNN_EXPORT WNNOnnxValueInfoArray wnnOnnxModelGetInputs(WNNOnnxModel model);

/**
 * Returns the outputs, in the order of the file. Only the graph tells their final shapes:
 * wnnGraphGetOutputs(). An output that is a sequence becomes outputs NAME/0, NAME/1 …
 *
 * @param model The model.
 *
 * @return Belongs to the model, until it is released or one of its dimensions is set.
 */
WNN_EXPORT WNNOnnxValueInfoArray wnnOnnxModelGetOutputs(WNNOnnxModel model);

/**
 * Sets the size of all dimensions with a name.
 *
 * @param model The model.
 * @param name The symbolic name.
 * @param size Number of elements, not 0.
 *
 * @return Success; TypeError: no input has a dimension of that name, its size is set already, size
 *     is 0, or model is NULL; UnknownError: memory is exhausted.
 */
WNN_EXPORT WNNStatus wnnOnnxModelSetDimension(WNNOnnxModel model, WNNStringView name,
					      uint32_t size);

/**
 * Lets all dimensions with a name have any size of a range, which each dispatch of the graph tells
 * by the shapes of its inputs. wnnOnnxModelBuildSync() then adds the model several times, with some
 * of the sizes, and builds one graph; wnnOnnxModelAddToBuilder() takes one size. The size that
 * wnnOnnxModelSetDimension() has set, or else the largest, is the one that inputs and outputs have
 * in wnnOnnxModelGetInputs(). Added in 1.2.0.
 *
 * @param model The model.
 * @param name The symbolic name.
 * @param min The least size: at least 1.
 * @param max The largest size: at least min, at most 2147483647.
 *
 * @return Success, or TypeError: no input has a dimension of that name, the name has a range, the
 *     range is not valid, or the size that was set is not in it; UnknownError: memory is exhausted.
 *     That the graph differs for some sizes in more than sizes is a TypeError of
 *     wnnOnnxModelBuildSync().
 */
WNN_EXPORT WNNStatus wnnOnnxModelSetDimensionRange(WNNOnnxModel model, WNNStringView name,
						   uint32_t min, uint32_t max);

/**
 * Sets the shape of an input, whatever the names of its dimensions are.
 *
 * @param model The model.
 * @param name Name of the input, or NAME/0, NAME/1 … of an item of a sequence, in this order.
 * @param shape Its dimensions. With a 0 the input has no elements, and is no input of the graph.
 *
 * @return Success, or TypeError: there is no such input, or the file or wnnOnnxModelSetDimension()
 *     gives another shape; UnknownError: memory is exhausted.
 */
WNN_EXPORT WNNStatus wnnOnnxModelSetInputShape(WNNOnnxModel model, WNNStringView name,
					       WNNUint32Array shape);

/**
 * Makes an input a constant, so that shapes and branches may depend on it. It is then no input of
 * the graph. Its shape must be known.
 *
 * @param model The model.
 * @param name Name of the input, or of an item of a sequence.
 * @param data Its elements, which are copied: in row-major order, bool as bytes; of elementType, or
 *     of dataType. NULL: the sequence is empty, or the optional value is not there.
 * @param size Number of bytes.
 *
 * @return Success, or TypeError: there is no such input, its shape is not known, or size is not
 *     that of its elements; UnknownError: memory is exhausted.
 */
WNN_EXPORT WNNStatus wnnOnnxModelSetInputValue(WNNOnnxModel model, WNNStringView name,
					       void const *data, size_t size);

/**
 * Cuts the model: these tensors become its outputs, and nodes that none of them depends on are left
 * out.
 *
 * @param model The model.
 * @param count Number of names, not 0.
 * @param names Names of tensors of the main graph: outputs of nodes, weights, or inputs of the
 *     model.
 *
 * @return Success, or TypeError: there is no such tensor, or one is given twice; UnknownError:
 *     memory is exhausted.
 */
WNN_EXPORT WNNStatus wnnOnnxModelSetOutputs(WNNOnnxModel model, size_t count,
					    WNNStringView const *names);

/**
 * Returns the tensors whose elements the last wnnOnnxModelAddToBuilder() or wnnOnnxModelBuildSync()
 * needed at import and did not know, because nodes compute them from inputs: a shape, a mask whose
 * true elements are counted, and so on. A program computes them by a graph that has them as outputs
 * (wnnOnnxModelSetOutputs()), gives them to wnnOnnxModelSetValue(), and builds again with the
 * outputs that it wants. Added in 1.2.0.
 *
 * @param model The model.
 *
 * @return Tensors of the main graph with their types and shapes. Belongs to the model, until it is
 *     released, or built or probed again. Empty also when memory is exhausted.
 */
WNN_EXPORT WNNOnnxValueInfoArray wnnOnnxModelGetNeededValues(WNNOnnxModel model);

/**
 * Makes a tensor that nodes compute a constant, in all later builds. Added in 1.2.0.
 *
 * @param model The model.
 * @param name Name of a tensor that wnnOnnxModelGetNeededValues() has listed.
 * @param data Its elements, which are copied: in row-major order, bool as bytes; of elementType, or
 *     of dataType.
 * @param size Number of bytes.
 *
 * @return Success, or TypeError: no build has needed this tensor, or size is not that of its
 *     elements; UnknownError: memory is exhausted.
 */
WNN_EXPORT WNNStatus wnnOnnxModelSetValue(WNNOnnxModel model, WNNStringView name, void const *data,
					  size_t size);

/**
 * Like wnnOnnxModelSetValue(), but the elements become no constants of the graph where shapes do
 * not depend on them: they, and what the import computes of them, are inputs of the graph, which
 * wnnOnnxModelGetComputedInputs() lists. A graph then serves other elements, too: those for which
 * wnnOnnxModelGetKey() gives an equal key. Added in 1.2.0.
 *
 * @param model The model.
 * @param name Name of a tensor that wnnOnnxModelGetNeededValues() has listed.
 * @param data Its elements, as for wnnOnnxModelSetValue().
 * @param size Number of bytes.
 *
 * @return Success, or TypeError: no build has needed this tensor, or size is not that of its
 *     elements; UnknownError: memory is exhausted.
 */
WNN_EXPORT WNNStatus wnnOnnxModelSetComputedValue(WNNOnnxModel model, WNNStringView name,
						  void const *data, size_t size);

/**
 * Returns the inputs of the graph that the last wnnOnnxModelAddToBuilder() or
 * wnnOnnxModelBuildSync() added for computed values. They are named computed/0, computed/1 and so
 * on. wnnOnnxModelReadComputedInput() has their elements. Added in 1.2.0.
 *
 * @param model The model.
 *
 * @return Belongs to the model, until it is released, or built or probed again. Empty also when
 *     memory is exhausted.
 */
WNN_EXPORT WNNOnnxValueInfoArray wnnOnnxModelGetComputedInputs(WNNOnnxModel model);

/**
 * Copies the elements of a computed input. Added in 1.2.0.
 *
 * @param model The model, as it was built last.
 * @param name Name of the input, from wnnOnnxModelGetComputedInputs().
 * @param data Filled with the elements, of the type and shape of the input.
 * @param size Number of bytes.
 *
 * @return Success, or TypeError: an argument is missing, there is no such input, or size is not
 *     that of its elements.
 */
WNN_EXPORT WNNStatus wnnOnnxModelReadComputedInput(WNNOnnxModel model, WNNStringView name,
						   void *data, size_t size);

/**
 * Returns a hash of what the last wnnOnnxModelAddToBuilder() has read: which files they are (their
 * inodes, sizes and times; the bytes of a model in memory), the outputs, the shapes and constants
 * of inputs, and the elements and shapes of computed values on which the operators depend. Where
 * keys are equal, so are the graphs, and a program may take one that it has kept. The release of
 * the library and the options of the context are not in the key; ranges of dimensions are not,
 * either. Added in 1.2.0.
 *
 * @param model The model, which was added to a builder without an error.
 * @param key Filled with two numbers of 64 bits.
 *
 * @return Success, TypeError: an argument is missing, or NotSupportedError: the model was described
 *     by wnnOnnxLoadGraph().
 */
WNN_EXPORT WNNStatus wnnOnnxModelGetKey(WNNOnnxModel model, uint64_t *key);

/**
 * Adds the model to a builder, as inputs and operators. Operators carry the names of their nodes as
 * labels.
 *
 * @param model The model.
 * @param builder A builder that has not built yet.
 * @param count Filled with the number of outputs.
 * @param outputs Filled with the outputs, which belong to the model until the next call of this
 *     function, of wnnOnnxModelBuildSync() or of wnnOnnxModelProbe(); the operands belong to the
 *     builder.
 *
 * @return Success, or what went wrong. The builder then holds parts of the model.
 *
 * Errors:
 * - TypeError: an argument is missing, or a dimension of an input is not known
 * - NotSupportedError: nodes are refused; wnnOnnxModelGetRefusals() has all of them
 * - OperationError: the model is damaged
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnOnnxModelAddToBuilder(WNNOnnxModel model, WNNGraphBuilder builder,
					      size_t *count, WNNNamedOperand const **outputs);

/**
 * Builds a graph of the model.
 *
 * @param model The model.
 * @param context Where the graph is to run.
 * @param timeoutNS Most nanoseconds to wait for the build, or WNN_WAIT_FOREVER.
 * @param graph Filled with the graph, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong: the errors of wnnOnnxModelAddToBuilder() and those of
 *     wnnGraphBuilderBuildSync(); NotSupportedError also when no output has elements.
 */
WNN_EXPORT WNNStatus wnnOnnxModelBuildSync(WNNOnnxModel model, WNNContext context,
					   uint64_t timeoutNS, WNNGraph *graph);

/**
 * Returns the inputs of the graph that the last wnnOnnxModelAddToBuilder() or
 * wnnOnnxModelBuildSync() added for nodes that draw random numbers. They are named random/0,
 * random/1 and so on. Before each dispatch, wnnOnnxModelDraw() fills their tensors.
 *
 * @param model The model.
 *
 * @return Belongs to the model, until it is released, or built or probed again.
 */
WNN_EXPORT WNNOnnxValueInfoArray wnnOnnxModelGetRandomInputs(WNNOnnxModel model);

/**
 * Draws the elements of a random input. Equal seeds and dispatches give equal elements on every
 * machine; Documentation/onnx.rst describes the generator.
 *
 * @param model The model, as it was built last.
 * @param name Name of the input, from wnnOnnxModelGetRandomInputs().
 * @param seed Selects one of 2^64 sequences of dispatches.
 * @param dispatch The number of the dispatch, counted from 0.
 * @param data Filled with the elements, of the type and shape of the input.
 * @param size Number of bytes.
 *
 * @return Success, or TypeError: an argument is missing, there is no such input, or size is not
 *     that of its elements.
 */
WNN_EXPORT WNNStatus wnnOnnxModelDraw(WNNOnnxModel model, WNNStringView name, uint64_t seed,
				      uint64_t dispatch, void *data, size_t size);

/**
 * Returns the outputs without elements of the last wnnOnnxModelAddToBuilder() or
 * wnnOnnxModelBuildSync(), with their shapes. WebNN has no such tensors, so they are no outputs
 * of the graph.
 *
 * @param model The model.
 *
 * @return Belongs to the model, until it is released, or built or probed again.
 */
WNN_EXPORT WNNOnnxValueInfoArray wnnOnnxModelGetEmptyOutputs(WNNOnnxModel model);

/**
 * Returns notices of the last wnnOnnxModelAddToBuilder() or wnnOnnxModelBuildSync() about what a
 * program may not expect: types that are computed in another type, and each node that is computed
 * only once, instead of in each dispatch, because wnnOnnxModelSetInputValue() made an input a
 * constant.
 *
 * @param model The model.
 *
 * @return One sentence each, in the member reason; input is the input that was made a constant, or
 *     empty. Belongs to the model, until it is released, or built or probed again.
 */
WNN_EXPORT WNNOnnxRefusalArray wnnOnnxModelGetNotices(WNNOnnxModel model);

/**
 * Returns the weights of the main graph and the outputs of its nodes, with types and shapes: as the
 * last wnnOnnxModelAddToBuilder(), wnnOnnxModelBuildSync() or wnnOnnxModelProbe() found them, also
 * when it refused nodes, and as in the file for nodes that it did not reach. The rank of all other
 * values is WNN_ONNX_RANK_UNKNOWN.
 *
 * @param model The model.
 *
 * @return The weights, which are fixed, then the outputs of each node, after the values that it
 *     reads. They belong to the model, until it is released, or built or probed again. Empty for
 *     NULL, and when memory is exhausted.
 */
WNN_EXPORT WNNOnnxValueInfoArray wnnOnnxModelGetValues(WNNOnnxModel model);

/**
 * Returns the number of nodes of the main graph.
 *
 * @param model The model.
 *
 * @return The number; 0 for NULL.
 */
WNN_EXPORT size_t wnnOnnxModelGetNodeCount(WNNOnnxModel model);

/**
 * Tells which nodes of the main graph can be part of a graph when another program computes the
 * others. The outputs of a refused node count as inputs of the types and shapes that the model
 * gives; nodes that read them are refused when these are not known. Nodes that draw random numbers
 * are refused, and NonMaxSuppression of computed boxes, since other nodes expect as many rows as it
 * takes boxes. No graph is built.
 *
 * @param model The model. The shapes of its inputs must be known.
 * @param context Where a graph is to run.
 * @param count Number of items of supported: that of the nodes.
 * @param supported Filled with true or false for each node, in their order; unchanged when an
 *     argument is wrong.
 *
 * @return Success also when nodes are refused: wnnOnnxModelGetRefusals() lists them, including
 *     those that only lack an input. Otherwise what went wrong, as for wnnOnnxModelAddToBuilder().
 */
WNN_EXPORT WNNStatus wnnOnnxModelProbe(WNNOnnxModel model, WNNContext context, size_t count,
				       WNNBool *supported);

/**
 * Returns all refusals of the last wnnOnnxModelAddToBuilder(), wnnOnnxModelBuildSync() or
 * wnnOnnxModelProbe(). Nodes that only depend on a refused node are listed after a probe alone.
 *
 * @param model The model.
 *
 * @return Belongs to the model, until it is released, or built or probed again.
 */
WNN_EXPORT WNNOnnxRefusalArray wnnOnnxModelGetRefusals(WNNOnnxModel model);

#if defined(__cplusplus)
} /* extern "C" */
#endif

#endif /* WEBNN_ONNX_H */
