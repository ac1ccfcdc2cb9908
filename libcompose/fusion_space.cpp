// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/fusion_space.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <unordered_map>

#include "aperture/core/error.hpp"
#include "libcompose/kernel_builder.hpp"

namespace aperture::compose {
namespace {

template <class Action>
void for_each_call(CallSet set, const Action& action) {
    for (; set != 0; set &= set - 1) action(std::countr_zero(set));
}

std::size_t index(int call) { return static_cast<std::size_t>(call); }

CallSet maker_of(const BlockValue& value) { return value.maker < 0 ? 0 : only(value.maker); }

}  // namespace

FusionSpace::FusionSpace(std::vector<BlockCall> calls, std::vector<BlockValue> values,
                         std::function<bool(CallSet)> fits, std::function<bool(CallSet)> is_whole)
    : calls_(std::move(calls)),
      values_(std::move(values)),
      fits_(std::move(fits)),
      is_whole_(std::move(is_whole)) {
    core::expects(calls_.size() <= most_calls_of_space, "a space of ", calls_.size(),
                  " calls; expected at most ", most_calls_of_space);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        all_ |= only(int(i));
        if (calls_[i].is_free) free_ |= only(int(i));
        if (calls_[i].extents >= 0) of_extents_[calls_[i].extents] |= only(int(i));
    }
    order_calls();
    keep_apart_what_is_between();
}

void FusionSpace::order_calls() {
    overwriter_.resize(values_.size());
    for (auto* sets : {&before_, &after_, &neighbours_}) sets->resize(calls_.size());
    std::map<SymbolId, std::size_t> held;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const BlockValue& value = values_[i];
        const CallSet maker = maker_of(value);
        for_each_call(value.readers, [&](int reader) {
            before_[index(reader)] |= maker;
            neighbours_[index(reader)] |= maker | (value.is_scalar ? 0 : value.readers);
        });
        if (value.maker >= 0) neighbours_[index(value.maker)] |= value.readers;
        const auto [last, is_first] = held.emplace(value.symbol, i);
        if (is_first) continue;
        const BlockValue& overwritten = values_[last->second];
        before_[index(value.maker)] |= (overwritten.readers | maker_of(overwritten)) & ~maker;
        overwriter_[last->second] = maker;
        last->second = i;
    }
    for_each_call(all_, [&](int call) {
        for_each_call(before_[index(call)], [&](int other) {
            core::expects(other < call, "call ", call, " must run after call ", other);
            before_[index(call)] |= before_[index(other)];
        });
        for_each_call(before_[index(call)], [&](int other) { after_[index(other)] |= only(call); });
    });
}

/// Two calls are apart if calls that must run between them are.
void FusionSpace::keep_apart_what_is_between() {
    std::vector<CallSet> apart(calls_.size());
    for_each_call(all_, [&](int call) {
        for_each_call(before_[index(call)], [&](int other) {
            const CallSet between =
                (before_[index(call)] & after_[index(other)]) | only(call) | only(other);
            if (is_legal_in_pairs(between)) return;
            apart[index(call)] |= only(other);
            apart[index(other)] |= only(call);
        });
    });
    for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i].apart |= apart[i];
}

bool FusionSpace::is_connected(CallSet set) const {
    CallSet met = set & (~set + 1);
    for (CallSet next = met; next != 0;) {
        CallSet beside = 0;
        for_each_call(next, [&](int call) { beside |= neighbours_[index(call)]; });
        next = beside & set & ~met;
        met |= next;
    }
    return met == set;
}

bool FusionSpace::is_legal(CallSet set) const { return is_legal_in_pairs(set) && fits_(set); }

bool FusionSpace::is_legal_in_pairs(CallSet set) const {
    CallSet apart = 0;
    for_each_call(set, [&](int call) { apart |= calls_[index(call)].apart; });
    return (apart & set) == 0;
}

SymbolSet FusionSpace::live(CallSet done) const {
    SymbolSet all;
    for (const BlockValue& value : values_) {
        const bool is_made = (maker_of(value) & ~done) == 0;
        if (is_made && (value.lives || (value.readers & ~done) != 0)) all.insert(value.symbol);
    }
    return all;
}

double FusionSpace::bytes_at(CallSet done, int call, CallSet set) const {
    double bytes = calls_[index(call)].workspace;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const BlockValue& value = values_[i];
        if (overwriter_[i] == only(call)) continue;  // The next value takes its place.
        const CallSet touching = (value.readers | maker_of(value)) & set;
        const bool begun = (touching & done) != 0, goes_on = (touching & ~done & ~only(call)) != 0;
        if ((touching & only(call)) != 0 || (begun && goes_on)) bytes += value.bytes_on_chip;
    }
    return bytes;
}

double FusionSpace::bytes_on_chip(std::span<const int> order) const {
    CallSet set = 0, done = 0;
    for (const int call : order) set |= only(call);
    double most = 0;
    for (const int call : order) {
        most = std::max(most, bytes_at(done, call, set));
        done |= only(call);
    }
    return most;
}

std::vector<int> FusionSpace::least_order(CallSet set) const {
    // The fewest bytes with which a part can have run, and the call that was then the last.
    struct Part {
        double bytes = std::numeric_limits<double>::infinity();
        int last = -1;
    };
    const bool best = std::popcount(set) <= most_ordered;
    std::vector<std::map<CallSet, Part>> parts(std::size_t(std::popcount(set)) + 1);
    parts[0][0].bytes = 0;
    for (std::size_t size = 0; size + 1 < parts.size(); ++size) {
        if (!best) {
            // Goes on from one part alone.
            const auto least = std::min_element(
                parts[size].begin(), parts[size].end(),
                [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
            parts[size] = {*least};
        }
        for (const auto& [done, part] : parts[size]) {
            const CallSet ran = done;
            const double so_far = part.bytes;
            for_each_call(set & ~ran, [&](int call) {
                if ((before_[index(call)] & set & ~ran) != 0) return;
                const double bytes = std::max(so_far, bytes_at(ran, call, set));
                Part& next = parts[size + 1][ran | only(call)];
                if (bytes < next.bytes) next = {bytes, call};
            });
        }
    }
    std::vector<int> order;
    for (CallSet part = set; part != 0;) {
        order.push_back(parts[std::size_t(std::popcount(part))].at(part).last);
        part &= ~only(order.back());
    }
    std::reverse(order.begin(), order.end());
    if (best) return order;
    std::vector<int> of_program;
    for_each_call(set, [&](int call) { of_program.push_back(call); });
    return bytes_on_chip(of_program) <= bytes_on_chip(order) ? of_program : order;
}

CallSet FusionSpace::candidates(const Choice& choice) const {
    CallSet all = 0;
    for_each_call(all_ & ~(choice.done | choice.in | choice.out), [&](int call) {
        if ((before_[index(call)] & ~(choice.done | choice.in)) == 0) all |= only(call);
    });
    return all;
}
FusionSpace::Choice FusionSpace::with(Choice choice, int call) const {
    choice.in |= only(call);
    for_each_call(calls_[index(call)].apart & ~choice.done,
                  [&](int other) { choice.out |= only(other) | after_[index(other)]; });
    return choice;
}
FusionSpace::Choice FusionSpace::without(Choice choice, int call) const {
    choice.out |= only(call) | after_[index(call)];
    return choice;
}

/// Kernels of the set's calls that must run one after the other.
int FusionSpace::depth(CallSet set) const {
    std::array<int, most_calls_of_space> depth{};
    int most = 0;
    for_each_call(set, [&](int call) {
        int& own = depth[index(call)] = 1;
        for_each_call(before_[index(call)] & set, [&](int other) {
            const bool apart = (calls_[index(call)].apart & only(other)) != 0;
            own = std::max(own, depth[index(other)] + (apart ? 1 : 0));
        });
        most = std::max(most, own);
    });
    return most;
}

int FusionSpace::least_kernels(CallSet set) const {
    int sum = 0;
    for (const auto& [extents, calls] : of_extents_) sum += depth(calls & set);
    return std::max(sum, depth(set));
}

FusionSpace::Least FusionSpace::least(const Choice& choice) const {
    const CallSet rest = all_ & ~choice.done;
    // A copy beside other calls is no exchange.
    const bool computes = (choice.in & ~free_) != 0;
    const CallSet free = computes ? free_ & ~choice.in : free_;
    Least all;
    for (const BlockValue& value : values_) {
        const CallSet maker = maker_of(value), readers = value.readers & rest & ~free;
        const bool is_made = (maker & rest) != 0, is_in = (maker & choice.in) != 0;
        // Readers that cannot be in the kernel of the maker.
        const CallSet elsewhere = !is_made ? rest
                                  : is_in  ? choice.out
                                           : calls_[index(value.maker)].apart;
        const bool is_read_twice =
            !is_made && (readers & choice.in) != 0 && (readers & choice.out) != 0;
        if ((readers & elsewhere) != 0) all.bytes += (is_read_twice ? 2 : 1) * value.bytes;
        // What is copied for nothing has been stored by the call that made it.
        const bool is_stored = value.lives || (value.readers & elsewhere) != 0;
        if (is_made && (maker & free) == 0 && is_stored) all.bytes += value.bytes;
    }
    all.kernels = std::max(least_kernels(rest & ~free_),
                           (computes ? 1 : 0) + least_kernels(choice.out & rest & ~free_));
    return all;
}

FusionSpace space_of(const Program& program, std::span<const PlannedCall* const> calls,
                     const SymbolSet& live, double tiles_from) {
    std::vector<BlockValue> values;
    std::map<SymbolId, std::size_t> held;
    const auto add = [&](SymbolId id, int maker) {
        const Type& type = program[id].type;
        const bool of_batch = type.kind == Kind::batch;
        const index_t numbers = of_batch ? type.numbers_of_problem() : type.is_scalar() ? 0 : 1;
        held[id] = values.size();
        values.push_back({id, maker, 0, false, type.is_scalar(), double(type.bytes()),
                          double(numbers * bytes_of(type.dtype))});
    };
    CallSet limited = 0;
    bool has_tiles = false;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const Call& call = *calls[i]->call;
        for (std::size_t k = 0; k < call.operands.size(); ++k) {
            const SymbolId id = call.operands[k];
            if (program[id].source == Source::known) continue;
            if (held.count(id) == 0) add(id, -1);
            BlockValue& value = values[held[id]];
            value.readers |= only(int(i));
            if (!calls[i]->match.accesses[k].of_tiles) continue;
            limited |= only(int(i));
            has_tiles = has_tiles || (value.maker >= 0 && value.bytes >= tiles_from);
        }
        for (const SymbolId id : call.results) add(id, int(i));
    }
    for (const auto& [id, value] : held) values[value].lives = live.count(id) > 0;
    if (!has_tiles) {
        limited = 0;
        tiles_from = std::numeric_limits<double>::infinity();
    }

    const bool has_lines = std::any_of(calls.begin(), calls.end(), [](const PlannedCall* one) {
        return adds_lines(one->match.level);
    });
    std::vector<BlockCall> all(calls.size());
    std::vector<Type> extents;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const Match& match = calls[i]->match;
        const bool beside_lines = has_lines && is_of_vectors(*calls[i]);
        if (match.level == Level::block || adds_lines(match.level) || beside_lines) {
            limited |= only(int(i));
        }
        if (match.workspace.kind == Kind::batch) {
            all[i].workspace = double(bytes_of_problem({{-1, match.workspace}}));
        }
        all[i].is_free = calls[i]->call->operation == "copy";
        KernelBuilder pair(program, Fusion::planned, has_lines, tiles_from);
        pair.add(*calls[i]);
        const Type elements = KernelBuilder(pair).finish({}).elements;
        if (elements.rank > 0 && !beside_lines) {
            const auto same = std::find(extents.begin(), extents.end(), elements);
            all[i].extents = int(same - extents.begin());
            if (same == extents.end()) extents.push_back(elements);
        }
        for (std::size_t k = i + 1; k < calls.size(); ++k) {
            if (pair.accepts(*calls[k])) continue;
            all[i].apart |= only(int(k));
            all[k].apart |= only(int(i));
        }
    }
    // What KernelBuilder refuses is a matter of pairs, but for bytes on chip, sums of rows and
    // tiles.
    const auto fits = [&program, calls, limited, has_lines, tiles_from](CallSet set) {
        if ((set & limited) == 0) return true;
        KernelBuilder kernel(program, Fusion::planned, has_lines, tiles_from);
        bool all_fit = true;
        for_each_call(set, [&](int call) {
            const PlannedCall& planned = *calls[index(call)];
            all_fit = all_fit && kernel.accepts(planned);
            if (all_fit) kernel.add(planned);
        });
        return all_fit;
    };
    const auto is_whole = [&program, calls, limited](CallSet set) {
        if ((set & limited) == 0) return true;
        KernelBuilder kernel(program, Fusion::planned);
        for_each_call(set, [&](int call) { kernel.add(*calls[index(call)]); });
        return kernel.is_whole();
    };
    return {std::move(all), std::move(values), fits, is_whole};
}

namespace {

/// The order of a set of kernels does not count.
std::uint64_t hash_of(CallSet kernel) {
    std::uint64_t x = kernel;
    for (const std::uint64_t factor : {0xbf58476d1ce4e5b9, 0x94d049bb133111eb}) {
        x = (x ^ (x >> 31U)) * factor;
    }
    return x ^ (x >> 29U);
}

/// Finds the shortest paths from nothing to all calls (A*): a step decides on a call, or adds a
/// kernel.
class CoverSearch {
  public:
    CoverSearch(const FusionSpace& space, const CoverCosts& costs, std::size_t count,
                bool connected, std::size_t most_choices)
        : space_(space),
          costs_(costs),
          count_(count),
          connected_(connected),
          most_choices_(most_choices) {}

    Covers run() {
        Covers found;
        add({0, 0, 0, -1, 0});
        add_calls_in_a_row();
        while (!queue_.empty() && found.best.size() < count_) {
            const Open open = queue_.top();
            queue_.pop();
            const Node node = nodes_[std::size_t(open.node)];
            const FusionSpace::Choice& choice = open.choice;
            if (!is_among_best(node)) continue;
            if (++choices_ > most_choices_ && !found.best.empty()) return found;
            if (choices_ > most_choices_) return {{cover(best_)}, false};
            if (node.done == space_.all()) {
                found.best.push_back(cover(open.node));
            } else if (const CallSet next = space_.candidates(choice); next != 0) {
                const int call = std::countr_zero(next);
                const FusionSpace::Choice with = space_.with(choice, call);
                if (space_.is_legal(with.in)) push(open.node, with);
                push(open.node, space_.without(choice, call));
            } else if (choice.in != 0 && is_kernel(choice.in)) {
                add_kernel(open.node, choice.in);
            }
        }
        return found;
    }

  private:
    bool is_kernel(CallSet set) const {
        return space_.is_whole(set) && (!connected_ || space_.is_connected(set));
    }

    struct Node {
        double cost;
        CallSet done;
        std::uint64_t hash;
        int from;
        CallSet kernel;
    };
    /// A node with a choice of the kernel that follows.
    struct Open {
        double estimate;
        int decided;
        int node;
        FusionSpace::Choice choice;
        /// Of those that cost the same, that which is further.
        friend bool operator<(const Open& a, const Open& b) {
            return std::pair(-a.estimate, a.decided) < std::pair(-b.estimate, b.decided);
        }
    };
    /// Costs of a cover of the same calls, by its hash.
    using Best = std::vector<std::pair<double, std::uint64_t>>;

    void push(int node, const FusionSpace::Choice& choice) {
        const double later = costs_.at_least(space_.least(choice));
        queue_.push({nodes_[std::size_t(node)].cost + later,
                     std::popcount(choice.done | choice.in | choice.out), node, choice});
    }

    void add_kernel(int from, CallSet kernel) {
        const Node node = nodes_[std::size_t(from)];
        add({node.cost + costs_.of_kernel(kernel, node.done), node.done | kernel,
             node.hash + hash_of(kernel), from, kernel});
    }
    /// Unless as many covers of the same calls cost no more.
    void add(const Node& node) {
        Best& best = best_of_[node.done];
        const auto same = std::find_if(
            best.begin(), best.end(), [&](const auto& other) { return other.second == node.hash; });
        if (same != best.end()) {
            if (node.cost >= same->first) return;
            best.erase(same);
        }
        const std::pair mine{node.cost, node.hash};
        best.insert(std::upper_bound(best.begin(), best.end(), mine), mine);
        if (best.size() > count_) best.pop_back();
        if (!is_among_best(node)) return;
        nodes_.push_back(node);
        const int added = int(nodes_.size()) - 1;
        if (node.done == space_.all() && best.front() == mine) best_ = added;
        push(added, {node.done, 0, 0});
    }
    /// A cover to begin with.
    void add_calls_in_a_row() {
        CallSet kernel = 0;
        for_each_call(space_.all(), [&](int call) {
            const CallSet longer = kernel | only(call);
            if (space_.is_legal(longer) && is_kernel(longer)) {
                kernel = longer;
                return;
            }
            add_kernel(int(nodes_.size()) - 1, kernel);
            kernel = only(call);
        });
        if (kernel != 0) add_kernel(int(nodes_.size()) - 1, kernel);
    }
    bool is_among_best(const Node& node) const {
        const Best& best = best_of_.at(node.done);
        return std::find(best.begin(), best.end(), std::pair{node.cost, node.hash}) != best.end();
    }

    Cover cover(int at) const {
        Cover all{nodes_[std::size_t(at)].cost, {}};
        for (; nodes_[std::size_t(at)].from >= 0; at = nodes_[std::size_t(at)].from) {
            all.kernels.push_back(nodes_[std::size_t(at)].kernel);
        }
        std::reverse(all.kernels.begin(), all.kernels.end());
        return all;
    }

    const FusionSpace& space_;
    const CoverCosts& costs_;
    std::size_t count_;
    bool connected_;
    std::size_t most_choices_, choices_ = 0;
    int best_ = 0;  // of all calls
    std::vector<Node> nodes_;
    std::priority_queue<Open> queue_;
    std::unordered_map<CallSet, Best> best_of_;
};

}  // namespace

Covers best_covers(const FusionSpace& space, const CoverCosts& costs, std::size_t count,
                   bool connected, std::size_t most_choices) {
    core::expects(count > 0, "no cover is asked for");
    return CoverSearch(space, costs, count, connected, most_choices).run();
}

}  // namespace aperture::compose
