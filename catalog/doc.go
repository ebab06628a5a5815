// Package catalog holds what the restart controller knows and how it decides,
// as values: no client, no clock, no context, no log. Time comes in as an
// argument, API objects come in and are reduced, decisions come out.
//
// Vocabulary:
//
//   - A config is a ConfigMap or a Secret. The catalog knows the checksum of
//     each of its keys, never its data.
//   - A workload is a Deployment, StatefulSet or DaemonSet that opted in. Only
//     such workloads are in the catalog.
//   - A reference is one way in which a workload's pod template makes a
//     container read a config, with the keys that the container sees.
//   - The record is what the controller wrote to a workload: the checksums that
//     its pods are known to run with, and what they rest on (the basis). A
//     record is trusted if its basis still holds. Its checksums of Secrets can
//     only be read with the key that it was made with.
//   - An earlier record was made in another way, by the original controller or
//     an early version: it shows whether the content is still the same.
//   - A decision says what to do about a workload: keep, record, restart, or
//     ask its pods or its configs first.
//
// Values handed out by a [Catalog] are shared and must not be modified. A
// Catalog may be used by several goroutines at once; the functions of this
// package are pure.
package catalog
