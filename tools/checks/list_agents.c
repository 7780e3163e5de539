/* Prints "agent <number>: <type>, <name>" for each agent. Needs ROCr 5.2.3 and C99 only. */
#include <hsa/hsa.h>
#include <stdio.h>

static hsa_status_t print_agent(hsa_agent_t agent, void* data) {
  unsigned* number = (unsigned*)data;
  char name[64] = "";
  hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
  hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
  if (status != HSA_STATUS_SUCCESS) return status;
  status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (status != HSA_STATUS_SUCCESS) return status;
  printf("agent %u: %s, %s\n", (*number)++, type == HSA_DEVICE_TYPE_CPU ? "CPU" : "other", name);
  return HSA_STATUS_SUCCESS;
}

int main(void) {
  unsigned number = 0;
  hsa_signal_t signal = {0};
  if (hsa_init() != HSA_STATUS_SUCCESS) return 1;
  if (hsa_iterate_agents(print_agent, &number) != HSA_STATUS_SUCCESS) return 2;
  if (hsa_signal_create(3, 0, NULL, &signal) != HSA_STATUS_SUCCESS) return 3;
  hsa_signal_add_screlease(signal, 4);
  if (hsa_signal_load_scacquire(signal) != 7) return 4;
  if (hsa_signal_destroy(signal) != HSA_STATUS_SUCCESS) return 5;
  return hsa_shut_down() == HSA_STATUS_SUCCESS && number > 0 ? 0 : 6;
}
