// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/memory.hpp"

#include <algorithm>
#include <utility>

#include "aperture/core/error.hpp"

namespace aperture::compose {
namespace {

struct Range {
    const std::byte* first;
    std::size_t bytes;
    std::string name;
    bool written;
};

bool overlap(const Range& a, const Range& b) {
    return a.bytes > 0 && b.bytes > 0 && std::less<>()(a.first, b.first + b.bytes) &&
           std::less<>()(b.first, a.first + a.bytes);
}

void expect_argument(const Argument& argument, const Symbol& symbol, bool written) {
    // Texts of types take longer than the rest of a call.
    if (argument.type != symbol.type) {
        throw core::InvalidArgument(core::text(symbol.name, " is of type ", text_of(argument.type),
                                               ", not a ", text_of(symbol.type)));
    }
    core::expects(argument.data != nullptr || symbol.type.size() == 0, symbol.name,
                  " has no memory");
    core::expects(!written || !argument.is_constant, symbol.name,
                  " is written, but its memory is constant");
}

}  // namespace

const std::vector<SymbolId>& returned(const Program& program) {
    return std::get<Return>(program.statements.back().what).values;
}

void validate(const Program& program, const Arguments& arguments,
              std::span<const Argument> results) {
    std::vector<Range> ranges;
    const auto add = [&](const Argument& argument, const std::string& name, bool written) {
        const Range range{static_cast<const std::byte*>(argument.data),
                          static_cast<std::size_t>(argument.type.bytes()), name, written};
        for (const Range& other : ranges) {
            core::expects(!(range.written || other.written) || !overlap(range, other), other.name,
                          " and ", range.name, " share memory, and one of them is written");
        }
        ranges.push_back(range);
    };
    for (const Symbol& symbol : program.symbols) {
        if (symbol.source != Source::input && symbol.source != Source::in_place) continue;
        const auto found = arguments.find(symbol.name);
        core::expects(found != arguments.end(), "there is no argument ", symbol.name);
        const bool written = symbol.source == Source::in_place;
        expect_argument(found->second, symbol, written);
        add(found->second, symbol.name, written);
    }
    const auto& values = returned(program);
    core::expects(results.size() == values.size(), "the program returns ", values.size(),
                  " values, not ", results.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Symbol& symbol = program[values[i]];
        expect_argument(results[i], symbol, true);
        // A symbol in place may be returned where it is.
        const bool in_place =
            symbol.source == Source::in_place && results[i].data == arguments.at(symbol.name).data;
        if (!in_place) add(results[i], "the result " + symbol.name, true);
    }
}

bool is_callers(const Program& program, SymbolId id) {
    const Source source = program[id].source;
    const auto& values = returned(program);
    return source == Source::input || source == Source::in_place ||
           (source == Source::local && std::count(values.begin(), values.end(), id) > 0);
}

std::vector<void*> homes(const Program& program, const Arguments& arguments,
                         std::span<const Argument> results, std::vector<void*> own) {
    const auto& values = returned(program);
    for (std::size_t i = values.size(); i-- > 0;) {
        if (program[values[i]].source == Source::local) {
            own[static_cast<std::size_t>(values[i])] = results[i].data;
        }
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
        const Symbol& symbol = program.symbols[i];
        if (symbol.source == Source::input || symbol.source == Source::in_place) {
            own[i] = arguments.at(symbol.name).data;
        }
    }
    return own;
}

std::vector<bool> symbols_in_memory(const Plan& plan) {
    std::vector<bool> all(plan.program->symbols.size());
    const auto add = [&](SymbolId id) { all[static_cast<std::size_t>(id)] = true; };
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Symbol& symbol = plan.program->symbols[i];
        all[i] = symbol.source == Source::input || symbol.source == Source::in_place ||
                 symbol.type.is_scalar();
    }
    for (const Kernel* kernel : plan.kernels()) {
        std::for_each(kernel->loads.begin(), kernel->loads.end(), add);
        std::for_each(kernel->stores.begin(), kernel->stores.end(), add);
    }
    for (const SymbolId id : returned(*plan.program)) add(id);
    return all;
}

HostMemory::HostMemory(const Plan& plan) : program_(*plan.program) {
    const std::vector<bool> in_memory = symbols_in_memory(plan);
    const std::size_t count = in_memory.size();
    home_.resize(count);
    own_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Symbol& symbol = program_.symbols[i];
        if (!in_memory[i] || is_callers(program_, static_cast<SymbolId>(i))) continue;
        own_[i] =
            core::Array<std::byte, 1, core::Host>({std::max<index_t>(symbol.type.bytes(), 1)});
        home_[i] = own_[i].data();
    }
    now_ = home_;
    for (std::size_t i = 0; i < count; ++i) {
        const Symbol& symbol = program_.symbols[i];
        const auto id = static_cast<SymbolId>(i);
        if (symbol.type.kind == Kind::constant) store<std::int64_t>(id, symbol.value);
        if (symbol.source != Source::known || symbol.type.kind != Kind::scalar) continue;
        if (symbol.type.dtype == Dtype::f32) store(id, static_cast<float>(symbol.number));
        if (symbol.type.dtype == Dtype::f64) store(id, symbol.number);
    }
}

void HostMemory::bind(const Arguments& arguments, std::span<const Argument> results) {
    home_ = homes(program_, arguments, results, home_);
    now_ = home_;
}

void HostMemory::exchange(const Kernel& kernel) {
    for (const PlannedCall& planned : kernel.calls) {
        std::swap(now_[static_cast<std::size_t>(planned.call->results[0])],
                  now_[static_cast<std::size_t>(planned.call->operands[0])]);
    }
}

void HostMemory::finish(std::span<const Argument> results) {
    const auto copy = [](const void* from, void* to, index_t bytes) {
        if (from != to && bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    };
    const auto& values = returned(program_);
    for (std::size_t i = 0; i < values.size(); ++i) {
        copy(of(values[i]), results[i].data, results[i].type.bytes());
    }
    for (std::size_t i = 0; i < now_.size(); ++i) {
        const Symbol& symbol = program_.symbols[i];
        if (symbol.source == Source::in_place) copy(now_[i], home_[i], symbol.type.bytes());
    }
}

}  // namespace aperture::compose
