// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/error.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {
namespace {

using core::expects;

/// sum(x), or dot(x, y): of all entries of arrays.
class Sum : public Operation {
  public:
    explicit Sum(std::size_t operands) : operands_(operands) {}

    Match match(const CallSite& site) const override {
        expects(site.operands() == operands_, site.call.operation, " has ", operands_,
                operands_ == 1 ? " operand" : " operands");
        for (std::size_t i = 0; i < operands_; ++i) {
            const Type& type = site.type(i);
            expects(
                type.kind == Kind::array && (type.dtype == Dtype::f32 || type.dtype == Dtype::f64),
                site.call.operation, " of ", text_of(type), "; expected an array of f32 or f64");
            expects(type == site.type(0), site.call.operation, " of ", text_of(site.type(0)),
                    " and ", text_of(type));
        }
        return {Level::sum,
                {scalar(site.type(0).dtype)},
                std::vector<Access>(operands_),
                double(operands_)};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        if (site.type(0).dtype == Dtype::f32) {
            add<float>(piece, operands, results[0]);
        } else {
            add<double>(piece, operands, results[0]);
        }
    }

    Code code(const CallSite&, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return {operands_ == 1 ? operands[0] : operands[0] + " * " + operands[1]};
    }

  private:
    template <class T>
    void add(const RowPiece& piece, std::span<const RowOperand> operands, void* sums) const {
        constexpr int lanes = 32;
        auto* const lane_sums = static_cast<T*>(sums);
        const T* const x = static_cast<const T*>(operands[0].here);
        const T* const y = operands_ == 2 ? static_cast<const T*>(operands[1].here) : nullptr;
        for (int i = 0; i < piece.count; ++i) {
            lane_sums[i % lanes] += y == nullptr ? x[i] : x[i] * y[i];
        }
    }

    std::size_t operands_;
};

/// dot(x, y) of arrays, or of each problem's vectors.
class Dot : public Sum {
  public:
    Dot() : Sum(2), of_batches_(dot_of_batches()) {}

    Match match(const CallSite& site) const override {
        return has_batch(site) ? of_batches_->match(site) : Sum::match(site);
    }
    void compute_problem(const CallSite& site, std::span<const void* const> operands,
                         std::span<void* const> results, void* workspace) const override {
        of_batches_->compute_problem(site, operands, results, workspace);
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        return has_batch(site) ? of_batches_->code(site, operands, results)
                               : Sum::code(site, operands, results);
    }

  private:
    static bool has_batch(const CallSite& site) {
        return site.operands() > 0 && site.type(0).kind == Kind::batch;
    }
    std::unique_ptr<Operation> of_batches_;
};

}  // namespace

void add_sums(Registry& registry) {
    registry.add("sum", std::make_shared<Sum>(1));
    registry.add("dot", std::make_shared<Dot>());
}

}  // namespace aperture::compose
