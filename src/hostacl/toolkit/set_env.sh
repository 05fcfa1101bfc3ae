# Sets what builds and programs look for, as a CANN toolkit's set_env.sh does. Bash and zsh:  source "$(hostacl toolkit)/set_env.sh"

_hostacl_toolkit="$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)"

export ASCEND_TOOLKIT_HOME="$_hostacl_toolkit"
export ASCEND_HOME_PATH="$_hostacl_toolkit"
export ASCEND_HOME="$_hostacl_toolkit"
export ASCEND_DIR="$_hostacl_toolkit"
export ASCEND_OPP_PATH="$_hostacl_toolkit/opp"
export DDK_PATH="$_hostacl_toolkit"
export NPU_HOST_LIB="$_hostacl_toolkit/lib64"
case ":${LD_LIBRARY_PATH:-}:" in
    *":$_hostacl_toolkit/lib64:"*) ;;
    *) export LD_LIBRARY_PATH="$_hostacl_toolkit/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
esac
case ":$PATH:" in
    *":$_hostacl_toolkit/bin:"*) ;;
    *) export PATH="$_hostacl_toolkit/bin:$PATH" ;;
esac

unset _hostacl_toolkit
