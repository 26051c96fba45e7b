# SPDX-License-Identifier: MIT
"""Shows coroutines, and arrays that are the memory of tensors, without a copy."""
import asyncio

import numpy as np
import webnn_npu


async def main():
    context = await webnn_npu.ML().create_context_async()
    builder = context.create_graph_builder()
    graph = await builder.build_async({"y": builder.mul(builder.input("x", [4]), builder.constant(2.0))})
    results = await asyncio.gather(*(context.compute_async(graph, {"x": np.full(4, i)}) for i in range(3)))
    print(*(result["y"][0] for result in results))

    x, y = context.create_host_tensor([4], "float32"), context.create_host_tensor([4], "float32")
    memory = np.asarray(x)
    memory[:] = [1, 2, 3, 4]
    del memory
    await context.dispatch_async(graph, {"x": x}, {"y": y})
    print(np.from_dlpack(y))


asyncio.run(main())
