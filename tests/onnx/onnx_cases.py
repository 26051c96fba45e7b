# SPDX-License-Identifier: MIT
"""Makes models of one operator in folders that onnx-cases reads, with ONNX Runtime's outputs."""
import contextlib
import os
import subprocess


@contextlib.contextmanager
def quiet():
    """Discards what is printed on standard error: Debian's onnx and onnxruntime complain when both
    are loaded."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


with quiet():
    import numpy
    import onnx.helper
    import onnx.numpy_helper
    import onnxruntime


def tensor_type(array):
    return onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


def make_model(operator, inputs, outputs, constants=(), domain="com.microsoft", **attributes):
    """Returns a model of one node. The dictionary inputs has an array for each name, or None for an
    input that is absent; inputs that constants names become initialisers.
    """
    node = onnx.helper.make_node(operator, [name if array is not None else "" for name, array in
                                            inputs.items()], outputs, domain=domain, **attributes)
    values = [onnx.helper.make_tensor_value_info(name, tensor_type(array), array.shape)
              for name, array in inputs.items() if array is not None and name not in constants]
    tensors = [inputs[name] if isinstance(inputs[name], onnx.TensorProto) else
               onnx.numpy_helper.from_array(inputs[name], name) for name in constants]
    graph = onnx.helper.make_graph([node], operator, values,
                                   [onnx.helper.make_empty_tensor_value_info(name)
                                    for name in outputs if name], tensors)
    return onnx.helper.make_model(graph, ir_version=8, opset_imports=[
        onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("com.microsoft", 1)])


def run_reference(model, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    with quiet():
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return session.run(None, feed)


def write_case(folder, model, feed, results):
    for output, array in zip(model.graph.output, results):
        output.CopyFrom(onnx.helper.make_tensor_value_info(
            output.name, tensor_type(numpy.asarray(array)), None))
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, arrays in (("input", feed), ("output", results)):
        for index, array in enumerate(arrays):
            (data / f"{kind}_{index}.pb").write_bytes(
                onnx.numpy_helper.from_array(numpy.asarray(array)).SerializeToString())


def run_cases(program, device, cases, options):
    """Returns whether all cases passed; prints those that did not."""
    done = subprocess.run([program, "--device", device, *options, "--verbose", *cases],
                          check=False, text=True, stdout=subprocess.PIPE)
    lines = done.stdout.splitlines()
    print("\n".join(line for line in lines if not line.startswith("passed ")))
    return done.returncode == 0 and sum(line.startswith("passed ") for line in lines) == len(cases)
