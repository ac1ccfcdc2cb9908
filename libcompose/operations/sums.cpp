// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/error.hpp"
#include "libcompose/operations/bodies.cuh"
#include "libcompose/operations/call_attributes.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {
namespace {

using core::Complex;
using core::expects;

/// Combines the terms of a piece of a row with 32 numbers.
using SumLoop = void (*)(int count, std::span<const RowOperand> operands, void* numbers);

template <class Term, class Combine, class T, int arity>
void combine_row(int count, std::span<const RowOperand> operands, void* numbers) {
    constexpr int lanes = 32;
    const auto term = [&](int i) {
        const T x = static_cast<const T*>(operands[0].here)[i];
        if constexpr (arity == 1) {
            return Term::of(x);
        } else {
            return Term::of(x, static_cast<const T*>(operands[1].here)[i]);
        }
    };
    auto* const sums = static_cast<decltype(term(0))*>(numbers);
    for (int i = 0; i < count; ++i) sums[i % lanes] = Combine::of(sums[i % lanes], term(i));
}

/// By the operands' type: the loop, and the type of its numbers; none where there is no such sum.
struct TypedLoop {
    SumLoop loop = nullptr;
    Dtype result{};
};
using SumLoops = std::array<TypedLoop, 6>;

template <class Term, class Combine, int arity>
constexpr SumLoops sums_of_reals() {
    return {{{combine_row<Term, Combine, float, arity>, Dtype::f32},
             {combine_row<Term, Combine, double, arity>, Dtype::f64},
             {},
             {},
             {},
             {}}};
}
template <class Term, class Combine, int arity>
constexpr SumLoops of_ordered() {
    SumLoops loops = sums_of_reals<Term, Combine, arity>();
    loops[std::size_t(Dtype::i64)] = {combine_row<Term, Combine, long long, arity>, Dtype::i64};
    return loops;
}
template <class Term, int arity>
constexpr SumLoops sums_of_numbers() {
    using bodies::SumOf;
    SumLoops loops = of_ordered<Term, SumOf, arity>();
    loops[std::size_t(Dtype::c64)] = {combine_row<Term, SumOf, Complex<float>, arity>, Dtype::c64};
    loops[std::size_t(Dtype::c128)] = {combine_row<Term, SumOf, Complex<double>, arity>,
                                       Dtype::c128};
    return loops;
}

/// A number that all entries of arrays of one type determine.
class Sum : public Operation {
  public:
    Sum(std::string term, std::size_t operands, Combination combination, SumLoops loops)
        : term_(std::move(term)), operands_(operands), combination_(combination), loops_(loops) {}

    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        expects(site.operands() == operands_, site.call.operation, " has ", operands_,
                operands_ == 1 ? " operand" : " operands");
        for (std::size_t i = 0; i < operands_; ++i) {
            const Type& type = site.type(i);
            expects(type.kind == Kind::array, site.call.operation, " of ", text_of(type),
                    "; expected an array");
            expects(type == site.type(0), site.call.operation, " of ", text_of(site.type(0)),
                    " and ", text_of(type));
        }
        const TypedLoop& loop = loops_[std::size_t(site.type(0).dtype)];
        expects(loop.loop != nullptr, "there is no ", site.call.operation, " of ",
                name_of(site.type(0).dtype));
        return {Level::sum,
                {scalar(loop.result)},
                std::vector<Access>(operands_),
                double(operands_),
                combination_};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        loops_[std::size_t(site.type(0).dtype)].loop(piece.count, operands, results[0]);
    }

    Code code(const CallSite&, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return {core::text("bodies::", term_, "::of(", operands[0], operands_ == 1 ? "" : ", ",
                           operands_ == 1 ? "" : operands[1], ")")};
    }

  private:
    std::string term_;
    std::size_t operands_;
    Combination combination_;
    SumLoops loops_;
};

/// dot(x, y) of arrays, or of each problem's vectors.
class DotProduct : public Sum {
  public:
    DotProduct()
        : Sum("InnerProduct", 2, Combination::add, sums_of_numbers<bodies::InnerProduct, 2>()),
          of_batches_(dot_of_batches()) {}

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
    using namespace bodies;
    const auto add = [&](const char* name, const char* term, std::size_t operands,
                         Combination combination, const SumLoops& loops) {
        registry.add(name, std::make_shared<Sum>(term, operands, combination, loops));
    };
    add("sum", "Copy", 1, Combination::add, sums_of_numbers<Copy, 1>());
    registry.add("dot", std::make_shared<DotProduct>());
    add("largest", "Copy", 1, Combination::greatest, of_ordered<Copy, GreatestOf, 1>());
    add("smallest", "Copy", 1, Combination::least, of_ordered<Copy, LeastOf, 1>());
    SumLoops magnitudes = sums_of_reals<Magnitude, GreatestOf, 1>();
    magnitudes[std::size_t(Dtype::c64)] = {combine_row<Magnitude, GreatestOf, Complex<float>, 1>,
                                           Dtype::f32};
    magnitudes[std::size_t(Dtype::c128)] = {combine_row<Magnitude, GreatestOf, Complex<double>, 1>,
                                            Dtype::f64};
    add("largest_magnitude", "Magnitude", 1, Combination::greatest, magnitudes);
    SumLoops counts{};
    counts[std::size_t(Dtype::boolean)] = {combine_row<ToCount, SumOf, bool, 1>, Dtype::i64};
    add("count", "ToCount", 1, Combination::add, counts);
}

}  // namespace aperture::compose
