// Package decide says what to do about a workload: keep it as it is, record, restart, or ask its pods or its configs
// first. It changes nothing.
//
// [Decide] needs only the view; [ByPods] also needs the pods of the present template.
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
//	otherwise                                       record, which changes nothing if nothing differs
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
// Of these, only what counts ends in the decision: what came after the record or, without one, after the opt-in, and by the
// filters; see counts.go. The edits that ended the intervals are the causes of the restart.
//
// The stories in testdata/stories draw each of these on a line of time, with what is decided. Read them first:
//
//	second           0     10    58  59.5  60  70  80  80.5  82
//	web:a            1                     2       1
//	record                 made
//	pod                          k   R         R       R     k
//
// The ConfigMap web had 1, was recorded, had 2 from second 60 to 80, and has 1 again. A pod that started at second 70
// restarts (R), one from second 82 is kept (k), and where clocks cannot tell, it restarts.
//
// # When pods read
//
// Pods of the present template count that neither terminate nor have finished. A container reads its environment when
// it starts, and a pod its volumes when it starts. A container that waits has read nothing yet, and neither has a pod
// whose volumes are not in place. Without the condition PodReadyToStartContainers, volumes count as read when the pod
// was accepted. Of a pod with more than 8 containers that matter, only the first and the last start are known.
//
// Within a second of the end of an interval, the order of the watches decides. If it is not known, the workload restarts.
// The exception is a config that was created within a second of its pods' start while no controller watched: a release
// created both, and the config came first.
//
// # Which is newer, the record or the config?
//
// A record that another process made may be ahead of this one's watch of configs. So such a difference is
// [Unconfirmed] until the caller has listed the configs by name and found the same content.
//
// # Content that comes back
//
// If the content is right, but keys that the workload sees had another content since the record, pods that read them
// then are stale. Content that was there when the record was made counts if it outlasted that moment. For a record of
// another process, content after written counts as well, until the pods turn out to be fine: the watch of workloads
// may have been late.
//
// If another process made the record with a restart, content that had gone before written does not matter, since all
// pods of the template came later. If the watch showed the end after the record, the times must be more than a second
// apart; otherwise content that came a second before the record and is not in it had gone.
//
// A mark says only since when content differed, not of which config, nor until when. A process whose watch did not
// show the end takes all pods since then for stale.
//
// # Other filters
//
// If another filter made the record, each config is compared by that one. A difference counts if it concerns a key
// that counts now, too, or if nobody knows which key it concerns. For keys that the record does not cover, edits count
// after the filter first changed. Without a trusted record, all edits of what counts now do. If a required config is
// gone and its former content is not known, the record keeps its filter: only by that can the content be compared
// later.
//
// # Reverted restarts
//
// Pods that read a config before written have not seen the recorded content: restart again. If there are none, record.
// While a recorded config is gone, restart only for a stale pod, and otherwise keep the record: after a needless
// restart, no pod might be able to start.
//
// # Workloads without pods
//
// Pods of a workload that wants none may stay if it is scaled up soon, and pods that it wants again may have started
// with edited content. So both times decide, that of the edit and that of the record.
//
// # The original's records
//
// Equal content needs no restart, except for edits of binaryData, which the original left out. Other content restarts,
// whenever the pods started. For a config that is not in the record, only edits that a watch showed count, because the
// original looked at fewer references.
//
// # Rotated files
//
// A pod is stale if its status says something else than when it started, or did in between. A rotation counts if a
// watch showed it while the workload read the class, or if it is later than the time in the record.
package decide
