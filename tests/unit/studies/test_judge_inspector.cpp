// What the Inspector recorded, folded and judged.

#include <doctest/doctest.h>

#include <functional>
#include <set>

#include "models/io/topologies/calibrated.hpp"
#include "models/studies/judge/judge_inspector.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

void serially(std::size_t count, const std::function<void(std::size_t)>& one) {
  for (std::size_t i = 0; i < count; ++i) one(i);
}

InspectorCall call(int rank, std::int64_t sequence, double time_us) {
  InspectorCall out;
  out.communicator = "0x1";
  out.host = "node" + std::to_string(rank / 8);
  out.collective = "AllReduce";
  out.rank = rank;
  out.ranks = 16;
  out.nodes = 2;
  out.pid = rank;
  out.sequence = sequence;
  out.bytes_low = out.bytes_high = 512.0 * (1 << 20);
  out.time_us = time_us;
  return out;
}

/// 16 ranks; rank 5 comes 300 us late.
InspectorFold late_rank(double transfer_us) {
  InspectorFold fold;
  for (std::int64_t sequence = 1; sequence <= 4; ++sequence)
    for (int rank = 0; rank < 16; ++rank)
      fold.add(call(rank, sequence, transfer_us + (rank == 5 ? 0 : 300)));
  return fold;
}

JudgedInspection judged(InspectedRun run) {
  InspectorRequest request;
  request.job.topology = "dgx-h100";
  return judge_inspection(std::move(run), request, load_parts({}), load_bands({}), serially);
}

}  // namespace

TEST_CASE("inspected run: the transfer apart from the wait for the last rank") {
  const InspectedRun run = late_rank(2000).finish();
  REQUIRE(run.rows.size() == 1);
  const InspectedRow& row = run.rows[0];
  CHECK(row.collective == Collective::all_reduce);
  CHECK(row.calls == 4);
  CHECK(row.ranks_seen == 16);
  CHECK(row.transfer_us == 2000);
  // 15 of 16 ranks wait 300 us.
  CHECK(row.time_us == doctest::Approx(2000 + 300 * 15.0 / 16));
  REQUIRE(row.skew);
  CHECK(row.skew->wait_us == doctest::Approx(300 * 15.0 / 16));
  CHECK(row.skew->last_rank == 5);
  CHECK(row.skew->last_share == 1);
  CHECK(row.total_us == doctest::Approx(4 * row.time_us));
}

TEST_CASE("inspected run: calls that were not recorded count by their numbers") {
  InspectorFold fold;
  for (const std::int64_t sequence : {10, 12, 19}) fold.add(call(0, sequence, 100));
  const InspectedRun run = fold.finish();
  REQUIRE(run.rows.size() == 1);
  CHECK(run.rows[0].calls == 3);
  CHECK_FALSE(run.rows[0].skew);                             // one rank says nothing of others
  CHECK(run.rows[0].total_us == doctest::Approx(100 * 10));  // 10 .. 19
  CHECK(run.share(run.rows[0]) == 1);
}

TEST_CASE("inspected run: sizes as nccl-tests has them") {
  InspectorFold fold;
  InspectorCall one = call(0, 1, 100);
  one.collective = "ReduceScatter";
  fold.add(one);
  one.collective = "Unheard";
  fold.add(one);
  const InspectedRun run = fold.finish();
  REQUIRE(run.rows.size() == 2);
  for (const InspectedRow& row : run.rows) {
    CHECK(row.collective.has_value() == (row.word == "ReduceScatter"));
    if (row.collective) CHECK(row.size.count == (std::int64_t{512} << 20) * 16);
  }
}

TEST_CASE("judged inspection: a call that is as expected, with a rank that comes last") {
  const JudgedInspection first = judged(late_rank(2000).finish());
  REQUIRE(first.judged(0) != nullptr);
  const double expected = first.judged(0)->expected_us;
  // The same with the expected time as transfer: within, and rank 5 is the suspect of the wait.
  InspectorFold fold;
  for (std::int64_t sequence = 1; sequence <= 4; ++sequence)
    for (int rank = 0; rank < 16; ++rank)
      fold.add(call(rank, sequence, expected * (rank == 5 ? 1 : 1.5)));
  const JudgedInspection judgement = judged(fold.finish());
  CHECK(judgement.judged(0)->verdict == RowVerdict::within);
  CHECK(judgement.verdicts[0].suspect == "rank 5 (node0) comes last in 100 % of calls");
  const std::string text = inspection_text(judgement);
  CHECK(text.find("1 of 1 judged row within the band, 0 slower, 0 faster") != std::string::npos);
}

TEST_CASE("judged inspection: slower, and the setting or the cause that explains it") {
  const JudgedInspection healthy = judged(late_rank(2000).finish());
  const double expected = healthy.judged(0)->expected_us;
  InspectorFold fold;
  InspectorCall slow = call(0, 1, expected * 3);
  slow.algorithm = "RING";
  slow.protocol = "LL";
  fold.add(slow);
  const JudgedInspection judgement = judged(fold.finish());
  CHECK(judgement.judged(0)->verdict == RowVerdict::below);
  CHECK(judgement.verdicts[0].suspect.starts_with("a setting: NCCL took Ring LL, by itself "));
}

TEST_CASE("judged inspection: what is expected as series of Prometheus") {
  InspectorFold fold;
  InspectorCall one = call(0, 1, 2000);
  one.labels = "node=\"n1\",collective=\"AllReduce\"";
  fold.add(one);
  const std::string of_metrics = inspection_metrics(judged(fold.finish()));
  CHECK(of_metrics.starts_with("# HELP nccl_expected_bus_bandwidth_gbs "));
  CHECK(
      of_metrics.find("\nnccl_expected_bus_bandwidth_gbs{node=\"n1\",collective=\"AllReduce\"} ") !=
      std::string::npos);
  CHECK(of_metrics.find("\nnccl_bus_bandwidth_gbs") == std::string::npos);
  // Of JSON the measured ones are written, too.
  const std::string of_json = inspection_metrics(judged(late_rank(2000).finish()));
  CHECK(of_json.find(
            "\nnccl_collective_exec_time_microseconds{slurm_job_id=\"unknown\",comm_id=\"0x1\","
            "comm_name=\"unknown\",n_nodes=\"2\",nranks=\"16\",collective=\"AllReduce\","
            "message_bytes=\"536870912\"} 2000\n") != std::string::npos);
}

TEST_CASE("judged inspection: rows that cannot be judged say why") {
  InspectorFold fold;
  InspectorCall one = call(0, 1, 2000);
  one.ranks = 15;
  fold.add(one);
  one.ranks = 1;
  fold.add(one);
  const JudgedInspection judgement = judged(fold.finish());
  std::set<std::string> reasons;
  for (const InspectedRowVerdict& verdict : judgement.verdicts) reasons.insert(verdict.why_not);
  CHECK(reasons == std::set<std::string>{"15 ranks on 2 nodes: unlike numbers of GPUs",
                                         "one rank: nothing is sent"});
}

TEST_CASE("inspected run: nothing of the Inspector") {
  CHECK(error_text([] {
          read_inspected_run(FABRICAST_TEST_DATA "/records/ras");
        }).find("nothing of NCCL's Inspector is in it") != std::string::npos);
}

}  // namespace fabricast
