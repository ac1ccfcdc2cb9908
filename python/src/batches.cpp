// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "aperture/dense/batch_spectral.hpp"
#include "aperture/dense/element_text.hpp"
#include "libcore/run_copy.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

using Executor = Worker::Executor;

/// An executor for functions of batches. A type of its own for each module, for both are known to
/// one nanobind.
template <class Worker>
class BatchesOn {
  public:
    /// `where`: the number of threads, or of the GPU.
    explicit BatchesOn(int where) : worker_(where) {}
    Worker& worker() { return worker_; }

  private:
    Worker worker_;
};
using Batches = BatchesOn<Worker>;

/// What a method takes for a parameter of its function: an array for a view.
template <class T>
struct Argument {
    using Type = T;
    static T value(T given) { return given; }
};
template <class T, int Rank>
struct Argument<core::View<T, Rank, Space>> {
    using Type = ArrayIn<T, Rank, Space>;
    static core::View<T, Rank, Space> value(const Type& given) {
        return view_of<T, Rank, Space>(given);
    }
};

template <class Parameter>
auto unconverted() {
    return nb::arg().noconvert();
}

template <class... Parameters>
void def(nb::class_<Batches>& bound, const std::string& name,
         void (*compute)(Executor&, Parameters...)) {
    bound.def(
        name.c_str(),
        [compute](Batches& batches, std::uintptr_t stream,
                  const typename Argument<Parameters>::Type&... given) {
            Worker& worker = batches.worker();
            worker.run(stream,
                       [&] { compute(worker.executor(), Argument<Parameters>::value(given)...); });
        },
        nb::arg(), unconverted<Parameters>()...);
}

template <class T>
dense::MatrixBatch<T, Space> transposed(const dense::MatrixBatch<T, Space>& batch) {
    const auto [problems, rows, columns] = batch.extent;
    const auto [by_problem, by_row, by_column] = batch.stride;
    return {batch.data, {problems, columns, rows}, {by_problem, by_column, by_row}};
}

/// A batch without gaps is one block of memory.
template <class T>
void copy(Executor& on, const dense::MatrixBatch<const T, Space>& from,
          const dense::MatrixBatch<T, Space>& to) {
    const core::RunCopy runs(from, to);
    if (runs.dimensions == 0) {
        copy_runs(on, runs);
    } else {
        dense::change_layout(on, from, to);
    }
}

/// The functions on batches of T. Right-hand sides and solutions are columns here.
template <class T>
struct Functions {
    using Input = dense::MatrixBatch<const T, Space>;
    using Output = dense::MatrixBatch<T, Space>;
    using Vectors = dense::VectorBatch<T, Space>;
    using Values = dense::VectorBatch<dense::Real<T>, Space>;
    using Info = core::View<int, 1, Space>;

    static void cholesky(Executor& on, bool upper, Input a, Output factor, Info info) {
        // A^T = G G^H where A = U^H U with U = G^T.
        if (upper) return dense::factor_cholesky(on, transposed(a), transposed(factor), info);
        dense::factor_cholesky(on, a, factor, info);
    }
    static void lu(Executor& on, bool pivoting, Input a, Output factors,
                   core::View<int, 2, Space> pivots, Info info) {
        dense::factor_lu(on, pivoting ? dense::Pivoting::partial : dense::Pivoting::none, a,
                         factors, pivots, info);
    }
    static void solve(Executor& on, bool positive, Input a, Input b, Output x, Info info) {
        copy(on, b, x);
        if (positive) {
            dense::solve(on, dense::Factorisation::cholesky, a, transposed(x), info, {});
        } else {
            dense::solve_lu(on, dense::Pivoting::partial, a, transposed(x), info);
        }
    }
    static void inv(Executor& on, Input a, Output inverse, Info info) {
        dense::invert(on, a, inverse, info);
    }
    static void det(Executor& on, Input a, core::View<T, 1, Space> determinants) {
        dense::determinant(on, a, determinants);
    }
    static void factor_qr(Executor& on, Input a, Output factors, Vectors tau) {
        dense::factor_qr(on, a, factors, tau);
    }
    static void form_q(Executor& on, Input factors, dense::VectorBatch<const T, Space> tau,
                       Output q) {
        dense::form_q(on, factors, tau, q);
    }
    static void lstsq(Executor& on, Input a, Input b, Output x, Info info) {
        dense::least_squares(on, a, transposed(b), transposed(x), info);
    }
    static void eigh(Executor& on, Input a, Values values, Output vectors, Info info) {
        dense::eigen_hermitian(on, a, values, vectors, info);
    }
    /// Of tall matrices `vh` is the conjugate of V^H, of wide ones `u` that of U: they are not
    /// conjugated here.
    static void svd(Executor& on, Input a, Output u, Values values, Output vh, Info info) {
        if (a.extent[1] >= a.extent[2]) {
            dense::svd(on, a, u, values, transposed(vh), info);
        } else {
            // A^T = U' S V'^H where A = conj(V') S U'^T.
            dense::svd(on, transposed(a), transposed(vh), values, u, info);
        }
    }
    static void matmul(Executor& on, Input a, Input b, Output c) {
        dense::gemm(on, dense::Op::none, dense::Op::none, T(1), a, b, T(0), c);
    }

    /// `type`: NumPy's name of T.
    static void bind(nb::class_<Batches>& bound, const std::string& type) {
        def(bound, "cholesky_" + type, cholesky);
        def(bound, "lu_" + type, lu);
        def(bound, "solve_" + type, solve);
        def(bound, "inv_" + type, inv);
        def(bound, "det_" + type, det);
        def(bound, "factor_qr_" + type, factor_qr);
        def(bound, "form_q_" + type, form_q);
        def(bound, "lstsq_" + type, lstsq);
        def(bound, "eigh_" + type, eigh);
        def(bound, "svd_" + type, svd);
        def(bound, "matmul_" + type, matmul);
    }
};

/// A batch [problem][...] of float or double, its name in a body, and whether the body writes it.
using NamedBatch = std::tuple<std::string, bool, nb::ndarray<nb::ro, DeviceOf<Space>::type>>;

dense::TextBatch text_batch(const NamedBatch& named) {
    const auto& [name, written, array] = named;
    dense::TextBatch batch;
    batch.name = name;
    batch.access = written ? dense::Access::out : dense::Access::in;
    batch.type =
        array.dtype() == nb::dtype<float>() ? dense::NumberType::fp32 : dense::NumberType::fp64;
    batch.data = const_cast<void*>(array.data());
    for (std::size_t d = 0; d < array.ndim(); ++d) {
        const auto extent = static_cast<index_t>(array.shape(d));
        if (d == 0) {
            batch.problems = extent;
        } else {
            batch.extents.push_back(extent);
        }
        batch.strides.push_back(static_cast<index_t>(array.stride(d)));
    }
    return batch;
}

void for_each(Batches& batches, std::uintptr_t stream, const std::string& body,
              const std::vector<NamedBatch>& named,
              const std::vector<std::pair<std::string, double>>& parameters, int threads) {
    dense::ElementText text;
    text.body = body;
    for (const NamedBatch& batch : named) text.batches.push_back(text_batch(batch));
    for (const auto& [name, value] : parameters) text.parameters.push_back({name, value});
    text.threads = threads;
    Worker& worker = batches.worker();
    worker.run(stream, [&] { dense::for_each_element(worker.executor(), text); });
}

}  // namespace

void bind_batches(nb::module_& module) {
    nb::class_<Batches> bound(module, "Batches");
    bound.def(nb::init<int>()).def("for_each", for_each);
    Functions<float>::bind(bound, "float32");
    Functions<double>::bind(bound, "float64");
    Functions<std::complex<float>>::bind(bound, "complex64");
    Functions<std::complex<double>>::bind(bound, "complex128");
    bind_stream(bound);
#if !APERTURE_PYTHON_GPU
    module.attr("max_order") = dense::max_order;
    module.attr("max_rows") = dense::max_rows;
    module.attr("max_spectral_order") = dense::max_spectral_order;
#endif
}

}  // namespace aperture::python
