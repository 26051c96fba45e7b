// SPDX-License-Identifier: MIT
/* Computes y = relu(x * w + 1) as first.c does, in C++17. */
#include <iostream>

#include <webnn/webnn.hpp>

int main()
{
	const std::vector<float> weights = { 1, -1, 2, -2, 3, -3 };
	wnn::Instance instance;
	wnn::Context context = instance.createContext();
	wnn::GraphBuilder b(context);
	auto x = b.input("x", { WNNOperandDataType_Float32, { 1, 3 } });
	auto w = b.constant({ WNNOperandDataType_Float32, { 3, 2 } }, weights);
	auto one = b.constant(WNNOperandDataType_Float32, 1.0);
	wnn::Graph graph = b.build({ { "y", b.relu(b.add(b.matmul(x, w), one)) } });
	wnn::Tensor in = context.createTensor({ WNNOperandDataType_Float32, { 1, 3 } });
	wnn::Tensor out = context.createTensor({ WNNOperandDataType_Float32, { 1, 2 } });

	context.writeTensor(in, std::vector<float>{ 1, 2, 3 });
	context.dispatch(graph, { { "x", in } }, { { "y", out } });
	std::vector<float> result = context.readTensor<float>(out);
	std::cout << result[0] << ' ' << result[1] << '\n';
	try {
		b.relu(x);
	} catch (const wnn::Error &error) {
		/* A builder builds once. */
		return error.status() == WNNStatus_InvalidStateError && result[0] == 15 ? 0 : 1;
	}
	return 1;
}
