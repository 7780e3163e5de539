#!/usr/bin/env bash
# exports.sh <libhsa-runtime64.so> <api/entry/functions.inc>
# The library exports exactly ROCr's symbols (rocr_exports.txt, with its date), all in the version node
# ROCR_1.
. "$(dirname "$0")/common.sh"
library=$1 list=$2

# Columns of readelf: number, value, size, type, bind, visibility, section, name@@version.
exported=$(readelf --dyn-syms --wide "$library" | awk '$5 ~ /GLOBAL|WEAK/ && $7 != "UND" && NF >= 8 { print $8 }')
versions=$(sed -n 's/.*@@*//p' <<<"$exported" | sort -u)
names=$(sed 's/@.*//' <<<"$exported" | grep -vx ROCR_1 | sort)
[ "$versions" = ROCR_1 ] || complain "version nodes: $versions"
unversioned=$(grep -v @ <<<"$exported" | grep -vx ROCR_1 || true)
[ -z "$unversioned" ] || complain "without a version: $unversioned"

wanted=$(tr '\n' ' ' <"$list" | grep -oE 'RIGEL_API(_FORWARD|_UNAVAILABLE|_EXPORT_ONLY|_EXPORT_ONLY_UNAVAILABLE|_ALIAS)?\( *[a-z_0-9]+, *[a-z0-9_]+, *hsa_[a-z0-9_]+' |
  sed 's/.*[, ]//' | sort)
difference=$(diff <(grep -v '^#' "$(dirname "$0")/rocr_exports.txt" | sort) <(printf '%s\n_amdgpu_r_debug\n' "$wanted" | sort) || true)
[ -z "$difference" ] || complain "ROCr's exports (<) and the API's list (>) differ:"$'\n'"$difference"
difference=$(diff <(printf '%s\n_amdgpu_r_debug\n' "$wanted" | sort) <(printf '%s\n' "$names") || true)
[ -z "$difference" ] || complain "the list (<) and the library (>) differ:"$'\n'"$difference"
finish
