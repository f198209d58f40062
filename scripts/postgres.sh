# A PostgreSQL of Debian's on a port of its own of loopback, with nothing kept: sourced by
# scripts that test against it. It sets SDLFILTER_TEST_POSTGRES and postgres_stop.

postgres_bin() {
  local dir
  for dir in /usr/lib/postgresql/*/bin; do
    [[ -x $dir/initdb ]] && printf '%s' "$dir" && return
  done
  return 1
}

# postgres_start DIR starts a server whose files lie in DIR.
postgres_start() {
  postgres_dir=$1
  if ! postgres_bin >/dev/null; then
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends postgresql
  fi
  local bin port
  bin=$(postgres_bin)
  # The server refuses to run as root.
  postgres_as=()
  if [[ $(id -u) = 0 ]]; then
    postgres_as=(setpriv --reuid=postgres --regid=postgres --init-groups env HOME="$postgres_dir")
    chown postgres: "$postgres_dir"
  fi
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  (cd "$postgres_dir" && printf 'of-the-tests' >password && chmod 644 password)
  (cd "$postgres_dir" && "${postgres_as[@]}" "$bin/initdb" -D data -U admin -A scram-sha-256 --pwfile=password -E UTF8 --locale=C.UTF-8 --no-sync >log 2>&1) || { cat "$postgres_dir/log"; return 1; }
  (cd "$postgres_dir" && exec "${postgres_as[@]}" "$bin/postgres" -D data -h 127.0.0.1 -p "$port" -c unix_socket_directories= -c fsync=off -c max_connections=100 >>log 2>&1) &
  postgres_pid=$!
  for _ in $(seq 1200); do
    "$bin/pg_isready" -q -h 127.0.0.1 -p "$port" && break
    kill -0 "$postgres_pid" 2>/dev/null || { cat "$postgres_dir/log"; return 1; }
    sleep 0.1
  done
  export SDLFILTER_TEST_POSTGRES="postgres://admin@127.0.0.1:$port/postgres" SDLFILTER_TEST_POSTGRES_PASSWORD=of-the-tests
}

# postgres_stop ends it at once, and all its connections.
postgres_stop() {
  [[ -n ${postgres_pid:-} ]] || return 0
  kill -QUIT "$postgres_pid" 2>/dev/null && wait "$postgres_pid" 2>/dev/null
  postgres_pid=
}
