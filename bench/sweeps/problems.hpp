// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "aperture/core/array.hpp"

/// Four programs that are run for 32 values of a parameter, with inputs made from a seed and plain
/// implementations to check results by. Source: Ino et al. 2013, section 5.
namespace aperture::bench {

using core::index_t;

/// The lanes of a warp.
inline constexpr int tasks_at_once = 32;

/// A layer of output maps, each of 5 x 5 weighted values and a bias of every input map. Outputs are
/// at every second row and column.
template <int input_maps_, int input_rows_, int maps_>
struct Convolution {
    static constexpr bool convolution = true;
    static constexpr int input_maps = input_maps_;
    static constexpr int input_rows = input_rows_;
    static constexpr int maps = maps_;
    static constexpr int rows = (input_rows - 3) / 2;
    static constexpr int map_weights = 26;
    static constexpr int weights = maps * input_maps * map_weights;
    static constexpr int inputs = input_maps * input_rows * input_rows;
    static constexpr int outputs = maps * rows * rows;
    static constexpr int sums = input_maps * rows * rows;
};

/// A layer in which each neuron has a bias and a weight of every input. `warps_` divides inputs.
template <int inputs_, int neurons, int warps_>
struct Connection {
    static constexpr bool convolution = false;
    static constexpr int inputs = inputs_;
    static constexpr int outputs = neurons;
    static constexpr int weights = neurons * (1 + inputs);
    static constexpr int warps = warps_;
};

using FirstLayer = Convolution<1, 29, 6>;
using SecondLayer = Convolution<6, 13, 50>;
using ThirdLayer = Connection<SecondLayer::outputs, 100, 25>;
using FourthLayer = Connection<ThirdLayer::outputs, 10, 4>;

/// A neuron's output is activation_scale * tanh(activation_slope * sum).
inline constexpr double activation_scale = 1.7159;
inline constexpr double activation_slope = 2.0 / 3;

/// A network of random weights, and 32 random images of 29 x 29 pixels. Times do not depend on
/// them.
struct NetworkProblem {
    core::Array<float, 1> weights;  ///< of layer after layer
    core::Array<float, 2> inputs;   ///< [task][pixel]

    explicit NetworkProblem(core::Pages pages);
    std::vector<double> expected(index_t task) const;
};

/// Above every sum of weights.
inline constexpr int infinite_distance = 1 << 29;

/// A directed graph with four times as many edges as vertices: a ring, and edges between random
/// vertices. Weights are 1 to 255.
struct PathProblem {
    index_t vertices;
    core::Array<int, 1> offsets;  ///< of the edges that arrive at each vertex, and their number
    core::Array<int, 1> from;     ///< where each edge begins
    core::Array<int, 1> edge_weights;  ///< of each edge
    core::Array<int, 2> inputs;        ///< none

    /// At least 32 vertices.
    PathProblem(index_t vertices, core::Pages pages);
    int source(index_t task) const { return static_cast<int>(task * (vertices / tasks_at_once)); }
    /// By Dijkstra's algorithm.
    std::vector<double> expected(index_t task) const;
};

inline constexpr int histogram_bins = 256;

/// Volumes of some slices: a bright ellipsoid with structure and noise on a dark background, and 32
/// with other intensities, shifted along their rows, as candidates of a registration are.
struct HistogramProblem {
    core::Array<std::uint16_t, 1> reference;
    core::Array<std::uint16_t, 2> inputs;  ///< [task][voxel]

    /// `side` is a multiple of 8.
    HistogramProblem(index_t slices, core::Pages pages, index_t side = 512);
    std::vector<double> expected(index_t task) const;
};

/// Of a Gaussian of standard deviation 3, normalised.
struct BlurWeights {
    static constexpr int radius = 8;
    static constexpr int taps = 2 * radius + 1;
    float value[taps];
};

/// 32 images of random pixels.
struct GaussianProblem {
    index_t side;
    BlurWeights weights;
    core::Array<float, 2> inputs;  ///< [task][pixel]

    /// `side` is a multiple of 4.
    GaussianProblem(index_t side, core::Pages pages);
    std::vector<double> expected(index_t task) const;
};

}  // namespace aperture::bench
