#include "models/studies/accuracy/alpha_beta.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace fabricast {

namespace {

constexpr int kTerms = 4;
using Terms = Eigen::Matrix<double, kTerms, 1>;
using Normal = Eigen::Matrix<double, kTerms, kTerms>;

Terms terms(const AlphaBetaPoint& point) {
  return {1, std::log2(point.ranks), static_cast<double>(point.ranks - 1),
          point.bus_bytes / 1e6};  // of order 1, as the others
}

/// Least squares of relative errors with coefficients >= 0: of all choices of terms that give no
/// negative coefficient, the best.
Terms fit(const std::vector<const AlphaBetaPoint*>& points) {
  Normal normal = Normal::Zero();
  Terms right = Terms::Zero();
  for (const AlphaBetaPoint* point : points) {
    const Terms row = terms(*point) / point->time_us;
    normal += row * row.transpose();
    right += row;
  }
  Terms best = Terms::Zero();
  double best_gain = 0;
  for (unsigned chosen = 1; chosen < 1U << kTerms; ++chosen) {
    Normal reduced = normal;
    Terms wanted = right;
    for (int i = 0; i < kTerms; ++i) {
      if ((chosen >> i & 1U) != 0) continue;
      reduced.row(i).setZero();
      reduced.col(i).setZero();
      reduced(i, i) = 1;
      wanted(i) = 0;
    }
    const Terms found = reduced.completeOrthogonalDecomposition().solve(wanted);
    if (found.minCoeff() < -1e-9) continue;
    // What the sum of squares falls by: 2 x'b - x'Nx, which is x'b at the minimum.
    const double gain = 2 * found.dot(right) - found.dot(normal * found);
    if (gain > best_gain * (1 + 1e-9)) {
      best = found.cwiseMax(0);
      best_gain = gain;
    }
  }
  return best;
}

/// What is kept back when a point is predicted.
struct LeftOut {
  std::string hardware, collective, source;
  int nodes = 0;  ///< where the hardware has one source only

  auto operator<=>(const LeftOut&) const = default;
};

class AlphaBeta {
 public:
  explicit AlphaBeta(const std::vector<AlphaBetaPoint>& points) : points_(points) {
    for (const AlphaBetaPoint& point : points) {
      if (point.fitted) sources_[{point.hardware, point.collective}].insert(point.source);
    }
  }

  double predicted(const AlphaBetaPoint& point) {
    LeftOut key{point.hardware, point.collective, point.source, 0};
    const auto& sources = sources_[{point.hardware, point.collective}];
    if (sources.size() == 1 && sources.contains(point.source)) {
      key.source.clear();
      key.nodes = point.nodes;
    }
    const auto [entry, fresh] = fits_.try_emplace(key);
    if (fresh) entry->second = fit(kept(key));
    return entry->second.dot(terms(point));
  }

 private:
  std::vector<const AlphaBetaPoint*> kept(const LeftOut& key) const {
    const auto select = [&](const std::function<bool(const AlphaBetaPoint&)>& is_kept) {
      std::vector<const AlphaBetaPoint*> out;
      for (const AlphaBetaPoint& point : points_) {
        if (point.fitted && point.collective == key.collective && is_kept(point))
          out.push_back(&point);
      }
      return out;
    };
    auto out = select([&](const AlphaBetaPoint& point) {
      return point.hardware == key.hardware &&
             (key.nodes > 0 ? point.nodes != key.nodes : point.source != key.source);
    });
    if (out.empty())
      out = select([&](const AlphaBetaPoint& point) { return point.hardware != key.hardware; });
    return out;
  }

  const std::vector<AlphaBetaPoint>& points_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> sources_;
  std::map<LeftOut, Terms> fits_;
};

}  // namespace

std::vector<double> alpha_beta_left_out(const std::vector<AlphaBetaPoint>& points) {
  AlphaBeta model(points);
  std::vector<double> times;
  for (const AlphaBetaPoint& point : points) times.push_back(model.predicted(point));
  return times;
}

}  // namespace fabricast
