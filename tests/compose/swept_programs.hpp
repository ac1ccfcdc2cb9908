// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "aperture/compose/program.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/sweep_programs.hpp"
#include "tests/compose/random_program.hpp"

namespace aperture::compose {

/// Numbers, by loops and one operation on an array that p does not reach.
inline constexpr const char* newton =
    "program newton { input p: scalar f32; input a: array f32[9]; number half: f32 = 0.5;"
    "number tiny: f32 = 0.01; number one: f32 = 1; local x: scalar f32; local q: scalar f32;"
    "local s: scalar f32; constant n = 6; local i: iteration i64; local big: scalar bool;"
    "local f: scalar f32;"
    "s = dot(a, a); x = copy(one); f = copy(one); for i in n { q = divide(p, x); x = add(x, q);"
    "x = multiply(x, half); f = multiply(f, half); } q = multiply(x, x); q = exp(q);"
    "x = multiply_add(x, s, f); big = less(x, tiny); x = select(big, q, x); return x, q, big, f, "
    "s; }";

/// A batch of systems whose diagonals p loads.
inline constexpr const char* loaded =
    "program loaded { input R: batch f32[3, 4, 4]; input I: batch f32[3, 4, 4];"
    "input p: scalar f32; input b: batch f32[3, 4]; local A: batch f32[3, 4, 4];"
    "local L: batch f32[3, 4, 4]; local x: batch f32[3, 4]; local q: batch f32[3, 1];"
    "local k: scalar f32; number two: f32 = 2; local S: batch f32[3, 4, 4];"
    "S = rank_k(R); k = sqrt(p); k = add(k, two); L = multiply(k, I); A = add(S, L);"
    "x = solve(A, b); q = dot(x, b); return x, q, k; }";

/// Halves x until it is less than p: -log2(p) steps.
inline std::string halving(int limit) {
    return "program halving { input a: array f32[3]; input p: scalar f32; number half: f32 = 0.5;"
           "local x: array f32[3]; local y: array f32[3]; local q: scalar f32;"
           "local c: scalar bool; x = once(a); x = subtract(x, x); x = add(x, half); q = "
           "largest(x); c = less(p, q);"
           "while c limit " +
           std::to_string(limit) +
           " { y = each(x); x = multiply(y, half); q = largest(x); c = less(p, q); } return x, q; "
           "}";
}

/// Random programs that overwrite no argument.
inline std::string swept_random_program(unsigned seed) {
    static const std::regex in_place("inout ([a-z]): ([^;]*);");
    std::string text = RandomProgram(seed).text();
    text = std::regex_replace(text, in_place, "input $1_given: $2; local $1: $2;");
    return text.replace(text.find("t = copy(a);"), 0,
                        "y = copy(y_given); w = copy(w_given); p = copy(p_given);\n");
}

/// Of `count` seeds, those of programs whose scalar s reaches a result.
inline std::vector<unsigned> seeds_of_sweeps(unsigned count) {
    const std::vector<std::string> parameters{"s"};
    std::vector<unsigned> seeds;
    for (unsigned seed = 0; seed < count; ++seed) {
        try {
            split(parse(swept_random_program(seed)), Registry(), parameters);
            seeds.push_back(seed);
        } catch (const core::InvalidArgument& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("no result depends on"));
        }
    }
    return seeds;
}

/// Random programs of numbers, with loops and branches in one another that depend on p and end.
class RandomNumbers {
  public:
    /// `depth`: how many loops and branches may be in one another.
    explicit RandomNumbers(unsigned seed, int depth = 3) : generator_(seed) { block(depth); }

    std::string text() const {
        return "program numbers { input p: scalar f32; input s: scalar f32; constant n = 4;"
               "number k: f32 = 0.7; number h: f32 = 0.25; local x: scalar f32;"
               "local y: scalar f32; local z: scalar f32; local c: scalar bool;"
               "local i: iteration i64; local j: iteration i64; local l: iteration i64;"
               "x = copy(p); y = copy(s); z = multiply(p, s);" +
               statements_ + "return x, y, z; }";
    }

  private:
    std::string one_of(const std::vector<std::string>& words) {
        return words[std::uniform_int_distribution<std::size_t>(0, words.size() - 1)(generator_)];
    }
    std::string value() { return one_of({"x", "y", "z", "p", "s", "k", "h"}); }
    void call() {
        const std::string to = one_of({"x", "y", "z"});
        statements_ += to + " = " + one_of({"add", "subtract", "multiply", "min", "max"}) + "(" +
                       value() + ", " + value() + "); " + to + " = multiply(" + to + ", k); ";
        if (inside_ > 0 && one_of({"", "", "counter"}) == "counter") {
            statements_ += to + " = convert<to = f32>(" + counter(inside_ - 1) + ");";
        }
    }
    void condition() { statements_ += "c = less(" + value() + ", " + value() + "); "; }
    static std::string counter(int depth) { return {"ijl"[depth]}; }
    void block(int depth) {
        for (int i = 0; i < 3; ++i) {
            call();
            if (depth == 0) continue;
            switch (std::uniform_int_distribution<int>(0, 2)(generator_)) {
                case 0:
                    statements_ += "for " + counter(inside_) + " in n { ";
                    ++inside_;
                    block(depth - 1);
                    if (one_of({"break", ""}) == "break") {
                        condition();
                        statements_ += "if c { break; } ";
                        call();
                    }
                    --inside_;
                    statements_ += "} ";
                    break;
                case 1:
                    condition();
                    statements_ += "if c { ";
                    block(depth - 1);
                    if (inside_ > 0 && one_of({"break", ""}) == "break") statements_ += "break; ";
                    statements_ += "} else { ";
                    block(depth - 1);
                    statements_ += "} ";
                    break;
                default:
                    condition();
                    statements_ += "while c limit 100 { ";
                    call();
                    statements_ +=
                        "x = multiply(x, h); y = multiply(y, h); z = add(h, k);"
                        "c = less(z, x); } ";
            }
        }
    }

    std::mt19937 generator_;
    std::string statements_;
    int inside_ = 0;  ///< counted loops
};

}  // namespace aperture::compose
