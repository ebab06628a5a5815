// Package record reads and writes the record of a workload: what its pods are known to run with.
//
// It is two annotations: the checksums, and the basis on which they rest. A record can come from elsewhere or be
// outdated. It is trusted only if all of this is true:
//
//   - scheme is keyed-v2: other checksums cannot be compared.
//   - template is the fingerprint of the present pod template: new pods have read the configs as they were when they
//     started. The fingerprint leaves out what a restart sets there.
//   - checksums is the checksum of the checksums annotation. So the owner of the basis stands for both.
//   - The controller owns the basis, by an update.
//   - filter and ignored are in the form, and within the limits, that the controller writes.
//
// Other members: with another key, a record is trusted for its ConfigMaps only. written makes each basis a different
// value, without which the controller could not become the owner of values that another client wrote. Two records with
// the same written are the same write, whatever marks were added. Another timestamp in the template means that a
// restart was reverted. docs/annotations.md describes all of them.
//
// # States
//
//	none ---------> trusted          the first write
//	trusted ------> trusted          a restart, other content, another filter
//	trusted ------> contradicted     a restart is put off: the same written, and a mark, which may be moved back once
//	contradicted -> trusted          the restart, or pods that turn out to be fine
//	any ----------> not trusted      another template or writer; the pods decide
//
// # Schemes
//
// The scheme stands for the way in which checksums are computed, and for the keys that a reference selects. A new kind
// of reference to configs without an entry needs no new scheme: the pods decide about those. But if a version selects
// other keys of a config that has an entry, its workloads would restart at the upgrade; [KeyedScheme] says what to do.
//
// # What a record leaves out
//
// A config that is gone keeps its entry, because running pods still have its content. ignored names the configs, up to
// 512 bytes, that did not count, so that one that counts again is not taken for a new one. All annotations of an
// object may have 256 KiB: checksums that do not fit are left out, the last ones by name, and the pods decide about
// these. For a class of mounted files, the entry is a time: when the process that first wrote it first listed the
// statuses, or the last rotation that it knew. It stays the same in all later records.
//
// # The original's records
//
// A record of the original controller (1.3.0) is checksums without a basis, or with the basis of other checksums, by
// the same field manager. It is not trusted, but shows whether the content is still the same. Its digests cover data
// as a whole, so they can be computed only from the configs, which the caller reads and drops. A record of this
// controller that lost its basis looks like one, but still has our own checksums where nothing changed. Such entries
// are ignored.
package record
