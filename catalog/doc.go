// Package catalog holds what the restart controller knows and how it decides,
// as values: no client, no clock, no context, no log. Time comes in as an
// argument, API objects come in and are reduced, decisions come out.
//
// Vocabulary:
//
//   - A config is a ConfigMap, a Secret or a SecretProviderClass. The catalog
//     knows the checksum of each key of the first two, never their data. Of the
//     last it knows only its mounts: for each pod, a checksum of which versions
//     of its objects are mounted there.
//   - A workload is a Deployment, a StatefulSet, a DaemonSet or an object of
//     another kind with a pod template that the controller was asked for, and
//     it opted in. Only such workloads are in the catalog.
//   - A reference is one way in which a workload's pod template makes a
//     container read a config, with the keys that the container sees.
//   - The record is what the controller wrote to a workload: the checksums that
//     its pods are known to run with, and what they rest on (the basis). A
//     record is trusted if its basis still holds. Its checksums of Secrets can
//     only be read with the key that it was made with.
//   - A record of the original controller shows whether the content is still
//     the same.
//   - A decision says what to do about a workload: keep, record, restart, or
//     ask its pods or its configs first.
//
// Values handed out by a [Catalog] are shared and must not be modified. A
// Catalog may be used by several goroutines at once; the functions of this
// package are pure.
package catalog
