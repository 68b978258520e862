#!/bin/sh
# One model on several hosts. Run this on each of them, with the same token:
#
#   export MOTLEY_TOKEN=$(openssl rand -hex 16)       # once; the same on every host
#   ./05_multi_host.sh 10.0.0.1 3 0 ./01_own_model    # on 10.0.0.1, the host of rank 0
#   ./05_multi_host.sh 10.0.0.1 3 1 ./01_own_model    # on the second one
#   ./05_multi_host.sh 10.0.0.1 3 2 ./01_own_model    # on the third one
#
# PROCESSES is how many each host starts (default 1), PORT where they meet (default 29500). Under
# Slurm or mpirun the program needs none of this: `srun ./01_own_model`.
set -eu
[ $# -ge 4 ] || { echo "usage: $0 HOST_OF_RANK_0 HOSTS THIS_HOST PROGRAM [ARGS]" >&2; exit 2; }
master=$1 hosts=$2 this=$3
shift 3
exec "${MOTLEY:-motley}" launch -n "${PROCESSES:-1}" --nnodes "$hosts" --node-rank "$this" \
  --master-addr "$master" --master-port "${PORT:-29500}" -- "$@"
