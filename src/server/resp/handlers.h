// The handlers of commands. Each answers its request with exactly one reply.
//
// Thread rule: as RespCore. Tested by resp_commands_test.cc, resp_throttle_test.cc and
// resp_multi_test.cc.

#pragma once

#include "server/resp/resp_core.h"

namespace weir::resp {

// The version of Redis that the door claims to be: clients decide by it which commands to send. The
// commands that Weir knows behave as in 7.2.
inline constexpr std::string_view kRedisVersion = "7.2.0";

// throttle_commands.cc: checks that bring their own numbers.
void handle_cl_throttle(RespCore& core, RespRequest& request);
void handle_throttle(RespCore& core, RespRequest& request);

// rule_commands.cc: checks by a rule of the configuration.
void handle_hit(RespCore& core, RespRequest& request);
void handle_charge(RespCore& core, RespRequest& request);
void handle_drain(RespCore& core, RespRequest& request);
void handle_look(RespCore& core, RespRequest& request);
void handle_reset_key(RespCore& core, RespRequest& request);
void handle_hit_many(RespCore& core, RespRequest& request);
void handle_reserve(RespCore& core, RespRequest& request);
void handle_acquire(RespCore& core, RespRequest& request);
void handle_release(RespCore& core, RespRequest& request);
void handle_commit(RespCore& core, RespRequest& request);

// connection_commands.cc
void handle_ping(RespCore& core, RespRequest& request);
void handle_echo(RespCore& core, RespRequest& request);
void handle_hello(RespCore& core, RespRequest& request);
void handle_auth(RespCore& core, RespRequest& request);
void handle_select(RespCore& core, RespRequest& request);
void handle_quit(RespCore& core, RespRequest& request);
void handle_reset(RespCore& core, RespRequest& request);

// transaction_commands.cc
void handle_multi(RespCore& core, RespRequest& request);
void handle_exec(RespCore& core, RespRequest& request);
void handle_discard(RespCore& core, RespRequest& request);
void handle_watch(RespCore& core, RespRequest& request);
void handle_unwatch(RespCore& core, RespRequest& request);
void handle_atomic(RespCore& core, RespRequest& request);

// client_commands.cc
void handle_client_id(RespCore& core, RespRequest& request);
void handle_client_get_name(RespCore& core, RespRequest& request);
void handle_client_set_name(RespCore& core, RespRequest& request);
void handle_client_set_info(RespCore& core, RespRequest& request);
void handle_client_info(RespCore& core, RespRequest& request);
void handle_client_list(RespCore& core, RespRequest& request);
void handle_client_on_off(RespCore& core, RespRequest& request);  // accepted, without effect

// False if a client may not have this name: then this has answered.
bool set_name(RespCore& core, RespRequest& request, std::string_view name);

// node_commands.cc
void handle_info(RespCore& core, RespRequest& request);
void handle_config_get(RespCore& core, RespRequest& request);

// command_commands.cc
void handle_command(RespCore& core, RespRequest& request);
void handle_command_count(RespCore& core, RespRequest& request);
void handle_command_docs(RespCore& core, RespRequest& request);
void handle_command_info(RespCore& core, RespRequest& request);
void handle_command_list(RespCore& core, RespRequest& request);
void handle_help(RespCore& core, RespRequest& request);  // of any container

}  // namespace weir::resp
