package overview

// State is what a workload is in, as far as the cluster shows.
type State string

// The states, in the order in which they matter.
const (
	// Failed means that the pods do not run after a restart.
	Failed State = "failed"
	// Lacking means that a config does not exist that new pods need to start.
	Lacking State = "lacking"
	// NotApplied means that a restart is due, and an Event says why the last attempt failed. Whether another one follows is not
	// known.
	NotApplied State = "not applied"
	// Held means that a restart is due, and a person or a window keeps it from beginning.
	Held State = "held"
	// Slowed means that a restart is due, and is put off because the configs keep changing.
	Slowed State = "slowed"
	// Waiting means that a restart is due, and waits for others.
	Waiting State = "waiting"
	// Behind means that a config has been edited since the record was made, and nothing shows that anybody acts.
	Behind State = "behind"
	// Unknown means that there is no record that says what the pods have read, or no status that says whether they run, or that
	// the caller may not read what the workload reads.
	Unknown State = "unknown"
	// LeftAlone means that no config change restarts the workload, although it is enabled.
	LeftAlone State = "left alone"
	// Unready means that no restart is known to be due, and not all pods run.
	Unready State = "unready"
	// Rolling means that not all pods run yet after a restart.
	Rolling State = "rolling"
	// OnHold means that a hold is set, and no restart is known to be due.
	OnHold State = "on hold"
	// Settled is the state of all others, which are counted only.
	Settled State = "settled"
)

var states = []State{Failed, Lacking, NotApplied, Held, Slowed, Waiting, Behind, Unknown, LeftAlone, Unready, Rolling, OnHold, Settled}
