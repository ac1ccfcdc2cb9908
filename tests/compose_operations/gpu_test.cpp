// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Programs with operations of the domain libraries on a GPU.
#include <gmock/gmock.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/compose_operations/flow.hpp"
#include "aperture/compose_operations/stap.hpp"
#include "tests/compose_operations/programs.hpp"
#include "tests/compose_operations/registry.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::compose {
namespace {

using Bytes = std::vector<std::byte>;

/// Numbers of normal distribution for each input, zeros for what the program overwrites, and memory
/// for results.
struct Buffers {
    explicit Buffers(const Program& program) {
        std::mt19937 generator(3);
        std::normal_distribution<float> normal;
        for (const Symbol& symbol : program.symbols) {
            const bool is_input = symbol.source == Source::input;
            if (!is_input && symbol.source != Source::in_place) continue;
            Bytes& memory = add(symbol.type);
            for (std::size_t i = 0; is_input && i < memory.size(); i += sizeof(float)) {
                const float number = normal(generator);
                std::memcpy(memory.data() + i, &number, sizeof(number));
            }
            arguments[symbol.name] = {memory.data(), symbol.type};
        }
        for (const SymbolId id : std::get<Return>(program.statements.back().what).values) {
            results.push_back({add(program[id].type).data(), program[id].type});
        }
    }
    Bytes& add(const Type& type) { return memory_.emplace_back(std::size_t(type.bytes())); }

    Arguments arguments;
    std::vector<Argument> results;

  private:
    std::deque<Bytes> memory_;
};

Bytes bytes_of_results(const Buffers& buffers) {
    Bytes all;
    for (const Argument& result : buffers.results) {
        const auto* const first = static_cast<const std::byte*>(result.data);
        all.insert(all.end(), first, first + result.type.bytes());
    }
    return all;
}

Bytes on_cpu(const std::string& text) {
    const Program program = parse(text);
    const Buffers buffers(program);
    core::Cpu cpu(2);
    Executable<core::Cpu>(cpu, plan(program, registry(), Fusion::thesis))
        .run(cpu, buffers.arguments, buffers.results);
    return bytes_of_results(buffers);
}

Bytes on_gpu(const std::string& text) {
    const Program program = parse(text);
    const Buffers host(program);
    core::Gpu gpu;
    gpu.stream();
    std::deque<core::Array<std::byte, 1, core::Device>> arrays;
    const auto on_device = [&](const Argument& argument) {
        auto& array = arrays.emplace_back(core::Extents<1>{argument.type.bytes()});
        core::copy(gpu,
                   core::View<const std::byte, 1, core::Host>(
                       static_cast<const std::byte*>(argument.data), array.extent()),
                   array.view());
        return Argument{array.data(), argument.type};
    };
    Arguments arguments;
    for (const auto& [name, argument] : host.arguments) arguments[name] = on_device(argument);
    const std::size_t first_result = arrays.size();
    std::vector<Argument> results;
    for (const Argument& result : host.results) results.push_back(on_device(result));
    Executable<core::Gpu> executable(gpu, plan(program, registry(), Fusion::thesis));
    executable.run(gpu, arguments, results);
    for (std::size_t i = 0; i < results.size(); ++i) {
        auto& array = arrays[first_result + i];
        core::copy(gpu, std::as_const(array).view(),
                   core::View<std::byte, 1, core::Host>(
                       static_cast<std::byte*>(host.results[i].data), array.extent()));
    }
    gpu.synchronize();
    return bytes_of_results(host);
}

using ComposeOperationsGpu = tests::GpuTest;

TEST_F(ComposeOperationsGpu, FlowsHaveTheBitsOfTheCpu) {
    const FlowProgram program{61, 83, 3, 20, 4};
    EXPECT_EQ(on_gpu(program.horn_schunck()), on_cpu(program.horn_schunck()));
    const std::string lucas_kanade = program.lucas_kanade(9, 0.1);
    EXPECT_EQ(on_gpu(lucas_kanade), on_cpu(lucas_kanade));
}

double snr(const Bytes& found, const Bytes& expected) {
    stap::oracle::SnrDb snr;
    const auto number = [](const Bytes& bytes, std::size_t i) {
        std::complex<float> value;
        std::memcpy(&value, bytes.data() + i, sizeof(value));
        return std::complex<double>(value);
    };
    for (std::size_t i = 0; i < expected.size(); i += sizeof(std::complex<float>)) {
        snr.add(number(expected, i), number(found, i));
    }
    return snr.value();
}

TEST_F(ComposeOperationsGpu, StapAgreesWithTheCpu) {
    for (const StapProgram& program : {StapProgram{3, 8, 64, 32, 3, 4, "loading = 0.01"},
                                       StapProgram{6, 16, 130, 64, 3, 16, "loading = 0.01"}}) {
        const Bytes expected = on_cpu(program.without_snapshots());
        EXPECT_GT(snr(on_gpu(program.without_snapshots()), expected), 80);
        EXPECT_GT(snr(on_gpu(program.stage_by_stage()), expected), 80);
        EXPECT_GT(snr(on_gpu(program.in_one_pass()), expected), 80);
    }
}

}  // namespace
}  // namespace aperture::compose
