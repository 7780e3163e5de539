#!/usr/bin/env bash
# rocminfo_gpus.sh <directory of libhsa-runtime64.so.1> <vgpu-run> <rigel-info>
# Debian's unmodified rocminfo lists virtual GPUs of three generations on this library, through the driver
# transport of vgpu-run and of the environment.
. "$(dirname "$0")/common.sh"
libdir=$1 vgpu_run=$2 info=$3
command -v rocminfo >/dev/null || skip "rocminfo is not installed"

run() { "$vgpu_run" --gpu gfx803,gfx900,gfx906,gfx1010,gfx1030 "$@" 2>&1; }
output=$(run rocminfo) || complain "rocminfo failed: $output"
for isa in gfx803 gfx900:xnack- gfx906:sramecc[-+]:xnack- gfx1010:xnack- gfx1030; do
  expect "$output" "amdgcn-amd-amdhsa--$isa" "an agent for $isa"
done
expect "$output" 'FLAGS: COARSE GRAINED' "their memory"
expect "$output" 'Device Type: +CPU' "the CPU agent"
expect "$(ROCR_VISIBLE_DEVICES=1 run rocminfo)" 'gfx900' "the GPU that is made visible"
hidden=$(ROCR_VISIBLE_DEVICES=1 run rocminfo)
[[ $hidden != *gfx803* ]] || complain "a GPU shows that ROCR_VISIBLE_DEVICES hides"
expect "$(HSA_OVERRIDE_GFX_VERSION_1=9.0.0 HSA_LOADER_DEBUG=none run "$info" --report)" \
  'kfd node 1.*treated as gfx version 9.0.0' "the overridden version in the report"
# Missing GPUs that were requested are reported.
said=$(HSA_XNACK=1 HSA_CU_MASK='0,1:0-3;4:0;7:1;2:' HSA_ENABLE_SDMA=off HSA_SCRATCH_SINGLE_LIMIT=1M HSA_MAX_QUEUES=few \
  HSA_LOADER_DEBUG=none run "$info" --report)
expect "$said" 'warning +config +HSA_XNACK: the driver rejects 1 ' "the refusal of XNACK"
expect "$said" "warning +config +HSA_CU_MASK: '2:': .*ignored" "the set that is none"
expect "$said" 'warning +config +HSA_CU_MASK: there is no GPU 7' "the GPU that is not there"
expect "$said" 'warning +config +HSA_CU_MASK: kfd node 5.*in groups of 2.*ignored' "the pair that would be split"
expect "$said" 'skipped +config +HSA_CU_MASK: kfd node 2.*: 4 of 64 compute units' "the mask that holds"
expect "$said" "warning +config +HSA_ENABLE_SDMA: invalid value 'off'" "the flag that is none"
expect "$said" "warning +config +HSA_SCRATCH_SINGLE_LIMIT: invalid value '1M'" "the number that is none"
expect "$said" "warning +config +HSA_MAX_QUEUES: invalid value 'few'" "the count that is none"
# In the same process, through the driver transport that the environment names.
inside=$(env LD_LIBRARY_PATH="$libdir" HSA_DRIVER=libhsa_driver_vgpu.so VGPU_GPUS=gfx1030 "$info" --report 2>&1)
expect "$inside" 'ok +driver +vgpu: amdkfd interface' "the transport"
expect "$inside" 'ok +device +kfd node 1' "its device"
finish
