/* The tool ABI: what a tool plugin of Rigel provides, and what the runtime provides to it.
 *
 * A tool is a shared library that sees calls of the API, packets on their way to a device, and what devices
 * have done. The configuration file names it (docs/guide/tools.md). It exports one function, `hsa_tool_query_v1`,
 * which returns a constant table of functions in groups; a group that is null is a thing that the tool does
 * not do, and costs nothing. The libraries that ROCr's tools are made of, with OnLoad and OnUnload, are
 * another matter: see <hsa/hsa_api_trace.h>.
 *
 * The header is C11 and C++20. hsa_tool.hpp beside it helps in C++.
 *
 * Rules of the line between runtime and tool
 *   Versions   The major version is part of the symbol's name. Within a major version structs only grow, at the
 *              end: nothing before moves. The side that fills a struct sets `struct_size`; the side that reads it
 *              asks HSATOOL_HAS before touching a field that the first version did not have.
 *   Types      Fixed-width integers, sized strings and pointers. No C++ types, exceptions, errno or FILE.
 *   Ownership  Each side frees what it made. Everything reachable from hsatool_plugin_t lives as long as the
 *              module, and modules are never unloaded. What is passed to a callback is valid for the call.
 *   Errors     load returns a value of hsa_status_t; the text that explains a failure is given to
 *              `host->services->report` before. Callbacks return no errors.
 *   Threads    load and unload: never two at once for one tool. check: any thread. Callbacks: on whatever
 *              thread the application or the runtime happens to be, many at once. The runtime holds no lock
 *              while it calls, except that `submit` is called by one thread at a time for one queue.
 *   Calls      A callback may call the API. Through `host->tables` such a call goes past all tools; a call of the
 *              exported functions from within a callback does too, as far as tools of this ABI are concerned. The
 *              calls of threads that the tool has started itself are like the application's: use `host->tables`.
 *   Exceptions must not cross the line. A load or check that throws has failed. Another callback that throws is
 *              logged, and nothing of that tool is called again but unload; of the packets that a submit was
 *              given, those go on that it has not handed on, as if it handed them on one for one.
 *   Fork       A forked child has no runtime, and so no callbacks. If it calls hsa_init, `load` is called again:
 *              keep state in what load makes, not in variables of the module.
 *   Changes    1.1: hsatool_activity_t.completion. 1.2: hsatool_plugin_t.check.
 *   Lifetime   load is called in the first hsa_init, when all agents are there; unload in the last hsa_shut_down,
 *              while they still are, and only if load has succeeded. Both may happen many times in a process. No
 *              callback begins after unload has been called; one that another thread is in goes on.
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

/* Where the field `last` of struct T ends. */
#define HSATOOL_END(T, last) (offsetof(T, last) + sizeof(((T*)0)->last))
/* Whether the struct at `p` was filled by somebody who knew the field `f`. */
#define HSATOOL_HAS(p, T, f) ((p)->struct_size >= HSATOOL_END(T, f))
/* No hidden padding at the end, where a later field could hide without the size showing it. */
#define HSATOOL_CHECK(T, last)                                                 \
  HSATOOL_STATIC_ASSERT(sizeof(T) == HSATOOL_END(T, last), #T " has padding"); \
  HSATOOL_STATIC_ASSERT(sizeof(T) % 8 == 0, #T " is not a multiple of eight bytes")

/* A status: a value of hsa_status_t. */
typedef int32_t hsatool_status_t;

/* Characters that need not end in a NUL. data may be null when size is 0. */
typedef struct hsatool_str {
  const char* data;
  uint64_t size;
} hsatool_str_t;
HSATOOL_CHECK(hsatool_str_t, size);

/* ------------------------------------------------------------------------------------------------------ */
/* The functions of the API, described. */

/* How to read an argument or a result: its size says how many bytes there are. */
enum {
  HSATOOL_KIND_NOTHING = 0,  /* void */
  HSATOOL_KIND_SIGNED = 1,   /* a signed integer */
  HSATOOL_KIND_UNSIGNED = 2, /* an unsigned integer */
  HSATOOL_KIND_BOOLEAN = 3,
  HSATOOL_KIND_ENUM = 4,   /* a C enumeration: 4 bytes, the type tells which */
  HSATOOL_KIND_STATUS = 5, /* hsa_status_t */
  HSATOOL_KIND_HANDLE = 6, /* a struct of one 64-bit word: hsa_agent_t, hsa_signal_t, hsa_region_t, … */
  HSATOOL_KIND_TEXT = 7,   /* const char*, ends in a NUL; may be null */
  HSATOOL_KIND_POINTER = 8,
  HSATOOL_KIND_FUNCTION = 9, /* pointer to a function */
  HSATOOL_KIND_STRUCT = 10   /* any other struct, by value */
};

typedef struct hsatool_value {
  hsatool_str_t name; /* of the parameter; "" for a result */
  hsatool_str_t
      type;        /* as C writes it: "hsa_agent_t", "const void*", "hsa_status_t (*)(hsa_agent_t, void*)" */
  uint32_t kind;   /* HSATOOL_KIND_ */
  uint32_t offset; /* bytes from the beginning of the struct of arguments; 0 for a result */
  uint32_t size;   /* bytes */
  uint32_t reserved0;
} hsatool_value_t;
HSATOOL_CHECK(hsatool_value_t, reserved0);

/* One function of the API. `id` is one of HSATOOL_ID_ in hsa_tool_calls.h: it never changes its meaning.
 * Several exported names may be one function: hsa_signal_load_acquire is hsa_signal_load_scacquire. */
typedef struct hsatool_function {
  uint64_t struct_size;
  uint32_t id;
  uint32_t index; /* 0 to function_count - 1 of this runtime: for arrays */
  hsatool_str_t name;
  hsatool_value_t result;
  const hsatool_value_t* parameters;
  uint64_t parameter_count;
} hsatool_function_t;
HSATOOL_CHECK(hsatool_function_t, parameter_count);

/* ------------------------------------------------------------------------------------------------------ */
/* Host services: what the runtime does for a tool. `self` is passed back as first argument everywhere. */

enum { HSATOOL_LOG_ERROR = 0, HSATOOL_LOG_WARN = 1, HSATOOL_LOG_INFO = 2, HSATOOL_LOG_DEBUG = 3 };

typedef struct hsatool_services {
  uint64_t struct_size;
  /* Nonzero if a message of this level would be shown: ask before formatting. */
  int32_t (*log_enabled)(void* self, uint32_t level);
  /* One line, without a line break at its end. Any thread. */
  void (*log)(void* self, uint32_t level, hsatool_str_t text);
  /* In load: why it fails, a line of the discovery report. Later it is a warning in the log. */
  void (*report)(void* self, hsatool_str_t text);
  /* Nanoseconds in the system's time domain, that of HSA_SYSTEM_INFO_TIMESTAMP and of all times below. */
  uint64_t (*now)(void);
  /* The id of the call of the API that the calling thread is in, as seen by tools; 0: none. It is that of the
   * innermost call that any tool sees: see hsatool_call_t. */
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
  hsatool_str_t config; /* the tool's options: a JSON object; "{}" if there are none */
  /* An HsaApiTable (<hsa/hsa_api_trace.h>, for C++) of the runtime's own functions: calls go past all tools.
   * Not to be written to. Lives as long as the process, and answers NOT_INITIALIZED outside of load to
   * unload. */
  const void* tables;
  /* Every function that tools can see, by hsatool_function_t.index; the same for the whole life of the
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
  /* The same for all tools that see the call, and another than that of every other call of the process; it grows
   * within a thread. Calls that the application makes from within a callback of the API have ids of their own. A
   * tool of ROCr's ABI may call what it has replaced more than once for a call, and other functions before: then
   * those behind it see several calls of one id, or one whose id is less than the last. */
  uint64_t id;
  /* The id of the call that this one is made from within, by a callback of the application or by a replaced entry
   * of a tool of ROCr's ABI; 0: none. */
  uint64_t parent;
  /* hsatool_<function>_args_t of hsa_tool_calls.h. `enter` may change them, for the tools behind it and for
   * the runtime. What pointers among them point to is the application's. */
  void* arguments;
  /* The result, of the function's type; null if that is void. `exit` may change it. */
  void* result;
  /* The tool's own, for this call: 0 in enter, and in exit what enter has left there. */
  uint64_t data;
} hsatool_call_t;
HSATOOL_CHECK(hsatool_call_t, data);

enum {
  HSATOOL_GO_ON = 0,
  /* The call is answered: `enter` has stored the result. The tools behind and the runtime do not see it; the
   * exit of this tool and of those before it are called. */
  HSATOOL_ANSWERED = 1
};

/* Tools are called in the order of the configuration file on the way in, and the other way round on the way
 * out. Every enter that returns is followed by an exit on the same thread, unless the tool has been unloaded
 * in between (by that very call, as with the last hsa_shut_down) or the thread never comes back. Only
 * functions that the configuration's `intercept` names (all, if it is not given) and that `wants` wants are
 * intercepted; the others cost nothing. The first hsa_init is over before tools are there. */
typedef struct hsatool_call_ops {
  uint64_t struct_size;
  /* Whether the tool wants to see this function: nonzero for yes. Asked once for each, after load. Null: all.
   */
  int32_t (*wants)(void* tool, const hsatool_function_t* function);
  /* Before the call. May be null. Returns HSATOOL_GO_ON or HSATOOL_ANSWERED. */
  int32_t (*enter)(void* tool, hsatool_call_t* call);
  /* After the call. May be null. */
  void (*exit)(void* tool, hsatool_call_t* call);
} hsatool_call_ops_t;
HSATOOL_CHECK(hsatool_call_ops_t, exit);

/* ------------------------------------------------------------------------------------------------------ */
/* Packets on their way to a device. */

typedef struct hsatool_queue {
  uint64_t struct_size;
  const hsa_queue_t* queue; /* the application's */
  hsa_agent_t agent;
  uint64_t id; /* hsa_queue_t.id: differs from every other queue's of the process */
} hsatool_queue_t;
HSATOOL_CHECK(hsatool_queue_t, id);

/* Hands packets on: to the next tool, or to the device after the last. Valid during submit, on its thread. */
typedef struct hsatool_writer {
  uint64_t struct_size;
  void* self;
  /* `count` packets of 64 bytes, which are copied. Any number, as often as one likes, also 0. */
  void (*write)(void* self, const void* packets, uint64_t count);
} hsatool_writer_t;
HSATOOL_CHECK(hsatool_writer_t, write);

/* A queue that a tool wants is an intercepted queue: the application's ring is copied to the one that the
 * device reads, by the thread that rings the doorbell. Order is kept, completion signals are the packets'
 * own, and there may be more packets or fewer than the application has written: those that do not fit yet are
 * kept and follow. Packets may not be submitted to the queue from within submit in any other way than with
 * the writer. */
typedef struct hsatool_packet_ops {
  uint64_t struct_size;
  /* Whether the tool wants to see packets of this queue, which has just been created and whose handle the
   * application does not have yet: nonzero for yes. Null: all. */
  int32_t (*wants)(void* tool, const hsatool_queue_t* queue);
  /* `count` packets, that the application (or the tool before) has written one after another; `index` is that
   * of the first in the application's queue. Hand on with `writer` whatever shall be executed: what is not
   * handed on is dropped, and its completion signal is the tool's affair.
   *
   * To the tools behind, and to `done`, what is handed on has the indices of what was given, in turn: the first
   * packet of a submit has that of the first, and so forth; those beyond the last have the last's. That is right
   * as long as packets are handed on one for one, at once or one by one. Behind one that is dropped, added or
   * kept for later, an index may be that of another packet of the same submit. */
  void (*submit)(void* tool, const hsatool_queue_t* queue, const void* packets, uint64_t count,
                 uint64_t index, const hsatool_writer_t* writer);
} hsatool_packet_ops_t;
HSATOOL_CHECK(hsatool_packet_ops_t, submit);

/* ------------------------------------------------------------------------------------------------------ */
/* What devices have done. */

enum {
  HSATOOL_ACTIVITY_DISPATCH = 1u << 0, /* a kernel dispatch packet of any queue */
  HSATOOL_ACTIVITY_BARRIER = 1u << 1,  /* a barrier-AND, -OR or -value packet */
  HSATOOL_ACTIVITY_COPY = 1u << 2 /* hsa_amd_memory_async_copy, _on_engine, _rect; each copy of _batch_copy */
};

typedef struct hsatool_activity {
  uint64_t struct_size;
  uint32_t kind; /* one of HSATOOL_ACTIVITY_ */
  uint32_t reserved0;
  uint64_t begin; /* ns, system's time domain; 0 if the device has not said */
  uint64_t end;   /* ns */
  uint64_t
      call; /* id of the call in which it was submitted (a doorbell's store, a copy); 0: no tool saw it */
  hsa_agent_t agent; /* that has done it; 0 where the runtime does not say */
  /* Packets. */
  uint64_t queue_id;  /* hsa_queue_t.id; 0 for a copy */
  uint64_t index;     /* in the application's queue */
  const void* packet; /* as it was handed to the device, 64 bytes; null for a copy */
  /* Copies. */
  hsa_agent_t source;
  hsa_agent_t destination;
  uint64_t bytes;
  /* ABI 1.1. The application's signal that follows when the tools have been told; 0: there is none. */
  hsa_signal_t completion;
} hsatool_activity_t;
HSATOOL_CHECK(hsatool_activity_t, completion);

/* While a tool wants a kind, the completion signals of such work are the runtime's own, and the application's
 * follow when the tool has been told: it may read times from its own as ever. */
typedef struct hsatool_activity_ops {
  uint64_t struct_size;
  /* The kinds that the tool wants, HSATOOL_ACTIVITY_ combined. Asked once, after load. */
  uint32_t (*wants)(void* tool);
  /* Something is over. On a thread of the runtime's, before the application learns of it: be quick, and do
   * not wait for the device or the application. */
  void (*done)(void* tool, const hsatool_activity_t* activity);
} hsatool_activity_ops_t;
HSATOOL_CHECK(hsatool_activity_ops_t, done);

/* ------------------------------------------------------------------------------------------------------ */

/* Receives what is wrong with a tool's options, one call a mistake. The text begins with the option's JSON
 * pointer in them, "/file: is empty", before which the runtime puts where they are in its file. */
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
  /* Starts the tool. *tool is passed to everything else. */
  hsatool_status_t (*load)(const hsatool_host_t* host, void** tool);
  /* Ends it. May be null. */
  void (*unload)(void* tool);
  const hsatool_call_ops_t* calls;          /* optional */
  const hsatool_packet_ops_t* packets;      /* optional */
  const hsatool_activity_ops_t* activities; /* optional */
  /* Optional; since 1.2. Says all that is wrong with options like those of hsatool_host_t.config. It is called
   * before any tool is loaded, and also where the runtime cannot start for another mistake, so that the user
   * reads of all mistakes at once. A tool whose options are wrong is not loaded. The function looks at the
   * options and nothing else: it does not call the API, and what only shows by being done, as that a file can
   * be opened, is for load to say. A runtime before 1.2 does not call it, so load looks at the options too. */
  void (*check)(hsatool_str_t config, const hsatool_mistakes_t* mistakes);
} hsatool_plugin_t;
HSATOOL_CHECK(hsatool_plugin_t, check);

/* The module's only export. Pure and re-entrant; returns static storage, or null if it cannot serve a host of
 * this version. */
typedef const hsatool_plugin_t* (*hsa_tool_query_v1_fn)(uint32_t host_abi_major, uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif

#endif /* HSA_PLUGIN_HSA_TOOL_H_ */
