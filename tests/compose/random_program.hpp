// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "aperture/compose/plan.hpp"

namespace aperture::compose {

/// A CPU for which plans have tiles wherever they can.
inline constexpr Machine small_caches{.bytes_a_second = 1e10,
                                      .flops_a_second = 1e11,
                                      .double_flops_a_second = 5e10,
                                      .launch_seconds = 5e-6,
                                      .cache_bytes = 1};

/// Programs of random calls on images, vectors and volumes, with sums, loops and breaks. Values
/// stay small.
class RandomProgram {
  public:
    explicit RandomProgram(unsigned seed, int blocks = 3) : generator_(seed) {
        statements_ =
            "t = copy(a); u = add(a, k); z = copy(v); q = copy(s); r = sum(v); o = copy(b);\n";
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
        "input D: diagonals f32[2, 300] at {-1, 30};\n"
        "stencil R: f32 replicate {(0, 0): 0.4, (2, 3): 0.1};\n"
        "local i: iteration i64; local q: scalar f32; local r: scalar f32;\n"
        "local c: scalar bool; local m: array bool[9, 40]; local t: array f32[9, 40];\n"
        "local u: array f32[9, 40]; local z: array f32[300]; input b: array f32[3, 5, 40];\n"
        "inout p: array f32[3, 5, 40]; local o: array f32[3, 5, 40];\n"
        "stencil L: f32 replicate {(-1): 0.4, (37): 0.3}; stencil Z: f32 zero {(2): 0.9};\n"
        "stencil V: f32 replicate {(-1, 0, 0): 0.3, (0, 1, -1): 0.3, (1, -1, 2): 0.1};\n"
        "stencil W: f32 zero {(0, 0, 3): 0.2, (2, 0, 0): 0.5};\n";
    static constexpr const char* returned = "y, w, p, t, q, r";

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
        switch (std::uniform_int_distribution<int>(0, 15)(generator_)) {
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
                return one_of({"q", "r"}) + " = " +
                       one_of({"dot(" + x + ", " + one_of(images) + ")", "sum(" + x + ")",
                               "largest(" + x + ")", "smallest(" + x + ")",
                               "largest_magnitude(" + x + ")", "sum(" + one_of(vectors) + ")"}) +
                       ";\n";
            case 6:
                return vector_to + " = " + one_of(binary) + "(" + one_of(vectors) + ", " +
                       one_of(scalars) + ");\n" + vector_to + " = multiply(" + vector_to +
                       ", k);\n";
            case 7:
                return one_of({"q", "r"}) + " = " + one_of({"min", "max"}) + "(" + one_of(scalars) +
                       ", " + one_of(scalars) + ");\n";
            case 8:
                return to + " = " + one_of({"red", "black", "negate", "copy"}) + "(" + x + ");\n";
            case 9:
                return to + " = abs(" + x + "); " + to + " = max(" + to + ", k); " + to + " = " +
                       one_of({"log", "rsqrt", "sqrt"}) + "(" + to + ");\n";
            case 10:
                return to + " = abs(" + x + "); " + to + " = negate(" + to + "); " + to +
                       " = exp(" + to + ");\n";
            case 11:
                return vector_to + " = matrix_vector(D, " +
                       one_of({"v", vector_to == "w" ? "z" : "w"}) + ");\n" + vector_to +
                       " = multiply(" + vector_to + ", k);\n";
            case 12:
                return vector_to + " = stencil_product(" + one_of({"L", "Z"}) + ", " +
                       one_of({"v", vector_to == "w" ? "z" : "w"}) + ");\n";
            case 13: {
                const std::string volume_to = one_of({"p", "o"});
                return volume_to + " = stencil_product(" + one_of({"V", "W"}) + ", " +
                       one_of({"b", volume_to == "p" ? "o" : "p"}) + ");\n";
            }
            case 14:
                return "p = " + one_of(binary) + "(o, " + one_of({"b", "q", "p"}) +
                       ");\np = multiply(k, p);\n" + one_of({"q", "r"}) + " = dot(b, p);\n";
            default:
                return "m = less(" + x + ", " + one_of(images) + ");\n" + to + " = select(m, " + x +
                       ", " + one_of(images) + ");\n";
        }
    }

    std::mt19937 generator_;
    std::string statements_;
};

}  // namespace aperture::compose
