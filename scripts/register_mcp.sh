#!/bin/sh
# Register the advisors with Claude Desktop, or with the host that is named first.
#
#   scripts/register_mcp.sh                      Claude Desktop
#   scripts/register_mcp.sh cursor               another host
#   scripts/register_mcp.sh claude-desktop --remove
#
# Everything else is up to `clew setup`: it merges the entry, keeps a backup, and starts the server
# to see that it answers.
set -eu

case "${1:-}" in
    "" | -*) host=claude-desktop ;;
    *) host=$1; shift ;;
esac

beside=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)/.venv/bin/clew
clew=$(command -v clew || printf '%s' "$beside")
if [ ! -x "$clew" ]; then
    echo "register_mcp.sh: clew is not installed. Install it first: pip install clew" >&2
    exit 1
fi
exec "$clew" setup "$host" --face clariad "$@"
