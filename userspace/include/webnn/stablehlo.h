/* SPDX-License-Identifier: MIT */
/*
 * libwebnn-stablehlo: runs StableHLO programs, as JAX, PyTorch and TensorFlow export them. The
 * conventions are those of webnn.h: objects are counted by reference, structs that say what is wanted
 * are made with their INIT macro, and functions return a WNNStatus, with a message in
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
 * Threads. A program is used by one thread at a time; different programs by different threads. The
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

/** The processes, one for each device, that run programs together; there is one such object in a process. */
typedef struct WNNStablehloWorldImpl *WNNStablehloWorld;

/** As the size of a dimension: it is only known when the program runs. */
#define WNN_STABLEHLO_DIMENSION_UNKNOWN (INT64_C(-1))

/** An input or output of a module. Belongs to the program. */
typedef struct WNNStablehloValueInfo {
	/** Name of the argument; empty for an output. */
	WNNStringView name;
	/** The type as it is written, such as tensor<2x3xf32>. */
	WNNStringView type;
	/** Type of the elements, such as f32, bf16 or complex<f64>; empty if it is no tensor. */
	WNNStringView elementType;
	/** Bytes of an element in memory; those of fewer than 8 bits have one each. */
	size_t elementSize;
	/** Number of items of dimensions. */
	size_t rank;
	/** Sizes, or WNN_STABLEHLO_DIMENSION_UNKNOWN. */
	int64_t const *dimensions;
} WNNStablehloValueInfo;

/** Inputs or outputs of a module. Belongs to the program. */
typedef struct WNNStablehloValueInfoArray {
	/** Number of items. */
	size_t count;
	/** The items. */
	WNNStablehloValueInfo const *data;
} WNNStablehloValueInfoArray;

/** Why a part of the file cannot run. Belongs to the program. */
typedef struct WNNStablehloRefusal {
	/** Line in the file, from 1; of bytecode that of its source, or 0 when it does not say it. */
	uint32_t line;
	/** Column, from 1; the byte of the file where line is 0. */
	uint32_t column;
	/** The operation, such as stablehlo.add; empty for the file. */
	WNNStringView operatorName;
	/** One sentence. */
	WNNStringView reason;
} WNNStablehloRefusal;

/** All refusals of a file. Belongs to the program. */
typedef struct WNNStablehloRefusalArray {
	/** Number of items. */
	size_t count;
	/** The items, in the order of the file. */
	WNNStablehloRefusal const *data;
} WNNStablehloRefusalArray;

/** A value that goes into a program, or comes out of it. */
typedef struct WNNStablehloTensor {
	/** The elements in row-major order; booleans are bytes, complex numbers pairs. */
	void const *data;
	/** Number of bytes. */
	size_t size;
	/** Number of items of dimensions. */
	size_t rank;
	/** Sizes. For an input NULL where its type says all of them. */
	int64_t const *dimensions;
} WNNStablehloTensor;

/** Results of a run. Belongs to the program. */
typedef struct WNNStablehloTensorArray {
	/** Number of items. */
	size_t count;
	/** The items; one that is no tensor has no data. */
	WNNStablehloTensor const *data;
} WNNStablehloTensorArray;

/** What the last run did where. Constants, checks and calls are not counted. */
typedef struct WNNStablehloRunInfo {
	/** Operations that reference kernels of this library computed. */
	uint64_t referenceOperations;
	/** Operations that were part of graphs on the context. */
	uint64_t graphOperations;
	/** Operators of those graphs that the context computed on the CPU. */
	uint64_t cpuOperators;
} WNNStablehloRunInfo;

/** Where a part of the last run was computed. Belongs to the program. */
typedef struct WNNStablehloPlacement {
	/** The operation and its place in the file, such as stablehlo.add at 12:5, or at byte 730. */
	WNNStringView label;
	/** The operator of WebNN that it became, one of perhaps several; empty for a reference kernel. */
	WNNStringView operatorName;
	/** npu, cpu, folded (computed when the graph was built), or reference: a kernel of this library. */
	WNNStringView device;
	/** Why, as one sentence. */
	WNNStringView reason;
} WNNStablehloPlacement;

/** What the last run computed where. Belongs to the program. */
typedef struct WNNStablehloPlacementArray {
	/** Number of items. */
	size_t count;
	/** The items: those of functions and regions that the run came to. */
	WNNStablehloPlacement const *data;
} WNNStablehloPlacementArray;

/** Which of the ranks this process is. */
typedef struct WNNStablehloWorldInfo {
	/** Its number, from 0. */
	uint32_t rank;
	/** How many ranks there are. */
	uint32_t rankCount;
	/** Its number among the ranks of this machine, by which each can take a device of its own. */
	uint32_t localRank;
} WNNStablehloWorldInfo;

/** How a file is loaded. */
typedef struct WNNStablehloLoadOptions {
	/** NULL. */
	WNNChainedStruct *nextInChain;
} WNNStablehloLoadOptions;

/** Initialiser of WNNStablehloLoadOptions with the defaults. */
#define WNN_STABLEHLO_LOAD_OPTIONS_INIT { \
	/* .nextInChain = */ NULL \
}

/**
 * Gives status and message of the calling thread's last failed call of this library.
 *
 * @param error Made with WNN_ERROR_INIT; its message lives until the thread's next failed call.
 *
 * @return The same status; Success if nothing has failed yet.
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
 * Gives a reference back; the last one frees the program. NULL: does nothing.
 *
 * @param program The program.
 */
WNN_EXPORT void wnnStablehloProgramRelease(WNNStablehloProgram program);

/**
 * Gives what of the file cannot run, all at once. A program with refusals does not run.
 *
 * @param program The program.
 *
 * @return Belongs to the program.
 */
WNN_EXPORT WNNStablehloRefusalArray wnnStablehloProgramGetRefusals(WNNStablehloProgram program);

/**
 * Gives the number of modules in the file; lines of "// -----" part them.
 *
 * @param program The program.
 *
 * @return Their number.
 */
WNN_EXPORT size_t wnnStablehloProgramGetModuleCount(WNNStablehloProgram program);

/**
 * Gives the inputs of a module: the arguments of its function main, or of its only function.
 *
 * @param program The program.
 * @param module Which of its modules, from 0.
 *
 * @return Belongs to the program.
 */
WNN_EXPORT WNNStablehloValueInfoArray wnnStablehloProgramGetInputs(WNNStablehloProgram program,
								   size_t module);

/**
 * Gives the outputs of a module.
 *
 * @param program The program.
 * @param module Which of its modules, from 0.
 *
 * @return Belongs to the program.
 */
WNN_EXPORT WNNStablehloValueInfoArray wnnStablehloProgramGetOutputs(WNNStablehloProgram program,
								    size_t module);

/**
 * Gives all modules as MLIR's text in its generic form: what was read, by present names and without
 * what is the default, so that the same program has the same text, from whatever it was read. Names of
 * values, places and what says nothing about values, such as shardings of arguments, are not in it.
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

/** How often a loop of a program may turn unless it is said otherwise: 2^22 times. */
#define WNN_STABLEHLO_LOOP_LIMIT_DEFAULT (UINT64_C(4194304))

/**
 * Says how often a loop may turn each time it is come to, so that a loop without an end becomes an
 * error; WNN_STABLEHLO_LOOP_LIMIT_DEFAULT at first.
 *
 * @param program The program, whose next runs it is for.
 * @param turns The most turns; UINT64_MAX: no limit.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: program is missing, or turns is 0
 */
WNN_EXPORT WNNStatus wnnStablehloProgramSetLoopLimit(WNNStablehloProgram program, uint64_t turns);

/** How many operations the turns of a loop may have in all to be done in a row, unless it is said otherwise. */
#define WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT (UINT64_C(4096))

/**
 * Says how large a loop may be to be done in a row. On a context, a loop whose turns are known before it
 * runs, as it counts by constants, becomes the operations of all its turns, if WebNN has them all: they
 * are part of graphs, and nothing is decided between them.
 *
 * @param program The program, whose next runs it is for.
 * @param operations The most operations, turns times those of condition and body;
 *     WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT at first; 0: all loops stay.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: program is missing
 */
WNN_EXPORT WNNStatus wnnStablehloProgramSetUnrollLimit(WNNStablehloProgram program,
						       uint64_t operations);

/**
 * Runs a module, and waits for its end.
 *
 * @param program The program.
 * @param module Which of its modules, from 0.
 * @param context Where operations that WebNN has as well are to run, as graphs; NULL: all of them
 *     are computed by the reference kernels of this library.
 * @param count Number of inputs.
 * @param inputs One for each input of the module.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: there is no such module, or the inputs are not those that it takes
 * - NotSupportedError: the program has refusals
 * - OperationError: an operation failed, a comparison of the program among them, or a loop turned more
 *   often than it may; the message has its line and column
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloProgramRunSync(WNNStablehloProgram program, size_t module,
						WNNContext context, size_t count,
						WNNStablehloTensor const *inputs);

/**
 * Gives the results of the last run.
 *
 * @param program The program.
 *
 * @return Belongs to the program, until it is released or runs again.
 */
WNN_EXPORT WNNStablehloTensorArray wnnStablehloProgramGetResults(WNNStablehloProgram program);

/**
 * Tells what the last run did where.
 *
 * @param program The program.
 *
 * @return The counts; zero before the first run.
 */
WNN_EXPORT WNNStablehloRunInfo wnnStablehloProgramGetRunInfo(WNNStablehloProgram program);

/**
 * Tells for every operator of the graphs of the last run, and every other operation that it came to, where
 * it was computed and why. Constants, comparisons of a test and calls are not among them.
 *
 * @param program The program.
 *
 * @return Belongs to the program, until it is released or runs again; empty without a context, and after a
 *     run that has failed.
 */
WNN_EXPORT WNNStablehloPlacementArray wnnStablehloProgramGetPlacement(WNNStablehloProgram program);

/**
 * Tells whether this process was started as one of several ranks, by Open MPI's mpirun or another
 * starter that speaks PMIx.
 *
 * @return Whether it was.
 */
WNN_EXPORT WNNBool wnnStablehloWorldIsStarted(void);

/**
 * Joins the other ranks, and waits for them. A process joins once: later calls give the same object,
 * until it is released. MPI is begun, if the application has not done so; the calls that have to do
 * with ranks are then made by one thread, the one that began it.
 *
 * @param world Filled with the ranks, which the caller releases; NULL on error.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: world is missing
 * - InvalidStateError: this process has left the others already
 * - NotSupportedError: the module that has MPI is not installed, or does not load
 * - OperationError: MPI does not begin
 * - UnknownError: memory is exhausted
 */
WNN_EXPORT WNNStatus wnnStablehloWorldJoin(WNNStablehloWorld *world);

/**
 * Gives a reference back; the last one waits for all other ranks to do so, and ends MPI. After a
 * failure, here or on another rank, it ends all ranks, this process among them, with an error: what is
 * to be said of it is said before. NULL: does nothing.
 *
 * @param world The ranks.
 */
WNN_EXPORT void wnnStablehloWorldRelease(WNNStablehloWorld world);

/**
 * Tells which rank this is.
 *
 * @param world The ranks.
 *
 * @return Its numbers.
 */
WNN_EXPORT WNNStablehloWorldInfo wnnStablehloWorldGetInfo(WNNStablehloWorld world);

/**
 * Waits until all ranks have come here: none of them has failed until then. Programs call it before
 * they do what must not be done when another rank has failed. After a run that has failed on all ranks it
 * brings these together again, if none of them was in the middle of a transfer.
 *
 * @param world The ranks.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: world is missing
 * - OperationError: a rank has failed, or is at something else
 */
WNN_EXPORT WNNStatus wnnStablehloWorldAgreeSync(WNNStablehloWorld world);

/**
 * Tells the other ranks that this one cannot go on, so that they do not wait for it.
 *
 * @param world The ranks. NULL: does nothing.
 * @param reason Why; the others have it in their message.
 */
WNN_EXPORT void wnnStablehloWorldFail(WNNStablehloWorld world, WNNStringView reason);

/**
 * Says that runs of a program are runs on all ranks: process i of the program is rank i. All ranks run
 * the same program at the same time, and a run succeeds when it does on all of them.
 *
 * @param program The program.
 * @param world The ranks, of which the program keeps a reference; NULL: it runs alone.
 * @param partitions How many partitions a replica has; the number of ranks is a multiple of it. 0: as
 *     the attribute mhlo.num_partitions of a module says, else 1.
 *
 * @return Success, or what went wrong.
 *
 * Errors:
 * - TypeError: the program is missing, or the number of ranks is no multiple of the partitions
 */
WNN_EXPORT WNNStatus wnnStablehloProgramSetWorld(WNNStablehloProgram program,
						 WNNStablehloWorld world, size_t partitions);

#if defined(__cplusplus)
} /* extern "C" */
#endif

#endif /* WEBNN_STABLEHLO_H */
