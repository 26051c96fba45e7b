// SPDX-License-Identifier: MIT
/*
 * Finds groups of points that lie together, by k-means, in C++17. Each line of a text file has the
 * coordinates of one point.
 *
 *	c++ -std=c++17 kmeans.cc $(pkg-config --cflags --libs webnn-npu) -o kmeans
 *	./kmeans points.txt 3
 *
 * A graph does one step: it finds the centre that is nearest to each point, and the middle of each
 * group. Neither needs a loop: products of matrices give the distances and the sums over groups.
 */
#include <getopt.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <webnn/webnn.hpp>

namespace
{

const int most_steps = 1000;

const char usage[] =
	"Usage: kmeans [--device npu|npu:1|sim|cpu] POINTS.txt GROUPS\n"
	"Prints the middle of each group of points, and then the group of each point, from 0 on.\n";

struct Points {
	uint32_t count = 0, dimensions = 0;
	std::vector<float> data;
};

Points readPoints(const std::string &path)
{
	std::ifstream file(path);
	std::string line;
	Points points;

	if (!file)
		throw std::runtime_error(path + ": it cannot be read");
	while (std::getline(file, line)) {
		std::istringstream words(line);
		uint32_t dimensions = 0;

		for (float x; words >> x; dimensions++)
			points.data.push_back(x);
		if (!words.eof() || (dimensions && points.count && dimensions != points.dimensions))
			throw std::runtime_error(path + ": \"" + line +
						 "\" is no point like those before");
		if (!dimensions)
			continue;
		points.dimensions = dimensions;
		points.count++;
	}
	if (!points.count)
		throw std::runtime_error(path + ": there are no points in it");
	return points;
}

/* One step of the algorithm, and the tensors that it reads and writes. */
class Step
{
      public:
	Step(wnn::Context device, const Points &points, uint32_t groups)
	    : context(std::move(device))
	{
		const wnn::TensorDescriptor places(WNNOperandDataType_Float32,
						   { groups, points.dimensions });

		build(points, groups);
		before = context.createTensor(places);
		after = context.createTensor(places);
		group = context.createTensor({ WNNOperandDataType_Int32, { points.count, 1 } });
	}

	/* Returns the new centres. */
	std::vector<float> run(const std::vector<float> &centres)
	{
		context.writeTensor(before, centres);
		context.dispatch(graph, { { "centres", before } },
				 { { "middles", after }, { "groups", group } });
		return context.readTensor<float>(after);
	}

	/* Returns the number of the group to which each point belonged in the last run. */
	std::vector<int32_t> groups()
	{
		return context.readTensor<int32_t>(group);
	}

      private:
	wnn::Context context;
	wnn::Graph graph;
	wnn::Tensor before, after, group;

	void build(const Points &points, uint32_t groups)
	{
		wnn::GraphBuilder b(context);
		const wnn::Uint32List first = { 0 }, second = { 1 };
		const auto number = WNNOperandDataType_Float32;
		wnn::ReduceOptions overRows, overColumns;
		wnn::ArgMinMaxOptions keep;
		std::vector<int32_t> numbers(groups);

		overRows.axes = first;
		overRows.keepDimensions = true;
		overColumns.axes = second;
		overColumns.keepDimensions = true;
		keep.keepDimensions = true;
		for (uint32_t i = 0; i < groups; i++)
			numbers[i] = static_cast<int32_t>(i);
		auto x = b.constant({ number, { points.count, points.dimensions } },
				    points.data.data(), points.data.size() * sizeof(float));
		auto centres = b.input("centres", { number, { groups, points.dimensions } });

		/* |x - c|² without |x|², which is the same for all centres: |c|² - 2 x·c */
		auto squares = b.transpose(b.reduceSumSquare(centres, overColumns));
		auto products = b.matmul(x, b.transpose(centres));
		auto distances = b.sub(squares, b.mul(products, b.constant(number, 2.0)));
		auto nearest = b.argMin(distances, 1, keep);

		/* A row for each point, with a 1 in the column of its group. */
		auto all = b.constant({ WNNOperandDataType_Int32, { 1, groups } }, numbers.data(),
				      numbers.size() * sizeof(int32_t));
		auto member = b.cast(b.equal(nearest, all), number);
		auto sums = b.matmul(b.transpose(member), x);
		auto sizes = b.transpose(b.reduceSum(member, overRows));

		/* A group without points stays where it is. */
		auto empty = b.equal(sizes, b.constant(number, 0.0));
		auto middles =
			b.where(empty, centres, b.div(sums, b.max(sizes, b.constant(number, 1.0))));
		graph = b.build({ { "middles", middles }, { "groups", nearest } });
	}
};

/*
 * Returns the first centres, which are the same on every device: the first point, and then each
 * time the point that is farthest from those chosen.
 */
std::vector<float> chooseCentres(const Points &points, uint32_t groups)
{
	const uint32_t size = points.dimensions;
	std::vector<float> centres, nearest(points.count, std::numeric_limits<float>::max());
	size_t chosen = 0;

	for (uint32_t n = 0; n < groups; n++) {
		const float *centre = &points.data[chosen * size];

		centres.insert(centres.end(), centre, centre + size);
		for (size_t i = 0; i < points.count; i++) {
			float distance = 0;

			for (uint32_t d = 0; d < size; d++) {
				float difference = points.data[i * size + d] - centre[d];

				distance += difference * difference;
			}
			nearest[i] = std::min(nearest[i], distance);
		}
		for (size_t i = 0; i < points.count; i++)
			if (nearest[i] > nearest[chosen])
				chosen = i;
	}
	return centres;
}

void findGroups(const std::string &device, const Points &points, uint32_t groups)
{
	wnn::Instance instance;
	Step step(instance.createContext(device), points, groups);
	std::vector<float> centres = chooseCentres(points, groups), before;

	for (int i = 0; i < most_steps && centres != before; i++) {
		before = centres;
		centres = step.run(before);
	}
	for (size_t i = 0; i < centres.size(); i++)
		std::cout << centres[i] << ((i + 1) % points.dimensions ? ' ' : '\n');
	for (int32_t group : step.groups())
		std::cout << group << '\n';
}

} // namespace

int main(int argc, char **argv)
{
	const option options[] = { { "device", required_argument, nullptr, 'd' },
				   { "help", no_argument, nullptr, 'h' },
				   { nullptr, 0, nullptr, 0 } };
	std::string device;

	for (int key; (key = getopt_long(argc, argv, "d:h", options, nullptr)) != -1;) {
		if (key == 'd') {
			device = optarg;
			continue;
		}
		(key == 'h' ? std::cout : std::cerr) << usage;
		return key == 'h' ? 0 : 64;
	}
	if (argc - optind != 2) {
		std::cerr << usage;
		return 64;
	}
	try {
		const Points points = readPoints(argv[optind]);
		const long groups = std::strtol(argv[optind + 1], nullptr, 10);

		if (groups < 1 || groups > static_cast<long>(points.count))
			throw std::runtime_error(std::string("\"") + argv[optind + 1] +
						 "\" groups cannot be made of " +
						 std::to_string(points.count) + " points");
		std::cout.precision(9);
		findGroups(device, points, static_cast<uint32_t>(groups));
	} catch (const std::exception &error) {
		/* Exceptions of the library are wnn::Error. */
		std::cerr << "kmeans: " << error.what() << '\n';
		return 1;
	}
	return 0;
}
