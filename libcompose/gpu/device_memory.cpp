// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/gpu/device_memory.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "libcompose/memory.hpp"
#include "libcore/gpu/cuda_check.hpp"

namespace aperture::compose {
namespace {

constexpr std::size_t bytes_of_scalar = 16;

/// The values of scalars that a program knows.
void store_known(const Symbol& symbol, std::byte* to) {
    const auto store = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
    if (symbol.type.kind == Kind::constant) store(symbol.value);
    if (symbol.source != Source::known || symbol.type.kind != Kind::scalar) return;
    if (symbol.type.dtype == Dtype::f32) store(static_cast<float>(symbol.number));
    if (symbol.type.dtype == Dtype::f64) store(symbol.number);
}

core::Array<std::byte, 1, core::Device> device_bytes(std::size_t bytes) {
    return core::Array<std::byte, 1, core::Device>({static_cast<index_t>(bytes)});
}

}  // namespace

void exchange(Placement& placement, const Kernel& kernel) {
    for (const PlannedCall& planned : kernel.calls) {
        std::swap(placement[static_cast<std::size_t>(planned.call->results[0])],
                  placement[static_cast<std::size_t>(planned.call->operands[0])]);
    }
}

DeviceMemory::DeviceMemory(core::Gpu& gpu, const Plan& plan, std::vector<Placement> placements,
                           int loops)
    : program_(*plan.program), placements_(std::move(placements)) {
    gpu.stream();  // Arrays are on the GPU that the thread used last.
    const std::vector<bool> in_memory = symbols_in_memory(plan);
    const std::size_t count = program_.symbols.size();
    own_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Type& type = program_.symbols[i].type;
        if (!in_memory[i] || type.is_scalar() || is_callers(program_, static_cast<SymbolId>(i))) {
            continue;
        }
        own_[i] = device_bytes(static_cast<std::size_t>(std::max<index_t>(type.bytes(), 1)));
    }
    scalars_at_ = (placements_.size() + 1) * row_size() * sizeof(void*);
    scalars_at_ += scalars_at_ % bytes_of_scalar;
    loops_at_ = scalars_at_ + count * bytes_of_scalar;
    unended_at_ = loops_at_ + static_cast<std::size_t>(loops) * sizeof(control::LoopState);
    tables_ = device_bytes(unended_at_ + sizeof(int));
    APERTURE_CUDA_TRY(cudaMemsetAsync(tables_.data(), 0, unended_at_ + sizeof(int), gpu.stream()));
}

std::size_t DeviceMemory::row_size() const {
    return 2 * program_.symbols.size() + returned(program_).size();
}
void** DeviceMemory::row(std::size_t placement) const {
    return reinterpret_cast<void**>(const_cast<std::byte*>(tables_.data())) +
           placement * row_size();
}
void* DeviceMemory::scalar_memory(SymbolId id) const {
    return const_cast<std::byte*>(tables_.data()) + scalars_at_ +
           static_cast<std::size_t>(id) * bytes_of_scalar;
}
control::LoopState* DeviceMemory::loop(int i) const {
    return reinterpret_cast<control::LoopState*>(const_cast<std::byte*>(tables_.data()) +
                                                 loops_at_) +
           i;
}
int* DeviceMemory::unended() const {
    return reinterpret_cast<int*>(const_cast<std::byte*>(tables_.data()) + unended_at_);
}

void DeviceMemory::bind(core::Gpu& gpu, const Arguments& arguments,
                        std::span<const Argument> results) {
    const std::size_t count = program_.symbols.size();
    std::vector<std::byte> all(loops_at_);
    std::vector<void*> own(count);
    for (std::size_t i = 0; i < count; ++i) own[i] = own_[i].data();
    const std::vector<void*> callers = homes(program_, arguments, results, own);
    std::vector<void*>& home = home_;
    home = callers;
    for (std::size_t i = 0; i < count; ++i) {
        const Symbol& symbol = program_.symbols[i];
        if (!symbol.type.is_scalar()) continue;
        home[i] = scalar_memory(static_cast<SymbolId>(i));
        std::byte* const value = all.data() + scalars_at_ + i * bytes_of_scalar;
        store_known(symbol, value);
        if (symbol.source == Source::input) {
            std::memcpy(value, callers[i], static_cast<std::size_t>(symbol.type.bytes()));
        }
    }
    auto* entry = reinterpret_cast<void**>(all.data());
    for (std::size_t row = 0; row <= placements_.size(); ++row) {
        for (std::size_t i = 0; i < count; ++i) {
            const bool changes = row == placements_.size();
            *entry++ = home[changes ? i : static_cast<std::size_t>(placements_[row][i])];
        }
        for (void* const memory : callers) *entry++ = memory;
        for (const Argument& result : results) *entry++ = result.data;
    }
    if (all != sent_) {
        APERTURE_CUDA_TRY(cudaMemcpyAsync(tables_.data(), all.data(), all.size(),
                                          cudaMemcpyHostToDevice, gpu.stream()));
        sent_ = std::move(all);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const Symbol& symbol = program_.symbols[i];
        if (!symbol.type.is_scalar() || symbol.source != Source::in_place) continue;
        APERTURE_CUDA_TRY(cudaMemcpyAsync(home[i], callers[i],
                                          static_cast<std::size_t>(symbol.type.bytes()),
                                          cudaMemcpyDeviceToDevice, gpu.stream()));
    }
}

void DeviceMemory::reset_changing_row(cudaStream_t stream) const {
    APERTURE_CUDA_TRY(cudaMemcpyAsync(changing_row(), row(0), row_size() * sizeof(void*),
                                      cudaMemcpyDeviceToDevice, stream));
}

void DeviceMemory::finish(cudaStream_t stream, void** row, const Placement* known) const {
    const std::size_t count = program_.symbols.size();
    const auto is_at_home = [&](SymbolId id) {
        return known != nullptr && (*known)[static_cast<std::size_t>(id)] == id &&
               !program_[id].type.is_scalar();
    };
    const auto& values = returned(program_);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const bool first = std::find(values.begin(), values.begin() + std::ptrdiff_t(i),
                                     values[i]) == values.begin() + std::ptrdiff_t(i);
        const bool at_home =
            first && program_[values[i]].source == Source::local && is_at_home(values[i]);
        if (!at_home) {
            control::copy(stream, row + values[i], row + 2 * count + i,
                          program_[values[i]].type.bytes());
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto id = static_cast<SymbolId>(i);
        if (program_[id].source != Source::in_place || is_at_home(id)) continue;
        control::copy(stream, row + i, row + count + i, program_[id].type.bytes());
    }
}

}  // namespace aperture::compose
