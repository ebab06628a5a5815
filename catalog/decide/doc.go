// Package decide says what to do about a workload. It changes nothing.
//
// A workload opts in by an annotation. Its record, two more annotations, has a checksum of what its containers see of
// each config, and says when it was written and by which filter: the annotations that select configs and keys. A record
// is trusted if this controller wrote it for the present pod template. The outcomes:
//
//	keep       leave the workload as it is
//	record     write the record. If it is trusted and says the same already, that is keep
//	restart    write the record, and restart the pods
//	ask        ask the pods of the present template ([ByPods]), or the configs, before one of the others
//
// # The order of the questions
//
//	too many references, or being deleted           keep
//	a record of the original is unsettled           ask the configs
//	a restart was reverted                          ask the pods
//	no trusted record, and nothing can be missed    record
//	no trusted record otherwise                     ask the pods
//	the content differs from the record             restart; ask the pods if it wanted none since
//	a config appeared that pods may have missed     ask the pods
//	files were rotated                              ask the pods
//	the content differed since the record           ask the pods
//	the method changed during a restart             ask the pods
//	a config is gone whose content had differed     keep: a record would forget the difference
//	otherwise                                       record
//
// If a pod is stale, the workload restarts. If none is, it is as in the last two rows, and the pods are verified: they have
// read what is recorded.
//
// # Which pods are stale
//
// A pod is stale if it read a config while that had other content than now. Whatever is known gives an interval of time
// ([names.Interval]), and a pod that read in it is stale:
//
//	an edit                              until the edit
//	a trusted record of other content    until it was written
//	the original's record of such        always
//	content that came and went           from when it came until it went
//	a mark                               from its beginning until the last edit that the watch showed
//	a restart that was reverted          until its record was written
//	files rotated in a pod               until they were rotated; if they are back, while they were others
//
// No config, and no key, is content, too, for containers that start without it; for others it is none. An edit of a key
// that no container sees is none; environment variables do not see binaryData.
//
// The edits that ended the intervals are the causes of the restart. The stories in testdata/stories draw each of these on
// a line of time, with what is decided. Read them first:
//
//	second           0     10    58  59.5  60  70  80  80.5  82
//	web:a            1                     2       1
//	record                 made
//	pod                          k   R         R       R     k
//
// The key a of the ConfigMap web had 1, was recorded, had 2 from second 60 to 80, and has 1 again. A pod that started at
// second 70 restarts (R), one from second 82 is kept (k), and where clocks cannot tell, it restarts.
//
// # Which intervals count
//
// Those that end after the record or, without one, after the opt-in: in the order in which the watch showed both. Where
// that order is not known or may be wrong, the dates decide: for what no watch showed; for the record of another process,
// until the pods are verified, because the watch of workloads may have been late; and for an edit that was shown before
// the opt-in, but is dated more than a second after it. Content that was there when the record was made, or when the pods
// were verified, counts if it outlasted that moment. See counts.go.
//
// If another process made the record with a restart, all pods of the template are younger than the record. So content
// that had gone by then was read by none. If the watch showed the end only after the record, the dates decide. If they
// are within a second, the content had gone if it was a second old and the record lacks it.
//
// # When pods read
//
// Pods of the present template count that neither terminate nor have finished. A container reads its environment when
// it starts, and a pod its volumes when it starts. A container that waits has read nothing yet, and neither has a pod
// whose volumes are not in place. Without the condition PodReadyToStartContainers, volumes count as read when the pod
// was accepted. Of a pod with more than 8 containers that matter, only the first and the last start are known.
//
// A read within a second of the end of an interval is in it, unless the watch showed that end before the pod template.
// The exception is a config that was created within a second of its pods' start while no controller watched: a release
// created both, and the config came first.
//
// # Records of others
//
// A record that another process made may be ahead of this one's watch of configs. So a difference from it is [Unconfirmed]
// until the caller has listed the configs by name and found the same content.
//
// A mark, in a record, says since when content differed while a restart was put off; not of which config, nor until
// when. A process whose watch did not show the end takes all pods since then for stale.
//
// The original is the controller that this one replaces. Its record is unsettled until its checksums are compared with
// the configs. Equal content needs no restart, except for edits of binaryData, which the original left out. Other content
// restarts, whenever the pods started. For a config that is not in the record, only edits that a watch showed count,
// because the original looked at fewer references.
//
// # Records of another filter
//
// Each config is compared by the keys that the record covers. A difference counts if it concerns a key that counts now,
// too, or if nobody knows which key it concerns. Of keys that the record does not cover, edits count from after the first
// change of the filter since the record, even if the workload has the record's filter again. Without a trusted record,
// all edits of what counts now do. If a required config is gone and its former content is not known, the record keeps its
// filter: only by that can the content be compared later.
//
// # Reverted restarts
//
// Somebody took the restart timestamp back, so pods from before the record may run. A pod that read a config before that
// restarts. If there is none, record. A config that is gone restarts nobody for that, and until it is back, the record is
// kept: after a needless restart, no pod might be able to start.
//
// # Workloads without pods
//
// Pods of a workload that wants none may stay if it is scaled up soon, and pods that it wants again may have started
// with edited content. So both times decide, that of the edit and that of the record.
//
// # Rotated files
//
// A class of the Secrets Store CSI driver has content of its own in each pod, which its status tells. A pod is stale if
// that is something else than when it started, or was in between. A rotation counts if a watch showed it while the
// workload read the class, or if it is later than the time in the record.
//
// # Whether somebody has read it already
//
// While a restart waits, pods that start for other reasons read the content that it is to bring. [Exposure] finds that
// out: somebody read the newest content, and somebody, or the record, has other content.
package decide
