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
trap 'rm -rf "$work"' EXIT

kubectl get -n "$namespace" "secret/$secret" -o "go-template={{index .data \"$key\" | base64decode}}" >"$work/earlier"
"$create" >"$work/present"
printf '{"data":{"%s":"%s"}}' "$key" "$(base64 <"$work/present" | tr -d '\n')" >"$work/patch"
kubectl patch -n "$namespace" "secret/$secret" --type=merge --patch-file="$work/patch"

# Both credentials are valid until here. If this fails, so does the script, and both stay so.
kubectl restarts wait -n "$namespace" "secret/$secret" --timeout="${TIMEOUT:-1h}"

"$revoke" <"$work/earlier"
echo "The earlier credential of $secret is revoked."
