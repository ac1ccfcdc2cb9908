// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "aperture/compose/executable.hpp"

namespace aperture::compose {

/// Memory for what a program is called with, filled with random numbers, and for its results.
class ProgramMemory {
  public:
    ProgramMemory(const Program& program, unsigned seed) {
        std::mt19937 generator(seed);
        for (const Symbol& symbol : program.symbols) {
            if (symbol.source != Source::input && symbol.source != Source::in_place) continue;
            arguments_[symbol.name] = memory(symbol.type);
            fill(arguments_[symbol.name], generator);
        }
        for (const SymbolId id : std::get<Return>(program.statements.back().what).values) {
            results_.push_back(memory(program[id].type));
        }
    }
    const Arguments& arguments() const { return arguments_; }
    const std::vector<Argument>& results() const { return results_; }

    /// All bits, of arguments too.
    const std::vector<std::vector<std::byte>>& bits() const { return memory_; }

  private:
    Argument memory(const Type& type) {
        memory_.emplace_back(static_cast<std::size_t>(type.bytes()));
        return {memory_.back().data(), type};
    }
    static void fill(const Argument& argument, std::mt19937& generator) {
        switch (argument.type.dtype) {
            case Dtype::f32:
            case Dtype::c64:
                return fill<float>(argument, std::uniform_real_distribution<float>(-1, 1),
                                   generator);
            case Dtype::f64:
            case Dtype::c128:
                return fill<double>(argument, std::uniform_real_distribution<double>(-1, 1),
                                    generator);
            case Dtype::i64:
                return fill<std::int64_t>(
                    argument, std::uniform_int_distribution<std::int64_t>(-9, 9), generator);
            case Dtype::boolean:
                return fill<bool>(argument, std::uniform_int_distribution<int>(0, 1), generator);
        }
    }
    template <class T, class Distribution>
    static void fill(const Argument& argument, Distribution distribution, std::mt19937& generator) {
        T* const numbers = static_cast<T*>(argument.data);
        std::generate_n(numbers, static_cast<std::size_t>(argument.type.bytes()) / sizeof(T),
                        [&] { return static_cast<T>(distribution(generator)); });
    }

    std::vector<std::vector<std::byte>> memory_;
    Arguments arguments_;
    std::vector<Argument> results_;
};

}  // namespace aperture::compose
