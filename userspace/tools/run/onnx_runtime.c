// SPDX-License-Identifier: MIT
/*
 * webnn-run: lets ONNX Runtime compute results of a model, for compare. It runs in a process of
 * python3, where users have it installed. A folder for temporary files holds the model, the inputs
 * as .npy files, and job.json with
 *
 *   model    the file, whose outputs are the wanted tensors
 *   data     the folder that the model's external data is relative to
 *   inputs   for each input that has a value its .npy file
 *   outputs  the names of the tensors
 *   result   the .npz file to write: an array for each tensor of real numbers or booleans
 *   answer   the file for the answer: "version" of ONNX Runtime, or what is "missing", or its
 *            "problem"
 */
#include "onnx_runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cut.h"
#include "model_write.h"

extern char **environ;

static const char script[] =
	"import json, sys, zipfile\n"
	"job = json.load(open(sys.argv[1]))\n"
	"def answer(**what):\n"
	"    json.dump(what, open(job['answer'], 'w'))\n"
	"    sys.exit()\n"
	"try:\n"
	"    import numpy, onnxruntime\n"
	"except ImportError as error:\n"
	"    answer(missing=str(error))\n"
	"def given(kind, path):\n"
	"    kind = kind[len('tensor('):-1]\n"
	"    kind = {'float': 'float32', 'double': 'float64'}.get(kind, kind)\n"
	"    return numpy.load(path).astype(kind)\n"
	"try:\n"
	"    options = onnxruntime.SessionOptions()\n"
	"    options.log_severity_level = 3\n"
	"    options.add_session_config_entry('session.model_external_initializers_file_folder_path', job['data'])\n"
	"    session = onnxruntime.InferenceSession(open(job['model'], 'rb').read(), options,\n"
	"                                           providers=['CPUExecutionProvider'])\n"
	"    feed = {i.name: given(i.type, job['inputs'][i.name]) for i in session.get_inputs()\n"
	"            if i.name in job['inputs']}\n"
	"    with zipfile.ZipFile(job['result'], 'w') as archive:\n"
	"        for name, value in zip(job['outputs'], session.run(job['outputs'], feed)):\n"
	"            if not isinstance(value, numpy.ndarray) or value.dtype.kind not in 'fiub':\n"
	"                continue\n"
	"            if value.dtype in (numpy.int16, numpy.uint16):\n"
	"                value = value.astype(numpy.int32)\n"
	"            with archive.open(name + '.npy', 'w', force_zip64=True) as file:\n"
	"                numpy.lib.format.write_array(file, value, allow_pickle=False)\n"
	"except Exception as error:\n"
	"    answer(problem=str(error))\n"
	"answer(version=onnxruntime.__version__)\n";

/* ---- the job */

static char *path_of(const struct onnx_runtime *runtime, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", runtime->folder, name) < 0 ? NULL : path;
}

/*
 * Writes the part of the model that the tensors need, with these as its outputs. Returns DONE or an
 * exit code.
 */
static int write_model(const struct onnx_runtime *runtime, const struct subject *subject,
		       const char *const *names, size_t count)
{
	const char *from = subject->options->model;
	char *path = path_of(runtime, "model.onnx");
	Onnx__ModelProto *model = NULL;
	struct tensors tensors = { 0 };
	bool *nodes = NULL;
	size_t size;
	int ret = model_file_load(from, &model);

	if (!ret) {
		nodes = calloc(model->graph->n_node + 1, sizeof(bool));
		if (!path || !nodes || tensors_init(&tensors, model->graph) ||
		    cut_mark(&tensors, names, count, nodes) ||
		    cut_apply(model, &tensors, NULL, 0, names, count, nodes))
			ret = complain_memory(from);
	}
	if (!ret)
		ret = model_write(model, path, &size);
	tensors_exit(&tensors);
	model_file_free(model);
	free(nodes);
	free(path);
	return ret;
}

static int write_inputs(const struct onnx_runtime *runtime, const struct subject *subject,
			json_t *inputs)
{
	int ret = DONE;

	for (size_t i = 0; !ret && i < subject->value_count; i++) {
		const struct value *value = &subject->values[i];
		char name[40], *path;

		if (value->missing)
			continue;
		snprintf(name, sizeof(name), "input%zu.npy", i);
		path = path_of(runtime, name);
		ret = path ? value_save(value, path) :
			     complain(BAD_DEVICE,
				      "too little memory is free for the model's inputs: end other "
				      "programs, or set smaller dimensions");
		if (!ret)
			json_object_set_new(inputs, value->name, json_text(WNN_STR(path)));
		free(path);
	}
	return ret;
}

/* Refuses a path that JSON cannot hold. Returns DONE, or an exit code after a message. */
static int check_path(const char *path)
{
	json_t *text = json_text(WNN_STR(path));
	int ret = DONE;

	/* json_text() replaces what is not UTF-8. */
	if (!text)
		ret = complain_memory(path);
	else if (strcmp(json_string_value(text), path) != 0)
		ret = complain(
			BAD_FILE,
			"%s: the path of this folder is not UTF-8, which the JSON for ONNX "
			"Runtime needs; use another folder for the model or, with TMPDIR, for "
			"temporary files",
			path);
	json_decref(text);
	return ret;
}

static int write_job(const struct onnx_runtime *runtime, const struct subject *subject,
		     const char *const *names, size_t count)
{
	const char *path = subject->options->model;
	char *from = strdup(path), *folder = NULL;
	char *job = path_of(runtime, "job.json"), *model = path_of(runtime, "model.onnx"),
	     *answer = path_of(runtime, "answer.json");
	json_t *inputs = json_object(), *outputs = json_array(), *root = NULL;
	int ret = DONE;

	if (from)
		folder = realpath(dirname(from), NULL);
	if (from && !folder && errno != ENOMEM)
		ret = complain_unread(path, errno);
	if (!ret && folder)
		ret = check_path(folder);
	if (!ret)
		ret = check_path(runtime->folder);
	if (!ret && inputs)
		ret = write_inputs(runtime, subject, inputs);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(outputs, json_text(WNN_STR(names[i])));
	if (!ret && job && model && answer && folder)
		root = json_pack("{s:s, s:s, s:O, s:O, s:s, s:s}", "model", model, "data", folder,
				 "inputs", inputs, "outputs", outputs, "result", runtime->result,
				 "answer", answer);
	errno = 0;
	if (!ret && (!root || json_dump_file(root, job, 0)))
		ret = complain_unwritten(runtime->folder, errno);
	json_decref(root);
	json_decref(inputs);
	json_decref(outputs);
	free(folder);
	free(from);
	free(job);
	free(model);
	free(answer);
	return ret;
}

/* ---- the other program */

/*
 * Starts Python with the job and sets *pid. A file captures what the process prints; the last line
 * of it is shown when there is no answer. Returns 0 or an error number.
 */
static int start(const struct onnx_runtime *runtime, pid_t *pid)
{
	char *job = path_of(runtime, "job.json"), *said = path_of(runtime, "said");
	char *argv[] = { "python3", "-c", (char *)(uintptr_t)script, job, NULL };
	posix_spawn_file_actions_t actions;
	int error = ENOMEM;

	if (job && said && !posix_spawn_file_actions_init(&actions)) {
		error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, said,
							 O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (!error)
			error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO,
								 STDERR_FILENO);
		if (!error)
			error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	free(job);
	free(said);
	return error;
}

/*
 * Sets @line to the last line of the captured output that is not empty, where Python names an
 * error; without one, to a text that says so.
 */
static void read_last_line(const struct onnx_runtime *runtime, char *line, size_t room)
{
	char *path = path_of(runtime, "said"), *text = NULL;
	FILE *file = path ? fopen(path, "r") : NULL;
	size_t size = 0;

	snprintf(line, room, "nothing, so memory may be exhausted");
	while (file && getline(&text, &size, file) > 0) {
		text[strcspn(text, "\n")] = 0;
		if (*text)
			snprintf(line, room, "%s", text);
	}
	free(text);
	free(path);
	if (file)
		fclose(file);
}

static int read_answer(struct onnx_runtime *runtime)
{
	char *path = path_of(runtime, "answer.json"), line[500];
	json_t *answer = path ? json_load_file(path, 0, NULL) : NULL;
	const char *version = json_string_value(json_object_get(answer, "version"));
	const char *missing = json_string_value(json_object_get(answer, "missing"));
	const char *problem = json_string_value(json_object_get(answer, "problem"));
	int ret = DONE;

	free(path);
	if (version) {
		snprintf(runtime->version, sizeof(runtime->version), "%s", version);
	} else if (missing) {
		ret = complain(
			BAD_DEVICE,
			"python3 cannot import numpy or onnxruntime, which compare needs: %s; "
			"install them: pip install onnxruntime, or on Debian apt install "
			"python3-onnxruntime",
			missing);
	} else if (problem) {
		ret = complain(BAD_MODEL, "ONNX Runtime gave no results for the model: %s",
			       problem);
	} else {
		read_last_line(runtime, line, sizeof(line));
		ret = complain(
			BAD_DEVICE,
			"python3, which runs ONNX Runtime, ended before it gave results; its last "
			"line is: %s",
			line);
	}
	json_decref(answer);
	return ret;
}

/* Returns what helps when python3 does not start, as the end of a message. */
static const char *way_out(int error)
{
	switch (error) {
	case ENOENT:
		return "; install python3, or put it on the PATH";
	case EACCES:
		return "; let this user run the python3 of the PATH, and look into the folders of "
		       "the PATH";
	case EAGAIN:
	case ENOMEM:
		return "; end other programs, or raise the limits of processes (ulimit -u) and "
		       "memory (ulimit -v)";
	default:
		return "";
	}
}

int onnx_runtime_run(struct onnx_runtime *runtime, const struct subject *subject,
		     const char *const *names, size_t count)
{
	const char *temporary = getenv("TMPDIR");
	int ret, error, status;
	pid_t pid;

	snprintf(runtime->folder, sizeof(runtime->folder), "%s/webnn-run.XXXXXX",
		 temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(runtime->folder)) {
		error = errno;
		*runtime->folder = 0;
		return complain(BAD_FILE,
				"a folder for temporary files cannot be made in %s: %s; set TMPDIR "
				"to a folder in which this user may write and that has room",
				temporary && *temporary ? temporary : "/tmp", strerror(error));
	}
	runtime->result = path_of(runtime, "result.npz");
	if (!runtime->result)
		return complain_memory(subject->options->model);
	ret = write_model(runtime, subject, names, count);
	if (!ret)
		ret = write_job(runtime, subject, names, count);
	if (ret)
		return ret;
	error = start(runtime, &pid);
	if (error)
		return complain(BAD_DEVICE,
				"python3, which runs ONNX Runtime, cannot be started: %s%s",
				strerror(error), way_out(error));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return read_answer(runtime);
}

void onnx_runtime_close(struct onnx_runtime *runtime)
{
	DIR *folder = *runtime->folder ? opendir(runtime->folder) : NULL;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	if (*runtime->folder)
		rmdir(runtime->folder);
	free(runtime->result);
	*runtime = (struct onnx_runtime){ 0 };
}
