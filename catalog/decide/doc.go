// Package decide says what to do about a workload. It changes nothing.
//
// A workload opts in by an annotation. Its record, two more annotations, has a checksum of what its containers see of
// each config, and the basis: when it was written, for which pod template, and by which filter, that is, by which
// annotations that select configs and keys. A config that is gone keeps its checksum. A record is trusted if this
// controller, in whichever process, wrote it for the present pod template. The outcomes:
//
//	keep       leave the workload as it is
//	record     write the record. If it is trusted and says the same already, that is keep
//	restart    write the record, and restart the pods
//	ask        ask the pods of the present template ([ByPods]), or the configs, before one of the others
//
// # The order of the questions
//
//	too many references, or being deleted           keep
//	a record of the original is unsettled           ask the configs, then begin again
//	a restart was reverted                          ask the pods
//	no trusted record, and nothing can be missed    record
//	no trusted record otherwise                     ask the pods
//	the content differs from the record             restart; if the workload may have wanted no pods since, ask the pods
//	a config is not in the record, and was edited   ask the pods
//	files were rotated                              ask the pods
//	the content differed since the record           ask the pods
//	the method changed during a restart             ask the pods
//	a config is gone whose content had differed     keep: a record would forget the difference
//	otherwise                                       record
//
// An ordinary edit restarts without a look at the pods: those from before it are stale, and any that started since then
// restart once more. Of the pods that are asked, one that is stale is enough to restart. If none is, the last two rows
// decide, and the pods are verified: they have read what is recorded.
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
//	a recorded config that is created    from the record until then, if no watch showed how it went, and all references
//	clearly after the record             are optional
//	a mark of what the watch did not     from its beginning until the last edit that the watch showed
//	show
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
// Those that end after the record or, without one, after the opt-in (counting.go):
//
//	what the watch showed                       by the order in which it showed the end, and the record or opt-in
//	what no watch showed                        by the dates
//	with a record of another process            by the order or by the dates, until the pods are verified, because the
//	                                            watch of workloads may show the record late; then by the order
//	what was shown before the opt-in            if it is dated more than a second after it: two watches may show
//	                                            events in another order than they happened
//	content that was there when the record      if it outlasted that moment
//	was made, or when the pods were verified
//
// The API server dates neither removals nor deletions: they count from when the watch showed them. If that was more than
// a second after the key or config was back by its date, the watch was behind, and they count from the last date before.
// Content that came and went while no watch showed it, and of which no mark tells, is missed.
//
// If another process made the record with a restart, all pods of the template are younger than the record. So content
// that had gone before was read by none. If the watch showed its end only after the record, the two dates must be more
// than a second apart: dates of the API are whole seconds. Within a second, the record itself tells if the content had
// come more than a second before: had it still been there, it would be in the record. If it came within that second, too,
// nothing tells, and pods that may have read it restart.
//
// A config can be ignored by an annotation of its own. Then it is not in the record, and only edits count that came after
// it counted again.
//
// A restart by eviction, another method, leaves the pod template as it is, and pods older than the record are evicted one
// by one. They do not count, unless the method changes before they are gone: until then, the record says that such a
// restart is under way.
//
// A record has room for a limited number of checksums. A config without one is treated as one that has appeared.
//
// # When pods read
//
// Pods of the present template count that neither terminate nor have finished. A container reads its environment when
// it starts, and a pod its volumes when it starts. A container that waits has read nothing yet, and neither has a pod
// whose volumes are not in place. Without the condition PodReadyToStartContainers, volumes count as read when the pod
// was accepted. Of a pod with more than 8 containers that matter, only the first and the last start are known.
//
// A read within a second of the end of an interval is in it, unless the watch showed that end before the pod template:
// then all pods of the template are younger. The exception is a config that was created within a second of its pods'
// start while no controller watched: a release created both, and the config came first.
//
// # Records of others
//
// A record that another process made may be ahead of this one's watch of configs. So a difference from it is [Unconfirmed]
// until the caller has listed the configs by name and found the same content.
//
// A mark, in a record, says since when content differed while a restart was put off; not of which config, nor until
// when. A process that wrote it, or has seen such a difference begin no later, knows both, unless the mark says that no
// watch had shown all of it begin. Any other process takes all pods from then on for stale, until the last edit that its
// watch showed.
//
// The original is the controller that this one replaces. Its record has no basis, and is unsettled until its checksums
// are compared with the configs. Equal content needs no restart, except for edits of binaryData, which the original left
// out. With other content, any pod that has read the config is stale, whenever it started: such a record does not say
// when it was written. For a config that is not in the record, only edits that a watch showed count, because the original
// looked at fewer references.
//
// # Records of another filter
//
// A key that the record covers is compared with it, whatever the filter was in between. A difference counts if it
// concerns a key that counts now, or if nobody knows which key it concerns. Of a key that the record does not cover, edits
// count that came after the first change of the filter since the record: before that, the key did not count. Without a
// trusted record, all edits of what counts now do. If a required config is gone and its former content is not known, the
// record keeps its filter: only by that can the content be compared later.
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
// with edited content. So the pods are asked, as without a record; those from before the record are stale, too.
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
