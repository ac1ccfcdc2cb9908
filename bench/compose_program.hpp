// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"

/// What benchmarks of array programs share.
namespace aperture::bench {

/// Host memory of a program's arguments, filled with random numbers from -1 to 1, and of its
/// results, all of single precision; a complex number is two of `float`. Matrices of a batch whose
/// name begins with S are symmetric and positive definite.
struct ProgramData {
    explicit ProgramData(const compose::Program& program);
    ProgramData(const ProgramData& other);
    ProgramData& operator=(const ProgramData&) = delete;

    /// Gives arguments in place the numbers that they had first.
    void reset();

    std::map<std::string, std::vector<float>> inputs;
    std::map<std::string, std::vector<float>> first;  ///< of arguments in place
    std::vector<float> result;                        ///< one after the other, if there are several
    compose::Arguments arguments;
    std::vector<compose::Argument> results;

  private:
    void point_to_numbers();
};

/// Interpreted, without fusion: the oracle, which tests compare with arithmetic in double.
std::vector<float> expected_of(const compose::Program& program, ProgramData data);
/// Fails unless all results differ by at most `tolerance`.
void expect_close(benchmark::State& state, const ProgramData& data,
                  const std::vector<float>& expected, float tolerance);
/// What a plan's kernels load and store.
double bytes_of(const compose::Plan& plan);

/// A plan made ready for an executor, and data there. The data must outlive it.
template <class Executor>
class Composed {
  public:
    Composed(compose::Plan plan, ProgramData& data, compose::Tier tier = compose::Tier::automatic);

    /// Of a run; on a GPU, of one of several in a row.
    double seconds();
    /// Of a run with copies of arguments to the GPU and of results from there.
    double seconds_with_copies();
    /// Of the copies alone; 0 on a CPU.
    double seconds_of_copies();
    /// GB/s of a copy of large arrays.
    double copy_gbs();
    const compose::Plan& plan() const { return executable_.plan(); }
    /// Copies results from the GPU to the data.
    void read_results();

  private:
    using Numbers = core::Array<float, 1, typename Executor::Space>;

    void copy_arguments(bool in_place_only);
    void synchronize();

    Executor executor_;
    ProgramData& data_;
    compose::Executable<Executor> executable_;
    core::Timeline timeline_;
    // On a GPU.
    std::map<std::string, Numbers> inputs_;
    std::vector<Numbers> outputs_;
    compose::Arguments arguments_;
    std::vector<compose::Argument> results_;
};

}  // namespace aperture::bench
