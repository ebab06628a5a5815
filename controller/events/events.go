package events

// The reasons of Events. Each comment begins with the type of the Event and says when it is sent; docs/events.md is made
// from them.
const (
	// Warning: a bug. The controller leaves the object alone until it changes; the log has the details.
	InternalError = "InternalError"
	// Normal: a restart begins. The text names the configs and keys that changed.
	Restarting = "Restarting"
	// Warning: a restart is put off because the configs of the workload keep changing. The text says until when, and who
	// writes them.
	Backoff = "RestartBackoff"
	// Warning: an annotation or a label cannot be used or has no effect. The text says what is probably meant, and what
	// counts instead.
	Invalid = "InvalidAnnotation"
	// Warning: a config or key that pods need to start has not existed for 10 seconds. Pods that run go on, but no new one
	// starts, and restarts for other configs wait.
	Missing = "MissingConfig"
	// Normal: nothing is missing any more after MissingConfig.
	Found = "ConfigFound"
	// Warning: Reloader or wave has left something behind that keeps pods from starting. Only with --understand.
	LeftBehind = "LeftBehind"
	// Warning: the workload, or its namespace, has too many references to configs, so edits do not restart it.
	TooMany = "TooManyReferences"
	// Normal: a config has changed, and the workload wants no pods. Sent once until it has had pods again.
	NothingRuns = "NothingToRestart"
	// Normal: a dry run would restart the workload.
	WouldRestart = "WouldRestart"
	// Warning: the restart or the record cannot be written. The text has the error and what helps. Sent at once if the
	// failure lasts, otherwise from the third attempt on.
	RestartFailed = "RestartFailed"
	// Warning: the workload has lost its opt-in. The text names the last writer, if the API shows it.
	Disabled = "RestartDisabled"
	// Warning: another client has removed the restart timestamp or set it back. The text names it, as far as the API shows
	// it, and what the controller does.
	Reverted = "RestartReverted"
	// Warning: another client keeps removing or replacing the record, so the controller writes it less often.
	Undone = "RecordUndone"
	// Warning: the pods do not run after a restart, although they did before. Also on the config. The text says which
	// container fails, for which change, who made it, and how to look.
	NotDelivered = "RestartNotDelivered"
	// Normal: the workload runs again after a restart that failed.
	Recovered = "RestartRecovered"
	// Normal: a hold, a halt, a window or a missing config keeps a restart from beginning; after 5 minutes also an earlier
	// wave. Repeated every 50 minutes. The text has the command that releases a hold.
	Held = "RestartHeld"
	// Normal: a halt is over, on its config; and on a workload, what RestartHeld or RestartFailed said is over.
	Resumed = "RestartsResumed"
	// Warning: on a config: its content has broken a workload, so it restarts no others. The text has the command that
	// resumes. Repeated every 50 minutes.
	Halted = "RestartsHalted"
	// Warning: a pod cannot be evicted. Repeated every 50 minutes until one is.
	NotEvicted = "PodNotEvicted"
	// Normal: on a config: how far its fan-out has come, at most once a minute, and how it ended.
	FanOut = "FanOut"
	// Warning: the object cannot be restarted, and why, such as a pod template that is in another object.
	NotSupported = "NotSupported"
	// Warning: a ControllerRevision cannot be read, so the pods count as if they were from the present pod template.
	Unread = "RevisionNotRead"
	// Warning: on the ConfigMap of halts: an entry cannot be read, so nothing is held by it.
	EntryNotRead = "EntryNotRead"
)

// Lasting are those of Events about what lasts until a person changes it.
var Lasting = []string{Invalid, Missing, LeftBehind, TooMany, NothingRuns, NotSupported, EntryNotRead}
