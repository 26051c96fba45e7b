# SPDX-License-Identifier: MIT
"""Errors planted in the Python binding, for run.py."""

_DIR = 'build/mutations'
_RUN = f'PYTHONPATH={_DIR}/bindings/python TEST_FOLDER={_DIR} PYTHONDONTWRITEBYTECODE=1 timeout 120 python3'
_API = f'{_RUN} tests/python/test_api.py'
_FILES = f'{_RUN} tests/python/test_files.py'
_ONNX = f'{_RUN} tests/python/test_onnx.py'
_RANDOM = f'{_RUN} tests/python/test_random.py {_DIR}/tests/graphs/graph-fuzz cpu 150'

SETUP = [f'meson setup {_DIR} --auto-features=auto']
EVIDENCE = r'FAILED .*|\d+ with other bits'
BUILD = (f'ninja -C {_DIR} tests/graphs/graph-fuzz bindings/python/webnn_npu/_native.abi3.so '
         f'$(ninja -C {_DIR} -t targets all | grep -o "^bindings/python/webnn_npu/[a-z_/]*[.]pyi\\?:" | tr -d :)')


def _c(file, name, old, new, command=_API):
    return {'name': name, 'file': f'bindings/python/src/{file}.c', 'old': old, 'new': new, 'command': command}


def _python(file, name, old, new, command=_API):
    return {'name': name, 'file': f'bindings/python/webnn_npu/{file}.py', 'old': old, 'new': new, 'command': command}


MUTATIONS = [
    # Memory and references.
    _c('tensor', 'a tensor stays mapped', 'self->mapped = NULL;\n\twnnTensorUnmap(self->tensor);', 'self->mapped = NULL;'),
    _c('tensor', 'strides are those of columns', 'stride *= self->shape[i];', 'stride += self->shape[i];'),
    _c('tensor', 'a tensor is never given back', '\twnnTensorRelease(self->tensor);\n\tgive_back(',
       '\tgive_back('),
    _c('tensor', 'lent memory stays', 'if (lent->obj && through)\n\t\tPyBuffer_Release(lent);', '(void)through;'),
    _c('tensor', 'lent memory is given back too early', 'self->used = ++self->context->enqueued;', 'self->used = 0;'),
    _c('tensor', 'lent memory is moved while another thread reads it', 'self->lent.obj && self->calls;', 'false;'),
    _c('dlpack', 'a capsule keeps the tensor', 'PyBuffer_Release(&exported->buffer);\n\tPyMem_Free(exported);',
       'PyMem_Free(exported);'),
    _c('graph', 'a run keeps its buffers', '\tPyMem_Free(named);\n\trelease_buffers(buffers, input_count + output_count);\n\tif (status',
       '\tPyMem_Free(named);\n\tif (status'),
    _c('graph', 'runs share their tensors', 'self->sets = set->next;\n\t\treturn set;', 'return set;'),
    # Arguments.
    _c('operators', 'true is false', '*target = PyObject_IsTrue(value) > 0;', '*target = PyObject_IsTrue(value) < 0;', _RANDOM),
    _c('operators', 'big numbers are negative', 'target->kind = WNNNumberKind_Uint64;\n', '', _RANDOM),
    _python('_builder', 'a list of enumerations loses its last', 'tuple(ENUMS[kind[:-2]][item] for item in value)',
            'tuple(ENUMS[kind[:-2]][item] for item in value[:1] * len(value))'),
    _python('_types', 'values wrap', 'if not np.all(same & ((result < 0) == (array < 0))):', 'if False:'),
    _python('_types', 'the first of two elements is in the high bits', 'return (flat[0::2] | flat[1::2] << 4)',
            'return (flat[1::2] | flat[0::2] << 4)'),
    _python('_builder', 'a constant follows the array', 'and not is_constant(made):', 'and is_constant(made):'),
    _python('_context', 'the environment does not win', 'and not os.environ.get("WEBNN_DEVICE"):', 'and True:'),
    # Files and models.
    _python('_weights', 'bfloat16 is float16', '.astype(np.uint32) << 16)', '.astype(np.uint32) << 15)', _FILES),
    _python('_file', 'the operands of options are mixed up', "(required or not named or idl in named)", '(True)', _FILES),
    _python('_text', 'several results are one', '"outputs": names}', '"outputs": names[:1]}', _FILES),
    _python('onnx/__init__', 'a graph serves any shape', 'if not self._fixed_shape(name))', 'if False)', _ONNX),
    _python('onnx/__init__', 'values of inputs decide once', 'arrays[name].tobytes()', 'b""', _ONNX),
    _python('_export', 'padding stands in the order of WebNN', '[padding[0], padding[2], padding[1], padding[3]]', 'list(padding)',
            _ONNX),
]
