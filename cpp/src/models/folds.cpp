#include "models/folds.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace svmgsu {
namespace {

std::size_t place(Index i) { return static_cast<std::size_t>(i); }

// A group: how many samples it has of each of its classes, and those as shares of all samples of the class.
struct Group {
  std::map<Index, double> count, share;
  double largest = 0;  // of its shares
};

// The fold of each group, of `folds` ones.
std::vector<Index> dealt(const std::vector<Group>& groups, const std::vector<std::size_t>& order, Index folds,
                         Index classes) {
  std::vector<std::vector<double>> taken(place(folds), std::vector<double>(place(classes), 0.0));
  std::vector<Index> out(groups.size(), 0);
  for (const std::size_t g : order) {
    std::pair<double, double> least;
    for (Index k = 0; k < folds; ++k) {
      const std::vector<double>& have = taken[place(k)];
      std::pair<double, double> load{0.0, std::accumulate(have.begin(), have.end(), 0.0)};
      for (const auto& [c, share] : groups[g].share) load.first = std::max(load.first, have[place(c)] + share);
      if (k == 0 || load < least) {
        least = load;
        out[g] = k;
      }
    }
    for (const auto& [c, share] : groups[g].share) taken[place(out[g])][place(c)] += share;
  }
  return out;
}

// Whether every fold holds something, and no class completely.
bool leaves_every_class(const std::vector<Group>& groups, const std::vector<Index>& fold, Index folds,
                        const std::vector<double>& total) {
  for (Index k = 0; k < folds; ++k) {
    std::vector<double> held(total.size(), 0.0);
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (fold[g] == k)
        for (const auto& [c, count] : groups[g].count) held[place(c)] += count;
    if (std::accumulate(held.begin(), held.end(), 0.0) == 0) return false;
    for (std::size_t c = 0; c < held.size(); ++c)
      if (held[c] >= total[c]) return false;
  }
  return true;
}

}  // namespace

std::vector<Index> folds_by_key(const std::vector<double>& keys, const std::vector<Index>& codes, Index classes,
                                const std::vector<double>& weights) {
  std::vector<std::vector<double>> different(place(classes));
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (weights[i] > 0) different[place(codes[i])].push_back(keys[i]);
  Index folds = kMostFolds;
  for (std::vector<double>& some : different) {
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
    folds = std::min(folds, static_cast<Index>(some.size()));
  }
  if (folds < 2) return {};
  std::vector<Index> out(keys.size(), -1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    const std::vector<double>& some = different[place(codes[i])];
    out[i] = (std::lower_bound(some.begin(), some.end(), keys[i]) - some.begin()) % folds;
  }
  return out;
}

std::vector<Index> folds_of_groups(const std::vector<Index>& groups, const std::vector<Index>& codes, Index classes,
                                   const std::vector<double>& weights) {
  std::vector<Index> names;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (weights[i] > 0) names.push_back(groups[i]);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto number = [&](std::size_t i) {
    return std::lower_bound(names.begin(), names.end(), groups[i]) - names.begin();
  };

  std::vector<Group> found(names.size());
  std::vector<double> total(place(classes), 0.0);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    found[place(number(i))].count[codes[i]] += 1;
    total[place(codes[i])] += 1;
  }
  std::vector<Index> groups_of_class(place(classes), 0);
  for (Group& group : found)
    for (const auto& [c, count] : group.count) {
      const double share = count / total[place(c)];
      group.share[c] = share;
      group.largest = std::max(group.largest, share);
      ++groups_of_class[place(c)];
    }
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return found[a].largest > found[b].largest; });

  const Index most = std::min(kMostFolds, *std::min_element(groups_of_class.begin(), groups_of_class.end()));
  for (Index folds = most; folds > 1; --folds) {
    const std::vector<Index> fold = dealt(found, order, folds, classes);
    if (!leaves_every_class(found, fold, folds, total)) continue;
    std::vector<Index> out(groups.size(), -1);
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (weights[i] > 0) out[i] = fold[place(number(i))];
    return out;
  }
  return {};
}

}  // namespace svmgsu
