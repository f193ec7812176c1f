/* The tuner interfaces v2 to v6 of NCCL, as far as a plugin without NCCL needs them: argument
 * lists, order of members and values restated from NCCL's public plugin headers at v2.28.9 and
 * v2.30.7, src/include/plugin/tuner/tuner_v2.h .. tuner_v6.h, plugins/tuner/example/nccl/common.h.
 */
#ifndef FABRICAST_NCCL_TUNER_INTERFACES_H
#define FABRICAST_NCCL_TUNER_INTERFACES_H

#include <stddef.h>
#include <stdint.h>

/* What functions return. */
enum { NCCL_OK = 0, NCCL_SYSTEM_ERROR = 2 };
/* Functions that a tuner is asked for. */
enum { NCCL_BROADCAST, NCCL_REDUCE, NCCL_ALL_GATHER, NCCL_REDUCE_SCATTER, NCCL_ALL_REDUCE };
enum {
  NCCL_TREE,
  NCCL_RING,
  NCCL_COLLNET_DIRECT,
  NCCL_COLLNET_CHAIN,
  NCCL_NVLS,
  NCCL_NVLS_TREE,
  NCCL_PAT,
  NCCL_ALGORITHMS
};
enum { NCCL_LL, NCCL_LL128, NCCL_SIMPLE, NCCL_PROTOCOLS };
enum { NCCL_LOG_WARN = 2, NCCL_LOG_INFO = 3 };
enum { NCCL_SUBSYSTEM_TUNING = 0x40 };

/* level, subsystems, file, line, format of printf. */
typedef void (*nccl_logger)(int level, unsigned long subsystems, const char* file, int line,
                            const char* format, ...);

/* Called since NCCL 2.21. What is not decided stays as it is: -1, -1, 0. */
struct nccl_tuner_v2 {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, nccl_logger log, void** context);
  int (*get_coll_info)(void* context, int function, size_t bytes, int collnet, int nvls,
                       int operations, int* algorithm, int* protocol, int* channels);
  int (*destroy)(void* context);
};

/* 2.22. `costs`: rows of algorithms, NCCL_PROTOCOLS floats each, microseconds; -1 = not to be had.
 * The declared type is float**, what comes is the address of the first float. */
struct nccl_tuner_v3 {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, nccl_logger log, void** context);
  int (*get_coll_info)(void* context, int function, size_t bytes, int operations, float** costs,
                       int algorithms, int protocols, int* channels);
  int (*destroy)(void* context);
};

/* 2.24: also whether buffers can be registered. */
struct nccl_tuner_v4 {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, nccl_logger log, void** context);
  int (*get_coll_info)(void* context, int function, size_t bytes, int operations, float** costs,
                       int algorithms, int protocols, int registered, int* channels);
  int (*destroy)(void* context);
};

/* 2.28: the communicator's number, its NVLink domains, and the constants of the model, which this
 * plugin leaves alone: it does not look behind the two pointers. */
struct nccl_tuner_v5 {
  const char* name;
  int (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, nccl_logger log,
              void* nvlink_domains, void* constants);
  int (*get_coll_info)(void* context, int function, size_t bytes, int operations, float** costs,
                       int algorithms, int protocols, int registered, int* channels);
  int (*finalize)(void* context);
};

/* 2.30: also the size of chunks; NULL = as NCCL computes it. */
struct nccl_tuner_v6 {
  const char* name;
  int (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, nccl_logger log,
              void* nvlink_domains, void* constants);
  int (*get_coll_info)(void* context, int function, size_t bytes, int operations, float** costs,
                       int algorithms, int protocols, int registered, int* channels);
  int (*finalize)(void* context);
  int (*get_chunk_size)(void* context, int function, size_t bytes, int algorithm, int protocol,
                        int channels, size_t* chunk);
};

#endif
