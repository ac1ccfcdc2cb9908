// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <concepts>
#include <optional>

#include "aperture/core/error.hpp"
#include "libcompose/operations/bodies.cuh"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {
namespace {

using core::Complex;
using core::expects;

/// Computes `count` entries; of each operand there are as many.
using RowLoop = void (*)(int count, std::span<const RowOperand> operands, void* result);

template <class T>
const T* entries(const RowOperand& operand) {
    return static_cast<const T*>(operand.here);
}

template <class Body, class T, int arity>
void over_row(int count, std::span<const RowOperand> operands, void* result) {
    const T* const a = entries<T>(operands[0]);
    if constexpr (arity == 1) {
        auto* const to = static_cast<decltype(Body::of(*a))*>(result);
        for (int i = 0; i < count; ++i) to[i] = Body::of(a[i]);
    } else if constexpr (arity == 2) {
        const T* const b = entries<T>(operands[1]);
        auto* const to = static_cast<decltype(Body::of(*a, *b))*>(result);
        for (int i = 0; i < count; ++i) to[i] = Body::of(a[i], b[i]);
    } else {
        const T* const b = entries<T>(operands[1]);
        const T* const c = entries<T>(operands[2]);
        auto* const to = static_cast<T*>(result);
        for (int i = 0; i < count; ++i) to[i] = Body::of(a[i], b[i], c[i]);
    }
}

template <class T>
void select_in_row(int count, std::span<const RowOperand> operands, void* result) {
    const bool* const condition = entries<bool>(operands[0]);
    const T* const a = entries<T>(operands[1]);
    const T* const b = entries<T>(operands[2]);
    auto* const to = static_cast<T*>(result);
    for (int i = 0; i < count; ++i) to[i] = bodies::Select::of(condition[i], a[i], b[i]);
}

/// By the operands' type; null where there is no such operation.
using RowLoops = std::array<RowLoop, 6>;

template <class Body, int arity>
constexpr RowLoops of_reals() {
    return {over_row<Body, float, arity>,
            over_row<Body, double, arity>,
            nullptr,
            nullptr,
            nullptr,
            nullptr};
}
template <class Body, int arity>
constexpr RowLoops of_ordered() {
    RowLoops loops = of_reals<Body, arity>();
    loops[static_cast<std::size_t>(Dtype::i64)] = over_row<Body, std::int64_t, arity>;
    return loops;
}
template <class Body, int arity>
constexpr RowLoops of_numbers() {
    RowLoops loops = of_ordered<Body, arity>();
    loops[static_cast<std::size_t>(Dtype::c64)] = over_row<Body, Complex<float>, arity>;
    loops[static_cast<std::size_t>(Dtype::c128)] = over_row<Body, Complex<double>, arity>;
    return loops;
}
template <class Body, int arity>
constexpr RowLoops of_conditions() {
    RowLoops loops{};
    loops[static_cast<std::size_t>(Dtype::boolean)] = over_row<Body, bool, arity>;
    return loops;
}

/// An operation on entries in one place of arrays of the same extents, and on scalars.
class Pointwise : public Operation {
  public:
    Pointwise(std::string body, std::size_t operands, RowLoops loops, std::optional<Dtype> result,
              double flops)
        : body_(std::move(body)),
          operands_(operands),
          loops_(loops),
          result_(result),
          flops_(flops) {}

    Match match(const CallSite& site) const override {
        expects(site.operands() == operands_, site.call.operation, " has ", operands_,
                operands_ == 1 ? " operand, not " : " operands, not ", site.operands());
        Type of = site.type(first_);
        for (std::size_t i = 0; i < operands_; ++i) {
            const Type& type = site.type(i);
            expects(type.is_scalar() || type.kind == Kind::array, site.call.operation, " of a ",
                    name_of(type.kind));
            if (i >= first_) {
                expects(type.dtype == of.dtype, site.call.operation, " of ", text_of(of), " and ",
                        text_of(type), ": their numbers have different types");
            } else {
                expects(type.dtype == Dtype::boolean, "the condition of ", site.call.operation,
                        " is of type ", text_of(type));
            }
        }
        const Type* shape = nullptr;
        for (std::size_t i = 0; i < operands_; ++i) {
            const Type& type = site.type(i);
            if (type.kind != Kind::array) continue;
            if (shape == nullptr) shape = &type;
            expects(type.rank == shape->rank && type.extent == shape->extent, site.call.operation,
                    " of ", text_of(*shape), " and ", text_of(type), ": their extents differ");
        }
        expects(loops_[static_cast<std::size_t>(of.dtype)] != nullptr, "there is no ",
                site.call.operation, " of ", name_of(of.dtype));
        Type result = shape != nullptr ? *shape : scalar(of.dtype);
        result.dtype = result_.value_or(of.dtype);
        return {Level::element, {result}, std::vector<Access>(operands_), flops_};
    }

    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        loops_[static_cast<std::size_t>(site.type(first_).dtype)](piece.count, operands,
                                                                  results[0]);
    }

    Code code(const CallSite&, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        std::string call = "bodies::" + body_ + "::of(";
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (i > 0) call += ", ";
            call += operands[i];
        }
        return {call + ")"};
    }

  protected:
    /// The first operand of the type that counts.
    std::size_t first_ = 0;

  private:
    std::string body_;
    std::size_t operands_;
    RowLoops loops_;
    std::optional<Dtype> result_;
    double flops_;
};

/// select(condition, a, b)
class SelectOperation : public Pointwise {
  public:
    SelectOperation()
        : Pointwise(
              "Select", 3,
              {select_in_row<float>, select_in_row<double>, select_in_row<Complex<float>>,
               select_in_row<Complex<double>>, select_in_row<std::int64_t>, select_in_row<bool>},
              std::nullopt, 0) {
        first_ = 1;
    }
};

/// convert<to = f64>(x): f32, f64 and i64 to f32 and f64, rounded to the nearest; false and true to 0
/// and 1 of f32, f64 and i64. None of f32 or f64 to i64: what is out of range has no value that all
/// devices agree on.
class Conversion : public Operation {
  public:
    Match match(const CallSite& site) const override {
        const auto to = site.call.attributes.find("to");
        const auto* const word =
            to != site.call.attributes.end() ? std::get_if<std::string>(&to->second) : nullptr;
        expects(word != nullptr && site.call.attributes.size() == 1,
                "convert has one attribute, to = f32, f64 or i64");
        const auto dtype = dtype_named(*word);
        expects(dtype && (*dtype == Dtype::f32 || *dtype == Dtype::f64 || *dtype == Dtype::i64),
                "convert to ", *word, "; expected f32, f64 or i64");
        expects(site.operands() != 1 || *dtype != Dtype::i64 ||
                    (site.type(0).dtype != Dtype::f32 && site.type(0).dtype != Dtype::f64),
                "convert of ", name_of(site.type(0).dtype),
                " to i64: numbers out of range would have no value");
        return by_result(*dtype).match(site);
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        by_result(site.program[site.call.results[0]].type.dtype)
            .compute(site, piece, operands, results);
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        return by_result(site.program[site.call.results[0]].type.dtype)
            .code(site, operands, results);
    }

  private:
    template <class To>
    static constexpr RowLoops to() {
        RowLoops loops{};
        loops[static_cast<std::size_t>(Dtype::i64)] =
            over_row<bodies::Convert<To>, std::int64_t, 1>;
        loops[static_cast<std::size_t>(Dtype::boolean)] = over_row<bodies::Convert<To>, bool, 1>;
        if constexpr (!std::same_as<To, std::int64_t>) {
            loops[static_cast<std::size_t>(Dtype::f32)] = over_row<bodies::Convert<To>, float, 1>;
            loops[static_cast<std::size_t>(Dtype::f64)] = over_row<bodies::Convert<To>, double, 1>;
        }
        return loops;
    }
    const Pointwise& by_result(Dtype dtype) const {
        return dtype == Dtype::f32 ? to_f32_ : dtype == Dtype::f64 ? to_f64_ : to_i64_;
    }

    Pointwise to_f32_{"Convert<float>", 1, to<float>(), Dtype::f32, 0};
    Pointwise to_f64_{"Convert<double>", 1, to<double>(), Dtype::f64, 0};
    Pointwise to_i64_{"Convert<long long>", 1, to<std::int64_t>(), Dtype::i64, 0};
};

}  // namespace

void add_pointwise(Registry& registry) {
    using namespace bodies;
    const auto add = [&](const char* name, const char* body, std::size_t operands,
                         const RowLoops& loops, std::optional<Dtype> result = std::nullopt,
                         double flops = 1) {
        registry.add(name, std::make_shared<Pointwise>(body, operands, loops, result, flops));
    };
    add("add", "Add", 2, of_numbers<Add, 2>());
    add("subtract", "Subtract", 2, of_numbers<Subtract, 2>());
    add("multiply", "Multiply", 2, of_numbers<Multiply, 2>());
    add("divide", "Divide", 2, of_reals<Divide, 2>());
    add("negate", "Negate", 1, of_ordered<Negate, 1>());
    add("multiply_add", "MultiplyAdd", 3, of_reals<MultiplyAdd, 3>(), std::nullopt, 2);
    add("min", "Least", 2, of_ordered<Least, 2>());
    add("max", "Greatest", 2, of_ordered<Greatest, 2>());
    add("abs", "Magnitude", 1, of_reals<Magnitude, 1>());
    add("sqrt", "Root", 1, of_reals<Root, 1>());
    add("less", "Less", 2, of_ordered<Less, 2>(), Dtype::boolean);
    add("less_equal", "LessEqual", 2, of_ordered<LessEqual, 2>(), Dtype::boolean);
    add("equal", "Equal", 2, of_ordered<Equal, 2>(), Dtype::boolean);
    add("not_equal", "NotEqual", 2, of_ordered<NotEqual, 2>(), Dtype::boolean);
    add("and", "And", 2, of_conditions<And, 2>());
    add("or", "Or", 2, of_conditions<Or, 2>());
    add("not", "Not", 1, of_conditions<Not, 1>());
    RowLoops copies = of_numbers<Copy, 1>();
    copies[static_cast<std::size_t>(Dtype::boolean)] = over_row<Copy, bool, 1>;
    add("copy", "Copy", 1, copies, std::nullopt, 0);
    registry.add("select", std::make_shared<SelectOperation>());
    registry.add("convert", std::make_shared<Conversion>());
}

}  // namespace aperture::compose
