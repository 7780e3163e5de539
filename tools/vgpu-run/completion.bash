# Completion of vgpu-run's options and boards for bash.
_vgpu_run() {
  local cur prev words cword split
  _init_completion -s || return
  local at run=$1
  for ((at = 1; at < cword; ++at)); do
    case ${words[at]} in
      --gpu | --link | --log | --log-file | --runtime | --watchdog | --check-* | --error-exitcode | --padding | --quarantine | --profile-against | --profile-kernel | --profile-launch | --profile-queue | --require) ((++at)) ;;
      --*) ;;
      *) _command_offset "$at"; return ;;
    esac
  done
  local boards
  case $prev in
    --gpu)
      boards=$("$run" --list 2>/dev/null | awk '{ print $1; print $2 }' | sort -u)
      local before=""
      [[ $cur != *,* ]] || before=${cur%,*},
      mapfile -t COMPREPLY < <(compgen -P "$before" -W "$boards none" -- "${cur##*,}")
      compopt -o nospace
      return
      ;;
    --link) mapfile -t COMPREPLY < <(compgen -W "pcie xgmi none" -- "$cur"); return ;;
    --log)
      mapfile -t COMPREPLY < <(compgen -W "all none error warning info file ioctl memory event queue doorbell fault aql pm4 sdma dispatch" -- "$cur")
      return
      ;;
    --log-file | --check-log | --check-suppressions | --profile-against) _filedir; return ;;
    --watchdog) return ;;
    --check)
      mapfile -t COMPREPLY < <(compgen -W "all memory races sync waits" -- "${cur##*,}")
      return
      ;;
    --check-children) mapfile -t COMPREPLY < <(compgen -W "yes no" -- "$cur"); return ;;
    --require) mapfile -t COMPREPLY < <(compgen -W "exact" -- "$cur"); return ;;
    --profile-kernel | --profile-launch | --profile-queue | --check-kernel | --check-launch | --check-limit | --error-exitcode | --padding | --quarantine) return ;;
    --check-output) mapfile -t COMPREPLY < <(compgen -W "text json sarif" -- "$cur"); return ;;
    --runtime)
      mapfile -t COMPREPLY < <(compgen -W "rigel system" -- "$cur")
      _filedir
      return
      ;;
  esac
  $split && return
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$run" --help | grep -oE '^  --[a-z-]+')" -- "$cur")
  else
    _command_offset "$cword"
  fi
}
complete -F _vgpu_run vgpu-run
