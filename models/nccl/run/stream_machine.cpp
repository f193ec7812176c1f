#include "models/nccl/run/stream_machine.hpp"

#include <algorithm>

#include "models/nccl/call/launch.hpp"
#include "models/nccl/run/link_loads.hpp"
#include "models/nccl/run/progress_share.hpp"
#include "sim/base/digest.hpp"

namespace fabricast {

template <class Stamp>
StreamMachine<Stamp>::StreamMachine(const Setting& setting) : at_(setting) {
  if (at_.watch != nullptr) recorder_.emplace(executor_, at_.watch->draft);
  const bool is_folded = !at_.is_full && at_.plan.copies() > 1;
  if (is_folded) {
    links_.emplace(machine(), at_.cluster, *at_.plan.symmetry(), at_.carrier != nullptr);
  } else if (const CallDraft* draft = at_.draft ? at_.draft->any() : nullptr) {
    links_.emplace(machine(), at_.cluster, draft->blueprint().links());
  } else {
    links_.emplace(machine(), at_.cluster, at_.hashes.has_value());
  }
  for (std::size_t i = 0; i < at_.streams.size(); ++i) add_stream(i);
  if (schedules_.blocks() > 0) start_exchange();
  if constexpr (Stamp::kCausal) {
    break_links();
    if (at_.carrier != nullptr) executor_.hand_over(*at_.carrier);
    if (recorder_) executor_.watch(*recorder_);
    if (at_.watch != nullptr) executor_.transit().observer = &at_.watch->draft;
  }
}

template <class Stamp>
Machine& StreamMachine<Stamp>::machine() {
  if (recorder_) return *recorder_;
  return executor_;
}

template <class Stamp>
Duration StreamMachine<Stamp>::launch(const CollectiveRun& run) const {
  return launch_of(run, at_.cluster, at_.software);
}

template <class Stamp>
void StreamMachine<Stamp>::add_stream(std::size_t number) {
  std::vector<Built>& kernels = kernels_.emplace_back();
  const StreamPlan& plan = at_.plan.streams[number];
  Threads threads;
  for (int round = 0; round < at_.streams[number].rounds; ++round)
    for (std::size_t i = 0; i < plan.kernels.size(); ++i)
      kernels.push_back(add_kernel(number, kernels.size(), threads));
  add_gates(at_.streams[number], kernels);
}

template <class Stamp>
auto StreamMachine<Stamp>::add_kernel(std::size_t stream, std::size_t number, Threads& threads)
    -> Built {
  const StreamPlan& plan = at_.plan.streams[stream];
  const std::size_t at = number % plan.kernels.size();
  const Kernel& kernel = plan.kernels[at];
  const CallLabel label{static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(number)};
  Built out;
  out.parties.resize(static_cast<std::size_t>(plan.members.ranks()));
  out.is_first.resize(out.parties.size());
  if (kernel.works.front().run->has_algorithm()) {
    add_works(kernel, at_.draft ? &at_.draft->of(stream, at) : nullptr, label, threads, out);
  } else {
    add_exchange(exchange_for(at, stream, threads), label, threads, out);
  }
  return out;
}

template <class Stamp>
BuiltCall StreamMachine<Stamp>::build(const QueuedWork& work, const CallDraft* draft,
                                      std::size_t stream, Threads& threads) {
  if (draft != nullptr && draft == threads.last && !recorder_ && draft->shares_threads())
    return {&draft->assembly(), executor_.repeat_call(), *threads.executor};
  threads.last = draft;
  if (draft != nullptr && !threads.executor) {
    const auto rounds = static_cast<std::size_t>(at_.streams[stream].rounds);
    const Blueprint& call = draft->blueprint();
    executor_.expect(rounds * call.workers(), rounds * call.connections());
  }
  if (draft != nullptr) return draft->build_on(machine(), *links_, threads.executor);
  Assembly& assembly =
      assemblies_.emplace_back(machine(), *links_, at_.cluster, at_.software, *work.run,
                               work.partition, work.symmetry, at_.is_full, threads.executor);
  if (recorder_ && !threads.executor)
    recorder_->show_threads(assembly.first_thread(), at_.watch->ranks[stream]);
  assembly.take_routes(routes(stream));
  add_schedule(assembly);
  return {&assembly, 0, assembly.first_thread()};
}

/// All works of a stream share its proxies.
template <class Stamp>
void StreamMachine<Stamp>::add_works(const Kernel& kernel, const std::deque<CallDraft>* drafts,
                                     const CallLabel& label, Threads& threads, Built& out) {
  const std::size_t first = calls_.size();
  for (std::size_t i = 0; i < kernel.works.size(); ++i) {
    const BuiltCall call =
        build(kernel.works[i], drafts ? &(*drafts)[i] : nullptr, label.stream, threads);
    calls_.push_back(call);
    threads.executor = call.first_thread;
    for (std::size_t rank = 0; rank < out.parties.size(); ++rank) {
      const std::vector<std::uint32_t> workers = call.workers(static_cast<int>(rank));
      std::vector<std::uint32_t>& all = out.parties[rank].workers;
      all.insert(all.end(), workers.begin(), workers.end());
      out.is_first[rank] = call.is_first(static_cast<int>(rank));
    }
    if (recorder_)
      at_.watch->show(*recorder_, *call.assembly,
                      {label.stream, label.call + static_cast<std::uint32_t>(i)});
  }
  if (kernel.works.size() > 1) return add_work_gates(kernel, first, out);
  out.alone = calls_.back();
}

/// A work waits for the one before it, on its channel or its rank.
template <class Stamp>
void StreamMachine<Stamp>::add_work_gates(const Kernel& kernel, std::size_t first_call,
                                          Built& out) {
  const auto gate = [&](std::vector<std::uint32_t>& before, std::vector<std::uint32_t> workers) {
    if (workers.empty()) return;
    if (!before.empty()) {
      executor_.add_gate({{}, {before, {}}, {}, {workers, {}}});
      out.behind.insert(out.behind.end(), workers.begin(), workers.end());
      out.before.insert(out.before.end(), before.begin(), before.end());
    }
    before = std::move(workers);
  };
  for (int rank = 0; rank < calls_[first_call].assembly->ranks(); ++rank) {
    std::map<int, std::vector<std::uint32_t>> before;  // by channel
    for (std::size_t i = 0; i < kernel.works.size(); ++i) {
      const BuiltCall& call = calls_[first_call + i];
      const std::vector<ChannelPart>& parts = kernel.works[i].partition.parts;
      if (!kernel.by_channel && call.is_first(rank)) gate(before[0], call.workers(rank));
      for (std::uint32_t lane = 0; kernel.by_channel && lane < parts.size(); ++lane)
        gate(before[parts[lane].channel], call.workers(rank, lane));
    }
  }
  std::sort(out.behind.begin(), out.behind.end());
  std::sort(out.before.begin(), out.before.end());
}

template <class Stamp>
const P2pSchedule& StreamMachine<Stamp>::exchange_for(std::size_t kernel, std::size_t stream,
                                                      Threads& threads) {
  const StreamPlan& plan = at_.plan.streams[stream];
  threads.exchanges.resize(plan.kernels.size());
  const P2pSchedule*& known = threads.exchanges[kernel];
  if (known == nullptr)
    known = &exchanges_.emplace_back(exchange_of(plan.kernels[kernel].works.front(), plan.members,
                                                 at_.cluster, at_.software, *links_, traffics_,
                                                 routes(stream)));
  return *known;
}

/// All calls of a stream share its threads.
template <class Stamp>
void StreamMachine<Stamp>::add_exchange(const P2pSchedule& schedule, const CallLabel& label,
                                        Threads& threads, Built& out) {
  const auto channels = static_cast<std::uint32_t>(schedule.channels());
  const ExchangePlaces& places = schedule.places();
  if (!threads.exchange) {
    threads.exchange = exchange_threads_;
    exchange_threads_ += schedule.threads();
  }
  const std::uint32_t first = schedules_.add(schedule, *threads.exchange);
  if (at_.watch != nullptr) at_.watch->parts.push_back(label);
  for (std::uint32_t rank = 0; rank < out.parties.size(); ++rank) {
    for (std::uint32_t block = rank * channels; block < (rank + 1) * channels; ++block)
      out.parties[rank].guests.push_back(first + places.number(block));
    out.is_first[rank] = places.place(places.number(rank * channels)) == rank * channels;
  }
}

template <class Stamp>
Parties StreamMachine<Stamp>::without(Parties parties, const std::vector<std::uint32_t>& workers) {
  std::erase_if(parties.workers, [&](std::uint32_t worker) {
    return std::binary_search(workers.begin(), workers.end(), worker);
  });
  return parties;
}

/// Those that begin with the kernel, each once: one may stand for several ranks.
template <class Stamp>
Parties StreamMachine<Stamp>::all_starters(const Built& kernel) {
  Parties out;
  for (std::size_t rank = 0; rank < kernel.parties.size(); ++rank) {
    if (!kernel.is_first[rank]) continue;
    const Parties own = without(kernel.parties[rank], kernel.behind);
    out.workers.insert(out.workers.end(), own.workers.begin(), own.workers.end());
    out.guests.insert(out.guests.end(), own.guests.begin(), own.guests.end());
  }
  std::sort(out.workers.begin(), out.workers.end());
  out.workers.erase(std::unique(out.workers.begin(), out.workers.end()), out.workers.end());
  return out;
}

template <class Stamp>
void StreamMachine<Stamp>::add_gates(const Stream& stream, const std::vector<Built>& kernels) {
  const std::size_t runs = stream.runs.size();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (i == 0 && at_.launching == Launching::left_out) continue;
    const Duration own = launch(stream.runs[i % runs]);
    GateSpec gate;
    gate.start = stream.start + own;
    gate.gap = own;
    if (stream.ahead) {
      gate.start = gate.start + stream.ahead->interval * static_cast<std::int64_t>(i);
      gate.gap = stream.ahead->gap;
    }
    if (i == 0) {
      gate.waiters = all_starters(kernels[i]);
      executor_.add_gate(gate);
      continue;
    }
    for (std::size_t rank = 0; rank < kernels[i].parties.size(); ++rank) {
      if (!kernels[i].is_first[rank]) continue;
      gate.after = without(kernels[i - 1].parties[rank], kernels[i - 1].before);
      gate.waiters = without(kernels[i].parties[rank], kernels[i].behind);
      executor_.add_gate(gate);
    }
    add_proxy_gates(kernels[i - 1], kernels[i]);
  }
}

/// Proxies take up a call on a connection when they are done with the one before there
/// (src/proxy.cc, ProxyAppend: nextPeer), so its receives are posted when the receiving GPU has
/// used all that came.
template <class Stamp>
void StreamMachine<Stamp>::add_proxy_gates(const Built& before, const Built& kernel) {
  if (!before.alone || !kernel.alone) return;
  const auto& past = before.alone->assembly->net_connections();
  const auto& now = kernel.alone->assembly->net_connections();
  const auto joins_the_same = [](const auto& a, const auto& b) {
    return a.from == b.from && a.to == b.to;
  };
  if (!std::ranges::equal(past, now, joins_the_same)) return;
  for (std::size_t i = 0; i < now.size(); ++i) {
    GateSpec gate;
    gate.after.workers = {before.alone->first_worker + past[i].receiver};
    gate.waiters.workers = {kernel.alone->first_worker + now[i].proxy};
    gate.lag = past[i].credit;
    executor_.add_gate(gate);
  }
}

template <class Stamp>
void StreamMachine<Stamp>::start_exchange() {
  exchange_.emplace(schedules_, schedules_.blocks(), exchange_threads_, executor_.queue(),
                    executor_.transit());
  for (const MessageKind& kind : schedules_.kinds()) exchange_->add_kind(kind);
  executor_.host(*exchange_);
  if constexpr (Stamp::kCausal) {
    if (at_.watch == nullptr) return;
    exchange_recorder_.emplace(schedules_, at_.watch->parts, at_.watch->ranks, at_.watch->draft);
    exchange_->watch(*exchange_recorder_);
  }
}

/// Links go down for all streams.
template <class Stamp>
void StreamMachine<Stamp>::break_links() {
  if constexpr (Stamp::kCausal) {
    for (const Stream& stream : at_.streams) {
      for (const CollectiveRun& run : stream.runs) {
        for (const auto& [link, outage] : run.faults.outages)
          executor_.set_outage(index_of(link), at_.cluster.link(link).rate, outage);
        if (!run.faults.outages.empty()) executor_.set_retry(run.faults.retry);
      }
    }
  }
}

template <class Stamp>
std::uint64_t StreamMachine<Stamp>::events_planned() const {
  std::uint64_t out = 0;
  for (const BuiltCall& call : calls_) out += call.assembly->events();
  return out;
}

/// Of the full run, of which the machine had so many.
template <class Stamp>
std::uint64_t StreamMachine<Stamp>::full_events(std::uint64_t had) const {
  std::uint64_t shared = 0;
  for (const BuiltCall& call : calls_) {
    had += call.assembly->merged() - call.assembly->shared_simulated();
    shared += call.assembly->shared();
  }
  const auto copies = links_->is_folded() ? at_.plan.copies() : 1;
  return had * static_cast<std::uint64_t>(copies) + shared;
}

template <class Stamp>
void StreamMachine<Stamp>::fast_forward(std::uint64_t first_look) {
  executor_.set_fast_forward(first_look);
}

template <class Stamp>
void StreamMachine<Stamp>::run(const std::function<void(double)>& progress) {
  executor_.run(progress_share(progress, events_planned()), progress);
}

template <class Stamp>
Stamp StreamMachine<Stamp>::end_of(const Parties& parties, Stamp so_far) const {
  for (const std::uint32_t worker : parties.workers)
    so_far = later(so_far, executor_.finished(worker));
  for (const std::uint32_t block : parties.guests)
    so_far = later(so_far, exchange_->finished(block));
  return so_far;
}

template <class Stamp>
Stamp StreamMachine<Stamp>::end_of(std::size_t stream, std::size_t kernel) const {
  const Built& built = kernels_[stream][kernel];
  Stamp out;
  for (std::size_t rank = 0; rank < built.parties.size(); ++rank)
    if (built.is_first[rank]) out = end_of(built.parties[rank], out);
  return out;
}

template <class Stamp>
std::vector<Instant> StreamMachine<Stamp>::rank_finish(std::size_t stream) const {
  const std::vector<Built>& kernels = kernels_[stream];
  std::vector<Instant> out(static_cast<std::size_t>(at_.plan.streams[stream].members.ranks()));
  if (kernels.empty()) return out;
  for (std::size_t rank = 0; rank < out.size(); ++rank)
    out[rank] = {end_of(kernels.back().parties[rank], {}).ps};
  return out;
}

template <class Stamp>
Bytes StreamMachine<Stamp>::carried(std::uint32_t link) const {
  const Bytes own = executor_.carried(link);
  return at_.carrier == nullptr ? own : own + at_.carrier->carried(link);
}

template <class Stamp>
std::vector<LinkLoad> StreamMachine<Stamp>::loads(Duration time) const {
  if (!links_->is_folded())
    return link_loads(at_.cluster, time, [this](std::uint32_t link) { return carried(link); });
  const Symmetry& symmetry = *at_.plan.symmetry();
  std::map<std::uint32_t, Bytes> by_link;
  for (const auto& [link, id] : links_->known()) by_link[link] = carried(id);
  std::vector<LinkLoad> out = link_loads(at_.cluster, time, by_link, symmetry.copies());
  for (LinkLoad& load : out) load.copies = symmetry.copies_of(at_.cluster, load.link);
  return out;
}

template <class Stamp>
RunFacts StreamMachine<Stamp>::facts(Duration time) const {
  RunFacts out;
  const Symmetry* const symmetry = at_.plan.symmetry();
  const bool folds = links_->is_folded();
  const auto copies = static_cast<std::uint64_t>(folds ? at_.plan.copies() : 1);
  out.links = loads(time);
  const std::uint64_t carrying = at_.carrier == nullptr ? 0 : at_.carrier->events();
  out.events = full_events(executor_.events()) + carrying * copies;
  out.events_skipped = out.events - (executor_.events() - executor_.events_skipped()) - carrying;
  if (exchange_) out.slices = exchange_->chunks() * copies;
  for (const BuiltCall& call : calls_) {
    const Assembly& assembly = *call.assembly;
    out.slices += assembly.slices() * copies;
    out.merged = out.merged || assembly.has_merged();
    out.channels_simulated = std::max(out.channels_simulated, assembly.lanes_standing_for_others());
  }
  out.nodes_simulated = 1;
  for (const StreamPlan& stream : at_.plan.streams)
    out.nodes_simulated = std::max(out.nodes_simulated, stream.members.node_count());
  if (folds) {
    out.nodes_simulated = symmetry->nodes();
    out.rails_folded = symmetry->rails();
  }
  out.digest = executor_.digest();
  out.losses = executor_.losses();
  if (at_.carrier != nullptr) mix_digest(out.digest, at_.carrier->digest());
  return out;
}

template class StreamMachine<PlainStamp>;
template class StreamMachine<CausalStamp>;

}  // namespace fabricast
