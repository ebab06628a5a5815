// Package status describes what is under way: which workloads wait for a restart, roll or are held, how far the content
// of configs has come, and what became of the last restarts.
//
// No type has room for data of a config or for names of a Secret's keys, and all lists are short, however much is under
// way.
package status

import (
	"fmt"
	"time"
)

// Overview is what is under way, in the whole cluster or in one namespace.
type Overview struct {
	// Time is when the overview was made.
	Time time.Time `json:"time"`
	// Leads means that this process acts. Otherwise the overview has nothing but the leader's name,
	// which is empty if it is not known, and what this process knows.
	Leads  bool   `json:"leads"`
	Leader string `json:"leader,omitempty"`
	Knowledge
	DryRun bool `json:"dryRun,omitempty"`
	// AllHeld is why all restarts are held, empty if they are not.
	AllHeld string `json:"allHeld,omitempty"`
	// Namespace is the only one that the lists are about, empty if they are about all.
	Namespace string `json:"namespace,omitempty"`
	// Workloads and Configs are how many the controller knows in all namespaces.
	Workloads int `json:"workloads"`
	Configs   int `json:"configs"`

	// Kinds are those of workloads that the controller watches besides the ones that are part of Kubernetes.
	Kinds []Kind `json:"kinds,omitempty"`

	// The workloads by what they wait for. One that rolls may also wait for its next restart.
	Pending List[Entry] `json:"pending"`
	Waiting List[Entry] `json:"waiting"`
	Held    List[Entry] `json:"held"`
	Slowed  List[Entry] `json:"slowed"`
	Rolling List[Entry] `json:"rolling"`
	Failed  List[Entry] `json:"failed"`
	// Retrying workloads are those of which the last attempt failed.
	Retrying List[Entry] `json:"retrying"`
	// Lacking workloads are those whose new pods cannot start, whatever else they wait for. Only those that have failed are
	// in another list.
	Lacking List[Entry] `json:"lacking"`
	// Unready workloads wait for nothing, but not all of their pods run.
	Unready List[Entry] `json:"unready"`
	// LeftAlone workloads are enabled, but no config change restarts them.
	LeftAlone List[Entry] `json:"leftAlone"`

	// Mistakes are annotations and labels that have no effect, and values that cannot be used.
	Mistakes List[Mistake] `json:"mistakes"`

	FanOuts List[FanOut] `json:"fanOuts"`
	Halts   List[Halt]   `json:"halts"`
	// Holds are the workloads and configs whose annotations hold restarts, whether or not one is due.
	Holds List[Hold] `json:"holds"`
	// Restarts are the last ones, the latest first.
	Restarts List[Restart] `json:"restarts"`
	// Rollouts are those that the deployment engine drives, nil if it does not run or the overview is about one
	// namespace.
	Rollouts *Rollouts `json:"rollouts,omitempty"`
}

// Timeless returns the same without what changes although nothing happens.
func (o *Overview) Timeless() *Overview {
	timeless := *o
	timeless.Time, timeless.Knowledge = time.Time{}, o.timeless()
	return &timeless
}

// Kind is a kind of workload that the controller was asked to watch.
type Kind struct {
	// Workload is the kind as the flag names it, such as rollouts.v1alpha1.argoproj.io.
	Workload string `json:"workload"`
	// Missing means that it is not installed.
	Missing bool `json:"missing,omitempty"`
	// Unusable is how many workloads are enabled and cannot be restarted.
	Unusable int `json:"unusable,omitempty"`
}

// Mistake is what a person has got wrong on an object such as "deployment/namespace/name".
type Mistake struct {
	Object  string `json:"object"`
	Problem string `json:"problem"`
	Beginning
}

// Problem is why there is nothing to show of an object.
type Problem struct {
	Error string `json:"error"`
	Gaps  []Gap  `json:"gaps,omitempty"`
	// Mistake is that of the object, nil if none is known.
	Mistake *Mistake `json:"mistake,omitempty"`
	// FirstPage is the address of the first page of a list that has no such page as was asked for.
	FirstPage string `json:"firstPage,omitempty"`
}

// Beginning is since when something is there, as far as that is known.
type Beginning struct {
	Since time.Time `json:"since,omitzero"`
	// AtLeast means that it may have been there earlier.
	AtLeast bool `json:"atLeast,omitempty"`
}

// State is what a workload waits for.
type State string

// The states.
const (
	// Settled workloads wait for nothing, and nothing shows that pods of theirs do not run.
	Settled State = "settled"
	// Unready workloads wait for nothing, but not all of their pods run.
	Unready State = "unready"
	// LeftAlone workloads are those that no config change restarts, although they are enabled.
	LeftAlone State = "left alone"
	// Pending workloads wait for the end of their grace period.
	Pending State = "pending"
	// Deciding workloads are looked at, or wait until everything is known that a decision needs.
	Deciding State = "deciding"
	// Waiting workloads wait for other restarts.
	Waiting State = "waiting"
	// Held workloads wait for a person, or for a window of time.
	Held State = "held"
	// Retrying workloads could not be written or decided about, and are tried again.
	Retrying State = "retrying"
	// Slowed workloads have configs that keep changing.
	Slowed State = "slowed"
	// Rolling workloads replace their pods, and Soaking ones have not run for long after that.
	Rolling State = "rolling"
	Soaking State = "soaking"
	// Lacking workloads need a config or a key that does not exist, so that no new pod of theirs can start.
	Lacking State = "lacking"
	// Failed workloads do not run after their restart.
	Failed State = "failed"
)

// NotRestarted is how the Events begin that say why a workload is left alone.
const NotRestarted = "config changes do not restart this workload: "

// States are all states, in the order in which pages show them.
var States = []State{Settled, Soaking, Rolling, Deciding, Pending, Waiting, Slowed, Held, Unready, LeftAlone, Retrying, Lacking, Failed}

// Entry is a workload and what it waits for.
type Entry struct {
	Workload string `json:"workload"`
	State    State  `json:"state"`
	// Reason is why its restart may not begin, as in the metric of held workloads, or "eviction" if the restart has begun
	// and its next eviction waits.
	Reason string `json:"reason,omitempty"`
	// On is the config whose fan-out or halt it waits for. Text is why people hold it, whose window it waits for, what
	// its next eviction waits for, what the controller does not know yet, which config is missing, what is known of pods
	// that do not run, or why the workload is left alone and what to do.
	On   string `json:"on,omitempty"`
	Text string `json:"text,omitempty"`
	// Beginning is that of its waiting or rolling, or when its failure was seen; Restarted is when the restart that failed
	// began, zero for others. Until is when the next step is due; zero if that is not known.
	Beginning
	Restarted time.Time `json:"restarted,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	// Error is why the last attempt failed, and Attempts is how many have failed in a row. The next one is at Until. OnlyRecord
	// means that no restart failed, only a write of the record.
	Error      string `json:"error,omitempty"`
	Remedy     Remedy `json:"remedy,omitempty"`
	Attempts   int    `json:"attempts,omitempty"`
	OnlyRecord bool   `json:"onlyRecord,omitempty"`
	// Due says which restart is due besides what the workload lacks, and what it waits for; empty if none is known to be.
	Due string `json:"due,omitempty"`
	// For is what changed.
	For string `json:"for,omitempty"`
	// Exposed means that pods have read the new content already, although the restart waits.
	Exposed bool  `json:"exposed,omitempty"`
	Pods    *Pods `json:"pods,omitempty"`
}

// Pods is what the status of a workload says about its pods.
type Pods struct {
	Wanted    int `json:"wanted"`
	Updated   int `json:"updated"`
	Outdated  int `json:"outdated"`
	Available int `json:"available"`
}

// FanOut is how far one content of a config has come.
type FanOut struct {
	Config string `json:"config"`
	// Beginning is when its first restart was due, or when the edit was made if that was under a former leader.
	Beginning
	// Total is how many workloads take part: Delivered run with the content, Rolling restart for it,
	// and Waiting have not begun, Refused of them because the API server refused that. Unserved is how many have no restart any more: theirs has failed, said nothing, or was
	// not needed any more.
	Total     int `json:"total"`
	Delivered int `json:"delivered"`
	Rolling   int `json:"rolling"`
	Waiting   int `json:"waiting"`
	Refused   int `json:"refused,omitempty"`
	Unserved  int `json:"unserved"`
}

// Progress describes how far it has come, in the same words wherever that is said.
func (f *FanOut) Progress() string {
	text := fmt.Sprintf("%d of %d delivered, %d rolling, %d waiting", f.Delivered, f.Total, f.Rolling, f.Waiting)
	if f.Refused > 0 {
		text += fmt.Sprintf(" (refused when tried last: %d, see their Events RestartFailed)", f.Refused)
	}
	if f.Unserved > 0 {
		text += fmt.Sprintf(", %d failed or not needed", f.Unserved)
	}
	return text
}

// Halt stops the restarts for a content that has broken workloads.
type Halt struct {
	ID     string `json:"id"`
	Config string `json:"config"`
	// Keys are the halted keys; none means all of them. Those of a Secret are never named.
	Keys []string `json:"keys,omitempty"`
	// Failed are the first workloads that failed, and Held is how many others wait.
	Failed []string  `json:"failed"`
	Held   int       `json:"held"`
	Since  time.Time `json:"since"`
	// Command shows why a pod of the first one fails, empty if that is not known.
	Command string `json:"command,omitempty"`
	// Resume is what a person does to let the others restart nevertheless.
	Resume string `json:"resume"`
}

// Hold is an annotation that holds restarts.
type Hold struct {
	// On is a workload, or a config whose new content is held.
	On       string `json:"on"`
	IsConfig bool   `json:"isConfig,omitempty"`
	// Text is why, and Release the command that removes the annotation.
	Text    string `json:"text"`
	Release string `json:"release"`
	Beginning
}

// Outcome is what became of a restart.
type Outcome string

// The outcomes. A restart that is not over has none.
const (
	Delivered Outcome = "delivered"
	Broken    Outcome = "failed"
	// Recovered means that the workload runs after all.
	Recovered Outcome = "recovered"
	// Unknown means that the restart was not followed to its end.
	Unknown Outcome = "unknown"
)

// Restart is one of the last restarts.
type Restart struct {
	Time     time.Time `json:"time"`
	Workload string    `json:"workload"`
	// Cause is what changed, without names of a Secret's keys.
	Cause   string  `json:"cause"`
	Outcome Outcome `json:"outcome,omitempty"`
	// Took is how long it took until the outcome was known, in seconds. Why explains it.
	Took int    `json:"tookSeconds,omitempty"`
	Why  string `json:"why,omitempty"`
	// Command shows why a pod fails, empty if none does.
	Command string `json:"command,omitempty"`
}

// Rollouts are those that the deployment engine drives.
type Rollouts struct {
	Driving bool `json:"driving"`
	// Detail says what the engine does.
	Detail  string        `json:"detail"`
	Rolling List[Rollout] `json:"rolling"`
}

// Rollout is a Deployment whose pods are being replaced.
type Rollout struct {
	Deployment string `json:"deployment"`
	Strategy   string `json:"strategy"`
	// Wanted is how many pods the Deployment wants.
	Wanted int `json:"wanted"`
	// New and Old are the pods of the present template and of earlier ones.
	New Replicas `json:"new"`
	Old Replicas `json:"old"`
	// Problem says why it makes no progress, empty if it does, and Waits how it goes on if it waits at a step.
	Problem string `json:"problem,omitempty"`
	Waits   string `json:"waits,omitempty"`
}

// Replicas are pods of ReplicaSets.
type Replicas struct {
	Sets      int `json:"sets"`
	Wanted    int `json:"wanted"`
	Present   int `json:"present"`
	Available int `json:"available"`
}
