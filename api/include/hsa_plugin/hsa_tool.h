/* The tool ABI: the functions of a tool of Rigel, and those of the runtime for it.
 *
 * A tool is a shared library that receives calls of the API, packets before a device reads them, and
 * completed activities of devices. The configuration file names it (docs/guide/tools.md). It exports one
 * function, `hsa_tool_query_v1`, which returns a constant table of functions in groups. A tool leaves the
 * groups that it does not need null; they cost nothing. Tools with ROCr's interface (OnLoad and OnUnload) use
 * <hsa/hsa_api_trace.h> instead.
 *
 * The header is C11 and C++20. hsa_tool.hpp contains helpers for C++.
 *
 * Rules of the interface between runtime and tool:
 *  - Versions: The major version is part of the symbol's name. Within a major version, structs grow only at
 *    their end. The side that fills a struct sets `struct_size`. The side that reads it checks HSATOOL_HAS
 *    before it reads a field that the first version did not have.
 *  - Types: Fixed-width integers, sized strings and pointers. No C++ types, exceptions, errno or FILE.
 *  - Ownership: Each side frees what it allocated. Everything reachable from hsatool_plugin_t lives as long
 *    as the module, and modules are never unloaded. Arguments of a callback are valid for the call.
 *  - Errors: load returns a value of hsa_status_t. Before it returns a failure, it passes the explanation to
 *    `host->services->report`. Callbacks return no errors.
 *  - Threads: load and unload: one call at a time per tool. check: any thread. Callbacks: on any thread of
 *    the application or the runtime, several at a time. The runtime holds no lock during a call, except that
 *    `submit` is called by one thread at a time for one queue.
 *  - Calls: A callback may call the API. Calls through `host->tables` bypass all tools. Calls of the exported
 *    functions within a callback bypass tools of this ABI. Calls on threads that the tool has started are
 *    intercepted like those of the application: use `host->tables`.
 *  - Exceptions: no exception may reach the runtime. If load or check throws, it has failed. If another
 *    callback throws, the runtime logs it and calls only unload of that tool afterwards. Packets that a
 *    throwing submit has not forwarded are forwarded unchanged.
 *  - Fork: A forked child has no runtime and receives no callbacks. If it calls hsa_init, `load` is called
 *    again: keep state in the object that load creates, not in variables of the module.
 *  - Changes: 1.1: hsatool_activity_t.completion. 1.2: hsatool_plugin_t.check.
 *  - Lifetime: load is called in the first hsa_init, when all agents exist. unload is called in the last
 *    hsa_shut_down, while all agents exist, and only if load succeeded. Both may happen several times in a
 *    process. No callback starts after the call of unload. A callback that runs on another thread at that
 *    time continues, also after unload has returned.
 */
#ifndef HSA_PLUGIN_HSA_TOOL_H_
#define HSA_PLUGIN_HSA_TOOL_H_

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa_backend/sanitizer.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HSATOOL_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define HSATOOL_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define HSATOOL_ABI_MAJOR 1u
#define HSATOOL_ABI_MINOR 2u
#define HSATOOL_ENTRY_SYMBOL "hsa_tool_query_v1"

/* Offset of the end of the field `last` in struct T. */
#define HSATOOL_END(T, last) (offsetof(T, last) + sizeof(((T*)0)->last))
/* Whether the struct at `p` is large enough to contain the field `f`. */
#define HSATOOL_HAS(p, T, f) ((p)->struct_size >= HSATOOL_END(T, f))
/* Checks that there is no padding at the end, so that a later field changes the size. */
#define HSATOOL_CHECK(T, last)                                                 \
  HSATOOL_STATIC_ASSERT(sizeof(T) == HSATOOL_END(T, last), #T " has padding"); \
  HSATOOL_STATIC_ASSERT(sizeof(T) % 8 == 0, #T " is not a multiple of eight bytes")

/* A status: a value of hsa_status_t. */
typedef int32_t hsatool_status_t;

/* Characters, not necessarily NUL-terminated. data may be null if size is 0. */
typedef struct hsatool_str {
  const char* data;
  uint64_t size;
} hsatool_str_t;
HSATOOL_CHECK(hsatool_str_t, size);

/* ------------------------------------------------------------------------------------------------------ */
/* Descriptions of the functions of the API. */

/* The kind of an argument or a result; its size is in hsatool_value_t.size. */
enum {
  HSATOOL_KIND_NOTHING = 0,  /* void */
  HSATOOL_KIND_SIGNED = 1,   /* a signed integer */
  HSATOOL_KIND_UNSIGNED = 2, /* an unsigned integer */
  HSATOOL_KIND_BOOLEAN = 3,
  HSATOOL_KIND_ENUM = 4,   /* a C enumeration of 4 bytes, named by the type */
  HSATOOL_KIND_STATUS = 5, /* hsa_status_t */
  HSATOOL_KIND_HANDLE = 6, /* a struct of one 64-bit word: hsa_agent_t, hsa_signal_t, hsa_region_t, … */
  HSATOOL_KIND_TEXT = 7,   /* const char*, ends in a NUL; may be null */
  HSATOOL_KIND_POINTER = 8,
  HSATOOL_KIND_FUNCTION = 9, /* pointer to a function */
  HSATOOL_KIND_STRUCT = 10   /* any other struct, by value */
};

typedef struct hsatool_value {
  hsatool_str_t name; /* of the parameter; "" for a result */
  hsatool_str_t type; /* in C syntax: "hsa_agent_t", "const void*", "hsa_status_t (*)(hsa_agent_t, void*)" */
  uint32_t kind;      /* HSATOOL_KIND_ */
  uint32_t offset;    /* bytes from the start of the struct of arguments; 0 for a result */
  uint32_t size;      /* bytes */
  uint32_t reserved0;
} hsatool_value_t;
HSATOOL_CHECK(hsatool_value_t, reserved0);

/* One function of the API. `id` is one of HSATOOL_ID_ in hsa_tool_calls.h, whose meanings never change.
 * Several exported names may have the same function: hsa_signal_load_acquire is hsa_signal_load_scacquire. */
typedef struct hsatool_function {
  uint64_t struct_size;
  uint32_t id;
  uint32_t index; /* 0 to function_count - 1 of this runtime, an index for arrays */
  hsatool_str_t name;
  hsatool_value_t result;
  const hsatool_value_t* parameters;
  uint64_t parameter_count;
} hsatool_function_t;
HSATOOL_CHECK(hsatool_function_t, parameter_count);

/* ------------------------------------------------------------------------------------------------------ */
/* Host services: functions of the runtime for a tool. `self` is the first argument of each that takes it. */

enum { HSATOOL_LOG_ERROR = 0, HSATOOL_LOG_WARN = 1, HSATOOL_LOG_INFO = 2, HSATOOL_LOG_DEBUG = 3 };

typedef struct hsatool_services {
  uint64_t struct_size;
  /* Nonzero if a message of this level is logged. Call it before formatting. */
  int32_t (*log_enabled)(void* self, uint32_t level);
  /* Logs one line, without a line break at its end, as `rigel: <level>: tool <name>: <text>`. Any thread. */
  void (*log)(void* self, uint32_t level, hsatool_str_t text);
  /* During load: passes the reason of its failure to the discovery report. Later it logs a warning. */
  void (*report)(void* self, hsatool_str_t text);
  /* Returns the time in nanoseconds in the domain of HSA_SYSTEM_INFO_TIMESTAMP, as all times below. */
  uint64_t (*now)(void);
  /* Returns hsatool_call_t.id of the innermost call of the API on this thread that any tool receives; 0:
   * none. */
  uint64_t (*current_call)(void);
} hsatool_services_t;
HSATOOL_CHECK(hsatool_services_t, current_call);

typedef struct hsatool_host {
  uint64_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  void* self; /* first argument of services; valid until unload has returned */
  const hsatool_services_t* services;
  hsatool_str_t name;   /* of the tool, in the configuration */
  hsatool_str_t config; /* options of the tool: a JSON object; "{}" if there are none */
  /* An HsaApiTable (<hsa/hsa_api_trace.h>, for C++) of the runtime's functions; calls through it bypass all
   * tools. Read-only. Lives as long as the process. Before load and after unload its functions return
   * NOT_INITIALIZED. */
  const void* tables;
  /* All functions that tools can intercept, by hsatool_function_t.index; constant during the life of the
   * process. */
  const hsatool_function_t* const* functions;
  uint64_t function_count;
} hsatool_host_t;
HSATOOL_CHECK(hsatool_host_t, function_count);

/* ------------------------------------------------------------------------------------------------------ */
/* Calls of the API. */

typedef struct hsatool_call {
  uint64_t struct_size;
  const hsatool_function_t* function;
  /* Unique in the process, the same for all tools, and increasing within a thread. Calls that the application
   * makes within a callback of the API have separate ids. A tool of ROCr's ABI may call a replaced function
   * several times for one call, or call other functions first. The tools after it then receive several calls
   * with one id, or a call with a lower id than the previous one. */
  uint64_t id;
  /* The id of the enclosing call; 0: none. A call that a callback of the application or a function of a tool
   * of ROCr's ABI makes has an enclosing call. */
  uint64_t parent;
  /* hsatool_<function>_args_t of hsa_tool_calls.h. `enter` may change them, for the following tools and the
   * runtime. Memory that they point to belongs to the application. */
  void* arguments;
  /* The result, of the function's type; null if that is void. `exit` may change it. */
  void* result;
  /* Data of the tool for this call: 0 in enter; in exit the value that enter has stored. */
  uint64_t data;
} hsatool_call_t;
HSATOOL_CHECK(hsatool_call_t, data);

enum {
  HSATOOL_GO_ON = 0,
  /* `enter` has stored the result, and the call is complete. The following tools and the runtime do not
   * receive it. The exit functions of this tool and of the preceding tools are called. */
  HSATOOL_ANSWERED = 1
};

/* The enter functions are called in the order of the configuration file, the exit functions in reverse order.
 * After each enter that returns, exit is called on the same thread, unless the call never returns or unloads
 * the tool (as the last hsa_shut_down does). A function is intercepted if `intercept` of the configuration
 * names it (or is not given) and `wants` returns nonzero; other functions cost nothing. Tools do not receive
 * the first hsa_init. */
typedef struct hsatool_call_ops {
  uint64_t struct_size;
  /* Returns nonzero to intercept this function. Called once per function, after load. Null: all functions. */
  int32_t (*wants)(void* tool, const hsatool_function_t* function);
  /* Before the call. May be null. Returns HSATOOL_GO_ON or HSATOOL_ANSWERED. */
  int32_t (*enter)(void* tool, hsatool_call_t* call);
  /* After the call. May be null. */
  void (*exit)(void* tool, hsatool_call_t* call);
} hsatool_call_ops_t;
HSATOOL_CHECK(hsatool_call_ops_t, exit);

/* ------------------------------------------------------------------------------------------------------ */
/* Packets before a device reads them. */

typedef struct hsatool_queue {
  uint64_t struct_size;
  const hsa_queue_t* queue; /* the application's */
  hsa_agent_t agent;
  uint64_t id; /* hsa_queue_t.id, unique in the process */
} hsatool_queue_t;
HSATOOL_CHECK(hsatool_queue_t, id);

/* Forwards packets to the next tool, or after the last tool to the device. Valid during submit, on its
 * thread. */
typedef struct hsatool_writer {
  uint64_t struct_size;
  void* self;
  /* Copies and forwards `count` packets of 64 bytes; `count` may be 0. May be called any number of times. */
  void (*write)(void* self, const void* packets, uint64_t count);
} hsatool_writer_t;
HSATOOL_CHECK(hsatool_writer_t, write);

/* A queue for which a tool's `wants` returns nonzero is an intercepted queue: the thread that rings the
 * doorbell copies the application's ring to the ring that the device reads. The order of packets and their
 * completion signals are preserved. Tools may forward more or fewer packets than the application has written;
 * the runtime keeps packets that do not fit yet and submits them later. Within submit, use only the writer to
 * submit packets to the queue. */
typedef struct hsatool_packet_ops {
  uint64_t struct_size;
  /* Returns nonzero to receive packets of this queue. Called when the queue is created, before the
   * application has its handle. Null: all queues. */
  int32_t (*wants)(void* tool, const hsatool_queue_t* queue);
  /* Receives `count` consecutive packets that the application or the preceding tool has written. `index` is
   * the index of the first one in the application's queue. The tool forwards with `writer` the packets to be
   * executed. A packet that it does not forward is dropped, and the tool must complete its completion signal.
   *
   * The runtime numbers forwarded packets in order with the indices of the received packets; extra packets
   * get the last index. The following tools and `done` receive these indices. They are exact if the tool
   * forwards each packet once and in order. After a dropped, added or delayed packet, an index may belong to
   * another packet of the same submit. */
  void (*submit)(void* tool, const hsatool_queue_t* queue, const void* packets, uint64_t count,
                 uint64_t index, const hsatool_writer_t* writer);
} hsatool_packet_ops_t;
HSATOOL_CHECK(hsatool_packet_ops_t, submit);

/* ------------------------------------------------------------------------------------------------------ */
/* Completed activities of devices. */

enum {
  HSATOOL_ACTIVITY_DISPATCH = 1u << 0, /* a kernel dispatch packet of any queue */
  HSATOOL_ACTIVITY_BARRIER = 1u << 1,  /* a barrier-AND, -OR or -value packet */
  HSATOOL_ACTIVITY_COPY = 1u << 2 /* hsa_amd_memory_async_copy, _on_engine, _rect; each copy of _batch_copy */
};

typedef struct hsatool_activity {
  uint64_t struct_size;
  uint32_t kind; /* one of HSATOOL_ACTIVITY_ */
  uint32_t reserved0;
  uint64_t begin; /* ns, in the time domain of HSA_SYSTEM_INFO_TIMESTAMP; 0 if the device reported none */
  uint64_t end;   /* ns */
  /* Id of the call that submitted it (a store to a doorbell, a copy); 0: no tool received it. */
  uint64_t call;
  hsa_agent_t agent; /* the agent of the activity; 0 if unknown */
  /* Packets. */
  uint64_t queue_id;  /* hsa_queue_t.id; 0 for a copy */
  uint64_t index;     /* in the application's queue */
  const void* packet; /* as the device received it, 64 bytes; null for a copy */
  /* Copies. */
  hsa_agent_t source;
  hsa_agent_t destination;
  uint64_t bytes;
  /* ABI 1.1. The signal of the application, which is decremented after the tools have been notified; 0:
   * none. */
  hsa_signal_t completion;
} hsatool_activity_t;
HSATOOL_CHECK(hsatool_activity_t, completion);

/* If a tool receives a kind of activity, the runtime substitutes the completion signals of such work. It
 * updates the signals of the application, time stamps included, after it has notified the tool. */
typedef struct hsatool_activity_ops {
  uint64_t struct_size;
  /* Returns the kinds that the tool receives, bits HSATOOL_ACTIVITY_. Called once, after load. */
  uint32_t (*wants)(void* tool);
  /* Reports a completed activity, on a thread of the runtime, before the application is notified. It must
   * return quickly and must not wait for the device or the application. */
  void (*done)(void* tool, const hsatool_activity_t* activity);
} hsatool_activity_ops_t;
HSATOOL_CHECK(hsatool_activity_ops_t, done);

/* ------------------------------------------------------------------------------------------------------ */

/* Receives the errors in a tool's options, one call per error. The text starts with the JSON pointer of the
 * option, as in "/file: is empty". The runtime prepends the configuration file and the pointer of the
 * options. */
typedef struct hsatool_mistakes {
  uint64_t struct_size;
  void* self;
  void (*add)(void* self, hsatool_str_t text);
} hsatool_mistakes_t;
HSATOOL_CHECK(hsatool_mistakes_t, add);

typedef struct hsatool_plugin {
  uint64_t struct_size;
  uint32_t abi_major; /* HSATOOL_ABI_MAJOR that the tool was built with */
  uint32_t abi_minor; /* HSATOOL_ABI_MINOR that the tool was built with */
  hsatool_str_t name;
  hsatool_str_t version;
  uint32_t sanitizer; /* HSABE_SANITIZER */
  uint32_t reserved0;
  /* Starts the tool. *tool is passed to all other functions. */
  hsatool_status_t (*load)(const hsatool_host_t* host, void** tool);
  /* Stops the tool. May be null. */
  void (*unload)(void* tool);
  const hsatool_call_ops_t* calls;          /* optional */
  const hsatool_packet_ops_t* packets;      /* optional */
  const hsatool_activity_ops_t* activities; /* optional */
  /* Optional; since 1.2. Reports all errors in options of the form of hsatool_host_t.config. It is called
   * before any tool is loaded, also if another error stops hsa_init, so that the user receives all errors at
   * once. A tool with invalid options is not loaded. The function depends on the options only and does not
   * call the API. Load reports errors of the environment, such as a file that cannot be opened. Runtimes
   * before 1.2 do not call the function, so load must check the options too. */
  void (*check)(hsatool_str_t config, const hsatool_mistakes_t* mistakes);
} hsatool_plugin_t;
HSATOOL_CHECK(hsatool_plugin_t, check);

/* The only export of the module. Pure and re-entrant. Returns static storage, or null if the module does not
 * support a host of this version. */
typedef const hsatool_plugin_t* (*hsa_tool_query_v1_fn)(uint32_t host_abi_major, uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif

#endif /* HSA_PLUGIN_HSA_TOOL_H_ */
