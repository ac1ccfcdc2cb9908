// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aperture/compose/program.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/core/kernel_text.hpp"

/// What a program can call: types of results, which entries of operands a result reads, and how it
/// is computed.
namespace aperture::compose {

/// Which entries of an operand one entry of a result reads (Anderson 2014, section 5.6).
struct Access {
    enum class Kind {
        point,    ///< the entry in the same place; of scalars, the number
        halo,     ///< neighbours, too
        row,      ///< of a vector, the entry with the number of the place's row
        column,   ///< of a vector, the entry with the number of the place's column
        problem,  ///< any entry of the same problem of a batch
        whole,    ///< any entry
    } kind = Kind::point;
    /// Rows above and below, columns left and right of the place, of a halo.
    int above = 0, below = 0, left = 0, right = 0;
    /// Of a halo: the operation reads no others, all by Place::neighbour, so that an image may be
    /// made where it is read, a kernels::Tile.
    bool of_tiles = false;
    friend bool operator==(const Access&, const Access&) = default;
};

/// On what an operation works at a time.
enum class Level {
    element,  ///< an entry of the results; these have one type's extents, or are scalars
    sum,      ///< all entries of the operands, which are combined to a scalar
    row,      ///< entries of a row of images, the first operand one, which are added up
    column,   ///< entries of a column of images, the first operand one, which are added up
    block,    ///< a problem of each operand, all batches of the same number, or scalars
    device,   ///< all arrays, by a function of a library
};

/// Whether an operation makes a vector of sums of an image's rows or columns.
inline bool adds_lines(Level level) { return level == Level::row || level == Level::column; }

/// How an operation at the level of sums combines its terms. A NaN among them is the result.
enum class Combination { add, greatest, least };

/// An operation for given operands.
struct Match {
    Level level = Level::element;
    std::vector<Type> results;
    std::vector<Access> accesses{};  ///< of each operand
    /// For each entry of the results, or of the operands that are added up, or each problem.
    double flops = 0;
    Combination combination = Combination::add;
    /// A batch whose problems an operation at block level overwrites on its way, or a scalar.
    Type workspace{};
};

/// How compiled kernels compute a call, in C++.
struct Code {
    /// The value of the single result, or a call that sets several results; the term that a sum, of
    /// all, a row or a column, adds.
    std::string expression;
    /// Functions and types that it needs; those of several calls are written once.
    std::string definitions{};
    /// Files that it needs, by their names in Operation::texts().
    std::vector<std::string> headers{};
};

/// Operands, and results, of a call.
inline constexpr std::size_t most_operands = 8;

/// A call whose operands are known.
struct CallSite {
    const Program& program;
    const Call& call;

    std::size_t operands() const { return call.operands.size(); }
    const Symbol& operand(std::size_t i) const { return program[call.operands[i]]; }
    const Type& type(std::size_t i) const { return operand(i).type; }
};

/// A piece of a row of the results' extents: [plane][row][column ... column + count).
struct RowPiece {
    index_t plane, row, column;
    int count;
};

/// Operands and results of the interpreter, for a piece of a row.
struct RowOperand {
    /// The entries in the same places, or a scalar.
    const void* here = nullptr;
    /// The first entry of all, of operands that are arrays in memory.
    const void* all = nullptr;
    Type type{};
};

/// Computes a piece of a row.
using RowFunction = std::function<void(const RowPiece& piece, std::span<const RowOperand> operands,
                                       std::span<void* const> results)>;

/// A call at device level with the memory that its library wants to keep from run to run.
template <class Executor>
class DeviceCall {
  public:
    virtual ~DeviceCall() = default;
    /// Operands and results are dense arrays in the executor's memory; null where an operand is
    /// known. In the executor's order; on a GPU without waiting for it.
    virtual void run(Executor& executor, std::span<const void* const> operands,
                     std::span<void* const> results) = 0;
};

/// Operations on elements and sums define `compute` and `code`, those at block level
/// `compute_problem` and `code`, those at device level `prepare` for each executor on which they
/// run.
class Operation {
  public:
    virtual ~Operation() = default;

    /// Throws InvalidArgument, which says what they should be, for other operands.
    virtual Match match(const CallSite& site) const = 0;

    /// Computes a piece of a row, for operations on elements. Of a sum, or that of a row, combines
    /// terms with the 32 numbers at results[0]: of entry i with number i mod 32. Adds that of
    /// column i to number i of results[0]. Must not throw.
    virtual void compute(const CallSite& site, const RowPiece& piece,
                         std::span<const RowOperand> operands,
                         std::span<void* const> results) const;

    /// What computes a call, made once before it runs: `compute` by default. Throws InvalidArgument
    /// if the call cannot be interpreted. The operation and what the site refers to outlive it.
    virtual RowFunction row_function(const CallSite& site) const;

    /// Computes a problem of operations at block level. `operands` are the problem's numbers, or a
    /// scalar. Must not throw.
    virtual void compute_problem(const CallSite& site, std::span<const void* const> operands,
                                 std::span<void* const> results, void* workspace) const;

    /// The same for kernels that are compiled. `operands` name values in one place, row or column,
    /// or, of halos and wholes, pointers to the first entry of all, or tiles; `results` name
    /// variables if there are several. The place is `at`, a kernels::Place. At block level they
    /// name matrices (block_bodies.cuh), or numbers of scalars, and the last of `operands` is the
    /// workspace if there is one; the threads that work on the problem are `group`.
    virtual Code code(const CallSite& site, std::span<const std::string> operands,
                      std::span<const std::string> results) const;
    /// The files of `code` that are not the library's own, as aperture_embed_kernels makes them,
    /// and those that they include. They live until the program ends.
    virtual std::span<const core::KernelText> texts() const { return {}; }

    /// Throws InvalidArgument where the operation does not run on such an executor. The call site
    /// outlives what is returned.
    virtual std::unique_ptr<DeviceCall<core::Cpu>> prepare(core::Cpu& cpu,
                                                           const CallSite& site) const;
    virtual std::unique_ptr<DeviceCall<core::Gpu>> prepare(core::Gpu& gpu,
                                                           const CallSite& site) const;
};

/// The operations that programs can call; those of the library are there from the start.
class Registry {
  public:
    Registry();
    /// Throws InvalidArgument if there is one of that name, or the name is no identifier.
    void add(const std::string& name, std::shared_ptr<const Operation> operation);
    /// Throws InvalidArgument, with what is called similarly, if there is none.
    const std::shared_ptr<const Operation>& find(std::string_view name) const;

  private:
    std::map<std::string, std::shared_ptr<const Operation>, std::less<>> operations_;
};

}  // namespace aperture::compose
