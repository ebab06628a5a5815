#!/bin/sh
# Rotates a credential in a Secret, and revokes the earlier one when no pod uses it any more. See README.md.
set -eu

if [ $# -ne 5 ]; then
  echo "usage: $0 NAMESPACE SECRET KEY CREATE REVOKE" >&2
  exit 1
fi
namespace=$1 secret=$2 key=$3 create=$4 revoke=$5

# Secrets go through pipes and files that only this user can read, since anyone can see arguments.
umask 077
work=$(mktemp -d)
step=begin waiter=
finish() {
  status=$?
  [ -z "$waiter" ] || kill "$waiter" 2>/dev/null || true
  case $step in
  create) echo "$secret is as it was, and nothing is revoked. $create may have made a credential that nothing uses." >&2 ;;
  patch | back) echo "Nothing is revoked. Do not revoke the earlier credential, which pods may use: the one that was created is in $work/present. Delete $work in the end." >&2 ;;
  write) echo "Nothing is revoked. Both credentials are valid; the earlier one is in $work/earlier. Delete $work in the end." >&2 ;;
  revoke) echo "$revoke has not ended well, so the earlier credential may be valid. It is in $work/earlier. Delete $work in the end." >&2 ;;
  esac
  case $step in
  patch | back) rm -f "$work/earlier" "$work/patch" "$work/read" ;;
  write | revoke) rm -f "$work/present" "$work/patch" "$work/read" ;;
  *) rm -rf "$work" ;;
  esac
  exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

present() {
  kubectl get -n "$namespace" "secret/$secret" -o "go-template={{index .data \"$key\" | base64decode}}"
}

present >"$work/earlier"
readers=$(kubectl get -n "$namespace" "secret/$secret" -o 'jsonpath={.metadata.annotations.com\.xing\.deployment-restart\.readers}')
if [ -n "$readers" ]; then
  echo "$secret is shared with other namespaces, whose pods this script does not see. Nothing is done." >&2
  exit 1
fi

step=create
credential=$("$create") # without newlines at the end
printf %s "$credential" >"$work/present"
if [ -z "$credential" ] || cmp -s "$work/present" "$work/earlier"; then
  echo "$create has printed no other credential." >&2
  exit 1
fi

step=patch
printf '{"data":{"%s":"%s"}}' "$key" "$(base64 <"$work/present" | tr -d '\n')" >"$work/patch"
kubectl patch -n "$namespace" "secret/$secret" --type=merge --patch-file="$work/patch"

step=write
kubectl restarts wait -n "$namespace" "secret/$secret" --timeout="${TIMEOUT:-1h}" & # so that a signal ends it at once
waiter=$!
wait "$waiter"
waiter=

# Somebody else may have written to the Secret, such as a tool that keeps it as it was.
present >"$work/read"
if ! cmp -s "$work/read" "$work/present"; then
  if cmp -s "$work/read" "$work/earlier"; then
    step=back
  fi
  echo "$secret has another credential by now than the one that was created." >&2
  exit 1
fi

step=revoke
"$revoke" <"$work/earlier"
step=end
echo "The earlier credential of $secret is revoked."
