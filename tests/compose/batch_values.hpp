// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Values of programs on batches, and runs of such programs.
#pragma once

#include <gmock/gmock.h>

#include <complex>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/compose/simt_executable.hpp"

namespace aperture::compose {

/// A matrix of one problem in double precision: the oracle's.
struct Oracle {
    index_t rows = 0, columns = 0;
    std::vector<std::complex<double>> entries{};

    Oracle() = default;
    Oracle(index_t r, index_t c) : rows(r), columns(c), entries(std::size_t(r * c)) {}
    std::complex<double>& operator()(index_t r, index_t c) {
        return entries[std::size_t(r * columns + c)];
    }
    std::complex<double> operator()(index_t r, index_t c) const {
        return entries[std::size_t(r * columns + c)];
    }
    double size() const {
        double sum = 0;
        for (const auto& entry : entries) sum += std::norm(entry);
        return std::sqrt(sum);
    }
};
inline Oracle operator*(const Oracle& a, const Oracle& b) {
    Oracle c(a.rows, b.columns);
    for (index_t i = 0; i < a.rows; ++i) {
        for (index_t j = 0; j < b.columns; ++j) {
            for (index_t k = 0; k < a.columns; ++k) c(i, j) += a(i, k) * b(k, j);
        }
    }
    return c;
}
inline Oracle operator*(std::complex<double> factor, Oracle a) {
    for (auto& entry : a.entries) entry *= factor;
    return a;
}
inline Oracle operator+(Oracle a, const Oracle& b) {
    for (std::size_t i = 0; i < a.entries.size(); ++i) a.entries[i] += b.entries[i];
    return a;
}
inline Oracle operator-(const Oracle& a, const Oracle& b) { return a + -1.0 * b; }
inline Oracle transposed(const Oracle& a) {
    Oracle t(a.columns, a.rows);
    for (index_t i = 0; i < a.rows; ++i) {
        for (index_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
    }
    return t;
}
inline Oracle adjoint(const Oracle& a) {
    Oracle t = transposed(a);
    for (auto& entry : t.entries) entry = std::conj(entry);
    return t;
}
inline Oracle identity(index_t order) {
    Oracle one(order, order);
    for (index_t i = 0; i < order; ++i) one(i, i) = 1;
    return one;
}

/// Numbers of symbols of any type.
class Numbers {
  public:
    Numbers() = default;
    explicit Numbers(const Type& of) : type_(of), bytes_(std::size_t(of.bytes())) {}

    const Type& type() const { return type_; }
    Argument argument() { return {bytes_.data(), type_}; }
    std::complex<double> at(index_t i) const {
        switch (type_.dtype) {
            case Dtype::f32:
                return entry<float>(i);
            case Dtype::f64:
                return entry<double>(i);
            case Dtype::c64:
                return entry<std::complex<float>>(i);
            default:
                return entry<std::complex<double>>(i);
        }
    }
    void set(index_t i, std::complex<double> value) {
        switch (type_.dtype) {
            case Dtype::f32:
                return set_entry(i, static_cast<float>(value.real()));
            case Dtype::f64:
                return set_entry(i, value.real());
            case Dtype::c64:
                return set_entry(i, std::complex<float>(value));
            default:
                return set_entry(i, value);
        }
    }
    Oracle problem(index_t p) const {
        Oracle all(type_.rows(), type_.columns());
        for (index_t i = 0; i < type_.numbers_of_problem(); ++i) {
            all.entries[std::size_t(i)] = at(p * type_.numbers_of_problem() + i);
        }
        return all;
    }
    void set_problem(index_t p, const Oracle& all) {
        for (index_t i = 0; i < type_.numbers_of_problem(); ++i) {
            set(p * type_.numbers_of_problem() + i, all.entries[std::size_t(i)]);
        }
    }
    friend bool operator==(const Numbers&, const Numbers&) = default;

  private:
    template <class T>
    T entry(index_t i) const {
        T value;
        std::memcpy(&value, bytes_.data() + std::size_t(i) * sizeof(T), sizeof(T));
        return value;
    }
    template <class T>
    void set_entry(index_t i, T value) {
        std::memcpy(bytes_.data() + std::size_t(i) * sizeof(T), &value, sizeof(T));
    }
    Type type_;
    std::vector<unsigned char> bytes_;
};
using Values = std::map<std::string, Numbers>;

inline void expect_same_bits(const Values& values, const Values& expected) {
    for (const auto& [name, numbers] : expected) {
        const Numbers& others = values.at(name);
        if (others == numbers) continue;
        for (index_t i = 0; i < numbers.type().size(); ++i) {
            EXPECT_EQ(others.at(i), numbers.at(i)) << name << ", number " << i;
        }
        ADD_FAILURE() << "other bits of " << name;
    }
}

/// Random inputs: symbols S... are positive definite.
inline Values inputs_of(const Program& program) {
    std::mt19937 generator(11);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Values all;
    for (const Symbol& symbol : program.symbols) {
        if (symbol.source != Source::input && symbol.source != Source::in_place) continue;
        Numbers numbers(symbol.type);
        for (index_t i = 0; i < symbol.type.size(); ++i) {
            const double re = uniform(generator), im = uniform(generator);
            numbers.set(i, {re, im});
        }
        for (index_t p = 0; symbol.name[0] == 'S' && p < symbol.type.extent[0]; ++p) {
            const Oracle a = numbers.problem(p);
            numbers.set_problem(p, a * adjoint(a) + identity(a.rows));
        }
        all.emplace(symbol.name, std::move(numbers));
    }
    return all;
}

struct Memory {
    Memory(const Program& program, Values& inputs) {
        for (auto& [name, numbers] : inputs) arguments[name] = numbers.argument();
        for (const SymbolId id : returned(program)) {
            values.emplace_back(program[id].type);
            results.push_back(values.back().argument());
        }
    }
    Values named(const Program& program) const {
        Values all;
        for (std::size_t i = 0; i < values.size(); ++i) {
            all.emplace(program[returned(program)[i]].name, values[i]);
        }
        return all;
    }
    Arguments arguments;
    std::vector<Numbers> values;
    std::vector<Argument> results;
};

/// The values that a program returns.
inline Values run(const std::string& text, Values inputs, Fusion fusion = Fusion::thesis,
                  Tier tier = Tier::interpreted, int threads = 2) {
    const Program program = parse(text);
    Memory memory(program, inputs);
    core::Cpu cpu(threads);
    Executable<core::Cpu>(cpu, plan(program, Registry(), fusion), tier)
        .run(cpu, memory.arguments, memory.results);
    return memory.named(program);
}
inline Values run_on_simt(const std::string& text, Values inputs, Fusion fusion,
                          core::LaneOrder order) {
    const Program program = parse(text);
    Memory memory(program, inputs);
    core::Simt simt(order);
    SimtExecutable executable(plan(program, Registry(), fusion));
    core::expects(executable.reason.empty(), executable.reason);
    executable.run(simt, memory.arguments, memory.results);
    return memory.named(program);
}

}  // namespace aperture::compose
