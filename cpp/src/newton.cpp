#include "svmgsu/solvers/newton.hpp"
#include "svmgsu/solvers/sgd.hpp"
namespace svmgsu {
Result solve_newton(const Objective& o, const Options& p, const Monitor& m, const Vector*, double) { return solve_sgd(o, p, m); }
}
