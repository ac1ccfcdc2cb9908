// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/dense/batch.hpp"
#include "aperture/dense/batch_model.hpp"
#include "bench/program.hpp"

/// Benchmarks of one function on a batch of a CPU: the operands, the check of results, the bound.
namespace aperture::bench {

using core::index_t;

/// Measures a quarter of the problems, in a quarter of the time.
inline bool quick = false;

/// The functions that are compared. Solutions have one right-hand side, and Q is applied to one
/// vector. Substitutions and products with Q take the entries of a matrix as factors.
enum class Task {
    dot,
    gemv,
    gemm,
    rank_k,
    cholesky,
    lu,
    pivoted_lu,
    solve,
    solve_positive,
    solve_by_qr,
    gauss_jordan,
    inverse,
    qr,
    substitute_lu,
    substitute_cholesky,
    apply_q,
    form_q,
    eigen,
    svd,
    change_layout,
};

/// How an implementation stores results.
struct Storage {
    bool by_columns = false;   ///< matrices, also those that it reads
    bool interleaved = false;  ///< batches
    enum Pivots { exchanges, exchanges_from_one, permutation } pivots = exchanges;
};

inline constexpr std::array all_tasks{
    Task::dot,         Task::gemv,          Task::gemm,
    Task::rank_k,      Task::cholesky,      Task::lu,
    Task::pivoted_lu,  Task::solve,         Task::solve_positive,
    Task::solve_by_qr, Task::gauss_jordan,  Task::inverse,
    Task::qr,          Task::substitute_lu, Task::substitute_cholesky,
    Task::apply_q,     Task::form_q,        Task::eigen,
    Task::svd,         Task::change_layout};

/// Whether there is a function for matrices of that order.
bool has_function(Task task, int n);

/// What is measured.
struct BatchCase {
    Task task;
    int n;
    Storage storage;
    index_t problems = 0;  ///< 0: far more than the caches of a core, and at least 1000
};

/// Orders to measure; small ones with --smoke.
std::vector<int> batch_orders();

template <class T>
constexpr const char* type_name() {
    if constexpr (std::same_as<T, float>) return "f32";
    if constexpr (std::same_as<T, double>) return "f64";
    if constexpr (std::same_as<T, std::complex<float>>) return "c64";
    return "c128";
}

/// Operands and results of a task. Those that it does not need are empty.
template <class T>
class BatchProblem {
  public:
    explicit BatchProblem(const BatchCase& which);

    core::Cpu cpu;
    const Task task;
    const int n;
    const Storage storage;
    const dense::Work work;  ///< of one problem
    const index_t problems;
    core::Array<T, 3> a, b;   ///< [problem][n][n]: inputs; b has singular vectors on the left
    core::Array<T, 3> c;      ///< result; all other vectors of eigenvalues and singular values
    core::Array<T, 2> x, y;   ///< [problem][n]; y also for the scales of reflectors
    core::Array<T, 3> sides;  ///< [problem][1][n]: x at first
    core::Array<T, 1> results;
    core::Array<dense::Real<T>, 2> values;  ///< [problem][n]: eigenvalues, singular values
    core::Array<int, 1> info;
    core::Array<int, 2> pivots;

    /// The batches in their layout.
    core::View<const T, 3, core::Host> in_a() const { return laid_out<const T>(a); }
    core::View<const T, 3, core::Host> in_b() const { return laid_out<const T>(b); }
    core::View<T, 3, core::Host> out_c() { return laid_out<T>(c); }

    /// Restores what the task overwrites.
    void restore();
    /// Backward error of a result, relative to the operands' norms.
    double error(index_t problem) const;

  private:
    void set_up_substitution();
    void set_up_reflectors();
    template <class U, class Array>
    core::View<U, 3, core::Host> laid_out(Array& array) const {
        core::View<U, 3, core::Host> view(array.data(), array.extent());
        if (storage.interleaved) view.stride = {1, problems * n, problems};
        return view;
    }
};

template <class T>
using BatchCall = std::function<void(BatchProblem<T>&)>;

/// Registers NAME/TYPE/N, which runs call(problem) and, before it times that, checks results.
template <class T>
void add_batch(const std::string& name, const BatchCase& which, const BatchCall<T>& call);

/// Name of a task in those of benchmarks.
const char* name_of(Task task);

/// The library's function for a task.
template <class T>
BatchCall<T> library_call(Task task);
/// LAPACK and BLAS in a loop over problems, each of which is one thread's. Empty where there is no
/// function, or no LAPACK.
template <class T>
BatchCall<T> lapack_call(Task task);
/// How LAPACK stores its results.
inline constexpr Storage lapack_storage{.by_columns = true, .pivots = Storage::exchanges_from_one};

/// Eigen in such a loop: with orders that are not known when it is compiled, or known.
template <class T>
BatchCall<T> eigen_call(Task task);
template <class T>
BatchCall<T> eigen_fixed_call(Task task, int n);
/// How Eigen stores its results.
inline constexpr Storage eigen_storage{.by_columns = true, .pivots = Storage::permutation};

}  // namespace aperture::bench
