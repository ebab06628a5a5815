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
finish() {
  status=$?
  if [ "$status" -eq 0 ] || [ ! -e "$work/present" ]; then
    rm -rf "$work"
  else
    echo "Nothing is revoked. Both credentials are valid; the earlier one is in $work/earlier. Delete $work in the end." >&2
  fi
}
trap finish EXIT

present() {
  kubectl get -n "$namespace" "secret/$secret" -o "go-template={{index .data \"$key\" | base64decode}}"
}

present >"$work/earlier"
"$create" >"$work/present"
printf '{"data":{"%s":"%s"}}' "$key" "$(base64 <"$work/present" | tr -d '\n')" >"$work/patch"
kubectl patch -n "$namespace" "secret/$secret" --type=merge --patch-file="$work/patch"

kubectl restarts wait -n "$namespace" "secret/$secret" --timeout="${TIMEOUT:-1h}"

# Somebody else may have written to the Secret, such as a tool that keeps it as it was.
present >"$work/read"
if ! cmp -s "$work/read" "$work/present"; then
  echo "$secret has another credential by now than the one that was created." >&2
  exit 1
fi
"$revoke" <"$work/earlier"
echo "The earlier credential of $secret is revoked."
