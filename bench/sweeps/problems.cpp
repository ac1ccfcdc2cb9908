// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sweeps/problems.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <random>
#include <utility>

namespace aperture::bench {
namespace {

template <class Layer>
std::vector<double> layer(const float* weights, const std::vector<double>& inputs) {
    std::vector<double> outputs;
    for (int output = 0; output < Layer::outputs; ++output) {
        double sum = 0;
        if constexpr (Layer::convolution) {
            const int map = output / (Layer::rows * Layer::rows);
            const int row = output / Layer::rows % Layer::rows;
            const int column = output % Layer::rows;
            for (int input_map = 0; input_map < Layer::input_maps; ++input_map) {
                const float* its =
                    weights + (map * Layer::input_maps + input_map) * Layer::map_weights;
                sum += *its++;
                for (int y = 0; y < 5; ++y) {
                    for (int x = 0; x < 5; ++x) {
                        const int in_row = input_map * Layer::input_rows + 2 * row + y;
                        const int at = in_row * Layer::input_rows + 2 * column + x;
                        sum += *its++ * inputs[static_cast<std::size_t>(at)];
                    }
                }
            }
        } else {
            const float* its = weights + output * (1 + Layer::inputs);
            sum = *its++;
            for (const double input : inputs) sum += *its++ * input;
        }
        outputs.push_back(activation_scale * std::tanh(activation_slope * sum));
    }
    return outputs;
}

/// So that sums of `inputs` weighted ones are about 1.
void fill_weights(float*& weights, int count, int inputs, std::mt19937& random) {
    const float limit = 1 / std::sqrt(static_cast<float>(inputs));
    std::uniform_real_distribution<float> uniform(-limit, limit);
    for (int i = 0; i < count; ++i) *weights++ = uniform(random);
}

}  // namespace

NetworkProblem::NetworkProblem(core::Pages pages)
    : weights(
          {FirstLayer::weights + SecondLayer::weights + ThirdLayer::weights + FourthLayer::weights},
          pages),
      inputs({tasks_at_once, FirstLayer::inputs}, pages) {
    std::mt19937 random(1);
    float* next = weights.data();
    fill_weights(next, FirstLayer::weights, 25, random);
    fill_weights(next, SecondLayer::weights, 150, random);
    fill_weights(next, ThirdLayer::weights, ThirdLayer::inputs, random);
    fill_weights(next, FourthLayer::weights, FourthLayer::inputs, random);
    std::uniform_real_distribution<float> uniform(0, 1);
    for (float& pixel : inputs) pixel = uniform(random);
}

std::vector<double> NetworkProblem::expected(index_t task) const {
    const float* of_layer = weights.data();
    const float* image = &inputs(task, 0);
    std::vector<double> values(image, image + FirstLayer::inputs);
    values = layer<FirstLayer>(of_layer, values);
    values = layer<SecondLayer>(of_layer += FirstLayer::weights, values);
    values = layer<ThirdLayer>(of_layer += SecondLayer::weights, values);
    return layer<FourthLayer>(of_layer + ThirdLayer::weights, values);
}

PathProblem::PathProblem(index_t number, core::Pages pages)
    : vertices(number),
      offsets({vertices + 1}, pages),
      from({4 * vertices}, pages),
      edge_weights(from.extent(), pages),
      inputs({tasks_at_once, 0}) {
    core::expects(vertices >= tasks_at_once, "a graph of ", vertices, " vertices; expected 32 at ",
                  "least");
    std::mt19937 random(2);
    std::uniform_int_distribution<int> vertex(0, static_cast<int>(vertices) - 1);
    std::uniform_int_distribution<int> weight(1, 255);
    std::vector<int> to;
    std::fill(offsets.begin(), offsets.end(), 0);
    for (index_t edge = 0; edge < from.size(); ++edge) {
        const bool of_ring = edge < vertices;
        to.push_back(of_ring ? static_cast<int>(edge) : vertex(random));
        ++offsets(to.back() + 1);
    }
    for (index_t v = 0; v < vertices; ++v) offsets(v + 1) += offsets(v);
    std::vector<int> next(offsets.begin(), offsets.end());
    for (index_t edge = 0; edge < from.size(); ++edge) {
        const int target = to[static_cast<std::size_t>(edge)];
        const int before = target > 0 ? target - 1 : static_cast<int>(vertices) - 1;
        const int at = next[static_cast<std::size_t>(target)]++;
        from(at) = edge < vertices ? before : vertex(random);
        edge_weights(at) = weight(random);
    }
}

std::vector<double> PathProblem::expected(index_t task) const {
    std::vector<std::vector<std::pair<int, int>>> leaving(static_cast<std::size_t>(vertices));
    for (int v = 0; v < vertices; ++v) {
        for (int i = offsets(v); i < offsets(v + 1); ++i) {
            leaving[static_cast<std::size_t>(from(i))].emplace_back(v, edge_weights(i));
        }
    }
    std::vector<double> distances(static_cast<std::size_t>(vertices), infinite_distance);
    using Reached = std::pair<int, int>;
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
    queue.emplace(0, source(task));
    while (!queue.empty()) {
        const auto [distance, v] = queue.top();
        queue.pop();
        double& known = distances[static_cast<std::size_t>(v)];
        if (distance >= known) continue;
        known = distance;
        for (const auto& [to, weight] : leaving[static_cast<std::size_t>(v)]) {
            queue.emplace(distance + weight, to);
        }
    }
    return distances;
}

HistogramProblem::HistogramProblem(index_t slices, core::Pages pages, index_t side)
    : reference({slices * side * side}, pages), inputs({tasks_at_once, reference.size()}, pages) {
    core::expects(side % 8 == 0, "slices of side ", side, "; expected a multiple of 8");
    std::mt19937 random(3);
    std::normal_distribution<float> noise(0, 4);
    std::vector<std::uint16_t> floating;
    const auto middle = [](index_t i, index_t count) {
        return (2 * static_cast<float>(i) + 1) / static_cast<float>(count) - 1;
    };
    const auto quantised = [](float value) {
        return static_cast<std::uint16_t>(std::clamp(value, 0.0F, histogram_bins - 1.0F));
    };
    for (index_t i = 0; i < reference.size(); ++i) {
        const float x = middle(i % side, side);
        const float y = middle(i / side % side, side);
        const float z = middle(i / side / side, slices);
        const float radius = std::sqrt(x * x + y * y + z * z / 2);
        const bool inside = radius < 0.8F;
        const float tissue = 120 + 60 * std::sin(9 * x) * std::cos(7 * y) + 40 * radius;
        const float first = noise(random);
        reference(i) = inside ? quantised(tissue + first) : 0;
        floating.push_back(inside ? quantised(230 - 0.7F * tissue + first / 2 + noise(random)) : 0);
    }
    for (index_t task = 0; task < tasks_at_once; ++task) {
        const auto shift = static_cast<std::ptrdiff_t>(task);
        std::rotate_copy(floating.begin(), floating.begin() + shift, floating.end(),
                         &inputs(task, 0));
    }
}

std::vector<double> HistogramProblem::expected(index_t task) const {
    std::vector<double> histogram(histogram_bins * histogram_bins);
    for (index_t i = 0; i < reference.size(); ++i) {
        const int bin = inputs(task, i) * histogram_bins + reference(i);
        ++histogram[static_cast<std::size_t>(bin)];
    }
    return histogram;
}

GaussianProblem::GaussianProblem(index_t its_side, core::Pages pages)
    : side(its_side), inputs({tasks_at_once, side * side}, pages) {
    core::expects(side % 4 == 0, "images of side ", side, "; expected a multiple of 4");
    double sum = 0;
    for (int i = 0; i < BlurWeights::taps; ++i) {
        const double x = (i - BlurWeights::radius) / 3.0;
        weights.value[i] = static_cast<float>(std::exp(-x * x / 2));
        sum += weights.value[i];
    }
    for (float& weight : weights.value) weight = static_cast<float>(weight / sum);
    std::mt19937 random(4);
    for (float& pixel : inputs) pixel = static_cast<float>(random() >> 8) * 0x1p-24F;
}

std::vector<double> GaussianProblem::expected(index_t task) const {
    const float* const image = &inputs(task, 0);
    std::vector<double> values(image, image + side * side);
    std::vector<double> filtered(values.size());
    for (const index_t stride : {index_t{1}, side}) {
        for (index_t i = 0; i < side * side; ++i) {
            const index_t place = i / stride % side;
            double sum = 0;
            for (int k = -BlurWeights::radius; k <= BlurWeights::radius; ++k) {
                if (place + k < 0 || place + k >= side) continue;
                sum += weights.value[k + BlurWeights::radius] *
                       values[static_cast<std::size_t>(i + k * stride)];
            }
            filtered[static_cast<std::size_t>(i)] = sum;
        }
        std::swap(values, filtered);
    }
    return values;
}

}  // namespace aperture::bench
