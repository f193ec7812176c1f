// A transformer in YAML -> Transformer.
#include <fmt/format.h>

#include "models/io/formats/reader.hpp"
#include "models/io/workloads/load_workloads.hpp"

namespace fabricast {
namespace {

constexpr int kLayersMax = 10'000;
constexpr int kWidthMax = 1 << 22;
constexpr int kExpertsMax = 65'536;

/// Is the mapping there? Asking also makes the key known, for the hint on a misspelt one.
bool given(Reader& in, std::string_view key) {
  if (!in.has(key)) in.text(key, "");
  return in.has(key);
}

LatentAttention latent_attention(Reader in) {
  LatentAttention out;
  out.query_rank = in.whole("query_rank", 1, kWidthMax);
  out.kv_rank = in.whole("kv_rank", 1, kWidthMax);
  out.nope_dim = in.whole("nope_dim", 1, kWidthMax);
  out.rope_dim = in.whole("rope_dim", 1, kWidthMax);
  out.value_dim = in.whole("value_dim", 1, kWidthMax);
  in.finish();
  return out;
}

Experts experts(Reader in, int layers) {
  Experts out;
  out.count = in.whole("count", 2, kExpertsMax);
  out.per_token = in.whole("per_token", 1, kExpertsMax);
  if (out.per_token > out.count)
    in.fail("per_token", fmt::format("{} of only {} experts", out.per_token, out.count));
  out.ffn = in.whole("ffn", 1, kWidthMax);
  out.shared_ffn = in.whole("shared_ffn", 0, kWidthMax, 0);
  out.dense_layers = in.whole("dense_layers", 0, layers, 0);
  in.finish();
  return out;
}

LocalAttention local_attention(Reader in, int layers) {
  LocalAttention out;
  out.every = in.whole("every", 1, layers);
  out.window = in.whole("window", 1, 1 << 30);
  out.recurrent = in.flag("recurrent", false);
  in.finish();
  return out;
}

}  // namespace

Transformer parse_transformer(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"model"});
  Transformer out;
  out.name = in.text("name");
  out.title = in.text("title", out.name);
  out.layers = in.whole("layers", 1, kLayersMax);
  out.hidden = in.whole("hidden", 1, kWidthMax);
  out.ffn = in.whole("ffn", 1, kWidthMax);
  out.mlp = in.choice("mlp", enum_words<Mlp>("gelu", "relu", "squared_relu", "swiglu"));
  out.heads = in.whole("heads", 1, kWidthMax);
  out.kv_heads = in.whole("kv_heads", 1, out.heads, out.heads);
  if (out.heads % out.kv_heads != 0)
    in.fail("kv_heads", fmt::format("{} does not divide {} heads", out.kv_heads, out.heads));
  if (given(in, "latent")) out.latent = latent_attention(in.child("latent"));
  if (!in.has("head_dim") && !out.latent && out.hidden % out.heads != 0) {
    in.fail("heads", fmt::format("{} heads do not divide hidden {}", out.heads, out.hidden),
            "say head_dim where it is not hidden / heads");
  }
  out.head_dim = in.whole("head_dim", 1, kWidthMax, out.hidden / out.heads);
  out.vocabulary = in.whole("vocabulary", 1, 1 << 30);
  out.positions = in.whole("positions", 0, 1 << 30, 0);
  out.rotary = in.flag("rotary", false);
  out.norm = in.choice("norm", enum_words<Norm>("rms", "layer"));
  out.embedding_norm = in.flag("embedding_norm", false);
  out.biases = in.flag("biases", false);
  out.tied_embeddings = in.flag("tied_embeddings", false);
  if (given(in, "experts")) out.experts = experts(in.child("experts"), out.layers);
  if (given(in, "local")) out.local = local_attention(in.child("local"), out.layers);
  in.finish();
  return out;
}

}  // namespace fabricast
