// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/compose_sequences.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/compose_program.hpp"
#include "bench/program.hpp"
#include "tests/compose/blas_sequences.hpp"

namespace aperture::bench {
namespace {

using compose::BlasSequence;
using compose::Fusion;
using core::index_t;

/// A program with its data and the results that it must have. The last one is kept, since the
/// interpreter takes seconds for the largest.
struct Sample {
    explicit Sample(const std::string& text)
        : program(compose::parse(text)), data(program), expected(expected_of(program, data)) {}

    compose::Program program;
    ProgramData data;
    std::vector<float> expected;
};
Sample& sample_of(const std::string& text) {
    static std::string known;
    static std::unique_ptr<Sample> sample;
    if (known != text) {
        sample.reset();
        sample = std::make_unique<Sample>(text);
        known = text;
    }
    std::fill(sample->data.result.begin(), sample->data.result.end(),
              std::numeric_limits<float>::quiet_NaN());
    return *sample;
}

/// A copy by all threads, which is measured between runs: other programs use the memory, too.
class Copy {
  public:
    Copy() : from_(smoke ? 1000 : std::size_t{16} << 20, 1), to_(from_.size()) {}

    void run() {
        const core::Cpu cpu;
        const auto threads = std::size_t(cpu.threads());
        const std::size_t part = from_.size() / threads;
        const core::Stopwatch watch;
#pragma omp parallel for num_threads(cpu.threads()) schedule(static, 1)
        for (std::size_t t = 0; t < threads; ++t) {
            std::memcpy(to_.data() + t * part, from_.data() + t * part, part * sizeof(float));
        }
        best_ = std::min(best_, watch.seconds());
    }
    double gbs() const { return 2e-9 * double(from_.size() * sizeof(float)) / best_; }

  private:
    std::vector<float> from_, to_;
    double best_ = std::numeric_limits<double>::infinity();
};

void report(benchmark::State& state, const BlasSequence& sequence, index_t order,
            const Sample& sample, const compose::Plan& plan, double seconds, double copy_gbs) {
    const double matrix = double(order) * double(order);
    const double vector = compose::is_of_vectors(sequence) ? matrix : double(order);
    const double least =
        sizeof(float) * (sequence.least_matrices * matrix + sequence.least_vectors * vector);
    state.counters["kernels"] = double(plan.kernels().size());
    state.counters["of_least"] = bytes_of(plan) / least;
    state.counters["GB/s"] = least / seconds * 1e-9;
    state.counters["copy_GB/s"] = copy_gbs;
    state.counters["%copy"] = 1e-7 * least / seconds / copy_gbs;
    expect_close(state, sample.data, sample.expected, 0);
}

void on_cpu(benchmark::State& state, const std::string& name, const BlasSequence& sequence,
            index_t order, Fusion fusion) {
    Sample& sample = sample_of(compose::text_of(sequence, order));
    Composed<core::Cpu> composed(compose::plan(sample.program, compose::Registry(), fusion),
                                 sample.data, compose::Tier::compiled);
    Copy copy;
    const double best = measure(state, name, [&] {
        copy.run();
        return composed.seconds();
    });
    report(state, sequence, order, sample, composed.plan(), best, copy.gbs());
}

#if APERTURE_CUDA
void on_gpu(benchmark::State& state, const std::string& name, const BlasSequence& sequence,
            index_t order, Fusion fusion) {
    Sample& sample = sample_of(compose::text_of(sequence, order));
    Composed<core::Gpu> composed(compose::plan(sample.program, compose::Registry(), fusion),
                                 sample.data);
    const double best = measure(state, name, [&] { return composed.seconds(); });
    composed.read_results();
    report(state, sequence, order, sample, composed.plan(), best, composed.copy_gbs());
}
#endif

template <class Run>
void register_all(const char* device, index_t order, const Run& run) {
    for (const BlasSequence& sequence : compose::blas_sequences) {
        for (const auto& [word, fusion] : compose::fusion_choices) {
            add_measured(
                core::text(device, "sequences/", sequence.name, "/", word, "/", order),
                [=, &sequence, fusion = fusion](benchmark::State& state, const std::string& name) {
                    run(state, name, sequence, order, fusion);
                });
        }
    }
}

}  // namespace

void register_composed_sequences() {
    register_all("", smoke ? 100 : 4096, on_cpu);
#if APERTURE_CUDA
    if (core::gpu_status().usable) register_all("gpu/", smoke ? 100 : 8192, on_gpu);
#endif
}

}  // namespace aperture::bench
