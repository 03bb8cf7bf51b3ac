// Probabilities from decision values: one function for noise-free and for noisy samples.
#pragma once

#include <cmath>
#include <vector>

#include "svmgsu/support/types.hpp"

namespace svmgsu {

// P(y = +1 | score f) = 1/(1 + exp(A f + B)).
struct Platt {
  double a = 0, b = 0;
  double probability(double score) const;
};

// Platt scaling in the robust form of Lin, Lin and Weng (Machine Learning 68, 2007): Newton with
// backtracking on the regularised likelihood (targets (N₊+1)/(N₊+2) and 1/(N₋+2)). Scores are centred and scaled
// inside, so that the stopping rule is relative to their spread. A sample of weight 2 counts like two; no weights: 1
// each.
Platt fit_platt(const std::vector<double>& margins, const std::vector<double>& signs, std::vector<double> weights = {});

// The log-odds of the positive class for a decision value f = w·x + b with variance v = wᵀΣw:
//     z(f, v) = base + (a f + b − base) / (1 + κ v)
// Without noise that is the sigmoid σ(a f + b); the larger the noise, the nearer is z to the class prior. It is Bayes'
// rule for p ∝ prior · N(f; μ, τ² + v), with κ = 1/τ².
struct Calibration {
  double a = 1, b = 0;
  double kappa = 0;  // how fast noise makes f worthless
  double base = 0;   // the log-odds of the class priors in training

  Calibration() = default;
  Calibration(double a_, double b_, double kappa_, double base_) : a(a_), b(b_), kappa(kappa_), base(base_) {}
  // From Platt's sigmoid alone: nothing was learnt about noise or priors. If the classes are at f = −1 and
  // 1, as in training, then the slope is 2/τ², so that κ is half of it.
  explicit Calibration(const Platt& platt) : a(-platt.a), b(-platt.b), kappa(std::abs(platt.a) / 2) {}

  Platt platt() const { return {-a, -b}; }
  double log_odds(double decision, double variance = 0) const { return log_odds(decision, variance, base); }
  // `prior` is the log-odds of the class priors where the model is used, if they are not those of training.
  double log_odds(double decision, double variance, double prior) const;
};

// Held-out decision values, what is known of them, and how much each counts.
struct Scored {
  std::vector<double> margins;
  std::vector<double> variances;  // wᵀΣw of each; empty where there are no covariances
  std::vector<double> signs;      // the classes, −1 and +1
  std::vector<double> weights;    // a sample of weight 2 counts like two; empty: 1 each
};

// The calibration of largest penalised likelihood: a, b and κ are fitted together to the smoothed targets of Platt.
// One function has to serve samples with and without uncertainties, so that each counts in both ways: to the share
// `without_noise` as if it had no variance. Scores that rank the classes the wrong way round say no more than the class
// priors: a = κ = 0.
Calibration fit_calibration(const Scored& scored, double without_noise = 0.05);

// The calibration of a model whose decision value is the log-odds (logistic loss): a = 1, and κ = 1/τ² from the
// spread of the margins within a class. `trained_odds` are the log-odds of the two sides by the weights of training:
// where class weights shift them from the class priors, the decision values are shifted as much.
Calibration own_calibration(const Scored& scored, double trained_odds);

// The log-odds of the class priors (of −1 and +1), by as many weights.
double log_prior_odds(const std::vector<double>& signs, const std::vector<double>& weights);

}  // namespace svmgsu
