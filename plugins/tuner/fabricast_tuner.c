/* A tuner plugin for NCCL 2.21 to 2.30 that does what the lines of a file say, and nothing else: a
 * call that no line speaks of stays as NCCL decides it, with as many channels as NCCL gives it. The
 * file is that of NCCL's example plugin (plugins/tuner/example), named by NCCL_TUNER_CONFIG_FILE,
 * else nccl_tuner.conf of the working directory; `fabricast advise --format tuner-csv` writes it.
 *
 * A file with a line that cannot be read loads no rule at all, and says so: half a file is a
 * surprise. Every communicator has a context of its own; nothing else is kept. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_tuner_interfaces.h"

#define ANY (-1)
#define FIELDS_MIN 8
#define FIELDS_MAX 10

struct rule {
  int function, algorithm, protocol;
  unsigned long long bytes_min, bytes_max; /* both included */
  long channels;                           /* ANY: NCCL's */
  long nodes, ranks, operations, registered;
};

struct context {
  struct rule* rules;
  size_t count;
  long nodes, ranks;
};

static const char* const functions[] = {"broadcast", "reduce", "allgather", "reducescatter",
                                        "allreduce"};
static const char* const algorithms[] = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
static const char* const protocols[] = {"ll", "ll128", "simple"};

static void say(nccl_logger log, int level, int line, const char* file, const char* what,
                const char* word) {
  if (log == NULL) return;
  if (line > 0)
    log(level, NCCL_SUBSYSTEM_TUNING, __FILE__, __LINE__, "fabricast tuner: %s:%d: %s \"%s\"", file,
        line, what, word);
  else
    log(level, NCCL_SUBSYSTEM_TUNING, __FILE__, __LINE__, "fabricast tuner: %s: %s", file, what);
}

/* The number of the word, -1 if it is none of them. */
static int number_of(const char* word, const char* const* words, int count) {
  for (int i = 0; i < count; ++i)
    if (strcmp(word, words[i]) == 0) return i;
  return -1;
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* Without blanks at its ends; changes the text. */
static char* trimmed(char* text) {
  while (is_blank(*text)) ++text;
  size_t length = strlen(text);
  while (length > 0 && is_blank(text[length - 1])) text[--length] = '\0';
  return text;
}

static int read_bytes(const char* text, unsigned long long* out) {
  char* end = NULL;
  errno = 0;
  if (*text < '0' || *text > '9') return 0;
  *out = strtoull(text, &end, 10);
  return errno == 0 && *end == '\0';
}

/* A number from 0 on, or ANY. */
static int read_count(const char* text, long* out) {
  char* end = NULL;
  errno = 0;
  *out = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *out >= ANY && *out <= INT_MAX;
}

/* Splits at commas, as NCCL's example does: fields that are empty vanish. */
static int split(char* line, char** fields) {
  int count = 0;
  char* at = line;
  while (at != NULL && count < FIELDS_MAX) {
    char* comma = strchr(at, ',');
    if (comma != NULL) *comma = '\0';
    if (*at != '\0') fields[count++] = trimmed(at);
    at = comma == NULL ? NULL : comma + 1;
  }
  return count;
}

/* NULL if the line is a rule, else what is wrong; `word`: with what. */
static const char* read_rule(char* line, struct rule* rule, const char** word) {
  char* fields[FIELDS_MAX];
  const int count = split(line, fields);
  *word = count > 0 ? fields[0] : "";
  if (count < FIELDS_MIN) return "fewer than eight fields, in the line that begins with";
  rule->function = number_of(fields[0], functions, 5);
  if (rule->function < 0) return "no collective is named";
  *word = fields[1];
  if (!read_bytes(fields[1], &rule->bytes_min)) return "no number of bytes:";
  *word = fields[2];
  if (!read_bytes(fields[2], &rule->bytes_max)) return "no number of bytes:";
  *word = fields[3];
  rule->algorithm = number_of(fields[3], algorithms, NCCL_ALGORITHMS);
  if (rule->algorithm < 0) return "no algorithm is named";
  *word = fields[4];
  rule->protocol = number_of(fields[4], protocols, NCCL_PROTOCOLS);
  if (rule->protocol < 0) return "no protocol is named";
  long* const numbers[] = {&rule->channels, &rule->nodes, &rule->ranks, &rule->operations,
                           &rule->registered};
  rule->operations = rule->registered = ANY;
  for (int i = 5; i < count; ++i) {
    *word = fields[i];
    if (!read_count(fields[i], numbers[i - 5])) return "no number from -1 on:";
  }
  return NULL;
}

/* A whole line of any length, without its end; NULL at the end of the file or without memory. */
static char* read_line(FILE* file) {
  size_t size = 256, length = 0;
  char* line = malloc(size);
  int c = EOF;
  while (line != NULL && (c = getc(file)) != EOF && c != '\n') {
    if (length + 2 > size) {
      char* larger = realloc(line, size *= 2);
      if (larger == NULL) free(line);
      line = larger;
      if (line == NULL) return NULL;
    }
    line[length++] = (char)c;
  }
  if (line == NULL) return NULL;
  if (c == EOF && length == 0) {
    free(line);
    return NULL;
  }
  line[length] = '\0';
  return line;
}

/* Returns whether all of the file was read. */
static int read_rules(FILE* file, const char* name, nccl_logger log, struct context* out) {
  char* line = NULL;
  for (int number = 1; (line = read_line(file)) != NULL; ++number) {
    char* text = trimmed(line);
    if (*text == '#' || *text == '\0' || strncmp(text, "collective_type", 15) == 0) {
      free(line);
      continue;
    }
    struct rule* more = realloc(out->rules, (out->count + 1) * sizeof *more);
    if (more != NULL) out->rules = more;
    const char* word = "";
    const char* wrong = more == NULL ? "no memory for" : read_rule(text, &more[out->count], &word);
    if (wrong != NULL) {
      say(log, NCCL_LOG_WARN, number, name, wrong, word);
      free(line);
      return 0;
    }
    ++out->count;
    free(line);
  }
  return 1;
}

static int init(size_t ranks, size_t nodes, nccl_logger log, void** context) {
  struct context* out = calloc(1, sizeof *out);
  if (out == NULL) return NCCL_SYSTEM_ERROR;
  out->ranks = (long)ranks;
  out->nodes = (long)nodes;
  *context = out;
  const char* name = getenv("NCCL_TUNER_CONFIG_FILE");
  const int is_named = name != NULL && *name != '\0';
  if (!is_named) name = "nccl_tuner.conf";
  FILE* file = fopen(name, "r");
  if (file == NULL) {
    say(log, is_named ? NCCL_LOG_WARN : NCCL_LOG_INFO, 0, name,
        "cannot be read: NCCL decides everything", "");
    return NCCL_OK;
  }
  if (!read_rules(file, name, log, out)) {
    free(out->rules);
    out->rules = NULL;
    out->count = 0;
    say(log, NCCL_LOG_WARN, 0, name, "not used: NCCL decides everything", "");
  }
  fclose(file);
  return NCCL_OK;
}

static int finish(void* context) {
  struct context* c = context;
  if (c != NULL) free(c->rules);
  free(c);
  return NCCL_OK;
}

static int fits(long wanted, long is) { return wanted == ANY || wanted == is; }

static int matches(const struct context* c, const struct rule* rule, int function, size_t bytes,
                   int operations, int registered) {
  return rule->function == function && rule->bytes_min <= bytes && bytes <= rule->bytes_max &&
         fits(rule->nodes, c->nodes) && fits(rule->ranks, c->ranks) &&
         fits(rule->operations, operations) && fits(rule->registered, registered);
}

/* 0 and ANY leave NCCL's number. */
static void set_channels(const struct rule* rule, int* channels) {
  if (rule->channels > 0 && channels != NULL) *channels = (int)rule->channels;
}

/* The first line that matches and whose pair is to be had costs nothing from now on. */
static int edit_costs(void* context, int function, size_t bytes, int operations, float** costs,
                      int algorithm_count, int protocol_count, int registered, int* channels) {
  const struct context* c = context;
  float* table = (float*)(void*)costs;
  if (c == NULL || table == NULL) return NCCL_OK;
  for (size_t i = 0; i < c->count; ++i) {
    const struct rule* rule = &c->rules[i];
    if (!matches(c, rule, function, bytes, operations, registered)) continue;
    if (rule->algorithm >= algorithm_count || rule->protocol >= protocol_count) continue;
    float* cost = &table[rule->algorithm * protocol_count + rule->protocol];
    if (*cost < 0) continue;
    *cost = 0;
    set_channels(rule, channels);
    return NCCL_OK;
  }
  return NCCL_OK;
}

static int is_there_v2(const struct rule* rule, int collnet, int nvls) {
  switch (rule->algorithm) {
    case NCCL_COLLNET_DIRECT:
    case NCCL_COLLNET_CHAIN:
      return collnet != 0;
    case NCCL_NVLS:
    case NCCL_NVLS_TREE:
      return nvls != 0;
    case NCCL_PAT: /* since 2.23 */
      return 0;
    default:
      return 1;
  }
}

static int choose_v2(void* context, int function, size_t bytes, int collnet, int nvls,
                     int operations, int* algorithm, int* protocol, int* channels) {
  const struct context* c = context;
  for (size_t i = 0; c != NULL && i < c->count; ++i) {
    const struct rule* rule = &c->rules[i];
    if (!matches(c, rule, function, bytes, operations, 0)) continue;
    if (!is_there_v2(rule, collnet, nvls)) continue;
    *algorithm = rule->algorithm;
    *protocol = rule->protocol;
    set_channels(rule, channels);
    return NCCL_OK;
  }
  return NCCL_OK;
}

static int edit_v3(void* context, int function, size_t bytes, int operations, float** costs,
                   int algorithm_count, int protocol_count, int* channels) {
  return edit_costs(context, function, bytes, operations, costs, algorithm_count, protocol_count, 0,
                    channels);
}

static int init_v5(void** context, uint64_t communicator, size_t ranks, size_t nodes,
                   nccl_logger log, void* nvlink_domains, void* constants) {
  (void)communicator, (void)nvlink_domains, (void)constants;
  return init(ranks, nodes, log, context);
}

#define EXPORTED __attribute__((visibility("default")))
extern const struct nccl_tuner_v2 ncclTunerPlugin_v2;
extern const struct nccl_tuner_v3 ncclTunerPlugin_v3;
extern const struct nccl_tuner_v4 ncclTunerPlugin_v4;
extern const struct nccl_tuner_v5 ncclTunerPlugin_v5;
extern const struct nccl_tuner_v6 ncclTunerPlugin_v6;
EXPORTED const struct nccl_tuner_v2 ncclTunerPlugin_v2 = {"Fabricast", init, choose_v2, finish};
EXPORTED const struct nccl_tuner_v3 ncclTunerPlugin_v3 = {"Fabricast", init, edit_v3, finish};
EXPORTED const struct nccl_tuner_v4 ncclTunerPlugin_v4 = {"Fabricast", init, edit_costs, finish};
EXPORTED const struct nccl_tuner_v5 ncclTunerPlugin_v5 = {"Fabricast", init_v5, edit_costs, finish};
EXPORTED const struct nccl_tuner_v6 ncclTunerPlugin_v6 = {"Fabricast", init_v5, edit_costs, finish,
                                                          NULL};
