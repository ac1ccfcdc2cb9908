// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Sweeps of programs beside calls for each of their values.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aperture/compose/sweep.hpp"
#include "libcompose/search.hpp"
#include "tests/compose/program_memory.hpp"

namespace aperture::compose {

/// y = x, and counts how often it is computed.
class Counted : public Operation {
  public:
    explicit Counted(int& count) : count_(count) {}
    Match match(const CallSite& site) const override {
        return {Level::device, {site.type(0)}, std::vector<Access>(1)};
    }
    std::unique_ptr<DeviceCall<core::Cpu>> prepare(core::Cpu&,
                                                   const CallSite& site) const override {
        return std::make_unique<Run>(count_, site.type(0).bytes());
    }

  private:
    class Run : public DeviceCall<core::Cpu> {
      public:
        Run(int& count, index_t bytes) : count_(count), bytes_(bytes) {}
        void run(core::Cpu&, std::span<const void* const> operands,
                 std::span<void* const> results) override {
#pragma omp atomic
            ++count_;
            std::memcpy(results[0], operands[0], static_cast<std::size_t>(bytes_));
        }

      private:
        int& count_;
        index_t bytes_;
    };
    int& count_;
};
inline Registry with_count(const char* name, int& count, Registry registry = {}) {
    registry.add(name, std::make_shared<Counted>(count));
    return registry;
}

inline constexpr Machine some_cpu{
    .bytes_a_second = 1e10, .flops_a_second = 1e11, .launch_seconds = 1e-7, .cache_bytes = 1 << 20};

/// A program, and its results for several values of a parameter; what is not reached is there as
/// often.
class Sweeping {
  public:
    Sweeping(const std::string& text, std::vector<float> values, Registry registry = {},
             const std::string& parameter = "p")
        : program_(parse(text)),
          registry_(std::move(registry)),
          values_(std::move(values)),
          parameters_{parameter},
          memory_(program_, 7) {}

    using Bits = std::vector<std::vector<std::byte>>;

    /// Value by value.
    Bits single_runs(int threads = 2) {
        core::Cpu cpu(threads);
        Executable<core::Cpu> executable(cpu, plan(program_, registry_, Fusion::thesis),
                                         Tier::interpreted);
        Bits all(returned(program_).size());
        for (float& value : values_) {
            ProgramMemory memory(program_, 7);
            Arguments arguments = memory.arguments();
            arguments[parameters_[0]].data = &value;
            executable.run(cpu, arguments, memory.results());
            for (std::size_t i = 0; i < all.size(); ++i) append(all[i], memory.results()[i]);
        }
        return all;
    }
    Bits swept(const SweepOptions& options) {
        core::Cpu cpu(2);
        return swept(cpu, options);
    }
    template <class Executor>
    Bits swept(Executor& executor, SweepOptions options) {
        using Bytes = core::Array<std::byte, 1, typename Executor::Space>;
        if (!options.machine) options.machine = some_cpu;
        Sweep<Executor> sweep(executor, program_, registry_, parameters_, options);
        Arguments arguments = memory_.arguments();
        std::vector<Bytes> arrays;
        for (auto& [name, argument] : arguments) {
            const index_t bytes = argument.type.bytes();
            if (argument.type.is_scalar()) continue;
            arrays.emplace_back(core::Extents<1>{bytes});
            copy_bytes(executor, argument.data, arrays.back().data(), bytes);
            argument.data = arrays.back().data();
        }
        arguments[parameters_[0]] = argument(values_.data(), {index_t(values_.size())});
        std::vector<Argument> results;
        for (std::size_t i = 0; i < sweep.reached().size(); ++i) {
            const Type& type = program_[returned(program_)[i]].type;
            arrays.emplace_back(core::Extents<1>{type.bytes() * times(sweep, i)});
            results.push_back({arrays.back().data(), type});
        }
        // Again, with what is kept.
        for (int run = 0; run < 2; ++run) found = sweep.run(executor, arguments, results);
        Bits all;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const index_t bytes = results[i].type.bytes() * times(sweep, i);
            std::vector<std::byte> host(static_cast<std::size_t>(bytes));
            copy_bytes(executor, results[i].data, host.data(), bytes);
            executor.synchronize();
            all.emplace_back();
            for (std::size_t k = 0; k < values_.size() && (k == 0 || !sweep.reached()[i]); ++k) {
                all.back().insert(all.back().end(), host.begin(), host.end());
            }
        }
        return all;
    }

    Swept found;

  private:
    template <class Executor>
    index_t times(const Sweep<Executor>& sweep, std::size_t result) const {
        return sweep.reached()[result] ? static_cast<index_t>(values_.size()) : 1;
    }
    static void append(std::vector<std::byte>& bits, const Argument& result) {
        const auto* const from = static_cast<const std::byte*>(result.data);
        bits.insert(bits.end(), from, from + result.type.bytes());
    }

    Program program_;
    Registry registry_;
    std::vector<float> values_;
    std::vector<std::string> parameters_;
    ProgramMemory memory_;
};

inline std::vector<float> some_values(std::size_t count) {
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = 0.1F + 0.9F * float(i) / float(count);
    return all;
}

inline constexpr SweepAxis one_by_one = SweepAxis::one_by_one,
                           side_by_side = SweepAxis::side_by_side;

}  // namespace aperture::compose
