#!/bin/sh
# What the manifests use of the official image: POSTGRES_DB, POSTGRES_PASSWORD_FILE, PGDATA.
set -e
if [ "$1" != postgres ]; then exec "$@"; fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -D "$PGDATA" -U postgres -A scram-sha-256 --pwfile="$POSTGRES_PASSWORD_FILE" -E UTF8 --no-locale
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  if [ "${POSTGRES_DB:-postgres}" != postgres ]; then
    echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA" postgres >/dev/null
  fi
fi
shift
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql "$@"
