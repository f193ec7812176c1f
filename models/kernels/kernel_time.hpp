#pragma once
// The time of a kernel in seconds, back to back with others in a CUDA graph: without the CPU.
// Pure: shape in, time out. docs/kernels.md has the formulas.

#include "models/kernels/kernel_costs.hpp"
#include "models/kernels/kernel_work.hpp"

namespace fabricast {

double kernel_time(const KernelGpu& gpu, const GemmWork& work, const GemmCosts& costs);
double kernel_time(const KernelGpu& gpu, const ContextWork& work, const ContextCosts& costs);
double kernel_time(const KernelGpu& gpu, const DecodeWork& work, const DecodeCosts& costs);
double kernel_time(const KernelGpu& gpu, const DeltaWork& work, const DeltaCosts& costs);
double kernel_time(const KernelGpu& gpu, const ExpertWork& work, const ExpertCosts& costs);
double kernel_time(const KernelGpu& gpu, const MoveWork& work, const MoveCosts& costs);
/// REQUIRES: both of one family.
double kernel_time(const KernelGpu& gpu, const KernelWork& work, const KernelCosts& costs);

/// Two times that overlap more or less: `overlap` 1 adds them, a large one takes the longer.
double overlapped_time(double a, double b, double overlap);
/// Of `bytes`, `warm` is the share that lies in the cache; rates are over the memory's.
double move_time(const KernelGpu& gpu, double bytes, double warm, double memory, double cache);
/// Waves of tiles over the multiprocessors, when of the last wave only `quantum` is waited for.
/// Less than one wave takes as long as one.
double waves(double tiles, int multiprocessors, double quantum);

}  // namespace fabricast
