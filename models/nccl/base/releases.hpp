#pragma once
// Releases of NCCL 2: what a text names, and whose rules answer for it. The rules are switched by
// release where they stand (`version >= kNccl2_27`); releases between two whose decisions are known
// answer by the rules of their own series.

#include <span>
#include <string>
#include <string_view>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// All public releases since 2.18, oldest first, and the pre-release 2.31.0a7 (tags of
/// github.com/NVIDIA/nccl).
std::span<const NcclVersion> known_releases();

/// The release whose rules answer for `version`: that of kModelledVersions of the same series; of
/// the oldest or of the newest series where there is none.
NcclVersion modelled_version(NcclVersion version);
inline bool is_exact(NcclVersion version) { return modelled_version(version) == version; }

/// `version`, or 2.18.6 if it is older than any whose rules are known.
NcclVersion answered_version(NcclVersion version);

/// "NCCL 2.27.5 answers by the rules of 2.27.7, ..."; "" for those of kModelledVersions, except
/// that a pre-release says that it is one.
std::string rules_note(NcclVersion version);

/// One to answer for: "2.27.5", or "2.27" for the release of that series whose rules are known.
/// Throws Error for what is no release, or older than 2.18.
NcclVersion nccl_version_from_text(std::string_view text);

/// Any release of NCCL 2: "2.18.3", or "2.18" for its last patch. Throws Error otherwise.
NcclVersion nccl_release_from_text(std::string_view text);
/// "NCCL 2.18.3", "NCCL 2.18" for its last patch.
std::string nccl_release_text(NcclVersion version);

}  // namespace fabricast
