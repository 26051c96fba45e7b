/* SPDX-License-Identifier: MIT */
/*
 * libwebnn-stablehlo: runs StableHLO programs, as JAX, PyTorch and TensorFlow export them. The
 * conventions are those of webnn.h: objects are counted by reference, structs that say what is
 * wanted are made with their INIT macro, and functions return a WNNStatus, with a message in
 * wnnStablehloGetLastError().
 *
 *	WNNStablehloProgram program;
 *	WNNStablehloTensor x = { data, sizeof(data), 0, NULL };
 *
 *	if (wnnStablehloLoadFile(WNN_STR("program.mlir"), NULL, &program) != WNNStatus_Success ||
 *	    wnnStablehloProgramRunSync(program, 0, context, 1, &x) != WNNStatus_Success)
 *		complain();
 *	use(wnnStablehloProgramGetResults(program));
 *
 * Threads. One thread at a time uses a program; different threads may use different programs. The
 * library never prints, exits or installs signal handlers.
 */
#ifndef WEBNN_STABLEHLO_H
#define WEBNN_STABLEHLO_H

#include "webnn.h"

#if defined(__cplusplus)
extern "C" {
#endif

/** A loaded file, which holds one or more modules. */
typedef struct WNNStablehloProgramImpl *WNNStablehloProgram;

/**
 * The processes, one for each device, that run programs together; a process has one such object.
 */
typedef struct WNNStablehloWorldImpl *WNNStablehloWorld;

/** Size of a dimension that is only known when the program runs. */
#define WNN_STABLEHLO_DIMENSION_UNKNOWN (INT64_C(-1))

/** An input or output of a module. Belongs to the program. */
typedef struct WNNStablehloValueInfo {
	/** The name of the argument; empty for an output. */
	WNNStringView name;
	/** The type as MLIR text, such as tensor<2x3xf32>. */
	WNNStringView type;
	/** The element type, such as f32, bf16 or complex<f64>; empty if the value is no tensor. */
	WNNStringView elementType;
	/** Bytes of an element in memory; an element of fewer than 8 bits takes one. */
	size_t elementSize;
	/** Number of items of dimensions. */
	size_t rank;
	/** The sizes, or WNN_STABLEHLO_DIMENSION_UNKNOWN. */
	int64_t const *dimensions;
} WNNStablehloValueInfo;

/** Inputs or outputs of a module. Belongs to the program. */
typedef struct WNNStablehloValueInfoArray {
	/** Number of items. */
	size_t count;
	/** The items. */
	WNNStablehloValueInfo const *data;
} WNNStablehloValueInfoArray;

/** The reason why a part of the file cannot run. Belongs to the program. */
typedef struct WNNStablehloRefusal {
	/**
	 * The line in the file, from 1; for bytecode the line in its source, or 0 if it has no
	 * locations.
	 */
	uint32_t line;
	/** The column, from 1; if line is 0, the byte of the file. */
	uint32_t column;
	/** The operation, such as stablehlo.add; empty for the file. */
	WNNStringView operatorName;
	/** The reason, as one sentence. */
	WNNStringView reason;
} WNNStablehloRefusal;

/** All refusals of a file. Belongs to the program. */
typedef struct WNNStablehloRefusalArray {
	/** Number of items. */
	size_t count;
	/** The items, in the order of the file. */
	WNNStablehloRefusal const *data;
} WNNStablehloRefusalArray;

/** An input or a result of a program. */
typedef struct WNNStablehloTensor {
	/** The elements in row-major order; booleans are bytes, complex numbers pairs. */
	void const *data;
	/** Number of bytes. */
	size_t size;
	/** Number of items of dimensions. */
	size_t rank;
	/** The sizes. For an input, NULL if its type gives all of them. */
	int64_t const *dimensions;
} WNNStablehloTensor;

/** Results of a run. Belongs to the program. */
typedef struct WNNStablehloTensorArray {
	/** Number of items. */
	size_t count;
	/** The items; an item that is no tensor has no data. */
	WNNStablehloTensor const *data;
} WNNStablehloTensorArray;

/**
 * Counts of where the last run computed operations. Constants, checks and calls are not counted.
 */
typedef struct WNNStablehloRunInfo {
	/** Operations that reference kernels of this library computed. */
	uint64_t referenceOperations;
	/** Operations that were part of graphs on the context. */
	uint64_t graphOperations;
	/** Operators of those graphs that the context computed on the CPU. */
	uint64_t cpuOperators;
} WNNStablehloRunInfo;

/** The device of an operation of the last run. Belongs to the program. */
typedef struct WNNStablehloPlacement {
	/**
	 * The operation and its position in the file, such as stablehlo.add at 12:5, or at byte
	 * 730.
	 */
	WNNStringView label;
	/**
	 * A WebNN operator that the operation became, perhaps one of several; empty for a reference
	 * kernel.
	 */
	WNNStringView operatorName;
	/**
	 * npu, cpu, folded (computed when the graph was built), or reference: a kernel of this
	 * library.
	 */
	WNNStringView device;
	/** The reason for the device, as one sentence. */
	WNNStringView reason;
} WNNStablehloPlacement;

/** The devices of the operations of the last run. Belongs to the program. */
typedef struct WNNStablehloPlacementArray {
	/** Number of items. */
	size_t count;
	/** The items, for functions and regions that the run reached. */
	WNNStablehloPlacement const *data;
} WNNStablehloPlacementArray;

/** The numbers of this process among the ranks. */
typedef struct WNNStablehloWorldInfo {
	/** The number of this rank, from 0. */
	uint32_t rank;
	/** The number of ranks. */
	uint32_t rankCount;
	/**
	 * The number of this rank among those of its machine, by which each can take a device of
	 * its own.
	 */
	uint32_t localRank;
} WNNStablehloWorldInfo;

/** Options for loading a file. */
typedef struct WNNStablehloLoadOptions {
	/** Must be NULL. */
	WNNChainedStruct *nextInChain;
} WNNStablehloLoadOptions;

/** Initialiser of WNNStablehloLoadOptions with the defaults. */
#define WNN_STABLEHLO_LOAD_OPTIONS_INIT { \
	/* .nextInChain = */ NULL \
}

/**
 * Returns the status and the message of the calling thread's last failed call of this library.
 *
 * @param error Made with WNN_ERROR_INIT; its message is valid until the thread's next failed call.
 *
 * @return The same status; Success if no call has failed yet.
 */
WNN_EXPORT WNNStatus wnnStablehloGetLastError(WNNError *error);

/**
 * Loads a file of MLIR: text, or portable bytecode (VHLO), which begins with the bytes 4D 4C EF 52.
 *
 * @param path The file.
 * @param options NULL: the defaults.
 * @param program Filled with the program, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: path or program is missing
 * - OperationError: the file cannot be read, or is no MLIR: the message has line and column, of
 *   bytecode the byte
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloLoadFile(WNNStringView path,
					  WNNStablehloLoadOptions const *options,
					  WNNStablehloProgram *program);

/**
 * Loads MLIR, text or portable bytecode, from memory, which is copied.
 *
 * @param data The text or bytecode.
 * @param size Number of bytes.
 * @param options NULL: the defaults.
 * @param program Filled with the program, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong; the errors of wnnStablehloLoadFile().
 */
WNN_EXPORT WNNStatus wnnStablehloLoadMemory(void const *data, size_t size,
					    WNNStablehloLoadOptions const *options,
					    WNNStablehloProgram *program);

/**
 * Takes another reference. NULL: does nothing.
 *
 * @param program The program.
 */
WNN_EXPORT void wnnStablehloProgramAddRef(WNNStablehloProgram program);

/**
 * Releases a reference; the last one frees the program. NULL: does nothing.
 *
 * @param program The program.
 */
WNN_EXPORT void wnnStablehloProgramRelease(WNNStablehloProgram program);

/**
 * Returns the reasons why the file cannot run, all at once. A program with refusals does not run.
 *
 * @param program The program.
 *
 * @return Belongs to the program.
 */
WNN_EXPORT WNNStablehloRefusalArray wnnStablehloProgramGetRefusals(WNNStablehloProgram program);

/**
 * Returns the number of modules in the file; lines of "// -----" separate them.
 *
 * @param program The program.
 *
 * @return Their number.
 */
WNN_EXPORT size_t wnnStablehloProgramGetModuleCount(WNNStablehloProgram program);

/**
 * Returns the inputs of a module: the arguments of its function main, or of its only function.
 *
 * @param program The program.
 * @param module Index of the module, from 0.
 *
 * @return Belongs to the program.
 */
WNN_EXPORT WNNStablehloValueInfoArray wnnStablehloProgramGetInputs(WNNStablehloProgram program,
								   size_t module);

/**
 * Returns the outputs of a module.
 *
 * @param program The program.
 * @param module Index of the module, from 0.
 *
 * @return Belongs to the program.
 */
WNN_EXPORT WNNStablehloValueInfoArray wnnStablehloProgramGetOutputs(WNNStablehloProgram program,
								    size_t module);

/**
 * Returns all modules as MLIR text in its generic form, with current names and without attributes
 * that have their default, so that equal programs have equal texts, whatever they were read from.
 * The text lacks names of values, locations, and attributes that do not affect values, such as
 * shardings of arguments.
 *
 * @param program The program.
 * @param text Filled with the text, which belongs to the program.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: program or text is missing
 * - OperationError: the text would have more than 2^28 bytes
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloProgramGetText(WNNStablehloProgram program, WNNStringView *text);

/**
 * Returns the program that each device of a replica runs, as text of MLIR: types are those of
 * slices, and collective operations stand where devices exchange them. It has no operations of
 * Shardy (sdy), so that tools without these can read it.
 *
 * Since: 1.2.0
 *
 * @param program The program.
 * @param text Filled with the text, which belongs to the program; it is empty when the program has
 *     no operations of Shardy, when devices compute with whole values around regions with slices,
 *     and when the program has refusals.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: program or text is missing
 * - OperationError: the text would have more than 2^28 bytes
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloProgramGetDeviceText(WNNStablehloProgram program,
						      WNNStringView *text);

/**
 * A function that programs call by stablehlo.custom_call @onpu.callback, in the order of
 * operations. Several threads may call it at once. It must not run the program that calls it.
 *
 * @param number The number in backend_config, which says what to do. Behind it, "once" says that of
 *     the devices of a replica only the first calls the function, and that all get its results.
 * @param inCount Number of operands.
 * @param in Elements of each operand, row by row, which the function only reads.
 * @param outCount Number of results.
 * @param out Memory for the elements of each result, which the function sets.
 *
 * @return NULL, or why the program fails; the text must stay until this thread's next call.
 */
typedef char const *(*WNNStablehloCallback)(uint64_t number, size_t inCount, void const *const *in,
					    size_t outCount, void *const *out);

/**
 * Sets the function that all programs of the process call. Without one, programs with such calls
 * load, and fail when they run.
 *
 * Since: 1.2.0
 *
 * @param callback The function, or NULL.
 */
WNN_EXPORT void wnnStablehloSetCallback(WNNStablehloCallback callback);

/** The default of the most iterations of a loop: 2^22. */
#define WNN_STABLEHLO_LOOP_LIMIT_DEFAULT (UINT64_C(4194304))

/**
 * Sets the most iterations of a loop each time it runs, so that an endless loop becomes an error;
 * WNN_STABLEHLO_LOOP_LIMIT_DEFAULT at first.
 *
 * @param program The program; the limit holds for its next runs.
 * @param turns The most iterations; UINT64_MAX: no limit.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: program is missing, or turns is 0
 */
WNN_EXPORT WNNStatus wnnStablehloProgramSetLoopLimit(WNNStablehloProgram program, uint64_t turns);

/** The default of the most operations, over all iterations, of a loop that is unrolled. */
#define WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT (UINT64_C(4096))

/**
 * Sets how large a loop may be to be unrolled. On a context, a loop whose iterations can be
 * computed before it runs, because it counts by constants, becomes the operations of all its
 * iterations, if WebNN has them all: they are part of graphs, and no condition is evaluated between
 * them.
 *
 * @param program The program; the limit holds for its next runs.
 * @param operations The most operations, iterations times those of condition and body;
 *     WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT at first; 0: no loop is unrolled.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: program is missing
 */
WNN_EXPORT WNNStatus wnnStablehloProgramSetUnrollLimit(WNNStablehloProgram program,
						       uint64_t operations);

/**
 * Has a program save the graphs that it builds as files of a folder, and load them from there when
 * a later run, of this or another process, needs them. A file's name has a hash of the program, so
 * that programs and processes can share a folder. A file that is damaged, or of another version of
 * the library or another device, is replaced. Nothing is ever deleted, and nothing is saved when
 * the folder cannot be written.
 *
 * Since: 1.2.0
 *
 * @param program The program; the folder holds for its next runs.
 * @param folder Path of a folder that exists. Copied. Empty: graphs are not saved, as at first.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: program is missing, or folder has a NUL
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloProgramSetGraphFolder(WNNStablehloProgram program,
						       WNNStringView folder);

/**
 * Runs a module, and waits for its end. On a context, the first run builds graphs and later runs
 * use them again. The program keeps the graphs, and a reference to the context, until the program
 * is released or a run fails. The process frees the oldest graphs when it keeps more than 256 such
 * programs, or 512 MiB in their graphs and unrolled loops.
 *
 * @param program The program.
 * @param module Index of the module, from 0.
 * @param context The context that runs, as graphs, the operations that WebNN has as well; NULL: the
 *     reference kernels of this library compute all operations.
 * @param count Number of inputs.
 * @param inputs One for each input of the module. Their elements must not change until the run
 *     ends: those of 8 bits or more, at an address that is a multiple of 16, are not copied.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: there is no such module, or the inputs are not those that it takes
 * - NotSupportedError: the program has refusals, takes a value that is neither a token nor a tensor
 *   of a known rank, or has shardings and runs on several partitions
 * - OperationError: the module has no function to run, or was loaded for several partitions; an
 *   operation failed, such as a comparison of the program, or a loop had more iterations than
 *   allowed; the message has its line and column; or the context is lost
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloProgramRunSync(WNNStablehloProgram program, size_t module,
						WNNContext context, size_t count,
						WNNStablehloTensor const *inputs);

/**
 * Returns the results of the last run.
 *
 * @param program The program.
 *
 * @return Belongs to the program, until it is released, runs again or forgets them; then empty.
 */
WNN_EXPORT WNNStablehloTensorArray wnnStablehloProgramGetResults(WNNStablehloProgram program);

/**
 * Frees the results of the last run, and the memory that the program keeps for values of the next
 * run. The program's graphs stay. NULL: does nothing.
 *
 * @param program The program.
 */
WNN_EXPORT void wnnStablehloProgramForgetResults(WNNStablehloProgram program);

/**
 * Returns how many operations the last run computed on which device.
 *
 * @param program The program.
 *
 * @return The counts; zero before the first run.
 */
WNN_EXPORT WNNStablehloRunInfo wnnStablehloProgramGetRunInfo(WNNStablehloProgram program);

/**
 * Returns how many graphs the last run has built. The run took all others from earlier runs on the
 * context with the same limits, or from files of wnnStablehloProgramSetGraphFolder().
 *
 * @param program The program.
 *
 * @return The count; 0 before the first run, and when the run had no context.
 */
WNN_EXPORT uint64_t wnnStablehloProgramGetBuildCount(WNNStablehloProgram program);

/**
 * Returns the device and the reason for every operator of the graphs of the last run, and for every
 * other operation that the run reached. Constants, comparisons of a test and calls are left out. On
 * several devices, it describes what process 0 ran.
 *
 * @param program The program.
 *
 * @return Belongs to the program, until it is released or runs again; empty without a context, and
 *     after a run that has failed.
 */
WNN_EXPORT WNNStablehloPlacementArray wnnStablehloProgramGetPlacement(WNNStablehloProgram program);

/**
 * Returns whether this process was started as one of several ranks, by Open MPI's mpirun or another
 * starter that speaks PMIx.
 *
 * @return Whether it was.
 */
WNN_EXPORT WNNBool wnnStablehloWorldIsStarted(void);

/**
 * Joins the other ranks, and waits for them. A process joins once: later calls return the same
 * object, until it is released. This initialises MPI, unless the application has done so; the
 * thread that initialised MPI then has to make all calls that involve ranks.
 *
 * @param world Filled with the ranks, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: world is missing
 * - InvalidStateError: this process has left the other ranks already
 * - NotSupportedError: the module that has MPI is not installed, or does not load
 * - OperationError: MPI cannot be initialised
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloWorldJoin(WNNStablehloWorld *world);

/**
 * Releases a reference; the last one waits for all other ranks to do so, and ends MPI unless the
 * application has initialised it. After a failure, here or on another rank, it ends all ranks with
 * an error, this process among them, so the program must report the failure before. NULL: does
 * nothing.
 *
 * @param world The ranks.
 */
WNN_EXPORT void wnnStablehloWorldRelease(WNNStablehloWorld world);

/**
 * Returns the numbers of this rank.
 *
 * @param world The ranks.
 *
 * @return Its numbers.
 */
WNN_EXPORT WNNStablehloWorldInfo wnnStablehloWorldGetInfo(WNNStablehloWorld world);

/**
 * Waits until all ranks have arrived here, which means that none of them has failed until then.
 * Programs call it before they do what must not be done when another rank has failed. After a run
 * that failed on all ranks, it synchronises them again, unless one of them was in the middle of a
 * transfer.
 *
 * @param world The ranks.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: world is missing
 * - OperationError: a rank has failed, or is at another step
 */
WNN_EXPORT WNNStatus wnnStablehloWorldAgreeSync(WNNStablehloWorld world);

/**
 * Tells the other ranks that this rank cannot go on, so that they do not wait for it.
 *
 * @param world The ranks. NULL: does nothing.
 * @param reason The reason; the messages of the other ranks contain it.
 */
WNN_EXPORT void wnnStablehloWorldFail(WNNStablehloWorld world, WNNStringView reason);

/**
 * Makes each run of a program a run on all ranks: process i of the program is rank i. All ranks run
 * the same program at the same time, and a run succeeds if it does on all of them.
 *
 * @param program The program.
 * @param world The ranks, of which the program keeps a reference; NULL: it runs alone.
 * @param partitions Number of partitions of each replica, which must divide the number of ranks. 0:
 *     from the attribute mhlo.num_partitions of a module, else 1.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: the program is missing, or the number of ranks is no multiple of the partitions
 */
WNN_EXPORT WNNStatus wnnStablehloProgramSetWorld(WNNStablehloProgram program,
						 WNNStablehloWorld world, size_t partitions);

/** How a value is cut over the partitions of a program. Belongs to the program. */
typedef struct WNNStablehloSlices {
	/** Number of items of parts; 0: each device has the whole value. */
	size_t rank;
	/** For each dimension, into how many equal slices it is cut. */
	int64_t const *parts;
	/** Number of items of slices: the partitions. */
	size_t partitions;
	/** For each partition, the number of its slice, in row-major order. */
	size_t const *slices;
	/**
	 * The number of partitions whose values must be added up to give a slice (the sharding is
	 * unreduced); 0 and 1: each partition has the slice itself.
	 */
	size_t addends;
	/** For each partition, the number of its addend; NULL where addends is 0. */
	size_t const *addend;
} WNNStablehloSlices;

/** Whether a run may take the memory of an input for an output. */
typedef enum WNNStablehloDonation {
	/** The caller keeps the input. */
	WNNStablehloDonation_None = 0,
	/** One output may take it: the file says which (tf.aliasing_output). */
	WNNStablehloDonation_Output = 1,
	/** Any output of this size may take it (jax.buffer_donor). */
	WNNStablehloDonation_Any = 2,
	/** Makes the type 32 bits wide; no value. */
	WNNStablehloDonation_Force32 = 0x7fffffff
} WNNStablehloDonation;

/**
 * Loads MLIR for several devices of this process, as wnnStablehloLoadMemory() does for one. Each
 * device of a replica is a partition: it has the slices of inputs and outputs that their shardings
 * (sdy.sharding) say, and the regions of sdy.manual_computation compute with slices. If the module
 * says mhlo.num_replicas = 1, each device computes its part of the other operations, too, as
 * shardings of arguments, results and constraints spread over the values;
 * wnnStablehloProgramGetText() shows the parts and the collective operations between them. All else
 * is computed on each device with whole values.
 *
 * wnnStablehloProgramGetInputs() and wnnStablehloProgramGetOutputs() tell about the slices.
 * Shardings that cannot be cut, such as one of 3 elements over 2 devices, become refusals.
 *
 * Since: 1.2.0
 *
 * @param data The text or bytecode.
 * @param size Number of bytes.
 * @param options NULL: the defaults.
 * @param partitions Number of partitions of a replica, from 1.
 * @param program Filled with the program, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: data or program is missing, or the number of partitions is 0 or above 1024
 * - the others of wnnStablehloLoadFile()
 */
WNN_EXPORT WNNStatus wnnStablehloLoadPartitioned(void const *data, size_t size,
						 WNNStablehloLoadOptions const *options,
						 size_t partitions, WNNStablehloProgram *program);

/**
 * Runs a module on several devices: each process of the program is a thread that uses a context of
 * its own, and they exchange values through memory. Process r * partitions + p is partition p of
 * replica r. When one fails, the others end when they next exchange values, or are done, and the
 * run ends with its message; when all wait for each other, that is an error.
 *
 * Since: 1.2.0
 *
 * @param program The program, of wnnStablehloLoadPartitioned(), or of another loading function if
 *     there is one partition.
 * @param module Number of the module, from 0.
 * @param processes Number of processes: a multiple of the partitions, at most 1024.
 * @param contexts A context for each process; NULL: all are computed by reference kernels.
 * @param count Number of inputs of the module.
 * @param inputs For each process its list of inputs, as for wnnStablehloProgramRunSync(); NULL if
 *     there are none.
 *
 * @return Success, or what went wrong; wnnStablehloProgramGetResultsOf() has the results.
 *
 * Errors:
 * - TypeError: there is no such module, or the number of processes or inputs is wrong
 * - OperationError: the module has no function to run, or attributes mhlo.num_partitions or
 *   mhlo.num_replicas for other numbers, or the run failed in a process
 * - NotSupportedError: the file has refusals, or takes a value that is neither a token nor a tensor
 *   of a known rank
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloProgramRunPartitionedSync(
	WNNStablehloProgram program, size_t module, size_t processes, WNNContext const *contexts,
	size_t count, WNNStablehloTensor const *const *inputs);

/**
 * Returns the results of a process of wnnStablehloProgramRunPartitionedSync(), which are valid
 * until the next run or wnnStablehloProgramForgetResults().
 *
 * Since: 1.2.0
 *
 * @param program The program.
 * @param process Number of the process.
 *
 * @return The results; none if the run failed, or there was no such process.
 */
WNN_EXPORT WNNStablehloTensorArray wnnStablehloProgramGetResultsOf(WNNStablehloProgram program,
								   size_t process);

/**
 * Returns how an input of a module is cut over partitions.
 *
 * Since: 1.2.0
 *
 * @param program The program, of wnnStablehloLoadPartitioned().
 * @param module Number of the module, from 0.
 * @param index Number of the input, from 0.
 *
 * @return The slices; all members are 0 where each device has the whole, or there is no such input.
 */
WNN_EXPORT WNNStablehloSlices wnnStablehloProgramGetInputSlices(WNNStablehloProgram program,
								size_t module, size_t index);

/**
 * Returns how an output of a module is cut over partitions; see
 * wnnStablehloProgramGetInputSlices().
 *
 * Since: 1.2.0
 *
 * @param program The program, of wnnStablehloLoadPartitioned().
 * @param module Number of the module, from 0.
 * @param index Number of the output, from 0.
 *
 * @return The slices; all members are 0 where each device has the whole, or there is no such
 *     output.
 */
WNN_EXPORT WNNStablehloSlices wnnStablehloProgramGetOutputSlices(WNNStablehloProgram program,
								 size_t module, size_t index);

/**
 * Returns the kind of memory that a program wants for an output, by the attribute mhlo.memory_kind
 * that JAX writes, such as device or pinned_host. It is for the caller, who copies the results.
 *
 * Since: 1.2.0
 *
 * @param program The program.
 * @param module Number of the module, from 0.
 * @param output Number of the output, from 0.
 *
 * @return The kind, which belongs to the program; empty: it names none, or there is no such output.
 */
WNN_EXPORT WNNStringView wnnStablehloProgramGetOutputMemoryKind(WNNStablehloProgram program,
								size_t module, size_t output);

/**
 * Returns whether the caller gives the memory of an input to a run of a module. This library
 * makes no use of that memory; the caller may put the results where such an input was.
 *
 * Since: 1.2.0
 *
 * @param program The program.
 * @param module Number of the module, from 0.
 * @param input Number of the input, from 0.
 * @param output Filled with the number of the output, for WNNStablehloDonation_Output.
 *
 * @return Whether it is given, and to what.
 */
WNN_EXPORT WNNStablehloDonation wnnStablehloProgramGetDonation(WNNStablehloProgram program,
							       size_t module, size_t input,
							       size_t *output);

#if defined(__cplusplus)
} /* extern "C" */
#endif

#endif /* WEBNN_STABLEHLO_H */
