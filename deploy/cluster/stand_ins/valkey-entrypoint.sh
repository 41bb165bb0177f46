#!/bin/sh
# The official image listens everywhere, without protected mode.
set -e
if [ "$1" = valkey-server ]; then
  shift
  exec valkey-server --bind 0.0.0.0 --protected-mode no "$@"
fi
exec "$@"
