// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "aperture/compose/executable.hpp"

namespace aperture::compose {

/// Programs of random calls on images and vectors, with sums, loops and breaks. Values stay small.
class RandomProgram {
  public:
    explicit RandomProgram(unsigned seed, int blocks = 3) : generator_(seed) {
        statements_ = "t = copy(a); u = add(a, k); z = copy(v); q = copy(s); r = sum(v);\n";
        for (int block = 0; block < blocks; ++block) statements_ += calls(4) + loop();
        statements_ += "r = dot(t, y);\n";
    }

    std::string text() const { return program(declarations, statements_, returned); }

    /// Programs of `count` seeds in one, one after the other.
    static std::string merged(unsigned count) {
        static const std::regex symbol("\\b[a-zA-Z]\\b");
        std::string all_declarations, statements, values;
        for (unsigned seed = 0; seed < count; ++seed) {
            const auto renamed = [&](const std::string& text) {
                return std::regex_replace(text, symbol, "$&_" + std::to_string(seed));
            };
            all_declarations += renamed(declarations);
            statements += renamed(RandomProgram(seed, 1).statements_);
            values += (values.empty() ? "" : ", ") + renamed(returned);
        }
        return program(all_declarations, statements, values);
    }

  private:
    /// All names have one letter.
    static constexpr const char* declarations =
        "input a: array f32[9, 40]; inout y: array f32[9, 40]; input v: array f32[300];\n"
        "inout w: array f32[300]; input s: scalar f32; constant n = 3; number k: f32 = 0.3;\n"
        "stencil S: f32 zero {(0, 1): 0.3, (-1, 0): 0.2, (1, -2): 0.1};\n"
        "stencil R: f32 replicate {(0, 0): 0.4, (2, 3): 0.1};\n"
        "local i: iteration i64; local q: scalar f32; local r: scalar f32;\n"
        "local c: scalar bool; local m: array bool[9, 40]; local t: array f32[9, 40];\n"
        "local u: array f32[9, 40]; local z: array f32[300];\n";
    static constexpr const char* returned = "y, w, t, q, r";

    static std::string program(const std::string& of_declarations, const std::string& statements,
                               const std::string& values) {
        return "program random {\n" + of_declarations + statements + "return " + values + ";\n}\n";
    }

    std::string one_of(const std::vector<std::string>& words) {
        return words[std::uniform_int_distribution<std::size_t>(0, words.size() - 1)(generator_)];
    }
    std::string loop() {
        const std::string leave =
            one_of({"", "c = less(q, k); if c { break; }\n",
                    "c = less(k, q); if c { " + call() + "} else { " + call() + "}\n"});
        return "for i in n {\n" + calls(6) + leave + calls(2) + "}\n";
    }
    std::string calls(int count) {
        std::string all;
        for (int i = 0; i < count; ++i) all += call();
        return all;
    }
    std::string call() {
        const std::vector<std::string> images{"a", "y", "t", "u"}, vectors{"v", "w", "z"},
            scalars{"s", "q", "r", "k"}, binary{"add", "subtract", "multiply", "min", "max"};
        const std::string to = one_of({"y", "t", "u"}), vector_to = one_of({"w", "z"});
        const std::string x = one_of(images), other = to == "t" ? "u" : "t";
        const std::string damped = "\n" + to + " = multiply(" + to + ", k);\n";
        switch (std::uniform_int_distribution<int>(0, 9)(generator_)) {
            case 0:
            case 1:
                return to + " = " + one_of(binary) + "(" + x + ", " + one_of(images) + ");" +
                       damped;
            case 2:
                return to + " = " + one_of(binary) + "(" + one_of(scalars) + ", " + x + ");" +
                       damped;
            case 3:
            case 4:
                return to + " = stencil_product(" + one_of({"S", "R"}) + ", " + other + ");\n";
            case 5:
                return one_of({"q", "r"}) + " = dot(" + x + ", " + one_of(images) + ");\n";
            case 6:
                return vector_to + " = " + one_of(binary) + "(" + one_of(vectors) + ", " +
                       one_of(scalars) + ");\n" + vector_to + " = multiply(" + vector_to +
                       ", k);\n";
            case 7:
                return one_of({"q", "r"}) + " = " + one_of({"min", "max"}) + "(" + one_of(scalars) +
                       ", " + one_of(scalars) + ");\n";
            case 8:
                return to + " = " + one_of({"red", "black", "negate", "copy"}) + "(" + x + ");\n";
            default:
                return "m = less(" + x + ", " + one_of(images) + ");\n" + to + " = select(m, " + x +
                       ", " + one_of(images) + ");\n";
        }
    }

    std::mt19937 generator_;
    std::string statements_;
};

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
