# SPDX-License-Identifier: MIT
"""Errors planted in the provider for ONNX Runtime, and in models that are made from graphs in
memory, for run.py.

ONNX Runtime is in build/samples of the checkout, as scripts/fetch-samples.sh leaves it there.
"""
import pathlib

_DIR = 'build/mutations'
_SAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'build/samples'
_ORT = f'{_DIR}/userspace/ort/libonnxruntime_providers_onpu.so'
_GRAPH = f'{_DIR}/tests/onnx/test_onnx_graph'
_PROVIDER = f'python3 -B tests/ort/test_provider.py {_ORT} {_SAMPLES} 1.32.0 cpu'
_OLDEST = f'python3 -B tests/ort/test_provider.py {_ORT} {_SAMPLES} 1.23.2 cpu'
_BACKEND = f'python3 -B tests/ort/test_backend.py {_ORT} {_SAMPLES} cpu --every 3'

SETUP = [f'meson setup {_DIR}']
BUILD = f'ninja -C {_DIR} userspace/ort/libonnxruntime_providers_onpu.so tests/onnx/test_onnx_graph'


def _ort(file, name, old, new, command=_PROVIDER):
    return {'name': name, 'file': f'userspace/ort/{file}.c', 'old': old, 'new': new, 'command': command}


def _onnx(file, name, old, new):
    return {'name': name, 'file': f'userspace/import/onnx/{file}.c', 'old': old, 'new': new, 'command': _GRAPH}


MUTATIONS = [
    _onnx('graph', 'tensors have the type of floats', 'tensor->data_type = from->elementType;', 'tensor->data_type = from->elementType + 5;'),
    _onnx('graph', 'what was lent is kept when there is no graph', 'if (description && description->releaseCallback)', 'if (0)'),
    _onnx('graph', 'an attribute without a value is taken', 'if (has_value(from))', 'if (has_value(from) || !from->ints)'),
    _onnx('probe', 'a refused output is no input', 'if (!input.has_shape ||', 'if (1 || !input.has_shape ||'),
    _onnx('probe', 'a node without a known input has no reason', 'if (refusals == import->model->refusal_count)\n\t\trefuse_silent', 'if (0)\n\t\trefuse_silent'),
    _onnx('file', 'lent memory is not given back', 'if (file->lent && file->release)', 'if (0)'),
    _onnx('probe', 'NonMaxSuppression is taken', 'return refuse_in_probe(node, "how many boxes', 'return false && refuse_in_probe(node, "how many boxes'),
    _ort('partition', 'a node in the middle has no stage of its own', '(p->supported[from] && !p->supported[i] ? 1 : 0)', '0'),
    _ort('partition', 'nodes are not joined', 'p->stage[from] == p->stage[i])', '0)'),
    _ort('capability', 'groups are not asked about by themselves', 'changed = false;\n\t\tORT_TRY(onpu_partition_group(p));',
         'changed = false;\n\t\tORT_TRY(onpu_partition_group(p));\n\t\treturn NULL;', _BACKEND),
    _ort('capability', '1.23 takes nodes of two graphs', 'if (ort->version > 23)', 'if (1)', _OLDEST),
    _ort('compute', 'a program serves any shape', 'if (!same_shapes(group, program->shapes, shapes))',
         'if (!same_shapes(group, program->shapes, shapes) && !shapes)'),
    _ort('compute', 'two runs have the same tensors', 'if (*binding)\n\t\t\tprogram->free = (*binding)->next;', ''),
    _ort('compute', 'a compiled model runs with any shape', 'if (!port->fixed)', 'if (1)'),
    _ort('compute', 'outputs without elements are not given', 'i < program->empty_count;', 'i + 1 < program->empty_count;'),
    _ort('compute', 'types of a compiled model are not compared', '!onpu_is_type(ports[slot->port].type, from.data[i].dataType)', 'false'),
    _ort('factory', 'any version of a compiled model fits', 'if (strncmp(information + strlen(ours), version, strlen(version)))', 'if (false)'),
    _ort('profile', 'events have the time of another clock', 'profiler->begin = onpu_profile_now() - nanoseconds;', 'profiler->begin = nanoseconds;'),
    _ort('profile', 'nodes of the CPU are counted for the NPU', '{ "npu_nodes", s->npuNodes }', '{ "npu_nodes", s->cpuNodes }'),
    _ort('read', 'files anywhere are read', 'if (name && import_stays_below(name) &&', 'if (name &&'),
    _ort('group', 'weights in files are copied', 'if (group->folder && !group->dynamic) {', 'if (false) {'),
    _ort('cache', 'weights do not count', 'import_hash(h, tensor->data, tensor->data ? tensor->size : 0);', ''),
    _ort('cache', 'shapes do not count', 'import_hash(&h, shapes[i].dims, shapes[i].rank * sizeof(shapes[i].dims[0]));',
         'import_hash(&h, shapes[i].dims, 0);'),
    _ort('options', 'a wrong device is taken', 'if (*value && !onpu_is_device(value))', 'if (false)'),
]
