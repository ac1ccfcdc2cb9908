// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "aperture/core/error.hpp"
#include "libcompose/operations/block_factors.cuh"
#include "libcompose/operations/call_attributes.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {
namespace {

using bodies::Form;
using bodies::Matrix;
using bodies::Shape;
using core::Complex;
using core::expects;

constexpr core::Choices<Form, 3> forms{
    {{"plain", Form::plain}, {"transposed", Form::transposed}, {"adjoint", Form::adjoint}}};
constexpr core::Choices<Shape, 4> shapes{{{"general", Shape::general},
                                          {"positive_definite", Shape::positive_definite},
                                          {"lower", Shape::lower},
                                          {"upper", Shape::upper}}};

constexpr core::Choices<bool, 2> conditions{{{"false", false}, {"true", true}}};

/// How a product reads its operands.
struct Forms {
    explicit Forms(const CallSite& site) {
        const CallAttributes attributes(site, {"a", "b"});
        a = attributes.choice("a", forms, Form::plain);
        b = attributes.choice("b", forms, Form::plain);
    }
    Form a, b;
};
Shape shape_of(const CallSite& site) {
    return CallAttributes(site, {"matrix"}).choice("matrix", shapes, Shape::general);
}

/// Expects batches of as many problems, of the same numbers.
void expect_batches(const CallSite& site, std::size_t least, std::size_t most) {
    const std::string& name = site.call.operation;
    expects(site.operands() >= least && site.operands() <= most, name, " has ", least,
            least == most ? "" : core::text(" or ", most), most == 1 ? " operand" : " operands",
            ", not ", site.operands());
    const Type& first = site.type(0);
    for (std::size_t i = 0; i < site.operands(); ++i) {
        const Type& type = site.type(i);
        expects(
            type.kind == Kind::batch && type.dtype != Dtype::i64 && type.dtype != Dtype::boolean,
            name, " of ", text_of(type), "; expected a batch of f32, f64, c64 or c128");
        expect_problems(type);
        expects(type.dtype == first.dtype && type.extent[0] == first.extent[0], name, " of ",
                text_of(first), " and ", text_of(type),
                ": their problems or types of numbers differ");
    }
}
void expect_matrix(const CallSite& site, std::size_t i) {
    expects(site.type(i).rank == 3, site.call.operation, " of ", text_of(site.type(i)),
            "; expected matrices [problem][row][column]");
}
void expect_square(const CallSite& site) {
    expect_matrix(site, 0);
    expects(site.type(0).rows() == site.type(0).columns(), site.call.operation, " of ",
            text_of(site.type(0)), "; expected square matrices");
}

/// Flops of a multiply-add.
double flops_of_product(const Type& type) { return is_complex(type.dtype) ? 8 : 2; }

/// A batch of as many problems: vectors if `columns` is 0.
Type result_of(const Type& like, index_t rows, index_t columns) {
    return columns == 0 ? batch(like.dtype, {like.extent[0], rows})
                        : batch(like.dtype, {like.extent[0], rows, columns});
}
Match match_of(const CallSite& site, std::vector<Type> results, double products,
               const Type& workspace = {}) {
    return {Level::block,
            std::move(results),
            std::vector<Access>(site.operands(), Access{Access::Kind::problem}),
            products * flops_of_product(site.type(0)),
            Combination::add,
            workspace};
}

Match match_multiply(const CallSite& site) {
    const Forms read(site);
    expect_batches(site, 2, 2);
    expect_matrix(site, 0);
    const Type &a = site.type(0), &b = site.type(1);
    const bool plain_a = read.a == Form::plain, plain_b = read.b == Form::plain;
    expects(b.rank == 3 || plain_b, "b of ", site.call.operation, " is a vector; it must be plain");
    const index_t rows = plain_a ? a.rows() : a.columns(), depth = plain_a ? a.columns() : a.rows();
    const index_t columns = plain_b ? b.columns() : b.rows();
    expects((plain_b ? b.rows() : b.columns()) == depth, site.call.operation, " of ", text_of(a),
            " and ", text_of(b), ": their inner extents differ");
    return match_of(site, {result_of(a, rows, b.rank == 2 ? 0 : columns)},
                    double(rows) * double(depth) * double(columns));
}
Match match_rank_k(const CallSite& site) {
    const CallAttributes none(site, {});
    expect_batches(site, 1, 1);
    expect_matrix(site, 0);
    const index_t rows = site.type(0).rows();
    return match_of(site, {result_of(site.type(0), rows, rows)},
                    double(rows) * double(rows + 1) / 2 * double(site.type(0).columns()));
}
Match match_transposed(const CallSite& site) {
    const CallAttributes none(site, {});
    expect_batches(site, 1, 1);
    expect_matrix(site, 0);
    return match_of(site, {result_of(site.type(0), site.type(0).columns(), site.type(0).rows())},
                    0);
}
Match match_norm(const CallSite& site) {
    const CallAttributes none(site, {});
    expect_batches(site, 1, 1);
    Type real = site.type(0);
    real.dtype = real_of(real.dtype);
    const double squares = is_complex(site.type(0).dtype) ? 0.5 : 1;
    return match_of(site, {result_of(real, 1, 0)}, squares * double(real.numbers_of_problem()));
}
Match match_cholesky(const CallSite& site) {
    const CallAttributes none(site, {});
    expect_batches(site, 1, 1);
    expect_square(site);
    const auto order = double(site.type(0).rows());
    return match_of(site, {site.type(0)}, order * order * order / 6);
}
Match match_lu(const CallSite& site) {
    const CallAttributes attributes(site, {"pivots"});
    const bool pivots = attributes.choice("pivots", conditions, false);
    expect_batches(site, 1, 1);
    expect_square(site);
    const auto order = double(site.type(0).rows());
    std::vector<Type> results{site.type(0), site.type(0)};
    if (pivots) {
        results.push_back(result_of(site.type(0), site.type(0).rows(), 0));
        results.back().dtype = real_of(site.type(0).dtype);
    }
    return match_of(site, std::move(results), order * order * order / 3);
}
Match match_qr(const CallSite& site) {
    const CallAttributes none(site, {});
    expect_batches(site, 1, 2);
    expect_matrix(site, 0);
    const Type& a = site.type(0);
    const index_t rows = a.rows(), columns = a.columns();
    expects(rows >= columns, "qr of ", text_of(a), "; expected at least as many rows as columns");
    std::vector<Type> results{result_of(a, columns, columns)};
    index_t sides = 0;
    if (site.operands() == 2) {
        const Type& b = site.type(1);
        expects(b.rows() == rows, "qr of ", text_of(a), " and ", text_of(b),
                ": they have other numbers of rows");
        sides = b.columns();
        results.push_back(result_of(b, columns, b.rank == 2 ? 0 : sides));
    }
    const auto n = double(columns), m = double(rows);
    return match_of(site, std::move(results), n * n * (m - n / 3) + 2 * m * n * double(sides),
                    result_of(a, rows, columns + sides));
}

/// Products of factors, for matrices of a shape.
double products_of_factors(Shape shape, double order) {
    const double cubed = order * order * order;
    return shape == Shape::general ? cubed / 3 : shape == Shape::positive_definite ? cubed / 6 : 0;
}
Match match_solve(const CallSite& site) {
    const Shape shape = shape_of(site);
    expect_batches(site, 2, 2);
    expect_square(site);
    const Type &a = site.type(0), &b = site.type(1);
    expects(a.rows() == b.rows(), "solve of ", text_of(a), " and ", text_of(b),
            ": they have other numbers of rows");
    const bool factors = shape == Shape::general || shape == Shape::positive_definite;
    const auto order = double(a.rows());
    return match_of(site, {b},
                    products_of_factors(shape, order) +
                        order * order * double(b.columns()) * (factors ? 1 : 0.5),
                    factors ? a : Type{});
}
Match match_inverse(const CallSite& site) {
    const Shape shape = shape_of(site);
    expect_batches(site, 1, 1);
    expect_square(site);
    const bool factors = shape == Shape::general || shape == Shape::positive_definite;
    const auto order = double(site.type(0).rows());
    return match_of(site, {site.type(0)},
                    products_of_factors(shape, order) + order * order * order * (factors ? 1 : 0.5),
                    factors ? site.type(0) : Type{});
}

/// What the interpreter knows of a call.
struct HostCall {
    const CallSite& site;
    std::span<const void* const> operands;
    std::span<void* const> results;
    void* workspace;

    template <class T>
    Matrix<const T> operand(std::size_t i) const {
        return matrix(site.type(i), static_cast<const T*>(operands[i]));
    }
    template <class T>
    Matrix<T> result(std::size_t i) const {
        return matrix(site.program[site.call.results[i]].type, static_cast<T*>(results[i]));
    }
    /// Of as many rows as the first operand.
    template <class T>
    Matrix<T> work(index_t columns) const {
        return {static_cast<T*>(workspace), int(site.type(0).rows()), int(columns)};
    }

  private:
    template <class T>
    static Matrix<T> matrix(const Type& type, T* numbers) {
        return {numbers, int(type.rows()), int(type.columns())};
    }
};
using HostBody = void (*)(const HostCall&);

/// A body: its name in C++, and its instances for f32, f64, c64 and c128.
struct BlockBody {
    std::string name;
    std::array<HostBody, 4> host;
};

template <template <class> class Caller>
BlockBody body_of(std::string name) {
    return {std::move(name),
            {Caller<float>::call, Caller<double>::call, Caller<Complex<float>>::call,
             Caller<Complex<double>>::call}};
}

/// Calls that differ in operands and results.
template <class Body>
struct Unary {
    template <class T>
    struct Of {
        static void call(const HostCall& on) {
            Body::of(bodies::Alone(), on.result<T>(0), on.operand<T>(0));
        }
    };
};
template <class Body>
struct Binary {
    template <class T>
    struct Of {
        static void call(const HostCall& on) {
            Body::of(bodies::Alone(), on.result<T>(0), on.operand<T>(0), on.operand<T>(1));
        }
    };
};
template <class T>
struct NormOf {
    static void call(const HostCall& on) {
        bodies::Norm::of(bodies::Alone(), on.result<core::RealOf<T>>(0), on.operand<T>(0));
    }
};
template <class T>
struct LuOf {
    static void call(const HostCall& on) {
        const auto a = on.operand<T>(0), l = on.result<T>(0), u = on.result<T>(1);
        if (on.results.size() == 2) {
            bodies::Lu::of(bodies::Alone(), l, u, a);
        } else {
            bodies::Lu::of(bodies::Alone(), l, u, on.result<core::RealOf<T>>(2), a);
        }
    }
};
template <Shape shape>
struct SolveOf {
    template <class T>
    struct Of {
        static void call(const HostCall& on) {
            const auto a = on.operand<T>(0);
            bodies::Solve<shape>::of(bodies::Alone(), on.result<T>(0), a, on.operand<T>(1),
                                     on.work<T>(a.columns));
        }
    };
};
template <Shape shape>
struct InverseOf {
    template <class T>
    struct Of {
        static void call(const HostCall& on) {
            const auto a = on.operand<T>(0);
            bodies::Inverse<shape>::of(bodies::Alone(), on.result<T>(0), a, on.work<T>(a.columns));
        }
    };
};
template <class T>
struct QrOf {
    static void call(const HostCall& on) {
        const auto a = on.operand<T>(0);
        if (on.operands.size() == 1) {
            bodies::Qr::of(bodies::Alone(), on.result<T>(0), a, on.work<T>(a.columns));
        } else {
            const auto b = on.operand<T>(1);
            bodies::Qr::of(bodies::Alone(), on.result<T>(0), on.result<T>(1), a, b,
                           on.work<T>(a.columns + b.columns));
        }
    }
};

/// Bodies that attributes choose from.
using Bodies = std::vector<BlockBody>;
using MatchRule = Match (*)(const CallSite&);
using BodyRule = std::size_t (*)(const CallSite&);

class BlockOperation : public Operation {
  public:
    BlockOperation(MatchRule rule, Bodies bodies, BodyRule choose)
        : rule_(rule), bodies_(std::move(bodies)), choose_(choose) {}

    Match match(const CallSite& site) const override { return rule_(site); }

    void compute_problem(const CallSite& site, std::span<const void* const> operands,
                         std::span<void* const> results, void* workspace) const override {
        const auto dtype = static_cast<std::size_t>(site.type(0).dtype);
        bodies_[choose_(site)].host[dtype]({site, operands, results, workspace});
    }

    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        std::string call = "bodies::" + bodies_[choose_(site)].name + "::of(group";
        for (const std::string& result : results) call += ", " + result;
        for (const std::string& operand : operands) call += ", " + operand;
        return {call + ")"};
    }

  private:
    MatchRule rule_;
    Bodies bodies_;
    BodyRule choose_;
};

std::size_t the_only(const CallSite&) { return 0; }
std::size_t by_forms(const CallSite& site) {
    const Forms read(site);
    return std::size_t(read.a) * forms.size() + std::size_t(read.b);
}
std::size_t by_shape(const CallSite& site) { return std::size_t(shape_of(site)); }

template <Form a, Form b>
void add_product(Bodies& all) {
    const auto name = [](Form form) {
        return core::text("bodies::Form::", core::choice_name(forms, form));
    };
    all.push_back(body_of<Binary<bodies::MatrixMultiply<a, b>>::template Of>(
        core::text("MatrixMultiply<", name(a), ", ", name(b), ">")));
}
template <Form a>
void add_products(Bodies& all) {
    add_product<a, Form::plain>(all);
    add_product<a, Form::transposed>(all);
    add_product<a, Form::adjoint>(all);
}
template <Shape... shape>
Bodies solves() {
    return {body_of<SolveOf<shape>::template Of>(
        core::text("Solve<bodies::Shape::", core::choice_name(shapes, shape), ">"))...};
}
template <Shape... shape>
Bodies inverses() {
    return {body_of<InverseOf<shape>::template Of>(
        core::text("Inverse<bodies::Shape::", core::choice_name(shapes, shape), ">"))...};
}

}  // namespace

void expect_problems(const Type& type) {
    constexpr index_t most = 1 << 20;
    expects(type.rows() >= 1 && type.columns() >= 1 && type.rows() <= most &&
                type.columns() <= most && type.numbers_of_problem() <= most,
            text_of(type), ": a problem must have 1 to 2^20 numbers");
}

std::unique_ptr<Operation> dot_of_batches() {
    const MatchRule rule = [](const CallSite& site) {
        const CallAttributes none(site, {});
        expect_batches(site, 2, 2);
        const Type& x = site.type(0);
        expects(x.rank == 2 && x == site.type(1), "dot of ", text_of(x), " and ",
                text_of(site.type(1)), "; expected vectors [problem][row] of the same extents");
        return match_of(site, {result_of(x, 1, 0)}, double(x.rows()));
    };
    return std::make_unique<BlockOperation>(
        rule, Bodies{body_of<Binary<bodies::Dot>::template Of>("Dot")}, the_only);
}

void add_blocks(Registry& registry) {
    const auto add = [&](const char* name, MatchRule rule, Bodies bodies,
                         BodyRule choose = the_only) {
        registry.add(name, std::make_shared<BlockOperation>(rule, std::move(bodies), choose));
    };
    Bodies products;
    add_products<Form::plain>(products);
    add_products<Form::transposed>(products);
    add_products<Form::adjoint>(products);
    add("matrix_multiply", match_multiply, std::move(products), by_forms);
    add("rank_k", match_rank_k, {body_of<Unary<bodies::RankK>::Of>("RankK")});
    add("transposed", match_transposed,
        {body_of<Unary<bodies::Reformed<Form::transposed>>::Of>(
            "Reformed<bodies::Form::transposed>")});
    add("adjoint", match_transposed,
        {body_of<Unary<bodies::Reformed<Form::adjoint>>::Of>("Reformed<bodies::Form::adjoint>")});
    add("norm", match_norm, {body_of<NormOf>("Norm")});
    add("cholesky", match_cholesky, {body_of<Unary<bodies::Cholesky>::Of>("Cholesky")});
    add("lu", match_lu, {body_of<LuOf>("Lu")});
    add("qr", match_qr, {body_of<QrOf>("Qr")});
    add("solve", match_solve,
        solves<Shape::general, Shape::positive_definite, Shape::lower, Shape::upper>(), by_shape);
    add("inverse", match_inverse,
        inverses<Shape::general, Shape::positive_definite, Shape::lower, Shape::upper>(), by_shape);
}

}  // namespace aperture::compose
