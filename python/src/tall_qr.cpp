// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "aperture/dense/words.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

/// The factors of matrices of one shape, on an executor.
template <class T, class Worker>
class TallFactors {
    template <class U>
    using Matrix = ArrayIn<U, 2, Space>;
    template <class U>
    static core::View<U, 2, Space> view(const Matrix<U>& matrix) {
        return view_of<U, 2, Space>(matrix);
    }

  public:
    /// `where`: the number of threads, or of the GPU.
    TallFactors(const std::string& method, index_t rows, index_t columns, int where)
        : worker_(where) {
        // The faster method on CPUs from 20 columns on.
        const dense::QrMethod chosen =
            core::parse_choice("method", dense::qr_method_choices, method)
                .value_or(dense::QrMethod::tsqr);
        worker_.run([&] { qr_.emplace(worker_.executor(), chosen, rows, columns); });
    }

    void factor(std::uintptr_t stream, const Matrix<const T>& a, const Matrix<T>& r) {
        worker_.run(stream, [&, a = view(a), r = view(r)] { qr_->factor(a, r); });
    }
    void find_r(std::uintptr_t stream, const Matrix<const T>& a, const Matrix<T>& r) {
        worker_.run(stream, [&, a = view(a), r = view(r)] { qr_->find_r(a, r); });
    }
    void form_q(std::uintptr_t stream, const Matrix<T>& q) {
        worker_.run(stream, [&, q = view(q)] { qr_->form_q(q); });
    }
    void apply_q(std::uintptr_t stream, const Matrix<const T>& x, const Matrix<T>& c) {
        worker_.run(stream, [&, x = view(x), c = view(c)] { qr_->apply_q(x, c); });
    }
    Worker& worker() { return worker_; }

  private:
    Worker worker_;
    std::optional<dense::TallQr<T, typename Worker::Executor>> qr_;
};

template <class T>
void bind_factors(nb::module_& module, const char* name) {
    using Factors = TallFactors<T, Worker>;
    const auto array = [] { return nb::arg().noconvert(); };
    nb::class_<Factors> bound(module, name);
    bound.def(nb::init<const std::string&, index_t, index_t, int>())
        .def("factor", &Factors::factor, nb::arg(), array(), array())
        .def("find_r", &Factors::find_r, nb::arg(), array(), array())
        .def("form_q", &Factors::form_q, nb::arg(), array())
        .def("apply_q", &Factors::apply_q, nb::arg(), array(), array());
    bind_stream(bound);
}

}  // namespace

void bind_tall_qr(nb::module_& module) {
    bind_factors<float>(module, "TallQr32");
    bind_factors<double>(module, "TallQr64");
}

}  // namespace aperture::python
