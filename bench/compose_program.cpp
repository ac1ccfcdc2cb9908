// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/compose_program.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <variant>

#include "bench/program.hpp"
#if APERTURE_CUDA
#include "bench/gpu_ceilings.hpp"
#endif

namespace aperture::bench {
namespace {

using compose::Fusion;
using compose::Tier;
using core::index_t;

/// Symmetric, with dominant diagonals.
void make_definite(const compose::Type& type, std::vector<float>& numbers) {
    const index_t order = type.rows();
    for (index_t p = 0; p < type.extent[0]; ++p) {
        float* const s = numbers.data() + p * order * order;
        for (index_t i = 0; i < order; ++i) {
            for (index_t j = 0; j < i; ++j) s[i * order + j] = s[j * order + i];
            s[i * order + i] += float(order + 1);
        }
    }
}

index_t floats_of(const compose::Type& type) { return type.bytes() / index_t{sizeof(float)}; }

}  // namespace

ProgramData::ProgramData(const compose::Program& program) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (const compose::Symbol& symbol : program.symbols) {
        const bool in_place = symbol.source == compose::Source::in_place;
        if (symbol.source != compose::Source::input && !in_place) continue;
        std::vector<float>& numbers = inputs[symbol.name];
        numbers.resize(std::size_t(floats_of(symbol.type)));
        std::generate(numbers.begin(), numbers.end(), [&] { return uniform(generator); });
        if (symbol.type.kind == compose::Kind::batch && symbol.name.front() == 'S') {
            make_definite(symbol.type, numbers);
        }
        if (in_place) first[symbol.name] = numbers;
        arguments[symbol.name] = {numbers.data(), symbol.type};
    }
    index_t size = 0;
    for (const auto id : std::get<compose::Return>(program.statements.back().what).values) {
        results.push_back({nullptr, program[id].type});
        size += floats_of(program[id].type);
    }
    result.resize(std::size_t(size));
    point_to_numbers();
}
ProgramData::ProgramData(const ProgramData& other)
    : inputs(other.inputs),
      first(other.first),
      result(other.result),
      arguments(other.arguments),
      results(other.results) {
    point_to_numbers();
}
void ProgramData::point_to_numbers() {
    for (auto& [name, argument] : arguments) argument.data = inputs.at(name).data();
    float* next = result.data();
    for (compose::Argument& one : results) {
        one.data = next;
        next += floats_of(one.type);
    }
}
void ProgramData::reset() {
    for (const auto& [name, numbers] : first) {
        std::copy(numbers.begin(), numbers.end(), inputs.at(name).begin());
    }
}

std::vector<float> expected_of(const compose::Program& program, ProgramData data) {
    Composed<core::Cpu>(compose::plan(program, compose::Registry(), Fusion::none), data,
                        Tier::interpreted)
        .seconds();
    return std::move(data.result);
}

void expect_close(benchmark::State& state, const ProgramData& data,
                  const std::vector<float>& expected, float tolerance) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (std::abs(data.result[i] - expected[i]) <= tolerance) continue;
        fail(state, core::text("result ", i, " is ", data.result[i], ", expected ", expected[i]));
        return;
    }
}

double bytes_of(const compose::Plan& plan) {
    double bytes = 0;
    for (const compose::Kernel* kernel : plan.kernels()) bytes += kernel->bytes;
    return bytes;
}

template <class Executor>
Composed<Executor>::Composed(compose::Plan plan, ProgramData& data, Tier tier)
    : data_(data),
      executable_(executor_, std::move(plan), tier),
      arguments_(data.arguments),
      results_(data.results) {
    if constexpr (core::is_gpu<Executor>) {
        for (auto& [name, argument] : arguments_) {
            // Scalars are read on the host.
            if (argument.type.is_scalar()) continue;
            argument.data = inputs_.emplace(name, core::Extents<1>{floats_of(argument.type)})
                                .first->second.data();
        }
        for (compose::Argument& one : results_) {
            one.data = outputs_.emplace_back(core::Extents<1>{floats_of(one.type)}).data();
        }
        copy_arguments(false);
    }
}

template <class Executor>
void Composed<Executor>::copy_arguments([[maybe_unused]] bool in_place_only) {
    if constexpr (core::is_gpu<Executor>) {
        for (auto& [name, numbers] : inputs_) {
            const bool in_place = data_.first.count(name) > 0;
            if (in_place_only && !in_place) continue;
            const std::vector<float>& from =
                in_place ? data_.first.at(name) : data_.inputs.at(name);
            core::copy(executor_,
                       core::View<const float, 1, core::Host>(from.data(), numbers.extent()),
                       numbers.view());
        }
    } else {
        data_.reset();
    }
}
template <class Executor>
void Composed<Executor>::read_results() {
    if constexpr (core::is_gpu<Executor>) {
        for (std::size_t i = 0; i < results_.size(); ++i) {
            core::copy(executor_, std::as_const(outputs_[i]).view(),
                       core::View<float, 1, core::Host>(static_cast<float*>(data_.results[i].data),
                                                        outputs_[i].extent()));
        }
    }
    synchronize();
}
template <class Executor>
void Composed<Executor>::synchronize() {
    if constexpr (core::is_gpu<Executor>) executor_.synchronize();
}

template <class Executor>
double Composed<Executor>::seconds() {
    copy_arguments(true);
    const auto run = [&] { executable_.run(executor_, arguments_, results_); };
#if APERTURE_CUDA
    if constexpr (core::is_gpu<Executor>) {
        return seconds_on(executor_, timeline_, calls_in_a_row, [&](std::size_t) { run(); });
    }
#endif
    const core::Stopwatch watch;
    run();
    return watch.seconds();
}
template <class Executor>
double Composed<Executor>::seconds_with_copies() {
    if constexpr (!core::is_gpu<Executor>) return seconds();
    synchronize();
    const core::Stopwatch watch;
    copy_arguments(false);
    executable_.run(executor_, arguments_, results_);
    read_results();
    return watch.seconds();
}
template <class Executor>
double Composed<Executor>::seconds_of_copies() {
    if constexpr (!core::is_gpu<Executor>) return 0;
    synchronize();
    const core::Stopwatch watch;
    copy_arguments(false);
    read_results();
    return watch.seconds();
}
template <class Executor>
double Composed<Executor>::copy_gbs() {
#if APERTURE_CUDA
    if constexpr (core::is_gpu<Executor>) return gpu_copy_gbs(executor_);
#endif
    return copy_bandwidth_gbs(core::Cpu().threads());
}

template class Composed<core::Cpu>;
#if APERTURE_CUDA
template class Composed<core::Gpu>;
#endif

}  // namespace aperture::bench
