#include "models/io/topologies/read_networks.hpp"

#include <string>

#include "text/words.hpp"

namespace fabricast {
namespace {

NetworkCosts read_network(Reader& in, const Figures& figures) {
  NetworkCosts costs;
  Reader sync = in.child("sync");
  constexpr std::array keys = {"ll", "ll128", "simple"};
  for (std::size_t p = 0; p < keys.size(); ++p) costs.sync[p] = figures.duration(sync, keys[p]);
  sync.finish();
  costs.post = figures.duration(in, "post");
  if (in.has("piece_post")) costs.piece_post = figures.duration(in, "piece_post");
  if (in.has("channel_spread")) costs.channel_spread = figures.duration(in, "channel_spread");
  costs.poll = figures.duration(in, "poll");
  costs.ll_check_rate = figures.bandwidth(in, "ll_check_rate");
  if (in.has("copy_rate")) {
    costs.copy_rate = figures.bandwidth(in, "copy_rate");
    costs.task_min = figures.bytes(in, "task_min");
    if (costs.task_min.count < 1) in.fail("task_min", "must be at least 1 B");
    if (in.has("helper_wake")) costs.helper_wake = figures.duration(in, "helper_wake");
  }
  if (in.has("rendezvous")) {
    Reader rendezvous = in.child("rendezvous");
    costs.rendezvous_threshold = figures.bytes(rendezvous, "threshold");
    if (costs.rendezvous_threshold.count < 1) rendezvous.fail("threshold", "must be at least 1 B");
    costs.rendezvous_get_min = figures.bytes(rendezvous, "get_min");
    costs.rendezvous_latency = figures.duration(rendezvous, "latency");
    costs.rendezvous_post = figures.duration(rendezvous, "post");
    rendezvous.finish();
    Reader software = in.child("software_matching");
    costs.safe_copy = figures.bytes(software, "gdrcopy_up_to");
    costs.gdrcopy_rate = figures.bandwidth(software, "gdrcopy_rate");
    costs.driver_copy = figures.duration(software, "driver_copy");
    costs.sent_ll = figures.duration(software, "sent_ll");
    software.finish();
    Reader inject = in.child("inject");
    costs.inject_max = figures.bytes(inject, "up_to");
    costs.inject_copy = figures.duration(inject, "driver_copy");
    inject.finish();
  }
  in.finish();
  return costs;
}

}  // namespace

void read_networks(Reader in, const Figures& figures, bool whole,
                   std::array<NetworkCosts, kNetKinds>& out) {
  for (const std::string& key : in.unasked()) {
    if (!kNetKindWords.find(key))
      in.fail(key, "no kind of network", hint_nearest(key, kNetKindWords.list()));
  }
  for (std::size_t kind = 0; kind < out.size(); ++kind) {
    if (!whole && !in.has(kNetKindWords.words[kind])) continue;
    Reader network = in.child(kNetKindWords.words[kind]);
    out[kind] = read_network(network, figures);
  }
  in.finish();
}

NetKind net_kind(Reader& in, const char* key) {
  return in.has(key) ? in.choice(key, kNetKindWords) : NetKind::ib;
}

}  // namespace fabricast
