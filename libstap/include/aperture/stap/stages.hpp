// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/signal/fft.hpp"
#include "aperture/stap/parameters.hpp"

/// The stages of extended factored STAP with block training, one function each, on either executor.
/// All sizes follow from `problem`; views with other extents throw core::InvalidArgument. Range
/// cells are contiguous (last stride 1); covariances and the weights of solve_weights are dense;
/// the other strides are arbitrary. Calls on a Gpu are asynchronous; those with steering vectors
/// temporarily allocate n D complex numbers from the device's stream-ordered pool.
///
/// Source: DiPietro's extended factored algorithm as in the PERFECT suite (PNNL & GTRI 2013), Ward
/// 1994 section 5.3.2, Anderson 2014 ch. 4.
namespace aperture::stap {

/// [channel][Doppler bin][range cell]
template <class Space>
using CubeView = core::View<const cfloat, 3, Space>;

/// S(r,k)[c T + t] = X[c][(k - (T-1)/2 + t) mod K][r] for every training set b = r div N_R:
/// `snapshots` is [k][b][c T + t][r - b N_R], with N_R columns. The last set holds its training
/// cells, the last N_R of the cube.
void extract_snapshots(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                       core::View<cfloat, 4, core::Host> snapshots);
void extract_snapshots(core::Gpu& gpu, const Problem& problem, CubeView<core::Device> cube,
                       core::View<cfloat, 4, core::Device> snapshots);

/// R(b,k) = 1/N_R sum_{r in block b} S(r,k) S(r,k)^H + loading I: `covariance` is [k][b][n][n],
/// both triangles written. Real = double estimates in fp64 from the fp32 cube.
template <class Real>
void estimate_covariance(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                         core::View<std::complex<Real>, 4, core::Host> covariance);
template <class Real>
void estimate_covariance(core::Gpu& gpu, const Problem& problem, CubeView<core::Device> cube,
                         core::View<std::complex<Real>, 4, core::Device> covariance);

/// w(b,k,d) = R(b,k)^-1 v(d): `steering` is [d][n], `weights` [k][b][d][n]; `info` [k][b] and
/// `pivot_ratio` [k][b] as in dense::solve.
template <class Real>
void solve_weights(core::Cpu& cpu, const Problem& problem,
                   core::View<const std::complex<Real>, 4, core::Host> covariance,
                   core::View<const cfloat, 2, core::Host> steering,
                   core::View<std::complex<Real>, 4, core::Host> weights,
                   core::View<int, 2, core::Host> info,
                   core::View<float, 2, core::Host> pivot_ratio);
template <class Real>
void solve_weights(core::Gpu& gpu, const Problem& problem,
                   core::View<const std::complex<Real>, 4, core::Device> covariance,
                   core::View<const cfloat, 2, core::Device> steering,
                   core::View<std::complex<Real>, 4, core::Device> weights,
                   core::View<int, 2, core::Device> info,
                   core::View<float, 2, core::Device> pivot_ratio);

/// y(d,k,r) = gamma w^H S(r,k) with gamma = 1/|w^H v|, or 1 if that is 0: `output` is [d][k][r].
/// Zero weights, those of a failed factorisation, yield zeros even where S is not a number. If Real
/// is double, weights are rounded to fp32 first.
template <class Real>
void apply_weights(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                   core::View<const cfloat, 2, core::Host> steering,
                   core::View<const std::complex<Real>, 4, core::Host> weights,
                   core::View<cfloat, 3, core::Host> output);
template <class Real>
void apply_weights(core::Gpu& gpu, const Problem& problem, CubeView<core::Device> cube,
                   core::View<const cfloat, 2, core::Device> steering,
                   core::View<const std::complex<Real>, 4, core::Device> weights,
                   core::View<cfloat, 3, core::Device> output);

/// The three in one pass, in fp32 and without snapshots, covariances and weights in memory: what a
/// Pipeline with Implementation::fused does, with steering vectors in the executor's memory.
/// Arguments are as in estimate_covariance, solve_weights and apply_weights.
void adapt_cube(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                core::View<const cfloat, 2, core::Host> steering,
                core::View<cfloat, 3, core::Host> output, core::View<int, 2, core::Host> info,
                core::View<float, 2, core::Host> pivot_ratio);
void adapt_cube(core::Gpu& gpu, const Problem& problem, CubeView<core::Device> cube,
                core::View<const cfloat, 2, core::Device> steering,
                core::View<cfloat, 3, core::Device> output, core::View<int, 2, core::Device> info,
                core::View<float, 2, core::Device> pivot_ratio);

/// Doppler processing: applies the taper, zero-pads to K pulses and transforms, X[c][k][r] = sum_p
/// taper[p] x[c][p][r] exp(-j 2 pi k p / K). Create one per problem (it holds the FFT plan);
/// running it allocates nothing. The executor must outlive it.
template <class Executor>
class DopplerFilter {
  public:
    DopplerFilter(Executor& executor, const Problem& problem);

    /// `pulses` is [c][p][r] with the last stride 1; `cube` is [c][k][r], dense.
    void run(core::View<const cfloat, 3, typename Executor::Space> pulses,
             core::View<cfloat, 3, typename Executor::Space> cube) const;

  private:
    Executor* executor_;
    Problem problem_;
    core::Array<float, 1, typename Executor::Space> taper_;
    signal::ForwardFft<Executor> transform_;
};

}  // namespace aperture::stap
