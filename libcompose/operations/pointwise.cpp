// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <optional>

#include "aperture/core/error.hpp"
#include "libcompose/operations/bodies.cuh"
#include "libcompose/operations/call_attributes.hpp"
#include "libcompose/operations/element_operations.hpp"
#include "libcompose/operations/function_bodies.cuh"

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
constexpr RowLoops of_complex() {
    RowLoops loops{};
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

/// Of one number for each problem.
bool is_number_of_problem(const Type& type) {
    return type.kind == Kind::batch && type.numbers_of_problem() == 1;
}

/// An operation on entries in one place of arrays of the same extents, and on scalars; or of
/// batches of the same extents, of batches of one number a problem, and on scalars.
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
        const CallAttributes none(site, {});
        return match_operands(site);
    }
    /// The same, whatever the attributes.
    Match match_operands(const CallSite& site) const {
        expects(site.operands() == operands_, site.call.operation, " has ", operands_,
                operands_ == 1 ? " operand, not " : " operands, not ", site.operands());
        Type of = site.type(first_);
        for (std::size_t i = 0; i < operands_; ++i) {
            const Type& type = site.type(i);
            expects(type.is_scalar() || type.kind == Kind::array || type.kind == Kind::batch,
                    site.call.operation, " of a ", name_of(type.kind));
            if (type.kind == Kind::batch) expect_problems(type);
            if (i >= first_) {
                expects(type.dtype == of.dtype, site.call.operation, " of ", text_of(of), " and ",
                        text_of(type), ": their numbers have different types");
            } else {
                expects(type.dtype == Dtype::boolean, "the condition of ", site.call.operation,
                        " is of type ", text_of(type));
            }
        }
        const Type* const shape = shape_of(site);
        for (std::size_t i = 0; i < operands_; ++i) {
            const Type& type = site.type(i);
            if (type.is_scalar()) continue;
            const bool fits = type.rank == shape->rank && type.extent == shape->extent;
            const bool of_problem =
                is_number_of_problem(type) && type.extent[0] == shape->extent[0];
            expects(type.kind == shape->kind && (fits || of_problem), site.call.operation, " of ",
                    text_of(*shape), " and ", text_of(type), ": their extents differ");
        }
        expects(loops_[static_cast<std::size_t>(of.dtype)] != nullptr, "there is no ",
                site.call.operation, " of ", name_of(of.dtype));
        Type result = shape != nullptr ? *shape : scalar(of.dtype);
        result.dtype = result_.value_or(of.dtype);
        if (result.kind != Kind::batch) {
            return {Level::element, {result}, std::vector<Access>(operands_), flops_};
        }
        return {Level::block,
                {result},
                std::vector<Access>(operands_),
                flops_ * double(result.numbers_of_problem())};
    }

    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        loops_[static_cast<std::size_t>(site.type(first_).dtype)](piece.count, operands,
                                                                  results[0]);
    }

    void compute_problem(const CallSite& site, std::span<const void* const> operands,
                         std::span<void* const> results, void*) const override {
        constexpr index_t length = 64, largest_number = 16;
        std::array<std::array<unsigned char, length * largest_number>, 3> repeated;
        std::array<RowOperand, 3> rows;
        const Type& result = site.program[site.call.results[0]].type;
        const index_t count = result.numbers_of_problem();
        const auto entry = [](auto* numbers, const Type& type, index_t i) {
            return numbers + static_cast<std::size_t>(i * bytes_of(type.dtype));
        };
        for (index_t first = 0; first < count; first += length) {
            for (std::size_t i = 0; i < operands_; ++i) {
                const Type& type = site.type(i);
                const auto* const numbers = static_cast<const unsigned char*>(operands[i]);
                if (is_one_for_all(type, result)) {
                    for (index_t k = 0; first == 0 && k < length; ++k) {
                        std::memcpy(entry(repeated[i].data(), type, k), numbers,
                                    static_cast<std::size_t>(bytes_of(type.dtype)));
                    }
                    rows[i] = {repeated[i].data(), nullptr, type};
                } else {
                    rows[i] = {entry(numbers, type, first), nullptr, type};
                }
            }
            loops_[static_cast<std::size_t>(site.type(first_).dtype)](
                static_cast<int>(std::min(length, count - first)), std::span(rows).first(operands_),
                entry(static_cast<unsigned char*>(results[0]), result, first));
        }
    }

    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        const Type& result = site.program[site.call.results[0]].type;
        const bool of_batches = result.kind == Kind::batch;
        std::string list;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (i > 0) list += ", ";
            list += operands[i];
            if (is_number_of_problem(site.type(i)) && is_one_for_all(site.type(i), result)) {
                list += "(0, 0)";
            }
        }
        if (!of_batches) return {core::text("bodies::", body_, "::of(", list, ")")};
        return {core::text("bodies::entrywise<bodies::", body_, ">(group, ", results[0], ", ", list,
                           ")")};
    }

  protected:
    /// The first operand of the type that counts.
    std::size_t first_ = 0;

  private:
    /// The first operand that is an array, or the first batch of most numbers; null of scalars.
    const Type* shape_of(const CallSite& site) const {
        const Type* shape = nullptr;
        for (std::size_t i = 0; i < operands_; ++i) {
            const Type& type = site.type(i);
            if (type.is_scalar()) continue;
            if (shape == nullptr || (is_number_of_problem(*shape) && type.rank > 0)) shape = &type;
        }
        return shape;
    }
    static bool is_one_for_all(const Type& type, const Type& result) {
        return type.is_scalar() || (is_number_of_problem(type) && type.extent != result.extent);
    }

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

/// An operation on arrays and scalars, not on batches, whose results have other types than
/// operands.
class ArrayPointwise : public Pointwise {
  public:
    ArrayPointwise(std::string body, std::size_t operands, RowLoops loops, Dtype (*result)(Dtype),
                   double flops)
        : Pointwise(std::move(body), operands, loops, std::nullopt, flops), result_(result) {}

    Match match(const CallSite& site) const override {
        for (std::size_t i = 0; i < site.operands(); ++i) {
            expects(site.type(i).kind != Kind::batch, site.call.operation, " of a batch");
        }
        Match match = Pointwise::match(site);
        match.results[0].dtype = result_(match.results[0].dtype);
        return match;
    }

  private:
    Dtype (*result_)(Dtype);
};

Dtype same(Dtype dtype) { return dtype; }
Dtype complex_of(Dtype dtype) { return dtype == Dtype::f32 ? Dtype::c64 : Dtype::c128; }

/// divide(a, b), whose complex numbers have a body of their own.
class Division : public Pointwise {
  public:
    Division()
        : Pointwise("Divide", 2, of_reals<bodies::Divide, 2>(), std::nullopt, 1),
          of_complex_("Quotient", 2, of_complex<bodies::Quotient, 2>(), same, 11) {}

    Match match(const CallSite& site) const override {
        return is_complex_call(site) ? of_complex_.match(site) : Pointwise::match(site);
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        if (is_complex_call(site)) return of_complex_.compute(site, piece, operands, results);
        Pointwise::compute(site, piece, operands, results);
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        return is_complex_call(site) ? of_complex_.code(site, operands, results)
                                     : Pointwise::code(site, operands, results);
    }

  private:
    static bool is_complex_call(const CallSite& site) {
        return site.operands() > 0 && is_complex(site.type(0).dtype);
    }
    ArrayPointwise of_complex_;
};

/// convert<to = f64>(x): f32, f64 and i64 to f32 and f64, rounded to the nearest; false and true to
/// 0 and 1 of f32, f64 and i64. None of f32 or f64 to i64: what is out of range has no value that
/// all devices agree on.
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
        return by_result(*dtype).match_operands(site);
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        by_result(site.program[site.call.results[0]].type.dtype)
            .compute(site, piece, operands, results);
    }
    void compute_problem(const CallSite& site, std::span<const void* const> operands,
                         std::span<void* const> results, void* workspace) const override {
        by_result(site.program[site.call.results[0]].type.dtype)
            .compute_problem(site, operands, results, workspace);
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        const Dtype to = site.program[site.call.results[0]].type.dtype;
        // Numbers of problems in lanes are of no other type.
        return (site.type(0).dtype == to ? same_ : by_result(to)).code(site, operands, results);
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

    Pointwise same_{"Copy", 1, {}, std::nullopt, 0};
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
    registry.add("divide", std::make_shared<Division>());
    add("negate", "Negate", 1, of_ordered<Negate, 1>());
    add("multiply_add", "MultiplyAdd", 3, of_reals<MultiplyAdd, 3>(), std::nullopt, 2);
    add("min", "Least", 2, of_ordered<Least, 2>());
    add("max", "Greatest", 2, of_ordered<Greatest, 2>());
    add("abs", "Magnitude", 1, of_reals<Magnitude, 1>());
    add("sqrt", "Root", 1, of_reals<Root, 1>());
    add("rsqrt", "InverseRoot", 1, of_reals<InverseRoot, 1>(), std::nullopt, 2);
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
    const auto add_of_arrays = [&](const char* name, const char* body, std::size_t operands,
                                   const RowLoops& loops, Dtype (*result)(Dtype), double flops) {
        registry.add(name, std::make_shared<ArrayPointwise>(body, operands, loops, result, flops));
    };
    add_of_arrays("exp", "Exponential", 1, of_reals<Exponential, 1>(), same, 24);
    add_of_arrays("log", "Logarithm", 1, of_reals<Logarithm, 1>(), same, 30);
    add_of_arrays("conj", "Conjugate", 1, of_complex<Conjugate, 1>(), same, 0);
    add_of_arrays("real", "RealPart", 1, of_complex<RealPart, 1>(), real_of, 0);
    add_of_arrays("imag", "ImaginaryPart", 1, of_complex<ImaginaryPart, 1>(), real_of, 0);
    add_of_arrays("magnitude", "Magnitude", 1, of_complex<Magnitude, 1>(), real_of, 4);
    add_of_arrays("complex", "ComplexOf", 2, of_reals<ComplexOf, 2>(), complex_of, 0);
    registry.add("select", std::make_shared<SelectOperation>());
    registry.add("convert", std::make_shared<Conversion>());
}

}  // namespace aperture::compose
