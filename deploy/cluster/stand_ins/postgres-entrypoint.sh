#!/bin/bash
# What the manifests, Compose and the tests use of the official image: POSTGRES_DB, POSTGRES_USER,
# POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE, PGDATA, and a start as root.
set -e
if [ "$1" != postgres ]; then exec "$@"; fi
if [ -n "$POSTGRES_PASSWORD_FILE" ]; then
  POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
  export POSTGRES_PASSWORD
  unset POSTGRES_PASSWORD_FILE
fi
if [ "$(id -u)" = 0 ]; then
  # The file of the password may be readable for its owner and for root alone: it was read before.
  exec chroot --userspec=postgres --skip-chdir / "$0" "$@"
fi
user=${POSTGRES_USER:-postgres}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -D "$PGDATA" -U "$user" -A scram-sha-256 --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") \
    -E UTF8 --no-locale
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  if [ "${POSTGRES_DB:-$user}" != postgres ]; then
    echo "CREATE DATABASE \"${POSTGRES_DB:-$user}\"" |
      postgres --single -D "$PGDATA" postgres >/dev/null
  fi
fi
unset POSTGRES_PASSWORD
shift
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql "$@"
