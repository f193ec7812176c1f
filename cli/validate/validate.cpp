#include "cli/commands.hpp"

namespace fabricast {

void add_validate(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("validate", "compare predictions with what somebody measured");
  command->require_subcommand(1);
  add_validate_nccl_tests(*command, action);
  add_validate_gate(*command, action);
  add_validate_experts(*command, action);
  add_validate_steps(*command, action);
  add_validate_engines(*command, action);
  add_validate_registered(*command, action);
  add_validate_serving(*command, action);
  add_validate_kernels(*command, action);
}

}  // namespace fabricast
