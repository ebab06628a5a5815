// Package content has what is known of the content of configs. It never has their data.
//
// Vocabulary:
//
//   - A key has a checksum. The checksum of a config for a workload is made of the checksums of the keys that the
//     workload sees.
//   - An edit says when a key changed, as the watch showed it and by the API server's clock.
//   - A past content is content that a key, or the whole config, had for a while.
//   - An arrival is a config on its way into the catalog. It is compared before the catalog is locked: it may have
//     tens of thousands of keys and be edited in a loop.
//   - A mount is what the Secrets Store CSI driver reports of one pod and class.
//
// # Checksums
//
// Each key and each value is hashed together with its length, because joined strings collide: {a: "1;b=2"} with {a:
// "1", b: "2"}. Anyone can construct collisions of xxhash64, which hides an edit from the workloads that read the
// config, and harms nothing else. Whether a key is in data or binaryData does not matter: in a volume the file is the
// same.
//
// Whoever can read workloads, but no Secrets, could test guesses against a plain hash. So the checksum that is
// recorded for a Secret is an HMAC-SHA-256, cut to 64 bits, over the Secret's name and the names and checksums of the
// keys. Without that name the controller would be an oracle for anyone who can create Secrets and workloads.
//
// # When a config changed
//
// If a watch showed the change, at that time. If a list shows it after a gap, the managedFields date it if they can be
// right, and otherwise the time of the list counts. If no controller watched, the managedFields count if they are
// later than the creation. The creation is a change only for an optional reference that sees a key. A deleted config
// is no change: it stays, marked as deleted, while a workload references it.
//
// # Past contents
//
// Content that was there for a while is kept with the times at which it came and went: those of the API server if they
// are earlier than the watch showed them. Another write of the same manager can only move an end to a later time, so
// in doubt a workload restarts once too often. The absence of a whole config counts as content, too, for containers
// that can start without it, also until a creation that follows no deletion that a watch showed: if a config is recorded,
// it was gone. The API server does not date removals and deletions. If it dates the end more than
// a second before the watch showed the removal, that is late, and the key may have been gone since the last edit with a
// date before it.
//
// The history is bounded: 8 contents of each key, and 64 of each config. Older ones, and those of an edit of 64 keys
// or more, become one of unknown content, of up to 128 keys and then of all. What went before all records of the
// config's workloads were made is dropped two minutes later, which is longer than any request takes, when the config
// is edited again. Of a config that no workload reads, no past is kept. Of edits of removed keys, 32 are kept, and
// 1,000 edits in all; older ones become one edit of unknown keys.
//
// One list of edits in which each says what it ended would be 7% shorter. It was built and given up. The last edit of each
// key must outlive hundreds of edits of others, and contents must be forgotten as soon as no record needs them. Where one
// list drops an edit, it has to say for each key since when nothing is known, in the order of the watch and by the dates,
// which do not rise together: a removal has no date, and a late watch shows an edit after its end. Each mistake in that
// lost restarts.
//
// # Configs that do not count
//
// A config whose annotation "ignore" says so is ignored by all readers. Only edits after the removal of the annotation
// count, and one in the same write, unless only a list after a gap shows it: then nobody knows which came first. The
// mark has the same rules for workloads that let only marked configs count.
//
// # Mounted files
//
// A class is a config, too, because fan-outs and halts need one, but it is never compared with a record. A pod started
// with the first content that a watch showed. If a list shows a status that was written again after its creation
// (metadata.generation), nobody knows what it said before, and the managedFields date the last write. A rotation that
// no watch showed counts only if it came clearly after the first container started. If the first versions come back,
// the time in which they were gone is remembered, once for each pod.
package content
